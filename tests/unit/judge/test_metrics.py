"""The judged metrics in the claims style: verdicts in, scores out, shared steps asked once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.judge.asking import DryAsker
from rag_eval.judge.failures import JudgeFailure, JudgeUnavailableError
from rag_eval.judge.metrics.catalogue import JUDGED_METRICS, OMK_METRICS, judge_row, steps_of
from rag_eval.judge.metrics.chunk_verdicts import RELEVANT_CHUNKS, average_precision
from rag_eval.judge.metrics.imagining import sentences
from rag_eval.judge.metrics.judgements import JudgedRow, Judgement
from rag_eval.judge.metrics.replies import numbering_complaint
from rag_eval.judge.reading import value_of
from rag_eval.judge.rendering import PromptStyle, render
from rag_eval.judge.replies import Tally, estimated_tokens
from rag_eval.judge.steps import Fields, Step
from rag_eval.metrics.contract import JUDGE_STYLES, JudgeStyle
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.results.judged import JudgedScore
from rag_eval.samples import NullReason
from tests.judging import ScriptedAsker
from tests.step_judge import StepJudge
from tests.tables import every_row

ROW = JudgedRow(
    question="When did the bridge open?",
    answer="It opened in 1969. It is 200 m long.",
    contexts=["The bridge opened in May 1969.", "Tolls were dropped in 1990."],
    ground_truths=["It opened in 1969."],
)


def judged(
    asker: Any,
    row: JudgedRow,
    *metrics: str,
    style: JudgeStyle = "claims",
    tallies: dict[str, Tally] | None = None,
) -> dict[str, Judgement]:
    counted = {} if tallies is None else tallies
    return asyncio.run(judge_row(asker, row, metrics, style, counted))


def support(*verdicts: str, chunk: int | None = None) -> dict[str, Any]:
    return {
        "verdicts": [
            {"claim": number, "reason": f"reason {number}", "chunk": chunk, "verdict": verdict}
            for number, verdict in enumerate(verdicts)
        ]
    }


def chunk_verdicts(*verdicts: str) -> dict[str, Any]:
    return {
        "verdicts": [
            {"chunk": number, "reason": "", "verdict": verdict}
            for number, verdict in enumerate(verdicts)
        ]
    }


def matched(answer: Iterable[str], truth: Iterable[str]) -> dict[str, Any]:
    return {
        "answer_claims": [
            {"claim": n, "reason": "", "verdict": verdict} for n, verdict in enumerate(answer)
        ],
        "ground_truth_claims": [
            {"claim": n, "reason": "", "verdict": verdict} for n, verdict in enumerate(truth)
        ],
    }


def claims(*texts: str) -> dict[str, Any]:
    return {"claims": list(texts)}


# ------------------------------------------------------------------- support of the answer's claims


def test_faithfulness_counts_partial_support_by_half() -> None:
    verdicts = support("supported", "partial", "unsupported", "contradicted", chunk=1)
    asker = ScriptedAsker([claims("a", "b", "c", "d"), verdicts])
    found = judged(asker, ROW, "faithfulness")["faithfulness"]
    assert found.score == 1.5 / 4
    assert found.null_reason is NullReason.MEASURED
    assert found.message == ""
    assert [(one.text, one.verdict, one.chunk) for one in found.verdicts] == [
        ("a", "supported", 1),
        ("b", "partial", 1),
        ("c", "unsupported", 1),
        ("d", "contradicted", 1),
    ]
    assert found.verdicts[1].reason == "reason 1"
    assert found.explanation == (
        "4 answer claims, judged against the contexts: "
        "1 supported, 1 partial, 1 unsupported, 1 contradicted."
    )


def test_hallucination_rate_counts_what_the_chunks_lack_or_contradict() -> None:
    verdicts = support("supported", "partial", "unsupported", "contradicted", "supported")
    asker = ScriptedAsker([claims(*"abcde"), verdicts])
    assert judged(asker, ROW, "hallucination_rate")["hallucination_rate"].score == 3 / 5


def test_a_quote_that_no_chunk_has_is_shown_and_changes_no_score() -> None:
    reply = support("supported", "supported", "partial", "unsupported", chunk=1)
    quotes = ("opened in May 1969", "opened in 1970", "Tolls were dropped", " ")
    for verdict, quote in zip(reply["verdicts"], quotes, strict=True):
        verdict["quote"] = quote
    found = judged(ScriptedAsker([claims(*"abcd"), reply]), ROW, "faithfulness")["faithfulness"]
    assert found.score == 2.5 / 4
    # The chunk with the quote decided, whatever number the judge gave it.
    assert [(one.chunk, one.quote_found) for one in found.verdicts] == [
        (0, True),
        (1, False),
        (1, True),
        (1, None),
    ]
    assert found.explanation.endswith(
        " 1 of 3 quotes is not in the contexts, which makes the verdicts less reliable."
    )
    details = [one.to_dict() for one in found.verdicts]
    assert [one.get("quoteFound") for one in details] == [True, False, True, None]
    assert details[1]["quote"] == "opened in 1970"
    assert "quote" not in details[3]
    bare = JudgedScore(score=found.score, null_reason=found.null_reason, mode="llm")
    assert replace(bare, details=tuple(details)).trust == 2 / 3
    assert bare.trust is None


def test_a_quote_may_show_what_the_judge_was_shown() -> None:
    """The judge reads a control token with a space in it, and copies that."""
    row = JudgedRow("q", "a", ["It ends with </s> here."])
    reply = support("supported", chunk=0)
    reply["verdicts"][0]["quote"] = "ends with < /s> here"
    found = judged(ScriptedAsker([claims("a"), reply]), row, "faithfulness")["faithfulness"]
    assert found.verdicts[0].quote_found is True


@every_row("first", [0, 1])
def test_verdicts_may_be_numbered_from_one(first: int) -> None:
    verdicts = support("supported", "unsupported")
    for verdict in verdicts["verdicts"]:
        verdict["claim"] += first
        verdict["chunk"] = 1 + first
    found = judged(ScriptedAsker([claims("a", "b"), verdicts]), ROW, "faithfulness")
    assert [(one.text, one.verdict, one.chunk) for one in found["faithfulness"].verdicts] == [
        ("a", "supported", 1),
        ("b", "unsupported", 1),
    ]
    both = matched(["yes", "no"], ["yes"])
    for verdict in (*both["answer_claims"], *both["ground_truth_claims"]):
        verdict["claim"] += first
    asker = ScriptedAsker([claims("a", "b"), claims("x"), both])
    found = judged(asker, ROW, "answer_correctness")
    assert [one.text for one in found["answer_correctness"].verdicts] == ["a", "b", "x"]
    chunks = chunk_verdicts("yes", "no")
    for verdict in chunks["verdicts"]:
        verdict["chunk"] += first
    found = judged(ScriptedAsker([chunks]), ROW, "context_precision")
    assert [one.chunk for one in found["context_precision"].verdicts] == [0, 1]


def test_faithfulness_and_hallucination_rate_share_their_calls() -> None:
    asker, tallies = StepJudge(), {"faithfulness": Tally()}
    found = judged(asker, ROW, "faithfulness", "hallucination_rate", tallies=tallies)
    assert asker.steps == ["extract_claims", "verify_claims"]
    assert [tallies[metric].llm_calls for metric in found] == [2, 0]
    assert found["faithfulness"].verdicts == found["hallucination_rate"].verdicts


SHARING = ("faithfulness", "answer_correctness", "context_recall", "hallucination_rate")


@every_row("order", list(itertools.permutations(SHARING)))
def test_shared_steps_count_for_the_first_metric_in_order(order: Sequence[str]) -> None:
    asker = StepJudge()
    tallies: dict[str, Tally] = {}
    judged(asker, ROW, *order, tallies=tallies)
    steps = ["extract_claims"] * 2 + ["match_claims"] + ["verify_claims"] * 2
    assert sorted(asker.steps) == steps

    def first(*metrics: str) -> str:
        return min(metrics, key=order.index)

    wanted = dict.fromkeys(order, 0)
    wanted[first("faithfulness", "hallucination_rate", "answer_correctness")] += 1
    wanted[first("faithfulness", "hallucination_rate")] += 1
    wanted[first("context_recall", "answer_correctness")] += 1
    wanted["context_recall"] += 1
    wanted["answer_correctness"] += 1
    assert {metric: tallies[metric].llm_calls for metric in order} == wanted


def test_claims_are_verified_in_slices() -> None:
    def verify(fields: Any) -> dict[str, Any]:
        return support(
            *("supported" if text == "claim 52" else "partial" for text in fields["claim"])
        )

    asker = StepJudge(
        {"extract_claims": claims(*(f"claim {n}" for n in range(53))), "verify_claims": verify}
    )
    found = judged(asker, ROW, "faithfulness")["faithfulness"]
    assert sorted(len(fields["claim"]) for fields in asker.fields["verify_claims"]) == [3, 25, 25]
    assert all(fields["chunk"] == ROW.contexts for fields in asker.fields["verify_claims"])
    assert [one.text for one in found.verdicts] == [f"claim {n}" for n in range(53)]
    assert found.score == (52 * 0.5 + 1) / 53


def test_a_claim_is_verified_once_and_a_blank_one_not_at_all() -> None:
    asker = ScriptedAsker([claims("a", " ", "a ", "b"), support("supported", "unsupported")])
    assert judged(asker, ROW, "faithfulness")["faithfulness"].score == 0.5


def test_a_reply_with_more_claims_than_are_taken_causes_no_calls() -> None:
    asker = StepJudge({"extract_claims": claims(*map(str, range(201)))})
    found = judged(asker, ROW, "faithfulness")["faithfulness"]
    assert found.null_reason is NullReason.JUDGE_INCOMPLETE
    assert asker.steps == ["extract_claims"] * 2
    assert "list at most 200 claims" in asker.prompts["extract_claims"][1]


def test_an_answer_that_claims_nothing_has_no_faithfulness() -> None:
    asker = StepJudge({"extract_claims": claims()})
    found = judged(asker, ROW, "faithfulness", "hallucination_rate")
    for judgement in found.values():
        assert judgement.score is None
        assert judgement.null_reason is NullReason.NOTHING_TO_MEASURE
        assert judgement.message == "The answer makes no claims."
    assert asker.steps == ["extract_claims"]


@every_row("contexts", [[], ["", " \n"]])
def test_without_a_word_in_the_contexts_nothing_is_faithful(contexts: list[str]) -> None:
    row = JudgedRow(ROW.question, ROW.answer, contexts, ["x"])
    asker = StepJudge()
    metrics = [metric for metric in METRIC_IDS if "answer_" not in metric]
    assert [found.score for found in judged(asker, row, *metrics).values()] == [0.0] * 5
    assert asker.steps == []


def test_short_answers_are_read_with_the_question() -> None:
    asker = StepJudge()
    judged(asker, ROW, "faithfulness")
    assert "When did the bridge open?" in asker.prompts["extract_claims"][0]
    asker = StepJudge()
    judged(asker, JudgedRow(None, "In 1969.", ["a chunk"]), "faithfulness")
    assert "[[no question " in asker.prompts["extract_claims"][0]


def test_a_chunk_that_is_not_there_decides_nothing() -> None:
    for chunk, wanted in ((2, None), (-1, None), (1, 1), (None, None)):
        asker = ScriptedAsker([claims("a"), support("supported", chunk=chunk)])
        found = judged(asker, ROW, "faithfulness")["faithfulness"]
        assert (found.score, found.verdicts[0].chunk) == (1.0, wanted)


def test_case_and_spaces_of_a_verdict_do_not_count() -> None:
    asker = ScriptedAsker([claims("a", "b"), support(" Supported", "PARTIAL")])
    assert judged(asker, ROW, "faithfulness")["faithfulness"].score == 0.75


def test_another_verdict_is_not_read() -> None:
    asker = ScriptedAsker([claims("a"), support("perhaps"), support("yes")])
    found = judged(asker, ROW, "faithfulness")["faithfulness"]
    assert found.null_reason is NullReason.JUDGE_UNPARSED
    assert "supported, partial, unsupported, contradicted" in found.message


def test_verdicts_come_in_the_order_of_the_claims() -> None:
    reply = support("supported", "unsupported")
    reply["verdicts"].reverse()
    asker = ScriptedAsker([claims("a", "b"), reply])
    found = judged(asker, ROW, "faithfulness")["faithfulness"]
    assert [(one.text, one.verdict) for one in found.verdicts] == [
        ("a", "supported"),
        ("b", "unsupported"),
    ]


# ------------------------------------------------------------------------------- incomplete replies


def test_a_missing_verdict_is_asked_for_once_more() -> None:
    asker = ScriptedAsker([claims("a", "b"), support("supported"), support("supported", "partial")])
    tallies = {"faithfulness": Tally()}
    found = judged(asker, ROW, "faithfulness", tallies=tallies)["faithfulness"]
    assert found.score == 0.75
    assert "one verdict for each claim, 0 to 1; missing: 1" in asker.prompts[2]
    assert (tallies["faithfulness"].llm_calls, tallies["faithfulness"].parse_failures) == (3, 1)


def test_a_verdict_that_stays_missing_makes_the_score_null() -> None:
    asker = ScriptedAsker([claims("a", "b"), support("supported"), support("supported")])
    found = judged(asker, ROW, "faithfulness")["faithfulness"]
    assert found.score is None
    assert found.null_reason is NullReason.JUDGE_INCOMPLETE
    assert "missing: 1" in found.message


@every_row(
    ("numbers", "words"),
    [
        ([0, 0, 1], "given more than once: 0"),
        ([0, 1, 2], "some numbers belong to no claim"),
        ([1, -1], "missing: 0; some numbers belong to no claim"),
        ([], "missing: 0, 1"),
    ],
)
def test_numbers_have_to_be_those_asked_for(numbers: list[int], words: str) -> None:
    complaint = numbering_complaint(numbers, 2, "claim")
    assert complaint == f"it must have one verdict for each claim, 0 to 1; {words}"


def test_right_numbers_are_no_complaint() -> None:
    assert numbering_complaint([1, 0], 2, "claim") is None
    assert numbering_complaint([], 0, "claim") is None


def test_a_long_complaint_is_cut() -> None:
    complaint = numbering_complaint([], 25, "claim")
    assert complaint is not None
    assert complaint.endswith("missing: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and more")


# ------------------------------------------------------------------- claims of the ground truth


def test_context_recall_takes_the_best_ground_truth() -> None:
    def verify(fields: Any) -> dict[str, Any]:
        return support(
            *("supported" if "right" in text else "unsupported" for text in fields["claim"])
        )

    row = JudgedRow("q", None, ["chunk"], ["Wrong.", "Half right. Half not.", "Wrong again."])
    found = judged(StepJudge({"verify_claims": verify}), row, "context_recall")["context_recall"]
    assert found.score == 0.5
    assert found.explanation.endswith(
        "1 supported, 1 unsupported. Ground truth 1 of 3, counted from 0."
    )
    assert [one.text for one in found.verdicts] == ["Half right.", "Half not."]
    assert {one.subject for one in found.verdicts} == {"ground truth claim"}


def test_a_ground_truth_without_a_claim_is_left_out() -> None:
    def extract(fields: Any) -> dict[str, Any]:
        return claims() if fields["text"] == "Who knows" else claims(fields["text"])

    row = JudgedRow("q", "a", ["chunk"], ["Who knows", "In 1969", "Who knows"])
    judge = StepJudge({"extract_claims": extract})
    found = judged(judge, row, "context_recall", "answer_correctness")
    assert [one.score for one in found.values()] == [1.0, 1.0]
    assert "Ground truth 1 of 3" in found["answer_correctness"].explanation
    row = JudgedRow("q", "a", ["chunk"], ["Who knows"])
    for one in judged(judge, row, "context_recall", "answer_correctness").values():
        assert one.null_reason is NullReason.NOTHING_TO_MEASURE
        assert one.message == "The ground truth makes no claims."


def test_answer_correctness_is_f1_of_claims() -> None:
    asker = ScriptedAsker(
        [
            claims("a", "b", "c"),
            claims("x", "y"),
            matched(["yes", "no", "contradicted"], ["yes", "no"]),
        ]
    )
    found = judged(asker, ROW, "answer_correctness")["answer_correctness"]
    # One true positive, two false ones, one that is lacking.
    assert found.score == 2 * 1 / (2 * 1 + 2 + 1)
    assert found.explanation == (
        "1 of 3 answer claims is in the ground truth, 1 contradicted; "
        "1 of 2 ground truth claims is in the answer."
    )
    assert [one.text for one in found.verdicts] == ["a", "b", "c", "x", "y"]


@every_row(
    ("answer", "truth", "words"),
    [(1, 1, "each answer claim, 0 to 1; missing: 1"), (2, 0, "each ground truth claim, 0 to 0;")],
)
def test_both_sides_have_all_their_verdicts(answer: int, truth: int, words: str) -> None:
    short = matched(["yes"] * answer, ["yes"] * truth)
    asker = ScriptedAsker([claims("a", "b"), claims("x"), short, short])
    found = judged(asker, ROW, "answer_correctness")["answer_correctness"]
    assert found.null_reason is NullReason.JUDGE_INCOMPLETE
    assert words in asker.prompts[3]


def test_answer_correctness_takes_the_best_ground_truth() -> None:
    def match(fields: Any) -> dict[str, Any]:
        verdict = "yes" if fields["ground_truth_claim"] == ["Right."] else "no"
        return matched([verdict] * len(fields["answer_claim"]), [verdict])

    row = JudgedRow("q", "One. Two.", None, ["Wrong.", "Right."])
    judge = StepJudge({"match_claims": match})
    found = judged(judge, row, "answer_correctness")["answer_correctness"]
    assert found.score == 1.0
    assert found.explanation.endswith("Ground truth 1 of 2, counted from 0.")


def test_an_answer_without_a_claim_is_not_correct() -> None:
    asker = ScriptedAsker([claims(), claims("x")])
    found = judged(asker, ROW, "answer_correctness")["answer_correctness"]
    assert (found.score, found.null_reason) == (0.0, NullReason.MEASURED)
    assert found.message == "The answer makes no claims, but the ground truth does."


def test_long_lists_are_matched_slice_by_slice() -> None:
    def match(fields: Any) -> dict[str, Any]:
        """Equal claims match; claim 0 contradicts whatever slice it is not in."""
        ours, theirs = fields["answer_claim"], fields["ground_truth_claim"]
        return matched(
            ["yes" if c in theirs else "contradicted" if c == "0" else "no" for c in ours],
            ["yes" if c in ours else "no" for c in theirs],
        )

    row = JudgedRow("q", "answer", None, ["truth"])
    texts = {"answer": map(str, range(60)), "truth": map(str, range(58, -2, -1))}
    judge = StepJudge(
        {"extract_claims": lambda fields: claims(*texts[fields["text"]]), "match_claims": match}
    )
    found = judged(judge, row, "answer_correctness")["answer_correctness"]
    assert len(judge.fields["match_claims"]) == 9
    # 0 to 58 match; 59 and -1 do not.
    assert found.score == 2 * 59 / (2 * 59 + 1 + 1)
    assert found.verdicts[0].verdict == "yes"
    assert len(found.verdicts) == 120


# ------------------------------------------------------------------------------ answers and chunks


def statements(*verdicts: str, refusal: bool = False) -> dict[str, Any]:
    parts = [{"statement": f"s{n}", "reason": "", "verdict": v} for n, v in enumerate(verdicts)]
    return {"refusal": refusal, "statements": parts}


def test_answer_relevance_counts_partly_by_half() -> None:
    asker = ScriptedAsker([statements("yes", "partly", "no", "no")])
    found = judged(asker, ROW, "answer_relevance")["answer_relevance"]
    assert found.score == 1.5 / 4
    assert (
        found.explanation
        == "4 statements of the answer, judged against the question: 1 yes, 1 partly, 2 no."
    )


@every_row("verdicts", [[], ["yes", "partly"]])
def test_a_refusal_is_not_relevant(verdicts: list[str]) -> None:
    asker = ScriptedAsker([statements(*verdicts, refusal=True)])
    found = judged(asker, ROW, "answer_relevance")["answer_relevance"]
    assert (found.score, found.explanation) == (0.0, "The answer declines to answer.")


def test_an_answer_has_a_statement() -> None:
    asker = ScriptedAsker([statements(), statements("yes")])
    assert judged(asker, ROW, "answer_relevance")["answer_relevance"].score == 1.0
    assert "it must list at least one statement" in asker.prompts[1]


def test_context_relevance_is_a_share() -> None:
    asker = ScriptedAsker([chunk_verdicts("no", "yes")])
    found = judged(asker, ROW, "context_relevance")["context_relevance"]
    assert found.score == 0.5
    assert [(one.chunk, one.verdict) for one in found.verdicts] == [(0, "no"), (1, "yes")]


def test_every_chunk_has_a_verdict() -> None:
    asker = ScriptedAsker([chunk_verdicts("yes"), chunk_verdicts("yes", "no", "no")])
    found = judged(asker, ROW, "context_relevance")["context_relevance"]
    assert found.null_reason is NullReason.JUDGE_INCOMPLETE
    assert "0 to 1; missing: 1" in asker.prompts[1]


@every_row(
    ("hits", "wanted"),
    [
        ([1, 0, 1], (1 / 1 + 2 / 3) / 2),
        ([0, 0, 1], 1 / 3),
        ([1, 1, 0], 1.0),
        ([0, 1, 1], (1 / 2 + 2 / 3) / 2),
        ([0, 0], 0.0),
    ],
)
def test_context_precision_is_average_precision(hits: list[int], wanted: float) -> None:
    assert average_precision([bool(hit) for hit in hits]) == wanted
    row = JudgedRow("q", None, ["chunk"] * len(hits), ["truth"])
    asker = ScriptedAsker([chunk_verdicts(*("yes" if hit else "no" for hit in hits))])
    assert judged(asker, row, "context_precision")["context_precision"].score == wanted


def test_context_precision_goes_by_all_ground_truths_or_else_by_the_question() -> None:
    asker = StepJudge()
    row = JudgedRow("q", None, ["chunk"], ["first truth", "second truth"])
    found = judged(asker, row, "context_precision")["context_precision"]
    (prompt,) = asker.prompts["useful_chunks"]
    assert "first truth" in prompt
    assert "second truth" in prompt
    assert found.explanation.startswith("1 of 1 context is useful for arriving at the ground truth")
    asker = StepJudge()
    found = judged(asker, JudgedRow("q", None, ["chunk"]), "context_precision")["context_precision"]
    assert "[[no ground truth " in asker.prompts["useful_chunks"][0]
    assert found.explanation.startswith("1 of 1 context is useful for answering the question")


def test_many_chunks_are_judged_in_slices() -> None:
    def verdicts(fields: Any) -> dict[str, Any]:
        return chunk_verdicts(*("yes" if text == "chunk 27" else "no" for text in fields["chunk"]))

    row = JudgedRow("q", None, [f"chunk {n}" for n in range(30)])
    judge = StepJudge({"useful_chunks": verdicts})
    found = judged(judge, row, "context_precision")["context_precision"]
    assert [len(fields["chunk"]) for fields in judge.fields["useful_chunks"]] == [25, 5]
    assert found.score == 1 / 28
    assert [one.chunk for one in found.verdicts] == list(range(30))
    assert [one.chunk for one in found.verdicts if one.verdict == "yes"] == [27]


# -------------------------------------------------------------------------------------- whole rows


def test_one_metric_that_fails_harms_no_other() -> None:
    judge = StepJudge({"relevant_chunks": JudgeFailure("refused", "the judge refused")})
    found = judged(judge, ROW, *METRIC_IDS)
    assert found["context_relevance"].null_reason is NullReason.JUDGE_REFUSED
    assert found["context_relevance"].message == "the judge refused"
    others = [one for metric, one in found.items() if metric != "context_relevance"]
    assert all(one.score is not None for one in others)


def test_a_shared_step_that_fails_is_a_failure_of_each() -> None:
    def extract(fields: Any) -> Any:
        if fields["text"] == ROW.answer:
            return JudgeFailure("timed_out", "too late")
        return claims(fields["text"])

    judge = StepJudge({"extract_claims": extract})
    found = judged(judge, ROW, *METRIC_IDS)
    lost = {metric for metric, one in found.items() if one.score is None}
    assert lost == {"faithfulness", "hallucination_rate", "answer_correctness"}
    assert {found[metric].null_reason for metric in lost} == {NullReason.JUDGE_TIMED_OUT}
    assert judge.steps.count("extract_claims") == 2


def test_metrics_of_a_row_are_asked_at_once() -> None:
    judge = StepJudge()
    found = judged(judge, ROW, *METRIC_IDS)
    assert list(found) == list(METRIC_IDS)
    # Claims of answer and ground truth, statements, and two kinds of verdicts on chunks.
    assert judge.most_in_flight == 5


def test_what_shares_nothing_is_asked_again_in_another_row() -> None:
    judge = StepJudge()
    judged(judge, ROW, "faithfulness")
    judged(judge, ROW, "faithfulness")
    assert judge.steps.count("extract_claims") == 2


def test_a_judge_that_cannot_be_used_ends_the_row() -> None:
    judge = StepJudge({"relevant_chunks": JudgeUnavailableError("no such model")})

    async def row_then_rest() -> int:
        with pytest.raises(JudgeUnavailableError, match="no such model"):
            await judge_row(judge, ROW, METRIC_IDS, "claims", {})
        return len(asyncio.all_tasks())

    assert asyncio.run(row_then_rest()) == 1
    assert judge.in_flight == 0


def test_a_cancelled_row_leaves_nothing_behind() -> None:
    judge = StepJudge()

    async def cancelled() -> int:
        task = asyncio.create_task(judge_row(judge, ROW, METRIC_IDS, "claims", {}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    assert asyncio.run(cancelled()) == 1
    assert judge.in_flight == 0


class LateJudge(StepJudge):
    """Fails the first ask of a step at once; its other asks are answered late."""

    def __init__(self, fails: str, failure: Exception) -> None:
        super().__init__()
        self._fails, self._failure = fails, failure
        self.n_answered = 0

    async def _reply(self, step: Step[Any], fields: Fields, mark: str) -> str:
        if step.name == self._fails and self.steps.count(step.name) == 1:
            raise self._failure
        for _ in range(50):
            await asyncio.sleep(0)
        reply = await super()._reply(step, fields, mark)
        self.n_answered += 1
        return reply


LIST_OF_30 = " ".join(f"Thing {n} is red." for n in range(30))


@every_row(
    ("fails", "metric", "row", "n_answered"),
    [
        # The ground truth's claims, or those of another one and the verdicts on them.
        ("extract_claims", "answer_correctness", ROW, 1),
        ("extract_claims", "context_recall", replace(ROW, ground_truths=["It is.", "So it is"]), 2),
        # The second slice of a list.
        ("verify_claims", "faithfulness", replace(ROW, answer=LIST_OF_30), 2),
        ("useful_chunks", "context_precision", replace(ROW, contexts=["chunk"] * 30), 1),
        ("match_claims", "answer_correctness", replace(ROW, answer=LIST_OF_30), 3),
    ],
)
def test_what_was_asked_beside_a_failure_is_answered_and_so_not_paid_for_twice(
    fails: str, metric: str, row: JudgedRow, n_answered: int
) -> None:
    judge = LateJudge(fails, JudgeFailure("refused", "I will not"))
    found = judged(judge, row, metric)[metric]
    assert (found.null_reason, found.message) == (NullReason.JUDGE_REFUSED, "I will not")
    assert judge.n_answered == len(judge.steps) - 1 == n_answered


@every_row(
    ("fails", "metric", "n_answered"),
    [
        ("extract_claims", "answer_correctness", 0),
        ("useful_chunks", "context_precision", 0),
        ("verify_claims", "faithfulness", 1),  # the claims, before the verdicts on them
    ],
)
def test_beside_a_judge_that_cannot_be_used_nothing_is_waited_for(
    fails: str, metric: str, n_answered: int
) -> None:
    judge = LateJudge(fails, JudgeUnavailableError("no such model"))
    row = replace(ROW, answer=LIST_OF_30, contexts=["chunk"] * 30)
    with pytest.raises(JudgeUnavailableError, match="no such model"):
        judged(judge, row, metric)
    assert judge.n_answered == n_answered


def test_a_failure_that_nobody_waited_for_is_not_reported_as_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    judge = StepJudge({"extract_claims": JudgeFailure("failed", "broken")})
    found = judged(judge, ROW, "answer_correctness")
    assert found["answer_correctness"].null_reason is NullReason.JUDGE_FAILED
    assert caplog.records == []


def test_names_that_are_none_are_refused() -> None:
    with pytest.raises(InputError, match=r"'faithfullness' is not a judged metric.*'faithfulness'"):
        judged(StepJudge(), ROW, "faithfullness")
    with pytest.raises(InputError, match="style must be 'claims' or 'rating', got 'stars'"):
        judged(StepJudge(), ROW, "faithfulness", style="stars")  # type: ignore[arg-type]


TEXTS = (None, "", " ?! ", "A text with words.")
CONTEXTS: tuple[list[str] | None, ...] = (None, [], [" "], ["", "A chunk with words."])


@every_row("question", TEXTS)
@every_row("answer", TEXTS)
@every_row("contexts", CONTEXTS)
@every_row("truth", TEXTS)
def test_nulls_are_those_of_the_grounded_profile(
    question: str | None, answer: str | None, contexts: list[str] | None, truth: str | None
) -> None:
    sample = {"question": question, "answer": answer, "contexts": contexts, "ground_truth": truth}
    given = {name: value for name, value in sample.items() if value is not None}
    native = rag_eval.evaluate(given, profile="grounded").metrics
    row = JudgedRow(question, answer, contexts, [truth] if truth else [])
    for style in JUDGE_STYLES:
        judge = StepJudge()
        for metric, found in judged(judge, row, *METRIC_IDS, style=style).items():
            assert found.null_reason == native[metric].null_reason, metric
            if found.message:
                assert found.score == native[metric].score, metric
                assert found.message == native[metric].explanation, metric


@every_row("style", JUDGE_STYLES)
@every_row("metric", JUDGED_METRICS["claims"])
def test_a_dry_run_counts_what_a_judge_is_asked(metric: str, style: JudgeStyle) -> None:
    dry, real = {metric: Tally()}, {metric: Tally()}
    found = judged(DryAsker(PromptStyle()), ROW, metric, style=style, tallies=dry)[metric]
    judge = StepJudge()
    assert judged(judge, ROW, metric, style=style, tallies=real)[metric] == found
    assert found.score is not None
    assert dry[metric].llm_calls == real[metric].llm_calls == len(judge.steps)
    assert dry[metric].estimated
    assert dry[metric].input_tokens > 100
    assert dry[metric].output_tokens > 5
    assert set(judge.steps) == {step.name for step in steps_of(metric, style)}


@every_row("style", JUDGE_STYLES)
def test_a_dry_run_takes_all_metrics_at_once(style: JudgeStyle) -> None:
    tallies: dict[str, Tally] = {}
    found = judged(
        DryAsker(PromptStyle()), ROW, *JUDGED_METRICS[style], style=style, tallies=tallies
    )
    assert all(one.score is not None for one in found.values())
    calls = sum(tally.llm_calls for tally in tallies.values())
    # Two extractions, two verifications, statements, two of chunks, a match; or a rating each.
    assert calls == {"claims": 8, "rating": 7}[style] + 4


STEPS = {
    step.name: step
    for style, metrics in JUDGED_METRICS.items()
    for metric in metrics
    for step in steps_of(metric, style)
}


@every_row("name", STEPS)
def test_the_form_of_a_reply_names_all_its_keys_and_verdicts(name: str) -> None:
    step = STEPS[name]
    form = step.template.reply_form
    shapes = [step.schema, *step.schema.get("$defs", {}).values()]
    for shape in shapes:
        for key, value in shape["properties"].items():
            assert key == "mark" or f'"{key}"' in form
            for option in value.get("enum", ()):
                assert str(option) in form or f"\n{option}: " in step.template.body
    assert "mark" not in form


@every_row("name", STEPS)
def test_every_verdict_is_defined_in_its_prompt(name: str) -> None:
    step = STEPS[name]
    for shape in step.schema.get("$defs", {}).values():
        for value in shape["properties"].values():
            for option in value.get("enum", ()):
                assert f"\n{option}: " in step.template.body


@every_row("name", STEPS)
def test_what_a_step_imagines_can_be_read(name: str) -> None:
    step = STEPS[name]
    fields = {key: ["One text. Another one."] for key in step.template.variables}
    imagined = step.imagine(fields)
    assert value_of(msgspec.to_builtins(imagined), step.shape) == imagined


def test_only_verdicts_are_graded() -> None:
    assert [name for name, step in STEPS.items() if not step.graded] == ["extract_claims"]


def test_sentences_of_an_imagined_reply() -> None:
    assert sentences("One. Two!  ...\n- Three\n\n。四。五") == [
        "One.",
        "Two!",
        "- Three",
        "四。",
        "五",
    ]
    assert sentences("") == []


def test_the_catalogue_has_every_judged_metric() -> None:
    omk = [metric.id for metric in OMK_METRICS]
    for style in JUDGE_STYLES:
        assert list(JUDGED_METRICS[style]) == [*METRIC_IDS, *omk]
    for metric, spec in JUDGED_METRICS["rating"].items():
        assert spec.id == metric
        assert spec.fields
        assert not set(spec.optional) & set(spec.fields)
        assert spec.threshold == 0.5
    assert JUDGED_METRICS["claims"]["faithfulness"].threshold == 0.7
    assert JUDGED_METRICS["claims"]["omk.faithfulness"].threshold == 0.5


@every_row("metric", METRIC_IDS)
def test_only_optional_fields_can_be_left_out(metric: str) -> None:
    spec = JUDGED_METRICS["claims"][metric]
    names = {"ground_truth": "ground_truths"}
    for left_out in spec.reads:
        given = {
            names.get(field, field): getattr(ROW, names.get(field, field))
            for field in spec.reads
            if field != left_out
        }
        for style in JUDGE_STYLES:
            found = judged(StepJudge(), JudgedRow(**given), metric, style=style)[metric]
            assert (found.score is not None) == (left_out in spec.optional)


def test_a_dry_run_counts_contexts_as_cached_from_the_second_prompt_on() -> None:
    """At least 1,024 tokens have to be the same before vendors keep them."""
    chunks = ["The bridge opened in May 1969. " * 50] * 4
    for contexts, style, n_cached in (
        (chunks, PromptStyle(), 3),
        (chunks, PromptStyle(shares_chunks=False), 0),
        (chunks[:1], PromptStyle(), 0),
    ):
        row = replace(ROW, contexts=contexts)
        tallies: dict[str, Tally] = {}
        judged(DryAsker(style), row, *METRIC_IDS, tallies=tallies)
        shared = render(RELEVANT_CHUNKS, {"chunk": contexts, "question": "q"}, PromptStyle()).text
        one = estimated_tokens(shared.system + shared.shared)
        found = sum(tally.cached_tokens for tally in tallies.values())
        assert found == n_cached * one
