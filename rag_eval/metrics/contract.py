"""What a metric is, whoever scores it: its contract, and what is found in a sample."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError
from rag_eval.samples import MetricId, NullReason

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Fields: TypeAlias = Mapping[str, Any]
"""Fields of a sample by their snake_case names, those a scorer names; one that is None is left out.

Texts are strings, ``contexts`` a list of strings, ``ground_truth`` a string or a list of strings.
All else is as it came, and the scorer checks it.
"""

Column: TypeAlias = "tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]"
"""Scores, NaN where null, and null reasons, both of shape (R,)."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The result of a scorer for one sample.

    Attributes
    ----------
    score : float or None
        None if there is nothing to score; ``null_reason`` has the reason.
    explanation : str
        An explanation of one or two sentences.
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
        """The result if there is nothing to score."""
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
    signed: Mapping[str, Any] = field(default_factory=dict)


JudgeStyle: TypeAlias = Literal["claims", "rating"]
"""``claims`` has the parts of a text judged one by one, ``rating`` asks for one number."""

JUDGE_STYLES: Final[tuple[JudgeStyle, ...]] = ("claims", "rating")


class MissingFieldError(InputError):
    """A sample lacks what a judged scorer reads: its score is null."""


@dataclass(frozen=True, slots=True)
class JudgedScorer:
    """A scorer that asks a judge, with its settings.

    Attributes
    ----------
    score : callable
        ``await score(asker, sample, tally)`` gives the :class:`Scored` of one sample. It raises a
        MissingFieldError for a sample that it cannot read, and a JudgeFailure where the judge gave
        no usable verdict.
    signed : mapping
        What stands for its settings in the signature, as JSON values; without the usual ones.
    """

    score: Callable[[Any, Any, Any], Awaitable[Scored]]
    signed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRule:
    """How a judge scores a metric.

    Attributes
    ----------
    metric : mapping
        By style: the contract of the metric when a judge scores it.
    steps : mapping
        By style: what the judge is asked; the step that gives the verdict is the last.
    create : callable, optional
        ``create(judge, options)`` makes a :class:`JudgedScorer`, and raises an InputError for an
        option. None where metrics of a row are judged together, because they share steps.
    stand_in : mapping
        The finding that marks a score of the code itself where the judge failed.
    """

    metric: Mapping[JudgeStyle, Metric]
    steps: Mapping[JudgeStyle, Sequence[Any]]
    create: Callable[[Any, Mapping[str, Any]], JudgedScorer] | None = None
    stand_in: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Contract of a metric.

    Kernels score a metric that has a ``number``, Python code one that has ``create``, and a judge
    one that has ``judged``; some metrics can be scored in two of these ways.

    Attributes
    ----------
    id : MetricId
        ``faithfulness``, ``mastra.completeness`` and the like.
    summary : str
        The rule in one sentence.
    fields : tuple of str
        Fields that a sample must have; without them the score is null.
    optional : tuple of str
        Optional fields, which are read if present.
    options : mapping
        Options and their defaults.
    required_options : tuple of str
        Required options.
    threshold : float or None
        A score passes from there on, or up to there, if lower is better. None if no score passes
        or fails by itself.
    higher_is_better : bool
    range : (float, float)
        Lowest and highest possible score.
    in_composite : bool
        Whether the composite score includes it by default.
    compares_runs : bool
        Whether it compares a score with that of an earlier run.
    kind : {"deterministic", "statistical", "judged"}
        Whether the same sample always has the same score, or the score depends on a judge.
    cost : str
        What computes it: ``native`` for kernels, ``python`` for Python code, or ``N calls`` of a
        judge per sample.
    source : str
        The tool that defines the rule, with the version.
    null_when : str
        When its score is null, in a few words.
    extra : str
        The extra that it needs; empty if none.
    version : int
        Version; raised with every change to its scores.
    number : int, optional
        Its number in the kernels; None if they do not score it.
    settings : tuple of str
        Settings of its profile that can change a kernel's score and are therefore part of the
        signature.
    create : callable, optional
        Creates the :class:`Scorer` from options by name, and checks their values. An InputError
        need not name the metric.
    judged : str
        ``module:function`` that returns the :class:`JudgedRule` of an id; imported when a judge is
        called. Empty if no judge can score it.
    """

    id: MetricId
    summary: str
    fields: tuple[str, ...]
    optional: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    required_options: tuple[str, ...] = ()
    threshold: float | None = None
    higher_is_better: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    in_composite: bool = False
    compares_runs: bool = False
    kind: Literal["deterministic", "statistical", "judged"] = "deterministic"
    cost: str = "native"
    source: str = ""
    null_when: str = ""
    extra: str = ""
    version: int = 1
    number: int | None = None
    settings: tuple[str, ...] = ()
    create: Callable[..., Scorer] | None = None
    judged: str = ""

    @property
    def needs_judge(self) -> bool:
        """Whether only a judge can score it."""
        return self.number is None and self.create is None

    @property
    def reads(self) -> tuple[str, ...]:
        """All fields that can change its score."""
        return (*self.fields, *self.optional)

    def read(self, fields: Fields) -> dict[str, Any]:
        """The fields of a sample that it reads; its score depends on no others."""
        return {name: fields[name] for name in self.reads if name in fields}

    def scorer(self, **options: Any) -> Scorer:
        """The scorer with these options, and the defaults of all others."""
        assert self.create is not None, f"{self.id} is not scored by code"
        return self.create(**{**self.options, **options})


def truths_of(fields: Fields) -> list[str]:
    """The acceptable answers of a sample, as a list; empty if it has none."""
    truth = fields.get("ground_truth")
    if truth is None:
        return []
    return [truth] if isinstance(truth, str) else list(truth)
