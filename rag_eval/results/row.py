"""What comes out: signals, results of one sample, and their form in result files."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from rag_eval.errors import InputError, NotComputedError, suggestion
from rag_eval.judge.replies import Tally
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.signature import Signature
from rag_eval.plumbing.spelling import camel_case
from rag_eval.results.judged import JudgedScore
from rag_eval.samples import MetricId, NullReason, ScoredBy

Severity: TypeAlias = Literal["info", "warning", "critical"]
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSignal:
    """One finding behind a score.

    Attributes
    ----------
    id : str
        Stable within a result, for example ``hallucination-unsupported-2`` for sentence 2.
    severity : {"info", "warning", "critical"}
    evidence : str, optional
        The text it is about.
    """

    id: str
    metric_id: MetricId
    severity: Severity
    message: str
    evidence: str | None = None
    context_chunk_index: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The signal in the schema of result files, without fields that are None."""
        result: dict[str, Any] = {
            "id": self.id,
            "metricId": camel_case(self.metric_id),
            "severity": self.severity,
            "message": self.message,
        }
        if self.evidence is not None:
            result["evidence"] = self.evidence
        if self.context_chunk_index is not None:
            result["contextChunkIndex"] = self.context_chunk_index
        return result


Words: TypeAlias = tuple[str, tuple[EvalSignal, ...], dict[str, Any]]
"""An explanation, signals, and further fields of a :class:`MetricResult`."""


