"""Ray with two CPUs gives what a single process gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_eval.distributed import score_ray, totals_ray
from rag_eval.samples import Profile
from tests.engines.rows import (
    BAD_ROW,
    COLUMNS,
    PROFILES,
    Row,
    by_id,
    expected,
    facts,
    rows_of,
    single_summary,
    with_bad_row,
)

pytest.importorskip("ray", reason="make engines installs ray")
pa = pytest.importorskip("pyarrow")
# The engine's own warnings are not ours to mend.
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

TYPES = pa.schema(
    [(name, pa.list_(pa.string()) if name == "contexts" else pa.string()) for name in COLUMNS]
)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        import ray
        import ray.data

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield ray
        ray.shutdown()


def table_of(rows: list[Row]) -> Any:
    return pa.Table.from_pylist(rows, schema=TYPES)


def partings(ray: Any, rows: list[Row]) -> dict[str, Any]:
    table = table_of(rows)
    empty = table.slice(0, 0)
    return {
        "one block": ray.data.from_arrow(table),
        "an empty block": ray.data.from_arrow([table.slice(0, 900), empty, table.slice(900)]),
        "from dicts": ray.data.from_items(rows, override_num_blocks=7),
        "chunks": ray.data.from_arrow(
            pa.concat_tables([table.slice(begin, 70) for begin in range(0, len(rows), 70)])
        ),
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_scores_and_totals_are_those_of_one_process(ray: Any, profile: Profile) -> None:
    rows = rows_of(profile)
    wanted = expected(rows, profile=profile)
    summary = facts(single_summary(rows, profile=profile))
    for parting, data in partings(ray, rows).items():
        scored = score_ray(data, profile=profile).take_all()
        assert by_id(scored, rows) == wanted, parting
        assert facts(totals_ray(data, profile=profile)) == summary, parting


def test_columns_prefix_and_threads(ray: Any) -> None:
    rows = rows_of("overlap", 50)
    metrics = ["faithfulness", "context_recall"]
    data = ray.data.from_arrow(table_of(rows))
    scored = score_ray(data, metrics, columns=["id"], prefix="s_", threads=2)
    assert by_id(scored.take_all(), rows, "s_") == expected(rows, "s_", metrics=metrics)
    types = dict(zip(scored.schema().names, scored.schema().types, strict=True))
    assert types["s_faithfulness"] == pa.float64()
    assert types["s_passed"] == pa.bool_()
    assert types["s_faithfulness_null_reason"] == pa.string()


def test_a_data_set_without_rows(ray: Any) -> None:
    data = ray.data.from_arrow(table_of([]))
    assert score_ray(data).take_all() == []
    assert facts(totals_ray(data)) == facts(single_summary([]))


def test_a_bad_row_in_the_middle_of_a_block(ray: Any) -> None:
    data = ray.data.from_arrow(table_of(with_bad_row(rows_of("overlap", 200))))
    for compute in (lambda: score_ray(data).take_all(), lambda: totals_ray(data)):
        with pytest.raises(Exception, match=BAD_ROW):
            compute()


def test_a_conflict_of_names_is_told(ray: Any) -> None:
    data = ray.data.from_arrow(
        table_of(rows_of("overlap", 5)).rename_columns([*COLUMNS[:-1], "passed"])
    )
    with pytest.raises(Exception, match=r"column 'passed' .*\(prefix=\)"):
        score_ray(data).take_all()
    assert len(score_ray(data, prefix="s_").take_all()) == 5
