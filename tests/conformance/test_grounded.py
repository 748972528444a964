"""The grounded profile against its golden vectors, through the public API."""

from __future__ import annotations

import copy
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

import rag_eval
from rag_eval.errors import InputError
from rag_eval.kernels.languages import LISTED
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.results.row import EvalResult, Losses, SentenceEvidence
from rag_eval.samples import NullReason, lack_of
from tests.oracle import grounded as oracle
from tests.tables import every_row

FILE = Path(__file__).parent / "grounded" / "vectors.jsonl.gz"

# Sums and quotients alone: the same to the last bit everywhere. In the others logarithms and roots
# enter, on which C libraries agree less closely.
EXACT = ("faithfulness", "hallucination_rate", "context_recall", "answer_correctness")
TOLERANCE = 1e-9

# Reasons of the vectors: the field that is missing, and what is said about it.
NULLS = {
    "no answer": ("answer", "answer"),
    "no question": ("question", "question"),
    "no ground truth": ("ground_truth", "ground truth"),
    "no contexts given": ("contexts", "contexts"),
}
ZEROS = {
    "no context": "The contexts contain no words",
    "empty answer": "The answer contains no words",
    "refusal": "The answer declines to answer",
}
REFUSED = ("The answer declines to answer", "The ground truth only declines to answer")


def _load() -> dict[str, dict[str, Any]]:
    with gzip.open(FILE, "rt", encoding="utf-8", newline="\n") as lines:
        return {case["id"]: case for case in map(json.loads, lines)}


CASES = _load()

# ------------------------------------------------------------------- the closed list of departures

# No vector shows it: a tag that names no language is refused, where the definition takes any text
# for a language that it has no words of.
NO_LANGUAGES = ("xx", "gremanic", "e n")


# ------------------------------------------------------------------------------------ comparison


def close(found: float | None, wanted: float | None, metric: str) -> bool:
    if found is None or wanted is None or metric in EXACT:
        return found == wanted
    return math.isclose(found, wanted, rel_tol=0, abs_tol=TOLERANCE)


def null_reason(sample: dict[str, Any], field: str) -> NullReason:
    """Not there, or there without a word."""
    missing = sample.get(field) is None or (field == "ground_truth" and not sample[field])
    return NullReason.MISSING_FIELD if missing else NullReason.NOTHING_TO_MEASURE


def differences(sample: dict[str, Any], found: EvalResult, wanted: dict[str, Any]) -> list[str]:
    """What of a result is not as the vector has it."""
    agreeing = {
        name: close(found.metrics[name].score, wanted[name], name)
        and reason_agrees(sample, found, wanted, name)
        for name in METRIC_IDS
    }
    agreeing |= {
        "language": found.language == listed(wanted["language"]),
        "chunk scores": chunk_scores_agree(found, wanted["chunk_scores"]),
        "losses": found.metrics.faithfulness.losses == losses_of(wanted["losses"]),
        "refusal": (None if found.refusal is None else found.refusal.to_dict())
        == wanted["refusal"],
        "sentences": evidence_agrees(found, "faithfulness", wanted)
        and evidence_agrees(found, "hallucination_rate", wanted),
    }
    return [name for name, agrees in agreeing.items() if not agrees]


def listed(code: str) -> str:
    """Languages without a list of words are read alike."""
    return code if code in LISTED else "und"


def reason_agrees(
    sample: dict[str, Any], found: EvalResult, wanted: dict[str, Any], metric: str
) -> bool:
    result, reason = found.metrics[metric], wanted["reasons"].get(metric)
    if reason is None:
        return result.null_reason == NullReason.MEASURED and result.score is not None
    if wanted[metric] is None and reason == "refusal":
        declined = result.explanation.startswith(REFUSED)
        return result.null_reason == NullReason.REFUSAL and declined
    if wanted[metric] is None:
        field, words = NULLS[reason]
        null = null_reason(sample, field)
        return result.null_reason == null and result.explanation == lack_of(words, null)
    measured = result.null_reason == NullReason.MEASURED
    return measured and result.explanation.startswith(ZEROS.get(reason, reason))


def chunk_scores_agree(found: EvalResult, wanted: list[float] | None) -> bool:
    scores = found.metrics.context_relevance.chunk_scores
    if scores is None or wanted is None:
        return scores is None and wanted is None
    return len(scores) == len(wanted) and all(
        close(mine, theirs, "context_relevance")
        for mine, theirs in zip(scores, wanted, strict=True)
    )


def evidence_agrees(found: EvalResult, metric: str, wanted: dict[str, Any]) -> bool:
    result = found.metrics[metric]
    if wanted["sentences"] is None:
        return result.evidence is None and result.sentence_scores is None
    scores = tuple(wanted["sentence_scores"])
    evidence = tuple(map(sentence_of, wanted["sentences"]))
    return result.sentence_scores == scores and result.evidence == evidence


