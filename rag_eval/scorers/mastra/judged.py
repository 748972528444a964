"""How Mastra's scorers that ask a judge are made, of runs and of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.judge.asking import Asker
from rag_eval.judge.replies import Tally
from rag_eval.judge.steps import Step
from rag_eval.metrics.contract import JudgedScorer, Metric, MissingFieldError, Scored
from rag_eval.plumbing.json_text import json_value
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import EvalSample, MetricId, NullReason
from rag_eval.scorers.mastra.options import OF_THE_RUN, default_of, is_required, settings_of
from rag_eval.scorers.mastra.runs import run_of_sample
from rag_eval.scorers.mastra.scorer import (
    Judged,
    MastraResult,
    MastraScorer,
    Model,
    Options,
    Reason,
)

MUST: Final = "mastra 1.1.1"
NEWER: Final = "mastra 1.10.2"
"""The version of a scorer that 1.1.1 does not have."""

RULE: Final = "rag_eval.scorers.mastra.judged_specs:rule_of"
"""Where the rule of a judge is found by an id."""

_NO_REASON: Final = "no reason was requested"
# What runs hold beside texts.
_RUN_FIELDS: Final = (
    "messages",
    "tool_calls",
    "trajectory",
    "expected_trajectory",
    "additional_context",
    "run_id",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MastraSpec:
    """How one scorer is made.

    Attributes
    ----------
    metric : Metric
        Its contract.
    judged : callable
        Calls the judge and computes the score.
    settings : type
        The dataclass of its options.
    steps : tuple of Step
        The steps of judging; the last one gives the verdict.
    n_calls : int
        Number of judge calls for one run, including the one for the reason.
    sample_options : mapping
        Default options of :meth:`factory`.
    """

    metric: Metric
    judged: Judged
    settings: type
    steps: tuple[Step[Any], ...]
    n_calls: int
    sample_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_reason_calls(self) -> int:
        """Number of calls for the reason."""
        return sum(step.shape is Reason for step in self.steps)

    def create(self, model: Model, options: Options = None, **more: Any) -> MastraScorer:
        """The scorer for runs, with options as a mapping, as keywords, or both."""
        settings: Any = settings_of(self.settings, self.metric.id, options, more)
        return MastraScorer(self.metric.id, model, settings, self.judged)

    def factory(self, model: Model, options: Options = None) -> MastraScorer:
        """The scorer for runs made from samples: their contexts are those of the samples.

        Options take precedence.
        """
        given = dict(options or {})
        own = {
            name: value
            for name, value in self.sample_options.items()
            if name not in given and camel_case(name) not in given
        }
        return self.create(model, {**own, **given})

    def judged_scorer(self, judge: Model, options: Mapping[str, Any]) -> JudgedScorer:
        """The scorer for samples; its option ``with_reason`` says whether it asks for a reason."""
        given = dict(options)
        with_reason = given.pop("with_reason", given.pop("withReason", True))
        if not isinstance(with_reason, bool):
            owner = f"{self.metric.id}: with_reason"
            raise InputError(f"{owner} must be true or false, got {glance(with_reason)}")
        scorer = self.factory(judge, given)

        async def score(
            asker: Asker, sample: Mapping[str, Any] | EvalSample, tally: Tally
        ) -> Scored:
            run = run_of_sample(sample)
            if lacking := self._lacking(run):
                raise MissingFieldError(f"No {lacking.replace('_', ' ')} given.")
            result = await scorer.score(asker, run, tally, with_reason=with_reason)
            reason = result.null_reason if result.score is None else NullReason.MEASURED
            return Scored(result.score, reason, _explanation(result), (result.to_dict(),))

        return JudgedScorer(score, self._changed(scorer.settings))

    def _lacking(self, run: Mapping[str, Any]) -> str:
        """The field without which a judge would be asked about nothing; empty for none."""
        if "trajectory" in run:
            return ""
        places = {"question": "input", "answer": "output", "ground_truth": "groundTruth"}
        needed = self.metric.fields
        return next((n for n, place in places.items() if n in needed and place not in run), "")

    def _changed(self, settings: Any) -> dict[str, Any]:
        """The settings that are not the usual ones, as JSON values, however they were spelled."""
        usual = self.metric.options
        found = {each.name: getattr(settings, each.name) for each in fields(settings)}
        return {
            name: json_value(value)
            for name, value in found.items()
            if name not in usual or value != usual[name]
        }


def _explanation(result: MastraResult) -> str:
    """The judge's reason, or why there is none."""
    if result.reason or result.score is None:
        return result.reason or result.message
    return (
        f"The judge's verdicts give a score of {result.score:.2f}; {result.message or _NO_REASON}."
    )


def judged_spec(
    id: MetricId,
    judged: Judged,
    settings: type,
    steps: tuple[Step[Any], ...],
    *,
    n_calls: int | None = None,
    sample_options: Mapping[str, Any] | None = None,
    **contract: Any,
) -> MastraSpec:
    """A scorer that asks a judge.

    Parameters
    ----------
    n_calls : int, optional
        By default one for each of the steps.
    sample_options : mapping, optional
        By default the contexts are those of each sample, where the scorer reads contexts.
    contract
        Further fields of the :class:`Metric`.
    """
    calls = len(steps) if n_calls is None else n_calls
    if sample_options is None:
        sample_options = {"context": OF_THE_RUN} if "contexts" in contract["fields"] else {}
    listed = fields(settings)
    defaults = {each.name: default_of(each) for each in listed if not is_required(each)}
    metric = Metric(
        id=id,
        optional=tuple(name for name in _RUN_FIELDS if name not in contract["fields"]),
        options={**defaults, **sample_options},
        required_options=tuple(each.name for each in listed if is_required(each)),
        kind="judged",
        cost=f"{calls} call{'s' if calls > 1 else ''}",
        null_when="a field is missing, or the judge failed",
        judged=RULE,
        **{"source": MUST, **contract},
    )
    return MastraSpec(
        metric=metric,
        judged=judged,
        settings=settings,
        steps=steps,
        n_calls=calls,
        sample_options=sample_options,
    )
