"""Views: what reports show of a run, from a batch, a result file and a run of files."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.gating.limits import no_gate_text
from rag_eval.jobs.file_run import run_file
from rag_eval.kernels import scoring
from rag_eval.metrics import own as own_metrics
from rag_eval.metrics.registry import unregister
from rag_eval.samples import Profile
from rag_eval.views import making
from rag_eval.views.distributions import MOST_VALUES, N_BINS, slices_of
from rag_eval.views.making import view_of_batch, view_of_file
from rag_eval.views.row_choice import RowChoice
from rag_eval.views.run_view import RunView
from rag_eval.views.sentences import answer_sentences, shown_truth, truth_sentences
from tests.tables import every_row

EXAMPLE = Path(__file__).parents[3] / "examples" / "handbook.jsonl"
TRIAL = {
    "id": "t1",
    "question": "Who led the trial?",
    "answer": "The trial wäs led by Ellen Marsh. It enrolled 1,300 patients.",
    "contexts": ["Nothing.", "Ellen Marsh led the trial, said the paper."],
    "groundTruth": "Ellen Marsh led it. She is a doctor.",
    "metadata": {"topic": "medicine"},
}


def rows(n: int) -> list[dict[str, Any]]:
    return [
        {**TRIAL, "id": f"r{i}", "answer": f"Ellen Marsh led trial {i}." if i % 3 else "Hm no."}
        for i in range(n)
    ]


# ------------------------------------------------------------------------------------ sentences


def test_the_grounded_profile_shows_the_window_that_carries_a_sentence() -> None:
    first, second = answer_sentences(rag_eval.evaluate(TRIAL, profile="grounded"))
    assert first.level == "supported"
    assert first.chunk == 1
    assert first.window is not None
    assert TRIAL["contexts"][1][slice(*first.window)] == "Ellen Marsh led the trial"
    assert (second.level, second.missing_numbers) == ("unsupported", ("1300",))


def test_the_overlap_profile_shows_the_chunk_with_the_best_overlap_and_its_own_numbers() -> None:
    result = rag_eval.evaluate(TRIAL)
    first, second = answer_sentences(result)
    assert first.text == "The trial wäs led by Ellen Marsh."
    assert (first.chunk, first.window, second.chunk) == (1, None, None)
    mean = (first.support + second.support) / 2
    assert mean == pytest.approx(result.metrics.faithfulness.score)
    assert second.level == "unsupported"  # what hallucination_rate counts


def test_the_chunk_is_the_first_that_has_the_best_overlap() -> None:
    contexts = [TRIAL["contexts"][1], "Nothing.", TRIAL["contexts"][1], "Nobody."]
    first, _ = answer_sentences(rag_eval.evaluate({**TRIAL, "contexts": contexts}))
    assert first.chunk == 0


@pytest.mark.parametrize("metrics", [None, ["hallucination_rate", "context_recall"]])
def test_sentences_that_kernels_kept_are_those_found_anew(metrics: list[str] | None) -> None:
    """Also where texts are read as something else, and where no metric weighs sentences."""
    truths = [TRIAL["groundTruth"], '["Ellen Marsh led it."]', ["Ellen Marsh led it."], "", None]
    texts = [{**TRIAL, "groundTruth": truth} for truth in truths]
    texts += [{**TRIAL, "answer": ""}, {**TRIAL, "contexts": []}]
    texts += [{**TRIAL, "contexts": [{"text": "Ellen Marsh led it."}, "Nothing."]}]
    for result in (rag_eval.evaluate(one, metrics) for one in texts):
        anew = replace(result, metrics=type(result.metrics)(dict(result.metrics)))
        assert answer_sentences(result) == answer_sentences(anew)
        assert truth_sentences(result) == truth_sentences(anew)


def test_a_claim_counts_by_its_words_and_faithfulness_by_their_pairs_too() -> None:
    result = rag_eval.evaluate(TRIAL)
    (first, _), limit = answer_sentences(result), 0.5
    assert first.support < limit  # its words alone overlap more
    strict = rag_eval.evaluate(TRIAL, heuristic={"claim_support_threshold": limit})
    assert answer_sentences(strict)[0].level == "supported"


def test_levels_of_the_overlap_profile_are_those_of_its_signals() -> None:
    strict = {"claim_support_threshold": 0.99}
    result = rag_eval.evaluate(TRIAL, heuristic=strict)
    assert [one.level for one in answer_sentences(result)] == ["unsupported", "unsupported"]
    found = result.metrics.hallucination_rate.signals
    assert len([one for one in found if one.severity == "critical"]) == 2
    weak = {**TRIAL, "answer": "The paper of the year names many people and Ellen Marsh too."}
    (only,) = answer_sentences(rag_eval.evaluate(weak, heuristic={"claim_support_threshold": 0.01}))
    assert only.level == "weak"


def test_ground_truth_that_no_context_covers_is_shown_in_both_profiles() -> None:
    for profile in ("overlap", "grounded"):
        result = rag_eval.evaluate(TRIAL, profile=profile)
        assert [one.text for one in truth_sentences(result)] == [
            "Ellen Marsh led it.",
            "She is a doctor.",
        ]
        assert [one.level for one in truth_sentences(result)] == ["supported", "unsupported"]


def test_a_sentence_on_the_edge_of_a_level_is_of_the_better_one() -> None:
    result = rag_eval.evaluate(TRIAL, ["faithfulness"], profile="grounded")
    (first, *_) = result.metrics.faithfulness.evidence or ()
    for support, level in (
        (0.6, "supported"),
        (math.nextafter(0.6, 0), "weak"),
        (0.3, "weak"),
        (math.nextafter(0.3, 0), "unsupported"),
    ):
        metric = replace(result.metrics.faithfulness, evidence=(replace(first, support=support),))
        edge = replace(result, metrics=type(result.metrics)({"faithfulness": metric}))
        assert [one.level for one in answer_sentences(edge)] == [level]
    # In the overlap profile, too: a ground truth is covered from the threshold on.
    covered = truth_sentences(rag_eval.evaluate(TRIAL, ["context_recall"]))[0].support
    for bar, level in ((covered, "supported"), (math.nextafter(covered, 1), "unsupported")):
        options: dict[str, Any] = {"heuristic": {"sentence_coverage_threshold": bar}}
        found = truth_sentences(rag_eval.evaluate(TRIAL, ["context_recall"], **options))
        assert found[0].level == level


def test_of_several_ground_truths_the_one_that_counted_is_shown() -> None:
    sample = {**TRIAL, "groundTruth": ["Nobody knows that.", "Ellen Marsh led the trial."]}
    result = rag_eval.evaluate(sample, profile="grounded")
    assert shown_truth(result) == "Ellen Marsh led the trial."
    assert [one.level for one in truth_sentences(result)] == ["supported"]


def test_evidence_that_a_file_does_not_hold_is_found_anew(tmp_path: Path) -> None:
    batch = rag_eval.evaluate_batch([TRIAL], profile="grounded")
    batch.to_json(tmp_path / "brief.json")
    read = rag_eval.BatchEvalResult.from_json(tmp_path / "brief.json")
    assert read.results[0].metrics.faithfulness.evidence is None
    assert answer_sentences(read.results[0]) == answer_sentences(batch.results[0])
    assert truth_sentences(read.results[0]) == truth_sentences(batch.results[0])


@every_row("missing", ["answer", "contexts"])
def test_without_texts_there_are_no_sentences(missing: str) -> None:
    sample = {name: value for name, value in TRIAL.items() if name != missing}
    result = rag_eval.evaluate(sample, profile="grounded")
    assert answer_sentences(result) == ()


# ------------------------------------------------------------------------------- rows of long runs


def chosen(composite: list[float], passed: list[bool], most: int, size: int) -> list[int]:
    choice: RowChoice[int] = RowChoice(most)
    values, verdicts = np.array(composite), np.array(passed)
    for first in range(0, len(values), size):
        block = slice(first, first + size)
        choice.add(first, values[block], verdicts[block], lambda place, at=first: at + place)
    return choice.chosen()


def test_a_short_run_is_listed_whole_in_its_order() -> None:
    assert chosen([0.5] * 7, [True] * 7, 8, 3) == list(range(7))
    assert chosen([0.5] * 8, [True] * 8, 8, 3) == list(range(8))


def test_a_long_run_lists_failures_first_whatever_the_blocks() -> None:
    rng = np.random.default_rng(5)
    composite = rng.random(1000)
    passed = composite > 0.03
    composite[7], passed[7] = 0.99, False  # fails by one metric in spite of a high composite
    composite[8], passed[8] = np.nan, False
    found = chosen(composite.tolist(), passed.tolist(), 100, 1000)
    assert len(found) == 100
    assert set(np.flatnonzero(~passed)) <= set(found)
    assert found == sorted(found)
    assert found == chosen(composite.tolist(), passed.tolist(), 100, 7)


def test_rows_without_a_score_come_after_those_that_scored_low() -> None:
    composite = [float("nan")] * 100 + [0.9] * 5 + [float("nan")] * 100
    found = chosen(composite, [False] * 205, 10, 205)
    assert set(range(100, 105)) <= set(found)


def test_the_draw_is_from_everywhere_and_always_the_same() -> None:
    found = chosen([1.0] * 4000, [True] * 4000, 400, 64)
    drawn = [row for row in found if row >= 200]  # the worst of equal ones are the first 200
    counts = np.histogram(drawn, bins=4, range=(200, 4000))[0]
    assert len(drawn) == 200
    assert counts.min() > 25
    assert found == chosen([1.0] * 4000, [True] * 4000, 400, 4000)


# ------------------------------------------------------------------------------------ whole views


def test_a_run_and_its_result_file_have_one_view(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    options: dict[str, Any] = {"profile": "grounded", "view": True}
    made = run_file(EXAMPLE, output=path, details=True, **options).view
    read = view_of_file(path)
    assert made is not None
    assert made.histograms == read.histograms
    assert made.thresholds == read.thresholds
    assert [row.id for row in made.rows] == [row.id for row in read.rows]
    assert made.is_whole
    assert read.is_whole
    assert made.passed is read.passed is None
    assert made.reason == read.reason == no_gate_text(["faithfulness"])
    for one, other in zip(made.rows, read.rows, strict=True):
        assert answer_sentences(one.result) == answer_sentences(other.result)
        assert one.line is not None
        assert json.loads(EXAMPLE.read_text().splitlines()[one.line - 1])["id"] == one.id


@pytest.mark.parametrize("profile", ["grounded", "overlap"])
def test_rows_of_a_run_are_scored_once(monkeypatch: pytest.MonkeyPatch, profile: Profile) -> None:
    plain = run_file(EXAMPLE, profile=profile, view=True, worst=0).view
    n_scored = 0
    whole = scoring.explained_batch

    def counted(*arguments: Any) -> Any:
        nonlocal n_scored
        n_scored += 1
        return whole(*arguments)

    monkeypatch.setattr(scoring, "explained_batch", counted)
    assert shown(run_file(EXAMPLE, profile=profile, view=True, worst=0).view) == shown(plain)
    assert n_scored == 0
    # A longer run keeps few of its rows, which then are scored again.
    monkeypatch.setattr(making, "MOST_ROWS", 0)
    assert shown(run_file(EXAMPLE, profile=profile, view=True, worst=0).view) == shown(plain)
    assert n_scored == 1


def shown(view: RunView | None) -> list[Any]:
    assert view is not None
    return [
        (row.name, replace(row.result, evaluated_at="").to_dict(details=True)) for row in view.rows
    ]


def test_histograms_hold_every_score_once() -> None:
    batch = rag_eval.evaluate_batch(rows(50), profile="grounded")
    view = view_of_batch(batch)
    for column, metric in enumerate(batch.metrics):
        found = view.histograms[metric]
        values = batch.scores[:, column]
        assert (found.low, found.high, len(found.counts)) == (0.0, 1.0, N_BINS)
        # As decimals: a score of 0.15 lies in the bin that begins there.
        places = [int(Decimal(repr(value)) * N_BINS) for value in values.tolist() if value == value]
        expected = Counter(min(place, N_BINS - 1) for place in places)
        assert {place: n for place, n in enumerate(found.counts) if n} == expected


def test_scores_that_are_all_the_same_are_in_the_middle_of_their_histogram() -> None:
    @own_metrics.metric("words_of_answer", threshold=1, range=(0, math.inf))
    def words(answer: str) -> float:
        return float(len(answer.split()))

    try:
        same = [{**TRIAL, "answer": "one two three"}] * 3
        view = view_of_batch(rag_eval.evaluate_batch(same, ["words_of_answer"]))
    finally:
        unregister("words_of_answer")
    found = view.histograms["words_of_answer"]
    assert (found.low, found.high) == (2.5, 3.5)
    assert found.counts[N_BINS // 2] == 3


def test_a_metric_without_scores_has_no_histogram() -> None:
    batch = rag_eval.evaluate_batch(
        [{"question": "a", "answer": "b"}], profile="grounded", allow_missing=True
    )
    assert "faithfulness" not in view_of_batch(batch).histograms


def test_slices_have_their_own_means_and_counts() -> None:
    samples = [{**row, "metadata": {"topic": "ab"[i % 2]}} for i, row in enumerate(rows(9))]
    batch = rag_eval.evaluate_batch(samples, ["faithfulness"], profile="grounded")
    first, second = view_of_batch(batch, slice_by=["topic"]).slices
    assert [(one.value, one.n_rows) for one in (first, second)] == [("a", 5), ("b", 4)]
    assert first.means["faithfulness"].estimate == pytest.approx(batch.scores[::2, 0].mean())
    assert first.n_passed == int(batch.sample_passed[::2].sum())
    assert first.n_scored == {"faithfulness": 5, "composite": 5}


def test_a_run_slices_by_fields_of_the_samples_or_their_metadata(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    samples = [{**row, "kind": "xy"[i % 2]} for i, row in enumerate(rows(6))]
    data.write_text("".join(json.dumps(row) + "\n" for row in samples))
    view = run_file(data, ["faithfulness"], view=True, slice_by=["kind", "topic"]).view
    assert isinstance(view, RunView)
    found = [(one.field, one.value, one.n_rows) for one in view.slices]
    assert found == [("kind", "x", 3), ("kind", "y", 3), ("topic", "medicine", 6)]


def test_a_field_with_a_value_for_each_row_is_cut_to_the_most_frequent() -> None:
    n = 2 * MOST_VALUES
    values: list[str | None] = [None, None, *map(str, range(n - 2))]
    floats, flags = np.ones(n), np.ones(n, np.bool_)
    found = slices_of([], np.empty((n, 0)), floats, flags, {"id": values})
    assert len(found) == MOST_VALUES
    assert (found[0].value, found[0].n_rows) == (None, 2)


def test_an_unknown_slice_is_refused() -> None:
    batch = rag_eval.evaluate_batch(rows(2))
    with pytest.raises(InputError, match="no sample has a field 'tpoic'"):
        view_of_batch(batch, slice_by=["tpoic"])
    with pytest.raises(InputError, match="slice_by needs a report that shows it"):
        run_file(EXAMPLE, slice_by=["topic"])


def test_a_baseline_with_rows_is_compared_row_by_row(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.jsonl"
    rag_eval.evaluate_batch(rows(30), ["faithfulness"], profile="grounded").to_json(old)
    worse = [{**row, "answer": "Hm no."} for row in rows(30)]
    new.write_text("".join(json.dumps(row) + "\n" for row in worse))
    options: dict[str, Any] = {"profile": "grounded", "view": True, "baseline": old}
    view = run_file(new, ["faithfulness"], **options).view
    assert view is not None
    assert view.comparison is not None
    assert view.comparison.n_pairs == 30
    assert view.comparison.change("faithfulness").verdict == "REGRESSED"
    summary = tmp_path / "summary.json"
    summary.write_text(json.dumps({**json.loads(old.read_text()), "results": []}))
    view = run_file(
        new, ["faithfulness"], **{**options, "baseline": summary, "policy": "node"}
    ).view
    assert view is not None
    assert view.comparison is None
    assert view.notes[0].startswith("rows are not compared with the baseline: ")


def test_a_batch_without_texts_has_a_view_without_rows() -> None:
    batch = rag_eval.evaluate_batch(rows(3), keep_texts=False)
    view = view_of_batch(batch)
    assert view.rows == ()
    assert not view.is_whole
    assert view.summary.n_rows == 3


def test_a_run_that_kept_nothing_to_show_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="view=True"):
        run_file(EXAMPLE, ["faithfulness"]).to_html()
    report = run_file(EXAMPLE, ["faithfulness"], view=True)
    report.to_html(tmp_path / "page.html", title="Mine")
    assert (tmp_path / "page.html").read_text() == report.to_html(title="Mine")
    batch = rag_eval.evaluate_batch(rows(3), ["faithfulness"])
    found = re.search("<title>(.*)</title>", str(batch.to_html(title="Mine")))
    assert found is not None
    assert "Mine" in found[1]


def test_a_baseline_of_other_settings_is_shown_where_that_was_allowed(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.jsonl"
    rag_eval.evaluate_batch(rows(9), ["faithfulness"], profile="overlap").to_json(old)
    new.write_text("".join(json.dumps(row) + "\n" for row in rows(9)))
    options: dict[str, Any] = {"profile": "grounded", "view": True, "baseline": old}
    view = run_file(new, ["faithfulness"], **options, allow_signature_mismatch=True).view
    assert view is not None
    assert view.comparison is not None
    assert any("profile" in difference for difference in view.comparison.differences)
    with pytest.raises(InputError, match="profile"):
        run_file(new, ["faithfulness"], **options)
    batch = rag_eval.evaluate_batch(rows(9), ["faithfulness"], profile="grounded")
    with pytest.raises(InputError, match="profile"):
        view_of_batch(batch, baseline=old)


def test_a_run_shows_its_verdict_and_means_in_a_notebook() -> None:
    html = run_file(EXAMPLE, ["faithfulness"], profile="grounded", min_pass_rate=0.99)._repr_html_()
    for text in ("FAIL", "pass rate 0.82 (54/66) is below 0.99", "faithfulness", "0.79"):
        assert text in html
    assert "<script" not in html


def test_an_interrupted_result_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    sound = {**TRIAL, "answer": "Ellen Marsh led the trial, said the paper."}
    batch = rag_eval.evaluate_batch([sound], ["faithfulness"], profile="grounded")
    path.write_text(json.dumps(batch.to_dict()))
    assert not view_of_file(path).interrupted
    path.write_text(json.dumps({**batch.to_dict(), "interrupted": True, "nSkipped": 2}))
    view = view_of_file(path)
    assert (view.passed, view.interrupted, view.n_skipped) == (None, True, 2)
    assert view.reason == "the run was interrupted: only part of the samples was scored"
