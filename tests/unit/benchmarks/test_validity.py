"""The validity bench: sets become the right trials, scorers get what is theirs, figures are right.

All rows here are made up, but for the test marked ``labelled``.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rag_eval
from benchmarks.validity import __main__ as command
from benchmarks.validity import definition, measures, peers, pieces, report, scorers, sets
from benchmarks.validity.certainty import Band, certainty, pooled
from benchmarks.validity.outcomes import Outcome, definition_checks, measure_trial
from benchmarks.validity.sets import Pair, Row, Trial
from tests.tables import every_row


def row(
    answer: str = "",
    contexts: Sequence[str] = (),
    golds: Sequence[str] = (),
    good: bool = True,
    group: str = "g",
    question: str = "",
) -> Row:
    return Row(question, answer, list(contexts), list(golds), good, group)


def of_metric(trials: Sequence[Trial], metric: str) -> Trial:
    (trial,) = [trial for trial in trials if trial.metric == metric]
    return trial


# ------------------------------------------------------------------------------------ measures


def test_auroc_counts_ties_half() -> None:
    good = np.array([True, True, False, False])
    # Pairs good over bad: .9 > .5, .9 > .1, .5 = .5, .5 > .1.
    assert measures.auroc(good, np.array([0.9, 0.5, 0.5, 0.1])) == 3.5 / 4


def test_average_precision_takes_tied_scores_in_one_step() -> None:
    good = np.array([True, False, True, False])
    # Precision 1 at recall 1/2, then 2/4 at recall 1.
    assert measures.average_precision(good, np.array([0.9, 0.2, 0.2, 0.2])) == 0.75


def test_balanced_accuracy_passes_from_the_threshold_on() -> None:
    good = np.array([True, True, False, False, False, False])
    scores = np.array([0.6, 0.5, 0.7, 0.1, 0.2, 0.3])
    assert measures.balanced_accuracy(good, scores, 0.6) == (1 / 2 + 3 / 4) / 2


def test_resamples_keep_groups_whole() -> None:
    groups = ["a", "b", "a", "c", "b", "a"]
    for indices in measures.resamples([True, False] * 3, groups, 20):
        times = np.bincount(indices, minlength=6)
        assert times[0] == times[2] == times[5]
        assert times[1] == times[4]
        assert times[0] + times[1] + times[3] == 3


def test_resamples_hold_both_classes_and_repeat() -> None:
    good, groups = [True, False, False], ["a", "b", "c"]
    draws = measures.resamples(good, groups, 50)
    assert len(draws) == 50
    assert all({good[i] for i in indices} == {True, False} for indices in draws)
    again = measures.resamples(good, groups, 50)
    assert all(np.array_equal(a, b) for a, b in zip(draws, again, strict=True))


def test_resamples_of_one_class_are_refused() -> None:
    with pytest.raises(ValueError, match="one class only"):
        measures.resamples([True, True], ["a", "b"], 3)


def test_agreement_of_perfect_and_of_missing_scores() -> None:
    good = [True, True, False, False]
    draws = measures.resamples(good, ["a", "b", "c", "d"], 30)
    figures = measures.agreement(good, [0.9, 0.8, math.nan, 0.1], draws, threshold=0.5)
    assert (figures.auroc.value, figures.auroc.low, figures.auroc.high) == (1, 1, 1)
    assert figures.precision.value == 1
    assert figures.balanced is not None
    assert figures.balanced.value == 1
    assert figures.n_null == 1
    assert measures.agreement(good, [0.9, math.nan, 0.5, 0.1], draws).auroc.value == 0.5
    assert measures.agreement(good, [1, 1, 0, 0], draws).balanced is None


def test_precision_within_counts_each_list_once() -> None:
    good = [True, False, False, True, True, True, False]
    scores = [0.1, 0.9, 0.5, 0.7, 0.3, 0.2, 0.1]
    # "a" ranks its good one third, "b" both first; "c" has no bad one and ranks nothing.
    groups = ["a", "a", "a", "b", "b", "c", "b"]
    draws = [np.array([0, 1, 2, 0, 1, 2, 5]), np.array([3, 4, 6, 0, 1, 2])]
    within = measures.precision_within(good, scores, groups, draws)
    assert within is not None
    assert within.value == pytest.approx((1 / 3 + 1) / 2)
    assert within.draws.tolist() == pytest.approx([1 / 3, (1 / 3 + 1) / 2])
    only_c = measures.precision_within(good, scores, groups, [np.array([5]), draws[0]])
    assert only_c is not None
    assert math.isnan(only_c.draws[0])
    assert only_c.low == pytest.approx(1 / 3)
    assert measures.precision_within([True, False], [0.1, 0.2], ["a", "b"], []) is None


def test_agreement_needs_a_score_for_each_case() -> None:
    with pytest.raises(ValueError, match="1 scores for 2 cases"):
        measures.agreement([True, False], [0.5], [])


def test_differences_and_means_are_taken_draw_by_draw() -> None:
    left = measures.Estimate(0.9, np.array([0.8, 1.0]))
    right = measures.Estimate(0.5, np.array([0.4, 0.6]))
    lead = left - right
    assert lead.value == pytest.approx(0.4)
    assert lead.draws.tolist() == pytest.approx([0.4, 0.4])
    mean = measures.mean_of([left, right])
    assert mean.value == pytest.approx(0.7)
    assert mean.draws.tolist() == pytest.approx([0.6, 0.8])


def test_what_low_and_high_scores_say() -> None:
    good = [True] * 4 + [False] * 2
    found = certainty(good, np.array([1.0, 0.95, 0.5, math.nan, 0.39, 0.96]))
    low, passing, high = found.bands.values()
    assert low == Band(1 / 4, 1 / 2)
    assert low.share_bad == pytest.approx(2 / 3)  # as if both classes had as many rows
    assert passing == high == Band(2 / 4, 1 / 2)
    assert high.share_bad == 0.5
    # From .5 on 3 of 4 good ones pass and 1 of 2 bad ones.
    assert found.best_cut == 0.5
    other = certainty([True, False], np.array([0.6, 0.4]))
    assert list(other.bands.values()) == [Band(0.0, 0.0), Band(1.0, 0.0), Band(0.0, 0.0)]
    assert math.isnan(other.bands["below 0.40"].share_bad)
    assert pooled([found, other])["below 0.40"] == Band(1 / 8, 1 / 4)


# ---------------------------------------------------------------------------------------- sets


def write_set(folder: Path, name: str, rows: Sequence[dict[str, Any]]) -> Path:
    path = folder / "labelled" / f"{name}.jsonl.gz"
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(fields) + "\n" for fields in rows)
    return path


def line(task: str, label: int, group: str, **fields: Any) -> dict[str, Any]:
    empty = {"question": "", "answer": "", "contexts": [], "ground_truth": ""}
    return {**empty, "task": task, "label": label, "label_bin": label, "group": group, **fields}


def test_sets_are_found_known_ones_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EVAL_DATA", str(tmp_path))
    assert sets.found_sets() == {}
    assert "RAG_EVAL_DATA" in sets.absence()
    for name in ("another", "stsb", "begin_wow"):
        write_set(tmp_path, name, [])
    assert list(sets.found_sets()) == ["begin_wow", "stsb", "another"]


def test_golds_are_split_where_a_set_joins_them(tmp_path: Path) -> None:
    fields = line("answer_correctness", 1, "q", answer="1979", ground_truth="1979/the year 1979/")
    (trial,) = sets.load_trials("evouna_nq", write_set(tmp_path, "evouna_nq", [fields]))
    assert trial.samples[0]["ground_truth"] == ["1979", "the year 1979"]
    assert trial.pairs == [Pair("1979", ["1979", "the year 1979"])]
    (trial,) = sets.load_trials("stsb", write_set(tmp_path, "stsb", [fields]))
    assert trial.samples[0]["ground_truth"] == ["1979/the year 1979/"]
    assert sets.golds_of("a/b | c", sets.KNOWN["nq301"].separator) == ["a/b", "c"]


def test_a_set_that_is_not_known_is_read_by_its_task(tmp_path: Path) -> None:
    fields = line("faithfulness", 0, "d", answer="One.", contexts=["Two."])
    trials = sets.load_trials("mine", write_set(tmp_path, "mine", [fields]))
    assert [trial.metric for trial in trials] == ["faithfulness", "hallucination_rate"]
    assert trials[0].samples == [{"question": "", "answer": "One.", "contexts": ["Two."]}]
    assert (trials[0].good, trials[0].groups) == ([False], ["d"])


def test_appropriateness_is_read_as_answer_relevance(tmp_path: Path) -> None:
    fields = line("answer_correctness", 1, "t", question="Why?", answer="So.", ground_truth="No.")
    (trial,) = sets.load_trials("mtrag_approp", write_set(tmp_path, "mtrag_approp", [fields]))
    assert trial.metric == "answer_relevance"
    assert trial.samples == [{"question": "Why?", "answer": "So."}]
    assert trial.pairs == [Pair("Why?", ["So."])]


def test_claims_stand_in_for_ground_truths() -> None:
    trials = sets.trials_of("wice", "faithfulness", [row("Claim.", ["Page."])])
    trial = of_metric(trials, "context_recall")
    assert trial.samples[0]["ground_truth"] == ["Claim."]
    assert "answer" not in trial.samples[0]
    assert trial.pairs == [Pair("Claim.", ["Page."])]


CHUNKS = [
    row(question="q1", contexts=["a"], good=True, group="1"),
    row(question="q2", contexts=["b"], good=False, group="2"),
    row(question="q1", contexts=["c"], good=False, group="1"),
    row(question="q2", contexts=["d"], good=True, group="2", golds=["gold"]),
    row(question="q2", contexts=["e"], good=False, group="2"),
]


def test_chunks_of_a_question_are_one_list_and_cases_follow_it() -> None:
    trial = of_metric(sets.trials_of("x", "context_relevance", CHUNKS), "context_relevance")
    assert trial.samples == [
        {"question": "q1", "contexts": ["a", "c"]},
        {"question": "q2", "contexts": ["b", "d", "e"]},
    ]
    assert [pair.texts for pair in trial.pairs] == [["a"], ["c"], ["b"], ["d"], ["e"]]
    assert trial.good == [True, False, False, True, False]
    assert trial.groups == ["1", "1", "2", "2", "2"]


def test_precision_of_an_order_stands_in_for_context_precision() -> None:
    trial = of_metric(sets.trials_of("x", "context_relevance", CHUNKS), "context_precision")
    assert trial.good == [True, True]  # 1 and 1/2
    assert trial.pairs[0] == Pair("q1", ["a", "c"])
    assert sets.order_precision([False, True, True]) == (1 / 2 + 2 / 3) / 2
    assert sets.order_precision([False, False]) == 0


# ------------------------------------------------------------------------------------- scorers


class FakeBatch:
    """Stands for evaluate_batch: scores by length of a field, and remembers the calls."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, samples: Sequence[dict[str, Any]], **options: Any) -> SimpleNamespace:
        self.calls.append({"samples": samples, **options})
        (metric,) = options["metrics"]
        scores = [[len(str(sample.get("ground_truth") or "")) / 100] for sample in samples]
        results = [
            SimpleNamespace(
                metrics={
                    metric: SimpleNamespace(
                        chunk_scores=[len(chunk) / 100 for chunk in sample.get("contexts", [])]
                    )
                }
            )
            for sample in samples
        ]
        return SimpleNamespace(scores=np.array(scores), results=results)


