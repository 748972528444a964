"""``rag-eval labels sample``: draw rows at random for labelling."""

from __future__ import annotations

import shlex
from typing import Any

import rich_click as click

from rag_eval.cli.flags import ID_FIELD, SEED, format_flag
from rag_eval.cli.parameters import completed_metric
from rag_eval.cli.printing import print_found


@click.command("sample", epilog="Exit codes: 0 drawn · 2 bad input or usage")
@click.argument("n", metavar="N", type=int)
@click.argument("scores", metavar="SCORES")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    required=True,
    help="Write the table of drawn rows to FILE (.csv or .jsonl); must not exist yet.",
)
@click.option(
    "--by",
    metavar="METRIC",
    shell_complete=completed_metric,
    help="Metric whose scores determine the strata.",
)
@click.option(
    "--design",
    type=click.Choice(["uniform", "strata"]),
    default="uniform",
    show_default=True,
    help="Equal probabilities, or strata of the score, with more rows where verdicts vary more "
    "(Neyman).",
)
@click.option(
    "--strata",
    "n_strata",
    type=int,
    default=4,
    show_default=True,
    metavar="H",
    help="Number of strata of the score, of about equal size.",
)
@click.option(
    "--with", "texts", multiple=True, metavar="FIELD", help="Also write this field (repeatable)."
)
@SEED
@ID_FIELD
@format_flag("table", "json", text="Format of the summary on stdout.")
def sample_command(n: int, scores: str, form: str, **options: Any) -> None:
    """Draw N rows of SCORES at random for labelling, without replacement.

    SCORES is a result file (.json, .jsonl) of run, or a score file (.jsonl, .csv, .parquet, .arrow)
    of score; text files may be compressed (.gz, .zst). The table records the probability with which
    each row was drawn, so that a few labels can represent all rows. Fill in the column label (0 or
    1, or a grade), for example in a spreadsheet, and pass the file to rag-eval estimate. Keep all
    rows, and do not show the scores to the annotators.

    The same seed and rows give the same draw. Start with about 100 labels; rag-eval estimate warns
    below 50.

    \b
    Examples:
      rag-eval labels sample 100 run.jsonl -o labels.csv --with answer
      rag-eval labels sample 200 run.json -o draw.csv --design strata \\
        --by faithfulness
    """
    from rag_eval.labels.sampling import sample_for_labels
    from rag_eval.reports.labels import draw_text

    draw = sample_for_labels(scores, n, **options)
    by, output = options["by"], options["output"]
    words = ["rag-eval", "estimate", scores, output, "--metric", by or "METRIC"]
    notes = [f"fill in the column label, then: {' '.join(map(shlex.quote, words))}"]
    if by is not None:
        notes.append("hide the score column from the annotators")
    print_found(
        form,
        lambda: {**draw.to_dict(), "output": output},
        lambda: print(draw_text(draw, output)),
        notes=notes,
    )
