"""rag-eval.toml -> options of a run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.metrics.registry import needs_judge, to_metric_id
from rag_eval.options.plan import EVALUATE_KEYS, normalized
from rag_eval.plumbing.json_text import is_deeper
from rag_eval.plumbing.spelling import snake_case

# What each key may hold. ``weights`` is the flag's name for composite_weights.
_KINDS: Final[dict[str, tuple[str, type | tuple[type, ...]]]] = {
    "metrics": ("an array of metric ids", list),
    "profile": ("a string", str),
    "language": ("a language tag", str),
    "stemmer": ("a string", str),
    "calibration": ("a file name", str),
    "thresholds": ("a table of metrics", dict),
    "composite_threshold": ("a number", (int, float)),
    "weights": ("a table of metrics", dict),
    "heuristic": ("a table", dict),
    "min_pass_rate": ("a number", (int, float)),
    "min_mean": ("a table of metrics", dict),
    "max_mean": ("a table of metrics", dict),
    "baseline": ("a file name", str),
    "regression_threshold": ("a number", (int, float)),
    "allow_signature_mismatch": ("true or false", bool),
    "skip_invalid": ("true or false", bool),
    "threads": ("a whole number", int),
    "quantiles": ("a string", str),
    "schema": ("a string", str),
    "mapping": ("a table of fields", dict),
    "gold_separator": ("a string", str),
    "context_separator": ("a string", str),
    "max_row_bytes": ("a whole number", int),
    "allow_changed_input": ("true or false", bool),
    "details": ("true or false", bool),
    "worst": ("a whole number", int),
    "mode": ("a string", str),
    "metric_modes": ("a table of metrics", dict),
    "scorer_options": ("a table of scorers", dict),
    "judge_style": ("a string", str),
    "judge_repeat": ("a whole number", int),
    "length_debias": ("true or false", bool),
    "on_judge_failure": ("a string", str),
    "max_judge_failures": ("a number", (int, float)),
    "cascade_band": ("two numbers, or a table of them by metric", (list, dict)),
    "audit_share": ("a number", (int, float)),
    "judge_seed": ("a whole number", int),
    "concurrency": ("a whole number", int),
    "call_timeout_s": ("a number", (int, float)),
    "run_timeout_s": ("a number", (int, float)),
    "retries": ("a whole number", int),
    "requests_per_minute": ("a number", (int, float)),
    "tokens_per_minute": ("a number", (int, float)),
    "max_calls": ("a whole number", int),
    "budget_usd": ("a number", (int, float)),
    "max_parse_failures": ("a whole number", int),
    "prices": ("a file name", str),
}
_MOST_BYTES: Final = 1 << 20
_MOST_DEPTH: Final = 100
_MOST_PARTS: Final = 32
# As many parts of a key, one after the other: the parser keeps a copy of the key up to each, and
# 100 KB of "a.a.a" fill 10 GB.
_LONG_KEY: Final = re.compile(
    r"(?<![A-Za-z0-9_-])"
    r"(?:(?:[A-Za-z0-9_-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"
    f"{{{_MOST_PARTS}}}"
)
# Who runs a file does not always write it: what it could send texts and keys to, it may not name.
_OF_JUDGES: Final = frozenset(
    {"judge", "judges", "judge_model", "judge_models", "model", "base_url", "url", "host"}
    | {"judge_url", "judge_base_url", "judge_address", "api_key", "judge_key", "judge_api_key"}
    | {"judge_cache", "cache", "cache_file", "prompt_overrides", "prompt"}
)
_SAME: Final = {"composite_weights": "weights", "map": "mapping"}


def read_config(path: str | Path) -> dict[str, Any]:
    """The options in a configuration file, ``metrics`` among them.

    Keys are those of ``jobs.options.RunOptions`` and ``metrics``, at the top level or in a table
    ``[run]``; ``weights`` stands for ``composite_weights``. The name of a baseline, of a
    calibration or of a table of prices is taken from the folder of the file. Who judges, and what
    files a judge's replies and prompts are in, is refused here.

    Raises
    ------
    InputError
        For a key that is no option (the message suggests the nearest), or a value of a wrong kind.
    """
    file = Path(path)
    try:
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise InputError(f"{file} has more than {_MOST_BYTES:,} bytes, which no options need")
        text = data.decode("utf-8-sig")
        if _LONG_KEY.search(text):
            raise InputError(f"{file}: a key has more than {_MOST_PARTS} parts")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8: byte {error.start + 1}") from None
    except InputError:
        raise
    except ValueError as error:  # also of an integer of 5,000 digits
        raise InputError(f"{file} is not TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{file}: nested more than {_MOST_DEPTH} deep") from None
    if is_deeper(content, _MOST_DEPTH):
        raise InputError(f"{file}: nested more than {_MOST_DEPTH} deep")
    try:
        return _options(content, file.parent)
    except (InputError, TypeError) as error:
        raise InputError(f"{file}: {error}") from None


def _options(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    table = content.get("run", {})
    if not isinstance(table, dict):
        raise InputError(f"run must be a table, got {type(table).__name__}")
    options: dict[str, Any] = {}
    for key, value in [*((k, v) for k, v in content.items() if k != "run"), *table.items()]:
        name = _SAME.get(snake_case(key), snake_case(key))
        if name in _OF_JUDGES:
            raise InputError(_refusal(key, name))
        if name not in _KINDS:
            raise InputError(f"unknown key {glance(key)}{suggestion(name, _KINDS)}")
        if name in options:
            raise InputError(f"{name} is given twice")
        wanted, kinds = _KINDS[name]
        is_flag = isinstance(value, bool)
        if not isinstance(value, kinds) or (is_flag and kinds is not bool):
            raise InputError(f"{name} must be {wanted}, got {glance(value)}")
        options[name] = value
    if not all(isinstance(metric, str) for metric in options.get("metrics", ())):
        raise InputError(f"metrics must be names, got {glance(options['metrics'])}")
    _check_scorers(options.get("scorer_options", {}))
    if "weights" in options:
        options["composite_weights"] = options.pop("weights")
    for name in ("baseline", "calibration", "prices"):
        if name in options:
            options[name] = _file_beside(folder, options[name], name)
    evaluation = {name: value for name, value in options.items() if name in EVALUATE_KEYS}
    return {**options, **normalized(evaluation, "run", EVALUATE_KEYS)}


def _file_beside(folder: Path, named: str, name: str) -> Path:
    """The file that an option names; devices and pipes could go on for ever."""
    path = folder / named
    if "\0" in named or (path.exists() and not path.is_file()):
        raise InputError(f"{name} must be the name of a regular file, got {glance(named)}")
    return path


def _check_scorers(scorer_options: Mapping[str, Any]) -> None:
    for name in scorer_options:
        if needs_judge(to_metric_id(name)):
            raise InputError(
                f"scorer_options[{name!r}] is not for a configuration file: what a judge is asked "
                "comes from --scorer-options"
            )


def _refusal(key: str, name: str) -> str:
    if name in ("judge_cache", "cache", "cache_file"):
        return f"{key} is not for a configuration file: the cache comes from --cache-file"
    if name in ("prompt_overrides", "prompt"):
        return f"{key} is not for a configuration file: prompts come from --prompt"
    return (
        f"{key} is not for a configuration file: the judge comes from --judge, an argument or "
        "RAG_EVAL_JUDGE, never from a file that came with the data, which could send texts and "
        "keys anywhere"
    )
