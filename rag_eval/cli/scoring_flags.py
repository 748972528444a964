"""Flags of the commands that score, and how they combine with the configuration file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import rich_click as click
from click import get_current_context

from rag_eval.cli.flags import flags, flags_of
from rag_eval.cli.parameters import A_SHARE
from rag_eval.cli.printing import say
from rag_eval.errors import InputError
from rag_eval.inputs.schemas.fields import SCHEMA_NAMES
from rag_eval.judge.call_options import merged_call_options
from rag_eval.metrics.ids import METRIC_IDS
from rag_eval.metrics.registry import needs_judge
from rag_eval.options.declared import declared
from rag_eval.options.file_types import ConfigOptions, FileOptions, ReadOptions
from rag_eval.options.gate_types import PolicyOptions
from rag_eval.options.judge_types import JudgeOptions
from rag_eval.options.types import MetricsOptions, RegressionOptions, ScoringOptions

JUDGE_VARIABLE: Final = "RAG_EVAL_JUDGE"

reading_flags: Final = flags_of(
    FileOptions, schema={"type": click.Choice(SCHEMA_NAMES), "metavar": "NAME"}
)
scoring_flags: Final = flags(
    flags_of(MetricsOptions),
    flags_of(ScoringOptions, composite_threshold={"type": A_SHARE}),
    click.option(
        "--config",
        metavar="FILE",
        help="Read options from this file (rag-eval.toml); flags win over it. [judge] in it holds "
        "retries, timeouts and rates of calls.",
    ),
    flags_of(ReadOptions, FileOptions),
    flags_of(JudgeOptions),
    click.option(
        "--cache",
        "use_cache",
        is_flag=True,
        help="Cache the judge's replies and reuse cached ones; see rag-eval cache info.",
    ),
    click.option("--cache-file", metavar="FILE", help="Cache replies in FILE; implies --cache."),
    click.option(
        "--cache-max-age",
        type=float,
        metavar="DAYS",
        help="Call the judge again if a cached reply is older; implies --cache.",
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Make no calls: print the calls and tokens that the run would need, and exit.",
    ),
    reading_flags,
)


def options_of(given: dict[str, Any], form: type) -> dict[str, Any]:
    """Flags over the configuration file, as options of a form, ``metrics`` and ``dry_run``.

    A configuration file is for all commands: of what it holds, a command takes its own.
    """
    config: dict[str, Any] = {}
    path = given.pop("config")
    if path is not None:
        from rag_eval.options.config_file import read_config

        known = {*declared(form), "metrics"}
        config = {name: value for name, value in read_config(path).items() if name in known}
    if given["judge"] is not None and given["judges"]:
        raise InputError("--judge and --judge-models exclude each other")
    given["judge_cache"] = _cache(*map(given.pop, ("use_cache", "cache_file", "cache_max_age")))
    given = {name: value for name, value in given.items() if value not in (None, {}, [], ())}
    _say_moved(given)
    options = {**config, **given}
    for name in given.keys() & config.keys():
        # Merged metric by metric, or field by field.
        if name == "judge_options":
            options[name] = merged_call_options(config[name], given[name])
        elif declared(ConfigOptions)[name].kind.in_toml == (dict,):
            options[name] = {**config[name], **given[name]}
    # A verifier takes the place of the judge, except in a cascade, where both are asked.
    is_open = "verifier" not in options or options.get("mode") == "cascade"
    if "judge" not in options and "judges" not in options and is_open and _asks_judge(options):
        address = os.environ.get(JUDGE_VARIABLE)
        options |= {"judge": address} if address else {}
    _check_flags(given, options)
    say_unencrypted(options)
    return options


def say_unencrypted(options: Mapping[str, Any]) -> None:
    """Warn before texts and a key go over a network unencrypted."""
    for place in options.get("judge_allow_http", ()):
        say(f"warning: texts and key go to {place} without encryption (--judge-allow-http)")


def _say_moved(given: Mapping[str, Any]) -> None:
    """Warn about deprecated flags, which still work, and name their replacement."""
    if get_current_context().params.get("quiet"):
        return
    for name, option in declared(ConfigOptions).items():
        if option.table and name in given:
            key = option.flag_name.removeprefix("--").replace("-", "_")
            say(
                f"note: {option.flag_name} still works, but is deprecated. Put it into "
                "rag-eval.toml instead: "
                f"{key} = {given[name]:g} below [{option.table}], read with --config rag-eval.toml"
            )


def _cache(use_cache: bool, file: str | None, max_age_days: float | None) -> Any:
    """The path of a cache, an open cache if its replies can expire, or None."""
    if not use_cache and file is None and max_age_days is None:
        return None
    from rag_eval.judge.cache import JudgeCache
    from rag_eval.judge.cache_file import default_cache_path

    path = default_cache_path() if file is None else Path(file)
    return path if max_age_days is None else JudgeCache(path, max_age_days=max_age_days)


def _asks_judge(options: Mapping[str, Any]) -> bool:
    asked = options.get("mode") not in (None, "heuristic") or options.get("metric_modes")
    return bool(asked) or any(needs_judge(metric) for metric in options.get("metrics") or ())


def _check_flags(given: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raise an error for flags without effect."""
    metrics = options.get("metrics", METRIC_IDS)
    known = declared(ConfigOptions)
    for name in ("thresholds", "composite_weights"):
        for metric in given.get(name, {}):
            if metric not in metrics:
                raise InputError(
                    f"{known[name].flag_name} names {metric}, which is not among the metrics to "
                    "compute"
                )
    if not _asks_judge(options):
        for name, flag in (
            ("judge", "--judge"),
            ("judges", "--judge-models"),
            ("verifier", "--verifier"),
            ("judge_options", "--judge-option"),
            ("judge_allow_http", "--judge-allow-http"),
            ("judge_batch", "--judge-batch"),
            ("dry_run", "--dry-run"),
        ):
            if given.get(name):
                raise InputError(f"{flag} has no effect without --mode llm, hybrid or cascade")
    for name in declared(PolicyOptions).keys() | declared(RegressionOptions):
        if name in given and "baseline" not in options:
            raise InputError(f"{known[name].flag_name} needs --baseline FILE, the earlier run")