def sentence_of(wanted: dict[str, Any]) -> SentenceEvidence:
    return SentenceEvidence(
        span=tuple(wanted["span"]),
        support=wanted["score"],
        chunk=wanted["chunk"],
        window=None if wanted["window"] is None else tuple(wanted["window"]),
        covered=wanted["covered"],
        missing_numbers=tuple(wanted["missing_numbers"]),
        missing_names=tuple(wanted["missing_names"]),
        contradiction=None if wanted["contradiction"] is None else tuple(wanted["contradiction"]),
        far_names=tuple(map(tuple, wanted["far_names"])),
        no_claim=wanted["no_claim"],
        losses=losses_of(wanted["losses"]),
    )


def losses_of(wanted: dict[str, Any] | None) -> Losses | None:
    return None if wanted is None else Losses(**wanted)


# ----------------------------------------------------------------------------------------- tests


@every_row("name", [*CASES])
def test_vector(name: str) -> None:
    case = CASES[name]
    found = rag_eval.evaluate(case["sample"], profile="grounded")
    assert differences(case["sample"], found, case["expected"]) == []


@every_row("threads", [1, 3])
def test_all_vectors_in_one_batch(threads: int) -> None:
    samples = [CASES[name]["sample"] for name in CASES]
    batch = rag_eval.evaluate_batch(samples, profile="grounded", threads=threads)
    assert len(batch.results) == len(CASES)
    for name, scores, found in zip(CASES, batch.scores, batch.results, strict=True):
        wanted = CASES[name]["expected"]
        assert differences(CASES[name]["sample"], found, wanted) == [], name
        for metric, score in zip(batch.metrics, scores, strict=True):
            number = None if math.isnan(score) else float(score)
            assert close(number, wanted[metric], metric), name


def test_spans_are_about_the_strings_as_given() -> None:
    """The answer is a list in italics; its markers and stars are in no span."""
    case = CASES["en-medicine-0000"]
    sample = case["sample"]
    found = rag_eval.evaluate(sample, profile="grounded").metrics.faithfulness.to_dict(True)
    assert found["sentenceScores"] == case["expected"]["sentence_scores"]
    spans = [sample["answer"][slice(*one["span"])] for one in found["evidence"]]
    assert spans == [
        "Side effects such as nausea were reported by 6.8% of them (vs. 3.1% on placebo).",
        '"We didn\'t expect so clear a result," Marsh said.',
    ]
    windows = [sample["contexts"][one["chunk"]][slice(*one["window"])] for one in found["evidence"]]
    assert windows == [
        "Side effects such as nausea were reported by 3.5% of them (vs. 3.1% on placebo",
        'expect so clear a result," Marsh said',
    ]


@every_row("tag", NO_LANGUAGES)
def test_a_language_that_is_none_is_refused(tag: str) -> None:
    sample = {**CASES["en-medicine-0000"]["sample"], "language": tag}
    by_definition = oracle.evaluate(sample)
    assert by_definition.language == tag
    assert by_definition.scores == oracle.evaluate(sample, "und").scores
    with pytest.raises(InputError, match="unknown language"):
        rag_eval.evaluate(sample, profile="grounded")


def test_the_list_of_departures_is_closed() -> None:
    assert all(case["sample"].get("language") not in NO_LANGUAGES for case in CASES.values())
    assert len(CASES) == 558
    reasons = [case["expected"]["reasons"].values() for case in CASES.values()]
    assert set().union(*reasons) == {*NULLS, *ZEROS}


def test_the_comparison_sees_what_is_wrong() -> None:
    case = CASES["en-medicine-0000"]
    sample, right = case["sample"], case["expected"]
    found = rag_eval.evaluate(sample, profile="grounded")
    assert differences(sample, found, right) == []
    assert differences(sample, found, {**right, "context_precision": 0.5 + 1e-11}) == []
    spoilt: list[tuple[str, Any]] = [
        ("faithfulness", math.nextafter(right["faithfulness"], 1)),
        ("context_precision", 0.5 + 1e-8),
        ("context_recall", None),
        ("reasons", {"answer_relevance": "no question"}),
        ("language", "de"),
        ("chunk_scores", None),
        ("chunk_scores", right["chunk_scores"][:1]),
        ("sentence_scores", right["sentence_scores"][:1]),
    ]
    for field, value in spoilt:
        assert differences(sample, found, {**right, field: value}), field
    for field, value in [("span", [3, 84]), ("window", [50, 129]), ("missing_numbers", ["3.5"])]:
        sentences = copy.deepcopy(right["sentences"])
        sentences[0][field] = value
        assert differences(sample, found, {**right, "sentences": sentences}), field