class Losses(NamedTuple):
    """What the contexts lack of a claim, and what faithfulness deducts for it.

    Attributes
    ----------
    window, bigram, skip, number, name, near : float
        From 0 to 1: the shares of content words outside of the best window, of pairs of
        neighbours and of content words that no chunk has, of numbers and names that nothing has,
        and of pairs of names that stand far from each other.
    contradiction, new_name : int
        1 if a chunk contradicts a number, and where a name is new.
    """

    window: float
    bigram: float
    skip: float
    number: float
    name: float
    near: float
    contradiction: int
    new_name: int

    @classmethod
    def of(cls, losses: Sequence[float]) -> Losses:
        """As kernels give them, all as floats."""
        window, bigram, skip, number, name, near, contradiction, new_name = losses
        flags = int(contradiction), int(new_name)
        return cls(window, bigram, skip, number, name, near, *flags)

    def to_dict(self) -> dict[str, float]:
        """In the schema of result files."""
        return {camel_case(name): value for name, value in self._asdict().items()}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Details of an answer that declines to answer.

    Attributes
    ----------
    only : bool
        It claims nothing at all, so that faithfulness and hallucination_rate are null.
    answerable : bool
        A relevant context was there, and no ground truth declines as well.
    """

    only: bool
    answerable: bool

    def to_dict(self) -> dict[str, bool]:
        """As JSON values."""
        return {"only": self.only, "answerable": self.answerable}


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceEvidence:
    """The evidence for one sentence.

    Spans count code points of the original strings, half-open: ``answer[begin:end]``. A pair
    of surrogates counts as the one code point that it stands for, and that result files hold.

    Attributes
    ----------
    span : (int, int)
        The sentence, in the answer or in the ground truth.
    support : float
        From 0 to 1; below 0.60 the sentence counts as not supported.
    chunk : int or None
        Index of the context with the best window; None if no context has a content word of the
        sentence.
    window : (int, int) or None
        Span of this window in ``contexts[chunk]``.
    covered : float
        Share of the sentence's content words that are in the window.
    missing_numbers, missing_names : tuple of str
        Those that neither a chunk nor the question has, in normal form.
    contradiction : (str, str) or None
        The number in the sentence, and the other number in its place in the context.
    far_names : tuple of (str, str)
        Neighbouring names of the sentence that are in the contexts, but not near each other.
    no_claim : bool
        A lead-in ("These are:") or nothing but labels of citations. Its support counts like that of
        any other sentence, but it is not shown as unsupported.
    losses : Losses or None
        The losses from which its support is computed; None if the file does not have them.
    """

    span: tuple[int, int]
    support: float
    chunk: int | None
    window: tuple[int, int] | None
    covered: float
    missing_numbers: tuple[str, ...]
    missing_names: tuple[str, ...]
    contradiction: tuple[str, str] | None = None
    far_names: tuple[tuple[str, str], ...] = ()
    no_claim: bool = False
    losses: Losses | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "span": list(self.span),
            "support": self.support,
            "chunk": self.chunk,
            "window": None if self.window is None else list(self.window),
            "covered": self.covered,
            "missingNumbers": list(self.missing_numbers),
            "missingNames": list(self.missing_names),
            "contradiction": None if self.contradiction is None else list(self.contradiction),
            "farNames": [list(pair) for pair in self.far_names],
            "noClaim": self.no_claim,
            "losses": None if self.losses is None else self.losses.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricResult:
    """One metric of one sample.

    Attributes
    ----------
    score : float or None
        None if there is no score; ``null_reason`` has the reason.
    passed : bool or None
        ``score >= threshold``, or ``<=`` if lower is better; None without a score or a threshold.
    threshold : float or None
        None if the metric has no threshold.
    probability : float or None
        Probability that a person would call the row good, if there is a calibration.
    chunk_scores : tuple of float, optional
        Relevance of each context to the question, for metrics of the grounded profile that are
        computed from it; for context_precision the relevance to question and ground truth.
    evidence : tuple of SentenceEvidence, optional
        What supports each sentence of the answer, or, for context_recall, of the ground truth that
        scored best; grounded profile.
    losses : Losses, optional
        Losses of the whole answer, from which faithfulness is computed; grounded profile.
    judged : JudgedScore, optional
        The judge's verdicts with the native score, if there was a judge.
    details : tuple of mapping, optional
        The findings of a scorer: checks have ``check``, ``passed`` and, if known, ``expected``,
        ``actual`` and ``message``.
    """

    metric_id: MetricId
    score: float | None
    passed: bool | None
    threshold: float | None
    explanation: str
    signals: tuple[EvalSignal, ...] = field(repr=False)
    null_reason: NullReason = field(default=NullReason.MEASURED, repr=False)
    mode: ScoredBy = field(default="heuristic", repr=False)
    llm_calls: int = field(default=0, repr=False)
    duration_ms: int = field(default=0, repr=False)
    probability: float | None = field(default=None, repr=False)
    chunk_scores: tuple[float, ...] | None = field(default=None, repr=False)
    evidence: tuple[SentenceEvidence, ...] | None = field(default=None, repr=False)
    losses: Losses | None = field(default=None, repr=False)
    judged: JudgedScore | None = field(default=None, repr=False)
    details: tuple[Mapping[str, Any], ...] | None = field(default=None, repr=False)

    @property
    def sentence_scores(self) -> tuple[float, ...] | None:
        """Support of each sentence in ``evidence``."""
        if self.evidence is None:
            return None
        return tuple(sentence.support for sentence in self.evidence)

    def to_dict(self, details: bool = False) -> dict[str, Any]:
        """The result in the schema of result files, with ``nullReason`` if the score is null.

        With ``details`` also ``chunkScores``, ``sentenceScores``, ``evidence`` and ``losses``,
        where there are any.
        """
        result: dict[str, Any] = {
            "metricId": camel_case(self.metric_id),
            "score": self.score,
            "mode": self.mode,
            "passed": self.passed,
            "threshold": self.threshold,
            "explanation": self.explanation,
            "signals": [signal.to_dict() for signal in self.signals],
            "llmCalls": self.llm_calls,
            "durationMs": self.duration_ms,
        }
        if self.null_reason:
            result["nullReason"] = self.null_reason.name.lower()
        if self.probability is not None:
            result["probability"] = self.probability
        if self.judged is not None:
            result["judge"] = self.judged.to_dict(details=details)
        if self.details:
            result["details"] = [dict(finding) for finding in self.details]
        if details:
            result.update(self._details())
        return result

    def _details(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.chunk_scores is not None:
            found["chunkScores"] = list(self.chunk_scores)
        if self.evidence is not None:
            found["sentenceScores"] = [sentence.support for sentence in self.evidence]
            found["evidence"] = [sentence.to_dict() for sentence in self.evidence]
        if self.losses is not None:
            found["losses"] = self.losses.to_dict()
        return found


@dataclass(frozen=True, slots=True)
class CostTracker:
    """What the judge cost; all 0 without a judge."""

    llm_calls: int = 0
    estimated_input_tokens: int = 0
    estimated_output_tokens: int = 0
    parse_failures: int = 0

    def to_dict(self) -> dict[str, int]:
        """In the schema of result files."""
        return {camel_case(name): getattr(self, name) for name in CostTracker.__slots__}


def cost_of(tally: Tally) -> CostTracker:
    """Calls and tokens under the names of result files."""
    return CostTracker(
        llm_calls=tally.llm_calls,
        estimated_input_tokens=tally.input_tokens,
        estimated_output_tokens=tally.output_tokens,
        parse_failures=tally.parse_failures,
    )


class ByMetric(Mapping[MetricId, _Value], Generic[_Value]):
    """Values per metric, by key or attribute: ``m["faithfulness"]``, ``m.faithfulness``.

    Keys are in the order in which the metrics were requested; camelCase is accepted. Any other
    metric raises :class:`~rag_eval.errors.NotComputedError`, which names the computed ones.
    """

    __slots__ = ("_values",)
    _values: dict[MetricId, _Value]

    def __init__(self, values: Mapping[MetricId, _Value]) -> None:
        object.__setattr__(self, "_values", dict(values))

    def __getitem__(self, name: str) -> _Value:
        value = self._values.get(name)
        return self._find(name) if value is None else value

    def _find(self, name: str) -> _Value:
        try:
            return self._values[to_metric_id(name)]
        except (InputError, KeyError):
            computed = ", ".join(self._values) or "none"
            hint = suggestion(name, self._values)
            raise NotComputedError(
                f"{name!r} was not computed; computed: {computed}{hint}"
            ) from None

    def __getattr__(self, name: str) -> _Value:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._find(name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is read-only")

    def __contains__(self, name: object) -> bool:
        try:
            return to_metric_id(name) in self._values
        except InputError:
            return False

    def __iter__(self) -> Iterator[MetricId]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    # A Mapping's own views look each key up in Python.
    def values(self) -> ValuesView[_Value]:
        return self._values.values()

    def items(self) -> ItemsView[MetricId, _Value]:
        return self._values.items()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __reduce__(self) -> tuple[Any, ...]:
        return ByMetric, (self._values,)

    def __repr__(self) -> str:
        return f"ByMetric({self._values!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalResult:
    """All requested metrics of one sample.

    Attributes
    ----------
    sample : dict or EvalSample
        The sample as it was given, unknown fields included.
    metrics : mapping of MetricResult
        ``result.metrics.faithfulness.score`` and ``result.metrics["faithfulness"]`` both work.
    composite_score : float or None
        Weighted mean of the scores that are not null.
    passed : bool
        True if neither a metric nor the composite score is below its threshold.
    language : str or None
        Language code of the texts, "und" if the language has no word list; None in the overlap
        profile.
    refusal : Refusal or None
        How the answer declines; None if it does not, and in the overlap profile.
    """

    sample: Any = field(repr=False)
    metrics: ByMetric[MetricResult] = field(repr=False)
    composite_score: float | None
    passed: bool
    cost: CostTracker = field(default=CostTracker(), repr=False)
    duration_ms: int = field(default=0, repr=False)
    evaluated_at: str
    signature: Signature | None = field(repr=False)
    language: str | None = field(default=None, repr=False)
    refusal: Refusal | None = field(default=None, repr=False)

    def to_dict(self, details: bool = False) -> dict[str, Any]:
        """The result in the schema of result files: that of rag-eval-node-ts, with the signature.

        With ``details`` also the scores of contexts and sentences with their evidence, the language
        and, if the answer declines, the refusal.
        """
        result: dict[str, Any] = {
            "sample": sample_dict(self.sample),
            "metrics": {
                camel_case(name): metric.to_dict(details) for name, metric in self.metrics.items()
            },
            "compositeScore": self.composite_score,
            "passed": self.passed,
            "cost": self.cost.to_dict(),
            "durationMs": self.duration_ms,
            "evaluatedAt": self.evaluated_at,
        }
        if self.signature is not None:
            result["signature"] = self.signature.to_dict()
        if details and self.language is not None:
            result["language"] = self.language
        if details and self.refusal is not None:
            result["refusal"] = self.refusal.to_dict()
        return result

    def _repr_html_(self) -> str:
        from rag_eval.results.faces import face

        return str(face("row.notebook")(self))


def sample_dict(sample: Any) -> dict[str, Any]:
    """A sample as it is echoed: a mapping as given, an EvalSample in camelCase."""
    if isinstance(sample, Mapping):
        echoed = dict(sample)
        # Readers of the schema look for one spelling.
        if "ground_truth" in echoed:
            truth = echoed.pop("ground_truth")
            echoed.setdefault("groundTruth", truth)
        return echoed
    return dict(sample.to_dict())


def id_text(sample: Any) -> str | None:
    """The id of a sample as a text; None if it has none."""
    found = sample.get("id") if isinstance(sample, Mapping) else getattr(sample, "id", None)
    return None if found is None else str(found)


def row_name(number: int, known: str | None) -> str:
    """The name of a row in messages; its number is from 0, and the first is row 1."""
    return f"row {number + 1}" if known is None else f'row {number + 1} ("{known}")'
