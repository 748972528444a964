"""All metrics with their contracts in one form, for lists, documents and checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rag_eval.metrics.contract import Metric
from rag_eval.metrics.registry import FAMILIES, all_metrics, family_of, metric_of
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import MetricId, Profile

Kind: TypeAlias = Literal["deterministic", "statistical", "judged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One metric.

    Attributes
    ----------
    id : MetricId
    family : str
        The tool whose scorer it is; ``rag_eval`` for those of this library, ``own`` for the
        caller's.
    summary : str
        The rule in one sentence.
    kind : {"deterministic", "statistical", "judged"}
        Whether the same sample always has the same score, or the score depends on a judge.
    judge : {"no", "can", "must"}
        Whether a judge can score it.
    cost : str
        ``native``, ``python`` or ``N calls`` of a judge for a sample.
    range : (float, float)
        Lowest and highest possible score.
    higher_is_better : bool
    needs : tuple of str
        Fields of a sample without which the score is null.
    reads : tuple of str
        Fields that are read where they are there.
    options : tuple of str
        For ``scorer_options``; those that must be given come first, with a ``!``.
    thresholds : dict
        Default threshold per profile; without one no score passes or fails by itself.
    source : str
        Whose rule it is.
    extra : str
        The extra that it needs; empty if none.
    """

    id: MetricId
    family: str
    summary: str
    kind: Kind
    judge: Literal["no", "can", "must"]
    cost: str
    range: tuple[float, float]
    higher_is_better: bool
    needs: tuple[str, ...]
    reads: tuple[str, ...]
    options: tuple[str, ...]
    thresholds: dict[str, float]
    source: str
    extra: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; a bound that is infinite is null."""
        found = {camel_case(name): getattr(self, name) for name in CatalogueEntry.__slots__}
        found["range"] = [None if abs(end) == float("inf") else end for end in self.range]
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found.items()
        }


def catalogue(profile: Profile = "overlap") -> list[CatalogueEntry]:
    """All metrics: the seven and the diagnostics, then those of other tools, then custom ones.

    The seven have other rules in each profile; diagnostics have the grounded one alone.
    """
    return [_entry(metric) for metric in all_metrics(profile)]


def entry_of(metric: MetricId, profile: Profile = "overlap") -> CatalogueEntry:
    """The entry of one metric in a profile, with any cutoff that is asked for."""
    found = metric_of(metric, profile)
    assert found is not None, metric
    return _entry(found)


def profiles_of(metric: MetricId) -> tuple[Profile, ...]:
    """The profiles that have a rule for a metric; none where it is the same in all."""
    return tuple(name for name, metrics in PROFILE_METRICS.items() if metric in metrics)


FAMILY_NAMES: Final = ("rag_eval", *FAMILIES, "own")


def _entry(metric: Metric) -> CatalogueEntry:
    judge: Literal["no", "can", "must"] = "can" if metric.judged else "no"
    return CatalogueEntry(
        id=metric.id,
        family=family_of(metric.id),
        summary=metric.summary,
        kind=metric.kind,
        judge="must" if metric.needs_judge else judge,
        cost=metric.cost,
        range=metric.range,
        higher_is_better=metric.higher_is_better,
        needs=metric.fields,
        reads=metric.optional,
        options=(*(f"{name}!" for name in metric.required_options), *metric.options),
        thresholds=_thresholds(metric),
        source=metric.source,
        extra=metric.extra,
    )


def _thresholds(metric: Metric) -> dict[str, float]:
    """The default threshold by profile, or of any."""
    found: dict[str, Metric | None] = {"any": metric}
    if metric.number is not None:
        found = {name: metrics.get(metric.id) for name, metrics in PROFILE_METRICS.items()}
    return {
        name: one.threshold
        for name, one in found.items()
        if one is not None and one.threshold is not None
    }
