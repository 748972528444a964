"""The mean label of a run.  In: scores of all rows, labels of drawn ones.  Out: an estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from rag_eval.errors import InputError, glance
from rag_eval.inputs.byte_files import source_name
from rag_eval.kernels.settings import FAITHFULNESS_WEIGHTS
from rag_eval.labels.draws import LabelDraw, ids_digest, read_draw
from rag_eval.labels.label_sets import mean_labels, read_labels, some_names
from rag_eval.metrics.registry import metric_or_column
from rag_eval.runs.run_files import RunSource, read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.stats.arrays import Floats, Whole
from rag_eval.stats.ppi import ppi_difference, ppi_mean
from rag_eval.stats.ppi_results import PpiEstimate, Target

HUMAN: Final = "human"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEstimate:
    """A mean label, and what it is the mean of.

    Attributes
    ----------
    estimand : str
        ``mean human verdict`` where people labelled good and bad, ``mean human label`` where they
        graded, and so on for other sources; a ``difference in …`` between two systems.
    label_source : str
    metric : str
        Whose scores helped.
    result : PpiEstimate
    draw : LabelDraw
        How the labelled rows were drawn.
    n_missing : int
        Drawn rows without a label.
    scores_name, labels_name : str
    against_name : str or None
        The scores of the other system.
    assumptions : tuple of str
        What has to be true and cannot be seen in the files.
    notes : tuple of str
    """

    estimand: str
    label_source: str
    metric: str
    result: PpiEstimate
    draw: LabelDraw
    n_missing: int
    scores_name: str
    labels_name: str
    against_name: str | None = None
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "estimand": self.estimand,
            "labelSource": self.label_source,
            "metric": self.metric,
            **self.result.to_dict(),
            "draw": self.draw.to_dict(),
            "nMissingLabels": self.n_missing,
            "scores": self.scores_name,
            "labels": self.labels_name,
            "against": self.against_name,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
        }


def estimate_labels(
    scores: RunSource,
    labels: str | Path,
    *,
    metric: str,
    target: Target = "rows",
    level: float = 0.95,
    label_source: str = HUMAN,
    bounds: tuple[float, float] | None = None,
    cluster_by: str | None = None,
    against: RunSource | None = None,
    against_labels: str | Path | None = None,
    allow_missing_labels: bool = False,
    calibration_labels: str | Path | None = None,
    cross_fit: bool = False,
    id_field: str = "id",
    label_field: str = "label",
) -> LabelEstimate:
    """Estimate the mean label of all rows of a run from labels of rows drawn at random.

    Parameters
    ----------
    scores : path, ScoredRun or BatchEvalResult
    labels : path
        The table that :func:`rag_eval.labels.sampling.sample_for_labels` wrote, filled in.
    metric : str
        Whose scores stand in for labels, or a column of a table.
    target, level, bounds, cross_fit
        As for :func:`rag_eval.stats.ppi_mean`.
    label_source : str
        Who labelled: ``human``, ``judge``, or a name. The estimate is named after it.
    cluster_by : str, optional
        Metadata that says which rows belong together, for the population.
    against, against_labels : optional
        Scores of another system on the same rows, and labels of its answers for the same drawn
        rows: the difference of the means is estimated, the first less the other.
    allow_missing_labels : bool
        Take drawn rows that nobody labelled as missing by chance.
    calibration_labels : path, optional
        The labels that the scores were calibrated on; none of their rows may be labelled here.
    id_field, label_field : str

    Returns
    -------
    LabelEstimate

    Raises
    ------
    InputError
        For labels that were not drawn at random from these rows, or not all filled in; and for
        calibrated scores without ``calibration_labels``.
    """
    if not label_source.strip():
        raise InputError("label_source must say who labelled, got an empty text")
    if cluster_by is not None and target == "rows":
        raise InputError(
            "cluster_by is for the population: these rows are given, whatever they belong to; "
            "wanted target 'population', or no cluster_by"
        )
    reading = _Reading(metric, id_field, label_field, cluster_by)
    draw = read_draw(labels, id_field=id_field)
    systems = [_system(scores, labels, draw, reading)]
    if against is not None or against_labels is not None:
        if bounds is not None:
            raise InputError("bounds are of the labels of one system: leave them out with against")
        _check_own_labels(labels, against_labels)
        systems.append(_other_system(against, against_labels, systems[0], draw, reading))
    for system in systems:
        _check_calibration(system, metric, calibration_labels, id_field)
    drawn = _labelled_rows(systems, draw)
    assumption = _missing_assumption(draw, drawn.n_missing, allow_missing_labels, systems[-1])
    first = systems[0]
    result = _result(
        systems,
        drawn,
        bounds,
        probabilities=drawn.probabilities,
        strata=drawn.strata,
        target=target,
        level=level,
        clusters=None if cluster_by is None else list(first.run.columns[cluster_by]),
        cross_fit=cross_fit,
    )
    return LabelEstimate(
        estimand=_estimand(label_source, systems, drawn),
        label_source=label_source,
        metric=metric,
        result=result,
        draw=draw,
        n_missing=drawn.n_missing,
        scores_name=first.run.name,
        labels_name=source_name(labels),
        against_name=systems[1].run.name if len(systems) > 1 else None,
        assumptions=(*_assumptions(label_source), *assumption),
        notes=tuple(note for system in systems for note in system.notes),
    )


# ------------------------------------------------------------------------------------- reading


class _Reading(NamedTuple):
    """What is read of files."""

    metric: str
    id_field: str
    label_field: str
    cluster_by: str | None


class _System(NamedTuple):
    """Scores of all rows of a system, and labels of some."""

    run: ScoredRun
    scores: Floats
    labels: Mapping[str, float]
    labels_name: str
    notes: Sequence[str]


def _system(scores: RunSource, labels: str | Path, draw: LabelDraw, reading: _Reading) -> _System:
    columns = () if reading.cluster_by is None else (reading.cluster_by,)
    run = read_run(scores, metrics=[reading.metric], columns=columns, id_field=reading.id_field)
    name = source_name(labels)
    if len(run) != draw.n_rows or ids_digest(run.ids) != draw.ids_digest:
        came = f", {draw.drawn_from}" if draw.drawn_from else ""
        raise InputError(
            f"{name}: rows were drawn from {draw.n_rows:,} rows{came}; {run.name} has "
            f"{len(run):,} rows, and not the same ids: the labels are a sample of other rows"
        )
    there = set(run.ids)
    if strange := [one for one in draw.probabilities if one not in there]:
        raise InputError(f"{name}: the row of {glance(strange[0])} was not drawn from {run.name}")
    values, notes = _labels(labels, draw, reading)
    return _System(run, run.column(metric_or_column(reading.metric)), values, name, notes)


def _labels(
    path: str | Path, draw: LabelDraw, reading: _Reading
) -> tuple[dict[str, float], Sequence[str]]:
    """Labels of drawn rows by id; of several annotators the mean."""
    found = read_labels(path, id_field=reading.id_field, label_field=reading.label_field)
    means = mean_labels(found.ratings).tolist()
    values = {name: mean for name, mean in zip(found.ids, means, strict=True) if mean == mean}
    if strange := [name for name in values if name not in draw.probabilities]:
        raise InputError(f"{found.name}: the row of {strange[0]!r} was not drawn")
    notes = []
    if len(found.annotators) > 1:
        notes.append(f"{found.name}: labels are the mean of {len(found.annotators)} annotators")
    return values, notes


def _other_system(
    against: RunSource | None,
    labels: str | Path | None,
    first: _System,
    draw: LabelDraw,
    reading: _Reading,
) -> _System:
    if against is None or labels is None:
        raise InputError(
            "the difference of two systems needs scores (against) and labels (against_labels) of "
            "the other one, for the same drawn rows"
        )
    found = _system(against, labels, draw, reading)
    rows = {name: row for row, name in enumerate(found.run.ids)}
    order = [rows[name] for name in first.run.ids]
    return found._replace(scores=found.scores[order])


def _check_calibration(
    system: _System, metric: str, calibration_labels: str | Path | None, id_field: str
) -> None:
    """Scores that were fitted to these labels would agree with them too well."""
    if calibration_labels is not None:
        fitted = read_labels(calibration_labels, id_field=id_field)
        if shared := [name for name in fitted.ids if name in system.labels]:
            raise InputError(
                f"{len(shared):,} labelled rows ({some_names(shared)}) are also in {fitted.name}, "
                "on which the scores were calibrated: they agree too well; label other rows"
            )
        return
    signature = system.run.signature
    options = {} if signature is None else signature.options
    name = metric_or_column(metric)
    is_refitted = name == "faithfulness" and FAITHFULNESS_WEIGHTS in options
    if is_refitted or name in (options.get("calibrations") or {}):
        raise InputError(
            f"{system.run.name}: scores of {metric} were calibrated on labels. If these are among "
            "them, scores agree with them too well: name the file they were calibrated on "
            "(--calibration-labels), so that this can be checked"
        )


# -------------------------------------------------------------------------------------- labels


class _LabelledRows(NamedTuple):
    """Drawn rows that every system has a label of."""

    ids: list[str]
    rows: Whole
    probabilities: Floats
    strata: list[str] | None
    n_missing: int


def _labelled_rows(systems: Sequence[_System], draw: LabelDraw) -> _LabelledRows:
    """Probabilities are those of being drawn and labelled, rows missing at random."""
    ids = [name for name in draw.probabilities if all(name in one.labels for one in systems)]
    n_missing = draw.n_drawn - len(ids)
    if not ids:
        raise InputError(f"{systems[0].labels_name}: no drawn row has a label yet")
    rows = {name: row for row, name in enumerate(systems[0].run.ids)}
    strata = None if draw.strata is None else [draw.strata[name] for name in ids]
    found = np.array([draw.probabilities[name] for name in ids])
    if n_missing:
        found = found * _response_rates(draw, ids, strata)
    return _LabelledRows(ids, np.array([rows[name] for name in ids]), found, strata, n_missing)


def _response_rates(draw: LabelDraw, ids: Sequence[str], strata: Sequence[str] | None) -> Any:
    """Share of drawn rows that were labelled, for each of these: in its stratum, or in all."""
    if strata is None or draw.strata is None or len(draw.strata) < draw.n_drawn:
        return len(ids) / draw.n_drawn
    drawn, labelled = Counter(draw.strata.values()), Counter(strata)
    if empty := [name for name in drawn if name not in labelled]:
        raise InputError(f"no row of stratum {empty[0]} has a label: its mean is not known at all")
    return np.array([labelled[name] / drawn[name] for name in strata])


def _missing_assumption(
    draw: LabelDraw, n_missing: int, is_allowed: bool, system: _System
) -> list[str]:
    if not n_missing:
        return []
    text = f"{n_missing:,} of {draw.n_drawn:,} drawn rows have no label"
    if not is_allowed:
        raise InputError(
            f"{system.labels_name}: {text}. Rows that nobody could label are often the hard ones: "
            "label them, or take them as missing by chance with --allow-missing-labels"
        )
    return [f"{text}: they are taken to be like the others"]


# -------------------------------------------------------------------------------------- result


def _check_own_labels(labels: str | Path, against_labels: str | Path | None) -> None:
    if against_labels is not None and source_name(against_labels) == source_name(labels):
        raise InputError(
            f"{source_name(labels)} is given for both systems: the labels of each are of its "
            "own answers"
        )


def _result(
    systems: Sequence[_System],
    drawn: _LabelledRows,
    bounds: tuple[float, float] | None,
    **options: Any,
) -> PpiEstimate:
    labels = _values(systems, drawn)
    if len(systems) == 1:
        return ppi_mean(systems[0].scores, labels[0], drawn.rows, bounds=bounds, **options)
    return ppi_difference(
        systems[0].scores, systems[1].scores, labels[0], labels[1], drawn.rows, **options
    )


def _values(systems: Sequence[_System], drawn: _LabelledRows) -> Floats:
    return np.array([[system.labels[name] for name in drawn.ids] for system in systems])


def _estimand(label_source: str, systems: Sequence[_System], drawn: _LabelledRows) -> str:
    is_binary = bool(np.isin(_values(systems, drawn), (0.0, 1.0)).all())
    name = f"mean {label_source} {'verdict' if is_binary else 'label'}"
    return name if len(systems) == 1 else f"difference in {name}"


def _assumptions(label_source: str) -> list[str]:
    if label_source == HUMAN:
        return ["labels are by people, who did not see the scores"]
    return [
        f"labels are by {label_source}: this estimates what {label_source} would say of all rows, "
        "which is the truth only as far as people agree; that takes labels by people"
    ]