@pytest.fixture
def fake_batch(monkeypatch: pytest.MonkeyPatch) -> FakeBatch:
    fake = FakeBatch()
    monkeypatch.setattr(rag_eval, "evaluate_batch", fake)
    return fake


def test_overlap_gets_golds_one_by_one_and_the_best_counts(fake_batch: FakeBatch) -> None:
    rows = [row("x", golds=["aa", "aaaa", "a"]), row("y", golds=[]), row("z", golds=["a"])]
    (trial,) = sets.trials_of("x", "answer_correctness", rows)
    assert scorers.profile_scores(trial, "overlap").tolist() == [0.04, 0, 0.01]
    golds = [sample["ground_truth"] for sample in fake_batch.calls[0]["samples"]]
    assert golds == ["aa", "aaaa", "a", None, "a"]


def test_grounded_gets_all_golds_at_once(fake_batch: FakeBatch) -> None:
    (trial,) = sets.trials_of("x", "answer_correctness", [row("x", golds=["aa", "b"])])
    scorers.profile_scores(trial, "grounded")
    (call,) = fake_batch.calls
    assert call["samples"][0]["ground_truth"] == ["aa", "b"]
    assert (call["metrics"], call["profile"], call["language"]) == (
        ["answer_correctness"],
        "grounded",
        None,
    )


