"""``rag-eval calibrate``: a threshold and probabilities from a few labels."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

import rich_click as click

from rag_eval.cli.parameters import ENDED_CODES

if TYPE_CHECKING:
    from rag_eval.calibration.probabilities import Method


@click.command(
    "calibrate",
    epilog="Exit codes: 0 calibrated · 2 bad input or usage, "
    f"or a precision that no threshold reaches · {ENDED_CODES}",
)
@click.argument("scores", metavar="SCORES")
@click.argument("labels", metavar="LABELS")
@click.option(
    "--metric", metavar="M", required=True, help="The metric whose scores are calibrated."
)
@click.option(
    "--method",
    type=click.Choice(["isotonic", "logistic"]),
    default="isotonic",
    show_default=True,
    help="Form of the map from scores to probabilities; logistic does with fewer labels.",
)
@click.option(
    "--precision",
    type=float,
    metavar="P",
    help="Take the lowest threshold from which at least this share of the passing rows is good "
    "[the threshold of the highest balanced accuracy].",
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
    help="Field of LABELS that holds 1 for a good row and 0 for a bad one.",
)
@click.option(
    "--group-field",
    metavar="NAME",
    help="Field of LABELS that names what a row belongs to, such as its question or document "
    "[each row by itself].",
)
@click.option(
    "--output", metavar="FILE", help="Write the calibration to FILE, for use with other scores."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Form of the calibration on stdout.",
)
def calibrate_command(
    scores: str,
    labels: str,
    metric: str,
    method: Method,
    precision: float | None,
    id_field: str,
    label_field: str,
    group_field: str | None,
    output: str | None,
    form: str,
) -> None:
    """Find the threshold of a metric, and what its scores mean, from labels that people gave.

    SCORES is a result file written by run --output (.json or .jsonl, also .gz), or a .jsonl or
    .csv file with an id and a score per row. LABELS is a .jsonl or .csv file, also .gz, with the id
    and the label of some of these rows: 1 where a person calls the answer good, else 0. Some
    hundred labels give a sound threshold; under 30 there is a warning. Rows of one question or
    document are alike: name the field that tells them apart with --group-field, or the intervals
    come out too narrow.

    Needs scikit-learn: pip install 'rag-eval-native[calibrate]'

    \b
    Examples:
      rag-eval run samples.jsonl --output run.json
      head -n 1 labels.jsonl    # {"id": "q1", "label": 1, "document": "museum"}
      rag-eval calibrate run.json labels.jsonl --metric faithfulness --output cal.json
      rag-eval calibrate run.json labels.csv --metric faithfulness --precision 0.9
    """
    from rag_eval.calibration.fitting import CalibrationWarning
    from rag_eval.calibration.labelled_files import calibrate_files
    from rag_eval.reports.console import console_for, print_calibration, print_notes
    from rag_eval.reports.plain_text import plain_text

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # printed below, as notes
        found = calibrate_files(
            scores,
            labels,
            metric=metric,
            method=method,
            precision=precision,
            id_field=id_field,
            label_field=label_field,
            group_field=group_field,
            output=output,
        )
    if form == "json":
        from rag_eval.plumbing import json_text

        print(json_text.dumps(found.calibration.to_dict()).decode())
    else:
        print_calibration(found.calibration, console_for())
    print_notes(found.notes, console_for(sys.stderr))
    for remark in found.calibration.remarks:
        print(f"warning: {plain_text(remark)}", file=sys.stderr)
