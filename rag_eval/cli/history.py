"""``rag-eval history``: list the runs in a store."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING

import rich_click as click

from rag_eval.cli.flags import format_flag
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


@click.command(
    "history", epilog="Exit codes: 0 printed · 2 the store does not exist or cannot be read"
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
@format_flag("table", "json")
@click.option(
    "--html", metavar="FILE", help="Write an HTML report: the trend of every metric over the runs."
)
def history_command(
    store: str, dataset: str | None, branch: str | None, limit: int, form: str, html: str | None
) -> None:
    """List the runs that were saved by run --store, newest first.

    Each run is shown with its time in UTC, state, branch, commit (with a * if there were
    uncommitted changes), number of rows, dataset, settings and mean scores. Two runs with the same
    digits of dataset or settings have the same. Pinned runs and the last passing run of each
    dataset and settings are marked: a gate compares the next run with these.

    The state is ungated if nothing was checked, guards held if run checked only limits such as
    --min-mean, passed if a gate passed, and failed if a gate or a limit failed. Only a run that
    passed a gate becomes a baseline; rag-eval gate --store --run latest gates a stored run.

    \b
    Examples:
      rag-eval history
      rag-eval history --branch main --limit 5
      rag-eval history --limit 50 --html history.html
      rag-eval history --format json | jq '.runs[] | [.createdAt, .means.faithfulness]'
    """
    from rag_eval.reports.console import console_for
    from rag_eval.reports.history import print_history
    from rag_eval.runs.store import RunStore

    files = report_files({"html": html}, None, [store])
    runs = RunStore(store, create=False)
    found = runs.runs(dataset_hash=dataset, branch=branch, limit=limit)
    passing = _baselines(runs, found, branch)
    if files.html is not None:
        from rag_eval.reports.page.trends import write_history_page

        name = str(runs.path)
        write_history_page(found, files.html, store=name, last_passing=passing)
        print_written(files)
    if form == "json":
        rows = [{**one.to_dict(), "lastPassing": one.run_id in passing} for one in found]
        print_json({"store": str(runs.path), "runs": rows})
        return
    print_history(found, console_for(), last_passing=passing)
    if not found:
        print("no matching runs", file=sys.stderr)


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
