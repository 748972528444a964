"""Which rows people should label.  In: scores of a run.  Out: a random draw, with probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from rag_eval.errors import InputError
from rag_eval.labels.draws import DESIGNS, LabelDraw, ids_digest, write_draw
from rag_eval.metrics.registry import metric_or_column
from rag_eval.plumbing.checked_values import one_of, whole_from_one
from rag_eval.runs.run_files import RunSource, read_run
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.stats.arrays import Floats
from rag_eval.stats.sampling_designs import (
    RowDraw,
    assumed_spreads,
    proportional_draw,
    score_strata,
    stratified_draw,
    uniform_draw,
)

N_STRATA: Final = 4


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
    """Draw rows of a run to be labelled, without replacement and with known probabilities.

    Parameters
    ----------
    scores : path, ScoredRun or BatchEvalResult
        Rows with ids, each once.
    n : int
        How many to draw.
    output : path, optional
        Write a table there, .csv or .jsonl, with a column of labels to fill in.
    by : str, optional
        The metric whose scores make probabilities or strata.
    design : {"uniform", "proportional", "strata"}
        All rows alike; rows more probably (up to twice) where the score is near 0.5, and so a
        verdict least sure; or so many rows of each stratum of the score, more where verdicts spread
        more (Neyman's allocation).
    n_strata : int
        Strata of about as many rows each; rows without a score are one more.
    spreads : sequence of float, optional
        Standard deviation of labels in each stratum, in the order of the scores, as a pilot had it.
        By default as if scores were probabilities.
    seed : int
    id_field : str
    texts : sequence of str
        Fields of samples or of their metadata to write beside the ids, for people to read.

    Returns
    -------
    LabelDraw

    Raises
    ------
    InputError
    """
    one_of(design, "design", DESIGNS)
    if design != "uniform" and by is None:
        raise InputError(f"design {design!r} needs by: the metric whose scores it goes by")
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
        raise InputError(f"{run.name} holds rows more than once (repeats): label one run of them")
    if n > len(run):
        raise InputError(
            f"cannot draw {n:,} rows: {run.name} has {len(run):,}; draw no more than these"
        )
    if values is None or design == "uniform":
        return uniform_draw(len(run), n, seed=seed)
    if design == "proportional":
        return proportional_draw(assumed_spreads(values), n, seed=seed)
    strata = score_strata(values, n_strata)
    if spreads is None:
        sums = np.bincount(strata, assumed_spreads(values))
        spreads = (sums / np.bincount(strata)).tolist()
    return stratified_draw(strata, spreads, n, seed=seed)


def _score(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
