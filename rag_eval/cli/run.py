"""``rag-eval run``: score a file, print a report, check it against gates."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from rag_eval.cli.batches import keep_command
from rag_eval.cli.flags import flags_of, format_flag
from rag_eval.cli.judging import EXIT_CODES, exit_code, print_estimate
from rag_eval.cli.printing import Told, print_json, say
from rag_eval.cli.report_flags import (
    print_unknown_slices,
    print_written,
    report_files,
    report_flags,
    this_command,
)
from rag_eval.cli.scoring_flags import options_of, scoring_flags
from rag_eval.errors import InputChangedError, InputError, NotMeasuredError
from rag_eval.options.declared import declared
from rag_eval.options.file_types import ReadOptions, RunOptions
from rag_eval.options.types import EvaluateOptions
from rag_eval.runs.store_names import DEFAULT_STORE

if TYPE_CHECKING:
    from rag_eval.jobs.file_reports import RunReport


# The first run of a newcomer fails on every row of real texts, whatever they are like.
_OTHER_PROFILE: Final = (
    "note: these are the scores of rag-eval-node-ts (--profile overlap); the scores of "
    "--profile grounded agree better with people"
)


_STORE_HELP: Final = f"{declared(RunOptions)['store'].flag_text} Without FILE: {DEFAULT_STORE}."


@click.command("run", epilog=EXIT_CODES)
@click.argument("data", metavar="DATA")
@scoring_flags
@flags_of(
    RunOptions,
    ReadOptions,
    EvaluateOptions,
    store={"is_flag": False, "flag_value": DEFAULT_STORE, "help": _STORE_HELP},
)
@format_flag(
    "table", "json", "jsonl", text="Format of stdout: a summary, or with jsonl one row per line."
)
@report_flags
@click.option("--quiet", is_flag=True, help="Print no progress, warnings or notes, only errors.")
def run_command(data: str, **flags: Any) -> int:
    """Score every sample in DATA, print statistics per metric, and check the gates that you set.

    DATA is a file of samples: .jsonl, .json, .csv, .tsv, .xlsx, .parquet or .arrow; a quoted
    pattern such as "runs/*.jsonl"; or - for JSON lines on standard input. Text files may be
    compressed (.gz, .zst). Files may be of any size: memory levels off below 200 MB for text files.
    Each mean is printed with how many of the samples had a score. The run passes when every gate
    holds. Without a gate there is no verdict, and the exit code is 0.

    Reports (--html and those for CI) show up to 20,000 rows. For longer runs, half are the worst
    rows and half a random sample.

    --baseline compares the run row by row with an earlier one, as rag-eval gate does. By default,
    the gate fails if a paired test finds that a mean got worse. --policy node applies the rule of
    rag-eval-node-ts, which compares only means: it fails if one fell by more than
    --regression-threshold. Comparing rows keeps all scores in memory, about 10 bytes per score.

    With --store the scores are kept with the commit, the branch and the verdict; rag-eval history
    lists such runs, and rag-eval gate --store --run latest compares the newest with earlier ones.
    The first run that is gated has no baseline: it passes as NEW and becomes the baseline, so check
    it by hand. Later, only runs that pass a comparison become baselines; passing --min-mean alone
    does not count. Put DATA before --store; a value after --store is read as the store file. A run
    that was interrupted is not kept.

    \b
    Examples:
      rag-eval run samples.jsonl --profile grounded --html report.html
      rag-eval run samples.jsonl --profile grounded --min-pass-rate 0.9
      rag-eval run samples.jsonl --profile grounded --baseline main.json
      rag-eval run samples.jsonl --profile grounded --details --format jsonl
      rag-eval run samples.jsonl --profile grounded --store
      rag-eval run samples.jsonl --config rag-eval.toml --junit run.xml --github
    """
    from rag_eval.jobs.file_run import run_file
    from rag_eval.reports.progress import shown_progress

    form, quiet = flags.pop("form"), flags.pop("quiet")
    files = report_files(flags, data, [flags["output"], flags["baseline"]])
    options = options_of(flags, RunOptions)
    metrics = options.pop("metrics", None)
    if options.pop("dry_run", False):
        return print_estimate(data, metrics, options, form)
    keep_command(options)
    if form == "jsonl":
        options["on_row"] = _print_row
    if files.wanted:
        options["view"] = True
    # Rows and a progress bar on one terminal would overwrite each other.
    silent = quiet or (form == "jsonl" and sys.stdout.isatty())
    failure: InputError | None = None
    told = Told()
    if not quiet:
        options["on_found"] = told
    with shown_progress(quiet=silent) as show:
        try:
            report = run_file(data, metrics, **options, on_progress=show)
        except (InputChangedError, NotMeasuredError) as error:
            report, failure = error.report, error
    # Before anything is printed: a reader of stdout that has seen enough ends the command.
    if report.view is not None:
        try:
            files.write(replace(report.view, command=this_command()))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(*_what_is_left(report)) from None
        if not quiet:
            print_written(files)
            print_unknown_slices(report.view)
    if not quiet:
        _print_talk(report, told, with_verdict=form != "table")
    _print_report(report, form)
    # Where most rows fail by defaults that nobody chose.
    chosen = quiet or form != "table" or report.gates or "profile" in options
    if not chosen and 2 * report.result.n_passed < report.result.n_rows:
        say(_OTHER_PROFILE)
    if failure is not None:
        raise failure
    return exit_code(report.interrupted, report.unavailable, report.result, report.passed)


def _what_is_left(report: RunReport) -> Iterator[str]:
    """What a run has written before its reports, in one line; nothing if that is nothing."""
    kept = [] if report.written is None else [f"wrote {report.written}"]
    if report.run_id is not None:
        kept.append(f"saved in the store as {report.run_id}")
    if kept:
        yield f"{', '.join(kept)}; not all reports were written"


def _print_row(row: bytes) -> None:
    sys.stdout.buffer.write(row + b"\n")


def _print_report(report: RunReport, form: str) -> None:
    if form == "json":
        print_json(report.to_dict())
    elif form == "table":
        from rag_eval.reports.console import console_for
        from rag_eval.reports.run import print_run

        print_run(report, console_for())
        if report.against is not None:
            from rag_eval.reports.gate import print_policy

            print_policy(report.against, console_for())
        if report.gold:
            from rag_eval.reports.labels import print_gold_agreement

            print_gold_agreement(report.gold, console_for())


def _print_talk(report: RunReport, told: Told, *, with_verdict: bool) -> None:
    from rag_eval.reports.console import console_for, print_notes
    from rag_eval.reports.judging import print_judging
    from rag_eval.reports.run import print_skipped, print_verdict

    console = console_for(sys.stderr)
    told.print_rest(report.remarks)
    print_skipped(report, console)
    print_notes(report.result.notes, console)
    print_judging(report.result.judging, console)
    if report.run_id is not None:
        print(f"saved in the store as {report.run_id}", file=sys.stderr)
    if report.interrupted:
        written = f"; wrote the partial result {report.written}" if report.written else ""
        why = report.unavailable or "interrupted"
        text = f"{why}: ended after {report.result.n_rows:,} samples{written}"
        say(text)
    if with_verdict:
        print_verdict(report, console)
