"""``rag-eval estimate``: the mean label of all rows from scores and a few labels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich_click as click

from rag_eval.cli.parameters import ENDED_CODES

if TYPE_CHECKING:
    from rag_eval.stats.ppi_results import Target


@click.command(
    "estimate",
    epilog="Exit codes: 0 estimated · 2 bad input or usage, "
    f"or labels that were not drawn at random · {ENDED_CODES}",
)
@click.argument("scores", metavar="SCORES")
@click.argument("labels", metavar="LABELS")
@click.option("--metric", metavar="M", required=True, help="The metric whose scores help.")
@click.option(
    "--target",
    type=click.Choice(["rows", "population"]),
    default="rows",
    show_default=True,
    help="The mean of these very rows, or of all rows that could have come in their place.",
)
@click.option(
    "--level", type=float, default=0.95, show_default=True, metavar="L", help="Of the interval."
)
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
@click.option(
    "--id-field",
    metavar="NAME",
    default="id",
    show_default=True,
    help="Field by which the rows of both files are joined.",
)
@click.option(
    "--label-field",
    metavar="NAME",
    default="label",
    show_default=True,
    help="Field of LABELS that holds the label.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the estimate on stdout.",
)
def estimate_command(
    scores: str,
    labels: str,
    metric: str,
    target: Target,
    level: float,
    label_source: str,
    bounds: tuple[float, float] | None,
    cluster_by: str | None,
    against: str | None,
    against_labels: str | None,
    allow_missing_labels: bool,
    calibration_labels: str | None,
    cross_fit: bool,
    id_field: str,
    label_field: str,
    form: str,
) -> None:
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
    from rag_eval.plumbing import json_text
    from rag_eval.reports.console import console_for, print_notes
    from rag_eval.reports.estimate import print_estimate
    from rag_eval.reports.plain_text import plain_text

    found = estimate_labels(
        scores,
        labels,
        metric=metric,
        target=target,
        level=level,
        label_source=label_source,
        bounds=bounds,
        cluster_by=cluster_by,
        against=against,
        against_labels=against_labels,
        allow_missing_labels=allow_missing_labels,
        calibration_labels=calibration_labels,
        cross_fit=cross_fit,
        id_field=id_field,
        label_field=label_field,
    )
    if form == "json":
        print(json_text.dumps(found.to_dict()).decode())
    else:
        print_estimate(found, console_for())
    print_notes(found.notes, console_for(sys.stderr))
    for remark in found.result.remarks:
        print(f"warning: {plain_text(remark)}", file=sys.stderr)
