"""Runs in a store and their baselines, as lines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from rag_eval.plumbing.spelling import counted
from rag_eval.reports.console import print_line, print_parts
from rag_eval.reports.figures import number_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.runs.run_records import RunRecord

_STYLES: Final = {"passed": "green", "failed": "bold red"}
_NO_DATASET: Final = "unknown dataset"
_NO_SIGNATURE: Final = "unknown settings"
_BRANCH_LIMIT: Final = 40
_HASH_DIGITS: Final = 12


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
    parts += [Text(dataset_text(record.dataset_hash)), Text(settings_text(record))]
    if roles := roles_text(record, is_last_passing):
        parts.append(Text(roles, "cyan"))
    print_parts(console, parts, first="")
    means = [
        Text(f"{plain_text(name)} {number_text(mean, 3)}") for name, mean in record.means.items()
    ]
    print_parts(console, means or [Text("no metrics")], ", ")


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