@pytest.mark.usefixtures("fake_batch")
def test_chunk_scores_come_in_the_order_of_the_cases() -> None:
    rows = [
        row(question="q", contexts=["chunk " * n], group=group)
        for n, group in ((1, "a"), (2, "b"), (3, "a"))
    ]
    trial = of_metric(sets.trials_of("x", "context_relevance", rows), "context_relevance")
    assert scorers.profile_scores(trial, "grounded").tolist() == [0.06, 0.18, 0.12]


def test_chunk_scores_of_overlap_are_what_its_cut_is_for() -> None:
    rows = [
        row(question="red fox", contexts=["red fox"]),
        row(question="red fox", contexts=["no"]),
    ]
    trial = of_metric(sets.trials_of("x", "context_relevance", rows), "context_relevance")
    assert scorers.profile_scores(trial, "overlap").tolist() == [1, 0]
    assert scorers.threshold(trial, "overlap") == 0.2
    assert scorers.threshold(trial, "grounded") == 0.3


def test_every_metric_has_a_threshold_in_both_profiles() -> None:
    assert scorers.THRESHOLDS["grounded"].keys() == scorers.THRESHOLDS["overlap"].keys()
    assert set(pieces.METRIC_ORDER) == scorers.THRESHOLDS["overlap"].keys()
    assert report.ABOUT.keys() == set(pieces.METRIC_ORDER)


