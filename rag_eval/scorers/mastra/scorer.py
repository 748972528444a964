"""What all scorers share: a run and a judge in, a score with its steps and its reason out."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from rag_eval.judge.asking import Asker, Tally
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.rendering import PromptStyle
from rag_eval.judge.replies import JudgeFn
from rag_eval.judge.steps import Fields, Step
from rag_eval.samples import NullReason
from rag_eval.scorers.mastra.imagined import REASON
from rag_eval.scorers.mastra.runs import Run, run_of

if TYPE_CHECKING:
    from rag_eval.judge.limits import JudgeLimits

Reply = TypeVar("Reply", bound=msgspec.Struct)
Settings = TypeVar("Settings")
Check: TypeAlias = Callable[[Reply], "str | None"]

Model: TypeAlias = "JudgeFn | str"
"""A judge, or its address: ``openai:MODEL``, ``anthropic:MODEL``, ``http://HOST/v1#MODEL``."""

Options: TypeAlias = "Mapping[str, Any] | None"

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
    """What a scorer found.

    Attributes
    ----------
    score : float or None
        Not rounded. None where there is nothing to score, and ``null_reason`` says why.
    message : str
        What is missing, where the score or the reason is.
    reason : str or None
        In the judge's words; None where none was asked for or the judge gave none.
    run_id : str
        That of the run; made up where it has none.
    preprocess_result, analyze_result : JSON values
        What the judge found, step by step, under Mastra's names.
    preprocess_prompt, analyze_prompt, generate_reason_prompt : str or None
        As they were sent; None for steps that were not asked and replies that were cached.
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
        """Under Mastra's field names, without what there is not; ``score`` is always there."""
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


class Interview:
    """The questions of one run to a judge, and what came of them."""

    def __init__(self, asker: Asker, tally: Tally, *, with_reason: bool = True) -> None:
        self._asker = asker
        self._tally = tally
        self._with_reason = with_reason
        self.reason: str | None = None
        self.message = ""
        self.preprocess_result: Any = None
        self.analyze_result: Any = None
        self.preprocess_prompt: str | None = None
        self.analyze_prompt: str | None = None
        self.reason_prompt: str | None = None

    async def preprocess(
        self, step: Step[Reply], fields: Fields, check: Check[Reply] | None = None
    ) -> Reply:
        """The reply to the step that takes texts apart."""
        asked = await self._asker.ask(step, fields, self._tally, check)
        self.preprocess_prompt = asked.prompt
        self.preprocess_result = msgspec.to_builtins(asked.value)
        return asked.value

    async def analyze(
        self, step: Step[Reply], fields: Fields, check: Check[Reply] | None = None
    ) -> Reply:
        """The reply to the step that grades."""
        asked = await self._asker.ask(step, fields, self._tally, check)
        self.analyze_prompt = asked.prompt
        self.analyze_result = msgspec.to_builtins(asked.value)
        return asked.value

    @property
    def wants_reason(self) -> bool:
        """Whether the judge is to be asked for a reason."""
        return self._with_reason

    async def explain(self, step: Step[Reason], fields: Fields) -> None:
        """Ask for the reason, if one is wanted; a score stands without one."""
        if not self._with_reason:
            return
        try:
            asked = await self._asker.ask(step, fields, self._tally)
        except JudgeFailure as failure:
            self.message = f"no reason: {failure}"
            return
        self.reason_prompt = asked.prompt
        self.reason = asked.value.reason

    def result(self, run: Run, score: float | None, nothing: NullReason) -> MastraResult:
        """All that was found."""
        return MastraResult(
            score=score,
            null_reason=nothing,
            message=self.message,
            reason=self.reason,
            run_id=run.run_id or str(uuid.uuid4()),
            preprocess_result=self.preprocess_result,
            analyze_result=self.analyze_result,
            preprocess_prompt=self.preprocess_prompt,
            analyze_prompt=self.analyze_prompt,
            generate_reason_prompt=self.reason_prompt,
            run=run.source,
        )


@dataclass(frozen=True, slots=True)
class MastraScorer(Generic[Settings]):
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
    settings: Settings
    judged: Callable[[Interview, Run, Settings], Awaitable[float]] = field(repr=False)

    async def score(
        self,
        asker: Asker,
        run: Mapping[str, Any],
        tally: Tally | None = None,
        *,
        with_reason: bool = True,
    ) -> MastraResult:
        """The result of one run, asked of this asker.

        Parameters
        ----------
        run : mapping
            See :func:`rag_eval.scorers.mastra.runs.run_of`.
        tally : Tally, optional
            Counts what it took.
        with_reason : bool, default True
            Ask for the reason as well, which is a call of its own and cannot change the score.

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
            interview.message = str(nothing)
            return interview.result(read, None, nothing.null_reason)
        return interview.result(read, score, NullReason.MEASURED)

    async def arun(
        self, run: Mapping[str, Any], *, limits: JudgeLimits | None = None
    ) -> MastraResult:
        """The result of one run, asked of the scorer's own judge; see :meth:`score`."""
        from rag_eval.judge.limits import JudgeLimits
        from rag_eval.judge.session import JudgeSession

        limits = JudgeLimits() if limits is None else limits
        with JudgeSession([self._judge(limits)], limits, style=PromptStyle()) as session:
            return await self.score(session.asker(), run)

    def run(self, run: Mapping[str, Any], *, limits: JudgeLimits | None = None) -> MastraResult:
        """:meth:`arun`, waited for; works inside of a running loop, too."""
        from rag_eval.judge import loop_thread

        return loop_thread.run(self.arun(run, limits=limits))

    def _judge(self, limits: JudgeLimits) -> JudgeFn:
        if not isinstance(self.model, str):
            return self.model
        from rag_eval.adapters.addresses import judge_from_address

        return judge_from_address(self.model, timeout_s=limits.call_timeout_s)
