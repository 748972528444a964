"""``rag-eval baseline``: choose the runs to compare with, and write a baseline file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import rich_click as click

from rag_eval.cli.flags import format_flag
from rag_eval.cli.groups import CommandGroup
from rag_eval.cli.history import store_flag
from rag_eval.cli.printing import print_json
from rag_eval.errors import InputError
from rag_eval.plumbing.spelling import counted
from rag_eval.runs.store_names import DEFAULT_PIN

if TYPE_CHECKING:
    from rag_eval.runs.run_records import RunRecord
    from rag_eval.runs.scored_run import ScoredRun
    from rag_eval.runs.store import RunStore

_LAST_PASSING: Final = "last-passing"
_PINNED: Final = "pinned"

name_flag = click.option(
    "--name",
    metavar="NAME",
    default=DEFAULT_PIN,
    show_default=True,
    help="Name of the pin; use one per dataset.",
)


@click.group(
    "baseline",
    cls=CommandGroup,
    guessed={"set": "pin", "add": "pin", "list": "show", "save": "export", "remove": "unpin"},
)
def baseline_command() -> None:
    """Choose the baseline for later runs: a run in a store, or a file to commit.

    A gate compares a run with the last passing run and with the pinned run. The pinned run stays
    the same until you pin another, so small losses cannot add up from run to run.

    \b
    Examples:
      rag-eval baseline pin latest
      rag-eval baseline export baseline.json --run pinned
    """


@baseline_command.command(
    "pin", epilog="Exit codes: 0 pinned · 2 unknown run or store, or it cannot be written"
)
@click.argument("run", metavar="RUN")
@name_flag
@store_flag
def pin_command(run: str, name: str, store: str) -> None:
    """Pin RUN as a baseline; it replaces the run that was pinned under the same name.

    RUN is latest, or the id (or its first characters) of a run in the store, as shown by rag-eval
    history. A failed run can be pinned too.

    \b
    Examples:
      rag-eval baseline pin latest
      rag-eval baseline pin run-20261122-143001-8f3a2c --name release
    """
    from rag_eval.reports.plain_text import plain_text

    runs = _store(store)
    record = runs.record(run)
    runs.pin(record.run_id, name)
    print(f"pinned {plain_text(record.run_id)} under the name {name}")


@baseline_command.command(
    "unpin", epilog="Exit codes: 0 nothing is pinned under the name · 2 unknown store"
)
@name_flag
@store_flag
def unpin_command(name: str, store: str) -> None:
    """Remove a pin; its run stays in the store.

    A gate then compares only with the last passing run.

    \b
    Examples:
      rag-eval baseline unpin
      rag-eval baseline unpin --name release
    """
    from rag_eval.reports.plain_text import plain_text

    was = _store(store).unpin(name)
    print(f"{'unpinned' if was else 'no run was pinned under the name'} {plain_text(name)}")


@baseline_command.command("show", epilog="Exit codes: 0 printed · 2 unknown store")
@store_flag
@click.option(
    "--dataset",
    metavar="HASH",
    help="Dataset of the last passing run. [default: that of the newest run]",
)
@click.option(
    "--branch",
    metavar="NAME",
    help="Branch on which to look for it first. [default: current branch]",
)
@format_flag("table", "json")
def show_command(store: str, dataset: str | None, branch: str | None, form: str) -> None:
    """Show the baselines of the next gate: the pinned runs and the last passing run.

    The last passing run is the newest that passed a gate, of the same dataset and with the settings
    of its newest run, on the branch, otherwise on main, otherwise on any branch.

    \b
    Examples:
      rag-eval baseline show
      rag-eval baseline show --branch main --format json
    """
    from rag_eval.reports.console import console_for, print_notes
    from rag_eval.reports.history import print_baselines
    from rag_eval.runs.baselines import age_note
    from rag_eval.runs.git_state import current_branch

    runs = _store(store)
    known = runs.runs()
    dataset = _whole_hash(known, dataset)
    branch = current_branch() if branch is None else branch
    last = runs.last_passing(dataset, branch, like=_newest(known, dataset))
    pins = {name: record for record in known for name in record.pins}
    notes = {record.run_id: age_note(record) for record in (*pins.values(), last) if record}
    if form == "json":
        value = {
            "pinned": {name: pins[name].to_dict() for name in sorted(pins)},
            "lastPassing": None if last is None else last.to_dict(),
            "datasetHash": dataset,
            "branch": branch,
        }
        print_json(value)
    else:
        print_baselines(
            {name: pins[name] for name in sorted(pins)},
            last,
            console_for(),
            dataset_hash=dataset,
            branch=branch,
        )
    print_notes([note for note in notes.values() if note], console_for(sys.stderr))


@baseline_command.command(
    "export",
    epilog="Exit codes: 0 written · 2 unknown run, or a file cannot be read or written",
)
@click.argument("file", metavar="FILE")
@click.option(
    "--run",
    metavar="RUN",
    help="Run of the store: an id, latest, pinned, pinned:NAME or last-passing. [default: pinned]",
)
@click.option(
    "--from",
    "source",
    metavar="RESULT",
    help="Export this file of results or scores instead of a run of the store.",
)
@click.option(
    "--columns",
    metavar="NAME,…",
    help="Metadata fields to keep for clusters and slices; needs --from.",
)
@store_flag
def export_command(
    file: str, run: str | None, source: str | None, columns: str | None, store: str
) -> None:
    """Write a baseline to FILE, a .json file to commit.

    The file has one line per row, sorted by id, and no times, so a changed score is one line of a
    diff. rag-eval gate --baseline FILE and rag-eval compare read it.

    \b
    Examples:
      rag-eval baseline export baseline.json --run last-passing
      rag-eval baseline export baseline.json --from today.json
    """
    from rag_eval.reports.plain_text import plain_text
    from rag_eval.runs.baseline_files import write_baseline_file

    if source is None and columns is not None:
        raise InputError(
            "--columns needs --from; a run of the store is written with all its columns"
        )
    if source is not None and run is not None:
        raise InputError("--run and --from exclude each other")
    found = _stored(_store(store), run or _PINNED) if source is None else _read(source, columns)
    write_baseline_file(found, file)
    rows, metrics = counted(len(found), "row"), counted(len(found.metrics), "metric")
    print(f"wrote {plain_text(file)}: {rows}, {metrics}")


def _store(path: str) -> RunStore:
    from rag_eval.runs.store import RunStore

    return RunStore(path, create=False)


def _read(source: str, columns: str | None) -> ScoredRun:
    from rag_eval.cli.parameters import column_names
    from rag_eval.runs.run_files import read_run

    return read_run(source, columns=column_names(columns))


def _stored(store: RunStore, name: str) -> ScoredRun:
    """The run of a store with this id or role."""
    kind, _, pin = name.partition(":")
    if kind == _PINNED:
        record = store.pinned(pin or DEFAULT_PIN)
        if record is None:
            raise InputError(f"nothing is pinned as {pin or DEFAULT_PIN!r} in {store.path}")
    elif name == _LAST_PASSING:
        record = _last_passing(store)
    else:
        record = store.record(name)
    return store.load(record.run_id)


def _last_passing(store: RunStore) -> RunRecord:
    from rag_eval.runs.git_state import current_branch

    known = store.runs()
    dataset = _whole_hash(known, None)
    found = store.last_passing(dataset, current_branch(), like=_newest(known, dataset))
    if found is None:
        raise InputError(
            f"no run with the dataset and settings of the newest run has passed a gate in "
            f"{store.path}"
        )
    return found


def _newest(records: list[RunRecord], dataset: str | None) -> RunRecord | None:
    """The newest run of a dataset, whose settings the next run probably has."""
    return next((record for record in records if record.dataset_hash == dataset), None)


def _whole_hash(records: list[RunRecord], digits: str | None) -> str | None:
    """The hash that begins with these digits; without digits, that of the newest run."""
    hashes = list(dict.fromkeys(record.dataset_hash for record in records))
    if digits is None:
        return hashes[0] if hashes else None
    found = [one for one in hashes if one is not None and one.startswith(digits)]
    if len(found) != 1:
        raise InputError(
            f"--dataset: {counted(len(found), 'dataset')} in the store match {digits!r}; give one"
        )
    return found[0]
