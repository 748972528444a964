"""``rag-eval estimate``: the mean label of all rows from scores and a few labels."""

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
    help="The metric whose scores help.",
)
@click.option(
    "--target",
    type=click.Choice(["rows", "population"]),
    default="rows",
    show_default=True,
    help="The mean of these very rows, or of all rows that could have come in their place.",
)
@LEVEL
@click.option(
    "--label-source",
    default="human",
    show_default=True,
    metavar="WHO",
    help="Who labelled: human, judge, or a name. The estimate is named after it.",
)
@click.option(
    "--bounds",
    type=(float, float),
    metavar="LOW HIGH",
    help="Least and greatest label there can be [0 and 1 where all labels lie there].",
)
@click.option(
    "--cluster-by",
    metavar="FIELD",
    help="Metadata of SCORES that says which rows belong together; for --target population.",
)
@click.option(
    "--against",
    metavar="SCORES2",
    help="Scores of another system on the same rows: estimate the difference.",
)
@click.option(
    "--against-labels",
    metavar="LABELS2",
    help="Labels of the other system's answers, for the same drawn rows.",
)
@click.option(
    "--allow-missing-labels",
    is_flag=True,
    help="Take drawn rows without a label as missing by chance.",
)
@click.option(
    "--calibration-labels",
    metavar="FILE",
    help="The labels that the scores were calibrated on; none of them may be used again.",
)
@click.option(
    "--cross-fit",
    is_flag=True,
    help="Choose the weight of scores for each fifth of the labels by the others.",
)
@ID_FIELD
@field_flag("label", "Field of LABELS that holds the label.")
@format_flag("table", "json", text="Form of the estimate on stdout.")
def estimate_command(scores: str, labels: str, form: str, **options: Any) -> None:
    """Estimate what people would say of all rows, from scores of all and labels of a few.

    SCORES is any file that compare reads. LABELS is the table that labels sample wrote, filled in;
    sorting it, other columns and a spreadsheet do no harm. Labels of rows that were picked, such as
    the worst ones or those of a cascade, are refused: they say nothing about the others.

    Scores need not be right: labels correct them, and the estimate is of the mean label whatever
    the scores are. The better the two agree, the more labels the scores are worth. What is
    estimated is the mean of the labels: the truth only if people labelled.

    \b
    Examples:
      rag-eval labels sample 100 run.jsonl -o labels.csv --with question --with answer
      rag-eval estimate run.jsonl labels.csv --metric faithfulness
      rag-eval estimate new.jsonl new.csv --metric faithfulness --against old.jsonl \\
        --against-labels old.csv
    """
    from rag_eval.labels.estimating import estimate_labels
    from rag_eval.reports.console import console_for
    from rag_eval.reports.labels import print_estimate

    found = estimate_labels(scores, labels, **options)
    print_found(
        form, found.to_dict, lambda: print_estimate(found, console_for()), notes=found.notes
    )
    print_warnings(found.result.remarks)
