"""Scores of all rows and labels of drawn rows in; an estimate of the mean label out."""

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
from rag_eval.labels.score_repeats import ScoreRepeats, score_repeats
from rag_eval.metrics.registry import metric_or_column
from rag_eval.runs.run_files import RunSource, read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.stats.arrays import Floats, Whole
from rag_eval.stats.ppi import ppi_difference, ppi_mean
from rag_eval.stats.ppi_results import PpiEstimate, Target

HUMAN: Final = "human"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEstimate:
    """An estimated mean label.

    Attributes
    ----------
    estimand : str
        ``mean human verdict`` for labels of good and bad, ``mean human label`` for grades, and so
        on for other sources; ``difference in …`` for two systems.
    label_source : str
    metric : str
        The metric whose scores were used.
    result : PpiEstimate
    draw : LabelDraw
        How the labelled rows were drawn.
    n_missing : int
        Drawn rows without a label.
    scores_name, labels_name : str
    against_name : str or None
        Scores of the other system.
    assumptions : tuple of str
        Assumptions that cannot be checked from the files.
    notes : tuple of str
    repeats : ScoreRepeats or None
        What repeats of a judge add to the noise; None if no row has several scores.
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
    repeats: ScoreRepeats | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        repeats = {} if self.repeats is None else {"scoreRepeats": self.repeats.to_dict()}
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
            **repeats,
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
        The filled-in table of :func:`rag_eval.labels.sampling.sample_for_labels`.
    metric : str
        Metric, or column of a table, whose scores predict the labels.
    target, level, bounds, cross_fit
        As for :func:`rag_eval.stats.ppi_mean`.
    label_source : str
        Who labelled: ``human``, ``judge``, or a name; part of the name of the estimate.
    cluster_by : str, optional
        Metadata field whose equal values mark rows that belong together, for ``population``.
    against, against_labels : optional
        Scores of another system on the same rows, and labels of its answers to the same drawn
        rows: estimates the difference of the means, the first minus the other.
    allow_missing_labels : bool
        Treat drawn rows without a label as missing at random.
    calibration_labels : path, optional
        Labels on which the scores were calibrated; their rows must not be labelled here.
    id_field, label_field : str

    Returns
    -------
    LabelEstimate

    Raises
    ------
    InputError
        For labels that were not drawn at random from these rows or are incomplete, and for
        calibrated scores without ``calibration_labels``.
    """
    if not label_source.strip():
        raise InputError("label_source must not be empty: name who labelled")
    if cluster_by is not None and target == "rows":
        raise InputError(
            "cluster_by needs target 'population': target 'rows' takes the rows as fixed"
        )
    reading = _Reading(metric, id_field, label_field, cluster_by)
    draw = read_draw(labels, id_field=id_field)
    systems = [_system(scores, labels, draw, reading)]
    if against is not None or against_labels is not None:
        if bounds is not None:
            raise InputError("bounds apply to the labels of one system; remove them or against")
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
        notes=(*_on_origin(draw, first), *(note for one in systems for note in one.notes)),
        repeats=score_repeats(
            [system.run for system in systems],
            metric_or_column(metric),
            drawn.probabilities,
            result,
        ),
    )


# ------------------------------------------------------------------------------------- reading


class _Reading(NamedTuple):
    """The fields to read from files."""

    metric: str
    id_field: str
    label_field: str
    cluster_by: str | None


class _System(NamedTuple):
    """The scores of all rows of a system and the labels of some."""

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
        came = f" of {draw.drawn_from}" if draw.drawn_from else ""
        raise InputError(
            f"{name}: the labelled rows were drawn from other rows ({draw.n_rows:,} rows{came}) "
            f"than those of {run.name} ({len(run):,} rows)"
        )
    there = set(run.ids)
    if strange := [one for one in draw.probabilities if one not in there]:
        raise InputError(f"{name}: row {glance(strange[0])} is not in {run.name}")
    values, notes = _labels(labels, draw, reading)
    return _System(run, run.column(metric_or_column(reading.metric)), values, name, notes)


def _on_origin(draw: LabelDraw, system: _System) -> list[str]:
    """A note where the rows that people labelled were drawn from another run."""
    if not draw.drawn_from or Path(draw.drawn_from).name == Path(system.run.name).name:
        return []
    return [
        f"the rows were drawn from {draw.drawn_from}: their labels hold for {system.run.name} only "
        "if its answers are the same"
    ]


