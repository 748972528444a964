"""What judging takes besides the judge: calls a second, and memory of jobs that wait.

The judges answer at once, so all that is timed is the machinery: slot, prompt, call, reading,
counting. Memory is that of a process of its own, over what it held when its first calls were done.
Then the same question through a vendor's SDK, beside the SDK by itself, and whole runs.

    python -m benchmarks.judge_machinery [--calls N] [--pending N] [--rounds N] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import bare_sdk, judged_runs, timing
from benchmarks.judge_question import FIELDS, STEP, STYLE, Verdict, mark_in, reply_text
from rag_eval.judge import loop_thread
from rag_eval.judge.loop_thread import Job, run_jobs
from rag_eval.judge.reading import read_reply
from rag_eval.judge.rendering import render
from rag_eval.judge.replies import JudgeFn, JudgeLimits, JudgeReply, Tally
from rag_eval.judge.session import JudgeSession

CALLS_PER_SECOND_BAR: Final = 2_000.0
GROWTH_BAR_MB: Final = 60.0

_ROOT: Final = Path(__file__).resolve().parents[1]
_WARM_UP: Final = 1_000


async def async_judge(prompt: str) -> str:
    """Answers at once, in the loop."""
    return reply_text(mark_in(prompt))


def sync_judge(prompt: str) -> str:
    """Answers at once, on a thread."""
    return reply_text(mark_in(prompt))


JUDGES: Final[dict[str, JudgeFn]] = {"async callable": async_judge, "plain function": sync_judge}


# ------------------------------------------------------------------------------------- speed


def judged(judge: JudgeFn, n_calls: int) -> None:
    """So many questions, each answered; the jobs are made as they are needed."""
    with JudgeSession([judge], JudgeLimits(), style=STYLE) as session:
        asker = session.asker()

        async def job() -> None:
            found = await asker.ask(STEP, FIELDS, Tally())
            assert found.value.verdict == 1

        def jobs() -> Iterator[Job]:
            for _ in range(n_calls):
                yield job

        loop_thread.run(run_jobs(jobs(), JudgeLimits().concurrency))
        assert session.tally.llm_calls == n_calls


def speeds(n_calls: int, rounds: int) -> dict[str, timing.Spread]:
    """Calls a second of each kind of judge."""

    def call_of(judge: JudgeFn) -> Callable[[], None]:
        return lambda: judged(judge, n_calls)

    seconds = timing.in_turns({name: call_of(judge) for name, judge in JUDGES.items()}, rounds)
    return {
        name: timing.Spread.of([n_calls / one for one in taken]) for name, taken in seconds.items()
    }


def part_costs(n_calls: int, rounds: int) -> dict[str, timing.Spread]:
    """Microseconds of processor time of a call to an async callable, and of two parts of it."""
    prompt = render(STEP, FIELDS, STYLE)
    reply = JudgeReply(reply_text(prompt.mark))

    def make_prompts() -> None:
        for _ in range(n_calls):
            render(STEP, FIELDS, STYLE)

    def read_replies() -> None:
        for _ in range(n_calls):
            read_reply(reply, prompt.mark, Verdict)

    calls = {
        "whole": lambda: judged(async_judge, n_calls),
        "prompt": make_prompts,
        "reading": read_replies,
    }
    seconds = timing.in_turns(calls, rounds, clock=time.process_time)
    return {
        name: timing.Spread.of([1e6 * one / n_calls for one in taken])
        for name, taken in seconds.items()
    }


# ------------------------------------------------------------------------------------ memory


def _status_mb(name: str) -> float:
    """A figure of this process. ``getrusage`` would begin at the peak of who started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemExit(f"/proc/self/status has no {name}")


def growth_mb(n_pending: int) -> float:
    """The peak of this process when so many jobs wait for their turn, over what it holds before."""
    judged(async_judge, _WARM_UP)
    before = _status_mb("VmRSS")
    judged(async_judge, n_pending)
    return _status_mb("VmHWM") - before


def growth_elsewhere(n_pending: int) -> dict[str, Any]:
    """That, in a process that did nothing else, and its bar."""
    command = [sys.executable, "-m", "benchmarks.judge_machinery", "--growth", str(n_pending)]
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return {
        "pending": n_pending,
        "pending_seconds": time.perf_counter() - begin,
        "growth_mb": float(done.stdout),
        "growth_bar_mb": GROWTH_BAR_MB,
    }


