"""``rag-eval compare``: two runs row by row, and what of the change is more than chance."""

from __future__ import annotations

import sys

import rich_click as click

from rag_eval.cli.parameters import ENDED_CODES


@click.command(
    "compare",
    epilog=f"Exit codes: 0 compared · 2 not comparable, or a file cannot be read · {ENDED_CODES}",
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    help="Compare this metric (again for more); by default all that both runs have.",
)
@click.option(
    "--gating",
    multiple=True,
    metavar="METRIC",
    help="Let this metric decide (again for more); others are for looking around. By default all "
    "but diagnostics, the composite score and the verdict on rows.",
)
@click.option(
    "--lower-is-better",
    multiple=True,
    metavar="METRIC",
    help="Of a metric of your own whose file does not say so.",
)
@click.option(
    "--cluster-by",
    metavar="FIELD",
    help="Rows with one value of this field rise and fall together: a document, a user.",
)
@click.option(
    "--slice",
    "slices",
    multiple=True,
    metavar="FIELD",
    help="Compare the rows with each value of this field by themselves too (again for more).",
)
@click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="X|METRIC=X",
    help="A loss of the mean that is accepted, for all metrics or for one (again for more).",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    help="Chance of a false alarm, over all tests together.",
)
@click.option(
    "--resamples",
    type=int,
    default=9999,
    show_default=True,
    help="Patterns of signs that a test draws.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="What they are drawn from.")
@click.option(
    "--epsilon",
    type=float,
    default=1e-9,
    show_default=True,
    help="Scores that differ by no more are the same.",
)
@click.option(
    "--top",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="How many of the rows that moved a mean most are listed.",
)
@click.option(
    "--id-field", default="id", show_default=True, help="Under this name rows have their ids."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    show_default=True,
    help="Form of the comparison on stdout.",
)
@click.option(
    "--worst-case",
    is_flag=True,
    help="Say between what each difference lies, whatever rows without a score had scored.",
)
@click.option(
    "--independent",
    is_flag=True,
    help="The runs are on different rows: describe them side by side, without pairs and tests.",
)
@click.option("--force", is_flag=True, help="Compare runs of different settings all the same.")
def compare_command(
    old: str,
    new: str,
    metrics: tuple[str, ...],
    gating: tuple[str, ...],
    lower_is_better: tuple[str, ...],
    cluster_by: str | None,
    slices: tuple[str, ...],
    margins: tuple[str, ...],
    level: float,
    alpha: float,
    resamples: int,
    seed: int,
    epsilon: float,
    top: int,
    id_field: str,
    form: str,
    worst_case: bool,
    independent: bool,
    force: bool,
) -> None:
    """Compare two runs row by row: by how much each mean changed, and whether that is chance.

    OLD and NEW are result files (.json, .jsonl) of run, score files (.jsonl, .csv, .parquet,
    .arrow) of score, or committed baselines. Rows are paired by their ids. A pattern in quotes
    stands for several files: repeats of one run, averaged within each row first.

    Each metric has one test: a mean is tested by flipping the signs of its paired differences,
    verdicts by McNemar's exact test. The p values of all metrics that decide, over all rows and
    each slice, are adjusted by Holm's rule, so that a comparison of two equal runs finds a
    regression at most 5 times in 100. "No evidence" is not "no change": the interval says how much
    there may be.

    Runs that were scored under different settings are refused: their numbers do not mean the
    same. Result files whose rows have no ids are compared by their means alone, without a test.
    A change fails nothing here; rag-eval gate does.

    \b
    Examples:
      rag-eval compare last-week.jsonl today.jsonl
      rag-eval compare old.parquet new.parquet --slice topic --cluster-by document
      rag-eval compare 'old-*.jsonl' 'new-*.jsonl' --margin 0.01 --margin faithfulness=0
      rag-eval compare old.json new.json --format json | jq '.changes[].delta'
    """
    if independent:
        _refuse_with_independent(gating, cluster_by, slices, margins, worst_case)
        _describe(old, new, metrics, level, id_field, form, force)
        return
    from rag_eval.comparing.two_runs import compare
    from rag_eval.plumbing import json_text
    from rag_eval.reports.comparison import comparison_markdown, print_comparison
    from rag_eval.reports.console import console_for, print_notes

    comparison = compare(
        old,
        new,
        metrics=metrics or None,
        gating=gating or None,
        lower_is_better=lower_is_better,
        cluster_by=cluster_by,
        slices=slices,
        margin=margins_of(margins),
        level=level,
        alpha=alpha,
        n_resamples=resamples,
        seed=seed,
        epsilon=epsilon,
        id_field=id_field,
        force=force,
    )
    if form == "json":
        print(
            json_text.dumps(
                comparison.to_dict(top=top, descriptive=True, worst_case=worst_case)
            ).decode()
        )
    elif form == "markdown":
        print(comparison_markdown(comparison, top=top, worst_case=worst_case), end="")
    else:
        print_comparison(comparison, console_for(), top=top, worst_case=worst_case)
    print_notes(comparison.notes, console_for(sys.stderr))


def _refuse_with_independent(
    gating: tuple[str, ...],
    cluster_by: str | None,
    slices: tuple[str, ...],
    margins: tuple[str, ...],
    worst_case: bool,
) -> None:
    given = {
        "--gating": gating,
        "--cluster-by": cluster_by,
        "--slice": slices,
        "--margin": margins,
        "--worst-case": worst_case,
    }
    named = [flag for flag, value in given.items() if value]
    if named:
        raise click.UsageError(f"--independent makes no test and no pairs: leave {named[0]} out")


def _describe(
    old: str,
    new: str,
    metrics: tuple[str, ...],
    level: float,
    id_field: str,
    form: str,
    force: bool,
) -> None:
    from rag_eval.comparing.independent_runs import compare_independent
    from rag_eval.plumbing import json_text
    from rag_eval.reports.console import console_for, print_notes
    from rag_eval.reports.independent import independent_markdown, print_independent

    found = compare_independent(
        old, new, metrics=metrics or None, level=level, id_field=id_field, force=force
    )
    if form == "json":
        print(json_text.dumps(found.to_dict()).decode())
    elif form == "markdown":
        print(independent_markdown(found), end="")
    else:
        print_independent(found, console_for())
    print_notes(found.notes, console_for(sys.stderr))


def margins_of(given: tuple[str, ...]) -> float | dict[str, float]:
    """``0.01`` for all metrics (``*``), ``METRIC=0.02`` for one.

    Raises
    ------
    click.BadParameter
        For what is no number, or is given twice.
    """
    found: dict[str, float] = {}
    for text in given:
        metric, equals, value = text.rpartition("=")
        try:
            margin = float(value)
        except ValueError:
            raise click.BadParameter(
                f"wanted a number or METRIC=number, got {text!r}", param_hint="--margin"
            ) from None
        name = metric if equals else "*"
        if name in found:
            raise click.BadParameter(f"{text!r} is a second one", param_hint="--margin")
        found[name] = margin
    return found or 0.0
