"""omk's verdict.  In: its report of a control and treatments.  Out: a level; does it ship."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance
from rag_eval.plumbing.checked_values import is_number, number
from rag_eval.plumbing.json_records import JsonRecord
from rag_eval.scorers.omk.layers import GATE, layer_gates
from rag_eval.stats.omk.means import plain_mean
from rag_eval.stats.omk.repeats import stability_cv

OmkLevel: TypeAlias = Literal["PROGRESS", "NOISE", "UNDERPOWERED", "CAUTIOUS", "REGRESS", "SOLO"]

TRIVIAL: Final = 0.1
"""Differences below it count for nothing, on scores from 1 to 5."""

# The best first; of several treatments the worst decides.
_RANKS: Final[tuple[OmkLevel, ...]] = (
    "PROGRESS",
    "NOISE",
    "UNDERPOWERED",
    "CAUTIOUS",
    "REGRESS",
)
ENOUGH_SAMPLES: Final = 20
"""With fewer, a difference that is not shown is UNDERPOWERED."""
_AGREEING: Final = 0.4
_STEADY_CV: Final = 0.15
_LEAST_HOLDOUT: Final = 3
_OVERFIT: Final = 0.5
_GAP_RATE: Final = 0.2
_SIDES: Final = ("control", "treatment")


@dataclass(frozen=True, slots=True)
class OmkPair(JsonRecord):
    """One treatment against the control."""

    control: str
    treatment: str
    level: OmkLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class OmkVerdict:
    """The verdict on a report of omk.

    Attributes
    ----------
    level : {"PROGRESS", "NOISE", "UNDERPOWERED", "CAUTIOUS", "REGRESS", "SOLO"}
        Level of the worst treatment, lowered from PROGRESS to CAUTIOUS if repeats scatter or
        held-out rows show no gain; SOLO without a treatment.
    pairs : tuple of OmkPair
        Those that the report compares, in its order, and one for each treatment that is in none.
    ships : bool
        Whether the level is PROGRESS, or SOLO with every layer above the gate; only then the tool
        exits with 0.
    overfitting : bool
        Whether a treatment, or the only variant, is better by more than 0.5 on the rows it was
        tuned on than on held-out rows.
    gap_signal : bool
        Whether a treatment, or the only variant, ran into missing knowledge in at least a fifth of
        the samples of a named test set; does not affect the verdict.
    """

    level: OmkLevel
    pairs: tuple[OmkPair, ...]
    ships: bool
    overfitting: bool = False
    gap_signal: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, ``per_pair`` null if there is none."""
        return {
            "level": self.level,
            "per_pair": [pair.to_dict() for pair in self.pairs] or None,
            "ships": self.ships,
            "overfitting": self.overfitting,
            "gap_signal": self.gap_signal,
        }


def omk_verdict(
    report: Mapping[str, Any], *, trivial: float = TRIVIAL, gate_threshold: float = GATE
) -> OmkVerdict:
    """The verdict of omk 0.54 on one of its reports.

    For each pair, in this order: without an interval a difference of less than ``trivial`` is
    NOISE, a gain CAUTIOUS and a loss REGRESS. An interval that holds 0 is UNDERPOWERED for fewer
    than 20 samples or while repeats are not saturated, and NOISE otherwise. An interval below 0 is
    REGRESS; one above it PROGRESS, but CAUTIOUS where a layer of the treatment misses the gate, the
    gain is trivial, or judges of either side agree badly (Pearson below 0.4).

    The pairs are those of the report. omk passes over a treatment that is in none of them; here it
    is compared with the control without an interval, so that it cannot ship unseen.

    PROGRESS needs no minimum number of samples: a few with equal differences are enough. Every
    level except PROGRESS fails the build, so most builds fail in which nothing changed.

    Parameters
    ----------
    report : mapping
        ``meta`` (``variants``, the control first; ``sampleCount``, 0 if missing;
        ``pairComparisons``), ``summary`` by variant, and where there are any ``variance`` and
        ``analysis``.
    trivial : float, default 0.1
        A significant gain below this is CAUTIOUS, and a difference without an interval NOISE.
    gate_threshold : float, default 3.5
        Threshold for the average of each layer.

    Raises
    ------
    InputError
        If a part of the report is missing, or a number is not one.
    """
    trivial = number(trivial, "trivial")
    meta, summary = _part(report, "meta"), _part(report, "summary")
    variants = [str(name) for name in meta.get("variants", ())]
    gates = layer_gates(summary, gate_threshold)["per_variant"]
    judged = variants[1:] or variants
    overfitting = _overfits(report, judged)
    gap_signal = any(_has_gap(_inner(report, "analysis", "gapReports", name)) for name in judged)
    pairs: tuple[OmkPair, ...] = ()
    level: OmkLevel = "SOLO"
    ships = all(gates.get(name, False) for name in variants)
    if len(variants) > 1:
        pairs = tuple(
            OmkPair(
                control,
                treatment,
                _level(report, control, treatment, interval, gates.get(treatment, False), trivial),
            )
            for control, treatment, interval in _comparisons(meta, variants)
        )
        level = max((pair.level for pair in pairs), key=_RANKS.index)
        if level == "PROGRESS" and (overfitting or _scatters(report)):
            level = "CAUTIOUS"
        ships = level == "PROGRESS"
    return OmkVerdict(
        level=level, pairs=pairs, ships=ships, overfitting=overfitting, gap_signal=gap_signal
    )


