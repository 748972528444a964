"""Declarations of options: values, default, help, and where an option can be given.

A form is a TypedDict whose keys are ``Annotated[type, Option(...)]``. Messages, flags, keys of
``rag-eval.toml``, docstrings and the options reference are generated from these declarations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from os import PathLike
from typing import Any, Final

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.metrics.registry import to_metric_id
from rag_eval.plumbing.checked_values import (
    flag,
    from_zero,
    number,
    one_of,
    plain,
    positive,
    seed_number,
    share,
    whole_from_one,
    whole_from_zero,
)
from rag_eval.plumbing.spelling import snake_case


def _unchecked(value: Any, name: str) -> Any:
    """Values that are checked where they are used, beside what else they depend on."""
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    """What values an option takes.

    Attributes
    ----------
    words : str
        In messages and pages, such as "a whole number".
    in_toml : tuple of type
        What a value is in ``rag-eval.toml``.
    metavar : str
        What stands for a value in the help of a command.
    check : callable
        Gets a value and the option's name; returns it as it is used, or raises an InputError.
    choices : tuple of str
        All values, where they are few.
    by_metric : bool
        A mapping of metrics, whose names are taken in either spelling.
    form : type or None
        A mapping with options of its own.
    in_percent : bool
        A command takes ``2%`` for 0.02, too.
    """

    words: str
    in_toml: tuple[type, ...]
    metavar: str = ""
    check: Callable[[Any, str], Any] = _unchecked
    choices: tuple[str, ...] = ()
    by_metric: bool = False
    form: type | None = None
    in_percent: bool = False

    def fits_toml(self, value: object) -> bool:
        """Whether a value of ``rag-eval.toml`` is of the right type; true is not a number."""
        is_flag = isinstance(value, bool)
        return isinstance(value, self.in_toml) and is_flag <= (bool in self.in_toml)


# Cached: Python 3.14 evaluates the declarations again for each form that inherits them.
@cache
def choice(*choices: str) -> Kind:
    """One of a few names."""
    return Kind("a string", (str,), "", lambda value, name: one_of(value, name, choices), choices)


@cache
def whole_number(largest: int) -> Kind:
    """A whole number of either sign, bounded."""

    def check(value: Any, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > largest:
            raise InputError(f"{name} must be a whole number, got {glance(value)}")
        return value

    return Kind("a whole number", (int,), "N", check)


@cache
def whole_from_one_to(largest: int) -> Kind:
    """A whole number of at least 1, bounded."""

    def check(value: Any, name: str) -> int:
        if whole_from_one(value, name) > largest:
            raise InputError(f"{name} must be at most {largest:,}, got {glance(value)}")
        return int(value)

    return Kind(f"a whole number from 1 to {largest:,}", (int,), "N", check)


def _typed(words: str, in_toml: type, metavar: str = "", *more: type) -> Kind:
    """Any value of a type, or of more types in Python."""

    def check(value: Any, name: str) -> Any:
        if not isinstance(value, (in_toml, *more)):
            raise InputError(f"{name} must be {words}, got {glance(value)}")
        return value

    return Kind(words, (in_toml,), metavar, check)


def _separator(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be a non-empty string, got {glance(value)}")
    return value


def _names(value: Any, name: str) -> tuple[str, ...]:
    names = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else ("",)
    if not all(isinstance(one, str) and one for one in names):
        raise InputError(f"{name} must be a list of names, got {glance(value)}")
    return names


ANY: Final = Kind("a Python object", ())
FLAG: Final = Kind("true or false", (bool,), "", flag)
NUMBER: Final = Kind("a number", (int, float), "X", number, in_percent=True)
DIFFERENCE: Final = Kind("a number above 0", (int, float), "X", positive, in_percent=True)
POSITIVE: Final = Kind("a number above 0", (int, float), "X", positive)
FROM_ZERO: Final = Kind("a number of at least 0", (int, float), "X", from_zero)
SHARE: Final = Kind("a number from 0 to 1", (int, float), "X", share)
WHOLE_FROM_ONE: Final = Kind("a whole number of at least 1", (int,), "N", whole_from_one)
WHOLE_FROM_ZERO: Final = Kind("a whole number of at least 0", (int,), "N", whole_from_zero)
SEED: Final = Kind("a whole number of at least 0", (int,), "N", seed_number)
TEXT: Final = _typed("a string", str, "TEXT")
SEPARATOR: Final = Kind("a non-empty string", (str,), "TEXT", _separator)
NAMES: Final = Kind("a list of names", (list,), "NAME,…", _names)
FILE: Final = _typed("a file name", str, "FILE", PathLike)
FILE_OR_OBJECT: Final = Kind("a file name", (str,), "FILE")
BY_METRIC: Final = Kind("a table of metrics", (dict,), by_metric=True)
MARGIN: Final = Kind(
    "a number, or a table of metrics and numbers", (int, float, dict), "X|METRIC=X"
)
NUMBER_BY_METRIC: Final = Kind(
    "a table of metrics and numbers", (dict,), "METRIC=X,…", by_metric=True
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a form.

    In texts ``{name}`` stands for another option and ``{name=value}`` for a value of it; they come
    out as ``--name value`` in the help of a command, and as ``name="value"`` for Python.

    Attributes
    ----------
    kind : Kind
    help : str
        What it does; the help of its flag, too.
    default : object
        None if there is none, or no one value is it.
    unset : str
        The default in words, if it is not a value.
    more : str
        What the docstring and the page of options say beyond ``help``.
    takes : str
        What values it takes in Python, where that is more than its kind says.
    flag, metavar : str
        By default the flag is named as the option.
    flag_help : str
        Where a flag takes or does something else than the option in Python.
    no_flag, no_toml : str
        Why it has no flag, and why ``rag-eval.toml`` cannot give it.
    table : str
        The table of ``rag-eval.toml`` that it is set in by rule: its flag works, and is not listed.
    noted : bool
        A store notes it with a run: a setting, without a text, a key or an address. What changes a
        score is in the signature, too.
    name : str
        Its key, put in by :func:`declared`.
    """

    kind: Kind
    help: str
    _: KW_ONLY
    default: Any = None
    unset: str = ""
    more: str = ""
    takes: str = ""
    flag: str = ""
    metavar: str = ""
    flag_help: str = ""
    no_flag: str = ""
    no_toml: str = ""
    table: str = ""
    noted: bool = False
    name: str = ""

    def of(self, options: Mapping[str, Any]) -> Any:
        """Its value among the options of a call, checked; its default where it is not given."""
        value = options.get(self.name)
        return self.default if value is None else self.kind.check(plain(value), self.name)

    @property
    def values(self) -> str:
        """What values it takes in Python, in words."""
        return self.takes or ", ".join(map(repr, self.kind.choices)) or self.kind.words

    @property
    def default_text(self) -> str:
        """The default as people write it; empty if there is none."""
        if self.unset or self.default is None or isinstance(self.default, bool):
            return self.unset
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    @property
    def flag_name(self) -> str:
        """Its flag on the command line."""
        return self.flag or "--" + self.name.replace("_", "-")

    @property
    def flag_metavar(self) -> str:
        """What stands for its value in the help of a command."""
        return self.metavar or self.kind.metavar

    @property
    def flag_text(self) -> str:
        """The help of its flag, which ends with the default in brackets."""
        text = self.flag_help or self.help
        default = "" if self.flag_name.startswith("--no-") else self.default_text
        return _REFERENCE.sub(_as_flag, f"{text} [default: {default}]" if default else text)

    @property
    def text(self) -> str:
        """What it does, for Python."""
        return for_python(f"{self.help} {self.more}".rstrip())


