"""``rag-eval calibrate``: find a threshold and probabilities from a few labels."""

from __future__ import annotations

from typing import Any

import rich_click as click

from rag_eval.cli.flags import ID_FIELD, field_flag, format_flag
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.parameters import A_SHARE, completed_metric
from rag_eval.cli.printing import print_found, print_warnings


@click.command(
    "calibrate",
    epilog="Exit codes: 0 calibrated · 2 bad input or usage, "
    f"or no threshold reaches the precision · {ENDED_CODES}",
)
@click.argument("scores", metavar="SCORES")
@click.argument("labels", metavar="LABELS")
@click.option(
    "--metric",
    metavar="METRIC",
    required=True,
    shell_complete=completed_metric,
    help="Metric whose scores to calibrate.",
)
@click.option(
    "--method",
    type=click.Choice(["isotonic", "logistic"]),
    help="Map from scores to probabilities; logistic needs fewer labels. "
    "[default: logistic with fitted weights, else isotonic]",
)
@click.option("--no-refit", is_flag=True, help="Keep the shipped weights of faithfulness.")
@click.option(
    "--precision",
    type=A_SHARE,
    metavar="P",
    help="Use the lowest threshold with at least this share of good rows among the passing rows. "
    "[default: the threshold with the highest balanced accuracy]",
)
@ID_FIELD
@field_flag("label", "Field of LABELS that holds 1 for a good row and 0 for a bad one.")
@click.option(
    "--group-field",
    metavar="NAME",
    help="Field of LABELS whose equal values mark rows that belong together, such as a question or "
    "a document. [default: rows are independent]",
)
@click.option(
    "--output", metavar="FILE", help="Write the calibration to FILE, for use with other scores."
)
@format_flag("table", "json", text="Format of the calibration on stdout.")
def calibrate_command(scores: str, labels: str, form: str, **options: Any) -> None:
    """Fit a threshold and probabilities for a metric from human labels.

    SCORES is a result of run or score, or a table (CSV, JSON lines, Parquet) of scores; there, the
    column of scores is named after the metric, or score. LABELS is a .jsonl or .csv file (also .gz)
    with the id and the label of some of these rows: 1 for a good answer, 0 for a bad one. Label 100
    to 300 rows; below 30 there is a warning. Rows of the same question or document are not
    independent: name their common field with --group-field, otherwise the intervals are too narrow.

    For faithfulness (profile grounded), the weights are refitted too if there are at least 30
    labels, 8 per class, and SCORES contains the texts, as the output of run does. The new weights
    are used only if they do better on held-out rows.

    Needs scikit-learn: pip install 'rag-eval-native[calibrate]'

    \b
    Examples:
      rag-eval run samples.jsonl --profile grounded --output run.json
      head -n 1 labels.jsonl    # {"id": "q1", "label": 1, "document": "museum"}
      rag-eval calibrate run.json labels.jsonl --metric faithfulness \\
        --output calibration.json
      rag-eval calibrate run.json labels.csv --metric faithfulness \\
        --precision 0.9
    """
    from rag_eval.calibration.labelled_files import calibrate_files
    from rag_eval.reports.calibration import print_calibration
    from rag_eval.reports.console import console_for

    found = calibrate_files(scores, labels, refit=not options.pop("no_refit"), **options)
    print_found(
        form,
        found.calibration.to_dict,
        lambda: print_calibration(found.calibration, console_for()),
        notes=found.notes,
    )
    print_warnings(found.calibration.remarks)
