"""Factuality.  In: an answer and what is expected, or contexts.  Out: the share of its true claims.

As Regtrace documents it: claims that are supported, contradicted or neither, or the leaves of two
JSON values. What the tool's code computes instead is ``regtrace.ngram_factuality``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.metrics.contract import Column, Fields, Scored
from rag_eval.metrics.findings_column import column_of_findings
from rag_eval.plumbing.checked_values import flag
from rag_eval.plumbing.spelling import counted as number
from rag_eval.plumbing.strict_json import JsonFault, parse_json
from rag_eval.samples import NullReason
from rag_eval.scorers.regtrace.claim_support import Claim, ClaimRow, claims_of, counted
from rag_eval.scorers.regtrace.details import (
    MOST_FINDINGS,
    Finding,
    finding,
    judged_by,
    limited,
)
from rag_eval.scorers.regtrace.formulas import Mode, checked_mode
from rag_eval.scorers.regtrace.json_structure import (
    ABSENT,
    Comparison,
    Mismatch,
    compact,
    compare_json,
)
from rag_eval.scorers.regtrace.judge import strip_code_fences

if TYPE_CHECKING:
    from rag_eval.scorers.regtrace.claim_support import Verdict

Depth: TypeAlias = Literal["shallow", "deep"]

FALLBACK_CONFIDENCE: Final = 0.5
"""Confidence of a score that stands in for that of a judge."""

_DEPTHS: Final = ("shallow", "deep")
# What JSON can begin with, and a code fence: most texts are known as none by a look.
_JSON_BEGINS: Final = tuple('{["-0123456789tfn`')
_CLAIM: Final = "factuality.claim"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactualitySettings:
    """How claims are counted.

    Attributes
    ----------
    mode : {"strict", "lenient", "json_structural"}
        Which claims fail: unsupported ones, or only contradicted ones; or whether only JSON is
        compared.
    claim_extraction_depth : {"shallow", "deep"}
        Who checks claims: this module, or a judge with this module as its fallback.
    rag_faithfulness_only : bool
        Whether claims are checked against the contexts even if there is an expected output.
    """

    mode: Mode = "strict"
    claim_extraction_depth: Depth = "shallow"
    rag_faithfulness_only: bool = False

    def __post_init__(self) -> None:
        checked_mode(self.mode)
        depth = self.claim_extraction_depth
        if not isinstance(depth, str) or depth not in _DEPTHS:
            hint = suggestion(depth, _DEPTHS)
            raise InputError(
                f"claim_extraction_depth must be shallow or deep, got {glance(depth)}{hint}"
            )
        flag(self.rag_faithfulness_only, "rag_faithfulness_only")


def json_structural(actual: str, expected: str) -> Comparison:
    """Compare two JSON texts leaf by leaf; see :func:`compare_json`.

    A code fence around a text is ignored.

    Raises
    ------
    InputError
        If one of them is not JSON; the message says which, and why.
    """
    values = []
    for name, text in (("expected", expected), ("actual", actual)):
        try:
            values.append(parse_json(_unfenced(text)))
        except JsonFault as fault:
            raise InputError(f"json_structural: {name}: {fault.reason}") from None
    return compare_json(*values)


def factuality(fields: Fields, settings: FactualitySettings | None = None) -> Scored:
    """The share of an answer's claims that are true, from 0 to 1.

    ``strict``: supported claims / claims; ``lenient``: 1 - contradicted claims / claims. The claims
    are sentences, checked against ``ground_truth`` (of several, the one that scores best), or else
    against ``contexts``. Where answer and expected output are both JSON, the share of the leaves
    that agree, in every mode.

    Returns
    -------
    Scored
        Null if there is nothing to check claims against, or no claim. In the mode
        json_structural an answer that is not JSON scores 0, with a detail that says so, and an
        expected output that is not JSON gives null.
    """
    settings = settings or FactualitySettings()
    plan = structure_or_rows(fields, settings)
    if isinstance(plan, Scored):
        return _marked(plan, settings)
    return _marked(_best(claims_of(plan), settings, plan), settings)


def factuality_column(samples: Sequence[Fields], settings: FactualitySettings) -> Column:
    """The scores of many samples; the claims of all are found in one go."""
    plans = [structure_or_rows(fields, settings) for fields in samples]
    found = claims_of([row for plan in plans if not isinstance(plan, Scored) for row in plan])
    return column_of_findings(
        plan if isinstance(plan, Scored) else _best(found, settings, plan, words=False)
        for plan in plans
    )


def structure_or_rows(fields: Fields, settings: FactualitySettings) -> Scored | list[ClaimRow]:
    """The score if JSON is compared or nothing is; else what claims are checked against.

    One row for each expected output, or one with the contexts.
    """
    answer = fields["answer"]
    truths = texts_of(fields.get("ground_truth"))
    contexts = texts_of(fields.get("contexts"))
    if settings.rag_faithfulness_only:
        if not contexts:
            return Scored.nothing("No contexts to check the claims against.")
        truths = []
    elif settings.mode == "json_structural":
        return _explicit_structure(answer, truths)
    else:
        structure = _structure(answer, truths)
        if structure is not None:
            return structure
    if not truths and not contexts:
        return Scored.nothing("No expected output and no contexts to check the claims against.")
    question, language = fields.get("question"), fields.get("language")
    if truths:
        return [ClaimRow(answer, [truth], True, question, language) for truth in truths]
    return [ClaimRow(answer, contexts, False, question, language)]


def texts_of(value: Any) -> list[str]:
    """A text or a list of texts as a list of those that are not blank."""
    texts = [value] if isinstance(value, str) else list(value or ())
    return [text for text in texts if text and not text.isspace()]


def claims_score(verdicts: Sequence[Verdict], mode: Mode) -> float:
    """The share of claims that do not fail; of no claims there is none."""
    if mode == "lenient":
        # Not 1 less a share, which can miss by a bit and be below the strict score.
        return (len(verdicts) - verdicts.count("contradicted")) / len(verdicts)
    return verdicts.count("supported") / len(verdicts)


def claim_finding(place: int, claim: Claim, mode: Mode) -> Finding:
    """A claim as a detail of a result."""
    passed = claim.verdict == "supported" or (mode == "lenient" and claim.verdict != "contradicted")
    return finding(
        f"{_CLAIM}[{place}]",
        passed,
        expected=claim.evidence,
        actual=claim.text,
        message=f"{claim.verdict}: {claim.reason}" if claim.reason else claim.verdict,
    )


def claims_scored(claims: Sequence[Claim], mode: Mode) -> Scored:
    """Claims with verdicts as a score; null if there are none."""
    if not claims:
        return Scored.nothing("The answer makes no claims.")
    score = claims_score([claim.verdict for claim in claims], mode)
    explanation = f"{number(len(claims), 'claim')}: {counted(claims)}."
    found = [
        claim_finding(place, claim, mode) for place, claim in enumerate(claims[:MOST_FINDINGS])
    ]
    return Scored(score, explanation=explanation, details=limited(_CLAIM, found, len(claims)))


# ----------------------------------------------------------------------------------------- private


def _best(
    found: Iterator[list[Claim] | None],
    settings: FactualitySettings,
    rows: Sequence[ClaimRow],
    words: bool = True,
) -> Scored:
    """The best score of an answer against each of several expected outputs."""
    best: Scored | None = None
    for _ in rows:
        claims = next(found)
        if claims is None:
            scored = Scored.nothing("The text to check the claims against contains no words.")
        elif words or not claims:
            scored = claims_scored(claims, settings.mode)
        else:
            scored = Scored(claims_score([claim.verdict for claim in claims], settings.mode))
        if best is None or _ranked(scored) > _ranked(best):
            best = scored
    assert best is not None
    return best


def _ranked(scored: Scored) -> float:
    return -1.0 if scored.score is None else scored.score


def _marked(scored: Scored, settings: FactualitySettings) -> Scored:
    """Say that a judge was meant to score, where one was."""
    if settings.claim_extraction_depth == "shallow" or scored.score is None:
        return scored
    return fallen_back(scored)


def fallen_back(scored: Scored, confidence: float = FALLBACK_CONFIDENCE) -> Scored:
    """A score that stands in for that of a judge, with a detail that says so."""
    details = [*scored.details, judged_by("deterministic", confidence)]
    return Scored(scored.score, scored.null_reason, scored.explanation, details)


def _unfenced(text: str) -> str:
    return strip_code_fences(text.strip())


def _value(text: str) -> tuple[bool, Any]:
    """Whether a text is JSON, and what."""
    if not text.lstrip().startswith(_JSON_BEGINS):
        return False, None
    try:
        return True, parse_json(_unfenced(text))
    except JsonFault:
        return False, None


def _structure(answer: str, truths: Sequence[str]) -> Scored | None:
    """The best comparison of JSON; None if the answer or all that is expected is none."""
    wanted = [value for is_json, value in map(_value, truths) if is_json]
    if not wanted:
        return None
    is_json, found = _value(answer)
    if not is_json:
        return None
    return structure_scored(
        max((compare_json(value, found) for value in wanted), key=lambda one: one.score)
    )


def _explicit_structure(answer: str, truths: Sequence[str]) -> Scored:
    if not truths:
        return Scored.nothing("No expected output to compare with.")
    wanted = [value for is_json, value in map(_value, truths) if is_json]
    if not wanted:
        explanation = "json_structural: the expected output is not JSON."
        detail = finding("json_path.$", False, message=explanation, expected=truths[0])
        return Scored(None, NullReason.NOTHING_TO_MEASURE, explanation, [detail])
    scored = _structure(answer, truths)
    if scored is not None:
        return scored
    explanation = "json_structural: the answer is not JSON."
    detail = finding("json_path.$", False, message=explanation, actual=answer)
    return Scored(0.0, explanation=explanation, details=[detail])


def structure_scored(found: Comparison) -> Scored:
    """A comparison of two JSON values as a score with its mismatches."""
    explanation = (
        f"JSON: {found.matched} of {found.expected + found.extra} leaves agree, "
        f"{found.n_mismatches} mismatch(es)."
    )
    details = [mismatch_finding(mismatch) for mismatch in found.mismatches]
    return Scored(
        found.score,
        explanation=explanation,
        details=limited("json_path", details, found.n_mismatches),
    )


_SAID: Final = {
    "missing": "missing",
    "extra": "not expected",
    "type_mismatch": "of another type",
    "wrong": "another value",
}


def mismatch_finding(mismatch: Mismatch) -> Finding:
    """A place where two JSON values differ as a detail of a result."""
    sides = (mismatch.expected, mismatch.actual)
    expected, actual = (None if side is ABSENT else compact(side) for side in sides)
    message = f"{mismatch.path}: {_SAID[mismatch.kind]}"
    return finding(
        f"json_path.{mismatch.path}", False, expected=expected, actual=actual, message=message
    )
