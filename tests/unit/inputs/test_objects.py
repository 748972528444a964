"""Tables of other libraries give evaluate_batch the scores, rows and errors of their rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rag_eval
from rag_eval.errors import InputError, TextsNotKeptError
from rag_eval.results.batch import BatchEvalResult
from rag_eval.samples import Profile

pa = pytest.importorskip("pyarrow")

Row = dict[str, Any]
AsTable = Callable[[list[Row]], Any]

KINDS = [
    "pyarrow table",
    "pyarrow batch",
    "polars",
    "duckdb",
    "pandas",
    "pandas without pyarrow",
    "pandas before Arrow",
]


def row_of(number: int) -> Row:
    return {
        "id": f"r{number}",
        "question": f"Who led trial {number} in Lyon?",
        "answer": f"Ellen Marsh led trial {number}. It had 1,200 people." if number % 5 else "",
        "contexts": [f"Trial {number} was led by Ellen Marsh.", "", "東京 é."][: number % 4],
        "ground_truth": None if number % 3 == 0 else f"Ellen Marsh led {number}",
    }


ROWS = [row_of(number) for number in range(40)]


def rows_for(profile: Profile) -> list[Row]:
    """Rows, some of which lack what only the grounded profile does without."""
    if profile == "overlap":
        return ROWS
    lacking = {7: "question", 11: "answer", 13: "contexts"}
    return [
        {**row, "language": "en" if number % 2 else None, lacking.get(number, "language"): None}
        for number, row in enumerate(ROWS)
    ]


def frame_of(rows: list[Row], kind: str = "infer") -> Any:
    """A frame of pandas whose texts pyarrow does not hold, as where that is not installed."""
    pd = pytest.importorskip("pandas")
    with pd.option_context("mode.string_storage", "python"):
        frame = pd.DataFrame(rows)
        if kind == "infer":
            return frame
        if kind == "str":  # an older one makes the text None of what is missing
            pytest.importorskip("pandas", "3")
        return frame.astype({"ground_truth": kind, "answer": kind})


def hide_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture(params=KINDS)
def as_table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[AsTable]:
    """Makes a table of some rows, once a test: pyarrow may be out of reach from then on."""
    kind = request.param
    if kind == "duckdb":
        with pytest.importorskip("duckdb").connect() as connection:
            yield lambda rows: connection.from_arrow(pa.Table.from_pylist(rows))
        return

    def made(rows: list[Row]) -> Any:
        if kind == "pyarrow table":
            return pa.Table.from_pylist(rows)
        if kind == "pyarrow batch":
            return pa.RecordBatch.from_pylist(rows)
        if kind == "polars":
            return pytest.importorskip("polars").DataFrame(rows)
        frame = frame_of(rows)
        if kind == "pandas without pyarrow":
            hide_pyarrow(monkeypatch)
            with pytest.raises((ImportError, AttributeError)):  # the latter before pandas 2.2
                frame.__arrow_c_stream__()
        elif kind == "pandas before Arrow":
            monkeypatch.delattr(type(frame), "__arrow_c_stream__", raising=False)
        return frame

    yield made


def opened(result: BatchEvalResult, number: int) -> Row:
    """The sample of a row as result files spell it: a frame without Arrow echoes its own names."""
    sample = dict(result.results[number].sample)
    if "ground_truth" in sample:
        sample["groundTruth"] = sample.pop("ground_truth")
    return {name: value for name, value in sample.items() if value is not None}


# -------------------------------------------------------------------------------------- scores


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("profile", ["overlap", "grounded"])
def test_a_table_has_the_scores_and_null_reasons_of_its_rows(
    as_table: AsTable, profile: Profile, threads: int
) -> None:
    rows = rows_for(profile)
    wanted = rag_eval.evaluate_batch(rows, profile=profile, threads=1)
    found = rag_eval.evaluate_batch(as_table(rows), profile=profile, threads=threads)
    assert found.scores.tobytes() == wanted.scores.tobytes()
    assert found.null_reasons.tobytes() == wanted.null_reasons.tobytes()
    assert found.composite_scores.tobytes() == wanted.composite_scores.tobytes()
    assert found.n_passed == wanted.n_passed
    assert found.null_reasons.any()


@pytest.mark.parametrize("profile", ["overlap", "grounded"])
def test_the_rows_of_a_table_open(as_table: AsTable, profile: Profile) -> None:
    rows = rows_for(profile)
    wanted = rag_eval.evaluate_batch(rows, profile=profile)
    found = rag_eval.evaluate_batch(as_table(rows), profile=profile)
    for number in (3, 4, 7, 39):
        assert opened(found, number) == opened(wanted, number)
        assert found.results[number].metrics == wanted.results[number].metrics
    assert opened(found, -1)["id"] == "r39"


def test_rows_of_a_table_whose_texts_were_not_kept_do_not_open(as_table: AsTable) -> None:
    result = rag_eval.evaluate_batch(as_table(ROWS), keep_texts=False)
    assert len(result.results) == 40
    with pytest.raises(TextsNotKeptError, match=r"^row 3 cannot be opened: its texts were not"):
        result.results[3]


def test_columns_may_have_the_names_of_another_tool(as_table: AsTable) -> None:
    names = {
        "question": "user_input",
        "answer": "response",
        "contexts": "retrieved_contexts",
        "ground_truth": "reference",
    }
    rows = [{names.get(name, name): value for name, value in row.items()} for row in ROWS]
    found = rag_eval.evaluate_batch(as_table(rows))
    wanted = rag_eval.evaluate_batch(ROWS)
    assert found.scores.tobytes() == wanted.scores.tobytes()
    assert opened(found, 4) == opened(wanted, 4)


def test_a_table_may_be_empty(as_table: AsTable) -> None:
    table = as_table(ROWS)
    none_of_it = table.limit(0) if hasattr(table, "limit") else table[:0]
    result = rag_eval.evaluate_batch(none_of_it)
    assert (len(result), result.scores.shape) == (0, (0, 7))


# -------------------------------------------------------------------------------------- errors


def test_ground_truths_in_both_spellings_are_refused(as_table: AsTable) -> None:
    """In a frame without Arrow the two passed as long as no row differed."""
    table = as_table([{**row, "groundTruth": row["ground_truth"]} for row in ROWS])
    with pytest.raises(InputError, match="the table has the columns ground_truth and groundTruth"):
        rag_eval.evaluate_batch(table)


def test_a_row_that_cannot_be_scored_is_named_as_among_dicts(as_table: AsTable) -> None:
    rows = [{**row, "answer": None} if row["id"] == "r23" else row for row in ROWS]
    said = []
    for samples in (rows, as_table(rows)):
        with pytest.raises(InputError) as caught:
            rag_eval.evaluate_batch(samples)
        said.append(str(caught.value))
    assert said == ['sample 23 ("r23"): answer is missing; it must be a string'] * 2


def test_what_a_table_that_is_no_frame_lacks_is_told() -> None:
    class Table:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise ImportError("tables of this kind need another package")

    with pytest.raises(ImportError, match="need another package"):
        rag_eval.evaluate_batch(Table())  # type: ignore[arg-type]


def test_a_lazy_frame_is_refused_without_a_warning() -> None:
    """polars warned that asking a lazy frame for its columns is expensive."""
    lazy = pytest.importorskip("polars").DataFrame(ROWS).lazy()
    with pytest.raises(InputError, match="samples must be a list of samples, got LazyFrame"):
        rag_eval.evaluate_batch(lazy)


# -------------------------------------------------------------------------------------- pandas


@pytest.mark.parametrize("kind", ["object", "string", "str", "category"])
@pytest.mark.parametrize("without", [False, True])
def test_cells_that_pandas_counts_as_missing_are_none(
    kind: str, without: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pandas.NA ended the run with "boolean value of NA is ambiguous"."""
    frame = frame_of(ROWS, kind)
    if without:
        hide_pyarrow(monkeypatch)
    found = rag_eval.evaluate_batch(frame)
    wanted = rag_eval.evaluate_batch(ROWS)
    assert found.scores.tobytes() == wanted.scores.tobytes()
    assert found.null_reasons.tobytes() == wanted.null_reasons.tobytes()
    assert "groundTruth" not in opened(found, 3)


