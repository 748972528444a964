"""Which rows of a file a marker of the plugin leaves."""

from __future__ import annotations

from collections import Counter

from rag_eval.pytest_plugin.datasets import _chosen, _Marker, _Row


def chosen(n: int, **options: int | None) -> list[str]:
    rows = (_Row(str(number), {}) for number in range(n))
    return [row.name for row in _chosen(rows, _Marker(file="f.jsonl", reading={}, **options))]


def test_every_row_has_the_same_chance() -> None:
    drawn = Counter(name for seed in range(600) for name in chosen(6, limit=2, seed=seed))
    assert drawn.total() == 1200
    assert set(drawn) == set("012345")
    # Six standard deviations to either side of 200.
    assert all(130 < count < 270 for count in drawn.values()), drawn


def test_rows_that_were_drawn_keep_their_order() -> None:
    for seed in range(30):
        found = chosen(9, limit=4, seed=seed)
        assert found == sorted(found)
        assert len(set(found)) == 4
        assert found == chosen(9, limit=4, seed=seed)


def test_a_limit_alone_leaves_the_first_rows_and_more_than_there_are_all() -> None:
    assert chosen(9, limit=3) == ["0", "1", "2"]
    assert chosen(3, limit=9) == chosen(3, limit=9, seed=1) == chosen(3) == ["0", "1", "2"]
