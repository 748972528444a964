"""``rag-eval show``: a result file, or one row of it with the evidence for its answer."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Final

import rich_click as click

from rag_eval.cli.flags import ID_FIELD, format_flag
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.printing import print_json
from rag_eval.errors import InputError

if TYPE_CHECKING:
    from rag_eval.results.reading import ResultFile
    from rag_eval.views.result_rows import RawRow

_WORST: Final = 3


@click.command("show", epilog=f"Exit codes: 0 shown · 2 bad input or usage · {ENDED_CODES}")
@click.argument("result", metavar="RESULT")
@click.argument("row_id", metavar="[ID]", required=False)
@click.option(
    "--row",
    "number",
    type=int,
    metavar="N",
    help="Row with this number, from 1; with ID, one of several rows with this id.",
)
@click.option(
    "--worst",
    type=click.IntRange(0),
    metavar="N",
    help=f"Without ID: number of lowest-scoring rows to show. [default: {_WORST}]",
)
@click.option(
    "--cluster-by",
    metavar="FIELD",
    help="Without ID: field whose equal values mark rows that belong together, for confidence "
    "intervals; document stands for the same contexts where there is no such field.",
)
@click.option("--full", is_flag=True, help="Show texts in full; otherwise long texts are cut.")
@format_flag(
    "table", "json", text="Output format; json prints rows as they are in the file, one per line."
)
@ID_FIELD
def show_command(
    result: str,
    row_id: str | None,
    number: int | None,
    worst: int | None,
    cluster_by: str | None,
    full: bool,
    form: str,
    id_field: str,
) -> int:
    """Show a result file: its statistics and worst rows, or all details of one row.

    RESULT is a file from rag-eval run --output or --format jsonl (.json or .jsonl, also .gz or
    .zst), a result of rag-eval-node-ts, or - for standard input. Without ID, this shows the table
    of the run, its verdict, and the ids of the lowest-scoring rows. With ID or --row, it shows one
    row: each sentence of the answer with its support and its best context, numbers and names that
    no context has, how well the contexts cover the ground truth, the contexts with their best
    passages marked, and every metric with its explanation, findings and the judge's reply.

    If the run was written with --details, the support is that of the run; otherwise it is
    recomputed from the texts. A .jsonl file is read line by line and may have any size.

    \b
    Examples:
      rag-eval run samples.jsonl --output today.jsonl --details
      rag-eval show today.jsonl
      rag-eval show today.jsonl q-0042
      rag-eval show today.jsonl --row 17 --full
      rag-eval show today.jsonl q-0042 --format json
    """
    from rag_eval.results.reading import ResultFile

    if number is not None:
        if number < 1:
            raise InputError(f"--row must be at least 1, the number of the first row, got {number}")
        number -= 1
    file = ResultFile(result)
    if row_id is None and number is None:
        if full:
            raise InputError("--full shows one row: give its ID or --row")
        _show_all(file, result, _WORST if worst is None else worst, cluster_by, form)
        return 0
    if worst is not None:
        raise InputError("--worst applies to all rows: remove ID and --row")
    if cluster_by is not None:
        raise InputError("--cluster-by applies to all rows: remove ID and --row")
    rows = _chosen(file, row_id, number, id_field)
    for place, row in enumerate(rows):
        _show_row(row, form, id_field, full=full, is_first=place == 0)
    return 0


def _chosen(
    file: ResultFile, row_id: str | None, number: int | None, id_field: str
) -> list[RawRow]:
    from rag_eval.reports.console import console_for, print_notes
    from rag_eval.views.result_rows import row_numbered, rows_with_id

    if row_id is None:
        assert number is not None
        return [row_numbered(file, number)]
    rows = rows_with_id(file, row_id, id_field)
    numbers = ", ".join(str(row.number + 1) for row in rows[:10])
    if number is not None:
        rows = [row for row in rows if row.number == number]
        if not rows:
            raise InputError(
                f"row {number + 1} does not have the id {row_id!r}; rows with it: {numbers}"
            )
    elif len(rows) > 1:
        text = f"{len(rows):,} rows have this id: {numbers}; --row N shows one of them"
        print_notes([text], console_for(sys.stderr))
    return rows


def _show_all(file: ResultFile, path: str, n_worst: int, cluster_by: str | None, form: str) -> None:
    from rag_eval.plumbing.spelling import camel_case
    from rag_eval.reports.console import console_for
    from rag_eval.reports.show import print_overview
    from rag_eval.views.result_rows import overview

    found = overview(file, n_worst, cluster_by)
    if form == "json":
        value = {
            "source": file.source,
            "nRows": found.summary.n_rows,
            **found.summary.summary_dict(),
            "worst": [{"row": row.number, **row.value} for row in found.worst],
        }
        if found.noise:
            value["repeatNoise"] = {
                camel_case(name): noise.to_dict() for name, noise in found.noise.items()
            }
        print_json(value)
        return
    named = found.worst[0].id() if found.worst else None
    chosen = f"--row {found.worst[0].number + 1 if found.worst else 1}"
    if named is not None and not named.startswith("-") and named.isprintable():
        chosen = shlex.quote(named)
    command = f"rag-eval show {shlex.quote(path)} {chosen}"
    print_overview(found, file.source, command, console_for())


def _show_row(row: RawRow, form: str, id_field: str, *, full: bool, is_first: bool) -> None:
    from rag_eval.reports.console import console_for
    from rag_eval.reports.show import print_row

    if form == "json":
        print_json(row.value)
        return
    console = console_for()
    if not is_first:
        console.print()
    print_row(row.viewed(id_field), console, full=full)
