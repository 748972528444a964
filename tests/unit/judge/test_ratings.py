"""The judged metrics as ratings: which texts are rated, and a digit to a score."""

from __future__ import annotations

import asyncio
from importlib import resources
from typing import Any

from rag_eval.judge.metrics.catalogue import JUDGED_METRICS, OMK_METRICS, judge_row, steps_of
from rag_eval.judge.metrics.judgements import JudgedRow, Judgement
from rag_eval.judge.metrics.ratings import score_of
from rag_eval.judge.replies import Tally
from rag_eval.metrics.contract import JUDGE_STYLES, JudgeStyle
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.samples import NullReason
from tests.judging import ScriptedAsker
from tests.step_judge import StepJudge
from tests.tables import every_row

ROW = JudgedRow(
    question="QUESTION-TEXT",
    answer="ANSWER-TEXT",
    contexts=["CHUNK-ZERO", "CHUNK-ONE"],
    ground_truths=["TRUTH-ZERO", "TRUTH-ONE"],
)
TEXTS = ("QUESTION", "ANSWER", "CHUNK-ZERO", "CHUNK-ONE", "TRUTH-ZERO", "TRUTH-ONE")
OMK = [metric.id for metric in OMK_METRICS]
RATINGS = {metric: steps_of(metric, "rating")[0] for metric in JUDGED_METRICS["rating"]}
CHUNKS = {"CHUNK-ZERO", "CHUNK-ONE"}
TRUTHS = {"TRUTH-ZERO", "TRUTH-ONE"}


def judged(asker: Any, row: JudgedRow, *metrics: str, **options: Any) -> dict[str, Judgement]:
    style: JudgeStyle = options.get("style", "rating")
    return asyncio.run(judge_row(asker, row, metrics, style, options.get("tallies", {})))


def prompt_of(metric: str, row: JudgedRow) -> str:
    asker = ScriptedAsker([{"reason": "", "rating": 3}])
    judged(asker, row, metric)
    (prompt,) = asker.prompts
    return prompt


def seen_in(prompt: str) -> set[str]:
    return {text for text in TEXTS if text in prompt}


@every_row(("rating", "score"), [(1, 0.0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1.0)])
def test_a_rating_is_a_score(rating: int, score: float) -> None:
    asker = ScriptedAsker([{"reason": "because", "rating": rating}])
    found = judged(asker, ROW, "faithfulness")["faithfulness"]
    assert (found.score, found.null_reason) == (score, NullReason.MEASURED)
    assert found.explanation == f"Rated {rating} of 5: because"
    (verdict,) = found.verdicts
    assert verdict.to_dict() == {"subject": "row", "verdict": str(rating), "reason": "because"}


def test_three_of_five_is_the_threshold() -> None:
    assert score_of(3) == 0.5
    assert {metric.threshold for metric in JUDGED_METRICS["rating"].values()} == {0.5}


@every_row("rating", ["4", 4.0, "4.0"])
def test_a_whole_number_may_be_spelled_otherwise(rating: Any) -> None:
    asker = ScriptedAsker([{"rating": rating}])
    found = judged(asker, ROW, "faithfulness")["faithfulness"]
    assert (found.score, found.explanation) == (0.75, "Rated 4 of 5")


@every_row("rating", [0, 6, -3, 4.5, "4.5", "four", None, True, [4], 1e300])
def test_another_rating_is_not_read(rating: Any) -> None:
    tallies = {"faithfulness": Tally()}
    asker = ScriptedAsker([{"reason": "r", "rating": rating}] * 2)
    found = judged(asker, ROW, "faithfulness", tallies=tallies)["faithfulness"]
    assert found.score is None
    assert found.null_reason is NullReason.JUDGE_UNPARSED
    assert tallies["faithfulness"].parse_failures == 2


def test_the_second_try_counts() -> None:
    asker = ScriptedAsker([{"rating": 9}, {"rating": 5}])
    assert judged(asker, ROW, "faithfulness")["faithfulness"].score == 1.0
    assert "a rating must be a whole number from 1 to 5" in asker.prompts[1]


