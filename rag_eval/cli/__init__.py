"""The command line: parses, calls one public function per command, prints."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Final

# The objects of a block of rows are dropped together, and none is in a cycle: to look for cycles as
# often as Python does takes a tenth of a run.
_COLLECTED: Final = (500_000, 20, 20)
# Threads that score blocks, or pack those of a report, need the GIL between two of them. By default
# they may wait 5 ms for it each time, which is as long as packing a block takes.
_SWITCH_SECONDS: Final = 0.0005
# When numpy is imported, its OpenBLAS starts a thread for each core, and these spin while they wait
# for work. No matrix of ours is so large that they pay, and the cores have rows to score.
_MATRIX_THREADS: Final = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def main() -> None:
    """Run the ``rag-eval`` command, which has the process to itself."""
    try:
        gc.set_threshold(*_COLLECTED)
        sys.setswitchinterval(_SWITCH_SECONDS)
        if not any(name in os.environ for name in _MATRIX_THREADS):
            os.environ[_MATRIX_THREADS[0]] = "1"
        from rag_eval.cli.program import program
        from rag_eval.cli.user_code import has_run
    except KeyboardInterrupt:
        sys.exit(130)
    try:
        program(prog_name="rag-eval")
    except SystemExit as ended:
        if ended.code in (130, 143):
            # One more signal, while Python ends, would make another code of it.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
        # Python would search all objects for cycles before it ends. Ours have nothing left to do;
        # those of a user's module may have to write what they hold.
        if not has_run():
            gc.freeze()
        raise
