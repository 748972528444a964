"""``rag-eval gate``: compare a run with limits and earlier runs, and set the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from rag_eval.cli.flags import TEST_FLAGS, flag_of, format_flag, given_of, reading
from rag_eval.cli.judging import ENDED_CODES
from rag_eval.cli.parameters import completed_number, null_rates
from rag_eval.cli.printing import print_found
from rag_eval.cli.report_flags import print_written, report_files, report_flags, this_command
from rag_eval.errors import InputError
from rag_eval.options.declared import declared
from rag_eval.options.file_types import RunOptions
from rag_eval.options.gate_types import PolicyOptions
from rag_eval.runs.store_names import DEFAULT_PIN, DEFAULT_STORE

if TYPE_CHECKING:
    from rag_eval.gating.guards import Guards
    from rag_eval.gating.verdicts import GateReport
    from rag_eval.runs.run_files import RunSource


_GATES: Final = declared(RunOptions)


@click.command(
    "gate", epilog=f"Exit codes: 0 passed · 1 failed · 2 bad input or usage · {ENDED_CODES}"
)
@click.argument("new", metavar="[NEW]", required=False)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="FILE",
    help="Compare NEW with this run (repeatable; NEW must pass against each).",
)
@click.option(
    "--store",
    metavar="[FILE]",
    is_flag=False,
    flag_value=DEFAULT_STORE,
    help=f"Compare with the last passing run and the pinned run of this store [{DEFAULT_STORE}].",
)
@click.option(
    "--run",
    "run_id",
    metavar="ID",
    help="Gate this run of the store (an id or latest) and save there whether it passed.",
)
@click.option(
    "--pin",
    metavar="NAME",
    default=DEFAULT_PIN,
    show_default=True,
    help="Name of the pinned run.",
)
@click.option(
    "--branch",
    metavar="NAME",
    help="Branch on which to look for the last passing run first. [default: branch of the run]",
)
@click.option(
    "--shared-rows",
    is_flag=True,
    help="If no run of this dataset has passed, compare the rows shared with the nearest dataset "
    "in the store.",
)
@click.option(
    "--spend",
    is_flag=True,
    help="Share --alpha among all gates since the pinned run, or the first that passed: if nothing "
    "changed, the chance that any of them fails is at most alpha. Needs --run.",
)
@flag_of(
    _GATES["policy"],
    help="Rule that decides the verdict: no-regression, non-inferior, omk, regtrace or node; see "
    "above. [default: no-regression]",
)
@TEST_FLAGS
@flag_of(_GATES["care"])
@flag_of(_GATES["min_mean"])
@flag_of(_GATES["max_mean"])
@flag_of(_GATES["min_pass_rate"])
@click.option(
    "--max-null-rate",
    shell_complete=completed_number,
    multiple=True,
    callback=reading(null_rates),
    metavar="X|METRIC=X",
    help="Maximum share of rows without a score, for every metric or for one.",
)
@flag_of(_GATES["max_null_rise"])
@flag_of(_GATES["max_missing_rows"])
@click.option(
    "--critical",
    multiple=True,
    metavar="ID|@FIELD=VALUE",
    help="This row, or rows with this value of a field, must not fail (repeatable).",
)
@click.option(
    "--critical-fails",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="K",
    help="Count a critical row as failed if it fails in at least K of its repeats.",
)
@flag_of(
    _GATES["max_judge_failures"],
    default=0.0,
    show_default=True,
    help="Maximum share of failed judgements.",
)
@format_flag("table", "json", "markdown", text="Format of the verdict on stdout.")
@report_flags
def gate_command(new: str | None, **flags: Any) -> int:
    """Decide whether a run passes: check it against limits and compare it with baselines.

    NEW and the baselines are result files (.json, .jsonl) of run or of rag-eval-node-ts, score
    files (.jsonl, .csv, .parquet, .arrow) of score, or committed baselines. Text files may be
    compressed (.gz, .zst). A quoted pattern stands for repeats of one run. To gate a run saved by
    rag-eval run --store, use --store --run latest. Put NEW before --store, because a value after
    --store is read as the store's file.

    Policies:

    no-regression fails if a test shows a mean to be worse by more than the margin (default 0). The
    p values are adjusted for all metrics and slices: if nothing changed, at most 5 % of builds
    fail. A drop of at most --tolerance passes. The column detectable is the smallest drop that a
    test on as many rows finds with 80 % power.

    non-inferior passes only if the loss in every metric is shown to be smaller than the margin,
    which is required. Use it when a wrong pass costs more than a wrong failure. With too few rows
    it fails.

    Both also fail with MISSING SCORES if a test shows that the share of null scores of a metric
    rose, and it rose by more than --max-null-rise, and with MISSING ROWS if the run lacks more than
    --max-missing-rows of the baseline's rows.

    omk, regtrace and node follow the rules of those tools. omk passes only if the composite score
    is shown to improve. regtrace fails if the mean composite score falls by more than 5 % of the
    baseline's. node fails if a mean gets worse by more than 0.05. These tools state no error rate,
    so a simulated one is printed. They have their own statuses, which are explained below the
    table.

    \b
    Statuses of a metric or a run:
      REGRESSED         a significant drop, larger than margin and tolerance
      MISSING SCORES    rows with a score in the baseline have none now
      MISSING ROWS      more than --max-missing-rows are missing
      IMPROVED          a significant rise
      NO CHANGE         all pairs have identical scores
      WITHIN TOLERANCE  a significant drop, no larger than --tolerance
      INCONCLUSIVE      no significant change; non-inferior: the loss may
                        be larger than the margin
      TOO FEW ROWS      too few rows differ for any test
      NOT COMPARABLE    no row has a score in both runs
      NON-INFERIOR      the loss is shown to be smaller than the margin
      GUARD             only a limit such as --min-mean failed
      NEW               there is no baseline yet

    If the only baseline is the last passing run, small losses add up, because each run becomes the
    next baseline. With a store, a run must therefore pass against both the last passing run and the
    pinned one; to pin a run: rag-eval baseline pin. Without a baseline, only limits such as
    --min-mean decide.

    Each gate has a chance of 5 % of a false alarm against each baseline, so 20 builds that change
    nothing have one more often than not. With --spend all gates since the pinned run share the 5 %.
    Each of them then needs clearer evidence, so it finds larger drops only.

    \b
    Examples:
      rag-eval gate today.jsonl --baseline main.jsonl
      rag-eval gate 'today-*.jsonl' --baseline main.jsonl --critical q-17
      rag-eval gate --store --run latest --min-pass-rate 0.9
      rag-eval gate today.json --baseline main.json --policy non-inferior \\
        --margin 0.02
      rag-eval gate today.json --baseline main.json --critical @tag=safety
      rag-eval gate today.json --baseline main.json --junit gate.xml --github
      rag-eval gate today.json --baseline main.json --html gate.html
    """
    form = flags.pop("form")
    files = report_files(flags, new, flags["baselines"])
    report = _report(new, flags)
    from rag_eval.reports.console import console_for
    from rag_eval.reports.gate import gate_markdown, print_gate

    if files.html is not None:
        from rag_eval.reports.page.compared_pages import write_gate_page

        source, baselines = _source(new, flags), flags["baselines"]
        write_gate_page(report, source, files.html, this_command(), baselines=baselines)
    if files.wanted:
        from rag_eval.views.outcomes import verdict_outcomes

        files.write_outcomes(verdict_outcomes(report), lambda: gate_markdown(report))
    print_written(files)
    print_found(
        form,
        report.to_dict,
        lambda: print_gate(report, console_for()),
        markdown=lambda: gate_markdown(report),
        notes=report.notices,
    )
    return report.exit_code


def _report(new: str | None, flags: dict[str, Any]) -> GateReport:
    from rag_eval.gating.against import NamedBaseline, gate
    from rag_eval.gating.stored import gate_against_store, gate_stored
    from rag_eval.runs.store import RunStore

    guards = _guards(flags)
    names = ("lower_is_better", "cluster_by", "id_field", "force")
    options = {**{name: flags[name] for name in names}, **given_of(flags, PolicyOptions)}
    options["guards"] = guards
    store, run_id = flags["store"], flags["run_id"]
    files = [NamedBaseline("file", name) for name in flags["baselines"]]
    if run_id is not None and store is None:
        raise InputError("--run needs --store")
    if new is not None and run_id is not None:
        raise InputError("NEW and --run exclude each other: give one run to gate")
    of_store = {name: flags[name] for name in ("branch", "pin", "shared_rows")} | {"extra": files}
    if run_id is not None:
        kept = RunStore(store, create=False)
        return gate_stored(kept, run_id, spend=flags["spend"], **of_store, **options)
    if flags["spend"]:
        raise InputError(
            "--spend counts the gates of stored runs: save the run with rag-eval run --store, then "
            "rag-eval gate --store --run latest --spend"
        )
    if new is None:
        raise InputError(
            "no run to gate: give a result file, or --store --run latest for the last stored run"
        )
    if store is not None:
        kept = RunStore(store, create=False)
        return gate_against_store(new, kept, **of_store, **options)
    if flags["branch"] is not None:
        raise InputError("--branch needs --store")
    if flags["shared_rows"]:
        raise InputError("--shared-rows needs --store")
    for name in ("max_null_rise", "max_missing_rows"):
        if name in options and not files:
            raise InputError(f"{_GATES[name].flag_name} needs a baseline: --baseline or --store")
    if not files and not guards.given:
        raise InputError(
            "rag-eval gate has nothing to check: give --baseline, --store or a limit such as "
            "--min-mean faithfulness=0.7"
        )
    return gate(new, files, **options)


def _source(new: str | None, flags: dict[str, Any]) -> RunSource:
    """The run that was gated, to be shown."""
    if new is not None:
        return new
    from rag_eval.runs.store import RunStore

    store = RunStore(flags["store"], create=False)
    return store.load(store.record(flags["run_id"]).run_id)


def _guards(flags: dict[str, Any]) -> Guards:
    from rag_eval.gating.guards import Guards

    ids, tags = _critical(flags["critical"])
    return Guards(
        min_mean=flags["min_mean"],
        max_mean=flags["max_mean"],
        min_pass_rate=flags["min_pass_rate"],
        max_null_rate=flags["max_null_rate"],
        critical=ids,
        critical_tags=tags,
        critical_fails=flags["critical_fails"],
        max_judge_failures=flags["max_judge_failures"],
    )


def _critical(given: tuple[str, ...]) -> tuple[list[str], dict[str, list[str]]]:
    """``q-17`` is an id, ``@tag=safety`` a value of a field."""
    ids, tags = [], dict[str, list[str]]()
    for text in given:
        if not text.startswith("@"):
            ids.append(text)
            continue
        name, equals, value = text[1:].partition("=")
        if not name or not equals:
            raise InputError(f"--critical must be an id or @FIELD=VALUE, got {text!r}")
        tags.setdefault(name, []).append(value)
    return ids, tags
