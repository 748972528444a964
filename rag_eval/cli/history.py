"""``rag-eval history``: list the runs in a store, and delete old ones."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

import rich_click as click

from rag_eval.cli.flags import format_flag
from rag_eval.cli.groups import CommandGroup
from rag_eval.cli.printing import print_json
from rag_eval.cli.report_flags import print_written, report_files
from rag_eval.runs.store_names import DEFAULT_STORE

if TYPE_CHECKING:
    from rag_eval.runs.run_records import RunRecord
    from rag_eval.runs.store import RunStore

store_flag = click.option(
    "--store",
    metavar="FILE",
    default=DEFAULT_STORE,
    show_default=True,
    help="The run store.",
)


@click.group(
    "history",
    cls=CommandGroup,
    invoke_without_command=True,
    guessed=dict.fromkeys(("clear", "clean", "delete", "remove", "vacuum", "gc"), "prune"),
    epilog="Exit codes: 0 printed · 2 the store does not exist or cannot be read",
)
@store_flag
@click.option(
    "--dataset", metavar="HASH", help="Only runs of this dataset; its first digits are enough."
)
@click.option("--branch", metavar="NAME", help="Only runs on this branch.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    metavar="N",
    show_default=True,
    help="Maximum number of runs.",
)
@format_flag("table", "json", "csv")
@click.option(
    "--html", metavar="FILE", help="Write an HTML report: the trend of every metric over the runs."
)
@click.pass_context
def history_command(
    context: click.Context,
    store: str,
    dataset: str | None,
    branch: str | None,
    limit: int,
    form: str,
    html: str | None,
) -> None:
    """List the runs that were saved by run --store, newest first, and how their means moved.

    Each run is shown with its time in UTC, state, branch, commit (with a * if there were
    uncommitted changes), number of rows, dataset, settings and mean scores. Runs with the same
    dataset (or settings) hash used the same dataset (or settings). Pinned runs and the last passing
    run of each dataset and settings are marked: a gate compares the next run with these.

    The state is ungated if nothing was checked, guards held if run checked only limits such as
    --min-mean, passed if a gate passed, and failed if a gate or a limit failed. Only a run that
    passed a gate becomes a baseline; rag-eval gate --store --run latest gates a stored run.

    Below is a sparkline per metric over the runs with the newest run's dataset and settings, oldest
    first, with the newest mean, its 95 % interval, and where a test shows that the mean changed for
    good. Such a change needs at least three runs on either side.

    \b
    Examples:
      rag-eval history
      rag-eval history --branch main --limit 5
      rag-eval history --limit 50 --html history.html
      rag-eval history --format csv --limit 1000 > history.csv
      rag-eval history --format json | jq '.runs[].means.faithfulness'
      rag-eval history prune --keep 100 --older-than 90d
    """
    if context.invoked_subcommand is not None:
        return
    from rag_eval.reports.console import console_for
    from rag_eval.reports.history import history_csv, print_history, print_trends
    from rag_eval.runs.store import RunStore
    from rag_eval.runs.trends import trends_of

    files = report_files({"html": html}, None, [store])
    runs = RunStore(store, create=False)
    found = runs.runs(dataset_hash=dataset, branch=branch, limit=limit)
    passing = _baselines(runs, found, branch)
    if files.html is not None:
        from rag_eval.reports.page.trends import write_history_page

        name = str(runs.path)
        write_history_page(found, files.html, store=name, last_passing=passing)
        print_written(files)
    if form == "csv":
        print(history_csv(found), end="")
        return
    trends = trends_of(found) if found else None
    if form == "json":
        rows = [{**one.to_dict(), "lastPassing": one.run_id in passing} for one in found]
        moved = [] if trends is None else [one.to_dict() for one in trends.metrics]
        print_json({"store": str(runs.path), "runs": rows, "trends": moved})
        return
    print_history(found, console_for(), last_passing=passing)
    if trends is None:
        print("no matching runs", file=sys.stderr)
    elif len(trends.records) > 1:
        print_trends(trends, console_for())


@history_command.command(
    "prune", epilog="Exit codes: 0 deleted · 2 the store does not exist, or cannot be written"
)
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="N", help="Keep at least the N newest runs."
)
@click.option(
    "--older-than",
    metavar="AGE",
    callback=lambda _context, _flag, text: None if text is None else _age(text),
    help="Delete only runs older than this, such as 90d or 12w.",
)
@click.option("--dry-run", is_flag=True, help="List what would be deleted, and delete nothing.")
@store_flag
def prune_command(
    keep: int | None, older_than: timedelta | None, dry_run: bool, store: str
) -> None:
    """Delete old runs from the store and make its file smaller.

    Pinned runs stay, and so does the last passing run of each dataset and settings: a gate compares
    the next run with these. With both flags a run is deleted if it is old and not among the
    newest.

    \b
    Examples:
      rag-eval history prune --keep 100
      rag-eval history prune --older-than 90d --dry-run
    """
    from rag_eval.plumbing.spelling import counted
    from rag_eval.runs.store import RunStore

    if keep is None and older_than is None:
        raise click.UsageError("name the runs to delete: --keep N, --older-than AGE, or both")
    runs = RunStore(store, create=False)
    gone = runs.prune(keep=keep, older_than=older_than, dry_run=dry_run)
    for run_id in gone:
        print(run_id)
    what = f"{'would delete' if dry_run else 'deleted'} {counted(len(gone), 'run')}"
    n_left = runs.count() - (len(gone) if dry_run else 0)
    print(f"{what}; {counted(n_left, 'run')} left", file=sys.stderr)


def _age(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,5})\s*([dw])", text.strip().lower(), re.ASCII)
    if found is None:
        raise click.BadParameter(f"{text!r} must be a number of days or weeks, such as 90d or 12w")
    return timedelta(**{"d": {"days": 1}, "w": {"weeks": 1}}[found[2]]) * int(found[1])


def _baselines(store: RunStore, records: list[RunRecord], branch: str | None) -> set[str]:
    """The ids of the runs that a gate would use as baselines on a branch (default: this one)."""
    from rag_eval.runs.baselines import last_passing
    from rag_eval.runs.git_state import current_branch

    here = current_branch() if branch is None else branch
    passing: defaultdict[str | None, list[RunRecord]] = defaultdict(list)
    for record in store.passing():
        passing[record.dataset_hash].append(record)
    kinds = {(one.dataset_hash, str(one.signature), one.metrics): one for one in records}
    found = (last_passing(passing[one.dataset_hash], here, like=one)[0] for one in kinds.values())
    return {record.run_id for record in found if record is not None}
