"""The command line: parses, calls one public function per command, prints."""

from __future__ import annotations


def main() -> None:
    """Run the ``rag-eval`` command."""
    from rag_eval.cli.program import program

    program(prog_name="rag-eval")
