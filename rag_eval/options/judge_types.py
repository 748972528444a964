"""Options of judging: what judges are asked, and their limits."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypedDict

from rag_eval.errors import InputError, glance
from rag_eval.judge.replies import AnyVerifier, JudgeFn, JudgeLimits
from rag_eval.metrics.contract import JUDGE_STYLES, JudgeStyle
from rag_eval.options.declared import (
    ANY,
    BY_METRIC,
    FILE,
    FILE_OR_OBJECT,
    FLAG,
    FROM_ZERO,
    POSITIVE,
    SHARE,
    WHOLE_FROM_ONE,
    WHOLE_FROM_ZERO,
    Kind,
    Option,
    choice,
    declared,
    document,
    whole_from_one_to,
    whole_number,
)
from rag_eval.plumbing.checked_values import share
from rag_eval.samples import EvaluationMode

OnJudgeFailure: TypeAlias = Literal["null", "heuristic"]
PromptBodies: TypeAlias = str | Mapping[str, str]
"""The body of a metric's last prompt, or the bodies of some of its steps."""

Band: TypeAlias = tuple[float, float]

# Probabilities between which a native score is inconclusive.
UNCERTAIN: Final[Band] = (0.2, 0.8)
_LIMITS: Final = JudgeLimits()
_WHO_JUDGES: Final = (
    "the judge is set by --judge, an argument or RAG_EVAL_JUDGE, never by a file that came with "
    "the data, because that file could send texts and keys anywhere"
)


def _call_options(value: Any, name: str) -> Any:
    # Loaded where it is given: most evaluations have no judge.
    from rag_eval.judge.call_options import checked_call_options

    return checked_call_options(value, name)


def _http_places(value: Any, name: str) -> Any:
    from rag_eval.judge.server_urls import checked_http_places

    return checked_http_places(value, name)


def checked_band(value: Any, name: str) -> Band:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InputError(f"{name} must be two numbers (low, high), got {glance(value)}")
    low, high = (share(end, name) for end in value)
    if low > high:
        raise InputError(f"{name} must be (low, high) with low < high, got {glance(value)}")
    return low, high


class PromptOverrides(TypedDict, total=False):
    """Bodies of prompts per metric: one for its last step, or a mapping of steps to bodies.

    A body uses the ``$variables`` of the body it replaces; the frame around it stays the same. For
    scorers of other tools, use a plain mapping with their ids, such as ``mastra.bias``.
    """

    faithfulness: PromptBodies
    answer_relevance: PromptBodies
    context_precision: PromptBodies
    context_recall: PromptBodies
    context_relevance: PromptBodies
    answer_correctness: PromptBodies
    hallucination_rate: PromptBodies