def test_numbers_of_numpy_that_are_missing_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """One in a column of objects was a ground truth that is a float."""
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    hide_pyarrow(monkeypatch)
    for missing in (np.float64("nan"), float("nan"), pd.NA, pd.NaT, None):
        frame = frame_of([ROWS[1]])
        frame["ground_truth"] = pd.Series([missing], dtype=object)
        found = rag_eval.evaluate_batch(frame)
        wanted = rag_eval.evaluate_batch([{**ROWS[1], "ground_truth": None}])
        assert found.null_reasons.tolist() == wanted.null_reasons.tolist(), missing


@pytest.mark.parametrize("without", [False, True])
def test_contexts_of_a_frame_may_be_arrays(without: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pandas makes them of a Parquet file."""
    np = pytest.importorskip("numpy")
    frame = frame_of(ROWS)
    frame["contexts"] = [np.array(row["contexts"], object) for row in ROWS]
    if without:
        hide_pyarrow(monkeypatch)
    found = rag_eval.evaluate_batch(frame)
    assert found.scores.tobytes() == rag_eval.evaluate_batch(ROWS).scores.tobytes()
    assert opened(found, 6)["contexts"] == ROWS[6]["contexts"]


# ------------------------------------------------------------------------------- lengths, reading


def test_progress_knows_how_many_rows_a_table_has(as_table: AsTable) -> None:
    calls: list[tuple[int, int | None]] = []
    table = as_table(ROWS)
    rag_eval.evaluate_batch(table, on_progress=lambda *call: calls.append(call))
    is_relation = type(table).__name__ == "DuckDBPyRelation"
    assert calls[-1] == (40, None if is_relation else 40)


def test_what_can_be_read_once_is_read_once() -> None:
    """A relation was asked for its length, which is a query that reads all of it."""
    reader = pa.Table.from_pylist(ROWS).to_reader(7)
    with pytest.importorskip("duckdb").connect() as connection:
        found = rag_eval.evaluate_batch(connection.from_arrow(reader))
    assert found.scores.tobytes() == rag_eval.evaluate_batch(ROWS).scores.tobytes()
    assert opened(found, 39)["question"] == ROWS[39]["question"]
    stream = pa.Table.from_pylist(ROWS).to_reader(7)
    assert len(rag_eval.evaluate_batch(stream)) == 40


def test_a_frame_with_a_column_of_several_types_is_read_by_rows() -> None:
    """Arrow has no such column, though nobody may read it."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"answer": ["a", "b"], "note": [1, "n/a"], "contexts": [["a"], ["c"]]})
    found = rag_eval.evaluate_batch(frame, ["hallucination_rate"])
    assert found.scores.tolist() == [[1.0], [0.0]]
