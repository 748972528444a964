"""The command line, called in the process of the test."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

from rag_eval.cli.program import program


def invoke(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(program, [str(part) for part in arguments], **options)