# ---------------------------------------------------------------------------------- definition


def test_kernels_and_definition_are_compared_score_by_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [
        row("It opened in 1990.", ["It opened in 1990."]),
        row("It opened in 1990.", ["It opened in 1991."], good=False),
        row("I do not know.", ["It opened."]),
        row("It opened.", [""], good=False),
    ]
    trial = of_metric(sets.trials_of("x", "faithfulness", rows), "faithfulness")
    area, ours, n_different = definition.compared(trial)
    assert area == ours
    assert n_different == 0
    scores, chunks = definition.built(trial.samples)
    assert int(np.isfinite(scores).sum()) == 6  # of two metrics; one row only refuses
    other = definition.Both(np.nextafter(scores, 2), chunks)
    monkeypatch.setattr(definition, "built", lambda samples: other)
    assert definition.compared(trial)[2] == 6


def test_chunks_are_compared_by_their_scores() -> None:
    trial = of_metric(sets.trials_of("x", "context_relevance", CHUNKS), "context_relevance")
    assert definition.compared(trial)[2] == 0
    sides = definition.defined(trial.samples), definition.built(trial.samples)
    assert len(sides[0].chunks) == len(CHUNKS)
    other = definition.Both(sides[1].scores, sides[1].chunks + 1e-8)
    assert definition.n_different(sides[0], other) == len(CHUNKS)


# --------------------------------------------------------------------------------------- peers


def peer_scores(name: str, metric: str, pairs: Sequence[Pair]) -> list[float]:
    (peer,) = [peer for peer in peers.peers_of(metric, []) if peer.name == name]
    n_pairs = len(pairs)
    trial = Trial("x", metric, [{}] * n_pairs, list(pairs), [True] * n_pairs, ["g"] * n_pairs)
    return peer.make()(trial)


def test_squad_scores() -> None:
    assert peers.squad_tokens("The cat, a CAT!") == ["cat", "cat"]
    assert peers.squad_exact_match("The cat.", "cat") == 1
    # One shared word of two and of three.
    assert peers.squad_f1("black cat", "cat on mat") == pytest.approx(2 * 1 / 5)
    assert peers.squad_f1("the", "") == 1
    assert peers.squad_f1("the", "cat") == 0


def test_string_peers_look_the_right_way() -> None:
    assert peer_scores("ragas ExactMatch", "answer_correctness", [Pair("a ", ["a"])]) == [0]
    assert peer_scores("deepeval ExactMatch", "answer_correctness", [Pair("a ", ["a"])]) == [1]
    presence = "ragas StringPresence"
    in_answer = [Pair("In 1979.", ["1980", "1979"]), Pair("1979", ["In 1979."]), Pair("x", [])]
    assert peer_scores(presence, "answer_correctness", in_answer) == [1, 0, 0]
    in_contexts = [Pair("1979", ["In", "in 1979."]), Pair("In 1979.", ["1979"])]
    assert peer_scores(presence, "faithfulness", in_contexts) == [1, 0]


def test_bm25_by_hand() -> None:
    texts = ["red red hen", "grey hen", "red fox"]
    pairs = [Pair("red fox", [text]) for text in [*texts, "red fox"]]
    trial = Trial("x", "context_relevance", [], pairs, [], [], by_chunk=True)
    mean_length = 7 / 3  # a chunk that occurs twice counts once
    idf_red, idf_fox = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)

    def saturated(count: int, length: int) -> float:
        return count * 2.5 / (count + 1.5 * (0.25 + 0.75 * length / mean_length))

    fox = (idf_red + idf_fox) * saturated(1, 2)
    scored = peers.bm25_by(str.split)(trial)
    assert scored == pytest.approx([idf_red * saturated(2, 3), 0, fox, fox])


