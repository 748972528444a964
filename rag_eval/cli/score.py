"""``rag-eval score``: samples in, a file with a row of scores for each out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from rag_eval.cli.batches import keep_command
from rag_eval.cli.flags import flags_of
from rag_eval.cli.judging import ENDED_CODES, exit_code, print_estimate
from rag_eval.cli.printing import Told
from rag_eval.cli.scoring_flags import options_of, scoring_flags
from rag_eval.errors import InputChangedError, InputError, NotMeasuredError
from rag_eval.options.declared import declared
from rag_eval.options.file_types import ReadOptions, RunOptions, ScoreFileOptions, StreamOptions
from rag_eval.options.types import EvaluateOptions
from rag_eval.plumbing.descriptors import is_standard_output

if TYPE_CHECKING:
    from rag_eval.jobs.file_reports import ScoreFileReport

# What says how rows are written, and what of it needs a file.
_KEPT_OPTIONS: Final = declared(ScoreFileOptions).keys() - declared(StreamOptions)
_OF_WRITING: Final = declared(ScoreFileOptions).keys() - declared(RunOptions)


@click.command(
    "score",
    epilog="Exit codes: 0 all rows written · 2 bad input or usage, or the disk is full · 3 judge "
    f"unavailable or budget reached · 4 waiting for the judge's batches · {ENDED_CODES}, what was "
    "scored is kept",
)
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@scoring_flags
@flags_of(ScoreFileOptions, ReadOptions, EvaluateOptions)
@click.option(
    "--summary", metavar="FILE", help="Write the statistics to FILE (.json), for run --baseline."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    help="Format of the rows on standard output, for DST -. [default: jsonl]",
)
@click.option("--quiet", is_flag=True, help="Print no table, progress or notes, only errors.")
def score_command(source: str, target: str, **flags: Any) -> int:
    """Score every sample in SRC and write a row of scores for each to DST.

    SRC is a file of samples: .jsonl, .json, .csv, .tsv, .xlsx, .parquet or .arrow; a quoted pattern
    such as "runs/*.jsonl"; or - for JSON lines on standard input. Text files may be compressed
    (.gz, .zst). DST is .jsonl, .csv, .parquet or .arrow by its suffix, or - for standard output.
    Both may be of any size: memory levels off below 200 MB for text files and 450 MB for Parquet.
    --resume continues a run that was interrupted, and its output is the same to the byte.

    Each row of DST has the id (or the number of the row, from 0), the --columns, for each metric
    the score and the reason if it is null, the composite score, and whether the row passed. To set
    gates, use rag-eval run.

    \b
    Examples:
      rag-eval score samples.jsonl scores.parquet --columns question,model
      rag-eval score "shards/*.gz" scores.jsonl --profile grounded --resume
      rag-eval score traces.parquet - --map answer=output | jq .composite_score
    """
    from rag_eval.reports.progress import shown_progress

    form, quiet, summary = flags.pop("form"), flags.pop("quiet"), flags.pop("summary")
    options = options_of(flags, ScoreFileOptions)
    metrics = options.pop("metrics", None)
    _check_usage(target, form, options)
    if options.pop("dry_run", False):
        asked = {name: value for name, value in options.items() if name not in _OF_WRITING}
        return print_estimate(source, metrics, asked, "table")
    if summary is not None:
        _check_summary(summary, source)
    keep_command(options)
    report, failure, told = None, None, Told()
    try:
        with shown_progress(quiet=quiet) as show:
            options["on_progress"] = show
            if not quiet:
                options["on_found"] = told
            try:
                report = _scored(source, target, metrics, form or "jsonl", options)
            except (InputChangedError, NotMeasuredError) as error:
                report, failure = error.report, error
        if summary is not None:
            _write_summary(report, summary)
        if not quiet:
            _print_talk(report, told)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(*_what_is_left(target, report)) from None
    if failure is not None:
        raise failure
    return exit_code(report.interrupted, report.unavailable, report.result, passed=True)


def _check_usage(target: str, form: str | None, options: dict[str, Any]) -> None:
    if not is_standard_output(target):
        if form is not None:
            raise InputError("--format is for DST -; the format of a file follows its suffix")
        if options.get("resume") and options.get("restart"):
            raise InputError("--resume and --restart exclude each other")
        return
    for name in options.keys() & _KEPT_OPTIONS:
        flag = declared(ScoreFileOptions)[name].flag_name
        raise InputError(f"{flag} needs a file, because standard output is not kept")


def _check_summary(summary: str, source: str) -> None:
    """Raise an error for a summary name that could not be written, before any work."""
    from rag_eval.inputs.opened import Input
    from rag_eval.jobs.options import check_folder, check_target

    path = Path(summary)
    if not path.name.endswith((".json", ".json.gz")):
        raise InputError(f"--summary {path}: expected a name that ends in .json, also .json.gz")
    check_folder(path)
    check_target(path, Input(source).paths)


def _scored(
    source: str, target: str, metrics: Any, form: Any, options: dict[str, Any]
) -> ScoreFileReport:
    from rag_eval.jobs.file_scoring import score_file, score_to_stream

    if is_standard_output(target):
        return score_to_stream(source, sys.stdout.buffer, metrics, form=form, **options)
    return score_file(source, target, metrics, **options)


def _what_is_left(target: str, report: ScoreFileReport | None) -> list[str]:
    """The message of an interrupt; another one may arrive while it is handled."""
    from rag_eval.outputs.parts import kept_text

    if report is not None and not report.interrupted:
        return [f"{report.target} is written"]
    kept = "" if is_standard_output(target) else kept_text(Path(target))
    return [kept] if kept else []


def _write_summary(report: ScoreFileReport, path: str) -> None:
    from rag_eval.plumbing import json_text
    from rag_eval.plumbing.durable_files import atomic_file

    with atomic_file(path) as file:
        file.write(json_text.dumps(report.to_dict()) + b"\n")


def _print_talk(report: ScoreFileReport, told: Told) -> None:
    """Print all remarks on stderr, because stdout is for rows."""
    from rag_eval.reports.console import console_for, print_notes
    from rag_eval.reports.judging import print_judging
    from rag_eval.reports.run import print_score_file, print_skipped

    console = console_for(sys.stderr)
    told.print_rest(report.remarks)
    print_skipped(report, console)
    print_notes(report.result.notes, console)
    print_judging(report.result.judging, console)
    print_score_file(report, console)
