"""Which rows of a file a marker of the plugin leaves."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_eval.pytest_plugin.datasets import parametrize


def ids(folder: Path, n: int, **options: Any) -> list[str]:
    """The ids that tests get of a file of ``n`` rows."""
    path = folder / f"{n}.jsonl"
    if not path.exists():
        rows = ({"id": str(number), "question": "q"} for number in range(n))
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found: list[str] = []
    metafunc: Any = SimpleNamespace(
        definition=SimpleNamespace(path=folder / "test_it.py", nodeid="test_it.py::test_it"),
        config=SimpleNamespace(rootpath=folder, getini=lambda name: False),
        parametrize=lambda argname, values, ids: found.extend(ids),
    )
    parametrize(metafunc, pytest.mark.rag_eval_dataset(path.name, **options).mark)
    return found


def test_every_row_has_the_same_chance(tmp_path: Path) -> None:
    drawn = Counter(name for seed in range(200) for name in ids(tmp_path, 6, limit=2, seed=seed))
    assert drawn.total() == 400
    assert set(drawn) == set("012345")
    # Six standard deviations to either side of 67.
    assert all(27 < count < 107 for count in drawn.values()), drawn


def test_rows_that_were_drawn_keep_their_order(tmp_path: Path) -> None:
    for seed in range(30):
        found = ids(tmp_path, 9, limit=4, seed=seed)
        assert found == sorted(found)
        assert len(set(found)) == 4
        assert found == ids(tmp_path, 9, limit=4, seed=seed)


def test_a_limit_alone_leaves_the_first_rows_and_more_than_there_are_all(tmp_path: Path) -> None:
    assert ids(tmp_path, 9, limit=3) == ["0", "1", "2"]
    for options in ({}, {"limit": 9}, {"limit": 9, "seed": 1}):
        assert ids(tmp_path, 3, **options) == ["0", "1", "2"]