class JudgeOptions(TypedDict, total=False):
    """Options of judging; None and missing mean the default."""

    mode: Annotated[
        EvaluationMode | None,
        Option(
            choice("heuristic", "llm", "hybrid", "cascade"),
            "Who scores: heuristic (native metrics), llm (an LLM judge), hybrid (a judge for some "
            "metrics), or cascade (a judge for rows whose native score by {profile=grounded} is "
            "inconclusive).",
            default="heuristic",
            metavar="MODE",
            more="A hybrid uses the judge for the metrics of {metric_modes}, by default "
            "faithfulness, answer_relevance and hallucination_rate. A cascade implies "
            "{profile=grounded}.",
            noted=True,
        ),
    ]
    judge: Annotated[
        JudgeFn | AnyVerifier | str | None,
        Option(
            ANY,
            "A function from prompt to reply, or an address: ``openai:MODEL``, "
            "``anthropic:MODEL``, or ``http://127.0.0.1:11434/v1#MODEL``.",
            more="A ``rag_eval.judge.Verifier`` alone is given here or as {verifier}.",
            takes="callable, Verifier or str",
            flag_help="openai:MODEL, anthropic:MODEL or http://127.0.0.1:11434/v1#MODEL "
            "[$RAG_EVAL_JUDGE].",
            metavar="ADDRESS",
            no_toml=_WHO_JUDGES,
        ),
    ]
    judges: Annotated[
        Sequence[JudgeFn | str] | None,
        Option(
            ANY,
            "Several judges: the score is their mean, and their agreement is reported.",
            takes="sequence of judges",
            flag="--judge-models",
            metavar="A,B,…",
            no_toml=_WHO_JUDGES,
        ),
    ]
    verifier: Annotated[
        AnyVerifier | str | PathLike[str] | None,
        Option(
            ANY,
            "A ``rag_eval.judge.Verifier``, or a folder with an ONNX model: it scores the metrics "
            "that ask whether texts support claims. In a cascade, the judge is called only for "
            "rows that it leaves uncertain.",
            takes="Verifier or path",
            flag_help="Folder with an ONNX model that verifies claims (model.onnx, tokenizer.json, "
            "verifier.toml). It is used in place of {judge}; in a cascade, before it.",
            metavar="FOLDER",
            no_toml=_WHO_JUDGES,
        ),
    ]
    verifier_band: Annotated[
        Band | None,
        Option(
            Kind("two numbers", (list,), "LOW:HIGH"),
            "Probabilities of support between which the {verifier} of a cascade is uncertain about "
            "a claim.",
            default=UNCERTAIN,
            unset="0.2:0.8",
            takes="(low, high)",
            noted=True,
        ),
    ]
    judge_options: Annotated[
        Mapping[str, Any] | None,
        Option(
            Kind("a table of options", (dict,), "NAME=VALUE", _call_options),
            "Parameters to send with each call of a judge given by an address: "
            "``max_output_tokens``, ``temperature``, ``seed``, ``reasoning_effort``, "
            "``structured``, ``extra_body``, ``extra_headers``.",
            more='Defaults: 2048, 0 (``"default"`` leaves it to the server), none, none, true, '
            "none, none. Headers are not in signatures, caches or files.",
            takes="mapping",
            flag="--judge-option",
            flag_help="Parameter to send with each call: max_output_tokens, temperature, seed, "
            "reasoning_effort, structured, extra_body.NAME, extra_headers.NAME (repeatable).",
        ),
    ]
    judge_allow_http: Annotated[
        Sequence[str] | None,
        Option(
            Kind("a list of HOST:PORT", (list,), "HOST:PORT", _http_places),
            "Servers on other machines that may be called by plain http, which is not encrypted, "
            "such as ``ollama:11434``.",
            takes="sequence of str",
            flag_help="Allow plain http, which is not encrypted, to this server, such as "
            "ollama:11434 (repeatable).",
            no_toml=_WHO_JUDGES,
        ),
    ]
    metric_modes: Annotated[
        Mapping[str, Literal["heuristic", "llm"]] | None,
        Option(
            BY_METRIC,
            "llm or heuristic per metric; overrides {mode}.",
            metavar="METRIC=llm,…",
            noted=True,
        ),
    ]
    judge_style: Annotated[
        JudgeStyle | None,
        Option(
            choice(*JUDGE_STYLES),
            "Claim by claim, or one rating from 1 to 5 per metric.",
            default="claims",
            noted=True,
        ),
    ]
    judge_repeat: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ONE,
            "Number of times to judge; the score is the mean.",
            default=1,
            noted=True,
        ),
    ]
    length_debias: Annotated[
        bool | None,
        Option(
            FLAG,
            "Tell the judge to ignore the length of texts.",
            default=True,
            flag="--no-length-debias",
            flag_help="Do not tell the judge to ignore the length of texts.",
            noted=True,
        ),
    ]
    on_judge_failure: Annotated[
        OnJudgeFailure | None,
        Option(
            choice("null", "heuristic"),
            "Score of a failed judgement: null, or the native score with a mark.",
            default="null",
            noted=True,
        ),
    ]
    prompt_overrides: Annotated[
        PromptOverrides | Mapping[str, PromptBodies] | None,
        Option(
            BY_METRIC,
            "Bodies of prompts, per metric or per metric and step, with the same ``$variables``.",
            more="Metrics share steps, such as the check of claims: a body applies to all metrics "
            "that use the step.",
            flag="--prompt",
            flag_help="Body of a prompt from a file, with the same $variables as the original.",
            metavar="METRIC[/STEP]=FILE",
            no_toml="prompts come from --prompt",
        ),
    ]
    cascade_band: Annotated[
        Band | Mapping[str, Band] | None,
        Option(
            Kind("two numbers, or a table of them by metric", (list, dict)),
            "Native scores between which a cascade uses the judge.",
            unset="probability 0.2 to 0.8 by {calibration}",
            takes="(low, high) or mapping of these",
            metavar="[METRIC=]LOW:HIGH",
            noted=True,
        ),
    ]
    audit_share: Annotated[
        float | None,
        Option(
            SHARE,
            "Share of the rows outside the band that a cascade also judges, as an audit.",
            default=0.02,
            noted=True,
        ),
    ]
    judge_seed: Annotated[
        int | None,
        Option(
            # What the draw of audited rows is a function of.
            whole_number(largest=2**64 - 1),
            "Seed for the random choice of the rows of {audit_share}.",
            default=0,
            noted=True,
        ),
    ]
    concurrency: Annotated[
        int | None,
        Option(
            # Each call in flight takes about 1 KB, and its connection more.
            whole_from_one_to(largest=10_000),
            "Maximum judge calls in flight.",
            default=_LIMITS.concurrency,
        ),
    ]
    call_timeout_s: Annotated[
        float | None,
        Option(
            POSITIVE,
            "Time limit per call in seconds.",
            default=_LIMITS.call_timeout_s,
            flag="--call-timeout",
            metavar="S",
            table="judge",
        ),
    ]
    run_timeout_s: Annotated[
        float | None,
        Option(
            POSITIVE,
            "Time in seconds after which no call starts.",
            flag="--run-timeout",
            metavar="S",
            table="judge",
        ),
    ]
    retries: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ZERO,
            "Retries of a call if the server fails or limits the rate.",
            default=_LIMITS.retries,
            table="judge",
        ),
    ]
    requests_per_minute: Annotated[
        float | None, Option(POSITIVE, "Maximum calls per minute.", table="judge")
    ]
    tokens_per_minute: Annotated[
        float | None, Option(POSITIVE, "Maximum tokens per minute.", table="judge")
    ]
    max_calls: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ZERO,
            "Maximum number of judge calls per run.",
            more="No call starts after that.",
        ),
    ]
    budget_usd: Annotated[
        float | None, Option(FROM_ZERO, "Budget in USD after which no call starts; needs {prices}.")
    ]
    max_parse_failures: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ZERO,
            "Maximum unreadable replies before the run ends.",
            table="judge",
        ),
    ]
    prices: Annotated[
        Mapping[str, Mapping[str, float]] | str | Path | None,
        Option(
            FILE_OR_OBJECT,
            'USD per million tokens: ``{"gpt-5": {"input": 1.25, "output": 10}}``, or a file of '
            "that.",
            takes="mapping or path",
            flag_help='USD per million tokens, TOML or JSON: ["gpt-5"] input = 1.25, output = 10.',
        ),
    ]
    judge_cache: Annotated[
        Any,
        Option(
            ANY,
            "SQLite file that caches replies, created if missing; none by default.",
            takes="path or JudgeCache",
            more="A ``rag_eval.judge.JudgeCache`` has its own limits on size and age.",
            no_flag="{cache}, {cache_file} and {cache_max_age} make it",
            no_toml="the cache comes from --cache-file",
        ),
    ]


class JudgeBatchOptions(TypedDict, total=False):
    """How judges of runs on files are asked."""

    judge_batch: Annotated[
        str | Path | None,
        Option(
            FILE,
            "Ask the judge by the batch API of its vendor, at half the price and within a day, and "
            "keep the batches in this file.",
            more="Calls raise :class:`rag_eval.judge.JudgePendingError` until all replies are "
            "there; call again to collect them.",
            flag_help="Ask the judge in batches, at half the price and within a day, and keep them "
            "in FILE; see rag-eval judge collect.",
            no_toml="output files are named when the run is started",
        ),
    ]


TRIAL_OPTIONS: Final = (
    *("judge_options", "judge_allow_http", "judge_style", "concurrency", "call_timeout_s"),
    *("run_timeout_s", "retries", "requests_per_minute", "tokens_per_minute", "max_calls"),
    *("budget_usd", "prices"),
)
"""Options that a trial of a judge takes."""


def asks_for_judging(options: Mapping[str, Any]) -> bool:
    """Whether a call's options, by their own names, say anything of a judge or a scorer."""
    asking = {*declared(JudgeOptions), "scorer_options"}
    return any(name in asking and value is not None for name, value in options.items())


document(JudgeBatchOptions)
document(JudgeOptions)
