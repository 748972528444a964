"""Metrics of the caller's own: registered, scored beside the seven, explained, gated."""

from __future__ import annotations

import json
import pickle
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.errors import CustomMetricError, InputError, UnsupportedModeError
from rag_eval.jobs.file_run import run_file
from rag_eval.jobs.file_scoring import score_file
from rag_eval.metrics.contract import Scored
from rag_eval.metrics.own import metric
from rag_eval.metrics.registry import unregister
from rag_eval.samples import EvalSample, NullReason, Profile
from tests.tables import every_row

ROWS = [
    {"id": "a", "answer": "one two three", "contexts": ["one two three"], "cost": 3},
    {"id": "b", "answer": "four", "contexts": ["five six"], "metadata": {"cost": 5}},
    {"id": "c", "answer": "", "contexts": []},
]


@pytest.fixture
def brevity() -> Iterator[str]:
    @metric("brevity", threshold=0.5)
    def found(answer: str, *, most_words: int = 4) -> float | None:
        """Share of the allowed words that an answer leaves."""
        words = answer.split()
        return 1 - len(words) / most_words if words else None

    yield "brevity"
    unregister("brevity")


@pytest.fixture
def thrift() -> Iterator[str]:
    @metric("shop.thrift", batch=True, higher_is_better=False, range=(0, 100), version=3)
    def found(cost: list[float]) -> list[float]:
        return [float(value) for value in cost]

    yield "shop.thrift"
    unregister("shop.thrift")


@pytest.fixture
def threads_seen() -> Iterator[set[threading.Thread]]:
    seen: set[threading.Thread] = set()

    @metric("tests.where")
    def found(answer: str) -> float:
        seen.add(threading.current_thread())
        return 1.0

    yield seen
    unregister("tests.where")


@every_row("threads", [1, 2])
def test_all_rows_have_the_same_context(threads: int, threads_seen: set[threading.Thread]) -> None:
    """A metric that calls asyncio.run failed in a notebook, for the rows of the caller's thread."""
    rows = [{"answer": "a", "contexts": ["a" * 10_000]}] * 2000
    threads_seen.clear()
    rag_eval.evaluate_batch(rows, ["faithfulness", "tests.where"], threads=threads)
    if threads == 1:
        assert threads_seen == {threading.current_thread()}
    else:
        assert threading.current_thread() not in threads_seen


def test_a_function_is_a_metric_beside_the_seven(brevity: str) -> None:
    result = rag_eval.evaluate_batch(ROWS, metrics=["faithfulness", brevity])
    assert result.metrics == ("faithfulness", brevity)
    np.testing.assert_array_equal(result.scores[:, 1], [0.25, 0.75, np.nan])
    assert result.null_reasons[2, 1] == NullReason.NOTHING_TO_MEASURE
    assert result.scores[0, 0] == 1
    opened = result.results[1].metrics[brevity]
    assert (opened.score, opened.passed, opened.threshold) == (0.75, True, 0.5)
    assert "brevity is 0.75" in opened.explanation
    assert result.results[0].metrics.brevity.passed is False


def test_a_batch_function_gets_columns_and_reads_metadata(thrift: str) -> None:
    result = rag_eval.evaluate_batch(ROWS, metrics=[thrift], thresholds={thrift: 4})
    np.testing.assert_array_equal(result.scores[:, 0], [3, 5, np.nan])
    assert result.null_reasons[2, 0] == NullReason.MISSING_FIELD
    assert [row.passed for row in result.results] == [True, False, False]
    assert "No cost given" in result.results[2].metrics[thrift].explanation
    assert result.aggregates[thrift].to_dict()["higherIsBetter"] is False


def test_options_reach_the_function_and_the_signature(brevity: str) -> None:
    plain = rag_eval.evaluate(ROWS[0], metrics=[brevity])
    found = rag_eval.evaluate(
        ROWS[0], metrics=[brevity], scorer_options={brevity: {"mostWords": 6}}
    )
    assert found.metrics[brevity].score == 0.5
    assert plain.signature is not None
    assert found.signature is not None
    assert plain.signature.options["scorers"] == {brevity: {"version": 1}}
    assert found.signature.options["scorers"] == {
        brevity: {"version": 1, "options": {"most_words": 6}}
    }
    assert found.signature.differences(plain.signature, [brevity])
    assert not found.signature.differences(plain.signature, ["faithfulness"])


