"""What all scorers share: a run in, and a judge where one is asked; a score with its reason out."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from rag_eval.judge.asking import Asker
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.rendering import PromptStyle
from rag_eval.judge.replies import JudgeFn, Tally
from rag_eval.judge.steps import Fields, Step
from rag_eval.metrics.contract import Metric, Scorer
from rag_eval.plumbing.javascript_numbers import round_half_up
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import MetricId, NullReason
from rag_eval.scorers.mastra.runs import Run, run_of
from rag_eval.scorers.mastra.verdicts import REASON, shown

if TYPE_CHECKING:
    from rag_eval.judge.replies import JudgeLimits

Reply = TypeVar("Reply", bound=msgspec.Struct)
Check: TypeAlias = Callable[[Reply], str | None]

Model: TypeAlias = JudgeFn | str
"""A judge, or its address: ``openai:MODEL``, ``anthropic:MODEL``, ``http://HOST/v1#MODEL``."""

Options: TypeAlias = Mapping[str, Any] | None

_RUN_FIELDS: Final = ("input", "output", "groundTruth", "additionalContext", "expectedTrajectory")


class Reason(msgspec.Struct):
    """Why a score is what it is."""

    reason: str


def reason_step(name: str) -> Step[Reason]:
    """The step that asks a judge to put a score into words."""
    return Step(f"mastra/{name}_reason", Reason, lambda fields: Reason(REASON), graded=False)


class NothingToScoreError(Exception):
    """Ends a judgement: there is nothing that a score could be of."""

    def __init__(self, null_reason: NullReason, message: str) -> None:
        super().__init__(message)
        self.null_reason = null_reason


@dataclass(frozen=True, slots=True)
class MastraResult:
    """The result of a scorer.

    Attributes
    ----------
    score : float or None
        Not rounded. None if there is nothing to score; ``null_reason`` has the reason.
    message : str
        Why the score or the reason is missing.
    reason : str or None
        In the judge's words; None if it was not requested or not given.
    run_id : str
        The id of the run; generated if it has none.
    preprocess_result, analyze_result : JSON values
        The judge's findings step by step, under Mastra's names.
    preprocess_prompt, analyze_prompt, generate_reason_prompt : str or None
        Prompts as they were sent; None for steps that were not run and for cached replies.
    run : mapping
        The run as it was given.
    """

    score: float | None
    null_reason: NullReason
    message: str
    reason: str | None
    run_id: str
    preprocess_result: Any = None
    analyze_result: Any = None
    preprocess_prompt: str | None = None
    analyze_prompt: str | None = None
    generate_reason_prompt: str | None = None
    run: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The result under Mastra's field names; ``score`` always, other fields unless None."""
        found: dict[str, Any] = {name: self.run[name] for name in _RUN_FIELDS if name in self.run}
        found |= {"runId": self.run_id, "score": self.score, "reason": self.reason}
        found |= {
            "preprocessStepResult": self.preprocess_result,
            "analyzeStepResult": self.analyze_result,
            "preprocessPrompt": self.preprocess_prompt,
            "analyzePrompt": self.analyze_prompt,
            "generateReasonPrompt": self.generate_reason_prompt,
        }
        if self.score is None:
            found |= {"nullReason": self.null_reason.name.lower()}
        if self.message:
            found |= {"message": self.message}
        return {name: item for name, item in found.items() if item is not None or name == "score"}


def _result(
    run: Run, found: Mapping[str, Any], nothing: NullReason = NullReason.MEASURED
) -> MastraResult:
    return MastraResult(
        null_reason=nothing,
        run_id=run.run_id or str(uuid.uuid4()),
        run=run.source,
        **{"message": "", "reason": None, **found},
    )


class Interview:
    """The questions of one run to a judge, and their results.

    Attributes
    ----------
    wants_reason : bool
        Whether the judge is to be asked for a reason.
    found : dict
        Fields of the :class:`MastraResult` to come.
    """

    def __init__(self, asker: Asker, tally: Tally, *, with_reason: bool = True) -> None:
        self._asker = asker
        self._tally = tally
        self.wants_reason = with_reason
        self.found: dict[str, Any] = {}

    async def preprocess(
        self, step: Step[Reply], fields: Fields, check: Check[Reply] | None = None
    ) -> Reply:
        """The reply to the step that takes texts apart."""
        return await self._asked("preprocess", step, fields, check)

    async def analyze(
        self, step: Step[Reply], fields: Fields, check: Check[Reply] | None = None
    ) -> Reply:
        """The reply to the step that grades."""
        return await self._asked("analyze", step, fields, check)

    async def _asked(
        self, place: str, step: Step[Reply], fields: Fields, check: Check[Reply] | None
    ) -> Reply:
        asked = await self._asker.ask(step, fields, self._tally, check)
        self.found[f"{place}_prompt"] = asked.prompt
        self.found[f"{place}_result"] = msgspec.to_builtins(asked.value)
        return asked.value

    async def explained(self, step: Step[Reason], score: float, fields: Fields) -> float:
        """The score, for which a reason is asked if one is wanted; it stands without one."""
        if not self.wants_reason:
            return score
        try:
            asked = await self._asker.ask(step, {**fields, "score": shown(score)}, self._tally)
        except JudgeFailure as failure:
            self.found["message"] = f"no reason: {failure}"
            return score
        self.found |= {"generate_reason_prompt": asked.prompt, "reason": asked.value.reason}
        return score

    def result(self, run: Run, score: float | None, nothing: NullReason) -> MastraResult:
        """All that was found."""
        return _result(run, {**self.found, "score": score}, nothing)


