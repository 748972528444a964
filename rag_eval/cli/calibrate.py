"""``rag-eval calibrate``: a threshold and probabilities from a few labels."""

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
    f"or a precision that no threshold reaches · {ENDED_CODES}",
)
@click.argument("scores", metavar="SCORES")
@click.argument("labels", metavar="LABELS")
@click.option(
    "--metric",
    metavar="METRIC",
    required=True,
    shell_complete=completed_metric,
    help="The metric whose scores are calibrated.",
)
@click.option(
    "--method",
    type=click.Choice(["isotonic", "logistic"]),
    help="Form of the map from scores to probabilities; logistic does with fewer labels "
    "[logistic where weights were fitted, else isotonic].",
)
@click.option(
    "--no-refit", is_flag=True, help="Leave the weights of faithfulness as they are shipped."
)
@click.option(
    "--precision",
    type=A_SHARE,
    metavar="P",
    help="Take the lowest threshold from which at least this share of the passing rows is good "
    "[the threshold of the highest balanced accuracy].",
)
@ID_FIELD
@field_flag("label", "Field of LABELS that holds 1 for a good row and 0 for a bad one.")
@click.option(
    "--group-field",
    metavar="NAME",
    help="Field of LABELS that names what a row belongs to, such as its question or document "
    "[each row by itself].",
)
@click.option(
    "--output", metavar="FILE", help="Write the calibration to FILE, for use with other scores."
)
@format_flag("table", "json", text="Form of the calibration on stdout.")
def calibrate_command(scores: str, labels: str, form: str, **options: Any) -> None:
    """Find the threshold of a metric, and what its scores mean, from labels that people gave.

    SCORES is any file that compare reads; in a table with an id and a score per row, the column of
    scores is called like the metric, or score. LABELS is a .jsonl or .csv file, also .gz, with the
    id and the label of some of these rows: 1 where a person calls the answer good, else 0. Some
    hundred labels give a sound threshold; under 30 there is a warning. Rows of one question or
    document are alike: name the field that tells them apart with --group-field, or the intervals
    come out too narrow.

    Of faithfulness in the grounded profile the weights are fitted to the labels too, from 30 labels
    on, 8 of each class, where SCORES holds the texts, as the output of run does. Rows held out
    decide whether they are used.

    Needs scikit-learn: pip install 'rag-eval-native[calibrate]'

    \b
    Examples:
      rag-eval run samples.jsonl --output run.json
      head -n 1 labels.jsonl    # {"id": "q1", "label": 1, "document": "museum"}
      rag-eval calibrate run.json labels.jsonl --metric faithfulness --output cal.json
      rag-eval calibrate run.json labels.csv --metric faithfulness --precision 0.9
    """
    from rag_eval.calibration.labelled_files import calibrate_files
    from rag_eval.reports.console import console_for, print_calibration

    found = calibrate_files(scores, labels, refit=not options.pop("no_refit"), **options)
    print_found(
        form,
        found.calibration.to_dict,
        lambda: print_calibration(found.calibration, console_for()),
        notes=found.notes,
    )
    print_warnings(found.calibration.remarks)