def _part(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = report.get(name)
    if not isinstance(found, Mapping):
        raise InputError(f"an omk report needs an object {name!r}, got {glance(found)}")
    return found


def _inner(report: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """An object inside objects; an empty one where any of them is absent."""
    found: Any = report
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _comparisons(
    meta: Mapping[str, Any], variants: list[str]
) -> list[tuple[str, str, Mapping[str, Any] | None]]:
    """Control, treatment and interval of each pair."""
    found = []
    for pair in meta.get("pairComparisons") or ():
        names = [pair.get(key) for key in _SIDES] if isinstance(pair, Mapping) else []
        if not names or not all(isinstance(name, str) for name in names):
            raise InputError(
                f"a pair comparison needs a control and a treatment, got {glance(pair)}"
            )
        found.append((*names, pair.get("diffBootstrapCI")))
    compared = {treatment for _, treatment, _ in found}
    control, *treatments = variants
    return [*found, *((control, name, None) for name in treatments if name not in compared)]


def _level(
    report: Mapping[str, Any],
    control: str,
    treatment: str,
    interval: Mapping[str, Any] | None,
    gate_held: bool,
    trivial: float,
) -> OmkLevel:
    before, after = (report["summary"].get(name) or {} for name in (control, treatment))
    if interval is None:
        difference = _composite(after) - _composite(before)
        if abs(difference) < trivial:
            return "NOISE"
        return "CAUTIOUS" if difference > 0 else "REGRESS"
    if not interval.get("significant"):
        return "UNDERPOWERED" if _too_few(report, treatment) else "NOISE"
    estimate = number(interval.get("estimate"), f"estimate of {treatment}")
    if estimate < 0:
        return "REGRESS"
    doubtful = not gate_held or estimate < trivial or _disagree(before) or _disagree(after)
    return "CAUTIOUS" if doubtful else "PROGRESS"


def _composite(summary: Mapping[str, Any]) -> float:
    """Its composite score; of the layers where it has none, 0 without any."""
    given = summary.get("avgCompositeScore")
    if given is not None:
        return number(given, "avgCompositeScore")
    layers = [summary.get(f"avg{name}Score") for name in ("Fact", "Behavior", "Judge")]
    # Not rounded, unlike the composite score of a sample.
    known = [layer for layer in layers if is_number(layer)]
    return plain_mean(known) if known else 0.0


def _too_few(report: Mapping[str, Any], treatment: str) -> bool:
    count = report["meta"].get("sampleCount")
    if count is None:
        return True
    if not is_number(count):
        raise InputError(f"meta.sampleCount must be a number, got {glance(count)}")
    verdicts = _inner(report, "variance", "saturation", "verdicts")
    found = _inner(verdicts, treatment)
    unsaturated = verdicts.get(treatment) is not None and not found.get("saturated")
    return count < ENOUGH_SAMPLES or (unsaturated and found.get("confidence") != "high")


def _disagree(summary: Mapping[str, Any]) -> bool:
    correlation = _inner(summary, "judgeAgreement").get("pearson")
    return is_number(correlation) and correlation < _AGREEING


def _scatters(report: Mapping[str, Any]) -> bool:
    found = stability_cv(report)
    return found is not None and found["cv"] > _STEADY_CV


def _overfits(report: Mapping[str, Any], variants: list[str]) -> bool:
    holdout = _inner(report, "analysis", "holdout")
    if holdout.get("disabled"):
        return False
    return any(_gains_by_training(_inner(holdout, "perVariant", name)) for name in variants)


def _gains_by_training(found: Mapping[str, Any]) -> bool:
    train, holdout = found.get("trainScore"), found.get("holdoutScore")
    if not is_number(train) or not is_number(holdout):
        return False
    counts = [found.get(name) for name in ("trainScorable", "holdoutScorable")]
    too_few = any(is_number(n) and n < _LEAST_HOLDOUT for n in counts)
    return not too_few and train - holdout > _OVERFIT


def _has_gap(found: Mapping[str, Any]) -> bool:
    """A rate that says which test set it is of; others say nothing."""
    named = bool(found.get("testSetPath") or found.get("testSetHash"))
    return named and is_number(found.get("gapRate")) and found["gapRate"] >= _GAP_RATE
