"""The page of a store's history: a trend of every metric over its runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from rag_eval._version import __version__
from rag_eval.metrics.registry import higher_is_better
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.plumbing.spelling import counted
from rag_eval.reports.figures import NONE, score_text, shown_name
from rag_eval.reports.history import (
    commit_text,
    dataset_text,
    roles_text,
    run_time_text,
    settings_text,
)
from rag_eval.reports.page.charts import HEIGHT, WIDTH
from rag_eval.reports.page.page import policy
from rag_eval.reports.page.templating import asset, rendered, script, trusted
from rag_eval.runs.run_records import RunRecord
from rag_eval.samples import MetricId

_MARGIN: Final = 6.0  # of the first and the last point from the edges
_LEAST_RANGE: Final = 0.02


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a metric in one run; its interval is None if there is none."""

    mean: float
    low: float | None
    high: float | None

    @property
    def bounds(self) -> str:
        """``0.79 to 0.86``, or empty."""
        if self.low is None or self.high is None:
            return ""
        return f"{score_text(self.low)} to {score_text(self.high)}"


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
class Trend:
    """One metric over the runs that have it, oldest first.

    Attributes
    ----------
    latest : Mean
    change : float or None
        Since the run before; None if that is missing or was scored under other settings.
    points : list of Point
    lines : list of str
        Runs with the same settings, joined.
    low, high : str
        The ends of the scale.
    """

    name: MetricId
    rises: bool
    latest: Mean
    change: float | None
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
    trends = [found for name in names if (found := _trend(name, oldest_first)) is not None]
    n_failed = sum(record.status == "failed" for record in records)
    page = rendered(
        "history.html.j2",
        title=f"History: {store}",
        verdict="",
        heading=f"{counted(len(records), 'run')}, {n_failed:,} failed",
        skip="runs",
        links=[("Trends", "trends"), ("Runs", "runs")],
        policy=policy(script(has_rows=False), asset("style.css")),
        style=trusted(asset("style.css")),
        script=trusted(script(has_rows=False)),
        data="",
        trends=trends,
        n_signatures=len({_settings(record) for record in records}),
        runs=[_run(record, [one.name for one in trends], last_passing) for record in records],
        version=__version__,
    )
    with atomic_file(path) as file:
        file.write(page.encode())


def _run(
    record: RunRecord, names: Sequence[MetricId], last_passing: Collection[str]
) -> dict[str, Any]:
    means = [_mean(record, name) for name in names]
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
        "means": [(None, "") if one is None else (one.mean, one.bounds) for one in means],
    }


def _mean(record: RunRecord, name: MetricId) -> Mean | None:
    mean = record.means.get(name)
    if mean is None or not math.isfinite(mean):
        return None
    found = record.aggregates[name].get("meanInterval")
    bounds = found if isinstance(found, dict) else {}
    low, high = (_number(bounds.get(end)) for end in ("low", "high"))
    return Mean(mean, low, high) if low is not None and high is not None else Mean(mean, None, None)


def _number(value: object) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]


def _settings(record: RunRecord) -> str:
    return "" if record.signature is None else str(record.signature)


def _trend(name: MetricId, records: Sequence[RunRecord]) -> Trend | None:
    """None if no run has a mean of the metric."""
    found = [(record, mean) for record in records if (mean := _mean(record, name)) is not None]
    if not found:
        return None
    ends = [end for _, one in found for end in (one.mean, one.low, one.high) if end is not None]
    low, high = min(ends), max(ends)
    if high - low < _LEAST_RANGE:
        low, high = low - _LEAST_RANGE / 2, high + _LEAST_RANGE / 2

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
    joined = groupby(zip(found, points, strict=True), lambda pair: _settings(pair[0][0]))
    lines = [" ".join(f"{point.x},{point.y}" for _, point in pairs) for _, pairs in joined]
    newest, latest = found[-1]
    comparable = len(found) > 1 and _settings(found[-2][0]) == _settings(newest)
    change = latest.mean - found[-2][1].mean if comparable else None
    rises = higher_is_better(name) and name not in newest.lower_is_better
    return Trend(
        name=name,
        rises=rises,
        latest=latest,
        change=None if change is None else change + 0.0,
        points=points,
        lines=[line for line in lines if " " in line],
        low=score_text(low),
        high=score_text(high),
        text=f"{shown_name(name)}: {counted(len(found), 'run')}, means from "
        f"{score_text(min(one.mean for _, one in found))} to "
        f"{score_text(max(one.mean for _, one in found))}, the newest {score_text(latest.mean)}",
    )


def _told(record: RunRecord, mean: Mean) -> str:
    bounds = f", {mean.bounds}" if mean.bounds else ""
    return f"{run_time_text(record.created_at)}: {score_text(mean.mean)}{bounds}, {record.state}"
