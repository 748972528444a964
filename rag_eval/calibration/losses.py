"""Texts of scored rows -> what faithfulness deducted for them, where weights can be refitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from rag_eval.calibration.inputs import ScoreColumn
from rag_eval.errors import InputError, MissingExtraError
from rag_eval.inputs.row_texts import read_rows
from rag_eval.inputs.samples import FieldNeeds, SampleError, SampleLike
from rag_eval.kernels.scoring import metric_numbers, score_grounded
from rag_eval.kernels.settings import LOSSES, GroundedSettings
from rag_eval.options.signature import Signature
from rag_eval.results.batch import BatchEvalResult
from rag_eval.stats.arrays import Floats

_METRIC: Final = "faithfulness"
_BLOCK_ROWS: Final = 1024
_TOLERANCE: Final = 1e-9


class NoLossesError(InputError):
    """The losses of rows are not available; the message says why, and what to do."""


def has_losses(column: ScoreColumn) -> bool:
    """Whether the scores are made of losses: those of faithfulness that no judge gave."""
    signature = column.signature
    return (
        column.metric == _METRIC
        and signature is not None
        and signature.profile == GroundedSettings.profile
        and _METRIC not in (signature.options.get("judged") or ())
    )


def samples_of(batch: BatchEvalResult) -> list[SampleLike]:
    """The samples of a result.

    Raises
    ------
    NoLossesError
        When it was made without keeping them.
    """
    rows = batch.results
    if not getattr(rows, "keeps_texts", True):
        raise NoLossesError("the result has no texts (keep_texts=False)")
    if hasattr(rows, "sample"):  # which explains no row
        return [rows.sample(row) for row in range(len(rows))]
    return [row.sample for row in rows]


def losses_of(samples: Sequence[SampleLike], column: ScoreColumn) -> Floats:
    """The pooled losses of scored rows (R, 8); NaN where a score is null, or 0 by rule.

    Raises
    ------
    NoLossesError
        When the scores are not what this version gives for these texts.
    """
    assert column.signature is not None
    try:
        again, losses = scores_and_losses(samples, _settings_of(column.signature))
    except SampleError as error:
        raise NoLossesError(str(error)) from None
    differs = ~np.isclose(again, column.scores, rtol=0, atol=_TOLERANCE, equal_nan=True)
    if differs.any():
        row = int(differs.argmax())
        raise NoLossesError(
            f"{int(differs.sum()):,} of {len(losses):,} rows have scores that differ from those "
            f"of their texts (first: score {column.scores[row]:.6g}, text {again[row]:.6g}); "
            "score the samples again"
        )
    return losses


def scores_and_losses(
    samples: Sequence[SampleLike], settings: GroundedSettings
) -> tuple[Floats, Floats]:
    """The faithfulness (R,) and the pooled losses (R, 8) of samples, both NaN where null.

    Raises
    ------
    SampleError
        For a sample that cannot be scored.
    """
    needs, metrics = FieldNeeds.of((_METRIC,), settings.profile), metric_numbers((_METRIC,))
    scores, losses = np.empty(len(samples)), np.empty((len(samples), len(LOSSES)))
    for begin in range(0, len(samples), _BLOCK_ROWS):
        rows = slice(begin, begin + _BLOCK_ROWS)
        batch = read_rows(list(samples[rows]), begin, needs).pack()
        found, _ = score_grounded(batch, settings, metrics, losses[rows])
        scores[rows] = found[:, 0]
    return scores, losses


def _settings_of(signature: Signature) -> GroundedSettings:
    options = signature.options
    language, stemmer = options.get("language"), str(options.get("stemmer")).partition(" ")[0]
    try:
        settings = GroundedSettings.from_options(
            {"language": None if language == "detected" else language, "stemmer": stemmer}
        )
    except (InputError, MissingExtraError) as error:
        raise NoLossesError(str(error)) from None
    ours = Signature.of((_METRIC,), settings)
    if differences := signature.differences(ours, [_METRIC]):
        raise NoLossesError(
            f"the scores were made with settings that differ from this version's "
            f"({'; '.join(differences)}); score the samples again"
        )
    return settings
