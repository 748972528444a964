"""One row, an asker and some metrics -> a judgement for each metric."""

from __future__ import annotations

from collections.abc import Sequence

from rag_eval.errors import InputError, suggestion
from rag_eval.judge.asking import Asker, Tally
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.metrics.catalogue import JUDGED_METRICS, metric_fn
from rag_eval.judge.metrics.judgements import JudgedRow, Judgement, null
from rag_eval.judge.metrics.preconditions import settled
from rag_eval.judge.metrics.row_steps import RowSteps, together
from rag_eval.metrics.contract import JUDGE_STYLES, JudgeStyle


async def judge_row(
    asker: Asker,
    row: JudgedRow,
    metrics: Sequence[str],
    style: JudgeStyle,
    tallies: dict[str, Tally],
) -> dict[str, Judgement]:
    """Judge some metrics of a row, all at once.

    Steps that metrics share are asked once and counted for the first of them, in the order of
    ``metrics``. What a judgement fails with makes its own score null, and those that share the
    step that failed.

    Parameters
    ----------
    metrics : sequence of str
        Keys of :data:`~rag_eval.judge.metrics.catalogue.JUDGED_METRICS`.
    style : {"claims", "rating"}
        How the seven metrics are asked for; those of ``omk`` are ratings in either.
    tallies : dict of Tally
        By metric; those that are not there are added.

    Returns
    -------
    dict of Judgement
        By metric, in the order of ``metrics``.

    Raises
    ------
    JudgeUnavailableError
        When the asker does: the judge cannot be used at all.
    """
    wanted = list(dict.fromkeys(metrics))
    _check(wanted, style)
    steps = RowSteps(asker, row)
    judging = [
        _judged(steps, metric, style, tallies.setdefault(metric, Tally())) for metric in wanted
    ]
    try:
        found = await together(judging)
    finally:
        await steps.close()
    return dict(zip(wanted, found, strict=True))


async def _judged(steps: RowSteps, metric: str, style: JudgeStyle, tally: Tally) -> Judgement:
    without_judge = settled(metric, steps.row)
    if without_judge is not None:
        return without_judge
    try:
        return await metric_fn(metric, style)(steps, tally)
    except JudgeFailure as failure:
        return null(failure.null_reason, str(failure))


def _check(metrics: Sequence[str], style: str) -> None:
    if style not in JUDGE_STYLES:
        known = " or ".join(map(repr, JUDGE_STYLES))
        raise InputError(f"the judge's style must be {known}, got {style!r}")
    for metric in metrics:
        if metric not in JUDGED_METRICS["claims"]:
            hint = suggestion(metric, JUDGED_METRICS["claims"])
            raise InputError(f"no judged metric is called {metric!r}{hint}")
