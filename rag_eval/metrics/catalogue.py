"""Every metric there is, with its contract in one form: for lists, documents and checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rag_eval.metrics.contract import ScorerSpec
from rag_eval.metrics.seven import GROUNDED_METRICS, OVERLAP_METRICS
from rag_eval.samples import MetricId, Profile, camel_case, can_be_judged, needs_judge

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
        Whether the same sample always has the same score, or a judge has a say.
    judge : {"no", "can", "must"}
        Whether a judge can score it.
    cost : str
        ``native``, ``python`` or ``N calls`` of a judge for a sample.
    range : (float, float)
        Lowest and highest score.
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
        The extra that it needs; empty for none.
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
    """All metrics: the seven and the diagnostics, then those of other tools, then the caller's.

    The seven have other rules in each profile; diagnostics have the grounded one alone.
    """
    from rag_eval.metrics.registry import all_specs

    entries = [*_native_entries(profile), *_judged_entries(), *map(_entry, all_specs())]
    return sorted(entries, key=lambda entry: FAMILIES.index(entry.family))


def entry_of(metric: MetricId, profile: Profile = "overlap") -> CatalogueEntry:
    """The entry of one metric in a profile, with any cutoff that is asked for."""
    from rag_eval.metrics.registry import spec_of

    spec = None if needs_judge(metric) else spec_of(metric)
    if spec is not None:
        return _entry(spec)
    return next(entry for entry in catalogue(profile) if entry.id == metric)


FAMILIES: Final = ("rag_eval", "ir", "mastra", "hazel", "regtrace", "omk", "own")
_NODE: Final = "rag-eval-node-ts 0.3.2"


def _native_entries(profile: Profile) -> Iterator[CatalogueEntry]:
    for metric, spec in GROUNDED_METRICS.items():
        overlap = OVERLAP_METRICS.get(metric)
        found = spec if overlap is None or profile == "grounded" else overlap
        thresholds = {"overlap": overlap, "grounded": spec}
        yield CatalogueEntry(
            id=metric,
            family="rag_eval",
            summary=found.summary,
            kind="deterministic",
            judge="can" if can_be_judged(metric) else "no",
            cost="native",
            range=found.range,
            higher_is_better=found.higher_is_better,
            needs=found.fields,
            reads=(),
            options=(),
            thresholds={
                profile: one.threshold
                for profile, one in thresholds.items()
                if one is not None and one.threshold is not None
            },
            source=_NODE if found is overlap else "this library",
            extra="",
        )


def _judged_entries() -> Iterator[CatalogueEntry]:
    from rag_eval.judge.metrics import JUDGED_METRICS
    from rag_eval.scorers.mastra import MASTRA_SCORERS

    for metric, judged in JUDGED_METRICS.items():
        if needs_judge(metric):
            threshold = judged.thresholds["claims"]
            yield _judged_entry(
                metric,
                judged.summary,
                cost=_calls(1),
                needs=tuple(name for name in judged.fields if name not in judged.optional),
                reads=tuple(judged.optional),
                thresholds={} if threshold is None else {"any": threshold},
                source="omk 0.54",
            )
    for metric, scorer in MASTRA_SCORERS.items():
        yield _judged_entry(
            metric,
            scorer.summary,
            cost=_calls(scorer.n_calls),
            needs=(*scorer.fields, *scorer.needs),
            options=(
                *(f"{name}!" for name in scorer.required_options),
                *scorer.default_options,
            ),
            higher_is_better=scorer.higher_is_better,
            source=scorer.source,
        )


def _judged_entry(
    metric: MetricId,
    summary: str,
    *,
    cost: str,
    needs: tuple[str, ...],
    source: str,
    reads: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
    thresholds: dict[str, float] | None = None,
    higher_is_better: bool = True,
) -> CatalogueEntry:
    return CatalogueEntry(
        id=metric,
        family=metric.partition(".")[0],
        summary=summary,
        kind="judged",
        judge="must",
        cost=cost,
        range=(0.0, 1.0),
        higher_is_better=higher_is_better,
        needs=needs,
        reads=reads,
        options=options,
        thresholds=thresholds or {},
        source=source,
        extra="",
    )


def _calls(n_calls: int) -> str:
    return f"{n_calls} call" + ("s" if n_calls > 1 else "")


def _entry(spec: ScorerSpec) -> CatalogueEntry:
    tool = spec.id.partition(".")[0]
    return CatalogueEntry(
        id=spec.id,
        family=tool if "." in spec.id and tool in FAMILIES else "own",
        summary=spec.summary,
        kind=spec.kind,
        judge="can" if can_be_judged(spec.id) else "no",
        cost=spec.cost,
        range=spec.range,
        higher_is_better=spec.higher_is_better,
        needs=spec.fields,
        reads=spec.optional,
        options=(*(f"{name}!" for name in spec.required_options), *spec.options),
        thresholds={} if spec.threshold is None else {"any": spec.threshold},
        source=spec.source,
        extra=spec.extra,
    )
