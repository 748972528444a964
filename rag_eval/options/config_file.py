"""rag-eval.toml -> options of a run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.judge.call_options import check_file_options
from rag_eval.metrics.registry import needs_judge, to_metric_id
from rag_eval.options.declared import (
    FILE,
    NUMBER_BY_METRIC,
    SHARE,
    Kind,
    Option,
    declared,
    normalized,
)
from rag_eval.options.file_types import ConfigOptions
from rag_eval.options.judge_types import JudgeOptions
from rag_eval.plumbing.checked_values import number_of
from rag_eval.plumbing.json_text import is_deeper
from rag_eval.plumbing.spelling import snake_case
from rag_eval.plumbing.unreadable import unreadable

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
_KNOWN: Final = declared(ConfigOptions)
_OF_JUDGING: Final = declared(JudgeOptions)
# A key may be spelt as the flag: ``weights`` for composite_weights.
_AS_FLAGS: Final = {
    option.flag.removeprefix("--").replace("-", "_"): name
    for name, option in _KNOWN.items()
    if option.flag and not option.flag.startswith("--no-")
}
# Who runs a file does not always write it: what it could send texts and keys to, it may not name.
_REFUSED: Final = {
    **dict.fromkeys(
        [
            "judge_model",
            "model",
            "base_url",
            "url",
            "host",
            "judge_url",
            "judge_base_url",
            "judge_address",
            "api_key",
            "judge_key",
            "judge_api_key",
        ],
        _KNOWN["judge"].no_toml,
    ),
    **dict.fromkeys(("cache", "cache_file"), _KNOWN["judge_cache"].no_toml),
    **{name: option.no_toml for name, option in _KNOWN.items() if option.no_toml},
}


def read_config(path: str | Path) -> dict[str, Any]:
    """The options in a configuration file, ``metrics`` among them.

    Keys are those of :class:`rag_eval.options.file_types.ConfigOptions`, also as their flags are
    spelt, at the top level or in a table ``[run]``; those of judging also in ``[judge]``. The name
    of a baseline, of a calibration or of a table of prices is taken from the folder of the file.
    Who judges, and what files a judge's replies and prompts are in, is refused here.

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
            raise InputError(f"{file} is larger than {_MOST_BYTES:,} bytes")
        text = data.decode("utf-8-sig")
        if _LONG_KEY.search(text):
            raise InputError(f"{file}: a key has more than {_MOST_PARTS} parts")
        content = tomllib.loads(text)
    except OSError as error:
        raise unreadable(file, error) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8: byte {error.start + 1}") from None
    except InputError:
        raise
    except ValueError as error:  # also of an integer of 5,000 digits
        raise InputError(f"{file} is not valid TOML: {error}{_quotes_hint(error)}") from None
    except RecursionError:
        raise InputError(f"{file}: nested more than {_MOST_DEPTH} deep") from None
    if is_deeper(content, _MOST_DEPTH):
        raise InputError(f"{file}: nested more than {_MOST_DEPTH} deep")
    try:
        return _options(content, file.parent)
    except (InputError, TypeError) as error:
        raise InputError(f"{file}: {error}") from None


def _quotes_hint(error: ValueError) -> str:
    unquoted = str(error).startswith("Invalid value")
    return """. Strings need quotes: profile = "grounded\"""" if unquoted else ""


def _options(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    # ``judge = "…"`` is a key that the top level refuses.
    tables = {name: content[name] for name in ("run", "judge") if _is_table(content, name)}
    options = _options_of({k: v for k, v in content.items() if k not in tables}, folder)
    if "options" in tables.get("judge", {}):
        tables["judge"] = {
            "judge_options" if name == "options" else name: value
            for name, value in tables["judge"].items()
        }
    for name, table in tables.items():
        try:
            found = _options_of(table, folder, _OF_JUDGING if name == "judge" else _KNOWN)
            for option in found.keys() & options:
                raise InputError(f"{option} is given twice")
        except (InputError, TypeError) as error:
            raise InputError(_in_table(str(error), name)) from None
        options |= found
    return options


def _in_table(fault: str, table: str) -> str:
    """``retries in [judge] must be …``; a fault that does not begin with its key as it is."""
    key, space, rest = fault.partition(" ")
    is_of_key = rest.startswith(("must ", "is "))
    return f"{key} in [{table}] {rest}" if space and is_of_key else f"[{table}] {fault}"


def _is_table(content: Mapping[str, Any], name: str) -> bool:
    if name == "run" and not isinstance(content.get(name, {}), dict):
        raise InputError(f"run must be a table, got {type(content[name]).__name__}")
    return isinstance(content.get(name), dict)


def _options_of(
    table: Mapping[str, Any], folder: Path, taken: Mapping[str, Option] = _KNOWN
) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, value in table.items():
        spelt = snake_case(key).replace("-", "_")
        name = _AS_FLAGS.get(spelt, spelt)
        if name in _REFUSED:
            raise InputError(f"{key} is not allowed in a configuration file: {_REFUSED[name]}")
        if name not in _KNOWN:
            near = [*taken, *(flag for flag, option in _AS_FLAGS.items() if option in taken)]
            hint = suggestion(name, (one for one in near if one not in _REFUSED))
            raise InputError(f"unknown key {glance(key)}{hint}")
        if name not in taken:
            raise InputError(
                f"{key} is not an option of a judge. Move it to the top of the file, above the "
                "first [table]"
            )
        if name in options:
            raise InputError(f"{name} is given twice")
        kind = _KNOWN[name].kind
        given = _without_percentages(value, kind)
        if not kind.fits_toml(given):
            raise InputError(f"{name} must be {kind.words}, got {glance(value)}")
        is_file = kind.words == FILE.words
        options[name] = _file_beside(folder, value, name) if is_file else given
    if not all(isinstance(metric, str) for metric in options.get("metrics", ())):
        raise InputError(f"metrics must be names, got {glance(options['metrics'])}")
    _check_scorers(options.get("scorer_options", {}))
    found = normalized(options, "run", ConfigOptions)
    check_file_options(found.get("judge_options") or {}, "judge_options")
    return found


def _without_percentages(value: Any, kind: Kind) -> Any:
    """``"90%"`` as a number where the flag takes it: for a share, and for a number per metric."""
    if kind is SHARE and isinstance(value, str) and value.endswith("%"):
        try:
            return number_of(value)
        except ValueError:
            return value
    if kind is NUMBER_BY_METRIC and isinstance(value, dict):
        return {name: _without_percentages(one, SHARE) for name, one in value.items()}
    return value


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
                f"scorer_options[{name!r}] is not allowed in a configuration file: options "
                "of a judge must be given with --scorer-options"
            )
