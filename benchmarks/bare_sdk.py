"""Judging through a vendor's SDK beside the SDK by itself: calls a second of both, in turns.

The same prompts go to the same instant server, so many at a time, with the same parameters. By
itself, the SDK is called with a finished prompt and gives the text of the reply; the library makes
the prompt, keeps its limits and its counts, and reads the reply.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from benchmarks.instant_server import KEY, MODEL, InstantServer, Provider, instant_server
from benchmarks.judge_question import FIELDS, STEP, STYLE, reply_text
from benchmarks.timing import Spread, ratios
from rag_eval.adapters.anthropic import create_anthropic_judge
from rag_eval.adapters.openai import create_openai_judge
from rag_eval.judge import loop_thread
from rag_eval.judge.exact_schemas import exact_schema
from rag_eval.judge.loop_thread import Job, run_jobs
from rag_eval.judge.rendering import render
from rag_eval.judge.replies import JudgeLimits, JudgePrompt, SchemaJudge, Tally
from rag_eval.judge.session import JudgeSession

RATIO_BAR: Final = 0.8
CONCURRENCIES: Final = (4, 16)

Ask: TypeAlias = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Rates:
    """Calls a second by the clock and by the processor time of the process that calls."""

    by_clock: dict[str, list[float]]
    by_processor: dict[str, list[float]]

    def ratio(self) -> Spread:
        """Of the library's rate to the SDK's, round by round."""
        return ratios(self.by_clock["library"], self.by_clock["sdk"])

    def processor_ratio(self) -> Spread:
        """The same by processor time."""
        return ratios(self.by_processor["library"], self.by_processor["sdk"])


def installed_sdks() -> list[Provider]:
    """The vendors whose SDK is here."""
    providers: tuple[Provider, ...] = ("openai", "anthropic")
    return [name for name in providers if importlib.util.find_spec(name) is not None]


def figures(provider: Provider, concurrency: int, n_calls: int, rounds: int) -> dict[str, Any]:
    """Both rates on a server of their own, their ratio, its bar, and what the server took."""
    with instant_server() as server:
        rates = beside_sdk(provider, server, concurrency, n_calls, rounds)
        # The round that does not count took its calls, too.
        server_us = 1e6 * server.processor_seconds() / (2 * n_calls * (rounds + 1))
    return {
        "provider": provider,
        "concurrency": concurrency,
        "calls_per_second": _spreads(rates.by_clock),
        "calls_per_processor_second": _spreads(rates.by_processor),
        "ratio": rates.ratio().as_list(),
        "processor_ratio": rates.processor_ratio().as_list(),
        "server_us": server_us,
        "bar": RATIO_BAR,
    }


def _spreads(rates: Mapping[str, list[float]]) -> dict[str, list[float]]:
    return {name: Spread.of(values).as_list() for name, values in rates.items()}


def beside_sdk(
    provider: Provider,
    server: InstantServer,
    concurrency: int,
    n_calls: int,
    rounds: int,
) -> Rates:
    """Rates of the library and of the SDK by itself, in turns, after a round that does not count.

    Each makes its connections in that round and keeps them, as both do in a longer run.
    """
    judge = _judge(provider, server)
    client = _client(provider, server)
    ask = _bare_ask(provider, client)
    calls: dict[str, Callable[[], None]] = {
        "sdk": lambda: _bare(ask, concurrency, n_calls),
        "library": lambda: _judged(judge, concurrency, n_calls),
    }
    rates = Rates({name: [] for name in calls}, {name: [] for name in calls})
    for counted in [False] + [True] * rounds:
        for name, call in calls.items():
            begin = time.perf_counter(), time.process_time()
            call()
            if counted:
                rates.by_clock[name].append(n_calls / (time.perf_counter() - begin[0]))
                rates.by_processor[name].append(n_calls / (time.process_time() - begin[1]))
    loop_thread.run(client.close())
    return rates


def _judge(provider: Provider, server: InstantServer) -> SchemaJudge:
    make = create_openai_judge if provider == "openai" else create_anthropic_judge
    return make(MODEL, api_key=KEY, base_url=server.url(provider))


def _judged(judge: SchemaJudge, concurrency: int, n_calls: int) -> None:
    limits = JudgeLimits(concurrency=concurrency)
    with JudgeSession([judge], limits, style=STYLE) as session:
        asker = session.asker()

        async def job() -> None:
            await asker.ask(STEP, FIELDS, Tally())

        loop_thread.run(run_jobs(_again(job, n_calls), concurrency))
        assert session.tally.llm_calls == n_calls


def _bare(ask: Ask, concurrency: int, n_calls: int) -> None:
    loop_thread.run(run_jobs(_again(ask, n_calls), concurrency))


def _again(job: Ask, n_calls: int) -> Iterator[Job]:
    return (job for _ in range(n_calls))


def _client(provider: Provider, server: InstantServer) -> Any:
    """The SDK's client with what it sets by itself, but for tries after the first."""
    import anthropic
    import openai

    make = openai.AsyncOpenAI if provider == "openai" else anthropic.AsyncAnthropic
    return make(api_key=KEY, base_url=server.url(provider), max_retries=0)


def _bare_ask(provider: Provider, client: Any) -> Ask:
    prompt = render(STEP, FIELDS, STYLE)
    wanted = reply_text(prompt.mark)
    parameters = _parameters(provider, prompt.text, exact_schema(STEP.schema, prompt.text))

    async def by_openai() -> None:
        answer = await client.chat.completions.create(**parameters)
        assert answer.choices[0].message.content == wanted

    async def by_anthropic() -> None:
        answer = await client.messages.create(**parameters)
        assert answer.content[0].text == wanted

    return by_openai if provider == "openai" else by_anthropic


def _parameters(
    provider: Provider, prompt: JudgePrompt, schema: Mapping[str, Any]
) -> dict[str, Any]:
    shared: dict[str, Any] = {
        "model": MODEL,
        "messages": [{"role": "user", "content": prompt.shared + prompt.task}],
        "max_tokens": 2048,
    }
    if provider == "openai":
        shared["messages"].insert(0, {"role": "system", "content": prompt.system})
        form = {"name": "reply", "strict": True, "schema": schema}
        reply_form = {"type": "json_schema", "json_schema": form}
        return {**shared, "temperature": 0.0, "response_format": reply_form}
    reply_form = {"format": {"type": "json_schema", "schema": schema}}
    # No parameter of this SDK's own any more.
    extra = {"temperature": 0.0}
    return {**shared, "system": prompt.system, "output_config": reply_form, "extra_body": extra}