def test_scores_are_the_same_for_every_kind_of_input(brevity: str, tmp_path: Path) -> None:
    metrics = ["faithfulness", brevity]
    expected = rag_eval.evaluate_batch(ROWS, metrics=metrics).scores
    samples = [EvalSample(**{k: v for k, v in row.items() if k != "cost"}) for row in ROWS]  # type: ignore[arg-type]
    for given in (samples, iter(ROWS), tuple(ROWS)):
        result = rag_eval.evaluate_batch(given, metrics=metrics, threads=2)
        np.testing.assert_array_equal(result.scores, expected)
        assert result.results[0].metrics[brevity].score == 0.25
    import pyarrow

    table = pyarrow.table(
        {name: [row.get(name) for row in ROWS] for name in ("id", "answer", "contexts")}
    )
    result = rag_eval.evaluate_batch(table, metrics=metrics)
    np.testing.assert_array_equal(result.scores, expected)
    assert result.results[1].metrics[brevity].score == 0.75


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_files_bring_columns_that_are_no_field_of_ours(
    thrift: str, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"rows.{suffix}"
    rows = [{**row, "cost": row.get("cost", 7)} for row in ROWS[:2]]
    rows[1].pop("metadata")
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    report = run_file(path, [thrift, "faithfulness"], worst=1, output=tmp_path / "out.json")
    assert report.result.aggregates[thrift].mean == 5
    assert report.worst[0].result.metrics[thrift].score == 7
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["results"][0]["metrics"][thrift]["score"] == 3
    score_file(path, tmp_path / "scores.jsonl", [thrift])
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [line[thrift] for line in lines] == [3, 7]


def test_a_weight_of_its_own_makes_it_part_of_the_composite(brevity: str, thrift: str) -> None:
    alone = rag_eval.evaluate(ROWS[0], metrics=["faithfulness", brevity])
    assert alone.composite_score == 1
    weighted = rag_eval.evaluate(
        ROWS[0], metrics=["faithfulness", brevity], composite_weights={brevity: 1}
    )
    assert weighted.composite_score == 0.625
    with pytest.raises(InputError, match="from 0 to 1"):
        rag_eval.evaluate(ROWS[0], metrics=[thrift], composite_weights={thrift: 1})


def test_a_function_that_is_defined_anew_takes_its_own_place() -> None:
    cell = "@metric('again')\ndef again(answer): return {}"
    room = {"metric": metric, "__name__": "notebook"}
    try:
        for score in (0.25, 0.75):
            exec(cell.format(score), room)
            assert rag_eval.evaluate(ROWS[0], metrics=["again"]).metrics["again"].score == score
        for other in ({"metric": metric, "__name__": "another"}, room):
            name = "again" if other is not room else "once_more"
            with pytest.raises(InputError, match="'again' is already taken"):
                exec(cell.replace("def again", f"def {name}").format(1), other)
    finally:
        unregister("again")


def test_functions_within_a_function_do_not_take_each_others_place() -> None:
    def made(score: float) -> None:
        @metric("made")
        def found(answer: str) -> float:
            return score

    try:
        made(0.25)
        with pytest.raises(InputError, match="'made' is already taken"):
            made(0.75)
    finally:
        unregister("made")


@every_row("name", ["faithfulness", "answerRelevance", "mastra.completeness", "ndcg@10", "brevity"])
def test_a_taken_id_cannot_be_registered(brevity: str, name: str) -> None:
    with pytest.raises(
        InputError, match=r"is already taken|must consist of lowercase words|are those of"
    ):
        metric(name)(lambda answer: 1.0)


@every_row("name", ["", "Two Words", "mastra.mine", "a" * 99, "x.", "9lives", None])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        metric(name)(lambda answer: 1.0)


def test_what_is_wrong_with_a_function_is_said_when_it_is_registered() -> None:
    with pytest.raises(InputError, match="has no parameters: name at least one field"):
        metric("own.nothing")(lambda: 1.0)
    with pytest.raises(InputError, match="must name fields"):
        metric("own.all")(lambda **everything: 1.0)
    with pytest.raises(InputError, match="range must be increasing"):
        metric("own.range", range=(1, 0))(lambda answer: 1.0)
    with pytest.raises(InputError, match="version must be"):
        metric("own.version", version=0)(lambda answer: 1.0)


@every_row("bad", [2.0, "high", -0.1, float("inf")])
def test_a_score_outside_the_range_names_sample_and_metric(bad: object) -> None:
    metric("own.bad")(lambda answer: bad)
    try:
        with pytest.raises(
            CustomMetricError, match=r'sample 0 \("a"\): metric .own.bad. must return numbers'
        ):
            rag_eval.evaluate_batch(ROWS, metrics=["own.bad"])
    finally:
        unregister("own.bad")


def test_an_error_of_the_function_names_metric_sample_and_line_and_is_the_cause() -> None:
    def found(answer: str, cost: dict[str, float]) -> float:
        return json.loads(answer) * cost["usd"]

    line = found.__code__.co_firstlineno + 1
    rows = [{"id": "x", "answer": "1", "cost": {"usd": 1}}, {"id": "y", "answer": "1", "cost": {}}]
    metric("own.keyed")(found)
    try:
        with pytest.raises(CustomMetricError) as caught:
            rag_eval.evaluate_batch(rows, metrics=["own.keyed"])
        assert re.fullmatch(
            r"""sample 1 \("y"\): metric 'own.keyed' raised KeyError: 'usd' at """
            rf"\S*test_own\.py:{line}",
            str(caught.value),
        )
        assert isinstance(caught.value.__cause__, KeyError)
        # The line of the user's file, not the line of the library that it called.
        with pytest.raises(CustomMetricError, match=rf"JSONDecodeError: .*test_own\.py:{line}$"):
            rag_eval.evaluate({"answer": "{", "cost": {}}, metrics=["own.keyed"])
    finally:
        unregister("own.keyed")


@every_row(
    ("scores", "text"),
    [
        (lambda rows: [1.0][: len(rows) - 1], r'0 \("a"\): .*got 0 scores for 1 sample'),
        (lambda rows: [0.5], r'0 \("a"\) to sample 2 \("c"\): .*got 1 score for 3 samples'),
        (lambda rows: 0.5, r'0 \("a"\): .*one score per sample, got float'),
        (lambda rows: [1 / len(answer) for answer in rows], r'2 \("c"\): .*ZeroDivisionError'),
        (lambda rows: [1 // (3 - len(rows))], r'"a"\) to sample 2 .*ZeroDivisionError'),
    ],
)
def test_a_batch_function_must_score_every_sample(scores: Any, text: str) -> None:
    # One score for a block of three was taken for the score of each row alone.
    metric("own.short", batch=True)(lambda answer: scores(answer))
    try:
        with pytest.raises(CustomMetricError, match=text):
            rag_eval.evaluate_batch(ROWS, metrics=["own.short"])
    finally:
        unregister("own.short")


def test_an_unknown_option_and_an_unknown_metric_suggest_the_nearest(brevity: str) -> None:
    with pytest.raises(InputError, match="did you mean 'most_words'"):
        rag_eval.evaluate(ROWS[0], metrics=[brevity], scorer_options={brevity: {"most_word": 3}})
    with pytest.raises(InputError, match="did you mean 'brevity'"):
        rag_eval.evaluate(ROWS[0], metrics=["brevty"])


def test_findings_become_details_and_signals() -> None:
    details = [{"check": f"own.check[{n}]", "passed": n % 2 == 0} for n in range(29)]
    metric("own.checks")(lambda answer: Scored(0.5, explanation="Half of them.", details=details))
    try:
        found = rag_eval.evaluate(ROWS[0], metrics=["own.checks"]).metrics["own.checks"]
    finally:
        unregister("own.checks")
    assert found.details == tuple(details)
    failed = [f"own.checks-own.check[{n}]" for n in range(1, 20, 2)]
    assert [signal.id for signal in found.signals] == failed
    assert found.explanation == "Half of them. (+ 4 more that failed)"
    assert len(found.to_dict()["details"]) == 29


def test_a_bad_field_of_a_file_names_its_line_and_can_be_skipped(tmp_path: Path) -> None:
    @metric("own.cost")
    def found(cost: dict[str, float]) -> float:
        if "usd" not in cost:
            raise InputError("cost must be in usd")
        return cost["usd"]

    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "x", "cost": {"usd": 1}}\n{"id": "y", "cost": {"eur": 1}}\n')
    try:
        with pytest.raises(InputError, match=r'line 2 \("y"\): cost must be .*Add --skip-invalid'):
            run_file(path, ["own.cost"])
        report = run_file(path, ["own.cost"], skip_invalid=True)
    finally:
        unregister("own.cost")
    assert (report.result.n_rows, report.n_skipped) == (1, 1)
    assert 'line 2 ("y")' in str(report.faults[0])


def test_a_fault_of_the_function_is_none_of_the_row_and_cannot_be_skipped(tmp_path: Path) -> None:
    metric("own.cost")(lambda cost: float(cost["usd"]))
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "x", "cost": {"usd": 1}}\n{"id": "y", "cost": {"usd": 9}}\n')
    try:
        for skips in (False, True):
            with pytest.raises(
                CustomMetricError, match=r'line 2 \("y"\): metric .*got 9'
            ) as caught:
                run_file(path, ["own.cost"], skip_invalid=skips)
            assert "--skip-invalid" not in str(caught.value)
    finally:
        unregister("own.cost")


def test_a_file_of_words_signs_with_its_words(tmp_path: Path) -> None:
    words = tmp_path / "words.tsv"
    signatures = []
    for text in ("good\t3\n", "bad\t-3\n", "good\t3\n"):
        words.write_text(text)
        result = rag_eval.evaluate(
            {"answer": "A good one. A bad one."},
            metrics=["mastra.tone_consistency"],
            scorer_options={"mastra.tone_consistency": {"lexicon": str(words)}},
        )
        assert result.signature is not None
        signatures.append(result.signature.options["scorers"])
    assert signatures[0] != signatures[1]
    assert signatures[0] == signatures[2]
    assert str(words) not in str(signatures)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_files_on_two_threads_score_as_on_one(
    brevity: str, thrift: str, tmp_path: Path, suffix: str
) -> None:
    rows = [
        {"id": f"q{n}", "answer": "word " * (n % 5), "contexts": ["word"], "cost": n % 90}
        for n in range(5000)
    ]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    written = []
    for threads in (1, 2):
        target = tmp_path / f"scores{threads}.jsonl"
        score_file(path, target, ["faithfulness", brevity, thrift], threads=threads)
        written.append(target.read_bytes())
    assert written[0] == written[1]
    found = [json.loads(line) for line in written[1].splitlines()]
    assert [row[thrift] for row in found] == [row["cost"] for row in rows]
    assert [row[brevity] for row in found[:6]] == [None, 0.75, 0.5, 0.25, 0, None]


@every_row("profile", ["overlap", "grounded"])
def test_a_pass_rate_is_refused_where_no_row_can_fail(profile: Profile, tmp_path: Path) -> None:
    """In the overlap profile all rows passed by a composite score that no metric is part of."""

    @metric("unlimited")
    def found(answer: str) -> float | None:
        return None

    try:
        path = tmp_path / "rows.jsonl"
        path.write_text(json.dumps({"answer": "one"}) + "\n", encoding="utf-8")
        with pytest.raises(InputError, match="no row can fail: no threshold is set for unlimited"):
            run_file(path, ["unlimited"], profile=profile, min_pass_rate=0.5)
    finally:
        unregister("unlimited")


def test_a_failing_function_names_metric_and_row_on_any_number_of_threads(tmp_path: Path) -> None:
    @metric("failing")
    def found(answer: str) -> float:
        return 1 / (len(answer) - 3)

    try:
        path = tmp_path / "rows.jsonl"
        rows = [{"id": f"q{n}", "answer": "bad" if n == 3000 else "good"} for n in range(5000)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        for threads in (1, 2):
            with pytest.raises(CustomMetricError, match=r"q3000.*'failing' raised") as failed:
                score_file(path, tmp_path / "out.jsonl", ["failing"], threads=threads)
            assert isinstance(failed.value.__cause__, ZeroDivisionError)
    finally:
        unregister("failing")


def test_a_batch_scorer_goes_to_a_process_that_knows_the_metric_and_to_no_other() -> None:
    import pyarrow

    from rag_eval.jobs.record_batches import BatchScorer

    @metric("shop.known", range=(0, 9))
    def found(answer: str, *, factor: int = 1) -> float:
        return len(answer) * factor

    try:
        options = {"shop.known": {"factor": 2}}
        sent = pickle.dumps(BatchScorer(["shop.known"], scorer_options=options))
        table = pyarrow.table({"answer": ["abc", "d"]})
        (batch,) = table.to_batches()
        assert pickle.loads(sent)(batch).column("shop.known").to_pylist() == [6, 2]
    finally:
        unregister("shop.known")
    with pytest.raises(InputError, match=r"unknown metric 'shop\.known'.*after its module"):
        pickle.loads(sent)


def test_options_of_scorers_are_no_judge_to_record_batches() -> None:
    import pyarrow

    from rag_eval.jobs.record_batches import BatchScorer

    scorer = BatchScorer(["omk.contains"], scorer_options={"omk.contains": {"value": "a"}})
    (batch,) = pyarrow.table({"answer": ["abc", "d"]}).to_batches()
    assert scorer(batch).column("omk.contains").to_pylist() == [1, 0]
    with pytest.raises(UnsupportedModeError, match="record batches are scored without a judge"):
        BatchScorer(["mastra.bias"])


def test_a_transformer_has_columns_of_scorers() -> None:
    pytest.importorskip("sklearn")
    from sklearn.base import clone

    from rag_eval.estimators import RagScorer

    options = {"omk.contains": {"value": "two"}}
    scorer = clone(RagScorer(metrics=["omk.contains", "ir.P@1"], scorer_options=options))
    rows = [{**ROWS[0], "retrieved_ids": ["a"], "relevant_ids": ["a"]}, ROWS[1]]
    np.testing.assert_array_equal(scorer.fit_transform(rows), [[1, 1], [0, np.nan]])
    assert scorer.get_feature_names_out().tolist() == ["omk.contains", "ir.P@1"]
