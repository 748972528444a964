"""Flags of judging, and what becomes of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import rich_click as click

from rag_eval.errors import InputError
from rag_eval.metrics.registry import needs_judge, to_metric_id
from rag_eval.samples import MetricId

JUDGE_VARIABLE: Final = "RAG_EVAL_JUDGE"


def judge_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say who judges, how, and within what limits."""
    for flag in reversed((*_who(), *_how(), *_limits(), *_kept())):
        command = flag(command)
    return command


def _who() -> list[Callable[..., Any]]:
    return [
        click.option(
            "--mode",
            type=click.Choice(["heuristic", "llm", "hybrid", "cascade"]),
            help="Who scores: the kernels; a judge; a judge for some metrics; or a judge for the "
            "rows that --profile grounded leaves uncertain [heuristic].",
        ),
        click.option(
            "--judge",
            metavar="ADDRESS",
            help="openai:MODEL, anthropic:MODEL or http://127.0.0.1:11434/v1#MODEL "
            f"[${JUDGE_VARIABLE}].",
        ),
        click.option(
            "--judge-models",
            metavar="A,B,…",
            help="Several judges, whose mean counts, with how far they agree.",
        ),
        click.option(
            "--metric-modes",
            metavar="METRIC=llm,…",
            multiple=True,
            help="llm or heuristic per metric, over --mode.",
        ),
    ]


def _how() -> list[Callable[..., Any]]:
    return [
        click.option(
            "--judge-style",
            type=click.Choice(["claims", "rating"]),
            help="Claim by claim, or one rating from 1 to 5 per metric [claims].",
        ),
        click.option(
            "--judge-repeat",
            type=int,
            metavar="N",
            help="Judge everything N times, and take the mean.",
        ),
        click.option(
            "--no-length-debias",
            "length_debias",
            is_flag=True,
            flag_value=False,
            default=None,
            help="Leave out of prompts that length is no merit.",
        ),
        click.option(
            "--on-judge-failure",
            type=click.Choice(["null", "heuristic"]),
            help="What a failed judgement leaves: a null, or the native score, marked [null].",
        ),
        click.option(
            "--prompt",
            "prompt_overrides",
            metavar="METRIC[/STEP]=FILE",
            multiple=True,
            help="Body of a prompt from a file; it has the $variables of the one it replaces.",
        ),
        click.option(
            "--scorer-options",
            metavar="SCORER=JSON",
            multiple=True,
            help='Options of a scorer such as mastra.noise_sensitivity: SCORER={"name": value}.',
        ),
        click.option(
            "--cascade-band",
            metavar="[METRIC=]LOW:HIGH",
            multiple=True,
            help="Native scores between which a cascade asks the judge "
            "[probability 0.2 to 0.8 by --calibration].",
        ),
        click.option(
            "--audit-share",
            type=float,
            metavar="X",
            help="Share of the rows outside the band that a cascade judges all the same [0.02].",
        ),
        click.option("--judge-seed", type=int, metavar="N", help="Which rows those are [0]."),
    ]


def _limits() -> list[Callable[..., Any]]:
    return [
        click.option("--concurrency", type=int, metavar="N", help="Judge calls in flight [4]."),
        click.option(
            "--call-timeout",
            "call_timeout_s",
            type=float,
            metavar="S",
            help="Seconds per call [60].",
        ),
        click.option(
            "--run-timeout",
            "run_timeout_s",
            type=float,
            metavar="S",
            help="Seconds after which no call begins.",
        ),
        click.option(
            "--retries",
            type=int,
            metavar="N",
            help="Tries after the first, where a server fails or limits the rate [5].",
        ),
        click.option("--requests-per-minute", type=float, metavar="N", help="Rate of calls."),
        click.option("--tokens-per-minute", type=float, metavar="N", help="Rate of tokens."),
        click.option("--max-calls", type=int, metavar="N", help="Most calls of the run."),
        click.option(
            "--budget-usd",
            type=float,
            metavar="X",
            help="No call begins once so much is spent; needs --prices.",
        ),
        click.option(
            "--prices",
            metavar="FILE",
            help='USD per million tokens, TOML or JSON: ["gpt-5"] input = 1.25, output = 10.',
        ),
        click.option(
            "--max-parse-failures",
            type=int,
            metavar="N",
            help="End the run after more replies that cannot be read.",
        ),
    ]


