"""``rag-eval compare``: compare runs row by row and test the differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import rich_click as click
from click import get_current_context
from click.core import ParameterSource

from rag_eval.cli.flags import LEVEL, TEST_FLAGS, format_flag, given_of
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.parameters import completed_metric
from rag_eval.cli.printing import print_found
from rag_eval.cli.report_flags import page_flag, print_written, report_files, this_command
from rag_eval.options.declared import declared
from rag_eval.options.gate_types import PairedTestOptions

if TYPE_CHECKING:
    from rag_eval.reports.report_files import ReportFiles

# Flags of tests of pairs, and those of two runs alone.
_OF_PAIRS: Final = ("gating", "cluster_by", "slices", "margin", "tolerance", "worst_case")
_FLAGS: Final = {"slices": "slice"}
_OF_TWO: Final = (
    "margin",
    "tolerance",
    "worst_case",
    "independent",
    "top",
    "alpha",
    "adjust",
)


@click.command(
    "compare",
    epilog=f"Exit codes: 0 compared · 2 not comparable, or a file cannot be read · {ENDED_CODES}",
)
@click.argument("runs", metavar="OLD NEW [RUN]...", nargs=-1, required=True)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    shell_complete=completed_metric,
    help="Compare this metric (repeatable). [default: all that the runs have in common]",
)
@TEST_FLAGS
@LEVEL
@click.option(
    "--epsilon",
    type=float,
    metavar="X",
    default=1e-9,
    show_default=True,
    help="Scores that differ by at most this are the same.",
)
@click.option(
    "--top",
    type=click.IntRange(0),
    metavar="N",
    default=3,
    show_default=True,
    help="Number of rows to list: those with the largest effect on a mean.",
)
@click.option(
    "--sort",
    metavar="METRIC",
    shell_complete=completed_metric,
    help="With three or more runs: sort them by this metric. [default: the first gating one]",
)
@click.option(
    "--ranks",
    is_flag=True,
    help="With three or more runs: add Friedman's test and Nemenyi's critical difference.",
)
@format_flag(
    "table", "json", "markdown", "latex", text="Format of stdout; latex needs three or more runs."
)
@click.option(
    "--worst-case",
    is_flag=True,
    help="Show the range of each difference over all possible values of missing scores.",
)
@click.option(
    "--independent",
    is_flag=True,
    help="Compare runs on different rows side by side, without pairing and tests.",
)
@page_flag
def compare_command(runs: tuple[str, ...], **options: Any) -> None:
    """Compare runs row by row: how much their means differ, and whether that is more than chance.

    Runs are result files (.json, .jsonl) of run or of rag-eval-node-ts, score files (.jsonl,
    .csv, .parquet, .arrow) of score, or committed baselines. Text files may end in .gz or .zst;
    "-" is standard input. Rows are paired by id. A quoted pattern stands for several files: repeats
    of one run, whose scores are averaged per row.

    Each metric has one test: a sign-flip test of the paired differences for means, McNemar's exact
    test for verdicts. The p values of all gating metrics, over all rows and each slice, are
    adjusted by the max-T method, so that comparing two equal runs shows a regression at most 5 % of
    the time. INCONCLUSIVE does not mean that nothing changed: the confidence interval shows how
    large the change may be. A drop of at most --tolerance is WITHIN TOLERANCE, even if it is
    significant. A metric that lost scores is MISSING SCORES unless it regressed.

    Runs that were scored under different settings are not comparable: this is an error unless you
    add --force. Result files whose rows have no ids are compared by their means only, without a
    test. A regression does not change the exit code; use rag-eval gate for that.

    Three runs or more give a leaderboard: the means of all metrics, and the differences to the best
    run with intervals that hold together, over all pairs and all gating metrics. Runs that share a
    letter cannot be told apart.

    \b
    Examples:
      rag-eval compare last-week.jsonl today.jsonl
      rag-eval compare old.csv new.csv --slice topic --cluster-by document
      rag-eval compare 'old-*.jsonl' 'new-*.jsonl' --margin faithfulness=0.01
      rag-eval compare old.json new.json --format json | jq '.changes[].delta'
      rag-eval compare old.json new.json --html compare.html
      rag-eval compare bm25.json dense.json both.json --sort context_recall
    """
    if len(runs) < 2:
        raise click.UsageError("a comparison needs two or more runs: rag-eval compare OLD NEW")
    form = options.pop("form")
    files = report_files(options, runs[-1], runs[:-1])
    if len(runs) > 2:
        _rank(runs, form, files, options)
        return
    _refuse(options, ("sort", "ranks"), "{} needs three or more runs")
    if form == "latex":
        raise click.UsageError("--format latex needs three or more runs")
    del options["sort"], options["ranks"]
    old, new = runs
    if options.pop("independent"):
        if files.html is not None:
            raise click.UsageError("--independent does not pair rows: remove --html")
        _refuse(options, _OF_PAIRS, "--independent does not pair or test rows: remove {}")
        _describe(old, new, form, options)
        return
    from rag_eval.comparing.two_runs import compare
    from rag_eval.reports.comparison import comparison_markdown, print_comparison
    from rag_eval.reports.console import console_for

    shown = {"top": options.pop("top"), "worst_case": options.pop("worst_case")}
    comparison = compare(old, new, **_given(options))
    if files.html is not None:
        from rag_eval.reports.page.compared_pages import write_comparison_page

        command, id_field = this_command(), options["id_field"]
        write_comparison_page(comparison, new, files.html, command, id_field=id_field, old=old)
        print_written(files)
    print_found(
        form,
        lambda: comparison.to_dict(descriptive=True, **shown),
        lambda: print_comparison(comparison, console_for(), **shown),
        markdown=lambda: comparison_markdown(comparison, **shown),
        notes=comparison.notes,
    )


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a comparison; those of its test that no flag gave have their defaults."""
    of_test = declared(PairedTestOptions)
    others = {name: value for name, value in options.items() if name not in of_test}
    others["metrics"] = others["metrics"] or None
    return {**others, **given_of(options, PairedTestOptions)}


def _refuse(options: Mapping[str, Any], names: Iterable[str], why: str) -> None:
    context = get_current_context()
    for name in names:
        if options[name] and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            flag = "--" + _FLAGS.get(name, name.replace("_", "-"))
            raise click.UsageError(why.format(flag))


def _rank(runs: Sequence[str], form: str, files: ReportFiles, options: dict[str, Any]) -> None:
    """Three runs or more: a leaderboard."""
    from rag_eval.comparing.many_runs import compare_runs
    from rag_eval.reports import leaderboard as reports
    from rag_eval.reports.console import console_for

    _refuse(options, _OF_TWO, "{} works only with two runs")
    for name in _OF_TWO:
        del options[name]
    sort = options.pop("sort")
    found = compare_runs(runs, **_given(options))
    reports.sorting_board(found, sort)  # raises an error that names an unknown metric
    if files.html is not None:
        from rag_eval.reports.page.leaderboard_page import write_leaderboard_page

        write_leaderboard_page(found, files.html, sort=sort, command=this_command())
        print_written(files)
    if form == "latex":
        print(reports.leaderboard_latex(found, sort=sort), end="")
    print_found(
        form,
        found.to_dict,
        lambda: (
            None if form == "latex" else reports.print_leaderboard(found, console_for(), sort=sort)
        ),
        markdown=lambda: reports.leaderboard_markdown(found, sort=sort),
        notes=found.notes,
    )


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