def for_python(text: str) -> str:
    """A text of a declaration with other options as Python names them."""
    return _REFERENCE.sub(_as_argument, text)


_REFERENCE: Final = re.compile(r"\{(\w+)(?:=(\w+))?\}")


def _as_flag(found: re.Match[str]) -> str:
    name, value = found.groups()
    flag = "--" + name.replace("_", "-")
    return flag if value is None else f"{flag} {value}"


def _as_argument(found: re.Match[str]) -> str:
    name, value = found.groups()
    return f"``{name}``" if value is None else f'``{name}="{value}"``'


@cache
def declared(form: type) -> Mapping[str, Option]:
    """The options of a form by their names, those of the forms that it extends among them."""
    return {
        name: replace(annotation.__metadata__[0], name=name)
        for name, annotation in form.__annotations__.items()
    }


def document(form: type, *extended: type) -> None:
    """Add to the docstring of a form the options that are its own."""
    inherited = {name for base in extended for name in base.__annotations__}
    lines = [(form.__doc__ or "").rstrip(), "", "    Attributes", "    ----------"]
    for name, option in declared(form).items():
        if name not in inherited:
            default = f", default {for_python(option.default_text)}" if option.default_text else ""
            lines += [f"    {name} : {option.values}{default}"]
            lines += [f"        {option.text}"]
    form.__doc__ = "\n".join([*lines, "    "])


