"""``rag-eval compare``: two runs row by row, and what of the change is more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import rich_click as click

from rag_eval.cli.flags import LEVEL, TEST_FLAGS, format_flag
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.parameters import completed_metric
from rag_eval.cli.printing import print_found


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
    shell_complete=completed_metric,
    help="Compare this metric (again for more); by default all that both runs have.",
)
@click.option(
    "--gating",
    multiple=True,
    metavar="METRIC",
    shell_complete=completed_metric,
    help="Let this metric decide (again for more); others are for looking around. By default all "
    "but diagnostics, the composite score and the verdict on rows.",
)
@TEST_FLAGS
@LEVEL
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
@format_flag("table", "json", "markdown")
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
def compare_command(old: str, new: str, **options: Any) -> None:
    """Compare two runs row by row: by how much each mean changed, and whether that is chance.

    OLD and NEW are result files (.json, .jsonl) of run or of rag-eval-node-ts, score files (.jsonl,
    .csv, .parquet, .arrow) of score, or committed baselines; text also with .gz or .zst, or - for
    standard input. Rows are paired by their ids. A pattern in quotes
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
    form = options.pop("form")
    if options.pop("independent"):
        _refuse_with_independent(options)
        _describe(old, new, form, options)
        return
    from rag_eval.comparing.two_runs import compare
    from rag_eval.reports.comparison import comparison_markdown, print_comparison
    from rag_eval.reports.console import console_for

    shown = {"top": options.pop("top"), "worst_case": options.pop("worst_case")}
    for name in ("metrics", "gating"):
        options[name] = options[name] or None
    comparison = compare(old, new, **{**options, "margin": options["margin"] or 0.0})
    print_found(
        form,
        lambda: comparison.to_dict(descriptive=True, **shown),
        lambda: print_comparison(comparison, console_for(), **shown),
        markdown=lambda: comparison_markdown(comparison, **shown),
        notes=comparison.notes,
    )


def _refuse_with_independent(options: Mapping[str, Any]) -> None:
    for name in ("gating", "cluster_by", "slices", "margin", "worst_case"):
        if options[name]:
            flag = "--" + name.removesuffix("s").replace("_", "-")
            raise click.UsageError(f"--independent makes no test and no pairs: leave {flag} out")


def _describe(old: str, new: str, form: str, options: Mapping[str, Any]) -> None:
    from rag_eval.comparing.independent_runs import compare_independent
    from rag_eval.reports.comparison import independent_markdown, print_independent
    from rag_eval.reports.console import console_for

    given = {name: options[name] for name in ("level", "id_field", "force")}
    found = compare_independent(old, new, metrics=options["metrics"] or None, **given)
    print_found(
        form,
        found.to_dict,
        lambda: print_independent(found, console_for()),
        markdown=lambda: independent_markdown(found),
        notes=found.notes,
    )
