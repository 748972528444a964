"""``rag-eval labels sample``: rows for people to label, drawn at random."""

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
    help="Write the table of drawn rows to FILE, .csv or .jsonl; never over a file that is there.",
)
@click.option(
    "--by",
    metavar="METRIC",
    shell_complete=completed_metric,
    help="The metric whose scores make probabilities or strata.",
)
@click.option(
    "--design",
    type=click.Choice(["uniform", "proportional", "strata"]),
    default="uniform",
    show_default=True,
    help="All rows alike; more of those whose score is near 0.5; or so many of each stratum of "
    "the score, more where verdicts spread more (Neyman).",
)
@click.option(
    "--strata",
    "n_strata",
    type=int,
    default=4,
    show_default=True,
    metavar="H",
    help="Strata of the score, with about as many rows each.",
)
@click.option("--with", "texts", multiple=True, metavar="FIELD", help="Write this field, too.")
@SEED
@ID_FIELD
@format_flag("table", "json", text="Form of what is said of the draw on stdout.")
def sample_command(n: int, scores: str, form: str, **options: Any) -> None:
    """Draw N rows of SCORES for people to label, without replacement.

    SCORES is any file that compare reads. Each drawn row is written with the probability it had of
    being drawn, which is what lets labels of a few rows speak for all: fill in the column label
    (0 or 1, or a grade), in a spreadsheet if you like, and hand the file to rag-eval estimate. Keep
    all rows, and let whoever labels not see the scores.

    The same seed and rows give the same draw. 100 labels are a good start; under 50, estimate
    warns.

    \b
    Examples:
      rag-eval labels sample 100 run.jsonl -o labels.csv --with question --with answer
      rag-eval labels sample 200 run.json -o draw.jsonl --by faithfulness --design strata
    """
    from rag_eval.labels.sampling import sample_for_labels
    from rag_eval.reports.labels import draw_text

    draw = sample_for_labels(scores, n, **options)
    by, output = options["by"], options["output"]
    words = ["rag-eval", "estimate", scores, output, "--metric", by or "METRIC"]
    notes = [f"fill in the column label, then: {' '.join(map(shlex.quote, words))}"]
    if by is not None:
        notes.append("the score column is for the record: hide it from whoever labels")
    print_found(
        form,
        lambda: {**draw.to_dict(), "output": output},
        lambda: print(draw_text(draw, output)),
        notes=notes,
    )
