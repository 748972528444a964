"""The command line, called in the process of the test."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

from rag_eval.cli.program import program

# How messages end that name a bad row, and data without one.
LEAVE_OUT = ". Add --skip-invalid to skip such rows"
QUOTE_IT = '. Put numbers in quotes, such as "42", or add --skip-invalid to skip such rows'
WANTED_SAMPLES = (
    "; expected one row or JSON object per sample, with a question, an answer and contexts"
)


def invoke(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(program, [str(part) for part in arguments], **options)
