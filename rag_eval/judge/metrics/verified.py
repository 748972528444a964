"""A row's claims, checked against its contexts by a verifier: verdicts, score, what is unsure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.judge.failures import JUDGE_FAILURES, JudgeFailure
from rag_eval.judge.metrics.catalogue import settled
from rag_eval.judge.metrics.judgements import (
    JudgedRow,
    Judgement,
    Subject,
    Verdict,
    has_word,
    measured,
    null,
    together,
)
from rag_eval.judge.replies import Tally
from rag_eval.judge.verifiers import Support, Verifier
from rag_eval.judge.verifying import SupportAsker
from rag_eval.kernels.scoring import Evidence, grounded_details, metric_numbers
from rag_eval.kernels.settings import GroundedSettings
from rag_eval.plumbing.spelling import counted
from rag_eval.samples import NullReason

_SENTENCES: Final = ("faithfulness",)
_SUPPORTED: Final = "supported"


@dataclass(frozen=True, slots=True)
class Verification:
    """One metric of one row.

    Attributes
    ----------
    judgement : Judgement
    is_sure : bool
        Whether the score is on the same side of the threshold, whatever is true of the claims
        whose probability is in the uncertain band. A failure is not sure.
    """

    judgement: Judgement
    is_sure: bool


@dataclass(frozen=True, slots=True)
class _Counted:
    """The verdicts on the claims of a text, and the shares of supported ones that they allow."""

    verdicts: list[Verdict]
    score: float
    lowest: float
    highest: float


class RowVerifier:
    """Scores the metrics of rows that ask whether texts support claims.

    Parameters
    ----------
    asker : SupportAsker
    verifier : Verifier
    band : (float, float)
        The probabilities of claims between which the verifier is not sure.
    thresholds : mapping of float
        By metric the score from which a row passes.
    """

    def __init__(
        self,
        asker: SupportAsker,
        verifier: Verifier,
        band: tuple[float, float],
        thresholds: Mapping[str, float],
    ) -> None:
        self._asker = asker
        self._verifier = verifier
        self._band = band
        self._thresholds = thresholds

    async def verified(
        self, row: JudgedRow, metrics: Sequence[str], tallies: Mapping[str, Tally]
    ) -> dict[str, Verification]:
        """Verify some metrics of a row; what they share is asked once, for the first of them.

        Raises
        ------
        JudgeUnavailableError
        """
        found: dict[str, Verification] = {}
        known: dict[str, _Counted | Judgement] = {}
        for metric in metrics:
            without = settled(metric, row)
            if without is not None:
                found[metric] = Verification(without, is_sure=True)
                continue
            is_recall = metric == "context_recall"
            texts = row.truths if is_recall else [row.answer or ""]
            subject: Subject = "ground truth claim" if is_recall else "answer claim"
            for text in texts:
                if text not in known:
                    known[text] = await self._text(text, subject, row, tallies[metric])
            found[metric] = self._best(metric, [known[text] for text in texts])
        return found

    async def _text(
        self, text: str, subject: Subject, row: JudgedRow, tally: Tally
    ) -> _Counted | Judgement:
        """The verdicts on the claims of a text, or why there are none."""
        claims, reason = claims_in(text)
        what = subject.removesuffix(" claim")
        if reason is NullReason.REFUSAL:
            return null(reason, f"The {what} declines to answer.")
        if not claims:
            return null(NullReason.NOTHING_TO_MEASURE, f"The {what} makes no claims.")
        try:
            supports = await together(
                [self._asker.support(row.chunks, claim, tally) for claim in claims]
            )
        except JudgeFailure as failure:
            return null(failure.null_reason, str(failure))
        verdicts = [
            self._verdict(subject, claim, support)
            for claim, support in zip(claims, supports, strict=True)
        ]
        low, high = self._band
        n_unsure = sum(low <= one.probability <= high for one in supports)
        n_sure = sum(one.probability > high for one in supports)
        n_supported = sum(one.verdict == _SUPPORTED for one in verdicts)
        n = len(verdicts)
        return _Counted(verdicts, n_supported / n, n_sure / n, (n_sure + n_unsure) / n)

    def _verdict(self, subject: Subject, claim: str, support: Support) -> Verdict:
        is_supported = support.probability >= self._verifier.threshold
        where = ""
        if support.span is not None:
            where = " by characters {:,} to {:,} of the context".format(*support.span)
        return Verdict(
            subject,
            claim,
            _SUPPORTED if is_supported else "unsupported",
            f"probability of support {support.probability:.3f}{where}",
            support.chunk,
            probability=support.probability,
            window=support.span,
        )

    def _best(self, metric: str, found: Sequence[_Counted | Judgement]) -> Verification:
        """The score by the text that has the best one; of several ground truths, one is enough."""
        scored = [one for one in found if isinstance(one, _Counted)]
        without = [one for one in found if isinstance(one, Judgement)]
        failed = next((one for one in without if one.null_reason in JUDGE_FAILURES), None)
        if failed is not None or not scored:
            return Verification(failed or without[0], is_sure=False)
        best = max(scored, key=lambda one: one.score)
        threshold = self._thresholds[metric]
        is_sure = any(one.lowest >= threshold for one in scored) or all(
            one.highest < threshold for one in scored
        )
        n, subject = len(best.verdicts), best.verdicts[0].subject
        n_supported = sum(one.verdict == _SUPPORTED for one in best.verdicts)
        explanation = (
            f"{counted(n, subject)}, verified against the contexts by {self._verifier.identity}: "
            f"{n_supported} supported, {n - n_supported} unsupported."
        )
        return Verification(measured(best.score, explanation, best.verdicts), is_sure)


def claims_in(text: str) -> tuple[list[str], NullReason]:
    """The sentences of a text that make a claim, as the grounded profile cuts them.

    Returns
    -------
    list of str
    NullReason
        Why the profile would not score the text as an answer; MEASURED if it would.
    """
    needs = FieldNeeds.of(_SENTENCES, "grounded")
    batch = read_rows([{"answer": text, "contexts": [text]}], 0, needs).pack()
    details = grounded_details(batch, 0, GroundedSettings(), metric_numbers(_SENTENCES))
    found = [Evidence._make(one) for one in details.answer or ()]
    claims = [text[slice(*one.span)].strip() for one in found if not one.no_claim]
    kept = [claim for claim in dict.fromkeys(claims) if has_word(claim)]
    return kept, NullReason(details.reasons[0])
