"""Samples of any accepted kind -> blocks of texts, checked field by field.

In: dicts, other mappings and EvalSample, in any mix.  Out: strings per field, then packed columns.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from rag_eval.errors import InputError
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.samples import EvalSample, MetricId, Profile

SampleLike: TypeAlias = Mapping[str, Any] | EvalSample

TEXT_FIELDS: Final = ("question", "answer", "contexts", "ground_truth")
OUR_KEYS: Final = frozenset({*TEXT_FIELDS, "groundTruth", "id", "language", "metadata"})
_ALL_TEXTS: Final = frozenset(TEXT_FIELDS)


@dataclass(frozen=True, slots=True)
class FieldNeeds:
    """Which fields the requested metrics read, and when a row may lack one.

    ``absent`` are those that no row has, see :meth:`without`; ``metrics`` do not read them.
    """

    metrics: frozenset[MetricId]
    question: bool
    answer: bool
    contexts: bool
    ground_truth: bool
    profile: Profile = "overlap"
    absent: frozenset[str] = frozenset()

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, metrics: tuple[MetricId, ...], profile: Profile = "overlap") -> FieldNeeds:
        """The needs of some metrics of a profile.

        In the grounded profile all texts of a sample decide on its language, and on what is a
        mark and not a word: without all of them a score would depend on what else is asked for.
        """
        wanted = frozenset(metrics)
        specs = PROFILE_METRICS[profile]
        read = {name for metric in wanted for name in specs[metric].fields}
        if profile == "grounded" and wanted:
            read.update(TEXT_FIELDS)
        return cls(
            wanted,
            question="question" in read,
            answer="answer" in read,
            contexts="contexts" in read,
            ground_truth="ground_truth" in read,
            profile=profile,
        )

    @functools.lru_cache(maxsize=64)  # noqa: B019  # needs are few, and kept by ``of`` as well
    def without(self, absent: frozenset[str]) -> FieldNeeds:
        """The needs in rows of a source that has no column for some fields.

        In the overlap profile the metrics that read them are null; the others have their fields.
        """
        if not absent:
            return self
        specs = PROFILE_METRICS[self.profile]
        left = {metric for metric in self.metrics if absent.isdisjoint(specs[metric].fields)}
        return replace(self, metrics=frozenset(left), absent=absent)

    def reads(self, name: str, sample: SampleLike) -> bool:
        """Whether a requested metric reads the field of this sample.

        Metrics that end early do not: without contexts nothing reads the question for them, and
        without a ground truth nothing reads the answer for answer_correctness. In the grounded
        profile a field that is missing makes scores null, and one that is there is read.
        """
        if self.profile == "grounded":
            return bool(getattr(self, name))
        wants = self.metrics
        if name == "contexts":
            return bool(
                wants
                & {
                    "faithfulness",
                    "context_precision",
                    "context_relevance",
                    "hallucination_rate",
                }
            ) or ("context_recall" in wants and bool(ground_truth_of(sample)))
        has_contexts = bool(field_of(sample, "contexts"))
        if name == "question":
            chunks = wants & {"context_precision", "context_relevance"}
            return "answer_relevance" in wants or (bool(chunks) and has_contexts)
        return (
            bool(wants & {"faithfulness", "answer_relevance"})
            or ("hallucination_rate" in wants and has_contexts)
            or ("answer_correctness" in wants and bool(ground_truth_of(sample)))
        )


class SampleError(InputError):
    """A sample cannot be scored: ``where`` names it, ``fault`` says what is wrong with it."""

    def __init__(self, where: str, fault: str) -> None:
        super().__init__(where, fault)
        self.where = where
        self.fault = fault

    def __str__(self) -> str:
        return f"{self.where}: {self.fault}"


def no_samples(source: str) -> InputError:
    """What to raise for data without a row."""
    return InputError(
        f"{source} holds no samples; expected one row or JSON object per sample, with a "
        "question, an answer and contexts"
    )


def how_to_convert(sample: object) -> str:
    """The call that makes a dict of an object with fields; empty for all else."""
    kind = type(sample)
    if kind is dict or isinstance(sample, (EvalSample, Mapping)):
        return ""
    if hasattr(kind, "__dataclass_fields__"):
        return "dataclasses.asdict(sample)"
    for name in ("model_dump", "_asdict"):  # pydantic, named tuples
        if callable(getattr(kind, name, None)):
            return f"sample.{name}()"
    return ""


def has_our_names(keys: Set[Any]) -> bool:
    """Whether the keys of samples need no look at the names of other tools."""
    return keys <= OUR_KEYS or keys >= _ALL_TEXTS


def field_of(sample: SampleLike, name: str) -> Any:
    """A field of a sample of any kind; None when it is missing."""
    if isinstance(sample, EvalSample):
        return getattr(sample, name)
    return sample.get(name)


def ground_truth_of(sample: SampleLike) -> Any:
    """The ground truth under either spelling; two different ones are a ValueError."""
    if isinstance(sample, EvalSample):
        return sample.ground_truth
    value, other = sample.get("ground_truth"), sample.get("groundTruth")
    if other is None:
        return value
    if value is not None and value != other:
        raise ValueError("ground_truth and groundTruth are both given, with different values")
    return other


def id_of(sample: object) -> Any:
    """The id of a sample of any kind; None if it has none."""
    # Asking whether it is a mapping takes longer than all the rest.
    if type(sample) is dict or isinstance(sample, Mapping):
        return sample.get("id")
    return getattr(sample, "id", None)


def sample_name(row: int, sample: object) -> str:
    """``sample 17 ("q-0042")``: how errors call a sample."""
    name = id_of(sample)
    return f"sample {row}" if name is None else f'sample {row} ("{name}")'