def _labels(
    path: str | Path, draw: LabelDraw, reading: _Reading
) -> tuple[dict[str, float], Sequence[str]]:
    """Labels of drawn rows by id; the mean of several annotators."""
    found = read_labels(path, id_field=reading.id_field, label_field=reading.label_field)
    means = mean_labels(found.ratings).tolist()
    values = {name: mean for name, mean in zip(found.ids, means, strict=True) if mean == mean}
    if strange := [name for name in values if name not in draw.probabilities]:
        raise InputError(f"{found.name}: row {strange[0]!r} was not drawn")
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
            "the difference of two systems needs the scores (against) and the labels "
            "(against_labels) of the other system for the same drawn rows"
        )
    found = _system(against, labels, draw, reading)
    rows = {name: row for row, name in enumerate(found.run.ids)}
    order = [rows[name] for name in first.run.ids]
    return found._replace(scores=found.scores[order])


def _check_calibration(
    system: _System, metric: str, calibration_labels: str | Path | None, id_field: str
) -> None:
    """Raise an error for scores that were fitted to the same labels."""
    if calibration_labels is not None:
        fitted = read_labels(calibration_labels, id_field=id_field)
        if shared := [name for name in fitted.ids if name in system.labels]:
            raise InputError(
                f"labelled rows that are also in {fitted.name}: {len(shared):,} "
                f"({some_names(shared)}). The scores were calibrated on these labels, so they "
                "agree too well; label other rows"
            )
        return
    signature = system.run.signature
    options = {} if signature is None else signature.options
    name = metric_or_column(metric)
    is_refitted = name == "faithfulness" and FAITHFULNESS_WEIGHTS in options
    if is_refitted or name in (options.get("calibrations") or {}):
        raise InputError(
            f"{system.run.name}: scores of {metric} were calibrated on labels and must not be "
            "used with the same labels; give the file of those labels (--calibration-labels) to "
            "check this"
        )


# -------------------------------------------------------------------------------------- labels


class _LabelledRows(NamedTuple):
    """Drawn rows with a label in every system."""

    ids: list[str]
    rows: Whole
    probabilities: Floats
    strata: list[str] | None
    n_missing: int


def _labelled_rows(systems: Sequence[_System], draw: LabelDraw) -> _LabelledRows:
    """The labelled rows; their probabilities assume that labels are missing at random."""
    ids = [name for name in draw.probabilities if all(name in one.labels for one in systems)]
    n_missing = draw.n_drawn - len(ids)
    if not ids:
        raise InputError(f"{systems[0].labels_name}: no drawn row has a label")
    rows = {name: row for row, name in enumerate(systems[0].run.ids)}
    strata = None if draw.strata is None else [draw.strata[name] for name in ids]
    found = np.array([draw.probabilities[name] for name in ids])
    if n_missing:
        found = found * _response_rates(draw, ids, strata)
    return _LabelledRows(ids, np.array([rows[name] for name in ids]), found, strata, n_missing)


def _response_rates(draw: LabelDraw, ids: Sequence[str], strata: Sequence[str] | None) -> Any:
    """For each labelled row the share of drawn rows with a label, in its stratum or overall."""
    if strata is None or draw.strata is None or len(draw.strata) < draw.n_drawn:
        return len(ids) / draw.n_drawn
    drawn, labelled = Counter(draw.strata.values()), Counter(strata)
    if empty := [name for name in drawn if name not in labelled]:
        raise InputError(f"no row of stratum {empty[0]} has a label; label at least one")
    return np.array([labelled[name] / drawn[name] for name in strata])


def _missing_assumption(
    draw: LabelDraw, n_missing: int, is_allowed: bool, system: _System
) -> list[str]:
    if not n_missing:
        return []
    text = f"drawn rows without a label: {n_missing:,} of {draw.n_drawn:,}"
    if not is_allowed:
        raise InputError(
            f"{system.labels_name}: {text}. Missing labels are often those of hard rows: label "
            "them, or treat them as missing at random with --allow-missing-labels"
        )
    return [f"{text}; they are assumed to be missing at random"]


# -------------------------------------------------------------------------------------- result


def _check_own_labels(labels: str | Path, against_labels: str | Path | None) -> None:
    if against_labels is not None and source_name(against_labels) == source_name(labels):
        raise InputError(
            f"{source_name(labels)} is given for both systems; each system needs labels of its "
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
        return ["people labelled without seeing the scores"]
    return [
        f"labels are by {label_source}, so this estimates the mean of its labels over all rows; "
        "how far people agree with it needs human labels"
    ]
