"""The command line: parses, calls one public function per command, prints."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the ``rag-eval`` command."""
    try:
        from rag_eval.cli.program import program
    except KeyboardInterrupt:
        sys.exit(130)
    program(prog_name="rag-eval")
