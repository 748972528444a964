"""Tries a judge on built-in rows whose verdicts are known, and says whether it can be used."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final, Unpack

from rag_eval.errors import InputError
from rag_eval.jobs.prompt_probe import PROBE_TOKENS, PromptProbe, probe_prompts
from rag_eval.jobs.watched_judge import watched
from rag_eval.judge import loop_thread
from rag_eval.judge.bias_checks import PairedScores, paired_scores
from rag_eval.judge.failures import JudgeUnavailableError
from rag_eval.judge.prices import price_table
from rag_eval.judge.replies import SchemaJudge, Usage, identity_of
from rag_eval.judge.trial_rows import TRIAL_ROWS
from rag_eval.options.declared import normalized
from rag_eval.options.judge_types import TRIAL_OPTIONS, JudgeOptions
from rag_eval.options.judging import limits_of, resolved_judge
from rag_eval.plumbing.checked_values import whole_from_zero
from rag_eval.plumbing.spelling import camel_fields, counted
from rag_eval.results.batch import BatchEvalResult
from rag_eval.results.judge_failures import FailedJudgements
from rag_eval.results.row import MetricResult
from rag_eval.samples import NullReason
from rag_eval.scoring.evaluator import aevaluate_batch
from rag_eval.stats.intervals import Interval, wilson_interval

METRIC: Final = "faithfulness"
_FEWEST_READ: Final = 0.9
_MOST_FAILED: Final = 0.1
_MOST_COPIES: Final = 0.1
_GUESSING: Final = 0.5
_PROBES: Final = 3
# With fewer scores one value says little.
_FEWEST_ALIKE: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeTrial:
    """How a judge did on rows whose verdicts are known; made by :func:`try_judge`.

    Attributes
    ----------
    judge, style : str
    n_judgements, n_failed : int
    failed : tuple of FailedJudgements
        By reason, with an example each.
    n_replies, n_read, n_copies : int
        Replies; those that could be read; and those that repeat the form of the prompt.
    accuracy : Interval
        Share of the rows with the right verdict; a failed judgement counts as wrong.
    order, length : PairedScores
        Scores with contexts in reverse order, and of longer answers that say the same.
    n_calls, input_tokens, output_tokens : int
    estimated : bool
        Whether tokens were estimated, because the judge does not report them.
    seconds, call_seconds : float
        Of the whole trial, and the median of a call.
    cost_usd : float or None
        By the price table.
    prompt : str
        What happened to a long prompt; empty if that was not tried.
    faults : tuple of str
        Why the judge should not be used; empty if it can be.
    """

    judge: str
    style: str
    n_judgements: int
    n_failed: int
    failed: tuple[FailedJudgements, ...]
    n_replies: int
    n_read: int
    n_copies: int
    accuracy: Interval
    order: PairedScores
    length: PairedScores
    n_calls: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    seconds: float
    call_seconds: float
    cost_usd: float | None
    prompt: str
    faults: tuple[str, ...]

    @property
    def usable(self) -> bool:
        """Whether nothing speaks against the judge."""
        return not self.faults

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        first = ("judge", "style", "usable", "faults", "n_judgements", "n_failed", "failed")
        counts = ("n_replies", "n_read", "n_copies", "accuracy")
        last = ("n_calls", "input_tokens", "output_tokens", "estimated", "seconds", "call_seconds")
        return {
            **camel_fields(self, (*first, *counts)),
            "order": self.order.to_dict("asGiven", "reversed"),
            "length": self.length.to_dict("short", "long"),
            **camel_fields(self, (*last, "cost_usd", "prompt")),
        }

    def text(self) -> str:
        """As a few lines of text."""
        n_right, n_rows = round(self.accuracy.estimate * len(TRIAL_ROWS)), len(TRIAL_ROWS)
        bounds = f"{_percent(self.accuracy.low)} to {_percent(self.accuracy.high)}"
        about = "about " if self.estimated else ""
        lines = [
            f"{self.judge}: {METRIC}, style {self.style}",
            f"replies read: {self.n_read:,} of {self.n_replies:,}",
            f"right verdicts: {n_right} of {n_rows} rows (95 % confidence interval {bounds})",
            f"order of contexts: {self.order.text('as given', 'reversed')}",
            f"length of answers: {self.length.text('short', 'long')}",
            f"tokens: {about}{self.input_tokens:,} in, {self.output_tokens:,} out, in "
            f"{counted(self.n_calls, 'call')}",
            f"time: {self.seconds:.1f} s, {self.call_seconds:.2f} s per call (median)",
        ]
        if self.cost_usd is not None:
            lines.append(f"cost: {self.cost_usd:.4f} USD at the given prices")
        if self.prompt:
            lines.append(f"long prompts: {self.prompt}")
        lines += map(str, self.failed)
        lines += [f"NOT USABLE: {fault}" for fault in self.faults] or ["USABLE"]
        return "\n".join(lines)


def try_judge(
    judge: Any, /, *, probe_tokens: int = PROBE_TOKENS, **options: Unpack[JudgeOptions]
) -> JudgeTrial:
    """Judge a dozen built-in rows three times: as they are, reordered, and with longer answers.

    Parameters
    ----------
    judge : callable or str
        A function or an address, as ``judge`` of :func:`rag_eval.evaluate_batch`.
    probe_tokens : int
        Length of a prompt that shows whether the server cuts prompts; 0 leaves it out.
    **options
        Those of ``TRIAL_OPTIONS``; see :class:`~rag_eval.options.judge_types.JudgeOptions`.

    Raises
    ------
    InputError
        For an invalid judge or option.
    JudgeUnavailableError
        If the judge does not answer, or a budget ended the trial.
    """
    given = normalized(options, "try_judge", JudgeOptions)
    for name in given:
        if name not in TRIAL_OPTIONS:
            raise InputError(f"try_judge does not use {name}")
    whole_from_zero(probe_tokens, "probe_tokens")
    return loop_thread.run(_Trial(judge, given, probe_tokens).run())


class _Trial:
    """One trial of one judge."""

    def __init__(self, judge: Any, options: Mapping[str, Any], probe_tokens: int) -> None:
        self._limits = limits_of(options)
        resolved = resolved_judge(judge, options, self._limits.call_timeout_s)
        self._judge, self._watch = watched(resolved)
        self._model = identity_of(resolved)
        # Those of calls are part of the judge now.
        own = ("judge_options", "judge_allow_http")
        self._options = {name: value for name, value in options.items() if name not in own}
        self._prices = price_table(options.get("prices"))
        self._probe_tokens = probe_tokens

    async def run(self) -> JudgeTrial:
        """Judge the rows, then try long prompts."""
        begun = time.perf_counter()
        samples = [row.sample() for row in TRIAL_ROWS]
        samples += [row.sample(reverse=True) for row in TRIAL_ROWS]
        samples += [row.sample(long=True) for row in TRIAL_ROWS]
        options: Any = {**self._options, "mode": "llm", "judge": self._judge}
        result = await aevaluate_batch(samples, [METRIC], **options)
        judging = result.judging
        assert judging is not None
        if judging.nobody_answered or judging.budget_reached:
            raise JudgeUnavailableError("; ".join(map(str, judging.failed)))
        watch, tally = self._watch, judging.metrics[METRIC].tally
        n_replies = watch.n_replies
        call_seconds = median(watch.seconds) if watch.seconds else 0.0
        probe = await self._probe(result)
        variants = _variants([row.metrics[METRIC] for row in result.results])
        usual, reordered, longer = ([one.score for one in metrics] for metrics in variants)
        names = [row.name for row in TRIAL_ROWS]
        n_right = sum(
            found.passed is row.is_supported
            for found, row in zip(variants[0], TRIAL_ROWS, strict=True)
        )
        found = JudgeTrial(
            judge=str(self._model),
            style=judging.style,
            n_judgements=judging.n_wanted,
            n_failed=judging.n_failed,
            failed=judging.failed,
            n_replies=n_replies,
            n_read=n_replies - tally.parse_failures,
            n_copies=watch.n_copies,
            accuracy=wilson_interval(n_right, len(TRIAL_ROWS)),
            order=paired_scores(names, usual, reordered),
            length=paired_scores(names, usual, longer),
            n_calls=tally.llm_calls + probe.n_calls,
            input_tokens=tally.input_tokens + probe.input_tokens,
            output_tokens=tally.output_tokens + probe.output_tokens,
            estimated=tally.estimated,
            seconds=time.perf_counter() - begun,
            call_seconds=call_seconds,
            cost_usd=self._cost(judging.cost_usd, probe),
            prompt=probe.text,
            faults=(),
        )
        return replace(found, faults=_faults(found, [*usual, *reordered, *longer], probe))

    async def _probe(self, result: BatchEvalResult) -> PromptProbe:
        """Try long prompts, if the judge reports tokens and a budget has room for it."""
        assert result.judging is not None
        n_left = None
        if self._limits.max_calls is not None:
            n_left = self._limits.max_calls - result.total_cost.llm_calls
        has_room = self._limits.budget_usd is None and (n_left is None or n_left >= _PROBES)
        if not self._probe_tokens or not has_room or not isinstance(self._judge, SchemaJudge):
            return PromptProbe()
        return await probe_prompts(self._judge, self._probe_tokens)

    def _cost(self, of_rows: float | None, probe: PromptProbe) -> float | None:
        if of_rows is None or self._prices is None:
            return None
        usage = Usage(probe.input_tokens, probe.output_tokens)
        return of_rows + (self._prices.cost_usd(usage, self._model.model) or 0.0)


def _variants(metrics: Sequence[MetricResult]) -> list[Sequence[MetricResult]]:
    n_rows = len(TRIAL_ROWS)
    return [metrics[begin : begin + n_rows] for begin in range(0, len(metrics), n_rows)]


def _faults(
    found: JudgeTrial, scores: Sequence[float | None], probe: PromptProbe
) -> tuple[str, ...]:
    """What speaks against a judge, the plainest first."""
    faults = []
    measured = [score for score in scores if score is not None]
    if len(measured) >= _FEWEST_ALIKE and len(set(measured)) == 1:
        faults.append(
            f"it gives the same score, {measured[0]:.2f}, to all rows, whether right or wrong"
        )
    if found.n_copies > _MOST_COPIES * found.n_replies:
        faults.append(
            f"{found.n_copies} of {found.n_replies} replies repeat the form of the prompt instead "
            "of filling it in"
        )
    cut = any(one.reason == NullReason.JUDGE_PROMPT_CUT.name.lower() for one in found.failed)
    if probe.cuts or cut:
        faults.append("its server cuts long prompts without saying so; raise its context size")
    if found.n_read < _FEWEST_READ * found.n_replies:
        n_unread = found.n_replies - found.n_read
        faults.append(f"{n_unread} of {found.n_replies} replies could not be read")
    if found.n_failed > _MOST_FAILED * found.n_judgements:
        faults.append(f"{found.n_failed} of {found.n_judgements} judgements failed")
    if found.accuracy.low is None or found.accuracy.low <= _GUESSING:
        faults.append("its verdicts are not shown to be better than guessing")
    return tuple(faults)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