# -------------------------------------------------------------------------------- all figures


def machinery(n_calls: int, rounds: int) -> dict[str, Any]:
    """Calls a second and their bar, and what the parts of a call take."""
    return {
        "calls_per_second": {
            name: spread.as_list() for name, spread in speeds(n_calls, rounds).items()
        },
        "calls_per_second_bar": CALLS_PER_SECOND_BAR,
        "part_us": {name: spread.as_list() for name, spread in part_costs(n_calls, rounds).items()},
    }


def measure(n_calls: int, n_pending: int, rounds: int) -> dict[str, Any]:
    """All figures, one after another."""
    return {
        **growth_elsewhere(n_pending),
        **machinery(n_calls, rounds),
        "beside_sdk": [
            bare_sdk.figures(provider, concurrency, max(50, n_calls // 10), rounds)
            for provider in bare_sdk.installed_sdks()
            for concurrency in bare_sdk.CONCURRENCIES
        ],
        "runs": judged_runs.run_rates(max(20, n_calls // 20), rounds),
        "load": os.getloadavg(),
    }


def complaints(figures: dict[str, Any]) -> Iterator[str]:
    """The bars that were lost."""
    for name, (median, _, _) in figures["calls_per_second"].items():
        if median < figures["calls_per_second_bar"]:
            bar = figures["calls_per_second_bar"]
            yield f"{name}: {median:,.0f} calls/s, the bar is {bar:,.0f}"
    if figures["growth_mb"] > figures["growth_bar_mb"]:
        yield f"memory: {figures['growth_mb']:.1f} MB, the bar is {figures['growth_bar_mb']:.0f} MB"
    for one in figures["beside_sdk"]:
        if one["ratio"][0] < one["bar"]:
            yield (
                f"beside the SDK of {one['provider']}, {one['concurrency']} at a time: "
                f"{one['ratio'][0]:.2f} of its rate, the bar is {one['bar']}"
            )


def lines(figures: dict[str, Any]) -> Iterator[str]:
    """The figures, one to a line."""
    for name, (median, low, high) in figures["calls_per_second"].items():
        bar = figures["calls_per_second_bar"]
        yield f"{name}: {median:,.0f} calls/s ({low:,.0f} to {high:,.0f}; bar {bar:,.0f})"
    yield "µs a call: " + ", ".join(
        f"{name} {median:,.0f}" for name, (median, _, _) in figures["part_us"].items()
    )
    yield (
        f"{figures['pending']:,} jobs pending: peak RSS grows by {figures['growth_mb']:.1f} MB "
        f"(bar {figures['growth_bar_mb']:.0f} MB)"
    )
    for one in figures["beside_sdk"]:
        ratio, by_processor = one["ratio"], one["processor_ratio"]
        yield (
            f"{one['provider']}, {one['concurrency']} at a time: "
            f"{one['calls_per_second']['library'][0]:,.0f} calls/s, by itself "
            f"{one['calls_per_second']['sdk'][0]:,.0f}; ratio {ratio[0]:.2f} ({ratio[1]:.2f} to "
            f"{ratio[2]:.2f}; bar {one['bar']}), by processor time {by_processor[0]:.2f}; "
            f"server {one['server_us']:,.0f} µs a call"
        )
    for style, one in figures["runs"].items():
        yield (
            f"whole run, {style}: {one['rows_per_second'][0]:,.0f} rows/s, "
            f"{one['calls_per_second'][0]:,.0f} calls/s, {one['calls_a_row']:g} calls a row, "
            f"{one['processor_us'][0]:,.0f} µs of processor time a call"
        )
    yield "load average: " + ", ".join(f"{load:.1f}" for load in figures["load"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when all bars are met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge_machinery")
    parser.add_argument("--calls", type=int, default=5_000, help="calls that are timed at a time")
    parser.add_argument("--pending", type=int, default=100_000, help="jobs that wait")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--growth", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.growth is not None:
        print(growth_mb(options.growth))
        return 0
    figures = measure(options.calls, options.pending, options.rounds)
    lost = list(complaints(figures))
    if options.json:
        print(json.dumps(figures))
    else:
        print("\n".join(lines(figures)))
        print("\n".join(["Lost:", *lost]) if lost else "Lost: none.")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
