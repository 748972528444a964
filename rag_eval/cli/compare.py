"""``rag-eval compare``: two result files, mean by mean."""

from __future__ import annotations

import sys

import rich_click as click


@click.command("compare")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the comparison on stdout.",
)
@click.option("--force", is_flag=True, help="Compare runs of different settings all the same.")
def compare_command(old: str, new: str, form: str, force: bool) -> None:
    """Print the mean of each metric in two result files, and by how much it changed.

    OLD and NEW are .json files (also .gz) written by run, by its --format json, or by
    rag-eval-node-ts. Runs that were scored under different settings are refused: their numbers do
    not mean the same. A change fails nothing here; run --baseline is the gate for that.

    \b
    Examples:
      rag-eval compare last-week.json today.json
      rag-eval compare old.json new.json --format json | jq '.changes[].delta'

    Exit codes: 0 compared · 2 not comparable, or a file cannot be read
    """
    from rag_eval import json_text
    from rag_eval.reports.console import console_for, print_comparison, print_notes
    from rag_eval.result_summaries import compare_files

    comparison = compare_files(old, new, force=force)
    if form == "json":
        print(json_text.dumps(comparison.to_dict()).decode())
    else:
        print_comparison(comparison, console_for())
    print_notes(comparison.notes, console_for(sys.stderr))
