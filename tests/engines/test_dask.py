"""Dask on two workers gives what a single process gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_eval.distributed import score_dask, totals_dask
from rag_eval.errors import InputError
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

pytest.importorskip("dask.dataframe", reason="make engines installs dask")
pytest.importorskip("distributed", reason="make engines installs distributed")
pa = pytest.importorskip("pyarrow")
# The engine's own warnings are not ours to mend.
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import dask
    from dask.distributed import Client, LocalCluster

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        # Or lists of pandas become texts.
        with (
            workers,
            Client(workers) as client,
            dask.config.set({"dataframe.convert-string": False}),
        ):
            yield client


def frame_of(rows: list[Row], n_partitions: int = 3) -> Any:
    import dask.dataframe
    import pandas

    frame = pandas.DataFrame(rows, columns=list(COLUMNS))
    return dask.dataframe.from_pandas(frame, npartitions=n_partitions, sort=False)


def records(frame: Any) -> list[Row]:
    return frame.compute().to_dict("records")  # type: ignore[no-any-return]


def partings(rows: list[Row], folder: Path) -> dict[str, Any]:
    import dask.dataframe
    from pyarrow import parquet

    frame = frame_of(rows)
    types = [(name, pa.string()) for name in COLUMNS]
    types[COLUMNS.index("contexts")] = ("contexts", pa.list_(pa.string()))
    for number, begin in enumerate(range(0, len(rows), 700)):
        table = pa.Table.from_pylist(rows[begin : begin + 700], schema=pa.schema(types))
        parquet.write_table(table, folder / f"{number}.parquet")
    return {
        "one": frame_of(rows, 1),
        "three": frame,
        "an empty partition": dask.dataframe.concat([frame, frame.loc[:-1], frame_of([], 1)]),
        "shuffled": frame.sample(frac=1, random_state=1).repartition(npartitions=2),
        "from Parquet": dask.dataframe.read_parquet(folder, split_row_groups=True),
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_scores_and_totals_are_those_of_one_process(
    cluster: Any, profile: Profile, tmp_path: Path
) -> None:
    rows = rows_of(profile)
    wanted = expected(rows, profile=profile)
    summary = facts(single_summary(rows, profile=profile))
    for parting, frame in partings(rows, tmp_path).items():
        assert by_id(records(score_dask(frame, profile=profile)), rows) == wanted, parting
        assert facts(totals_dask(frame, profile=profile)) == summary, parting


def test_columns_prefix_index_and_types(cluster: Any) -> None:
    rows = rows_of("overlap", 50)
    metrics = ["faithfulness", "context_recall"]
    frame = frame_of(rows).set_index("topic", sort=False, drop=False)
    scored = score_dask(frame, metrics, columns=["id"], prefix="s_", threads=2)
    found = scored.compute()
    assert list(found.columns) == list(scored.columns)
    assert found.dtypes.to_dict() == scored.dtypes.to_dict()
    assert found.index.isna().any()
    assert by_id(found.to_dict("records"), rows, "s_") == expected(rows, "s_", metrics=metrics)


def test_lists_that_became_texts_are_read_as_lists(cluster: Any) -> None:
    import dask

    rows = rows_of("overlap", 50)
    with dask.config.set({"dataframe.convert-string": True}):
        frame = frame_of(rows)
    texts = [{**row, "contexts": str(row["contexts"])} for row in rows]
    assert by_id(records(score_dask(frame)), texts) == expected(rows)


def test_a_frame_without_rows(cluster: Any) -> None:
    frame = frame_of([], 1)
    assert len(score_dask(frame).compute()) == 0
    assert list(score_dask(frame).columns[:7]) == [*COLUMNS, "faithfulness"]
    assert facts(totals_dask(frame)) == facts(single_summary([]))


def test_a_bad_row_in_the_middle_of_a_partition(cluster: Any) -> None:
    frame = frame_of(with_bad_row(rows_of("overlap", 200)))
    for compute in (lambda: score_dask(frame).compute(), lambda: totals_dask(frame)):
        with pytest.raises(InputError, match=BAD_ROW):
            compute()


def test_a_conflict_of_names_is_told_at_once(cluster: Any) -> None:
    frame = frame_of(rows_of("overlap", 5)).rename(columns={"topic": "passed"})
    with pytest.raises(InputError, match=r"column 'passed' .*\(prefix=\)"):
        score_dask(frame)