@every_row(
    ("metric", "seen"),
    [
        ("faithfulness", {"QUESTION", "ANSWER"} | CHUNKS),
        ("answer_relevance", {"QUESTION", "ANSWER"}),
        ("context_precision", {"QUESTION"} | CHUNKS | TRUTHS),
        ("context_recall", {"QUESTION"} | CHUNKS | TRUTHS),
        ("context_relevance", {"QUESTION"} | CHUNKS),
        ("answer_correctness", {"QUESTION", "ANSWER"} | TRUTHS),
        ("hallucination_rate", {"QUESTION", "ANSWER"} | CHUNKS),
        ("omk.faithfulness", {"ANSWER"} | TRUTHS),
        ("omk.answer_relevancy", {"QUESTION", "ANSWER"}),
        ("omk.context_recall", {"ANSWER"} | TRUTHS),
        ("omk.semantic_similarity", {"ANSWER"} | TRUTHS),
    ],
)
def test_a_metric_shows_the_judge_what_it_reads(metric: str, seen: set[str]) -> None:
    prompt = prompt_of(metric, ROW)
    assert seen_in(prompt) == seen
    fields = set(JUDGED_METRICS["rating"][metric].reads)
    assert ("question" in fields) == ("QUESTION" in seen)
    assert ("answer" in fields) == ("ANSWER" in seen)
    assert ("ground_truth" in fields) == bool(TRUTHS & seen)


@every_row("metric", ["omk.faithfulness", "omk.context_recall", "omk.semantic_similarity"])
def test_omk_goes_by_the_contexts_without_a_ground_truth(metric: str) -> None:
    for truths in ([], [""], [" "]):
        row = JudgedRow(None, "ANSWER-TEXT", ["CHUNK-ZERO", "CHUNK-ONE"], truths)
        prompt = prompt_of(metric, row)
        assert seen_in(prompt) == {"ANSWER"} | CHUNKS
        assert "CHUNK-ZERO\n\nCHUNK-ONE" in prompt


@every_row("metric", OMK)
def test_omk_needs_no_contexts_where_there_is_a_ground_truth(metric: str) -> None:
    row = JudgedRow("QUESTION-TEXT", "ANSWER-TEXT", None, ["TRUTH-ZERO"])
    assert judged(StepJudge(), row, metric)[metric].score == 0.75


@every_row("metric", ["omk.faithfulness", "omk.context_recall", "omk.semantic_similarity"])
def test_omk_asks_nobody_without_a_reference(metric: str) -> None:
    asker = StepJudge()
    found = judged(asker, JudgedRow("q", "a"), metric)[metric]
    assert (found.score, found.null_reason) == (None, NullReason.MISSING_FIELD)
    for contexts in ([], [""]):
        found = judged(asker, JudgedRow("q", "a", contexts), metric)[metric]
        assert (found.score, found.null_reason) == (0.0, NullReason.MEASURED)
    assert asker.steps == []


def test_an_answer_without_a_word_uses_no_fact() -> None:
    asker = StepJudge()
    found = judged(asker, JudgedRow("q", " ", ["c"], ["t"]), *OMK)
    assert {metric: one.score for metric, one in found.items()} == {
        "omk.faithfulness": None,
        "omk.answer_relevancy": 0.0,
        "omk.context_recall": 0.0,
        "omk.semantic_similarity": 0.0,
    }
    assert found["omk.faithfulness"].null_reason is NullReason.NOTHING_TO_MEASURE
    assert asker.steps == []


def test_omk_metrics_are_ratings_in_either_style() -> None:
    for style in JUDGE_STYLES:
        asker = StepJudge()
        found = judged(asker, ROW, *OMK, style=style)
        assert sorted(asker.steps) == sorted(RATINGS[metric].name for metric in OMK)
        assert {one.score for one in found.values()} == {0.75}


def test_the_styles_share_no_prompt_of_the_seven() -> None:
    names = {
        style: {step.name for metric in METRIC_IDS for step in steps_of(metric, style)}
        for style in JUDGE_STYLES
    }
    assert not names["claims"] & names["rating"]
    assert len(names["rating"]) == 7


@every_row("metric", RATINGS)
def test_every_rating_has_an_anchor(metric: str) -> None:
    body = RATINGS[metric].template.body
    anchors = [line for line in body.splitlines() if line[:1].isdigit()]
    assert [anchor[:3] for anchor in anchors] == ["5: ", "4: ", "3: ", "2: ", "1: "]
    assert len(set(anchors)) == 5


@every_row("metric", RATINGS)
def test_a_prompt_takes_what_its_metric_reads(metric: str) -> None:
    reads = {
        "chunk" if name == "contexts" else name for name in JUDGED_METRICS["rating"][metric].reads
    }
    if "ground_truth" in reads and metric in OMK:
        reads = reads - {"ground_truth", "chunk"} | {"reference"}
    assert RATINGS[metric].template.variables == reads


def test_no_prompt_is_left_over() -> None:
    folder = resources.files("rag_eval.judge") / "prompts"
    for part in ("rating", "omk"):
        files = {f"{part}/{file.name}" for file in (folder / part).iterdir()}
        steps = {f"{step.name}.md" for step in RATINGS.values()}
        assert files == {name for name in steps if name.startswith(f"{part}/")}
