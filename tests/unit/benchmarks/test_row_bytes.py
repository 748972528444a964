"""The measured bytes per row: the same text takes the same space wherever it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import row_bytes

PAGE = Path(row_bytes.__file__).with_name("ROW_BYTES.md").read_text("utf-8")


def page_cells(name: str) -> list[float]:
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))
    return [
        float(found.replace(",", ""))
        for found in re.findall(r"(?<=\| )\d[\d,]*", line[len(name) :])
    ]


def test_bytes_per_row_are_those_of_the_page(tmp_path: Path) -> None:
    rows = row_bytes.small_rows(500)
    outputs, parts = (
        [float(cell) for cell in cells] for cells in row_bytes.output_cells(rows, tmp_path)
    )
    # Compressed sizes and headers weigh more in fewer rows.
    wanted = page_cells("out, 1 KB rows")
    assert [outputs[at] for at in (0, 2)] == pytest.approx([wanted[at] for at in (0, 2)], rel=0.02)
    wanted = page_cells("parts until the end")
    assert parts[:3] == pytest.approx(wanted[:3], rel=0.02)
    assert [part - 56 for part in parts[:3]] == pytest.approx(
        [outputs[0]] * 2 + [outputs[2]], abs=3
    )
    samples = row_bytes.input_cells(rows, tmp_path, has_csv=True)
    assert float(samples[0].replace(",", "")) == pytest.approx(
        page_cells("in, 1 KB rows")[0], rel=0.02
    )


def test_a_page_has_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_bytes, "large_rows", lambda: row_bytes.small_rows(50))
    made = row_bytes.page(50)
    heads = [line.split(" | ")[0] for line in made.splitlines() if line.startswith("|")]
    assert heads == [line.split(" | ")[0] for line in PAGE.splitlines() if line.startswith("|")]
