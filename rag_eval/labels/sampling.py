"""Scores of a run in; a random draw of rows to label, with probabilities, out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from rag_eval.errors import InputError
from rag_eval.labels.draws import LabelDraw, ids_digest, write_draw
from rag_eval.metrics.registry import metric_or_column
from rag_eval.plumbing.checked_values import one_of, whole_from_one
from rag_eval.runs.run_files import RunSource, read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.stats.arrays import Floats
from rag_eval.stats.sampling_designs import (
    RowDraw,
    assumed_spreads,
    score_strata,
    stratified_draw,
    uniform_draw,
)

N_STRATA: Final = 4
# Probabilities by the score itself were worse than equal ones on real sets; files of such draws can
# still be read.
_DRAWN: Final = ("uniform", "strata")


def sample_for_labels(
    scores: RunSource,
    n: int,
    *,
    output: str | Path | None = None,
    by: str | None = None,
    design: str = "uniform",
    n_strata: int = N_STRATA,
    spreads: Sequence[float] | None = None,
    seed: int = 0,
    id_field: str = "id",
    texts: Sequence[str] = (),
) -> LabelDraw:
    """Draw rows of a run for labelling, without replacement and with known probabilities.

    Parameters
    ----------
    scores : path, ScoredRun or BatchEvalResult
        Rows with ids, each once.
    n : int
        Number of rows to draw.
    output : path, optional
        File (.csv or .jsonl) for a table with a column of labels to fill in.
    by : str, optional
        Metric whose scores determine probabilities or strata.
    design : {"uniform", "strata"}
        All rows with equal probability, or a number of rows from each stratum of the score, more
        where verdicts vary more (Neyman allocation).
    n_strata : int
        Number of strata of about equal size; rows without a score form one more.
    spreads : sequence of float, optional
        Standard deviation of the labels in each stratum, from low to high scores, for example from
        a pilot. Default: as if scores were probabilities.
    seed : int
    id_field : str
    texts : sequence of str
        Fields of samples or of their metadata to write beside the ids, for the annotators.

    Returns
    -------
    LabelDraw

    Raises
    ------
    InputError
    """
    one_of(design, "design", _DRAWN)
    if design != "uniform" and by is None:
        raise InputError(f"design {design!r} needs by, the metric whose scores it uses")
    metrics = None if by is None else [by]
    run = read_run(scores, metrics=metrics, columns=list(texts), id_field=id_field)
    values = None if by is None else run.column(metric_or_column(by))
    drawn = _drawn(run, values, n, design, n_strata, spreads, seed)
    ids = [run.ids[row] for row in drawn.rows]
    draw = LabelDraw(
        design=design,
        seed=seed,
        n_rows=len(run),
        n_drawn=len(ids),
        ids_digest=ids_digest(run.ids),
        probabilities=dict(zip(ids, drawn.probabilities.tolist(), strict=True)),
        strata=None
        if drawn.strata is None
        else {name: f"s{stratum}" for name, stratum in zip(ids, drawn.strata, strict=True)},
        scores={}
        if values is None
        else dict(zip(ids, map(_score, values[drawn.rows]), strict=True)),
        drawn_by=by,
        drawn_from=run.name,
    )
    if output is not None:
        columns = {name: [run.columns[name][row] for row in drawn.rows] for name in texts}
        write_draw(draw, output, id_field=id_field, texts=columns)
    return draw


def _drawn(
    run: ScoredRun,
    values: Floats | None,
    n: int,
    design: str,
    n_strata: int,
    spreads: Sequence[float] | None,
    seed: int,
) -> RowDraw:
    whole_from_one(n, "n")
    if len(set(run.ids)) < len(run):
        raise InputError(f"{run.name} has repeated rows; draw from one run without repeats")
    if n > len(run):
        raise InputError(f"cannot draw {n:,} rows: {run.name} has only {len(run):,}")
    if values is None or design == "uniform":
        return uniform_draw(len(run), n, seed=seed)
    strata = score_strata(values, n_strata)
    if not strata.any():
        raise InputError(
            f"design 'strata' needs rows with different scores, but all rows of {run.name} have "
            "the same one; use design 'uniform'"
        )
    if spreads is None:
        sums = np.bincount(strata, assumed_spreads(values))
        spreads = (sums / np.bincount(strata)).tolist()
    return stratified_draw(strata, spreads, n, seed=seed)


def _score(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