def test_bm25_of_empty_chunks() -> None:
    trial = Trial("x", "context_relevance", [], [Pair("fox", [""])], [], [], by_chunk=True)
    assert peers.bm25_by(str.split)(trial) == [0]


def test_bm25_compares_stems() -> None:
    pytest.importorskip("rouge_score")
    pairs = [Pair("Running foxes", ["a fox runs"]), Pair("Running foxes", ["a hen"])]
    better, worse = peer_scores("BM25", "context_relevance", pairs)
    assert better > worse == 0


def test_ragas_similarities() -> None:
    pytest.importorskip("rapidfuzz")
    similarity = "ragas NonLLMStringSimilarity"
    pairs = [Pair("abcd", ["abcx"]), Pair("abcd", ["zzzz"])]
    assert peer_scores(similarity, "answer_correctness", pairs) == [0.75, 0]
    # Exactly half alike: not enough for recall, enough for precision.
    half = [Pair("abcd", ["zzzz", "abzz"])]
    assert peer_scores("ragas NonLLMContextRecall", "context_recall", half) == [0]
    assert peer_scores("ragas NonLLMContextPrecision", "context_precision", half) == [0.5]
    more = [Pair("abcd", ["zzzz", "abcz"]), Pair("abcd", [])]
    assert peer_scores("ragas NonLLMContextRecall", "context_recall", more) == [1, 0]


def test_rapidfuzz_ignores_case_and_punctuation() -> None:
    pytest.importorskip("rapidfuzz")
    pairs = [Pair("Fox, red!", ["a fox", "is Red"]), Pair("hen", ["fox"])]
    assert peer_scores("rapidfuzz token_set_ratio", "faithfulness", pairs) == [1, 0]


def test_rouge_reads_the_claim_as_the_prediction() -> None:
    pytest.importorskip("rouge_score")
    pairs = [Pair("red fox", ["a red", "fox ran off"])]
    assert peer_scores("ROUGE-L precision", "faithfulness", pairs) == [1]
    pairs = [Pair("the red fox ran", ["hen", "red fox"])]
    assert peer_scores("ROUGE-L precision", "answer_correctness", pairs) == [0.5]
    assert peer_scores("ROUGE-L recall", "answer_correctness", pairs) == [1]


def test_sacrebleu_takes_every_text_as_a_reference() -> None:
    pytest.importorskip("sacrebleu")
    pairs = [Pair("The red fox ran off", ["hens", "the red fox ran off"]), Pair("x", [])]
    assert peer_scores("sacreBLEU sentence BLEU", "faithfulness", pairs) == pytest.approx([1, 0])
    assert peer_scores("sacreBLEU chrF", "faithfulness", pairs)[0] > 0.9


def test_a_missing_package_leaves_its_peers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = peers.Package("rouge-score", "no_such_module_here", "Apache-2.0")
    monkeypatch.setitem(peers.PACKAGES, "rouge-score", gone)
    missing = peers.missing_packages()
    assert "rouge-score" in missing
    names = [peer.name for peer in peers.peers_of("faithfulness", missing)]
    assert "SQuAD F1" in names
    assert not any(name.startswith("ROUGE") for name in names)
    assert ["rouge-score", "not installed: left out", "Apache-2.0"] in peers.package_lines(missing)


# -------------------------------------------------------------------------------------- report


def scored_outcomes(monkeypatch: pytest.MonkeyPatch) -> list[Outcome]:
    """Both profiles right on every row, the peers as they are."""
    monkeypatch.setattr(
        scorers, "profile_scores", lambda trial, profile: np.array(trial.good, float)
    )
    rows = [
        row("zyzzyva hums", ["zyzzyva hums"], good=True, group="1"),
        row("zyzzyva", ["qwertz"], good=False, group="2"),
        row("zyzzyva hums", ["zyzzyva hums"], good=False, group="3"),
    ]
    trials = sets.trials_of("wice", "faithfulness", rows)
    return [measure_trial(trial, 20, list(peers.PACKAGES)) for trial in trials]


