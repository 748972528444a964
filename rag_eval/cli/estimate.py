"""``rag-eval estimate``: estimate the mean label of all rows from scores and a few labels."""

from __future__ import annotations

from typing import Any

import rich_click as click

from rag_eval.cli.flags import ID_FIELD, LEVEL, field_flag, format_flag
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.parameters import completed_metric
from rag_eval.cli.printing import print_found, print_warnings


@click.command(
    "estimate",
    epilog="Exit codes: 0 estimated · 2 bad input or usage, "
    f"or labels that were not drawn at random · {ENDED_CODES}",
)
@click.argument("scores", metavar="SCORES")
@click.argument("labels", metavar="LABELS")
@click.option(
    "--metric",
    metavar="METRIC",
    required=True,
    shell_complete=completed_metric,
    help="Metric whose scores to use.",
)
@click.option(
    "--target",
    type=click.Choice(["rows", "population"]),
    default="rows",
    show_default=True,
    help="Estimate the mean of exactly these rows, or of the population they came from.",
)
@LEVEL
@click.option(
    "--label-source",
    default="human",
    show_default=True,
    metavar="WHO",
    help="Who labelled: human, judge, or a name; shown with the estimate.",
)
@click.option(
    "--bounds",
    type=(float, float),
    metavar="LOW HIGH",
    help="Smallest and largest possible label. [default: 0 1 if all labels are in that range]",
)
@click.option(
    "--cluster-by",
    metavar="FIELD",
    help="Metadata field of SCORES whose equal values mark rows that belong together; for "
    "--target population.",
)
@click.option(
    "--against",
    metavar="SCORES2",
    help="Scores of another system on the same rows: estimate the difference.",
)
@click.option(
    "--against-labels",
    metavar="LABELS2",
    help="Labels of the other system's answers to the same drawn rows.",
)
@click.option(
    "--allow-missing-labels",
    is_flag=True,
    help="Treat drawn rows without a label as missing at random.",
)
@click.option(
    "--calibration-labels",
    metavar="FILE",
    help="Labels on which the scores were calibrated; they must not be used again.",
)
@click.option(
    "--cross-fit",
    is_flag=True,
    help="Choose the weight of the scores by 5-fold cross-fitting.",
)
@ID_FIELD
@field_flag("label", "Field of LABELS that holds the label.")
@format_flag("table", "json", text="Format of the estimate on stdout.")
def estimate_command(scores: str, labels: str, form: str, **options: Any) -> None:
    """Estimate the mean label of all rows, from the scores of all rows and labels of a few.

    SCORES is a result file (.json, .jsonl) of run, or a score file (.jsonl, .csv, .parquet, .arrow)
    of score; text files may be compressed (.gz, .zst). LABELS is the filled-in table from rag-eval
    labels sample; you may sort it, add columns and edit it in a spreadsheet. Labels of rows that
    were not drawn at random, such as the worst rows or those of a cascade, are an error: they do
    not represent the other rows.

    The scores do not have to be right, because the labels correct them. The better scores and
    labels agree, the more labels the scores replace. The estimate is as good as the labels: with
    labels by a judge it estimates what the judge would say.

    \b
    Examples:
      rag-eval labels sample 100 run.jsonl -o labels.csv --with answer
      rag-eval estimate run.jsonl labels.csv --metric faithfulness
      rag-eval estimate new.jsonl new.csv --metric faithfulness \\
        --against old.jsonl --against-labels old.csv
    """
    from rag_eval.labels.estimating import estimate_labels
    from rag_eval.reports.console import console_for
    from rag_eval.reports.labels import print_estimate

    found = estimate_labels(scores, labels, **options)
    print_found(
        form, found.to_dict, lambda: print_estimate(found, console_for()), notes=found.notes
    )
    print_warnings(found.result.remarks)
