"""The command line: parses, calls one public function per command, prints."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the ``rag-eval`` command."""
    try:
        from rag_eval.cli.program import program
    except KeyboardInterrupt:
        sys.exit(130)
    try:
        program(prog_name="rag-eval")
    except SystemExit as ended:
        if ended.code in (130, 143):
            # One more signal, while Python ends, would make another code of it.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
        raise