def test_page_says_what_was_measured_and_shows_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    text = report.page(scored_outcomes(monkeypatch), list(peers.PACKAGES), 20)
    assert "zyzzyva" not in text
    assert "| **grounded** | 1.000 (1.000–1.000) |" in text
    assert "| SQuAD F1 | 0.750 (" in text
    assert "Known sets that are not on this page: begin_wow," in text
    assert "| rapidfuzz | not installed: left out | MIT |" in text
    assert "| wice | faithfulness | 0.7604 | 0.7730 | 1.0000 | **differs** |" in text
    assert "context_recall (stand-in), 1 set" in text
    assert text.count("\n## ") == len(set(text.split("\n## ")[1:]))
    # Version 2 was measured on one set of claims that stand in for ground truths, as here, and on
    # seven sets of faithfulness.
    assert (
        "| context_recall (stand-in), 1 set | 0.760 | 1.000 | 0.616 | 1.000 | 0.684 | 1.000 |"
        in text
    )
    assert "| faithfulness, 1 set | 0.822" not in text
    assert "| wice | 1.00 | 1.00 (0.00 and 1.00) | 0.00 (1.00 and 0.00) |" in text


def test_chunks_are_also_ranked_inside_their_lists() -> None:
    trial = Trial(
        "x",
        "context_relevance",
        [{"question": "red fox", "contexts": ["red fox", "hen", "fox"]}],
        [Pair("red fox", [text]) for text in ("red fox", "hen", "fox")],
        [False, False, True],
        ["g1", "g2", "g2"],
        by_chunk=True,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorers, "profile_scores", lambda trial, profile: np.array([1.0, 0.0, 0.5]))
        outcome = measure_trial(trial, 10, list(peers.PACKAGES))
    within = outcome.by_scorer["SQuAD F1"].within
    assert within is not None
    assert within.value == 1
    assert "question's own chunks" in report.page([outcome], list(peers.PACKAGES), 10)


def test_checks_are_on_the_labelled_metric_only(monkeypatch: pytest.MonkeyPatch) -> None:
    (check,) = definition_checks(scored_outcomes(monkeypatch))
    assert (check.metric, check.measured, check.holds) == ("faithfulness", 1, False)


def test_where_a_peer_is_ahead_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = scored_outcomes(monkeypatch)
    assert report.peers_ahead(outcomes) == []
    figures = outcomes[0].by_scorer
    figures["grounded"], figures["SQuAD F1"] = figures["SQuAD F1"], figures["grounded"]
    ((metric, name, best, lead),) = report.peers_ahead(outcomes[:1])
    assert (metric, name, best) == ("faithfulness", "wice", "SQuAD F1")
    assert lead.startswith("+0.250")


def test_command_says_that_there_is_no_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAG_EVAL_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="2"):
        command.main([])
    assert "no labelled set" in capsys.readouterr().err


def test_command_measures_the_sets_asked_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RAG_EVAL_DATA", str(tmp_path))
    monkeypatch.setattr(command, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr(
        scorers, "profile_scores", lambda trial, profile: np.array(trial.good, float)
    )
    rows = [
        line("faithfulness", label, f"{label}{i}", answer="one two", contexts=["one " * i])
        for label in (0, 1)
        for i in range(3)
    ]
    for name in ("mine", "yours"):
        write_set(tmp_path, name, rows)
    assert command.main(["--sets", "mine", "--resamples", "5", "--write"]) == 0
    out = capsys.readouterr().out
    assert (tmp_path / "RESULTS.md").read_text(encoding="utf-8").strip() == out.strip()
    assert "| mine | faithfulness | 6 | 6 | 0.50 |" in out
    assert "| yours |" not in out
    with pytest.raises(SystemExit, match="2"):
        command.main(["--sets", "neither, mine"])
    assert "no set neither; found: mine, yours" in capsys.readouterr().err


def test_command_says_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.validity.command.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="2"):
        command.main([])
    assert "scikit-learn is missing: pip install" in capsys.readouterr().err


# ------------------------------------------------------------------------------- labelled rows


@pytest.mark.deep
@pytest.mark.labelled
@every_row("name", list(scorers.DEFINITION_AUROC))
def test_grounded_agrees_with_people_as_its_definition_does(name: str) -> None:
    path = sets.found_sets().get(name)
    if path is None:
        pytest.skip(f"{name}.jsonl.gz: {sets.absence()}")
    trial = of_metric(sets.load_trials(name, path), sets.KNOWN[name].metric)
    scored = scorers.profile_scores(trial, "grounded")
    # An answer that only declines has no faithfulness; it ranks with the worst.
    scored = np.nan_to_num(scored, nan=0.0)
    measured = measures.auroc(np.array(trial.good), scored)
    tolerance = scorers.DEFINITION_TOLERANCE
    assert measured == pytest.approx(scorers.DEFINITION_AUROC[name], abs=tolerance)
