"""``rag-eval run``: score a file, print a report, hold it against gates."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from rag_eval.cli.parameters import EXIT_CODES, metric_names, metric_numbers
from rag_eval.errors import InputError
from rag_eval.samples import METRIC_IDS

if TYPE_CHECKING:
    from rag_eval.run import RunReport

_PAIRS: Final = "METRIC=X,…"
# Merged metric by metric where a flag and the configuration file both give them.
_TABLES: Final = ("thresholds", "composite_weights", "min_mean")


@click.command("run", epilog=EXIT_CODES)
@click.argument("data", metavar="DATA")
@click.option(
    "--profile",
    type=click.Choice(["overlap", "grounded"]),
    help="How metrics are computed: as rag-eval-node-ts does, or so that scores agree with people "
    "[overlap].",
)
@click.option("--metrics", metavar="A,B,…", help="Metrics to compute [the seven].")
@click.option(
    "--language",
    metavar="TAG",
    help="Language of all samples, for --profile grounded [detected for each].",
)
@click.option(
    "--stemmer",
    type=click.Choice(["light", "snowball"]),
    help="Stems of --profile grounded; snowball needs the extra lang [light].",
)
@click.option(
    "--calibration",
    metavar="FILE",
    help="Thresholds and probabilities from rag-eval calibrate.",
)
@click.option(
    "--thresholds",
    metavar=_PAIRS,
    multiple=True,
    help="Score from which a sample passes, per metric.",
)
@click.option(
    "--composite-threshold",
    type=float,
    metavar="X",
    help="Composite score from which a sample passes [0.6, grounded 0.5].",
)
@click.option(
    "--weights", metavar=_PAIRS, multiple=True, help="Weights in the composite score [1 each]."
)
@click.option(
    "--min-pass-rate",
    type=float,
    metavar="X",
    help="Gate: least share of samples that pass [1 when no other gate is given].",
)
@click.option(
    "--min-mean",
    metavar="METRIC=X",
    multiple=True,
    help="Gate: least mean of a metric. May be given several times.",
)
@click.option(
    "--baseline", metavar="FILE", help="Gate: no mean may drop against this earlier result file."
)
@click.option(
    "--regression-threshold",
    type=float,
    metavar="X",
    help="By how much a mean may drop against the baseline [0.05].",
)
@click.option(
    "--allow-signature-mismatch",
    is_flag=True,
    default=None,
    help="Accept a baseline that was scored under other settings.",
)
@click.option(
    "--config",
    metavar="FILE",
    help="Read options from this file (rag-eval.toml); flags win over it.",
)
@click.option(
    "--output", metavar="FILE", help="Write all rows to FILE: .json or .jsonl, either also .gz."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "jsonl"]),
    default="table",
    show_default=True,
    help="Form of stdout: a summary, or with jsonl one row a line.",
)
@click.option(
    "--details",
    is_flag=True,
    default=None,
    help="Rows with the scores of chunks and sentences and their evidence.",
)
@click.option(
    "--worst",
    type=int,
    metavar="N",
    help="Show the N rows with the lowest composite score, with their signals [0].",
)
@click.option(
    "--skip-invalid",
    is_flag=True,
    default=None,
    help="Leave bad samples out and count them; else the first ends the run.",
)
@click.option("--threads", type=int, metavar="N", help="Threads of native work [all cores].")
@click.option("--quiet", is_flag=True, help="No progress, warnings or notes; errors stay.")
def run_command(data: str, **flags: Any) -> int:
    """Score every sample in DATA, print statistics per metric, and pass or fail.

    DATA is a .jsonl file or a .json array, either also .gz, or - for JSON lines on standard input.
    It may be of any size: only scores are kept. Each mean is printed with how many of the samples
    had a score. The run passes when every gate holds; without any gate, when every sample passes.

    \b
    Examples:
      rag-eval run samples.jsonl --metrics faithfulness --min-pass-rate 0.9
      rag-eval run samples.jsonl.gz --baseline main.json --output today.json
      rag-eval run samples.jsonl --profile grounded --details --format jsonl
    """
    from rag_eval.reports.progress_bar import shown_progress
    from rag_eval.run import run_file

    form, quiet = flags.pop("form"), flags.pop("quiet")
    options = _options(flags)
    metrics = options.pop("metrics", None)
    if form == "jsonl":
        options["on_row"] = _print_row
    # Rows and a progress bar on one terminal would overwrite each other.
    silent = quiet or (form == "jsonl" and sys.stdout.isatty())
    with shown_progress(quiet=silent) as show:
        report = run_file(data, metrics, **options, on_progress=show)
    if not quiet:
        _print_talk(report, with_verdict=form != "table")
    _print_report(report, form)
    if report.interrupted:
        return 130
    return 0 if report.passed else 1


def _options(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Flags over the configuration file."""
    config: dict[str, Any] = {}
    if flags["config"] is not None:
        from rag_eval.config_file import read_config

        config = read_config(flags["config"])
    given: dict[str, Any] = {
        "metrics": metric_names("--metrics", flags["metrics"]),
        "thresholds": metric_numbers("--thresholds", flags["thresholds"]),
        "composite_weights": metric_numbers("--weights", flags["weights"]),
        "min_mean": metric_numbers("--min-mean", flags["min_mean"]),
    }
    for name, value in flags.items():
        if name not in ("config", "weights"):
            given.setdefault(name, value)
    given = {name: value for name, value in given.items() if value not in (None, {})}
    options = {**config, **given}
    for name in _TABLES:
        if name in given:
            options[name] = {**config.get(name, {}), **given[name]}
    _check_flags(given, options)
    return options


def _check_flags(given: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse flags that can have no effect."""
    metrics = options.get("metrics", METRIC_IDS)
    for name, flag in (("thresholds", "--thresholds"), ("composite_weights", "--weights")):
        for metric in given.get(name, {}):
            if metric not in metrics:
                raise InputError(
                    f"{flag} names {metric}, which is not among the metrics to compute"
                )
    for name in ("regression_threshold", "allow_signature_mismatch"):
        if name in given and "baseline" not in options:
            raise InputError(f"--{name.replace('_', '-')} needs --baseline")


def _print_row(row: bytes) -> None:
    sys.stdout.buffer.write(row + b"\n")


def _print_report(report: RunReport, form: str) -> None:
    if form == "json":
        from rag_eval import json_text

        sys.stdout.buffer.write(json_text.dumps(report.to_dict()) + b"\n")
    elif form == "table":
        from rag_eval.reports.console import console_for, print_run

        print_run(report, console_for())


def _print_talk(report: RunReport, *, with_verdict: bool) -> None:
    from rag_eval.reports.console import console_for, print_notes, print_skipped, print_verdict

    console = console_for(sys.stderr)
    print_skipped(report, console)
    print_notes(report.result.notes, console)
    if report.interrupted:
        written = f"; partial result written to {report.written}" if report.written else ""
        print(f"interrupted after {len(report.result):,} samples{written}", file=sys.stderr)
    if with_verdict:
        print_verdict(report, console)
