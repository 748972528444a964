"""Flags that every command which reads samples has, and the options they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import rich_click as click

from rag_eval.errors import InputError
from rag_eval.inputs.schemas.fields import SCHEMA_NAMES

DATA_HELP: Final = (
    "DATA is a file of samples: .jsonl, .json, .csv, .parquet or .arrow, text also .gz or .zst; a "
    'quoted pattern such as "runs/*.jsonl"; or - for JSON lines on standard input.'
)


def reading_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say where in the data our fields are."""
    flags = [
        click.option(
            "--schema",
            type=click.Choice(SCHEMA_NAMES),
            metavar="NAME",
            help="Whose field names the data has, such as ragas or deepeval [recognised].",
        ),
        click.option(
            "--map",
            "mapping",
            metavar="FIELD=COLUMN,…",
            multiple=True,
            help="Where a field is: question=user_input, or contexts=docs[].text in nested data.",
        ),
        click.option(
            "--gold-separator",
            metavar="TEXT",
            help="Splits a ground truth into acceptable answers, for --profile grounded.",
        ),
        click.option(
            "--context-separator",
            metavar="TEXT",
            help="Splits a cell of CSV into contexts [a JSON array].",
        ),
        click.option(
            "--max-row-bytes",
            type=int,
            metavar="N",
            help="Longest row of a text file, in bytes, unpacked; a longer one ends the command "
            "[268435456, which is 256 MiB].",
        ),
        click.option(
            "--allow-changed-input",
            is_flag=True,
            default=None,
            help="Let a file change between its opening and the end; else the exit code is 2.",
        ),
    ]
    for flag in reversed(flags):
        command = flag(command)
    return command


def field_mapping(texts: Iterable[str]) -> dict[str, str]:
    """``question=user_input,answer=output``, once or several times -> a column per field."""
    mapping: dict[str, str] = {}
    for part in (part for text in texts for part in text.split(",")):
        name, equals, column = part.partition("=")
        if not equals or not column:
            raise InputError(f"--map: wanted FIELD=COLUMN, got {part!r}")
        if mapping.get(name.strip(), column) != column:
            raise InputError(f"--map: {name.strip()} is given twice")
        mapping[name.strip()] = column.strip()
    return mapping
