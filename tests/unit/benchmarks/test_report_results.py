"""The page of results says which bars on reports and on the grounded profile hold."""

from __future__ import annotations

from typing import Any

from benchmarks import gate, report_results, write_results


def shares(rows: float) -> dict[str, list[float]]:
    return {part: [rows, rows - 0.1, rows + 0.1] for part in ("rows", "whole", "processor")}


REPORTS: list[dict[str, Any]] = [
    {
        "what": "result_files", "profile": "overlap", "source": "10,000 rows",
        "seconds": [1.0, 0.9, 1.1], "bar": 0.5,
        "shares": {"`--output r.json`": shares(0.7), "`--output r.jsonl`": shares(0.45)},
    },
    {
        "what": "page", "profile": "grounded", "source": "5,000 rows, repeated from 2",
        "seconds": [1.0, 0.9, 1.1], "added": [1.2, 0.8, 1.4], "bar": 1.0,
    },
]  # fmt: skip


def test_reports_are_beside_the_run_that_they_are_of() -> None:
    lines = report_results.report_lines(REPORTS)
    both = "70 (60–80) % | 70 (60–80) % | 70 (60–80) %"
    assert f"| overlap, 10,000 rows | `--output r.json` | {both} |" in lines
    assert any(line.startswith("|  | `--output r.jsonl` | 45 (35–55) %") for line in lines)
    assert any(line.endswith("| 1.00 (0.90–1.10) | 1.20 (0.80–1.40) |") for line in lines)


def test_bars_on_reports() -> None:
    bars = report_results.report_bars(REPORTS)
    assert [(bar.bar, bar.met) for bar in bars] == [
        ("≥ 50 % of the rate without", True),
        ("≥ 50 % of the rate without", False),
        ("adds ≤ 1 s", False),
    ]
    assert bars[2].what == "`run`, grounded, `--html`, 5,000 rows"


def test_bars_on_the_grounded_profile() -> None:
    def info(name: str, bars: list[float]) -> dict[str, Any]:
        return {
            "what": "grounded", "set": name, "bars": bars,
            "times": {"overlap": [2.2, 2.1, 2.3]}, "times_plain": [15.0, 14.0, 16.0],
        }  # fmt: skip

    beside, plain = write_results.ratio_bars([info("typical", [2.1, 14.0]), info("long", [])])
    assert (beside.bar, beside.met) == ("≤ 2.1 × its time", False)
    assert (plain.bar, plain.met) == ("≥ 14 ×", True)
    assert beside.what != plain.what


def test_everything_that_is_counted_has_a_bar() -> None:
    assert gate.BARS.keys() == gate.SIZES.keys()