def _kept() -> list[Callable[..., Any]]:
    return [
        click.option(
            "--cache",
            "use_cache",
            is_flag=True,
            help="Keep replies, and take those that are kept: see rag-eval cache info.",
        ),
        click.option("--cache-file", metavar="FILE", help="Keep them in FILE; implies --cache."),
        click.option(
            "--cache-max-age",
            type=float,
            metavar="DAYS",
            help="Ask again where a kept reply is older; implies --cache.",
        ),
        click.option(
            "--dry-run",
            is_flag=True,
            help="Ask nobody: print the calls and tokens that the run would take, and end.",
        ),
    ]


def judge_options(flags: dict[str, Any]) -> dict[str, Any]:
    """Take the flags of judging out of ``flags``, as options.

    The judge comes from a flag or from the environment, and only where one is to be asked.
    """
    models = flags.pop("judge_models")
    options: dict[str, Any] = {
        "metric_modes": _metric_modes(flags.pop("metric_modes")),
        "prompt_overrides": _prompts(flags.pop("prompt_overrides")),
        "scorer_options": scorer_options_of(flags.pop("scorer_options")),
        "cascade_band": _bands(flags.pop("cascade_band")),
        "judge_cache": _cache(
            flags.pop("use_cache"), flags.pop("cache_file"), flags.pop("cache_max_age")
        ),
    }
    if models is not None:
        if flags.get("judge") is not None:
            raise InputError("--judge and --judge-models exclude each other")
        from rag_eval.adapters.addresses import checked_addresses

        options["judges"] = checked_addresses(models)
    return {name: value for name, value in options.items() if value}


def judge_of_environment(options: Mapping[str, Any]) -> str | None:
    """The judge that the environment names, when one is to be asked and no flag names it."""
    if options.get("judge") is not None or options.get("judges") is not None:
        return None
    scorers = any(needs_judge(metric) for metric in options.get("metrics") or ())
    asked = options.get("mode") not in (None, "heuristic") or options.get("metric_modes")
    return os.environ.get(JUDGE_VARIABLE) or None if asked or scorers else None


def _pairs(flag: str, texts: Iterable[str], wanted: str) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{flag}: wanted {wanted}, got {text!r}")
        found[name.strip()] = value.strip()
    return found


def _metric_modes(texts: Iterable[str]) -> dict[str, str]:
    parts = [part for text in texts for part in text.split(",")]
    return _pairs("--metric-modes", parts, "METRIC=llm or METRIC=heuristic")


def _prompts(texts: Iterable[str]) -> dict[MetricId, Any]:
    found: dict[MetricId, Any] = {}
    for name, path in _pairs("--prompt", texts, "METRIC=FILE or METRIC/STEP=FILE").items():
        metric, _, step = name.partition("/")
        try:
            body = Path(path).read_text("utf-8-sig")
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8: byte {error.start + 1}") from None
        if not step:
            found[to_metric_id(metric)] = body
        else:
            steps = found.setdefault(to_metric_id(metric), {})
            if isinstance(steps, str):
                raise InputError(f"--prompt: {metric} is given with a step and without one")
            steps[step] = body
    return found


def scorer_options_of(texts: Iterable[str]) -> dict[MetricId, Any]:
    """Options of scorers, from flags such as ``omk.contains={"value": "a"}``."""
    found: dict[MetricId, Any] = {}
    for name, text in _pairs("--scorer-options", texts, "SCORER=JSON").items():
        try:
            value = json.loads(text)
        except ValueError as error:
            raise InputError(f"--scorer-options {name}: not JSON: {error}") from None
        found[to_metric_id(name)] = value
    return found


def _bands(texts: Iterable[str]) -> Any:
    bands: dict[MetricId, tuple[float, float]] = {}
    for text in texts:
        name, equals, ends = text.rpartition("=")
        if not equals:
            if len(tuple(texts)) > 1:
                raise InputError("--cascade-band: LOW:HIGH is for all metrics, and stands alone")
            return _band(text)
        bands[to_metric_id(name.strip())] = _band(ends)
    return bands


def _band(text: str) -> tuple[float, float]:
    ends = text.split(":")
    try:
        low, high = map(float, ends)
    except ValueError:
        raise InputError(f"--cascade-band: wanted LOW:HIGH, got {text!r}") from None
    return low, high


def _cache(use_cache: bool, file: str | None, max_age_days: float | None) -> Any:
    """The path of a cache, an open one where replies grow too old, or None."""
    if not use_cache and file is None and max_age_days is None:
        return None
    from rag_eval.judge.cache import JudgeCache
    from rag_eval.judge.cache_file import default_cache_path

    path = default_cache_path() if file is None else Path(file)
    return path if max_age_days is None else JudgeCache(path, max_age_days=max_age_days)