# ---------------------------------------------------------------------- the options of a call

# Overlaid key by key when a call's options meet an evaluator's; others are replaced whole.
_OVERLAID: Final = ("thresholds", "composite_weights", "heuristic")


def _renamed(
    options: Mapping[str, Any], owner: str, rename: Callable[[str], str]
) -> dict[str, Any]:
    """The options under their own spelling; two spellings of one with two values are an error."""
    renamed: dict[str, Any] = {}
    for name, value in options.items():
        key = rename(name)
        if key in renamed and renamed[key] != value:
            raise InputError(f"{owner} {key!r} is given twice with different values")
        renamed[key] = value
    return renamed


def _hint(key: str, known: Mapping[str, Option]) -> str:
    for name, option in known.items():
        if option.kind.form is not None and key in declared(option.kind.form):
            return f"; it goes into {name}={{'{key}': ...}}"
    return suggestion(key, known)


def _known_options(
    options: Mapping[str, Any], owner: str, known: Mapping[str, Option]
) -> dict[str, Any]:
    def rename(name: Any) -> str:
        key = snake_case(name) if isinstance(name, str) else name
        if key not in known:
            raise TypeError(f"{owner} has no option {glance(name)}{_hint(key, known)}")
        return key

    return _renamed(options, f"{owner}: option", rename)


def _checked(value: Any, option: Option) -> Any:
    name, kind = option.name, option.kind
    if kind.by_metric:
        if not isinstance(value, Mapping):
            raise InputError(
                f"{name} must be a mapping of metrics, got {type(value).__name__}; expected "
                "{'faithfulness': ...}"
            )
        return _renamed(value, name, to_metric_id)
    if kind.form is not None:
        if not isinstance(value, Mapping):
            raise InputError(f"{name} must be a mapping, got {type(value).__name__}")
        return _known_options(value, name, declared(kind.form))
    return kind.check(plain(value), name)


def normalized(options: Mapping[str, Any], owner: str, form: type) -> dict[str, Any]:
    """Options by their snake_case names, nested ones too, each with a value that it takes.

    Raises
    ------
    TypeError
        For a name that is not an option of ``form``; the message suggests the nearest one.
    InputError
        For an unknown metric, two spellings with different values, or a value that is invalid for
        its option.
    """
    known = declared(form)
    return {
        name: None if value is None else _checked(value, known[name])
        for name, value in _known_options(options, owner, known).items()
    }


def overlaid(config: Mapping[str, Any], call: Mapping[str, Any]) -> dict[str, Any]:
    """A call's options over an evaluator's, both normalized.

    Thresholds, composite weights and heuristic options are merged key by key, and None there
    leaves the evaluator's; any other option given in the call replaces the evaluator's, None
    with the library's default.
    """
    merged = {**config, **call}
    for name in _OVERLAID:
        if name in call:
            merged[name] = {**(config.get(name) or {}), **(call[name] or {})}
    return merged
