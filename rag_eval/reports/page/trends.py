"""The page of a store's history: a trend of every metric over its runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from rag_eval._version import __version__
from rag_eval.metrics.registry import higher_is_better
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.plumbing.spelling import counted
from rag_eval.reports.figures import NONE, p_value_text, score_text, shown_name
from rag_eval.reports.history import (
    LEAST_RANGE,
    commit_text,
    dataset_text,
    roles_text,
    run_time_text,
    settings_text,
)
from rag_eval.reports.page.charts import HEIGHT, WIDTH
from rag_eval.reports.page.page import style_and_script
from rag_eval.reports.page.templating import rendered
from rag_eval.runs.run_records import RunRecord
from rag_eval.runs.trends import RunMean, data_and_settings, mean_of, trends_of
from rag_eval.samples import MetricId
from rag_eval.stats.change_points import ChangePoint

_MARGIN: Final = 6.0  # of the first and the last point from the edges


@dataclass(frozen=True, slots=True)
class Point:
    """One run in the drawing; ``low`` and ``high`` are the ends of its interval."""

    x: str
    y: str
    low: str | None
    high: str | None
    status: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendCard:
    """One metric over the runs that have it, oldest first.

    Attributes
    ----------
    latest : RunMean
    bounds : str
        Its interval, or empty.
    change : float or None
        Since the run before; None if that is missing or has other data or settings.
    points : list of Point
    lines : list of str
        Runs with the same data and settings, joined.
    low, high : str
        The ends of the scale.
    changes : list of (str, str, bool)
        Where a line is drawn at the first run after a change, what it says, and whether it is for
        the better.
    """

    name: MetricId
    rises: bool
    latest: RunMean
    bounds: str
    change: float | None
    changes: Sequence[tuple[str, str, bool]]
    points: Sequence[Point]
    lines: Sequence[str]
    low: str
    high: str
    text: str


def write_history_page(
    records: Sequence[RunRecord], path: Path, *, store: str, last_passing: Collection[str] = ()
) -> None:
    """Write the page of some runs, given newest first.

    Parameters
    ----------
    records : sequence of RunRecord
    path : Path
    store : str
        The name of the store.
    last_passing : collection of str
        Ids of the runs that later runs are compared with.
    """
    names = list(dict.fromkeys(metric for record in records for metric in record.metrics))
    oldest_first = list(reversed(records))
    changed = {one.name: one.changes for one in trends_of(records).metrics} if records else {}
    trends = [
        found
        for name in names
        if (found := _trend(name, oldest_first, changed.get(name, ()))) is not None
    ]
    n_failed = sum(record.status == "failed" for record in records)
    page = rendered(
        "history.html.j2",
        title=f"History: {store}",
        verdict="",
        heading=f"{counted(len(records), 'run')}, {n_failed:,} failed",
        skip="runs",
        links=[("Trends", "trends"), ("Runs", "runs")],
        **style_and_script(),
        data="",
        trends=trends,
        n_kinds=len({data_and_settings(record) for record in records}),
        runs=[_run(record, [one.name for one in trends], last_passing) for record in records],
        version=__version__,
    )
    with atomic_file(path) as file:
        file.write(page.encode())


def _run(
    record: RunRecord, names: Sequence[MetricId], last_passing: Collection[str]
) -> dict[str, Any]:
    means = [mean_of(record, name) for name in names]
    return {
        "id": record.run_id,
        "time": run_time_text(record.created_at),
        "state": record.state,
        "dataset": dataset_text(record.dataset_hash),
        "settings": settings_text(record),
        "branch": NONE if record.branch is None else record.branch,
        "commit": commit_text(record),
        "n_rows": record.n_rows,
        "roles": roles_text(record, record.run_id in last_passing),
        "means": [(None, "") if one is None else (one.mean, _bounds(one)) for one in means],
    }


def _bounds(mean: RunMean) -> str:
    """``0.79 to 0.86``, or empty."""
    if mean.low is None or mean.high is None:
        return ""
    return f"{score_text(mean.low)} to {score_text(mean.high)}"


def _trend(
    name: MetricId, records: Sequence[RunRecord], changes: Sequence[tuple[str, ChangePoint]]
) -> TrendCard | None:
    """None if no run has a mean of the metric."""
    found = [(record, mean) for record in records if (mean := mean_of(record, name)) is not None]
    if not found:
        return None
    ends = [end for _, one in found for end in (one.mean, one.low, one.high) if end is not None]
    low, high = min(ends), max(ends)
    if high - low < LEAST_RANGE:
        low, high = low - LEAST_RANGE / 2, high + LEAST_RANGE / 2

    def y(value: float | None) -> str | None:
        return None if value is None else f"{HEIGHT * (high - value) / (high - low):.2f}"

    step = (WIDTH - 2 * _MARGIN) / max(len(found) - 1, 1)
    points = [
        Point(
            x=f"{_MARGIN + place * step if len(found) > 1 else WIDTH / 2:.2f}",
            y=y(one.mean) or "",
            low=y(one.low),
            high=y(one.high),
            status=record.status if record.status in ("passed", "failed") else "none",
            text=_told(record, one),
        )
        for place, (record, one) in enumerate(found)
    ]
    joined = groupby(zip(found, points, strict=True), lambda pair: data_and_settings(pair[0][0]))
    lines = [" ".join(f"{point.x},{point.y}" for _, point in pairs) for _, pairs in joined]
    newest, latest = found[-1]
    comparable = len(found) > 1 and data_and_settings(found[-2][0]) == data_and_settings(newest)
    change = latest.mean - found[-2][1].mean if comparable else None
    rises = higher_is_better(name) and name not in newest.lower_is_better
    places = {record.run_id: point.x for (record, _), point in zip(found, points, strict=True)}
    times = {record.run_id: run_time_text(record.created_at) for record, _ in found}
    return TrendCard(
        name=name,
        rises=rises,
        latest=latest,
        bounds=_bounds(latest),
        changes=[
            (
                places[run_id],
                f"changed at {times[run_id]}: {score_text(one.before)} to {score_text(one.after)}, "
                f"p {p_value_text(one.p_value)}",
                (one.after > one.before) == rises,
            )
            for run_id, one in changes
        ],
        change=None if change is None else change + 0.0,
        points=points,
        lines=[line for line in lines if " " in line],
        low=score_text(low),
        high=score_text(high),
        text=f"{shown_name(name)}: {counted(len(found), 'run')}, means from "
        f"{score_text(min(one.mean for _, one in found))} to "
        f"{score_text(max(one.mean for _, one in found))}, the newest {score_text(latest.mean)}",
    )


def _told(record: RunRecord, mean: RunMean) -> str:
    bounds = f", {_bounds(mean)}" if _bounds(mean) else ""
    return f"{run_time_text(record.created_at)}: {score_text(mean.mean)}{bounds}, {record.state}"
