"""Runs in a store and their baselines, as lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from rag_eval.plumbing.csv_cells import guarded_cell
from rag_eval.plumbing.spelling import counted
from rag_eval.reports.console import print_line, print_parts
from rag_eval.reports.figures import number_text, p_value_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.runs.run_records import RunRecord
from rag_eval.runs.trends import Trends, mean_of, trends_of

_STYLES: Final = {"passed": "green", "failed": "bold red"}
_NO_DATASET: Final = "unknown dataset"
_NO_SIGNATURE: Final = "unknown settings"
_BRANCH_LIMIT: Final = 40
_HASH_DIGITS: Final = 12
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_MOST_BLOCKS: Final = 40
LEAST_RANGE: Final = 0.02
"""Means that move by less do not fill the height of a drawing."""
_CSV_HEADS: Final = (
    "run_id",
    "created_at",
    "state",
    "dataset_hash",
    "settings",
    "branch",
    "commit",
    "n_rows",
    "metric",
    "mean",
    "low",
    "high",
    "null_rate",
    "change_p",
)


def print_history(
    records: Sequence[RunRecord], console: Console, *, last_passing: Collection[str] = ()
) -> None:
    """Print the runs, each followed by the means of its metrics.

    ``last_passing`` holds the ids of the runs that later runs are compared with.
    """
    for record in records:
        print_run_record(record, console, is_last_passing=record.run_id in last_passing)


def print_run_record(record: RunRecord, console: Console, *, is_last_passing: bool) -> None:
    """Print one run: id, time, state, branch and commit if known, rows, data, settings, means."""
    parts = [
        Text(plain_text(record.run_id), "bold"),
        Text(run_time_text(record.created_at)),
        Text(record.state, _STYLES.get(record.state, "")),
    ]
    if record.branch is not None:
        parts.append(Text(plain_text(record.branch, _BRANCH_LIMIT)))
    if record.git_commit is not None:
        parts.append(Text(commit_text(record)))
    parts.append(Text(counted(record.n_rows, "row")))
    settings = (
        settings_text(record) if record.signature is None else f"settings {settings_text(record)}"
    )
    parts += [Text(dataset_text(record.dataset_hash)), Text(settings)]
    if roles := roles_text(record, is_last_passing):
        parts.append(Text(roles, "cyan"))
    print_parts(console, parts, first="")
    means = [
        Text(f"{plain_text(name)} {number_text(mean, 3)}") for name, mean in record.means.items()
    ]
    print_parts(console, means or [Text("no metrics")], ", ")


def print_trends(trends: Trends, console: Console) -> None:
    """Print each metric over the runs, oldest first: sparkline, newest mean, changes."""
    n_runs, n_other = len(trends.records), trends.n_other
    other = f"; {counted(n_other, 'run')} of other data or settings left out" if n_other else ""
    console.print()
    print_line(console, Text(f"trends over {counted(n_runs, 'run')}, oldest first{other}", "bold"))
    marks = {"passed": "✓", "failed": "✗"}
    width = max(len(plain_text(trend.name)) for trend in trends.metrics)
    states = "".join(marks.get(record.state, "·") for record in trends.records[-_MOST_BLOCKS:])
    print_line(console, f"{'gate'[:width]:{width}}  {states}  (✓ passed, ✗ failed, · no gate)")
    for trend in trends.metrics:
        shown = trend.means[-_MOST_BLOCKS:]
        blocks = in_blocks([None if mean is None else mean.mean for mean in shown])
        newest = trend.known[-1]
        bounds = "" if newest.low is None else f" [{newest.low:.3f}, {newest.high:.3f}]"
        line = Text(f"{plain_text(trend.name):{width}}  {blocks}  {newest.mean:.3f}{bounds}")
        print_line(console, line)
        for run_id, change in trend.changes:
            better = (change.after > change.before) == trend.higher_is_better
            text = Text(f"{'':{width}}  changed at {plain_text(run_id)}: ")
            moved = f"{change.before:.3f} → {change.after:.3f}"
            text.append(moved, "green" if better else "bold red")
            print_line(console, text.append(f", p {p_value_text(change.p_value)}"))


def in_blocks(values: Sequence[float | None]) -> str:
    """A sparkline: ``▁▃█``; a space for None."""
    known = [value for value in values if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    if high - low < LEAST_RANGE:
        low, high = (low + high - LEAST_RANGE) / 2, (low + high + LEAST_RANGE) / 2
    steps = len(_BLOCKS) - 1
    return "".join(
        " " if value is None else _BLOCKS[round(steps * (value - low) / (high - low))]
        for value in values
    )


def history_csv(records: Sequence[RunRecord]) -> str:
    """A row per run and metric, newest run first, with the changes that a test shows."""
    trends = trends_of(records).metrics if records else []
    changed = {
        (run_id, trend.name): change.p_value for trend in trends for run_id, change in trend.changes
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_HEADS)
    for record in records:
        for name in record.metrics:
            found = mean_of(record, name)
            values = ("", "", "") if found is None else (found.mean, found.low, found.high)
            cells = [
                record.run_id,
                record.created_at,
                record.state,
                record.dataset_hash,
                settings_text(record),
                record.branch,
                record.git_commit,
                record.n_rows,
                name,
                *values,
                record.aggregates[name].get("nullRate") if name in record.aggregates else None,
                changed.get((record.run_id, name)),
            ]
            # Names of branches come from whoever made them.
            writer.writerow([guarded_cell(x) if isinstance(x, str) else x for x in cells])
    return text.getvalue()


def print_baselines(
    pins: Mapping[str, RunRecord],
    last_passing: RunRecord | None,
    console: Console,
    *,
    dataset_hash: str | None,
    branch: str | None,
) -> None:
    """Print the pinned runs, and the newest run of a dataset that passed."""
    if not pins:
        print_line(console, "no run is pinned")
    for name, record in pins.items():
        print_line(console, Text(f"pinned under the name {plain_text(name)}:"))
        print_run_record(record, console, is_last_passing=False)
    shown = dataset_text(dataset_hash)
    where = "" if branch is None else f", preferring branch {plain_text(branch, _BRANCH_LIMIT)}"
    if last_passing is None:
        print_line(console, Text(f"no run of {shown} has passed a gate"))
        return
    print_line(console, Text(f"last passing run of {shown}{where}:"))
    print_run_record(last_passing, console, is_last_passing=False)


def commit_text(record: RunRecord) -> str:
    """The first digits of the commit; a star if there were uncommitted changes."""
    digits = plain_text(record.git_commit or "")[:8]
    return digits + "*" if record.dirty else digits


def dataset_text(dataset_hash: str | None) -> str:
    """``dataset 5c1f0a9be2d4``: the first digits, which commands accept as an abbreviation."""
    if dataset_hash is None:
        return _NO_DATASET
    return f"dataset {plain_text(dataset_hash)[:_HASH_DIGITS]}"


def settings_text(record: RunRecord) -> str:
    """``grounded:3 1f0c9a``: profile, version, and a digest of all settings that change scores."""
    return _NO_SIGNATURE if record.signature is None else plain_text(record.signature.short)


def roles_text(record: RunRecord, is_last_passing: bool) -> str:
    """``pinned (main), last passing``, or empty."""
    roles = [f"pinned ({plain_text(name)})" for name in record.pins]
    return ", ".join([*roles, *(["last passing"] if is_last_passing else [])])


def run_time_text(created_at: str) -> str:
    """The time to the minute, in UTC."""
    return plain_text(created_at)[:16].replace("T", " ")
