"""What a scorer that needs no judge is: its contract, and what it finds in a sample."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from rag_eval.samples import MetricId, NullReason

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from rag_eval.judge.steps import Step

Fields: TypeAlias = Mapping[str, Any]
"""Fields of a sample by their snake_case names, those a scorer names; one that is None is left out.

Texts are strings, ``contexts`` a list of strings, ``ground_truth`` a string or a list of strings.
All else is as it came, and the scorer checks it.
"""

Column: TypeAlias = "tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]"
"""Scores, NaN where null, and null reasons, both of shape (R,)."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Scored:
    """What a scorer found in one sample.

    Attributes
    ----------
    score : float or None
        None where there is nothing to score, and ``null_reason`` says why.
    explanation : str
        In a sentence or two, for people.
    details : sequence of mapping
        Findings one by one, as JSON values; checks have ``check`` and ``passed``, and where there
        are any ``expected``, ``actual`` and ``message``.
    """

    score: float | None
    null_reason: NullReason = NullReason.MEASURED
    explanation: str = ""
    details: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def nothing(cls, explanation: str) -> Scored:
        """There is nothing that a score could be of."""
        return cls(None, NullReason.NOTHING_TO_MEASURE, explanation)


@dataclass(frozen=True, slots=True)
class Scorer:
    """A scorer with its settings.

    Attributes
    ----------
    score : callable
        The finding in one sample. It gets the fields that the contract names, all of ``fields``
        among them, and raises an InputError, which need not name the sample, for a bad value.
    column : callable, optional
        The scores of many samples, equal to those of ``score`` one by one; for scorers that gain by
        it.
    signed : mapping
        By options: what stands for them in the signature, where their values do not say it, such as
        a digest of the words of a file.
    """

    score: Callable[[Fields], Scored]
    column: Callable[[Sequence[Fields]], Column] | None = None
    signed: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRule:
    """How a judge scores what a scorer can score without one as well.

    Attributes
    ----------
    steps : tuple of Step
        What the judge is asked; the step that gives the verdict is the last.
    judged : callable
        ``await judged(asker, fields, tally, **options)`` with the fields and the options of the
        scorer's contract. A JudgeFailure where the judge gave no usable verdict.
    stand_in : mapping
        The finding that marks a score of the scorer itself where the judge failed.
    """

    steps: tuple[Step[Any], ...]
    judged: Callable[..., Awaitable[Scored]]
    stand_in: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerSpec:
    """Contract of a scorer.

    Attributes
    ----------
    id : MetricId
        ``mastra.completeness`` and the like.
    summary : str
        The rule in one sentence.
    create : callable
        Makes the scorer; takes the options by their names and checks their values. An InputError
        need not name the scorer.
    fields : tuple of str
        What a sample must have; the score is null without.
    optional : tuple of str
        What else is read where it is there.
    options : mapping
        Options and their defaults.
    required_options : tuple of str
        Options that have no default.
    threshold : float or None
        None where no score passes or fails by itself.
    higher_is_better : bool
    range : (float, float)
        Lowest and highest score.
    kind : {"deterministic", "statistical"}
    cost : {"native", "python"}
        Who does the work: kernels, or the interpreter.
    source : str
        Whose rule it is, with the version.
    null_when : str
        When its score is null, in a few words, besides a missing field.
    extra : str
        The extra that it needs; empty for none.
    version : int
        Goes up with every change to its scores.
    """

    id: MetricId
    summary: str
    create: Callable[..., Scorer]
    fields: tuple[str, ...]
    optional: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    required_options: tuple[str, ...] = ()
    threshold: float | None = None
    higher_is_better: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    kind: Literal["deterministic", "statistical"] = "deterministic"
    cost: Literal["native", "python"] = "native"
    source: str = ""
    null_when: str = ""
    extra: str = ""
    version: int = 1

    def read(self, fields: Fields) -> dict[str, Any]:
        """Those fields that the scorer reads: its score depends on no others."""
        names = (*self.fields, *self.optional)
        return {name: fields[name] for name in names if name in fields}


def truths_of(fields: Fields) -> list[str]:
    """The acceptable answers of a sample, as a list; empty where it has none."""
    truth = fields.get("ground_truth")
    if truth is None:
        return []
    return [truth] if isinstance(truth, str) else list(truth)
