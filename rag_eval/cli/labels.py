"""``rag-eval labels``: create, check and draw human labels, and compare scores with them."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import rich_click as click

from rag_eval.cli.flags import ID_FIELD, LEVEL, SEED, field_flag, flags, format_flag
from rag_eval.cli.groups import CommandGroup
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.label_sampling import sample_command
from rag_eval.cli.parameters import A_NUMBER, check_limit, completed_metric
from rag_eval.cli.printing import print_found

field_flags = flags(
    ID_FIELD,
    field_flag("label", "Column of labels: numbers, or true and false."),
    field_flag("annotator", "Column with the name of the annotator, if there is one."),
)


@click.group(
    "labels",
    cls=CommandGroup,
    guessed={"check": "validate", "draw": "sample", "new": "init", "agreement": "compare"},
    epilog=f"Exit codes: 0 done · 2 bad input or usage · {ENDED_CODES}",
)
def labels_command() -> None:
    """Label samples by hand, check the labels, and compare scores with them.

    Labels are a folder of YAML files in omk's format, one folder per annotator, or a table (.csv,
    .jsonl, .json) with the columns id and label, and annotator if several people labelled.

    \b
    Examples:
      rag-eval labels init gold/anna
      rag-eval labels validate gold/anna
      rag-eval labels compare gold/anna results.json --metric faithfulness
    """


@labels_command.command("init", epilog="Exit codes: 0 written · 2 a file already exists")
@click.argument("folder", metavar="DIR")
def init_command(folder: str) -> None:
    """Write template files for new labels into DIR, with comments on how to label.

    Existing files are never overwritten.

    \b
    Examples:
      rag-eval labels init gold/anna
      rag-eval labels init gold/ben    # a second annotator
    """
    from rag_eval.labels.templates import write_template
    from rag_eval.reports.plain_text import plain_text

    for path in write_template(folder):
        print(f"wrote {plain_text(str(path))}", file=sys.stderr)
    shown = plain_text(shlex.quote(folder))
    steps = (
        f"fill in annotator and annotatedAt in {shown}/metadata.yaml",
        f"add a score per sample to {shown}/annotations.yaml ({shown}/README.md explains how)",
        f"check them: rag-eval labels validate {shown}",
    )
    print("next:", file=sys.stderr)
    for number, step in enumerate(steps, 1):
        print(f"  {number}. {step}", file=sys.stderr)


@labels_command.command("validate", epilog="Exit codes: 0 valid · 2 invalid, or cannot be read")
@click.argument("source", metavar="DIR|FILE")
@field_flags
@format_flag("table", "json")
def validate_command(source: str, form: str, **fields: str) -> int:
    """Check labels: list all errors of a folder, or the first error of a table.

    A folder has YAML files, as written by rag-eval labels init. A table (.csv, .jsonl, .json) has
    the columns id and label.

    \b
    Examples:
      rag-eval labels validate gold/anna
      rag-eval labels validate labels.csv --label-field verdict --format json
    """
    from rag_eval.labels.label_files import check_labels

    check = check_labels(source, **fields)
    from rag_eval.reports.console import console_for
    from rag_eval.reports.labels import print_label_check

    print_found(form, check.to_dict, lambda: print_label_check(check, console_for()))
    return 0 if check.ok else 2


def _scale(_context: Any, _parameter: Any, text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, colon, high = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise click.BadParameter(f"must be MIN:MAX, such as 1:5, got {text!r}") from None


@labels_command.command(
    "compare", epilog="Exit codes: 0 compared · 2 not comparable, or a file cannot be read"
)
@click.argument("labels", metavar="LABELS...", nargs=-1, required=True)
@click.argument("scores", metavar="SCORES")
@click.option(
    "--metric",
    metavar="METRIC",
    shell_complete=completed_metric,
    help="Metric to compare with the labels.",
)
@click.option(
    "--variant",
    metavar="NAME",
    help="SCORES is a report of omk: the variant whose judge scores to use. [default: the first]",
)
@click.option(
    "--threshold",
    type=A_NUMBER,
    metavar="X",
    help="Lowest score that is good. [default: the verdicts in SCORES]",
)
@click.option(
    "--label-threshold",
    type=A_NUMBER,
    metavar="X",
    help="Lowest label that is good, on the scale of the scores. [default: --threshold, or 0.5]",
)
@click.option(
    "--scale",
    metavar="MIN:MAX",
    callback=_scale,
    help="Smallest and largest label, which become 0 and 1. "
    "[default: from the metadata of the labels]",
)
@click.option(
    "--measurement",
    type=click.Choice(["interval", "ordinal", "nominal", "ratio"]),
    metavar="LEVEL",
    default="interval",
    show_default=True,
    help="Level of measurement for alpha: interval, ordinal, nominal or ratio.",
)
@click.option(
    "--judge",
    "judges",
    metavar="NAME",
    multiple=True,
    help="Judge that gave the scores, if SCORES does not name it; labels by it give a warning.",
)
@SEED
@LEVEL
@field_flags
@format_flag("table", "json")
def compare_command(labels: tuple[str, ...], scores: str, form: str, **options: Any) -> None:
    """Measure how well scores agree with labels, and annotators with each other.

    SCORES are results of run or score, or a table with a column for the metric; a quoted pattern
    stands for repeats, which are averaged. Confidence intervals come from resampling the samples.
    Alpha and kappa compare values, so labels are mapped to the scale of the scores, 0 to 1, by
    their metadata or by --scale. Correlations do not depend on the scale.

    \b
    Examples:
      rag-eval labels compare gold/anna results.json --metric faithfulness
      rag-eval labels compare gold/anna gold/ben run.json --metric faithfulness
      rag-eval labels compare a.csv run.json --metric faithfulness --scale 1:5
    """
    from rag_eval.labels.label_files import compare_label_files

    for name in ("threshold", "label_threshold"):
        check_limit(f"--{name.replace('_', '-')}", options["metric"], options[name])
    found = compare_label_files(labels, scores, **options)
    from rag_eval.reports.console import console_for
    from rag_eval.reports.labels import print_label_comparison

    print_found(
        form,
        found.to_dict,
        lambda: print_label_comparison(found, console_for()),
        notes=found.notes,
    )


labels_command.add_command(sample_command)
