"""Flags: those of options, made from their declarations, and those that many commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import rich_click as click

from rag_eval.cli.parameters import (
    A_NUMBER,
    A_SHARE,
    OF_KIND,
    OF_OPTION,
    completed_metric,
    completion,
)
from rag_eval.options.declared import FLAG, NAMES, SHARE, Option, declared
from rag_eval.options.gate_types import PairedTestOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Flag = Callable[[_Command], _Command]


def flags(*each: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Several flags, which a command's help lists in this order."""

    def decorate(command: _Command) -> _Command:
        for flag in reversed(each):
            command = flag(command)
        return command

    return decorate


def flags_of(form: type, *but: type, **special: dict[str, Any]) -> Callable[[_Command], _Command]:
    """The flags of the options of a form; not those of other forms.

    ``special`` is what click is told of an option beyond its declaration, by its name.
    """
    left_out = {name for other in but for name in declared(other)}
    options = [option for name, option in declared(form).items() if name not in left_out]
    return flags(*(flag_of(one, **special.get(one.name, {})) for one in options if not one.no_flag))


def flag_of(option: Option, **special: Any) -> Callable[[Any], Any]:
    """The flag of an option: its values are those that the option takes in Python."""
    kind = option.kind
    told: dict[str, Any] = {"help": option.flag_text, "metavar": option.flag_metavar or None}
    read = OF_OPTION.get(option.name) or OF_KIND.get(kind)
    if kind is FLAG:
        told |= {"is_flag": True, "default": None, "metavar": None}
        if option.flag_name.startswith("--no-"):
            told["flag_value"] = False
    elif read is not None:
        told |= {"multiple": True, "callback": reading(read)}
    elif kind is NAMES:
        told |= {"multiple": True, "callback": _names if option.flag_metavar[-1:] == "…" else None}
    elif kind.choices:
        told["type"] = click.Choice(kind.choices)
    elif kind is SHARE:
        told["type"] = A_SHARE
    elif kind.in_percent:
        told["type"] = A_NUMBER
    elif int in kind.in_toml:
        told["type"] = float if float in kind.in_toml else int
    told |= {"shell_complete": completion(option), "hidden": bool(option.table)}
    return click.option(option.flag_name, option.name, **{**told, **special})


def reading(read: Callable[[str, Iterable[str]], Any]) -> Callable[..., Any]:
    """A callback that reads the texts of a flag, and knows its name for messages."""

    def callback(context: click.Context, parameter: click.Parameter, texts: Any) -> Any:
        return read(parameter.opts[0], texts)

    return callback


def _names(context: click.Context, parameter: click.Parameter, texts: Iterable[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",")]


# ------------------------------------------------------------------------- of many commands


def format_flag(*forms: str, text: str = "Format of stdout.") -> Callable[[Any], Any]:
    """In what form the result is printed; the first by default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help=text,
    )


def field_flag(field: str, text: str) -> Callable[[Any], Any]:
    """The name of a column or field."""
    return click.option(
        f"--{field}-field", metavar="NAME", default=field, show_default=True, help=text
    )


ID_FIELD: Final = field_flag("id", "Field that holds the ids of rows.")
SEED: Final = click.option(
    "--seed", type=int, metavar="N", default=0, show_default=True, help="Seed of all random draws."
)
LEVEL: Final = click.option(
    "--level",
    type=A_SHARE,
    metavar="L",
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
LOWER_IS_BETTER: Final = click.option(
    "--lower-is-better",
    multiple=True,
    metavar="METRIC",
    shell_complete=completed_metric,
    help="Treat this custom metric as lower-is-better, if its file does not say so.",
)
CLUSTER_BY: Final = click.option(
    "--cluster-by",
    metavar="FIELD",
    help="Field whose equal values mark rows that belong together, such as a document or a user.",
)
# Of a paired test of two runs.
TEST_FLAGS: Final = flags(
    LOWER_IS_BETTER,
    CLUSTER_BY,
    flags_of(PairedTestOptions),
    ID_FIELD,
    click.option("--force", is_flag=True, help="Compare runs even if their settings differ."),
)


def given_of(options: Mapping[str, Any], form: type) -> dict[str, Any]:
    """The options of a form that a flag gave; a call has the defaults of the others."""
    return {
        name: options[name]
        for name in declared(form)
        if options.get(name) not in (None, {}, [], ())
    }
