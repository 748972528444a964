"""Spark on a cluster of two workers gives what a single process gives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_eval.distributed import score_spark, totals_spark
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

pytest.importorskip("pyspark", reason="make engines installs pyspark")
# The engine's own warnings, such as of the youngest pandas, are not ours to mend.
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

TYPES = (
    "id string, question string, answer string, contexts array<string>, ground_truth string, "
    "topic string"
)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        session = (
            SparkSession.builder.master("local-cluster[2,1,1024]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "4")
            # More than one batch in a partition.
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "300")
            .getOrCreate()
        )
        yield session
        session.stop()


def frame_of(spark: Any, rows: list[Row]) -> Any:
    return spark.createDataFrame([tuple(row[name] for name in COLUMNS) for row in rows], TYPES)


def partings(frame: Any) -> dict[str, Any]:
    from pyspark.sql import functions

    return {
        "as it came": frame,
        "shuffled": frame.repartition(5, "id"),
        "all but one empty": frame.repartition(4, functions.lit(1)),
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_scores_and_totals_are_those_of_one_process(spark: Any, profile: Profile) -> None:
    rows = rows_of(profile)
    wanted = expected(rows, profile=profile)
    summary = facts(single_summary(rows, profile=profile))
    for parting, frame in partings(frame_of(spark, rows)).items():
        scored = [row.asDict() for row in score_spark(frame, profile=profile).collect()]
        assert by_id(scored, rows) == wanted, parting
        assert facts(totals_spark(frame, profile=profile)) == summary, parting


def test_columns_prefix_and_threads(spark: Any) -> None:
    rows = rows_of("overlap", 50)
    metrics = ["faithfulness", "context_recall"]
    scored = score_spark(frame_of(spark, rows), metrics, columns=["id"], prefix="s_", threads=2)
    assert scored.columns[:3] == ["id", "s_faithfulness", "s_context_recall"]
    assert scored.schema["s_faithfulness"].dataType.simpleString() == "double"
    assert scored.schema["s_passed"].dataType.simpleString() == "boolean"
    found = by_id([row.asDict() for row in scored.collect()], rows, "s_")
    assert found == expected(rows, "s_", metrics=metrics)


def test_a_frame_without_rows(spark: Any) -> None:
    frame = frame_of(spark, [])
    scored = score_spark(frame)
    assert scored.collect() == []
    assert scored.columns[:7] == [*COLUMNS, "faithfulness"]
    assert facts(totals_spark(frame)) == facts(single_summary([]))


def test_a_bad_row_in_the_middle_of_a_partition(spark: Any) -> None:
    frame = frame_of(spark, with_bad_row(rows_of("overlap", 200)))
    for compute in (lambda: score_spark(frame).collect(), lambda: totals_spark(frame)):
        with pytest.raises(Exception, match=BAD_ROW):
            compute()


def test_a_conflict_of_names_is_told_at_once(spark: Any) -> None:
    frame = frame_of(spark, rows_of("overlap", 5)).withColumnRenamed("topic", "passed")
    with pytest.raises(InputError, match=r"column 'passed' .*\(prefix=\)"):
        score_spark(frame)
    with pytest.raises(InputError, match="unknown schema"):
        score_spark(frame, schema="raags", prefix="s_")
