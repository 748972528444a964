"""read_run: every form of a file of scores, and results in memory, to the same columns."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.errors import InputError, SignatureMismatchError, TextsNotKeptError
from rag_eval.results.reading import MissingIdsError
from rag_eval.runs.baseline_files import write_baseline_file
from rag_eval.runs.run_files import read_run, run_of_result
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import EvalSample, NullReason
from tests.tables import every_row

METRICS = ["faithfulness", "context_recall"]
ROWS: list[dict[str, Any]] = [
    {
        "id": f"q{number}",
        "question": "red fox",
        "answer": "red fox." if number % 3 else "blue whale sings.",
        "contexts": ["red fox."],
        "metadata": {"topic": "abc"[number % 3], "turn": number},
        "topic": "abc"[number % 3],
    }
    for number in range(6)
]
FORMS = ["jsonl", "csv", "parquet", "arrow"]


def result(rows: list[dict[str, Any]] = ROWS, **options: Any) -> rag_eval.BatchEvalResult:
    return rag_eval.evaluate_batch(rows, METRICS, **options, allow_missing=True)


def json_lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def same(found: ScoredRun, wanted: ScoredRun, *, verdicts: bool) -> None:
    assert (found.ids, found.metrics) == (wanted.ids, wanted.metrics)
    for name in ("scores", "null_reasons", "composite", "passed"):
        mine, theirs = getattr(found, name), getattr(wanted, name)
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
    if verdicts:
        np.testing.assert_array_equal(found.metric_passed, wanted.metric_passed)
    assert found.columns == wanted.columns


@pytest.fixture
def wanted() -> ScoredRun:
    return run_of_result(result(), columns=["topic"])


def test_a_result_in_memory(wanted: ScoredRun) -> None:
    assert wanted.ids == ["q0", "q1", "q2", "q3", "q4", "q5"]
    assert wanted.scores[:2].tolist()[1][0] == 1.0
    assert wanted.metric_passed.tolist() == [[number % 3 > 0, -1] for number in range(6)]
    assert wanted.null_reasons[:, 1].tolist() == [NullReason.MISSING_FIELD] * 6
    assert wanted.columns == {"topic": ["a", "b", "c"] * 2}
    assert wanted.signature is not None


@every_row("name", ["r.json", "r.json.gz", "r.jsonl", "r.jsonl.gz"])
def test_result_files(tmp_path: Path, name: str, wanted: ScoredRun) -> None:
    found = result()
    (found.to_jsonl if "jsonl" in name else found.to_json)(tmp_path / name)
    read = read_run(tmp_path / name, columns=["topic"])
    same(read, wanted, verdicts=True)
    assert read.signature == wanted.signature


@every_row("prefix", ["", "mine_"])
@every_row("form", FORMS)
def test_score_files(tmp_path: Path, form: str, prefix: str, wanted: ScoredRun) -> None:
    source = json_lines(tmp_path / "rows.jsonl", *ROWS)
    target = tmp_path / f"scores.{form}"
    rag_eval.score_file(
        source, target, METRICS, columns=["topic"], prefix=prefix, allow_missing=True
    )
    read = read_run(target, columns=["topic"])
    same(read, wanted, verdicts=False)
    assert (read.metric_passed == -1).all()
    assert (read.signature is not None) == (form in ("parquet", "arrow"))


def test_a_diagnostic_without_a_threshold_has_no_verdict(tmp_path: Path) -> None:
    metrics = ["faithfulness", "unsupported_numbers"]
    rows = [{**row, "answer": "The red fox was seen in 1984."} for row in ROWS]
    found = rag_eval.evaluate_batch(rows, metrics, profile="grounded")
    run = run_of_result(found)
    assert set(run.metric_passed[:, 1].tolist()) == {-1}
    assert not np.isnan(run.column("unsupported_numbers")).all()
    found.to_jsonl(tmp_path / "r.jsonl")
    same(read_run(tmp_path / "r.jsonl"), run, verdicts=True)


def test_a_committed_baseline(tmp_path: Path, wanted: ScoredRun) -> None:
    write_baseline_file(wanted, tmp_path / "baseline.json")
    read = read_run(tmp_path / "baseline.json", columns=["topic"], metrics=["faithfulness"])
    assert (read.ids, read.metrics) == (wanted.ids, ("faithfulness",))
    np.testing.assert_array_equal(read.scores, wanted.scores[:, :1])
    with pytest.raises(InputError, match="no row has a field 'page'"):
        read_run(tmp_path / "baseline.json", columns=["page"])


def test_a_result_that_was_read_back(tmp_path: Path, wanted: ScoredRun) -> None:
    result().to_json(tmp_path / "r.json")
    read = rag_eval.BatchEvalResult.from_json(tmp_path / "r.json")
    same(run_of_result(read, columns=["topic"]), wanted, verdicts=True)


@pytest.mark.parametrize("indent", [None, 1])
def test_result_files_that_other_programs_wrote_anew(
    tmp_path: Path, indent: int | None, wanted: ScoredRun
) -> None:
    value = json.loads(result().to_json() or "")
    (tmp_path / "r.json").write_text(json.dumps(value, indent=indent))
    found = read_run(tmp_path / "r.json", columns=["topic"])
    same(found, wanted, verdicts=True)
    assert found.signature == wanted.signature


def test_an_array_of_rows_and_any_table(tmp_path: Path) -> None:
    """A table need not come from this library; its columns may have any name when asked for."""
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"key": 1, "faithfulness": 0.5, "mine": 3}, {"key": 2, "mine": 4}]))
    found = read_run(path, id_field="key")
    assert (found.ids, found.metrics) == (["1", "2"], ("faithfulness",))
    assert found.null_reasons.tolist() == [[0], [NullReason.MISSING_FIELD]]
    assert np.isnan(found.composite).all()
    assert found.passed.tolist() == [-1, -1]
    named = read_run(path, id_field="key", metrics=["mine", "faithfulness"])
    assert named.metrics == ("mine", "faithfulness")
    assert named.column("mine").tolist() == [3.0, 4.0]


def test_metrics_that_are_asked_for_in_their_order(tmp_path: Path) -> None:
    for name in ("r.json", "r.jsonl"):
        (result().to_json if name == "r.json" else result().to_jsonl)(tmp_path / name)
        found = read_run(tmp_path / name, metrics=["contextRecall", "faithfulness"])
        assert found.metrics == ("context_recall", "faithfulness")
        np.testing.assert_array_equal(found.scores, run_of_result(result()).scores[:, ::-1])
        with pytest.raises(
            InputError, match=r"no scores of the metric 'answer_relevance' \(metrics: faith"
        ):
            read_run(tmp_path / name, metrics=["answer_relevance"])


def test_a_metric_that_only_later_rows_have(tmp_path: Path) -> None:
    row = {"sample": {"id": "a"}, "metrics": {"faithfulness": {"score": 1}}}
    later = {"sample": {"id": "b"}, "metrics": {"contextRecall": {"score": 0.5, "passed": True}}}
    found = read_run(json_lines(tmp_path / "r.jsonl", row, later))
    np.testing.assert_array_equal(found.scores, [[1, np.nan], [np.nan, 0.5]])
    assert found.null_reasons.tolist() == [[0, NullReason.SKIPPED], [NullReason.SKIPPED, 0]]
    assert found.metric_passed.tolist() == [[-1, -1], [-1, 1]]


def test_failed_judgements_are_counted(tmp_path: Path) -> None:
    def row(name: str, **entry: Any) -> dict[str, Any]:
        return {"sample": {"id": name}, "metrics": {"faithfulness": entry}}

    judge = {"score": None}
    rows = [
        row("a", score=1, judge={"score": 1}),
        row("b", score=None, nullReason="judge_timed_out", judge=judge),
        row("c", score=0.5, judge={**judge, "fallback": True}),
        row("d", score=0.5),
    ]
    found = read_run(json_lines(tmp_path / "nested.jsonl", *rows))
    assert (found.n_judgements, found.n_failed_judgements) == (3, 2)
    reasons = [None, "judge_timed_out", None, None]
    modes = ["llm", "llm", "fallback", "heuristic"]
    flat = [
        {
            "id": one,
            "faithfulness": None if reason else 1,
            "faithfulness_null_reason": reason,
            "faithfulness_mode": mode,
        }
        for one, reason, mode in zip("abcd", reasons, modes, strict=True)
    ]
    found = read_run(json_lines(tmp_path / "flat.jsonl", *flat))
    assert (found.n_judgements, found.n_failed_judgements) == (3, 2)
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(flat), tmp_path / "flat.parquet")
    found = read_run(tmp_path / "flat.parquet")
    assert (found.n_judgements, found.n_failed_judgements) == (3, 2)
    summary = {"aggregates": {}, "judging": {"metrics": {"f": {"nJudged": 9, "nFailed": 4}}}}
    (tmp_path / "r.json").write_text(json.dumps({"results": rows, **summary}))
    found = read_run(tmp_path / "r.json")
    assert (found.n_judgements, found.n_failed_judgements) == (9, 4)


def test_what_a_file_says_of_a_metric_of_its_own(tmp_path: Path) -> None:
    row = {"sample": {"id": "a"}, "metrics": {"seconds": {"score": 7}}}
    value = {"results": [row], "aggregates": {"seconds": {"mean": 7, "higherIsBetter": False}}}
    (tmp_path / "r.json").write_text(json.dumps(value))
    assert read_run(tmp_path / "r.json").lower_is_better == {"seconds"}


def test_lone_surrogates_in_ids_and_texts(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "id": "\ud800"}, {**ROWS[1], "answer": "\udfff"}]
    found = result(rows)
    for name in ("r.json", "r.jsonl"):
        (found.to_json if name == "r.json" else found.to_jsonl)(tmp_path / name)
        assert read_run(tmp_path / name).ids == ["\ud800", "q1"]


def test_columns(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "metadata": {"n": 1.5, "on": True}}, {**ROWS[1], "metadata": None}]
    result(rows).to_jsonl(tmp_path / "r.jsonl")
    found = read_run(tmp_path / "r.jsonl", columns=["n", "on", "topic"], optional_columns=["x"])
    assert found.columns == {
        "n": ["1.5", None],
        "on": ["true", None],
        "topic": ["a", "b"],
        "x": [None, None],
    }
    with pytest.raises(InputError, match="no row has a field 'topik'; did you mean 'topic'"):
        read_run(tmp_path / "r.jsonl", columns=["topik"])
    with pytest.raises(InputError, match="no row has a field 'topik'; did you mean 'topic'"):
        run_of_result(result(rows), columns=["topik"])
    with pytest.raises(InputError, match="contexts must be a string, a number or a boolean"):
        read_run(tmp_path / "r.jsonl", columns=["contexts"])


def test_samples_of_any_kind_have_ids() -> None:
    sample = EvalSample(id="one", question="q", answer="a", contexts=["c"], metadata={"t": "x"})
    found = rag_eval.evaluate_batch([sample], ["faithfulness"])
    assert run_of_result(found, columns=["t"]).columns == {"t": ["x"]}
    lazily = rag_eval.evaluate_batch((dict(row) for row in ROWS), METRICS, allow_missing=True)
    assert run_of_result(lazily).ids == [row["id"] for row in ROWS]
    with pytest.raises(TextsNotKeptError):
        run_of_result(rag_eval.evaluate_batch(ROWS, METRICS, keep_texts=False, allow_missing=True))


# --------------------------------------------------------------------------------------- repeats


def test_several_files_are_repeats(tmp_path: Path, wanted: ScoredRun) -> None:
    for number in (1, 2):
        result().to_jsonl(tmp_path / f"run-{number}.jsonl")
    result().to_json(tmp_path / "other.json")
    found = read_run(str(tmp_path / "run-*.jsonl"), columns=["topic"])
    assert found.ids == wanted.ids * 2
    np.testing.assert_array_equal(found.scores, np.concatenate([wanted.scores] * 2))
    assert found.columns == {"topic": wanted.columns["topic"] * 2}  # type: ignore[operator]
    assert found.name.endswith("run-1.jsonl and 1 more")
    three = [tmp_path / "other.json", str(tmp_path / "run-*.jsonl"), wanted]
    assert len(read_run(three, metrics=["faithfulness"])) == 24
    assert read_run([result(), result()]).ids == wanted.ids * 2


def test_repeats_may_have_their_metrics_in_another_order_but_no_others(tmp_path: Path) -> None:
    one = json_lines(tmp_path / "a.jsonl", {"id": "x", "faithfulness": 1, "context_recall": 0})
    two = json_lines(tmp_path / "b.jsonl", {"id": "x", "context_recall": 0.5, "faithfulness": 0.25})
    assert read_run([one, two]).scores.tolist() == [[1, 0], [0.25, 0.5]]
    three = json_lines(tmp_path / "c.jsonl", {"id": "x", "faithfulness": 1})
    with pytest.raises(InputError, match="only one of them has context_recall"):
        read_run([one, three])
    assert read_run([one, three], metrics=["faithfulness"]).scores.tolist() == [[1], [1]]


def test_repeats_under_other_settings_are_refused() -> None:
    other = result(heuristic={"ngram_sizes": [1]})
    with pytest.raises(SignatureMismatchError, match=r"not repeats of one run.*ngram_sizes"):
        read_run([result(), other])


# ------------------------------------------------------------------------------------- bad input


@every_row("form", ["jsonl", "csv", "parquet", "json"])
def test_an_id_that_comes_twice(tmp_path: Path, form: str) -> None:
    rows = [{"id": name, "faithfulness": 1.0} for name in ("a", "b", "a")]
    path = table(tmp_path / f"t.{form}", rows)
    with pytest.raises(
        InputError, match=r"id 'a' occurs in rows 1 and 3\. Give every sample its own id"
    ):
        read_run(path)
    assert read_run(path, repeats=True).ids == ["a", "b", "a"]


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        return json_lines(path, *rows)
    if path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".csv":
        lines = [",".join("" if v is None else str(v) for v in row.values()) for row in rows]
        path.write_text("\n".join([",".join(rows[0]), *lines]) + "\n")
    else:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


@every_row("form", ["jsonl", "csv", "parquet"])
def test_rows_without_an_id(tmp_path: Path, form: str) -> None:
    rows: list[dict[str, Any]] = [{"id": "a", "faithfulness": 1.0}, {"faithfulness": 1.0}]
    rows[1] = {"id": None, **rows[1]}
    with pytest.raises(MissingIdsError, match=r"[23].*: id is missing, but rows are paired by id"):
        read_run(table(tmp_path / f"t.{form}", rows))
    with pytest.raises(MissingIdsError, match="key is missing"):
        read_run(table(tmp_path / f"t.{form}", rows), id_field="key")


def test_results_without_ids(tmp_path: Path) -> None:
    nameless = [{name: value for name, value in row.items() if name != "id"} for row in ROWS]
    found = result(nameless)
    found.to_json(tmp_path / "r.json")
    with pytest.raises(MissingIdsError, match=r"r.json, results\[0\]: id is missing"):
        read_run(tmp_path / "r.json")
    with pytest.raises(MissingIdsError, match="the result, sample 0: id is missing"):
        run_of_result(found)
    (tmp_path / "summary.json").write_text(json.dumps(found.summary_dict()))
    with pytest.raises(MissingIdsError, match=r"summary\.json has a summary but no rows"):
        read_run(tmp_path / "summary.json")


FLAT = {"id": "a", "faithfulness": 0.5}
NESTED = {"sample": {"id": "a"}, "metrics": {"faithfulness": {"score": 0.5}}}


@every_row(
    ("row", "message"),
    [
        ({**FLAT, "id": 1.5}, r"line 2: id must be a string or a whole number, got float"),
        ({**FLAT, "id": True}, "must be a string or a whole number, got bool"),
        (
            {**FLAT, "faithfulness": "x"},
            r"""line 2 \("a"\): faithfulness must be a number, got 'x'""",
        ),
        ({**FLAT, "faithfulness": True}, "faithfulness must be a number, got True"),
        ({**FLAT, "faithfulness": "inf"}, "faithfulness must be finite, got 'inf'"),
        (
            {**FLAT, "faithfulness": None, "faithfulness_null_reason": "tired"},
            "unknown null reason 'tired'",
        ),
        ({**FLAT, "passed": "maybe"}, ": passed must be true or false, got 'maybe'"),
        ([1], "must be a JSON object"),
    ],
)
def test_bad_rows_of_tables(tmp_path: Path, row: Any, message: str) -> None:
    first = {"id": "0", "faithfulness": 1, "faithfulness_null_reason": None, "passed": None}
    path = json_lines(tmp_path / "t.jsonl", first, row)
    with pytest.raises(InputError, match=message) as found:
        read_run(path)
    assert str(path) in str(found.value)


@every_row(
    ("row", "message"),
    [
        ({"id": "b", "faithfulness": 1}, "must have a sample and its metrics"),
        ({**NESTED, "metrics": 3}, "must have a sample and its metrics"),
        ({**NESTED, "metrics": {"faithfulness": {"score": []}}}, "must be a number"),
        ({**NESTED, "passed": 7}, "must be true or false, got 7"),
        ({**NESTED, "signature": "x"}, "not a signature"),
    ],
)
def test_bad_result_rows(tmp_path: Path, row: Any, message: str) -> None:
    first = {**NESTED, "sample": {"id": "0"}}
    with pytest.raises(InputError, match=f"line 2.*{message}"):
        read_run(json_lines(tmp_path / "t.jsonl", first, row))


@every_row(
    ("name", "text", "message"),
    [
        ("t.txt", "", "unknown file format. The name must end in"),
        ("t.jsonl", "", "has no rows"),
        ("t.json", "{", "is not valid JSON"),
        ("t.json", "7", "is not a result file"),
        ("t.json", "{}", "neither results nor aggregates"),
        ("t.json", '{"results": 3}', "is not a result file"),
        ("t.json", '{"results":[\n{"sample"', r"results\[0\] is not valid JSON"),
        ("t.json", '{"results":[\n3\n],"aggregates":{}}', r"results\[0\] must be an object"),
        ("t.json", '{"results":[\n{"sample":{"id":1},"metrics":{}}\n', "ends before its summary"),
        ("t.json", '{"results":[\n],"aggregates":{}}', "has a summary but no rows"),
        ("t.json", '{"results": [3]}', r"results\[0\] must be an object, got 3"),
        ("t.csv", "id,name\n1,x\n", "no column has the name of a metric .columns: id, name."),
        ("t.parquet", "x", "is not valid Parquet"),
    ],
)
def test_files_that_hold_no_run(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_run(tmp_path / name)


@every_row(
    ("source", "message"),
    [
        ("none.jsonl", "cannot read none.jsonl"),
        ("none-*.jsonl", "no file matches"),
        ([], "give at least one run"),
        (7, "a run must be a file name or a result, got int"),
    ],
)
def test_sources_that_are_none(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_run(source)


def test_a_column_of_texts_is_no_score(tmp_path: Path) -> None:
    path = table(tmp_path / "t.parquet", [{"id": "a", "faithfulness": "high"}])
    with pytest.raises(InputError, match="column 'faithfulness' must hold numbers, got string"):
        read_run(path)


def test_rows_scored_under_other_settings_in_one_file(tmp_path: Path) -> None:
    lines = [
        found.to_jsonl()
        for found in (result(ROWS[:1]), result(ROWS[1:2], heuristic={"ngram_sizes": [1]}))
    ]
    (tmp_path / "r.jsonl").write_text("".join(line or "" for line in lines))
    with pytest.raises(
        SignatureMismatchError,
        match=r"line 2.*different settings than line 1",
    ):
        read_run(tmp_path / "r.jsonl")


def test_a_truncated_file(tmp_path: Path) -> None:
    result().to_jsonl(tmp_path / "r.jsonl")
    packed = gzip.compress((tmp_path / "r.jsonl").read_bytes())
    (tmp_path / "r.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="The file seems to be cut off"):
        read_run(tmp_path / "r.jsonl.gz")


def test_a_name_that_is_nearly_there(tmp_path: Path, wanted: ScoredRun) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,faithfulness,faithfulness_null_reason,%s\nq,1,,1\n" % ("x" * 500), "utf-8")
    with pytest.raises(InputError) as error:
        read_run(path, metrics=["faithfulnes"])
    assert str(error.value) == (
        f"{path}: no column 'faithfulnes'; did you mean 'faithfulness'? "
        f"(columns: id, faithfulness, {'x' * 39}…)"
    )
