"""Flags of the commands that score, and what becomes of them and of the configuration file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import rich_click as click

from rag_eval.cli.judge_flags import judge_of_environment, judge_options
from rag_eval.cli.parameters import metric_names, metric_numbers
from rag_eval.cli.reading import field_mapping
from rag_eval.errors import InputError
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.registry import needs_judge

_PAIRS: Final = "METRIC=X,…"
# Merged metric by metric where a flag and the configuration file both give them.
_TABLES: Final = (
    "thresholds",
    "composite_weights",
    "min_mean",
    "max_mean",
    "mapping",
    "metric_modes",
    "scorer_options",
)


def scoring_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say what is computed and how."""
    flags = [
        click.option(
            "--profile",
            type=click.Choice(["overlap", "grounded"]),
            help="How metrics are computed: as rag-eval-node-ts does, or so that scores agree "
            "with people [overlap].",
        ),
        click.option("--metrics", metavar="A,B,…", help="Metrics to compute [the seven]."),
        click.option(
            "--language",
            metavar="TAG",
            help="Language of all samples, for --profile grounded [detected for each].",
        ),
        click.option(
            "--stemmer",
            type=click.Choice(["light", "snowball"]),
            help="Stems of --profile grounded; snowball needs the extra lang [light].",
        ),
        click.option(
            "--calibration",
            metavar="FILE",
            help="Thresholds and probabilities from rag-eval calibrate.",
        ),
        click.option(
            "--thresholds",
            metavar=_PAIRS,
            multiple=True,
            help="Score from which a sample passes, per metric.",
        ),
        click.option(
            "--composite-threshold",
            type=float,
            metavar="X",
            help="Composite score from which a sample passes [0.6, grounded 0.5].",
        ),
        click.option(
            "--weights",
            metavar=_PAIRS,
            multiple=True,
            help="Weights in the composite score [1 each].",
        ),
        click.option(
            "--config",
            metavar="FILE",
            help="Read options from this file (rag-eval.toml); flags win over it.",
        ),
        click.option(
            "--skip-invalid",
            is_flag=True,
            default=None,
            help="Leave bad samples out and count them; else the first ends the run.",
        ),
        click.option(
            "--threads", type=int, metavar="N", help="Threads of native work [all cores]."
        ),
        click.option(
            "--quantiles",
            type=click.Choice(["exact", "sketch"]),
            help="Medians from all scores, or from a histogram, within one part in 4,096 [exact].",
        ),
    ]
    for flag in reversed(flags):
        command = flag(command)
    return command


def options_of(flags: dict[str, Any]) -> dict[str, Any]:
    """Flags over the configuration file."""
    config: dict[str, Any] = {}
    if flags["config"] is not None:
        from rag_eval.options.config_file import read_config

        config = read_config(flags["config"])
    judging = judge_options(flags) if "judge" in flags else {}
    given: dict[str, Any] = {
        **judging,
        "metrics": metric_names("--metrics", flags["metrics"]),
        "thresholds": metric_numbers("--thresholds", flags["thresholds"]),
        "composite_weights": metric_numbers("--weights", flags["weights"]),
        "min_mean": metric_numbers("--min-mean", flags.get("min_mean", ())),
        "max_mean": metric_numbers("--max-mean", flags.get("max_mean", ())),
        "mapping": field_mapping(flags["mapping"]),
    }
    for name, value in flags.items():
        if name not in ("config", "weights"):
            given.setdefault(name, value)
    given = {name: value for name, value in given.items() if value not in (None, {})}
    options = {**config, **given}
    if "judge" in flags:
        options["judge"] = options.get("judge") or judge_of_environment(options)
        options = {name: value for name, value in options.items() if value is not None}
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
    _check_judge(given, options)
    for name in ("regression_threshold", "allow_signature_mismatch"):
        if name in given and "baseline" not in options:
            raise InputError(f"--{name.replace('_', '-')} needs --baseline")


def _check_judge(given: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    scorers = any(needs_judge(metric) for metric in options.get("metrics", ()))
    if options.get("mode") not in (None, "heuristic") or options.get("metric_modes") or scorers:
        return
    for name, flag in (
        ("judge", "--judge"),
        ("judges", "--judge-models"),
        ("dry_run", "--dry-run"),
    ):
        if given.get(name):
            raise InputError(f"{flag} has no effect without --mode llm, hybrid or cascade")