Judged: TypeAlias = Callable[[Interview, Run, Any], Awaitable[float]]
"""Asks the questions of one run, by the settings of a scorer, and makes the score."""


@dataclass(frozen=True, slots=True)
class MastraScorer:
    """One of Mastra's scorers, with a judge and settings.

    Attributes
    ----------
    id : str
        ``mastra.faithfulness`` and the like.
    model : callable or str
        The judge or its address; the address is looked up when a run is scored.
    settings : dataclass
        The options, merged over the defaults.
    """

    id: str
    model: Model
    settings: Any
    judged: Judged = field(repr=False)

    async def score(
        self,
        asker: Asker,
        run: Mapping[str, Any],
        tally: Tally | None = None,
        *,
        with_reason: bool = True,
    ) -> MastraResult:
        """The result for one run, judged by this asker.

        Parameters
        ----------
        run : mapping
            See :func:`rag_eval.scorers.mastra.runs.run_of`.
        tally : Tally, optional
            Counts calls and tokens.
        with_reason : bool, default True
            Also ask for the reason, with a separate call that cannot change the score.

        Raises
        ------
        InputError
            When the run lacks what the scorer reads.
        JudgeFailure
            When the judge gave no usable verdict.
        """
        read = run_of(run)
        interview = Interview(asker, Tally() if tally is None else tally, with_reason=with_reason)
        try:
            score = await self.judged(interview, read, self.settings)
        except NothingToScoreError as nothing:
            interview.found["message"] = str(nothing)
            return interview.result(read, None, nothing.null_reason)
        return interview.result(read, score, NullReason.MEASURED)

    async def arun(
        self, run: Mapping[str, Any], *, limits: JudgeLimits | None = None
    ) -> MastraResult:
        """The result for one run, judged by the scorer's own judge; see :meth:`score`."""
        from rag_eval.judge.replies import JudgeLimits
        from rag_eval.judge.session import JudgeSession

        limits = JudgeLimits() if limits is None else limits
        with JudgeSession([self._judge(limits)], limits, style=PromptStyle()) as session:
            return await self.score(session.asker(), run)

    def run(self, run: Mapping[str, Any], *, limits: JudgeLimits | None = None) -> MastraResult:
        """Like :meth:`arun`, but waits for the result; also works inside a running event loop."""
        from rag_eval.judge import loop_thread

        return loop_thread.run(self.arun(run, limits=limits))

    def _judge(self, limits: JudgeLimits) -> JudgeFn:
        if not isinstance(self.model, str):
            return self.model
        from rag_eval.adapters.addresses import judge_from_address

        return judge_from_address(self.model, timeout_s=limits.call_timeout_s)


# -------------------------------------------------------------------------- scorers without a judge


class Findings:
    """Base of the dataclasses that findings are."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON values under Mastra's field names, without what is None."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {camel_case(name): _plain(item) for name, item in found.items() if item is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Findings):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def round_to_two_decimals(value: float) -> float:
    """The nearest hundredth, after 2^-52 was added: 1.005 becomes 1.01.

    NaN and infinities stay what they are.
    """
    return round_half_up(value + sys.float_info.epsilon, 2)


class Finding(NamedTuple):
    """What a scorer found in a run.

    Attributes
    ----------
    score : float
    preprocess_result, analyze_result : mapping or None
        Under Mastra's names.
    reason : str or None
    """

    score: float
    preprocess_result: dict[str, Any] | None = None
    reason: str | None = None
    analyze_result: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CodeScorer:
    """One of Mastra's scorers that needs no judge, with its settings.

    Attributes
    ----------
    id : str
    settings : dataclass
        The options, merged over the defaults.
    """

    id: str
    settings: Any
    found: Callable[[Run, Any], Finding] = field(repr=False)

    def run(self, run: Mapping[str, Any]) -> MastraResult:
        """The result of one run.

        Parameters
        ----------
        run : mapping
            See :func:`rag_eval.scorers.mastra.runs.run_of`.

        Raises
        ------
        InputError
            If a field that the scorer needs is missing or invalid.
        """
        read = run_of(run)
        finding = self.found(read, self.settings)
        return _result(read, finding._asdict())


def code_metric(id: MetricId, create: Callable[..., Scorer], summary: str, **more: Any) -> Metric:
    """The contract of a scorer that asks no judge, and says itself what a sample lacks."""
    return Metric(id=id, summary=summary, create=create, fields=(), **{"cost": "python", **more})
