"""polars and DuckDB, the real packages: columns of scores are ours, wherever the engine cuts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from rag_eval import evaluate_batch
from rag_eval.errors import InputError, UnsupportedModeError
from rag_eval.integrations import columns
from rag_eval.integrations.duckdb import register_rag_scores
from rag_eval.integrations.polars import rag_scores
from rag_eval.jobs.record_batches import BatchScorer
from tests.adapters.samples import METRICS, SAMPLES, wanted
from tests.tables import every_row

FIELDS = ("question", "answer", "contexts", "ground_truth")
ROWS: list[dict[str, Any]] = [
    {"id": f"q{number}", **{name: sample.get(name) for name in FIELDS}}
    for number, sample in enumerate(SAMPLES * 25)
]
FRAME = pl.DataFrame(ROWS)
CALL = "rag_scores(question, answer, contexts, ground_truth)"


def expected(**options: Any) -> list[dict[str, Any]]:
    """The scores, reasons and verdicts of the rows, by evaluate."""
    found = []
    for result in [wanted(sample, **options) for sample in SAMPLES] * 25:
        row: dict[str, Any] = {name: one.score for name, one in result.metrics.items()}
        for name, one in result.metrics.items():
            reason = one.null_reason.name.lower() if one.null_reason else None
            row[f"{name}_null_reason"] = reason
        row |= {"composite_score": result.composite_score, "passed": result.passed}
        found.append(row)
    return found


# ------------------------------------------------------------------------------------------ polars


def test_scores_of_a_frame_are_ours() -> None:
    found = FRAME.with_columns(rag_scores(METRICS)).unnest("rag_eval")
    assert found.columns[: len(FRAME.columns)] == FRAME.columns
    assert found.drop(FRAME.columns).to_dicts() == expected()
    (named,) = FRAME.select(rag_scores("faithfulness", prefix="rag_", profile="overlap"))
    assert named.name == "rag_eval"
    assert named.struct.fields[0] == "rag_faithfulness"
    overlap = evaluate_batch(ROWS, ["faithfulness"])
    assert named.struct[0].to_list() == overlap.scores[:, 0].tolist()


# polars before 1.23 has another name for the engine.
_IS_OLD = tuple(map(int, pl.__version__.split(".")[:2])) < (1, 23)
_STREAMING: dict[str, Any] = {"streaming": True} if _IS_OLD else {"engine": "streaming"}


@every_row("engine", [{}, _STREAMING])
def test_a_lazy_frame_is_scored_when_it_is_collected(engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    FRAME.write_parquet(path, row_group_size=7)
    query = pl.scan_parquet(path).with_columns(rag_scores(METRICS)).unnest("rag_eval")
    assert query.collect_schema()["faithfulness"] == pl.Float64
    assert query.drop(FRAME.columns).collect(**engine).to_dicts() == expected()
    grouped = query.group_by("passed").agg(pl.col("faithfulness").mean()).collect(**engine)
    assert grouped.height == 2


def test_columns_that_are_named_are_the_only_ones_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    FRAME.with_columns(response=pl.lit("other"), vector=pl.lit(0.5)).write_parquet(path)
    query = pl.scan_parquet(path).select(rag_scores(METRICS, columns=FIELDS))
    assert "PROJECT 4/7 COLUMNS" in query.explain()
    assert query.unnest("rag_eval").collect().to_dicts() == expected()


def test_fields_of_other_names_and_none_that_is_missing() -> None:
    other = FRAME.rename({"question": "user_input", "answer": "said"})
    found = other.select(rag_scores(METRICS, mapping={"answer": "said"}))
    assert found.unnest("rag_eval").to_dicts() == expected()
    misspelt = FRAME.rename({"answer": "anwser"})
    for frame in (misspelt, misspelt.lazy()):
        with pytest.raises(Exception, match=r"have 'anwser'\. Rename it, or pass mapping="):
            frame.with_columns(rag_scores(METRICS)).lazy().collect()
    allowed = misspelt.select(rag_scores(METRICS, allow_missing=True)).unnest("rag_eval")
    assert set(allowed["faithfulness_null_reason"]) == {"missing_field"}


def test_a_row_that_cannot_be_scored_ends_the_query() -> None:
    with pytest.raises(Exception, match=r"row 3 \(.q3.\) of its batch: answer is missing"):
        FRAME.with_columns(answer=pl.when(pl.col("id") != "q3").then("answer")).with_columns(
            rag_scores("faithfulness", profile="overlap")
        )


def test_an_empty_frame_has_the_columns() -> None:
    none = FRAME.clear().with_columns(rag_scores(METRICS)).unnest("rag_eval")
    full = FRAME.with_columns(rag_scores(METRICS)).unnest("rag_eval")
    assert none.schema == full.schema


def test_a_lazy_frame_is_no_list_of_samples() -> None:
    with pytest.raises(InputError, match=r"got LazyFrame.*evaluate_batch\(samples.collect\(\)\)"):
        evaluate_batch(FRAME.lazy())  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------ DuckDB


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    # More rows than the 2,048 of a vector.
    found.register("rows", pl.concat([FRAME] * 25))
    return found


def test_scores_of_a_query_are_ours(connection: duckdb.DuckDBPyConnection) -> None:
    register_rag_scores(connection, METRICS)
    found = connection.sql(f"SELECT id, unnest({CALL}) FROM rows").pl()
    assert found["id"].to_list() == [row["id"] for row in ROWS] * 25
    assert found.drop("id").to_dicts() == expected() * 25
    mean = connection.sql(f"SELECT avg(s.faithfulness) FROM (SELECT {CALL} AS s FROM rows)")
    scores = [row["faithfulness"] for row in expected() if row["faithfulness"] is not None]
    assert mean.fetchall()[0][0] == pytest.approx(sum(scores) / len(scores))


def test_a_second_function_has_options_of_its_own(connection: duckdb.DuckDBPyConnection) -> None:
    register_rag_scores(connection, METRICS)
    register_rag_scores(connection, "faithfulness", name="strict", prefix="my_", profile="overlap")
    call = "strict(question, answer, contexts, NULL)"
    found = connection.sql(f"SELECT unnest({call}) FROM rows LIMIT 4").pl()
    ours = evaluate_batch(ROWS[:4], ["faithfulness"]).scores[:, 0].tolist()
    assert found["my_faithfulness"].to_list() == ours
    with pytest.raises(duckdb.Error, match="row 0 of its batch: answer is missing"):
        connection.sql("SELECT strict('Who?', NULL, ['One.'], NULL)").fetchall()


# ----------------------------------------------------------------------------------------- options


def test_options_are_checked_before_a_query_runs(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in (rag_scores, lambda *args, **more: register_rag_scores(connection, *args, **more)):
        with pytest.raises(TypeError, match="did you mean 'thresholds'"):
            wrong(METRICS, threshold={"faithfulness": 0.5})
        with pytest.raises(UnsupportedModeError, match="scored without a judge"):
            wrong(METRICS, mode="llm")
    monkeypatch.setattr(columns, "thread_count", lambda _: 3)
    assert "'threads': 3" in repr(columns.column_scorer(None, "", {}))
    assert "'threads': 1" in repr(columns.column_scorer(None, "", {"threads": 1}))
    assert isinstance(columns.column_scorer("faithfulness", "", {}), BatchScorer)
