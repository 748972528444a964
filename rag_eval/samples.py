"""The basic types: samples, null reasons, profiles, evaluation modes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Literal, TypeAlias

MetricId: TypeAlias = str
"""One of the seven metrics, a diagnostic of the grounded profile, or a scorer of another tool.

The last have a dot in their names: ``mastra.bias``. Wherever a metric id comes in, camelCase is
accepted as well.
"""

Profile: TypeAlias = Literal["overlap", "grounded"]
"""How metrics are computed: as rag-eval-node-ts does, or so that scores agree with people."""

PROFILES: Final[tuple[Profile, ...]] = ("overlap", "grounded")

Policy: TypeAlias = Literal["no-regression", "non-inferior", "omk", "regtrace", "node"]
"""The rule by which a run is compared with an earlier one."""

POLICIES: Final[tuple[Policy, ...]] = ("no-regression", "non-inferior", "omk", "regtrace", "node")

EvaluationMode: TypeAlias = Literal["heuristic", "llm", "hybrid", "cascade"]
"""Who scores: the kernels, a judge, each some metrics, or a judge where kernels are uncertain."""

ScoredBy: TypeAlias = EvaluationMode | Literal["verifier"]
"""Who gave a score: in files of other tools, any mode."""


class NullReason(IntEnum):
    """Why a score is null; 0 if it is not."""

    MEASURED = 0
    MISSING_FIELD = 1
    NOTHING_TO_MEASURE = 2
    JUDGE_FAILED = 3
    SKIPPED = 4
    JUDGE_UNPARSED = 5
    JUDGE_INCOMPLETE = 6
    JUDGE_REFUSED = 7
    JUDGE_TRUNCATED = 8
    JUDGE_TIMED_OUT = 9
    JUDGE_UNREACHABLE = 10
    JUDGE_BUDGET = 11
    JUDGE_INTERRUPTED = 12
    REFUSAL = 13
    JUDGE_PROMPT_CUT = 14


def lack_of(field: str, reason: NullReason) -> str:
    """``The sample has no answer.``, or ``The answer contains no words.``"""
    if reason is NullReason.MISSING_FIELD:
        return f"The sample has no {field}."
    return f"The {field} contains no words."


NULL_REASONS: Final = {reason.name.lower(): reason for reason in NullReason}
"""Reasons by their names in files."""


def null_reason_named(name: str) -> NullReason | None:
    """The reason with this name in a file; None if there is none.

    A reason of a judge that only a later version knows counts as ``JUDGE_FAILED``.
    """
    later = NullReason.JUDGE_FAILED if name.startswith("judge_") else None
    return NULL_REASONS.get(name, later)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSample:
    """One question with the answer, the retrieved contexts and, if known, the ground truth.

    Attributes
    ----------
    question, answer : str, optional
        Needed by the metrics that read them; see the metric table.
    contexts : sequence of str, optional
        Retrieved contexts in rank order; may be empty.
    ground_truth : str or sequence of str, optional
        The expected answer; the grounded profile takes several acceptable ones and uses the best
        match. None and the empty string mean that there is none.
    id : str, optional
        Named in errors and echoed in results.
    metadata : mapping, optional
        Echoed in results, never read.
    language : str, optional
        Language tag of the texts, such as ``de`` or ``pt-BR``; detected if None. Only the grounded
        profile reads it.
    """

    question: str | None = None
    answer: str | None = None
    contexts: list[str] | tuple[str, ...] | None = None
    ground_truth: str | list[str] | tuple[str, ...] | None = None
    id: str | None = None
    metadata: Mapping[str, Any] | None = None
    language: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The sample in the schema of result files (camelCase), without fields that are None."""
        fields = {
            "question": self.question,
            "answer": self.answer,
            "contexts": None if self.contexts is None else list(self.contexts),
            "groundTruth": list(self.ground_truth)
            if isinstance(self.ground_truth, tuple)
            else self.ground_truth,
            "id": self.id,
            "metadata": None if self.metadata is None else dict(self.metadata),
            "language": self.language,
        }
        return {name: value for name, value in fields.items() if value is not None}
