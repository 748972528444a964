"""Mastra's scorers that ask a judge: what each needs, what it costs, how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from dataclasses import fields as dataclass_fields
from types import MappingProxyType
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.judge.asking import Asker, Tally
from rag_eval.judge.steps import Step
from rag_eval.metrics.contract import (
    JUDGE_STYLES,
    JudgedRule,
    JudgedScorer,
    Metric,
    MissingFieldError,
    Scored,
)
from rag_eval.plumbing.json_text import json_value
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import EvalSample, MetricId, NullReason
from rag_eval.scorers.mastra import (
    answer_relevancy,
    answer_similarity,
    bias,
    context_precision,
    context_recall,
    context_relevance,
    faithfulness,
    hallucination,
    multi_turn,
    noise_sensitivity,
    prompt_alignment,
    rubric,
    summarization,
    tool_call_accuracy,
    toxicity,
    trajectory_accuracy,
)
from rag_eval.scorers.mastra.contexts import OF_THE_RUN
from rag_eval.scorers.mastra.options import default_of, is_required
from rag_eval.scorers.mastra.runs import run_of_sample
from rag_eval.scorers.mastra.scorer import MastraResult, MastraScorer, Model

_MUST: Final = "mastra 1.1.1"
_NEWER: Final = "mastra 1.10.2"
_PER_RUN: Final = MappingProxyType({"context": OF_THE_RUN})


_NO_REASON: Final = "no reason was asked for"
# What runs hold beside texts.
_RUN_FIELDS: Final = (
    "messages",
    "tool_calls",
    "trajectory",
    "expected_trajectory",
    "additional_context",
    "run_id",
)
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class MastraSpec:
    """How one scorer is made.

    Attributes
    ----------
    metric : Metric
        Its contract.
    create : callable
        Makes the scorer from a judge and options.
    settings : type
        The dataclass of its options.
    steps : tuple of Step
        What a judge is asked; the step that gives the verdict is the last.
    n_calls : int
        Calls of the judge for one run, the one for the reason included.
    n_reason_calls : int
        How many of these are for the reason.
    sample_options : mapping
        Options that :meth:`factory` gives unless told otherwise.
    """

    metric: Metric
    create: Callable[..., MastraScorer[Any]]
    settings: type
    steps: tuple[Step[Any], ...]
    n_calls: int
    n_reason_calls: int = 1
    sample_options: Mapping[str, Any] = field(default_factory=dict)

    def factory(self, model: Model, options: Mapping[str, Any] | None = None) -> MastraScorer[Any]:
        """The scorer for runs made of samples: their contexts are the samples' own.

        Where options say otherwise, they hold.
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
                raise MissingFieldError(f"No {lacking} given.")
            result = await scorer.score(asker, run, tally, with_reason=with_reason)
            reason = result.null_reason if result.score is None else NullReason.MEASURED
            return Scored(result.score, reason, _explanation(result), (result.to_dict(),))

        return JudgedScorer(score, self._changed(scorer.settings))

    def _lacking(self, run: Mapping[str, Any]) -> str:
        """The field without which a judge would be asked about nothing; empty for none."""
        if "trajectory" in run:
            return ""
        places = {"question": "input", "answer": "output"}
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
    return f"The judge's verdicts come to {result.score:.2f}; {result.message or _NO_REASON}."


def _spec(
    *,
    id: str,
    create: Callable[..., MastraScorer[Any]],
    settings: type,
    steps: tuple[Step[Any], ...],
    summary: str,
    fields: tuple[str, ...],
    n_calls: int,
    n_reason_calls: int = 1,
    needs: tuple[str, ...] = (),
    higher_is_better: bool = True,
    sample_options: Mapping[str, Any] = _NOTHING,
    source: str = _MUST,
) -> MastraSpec:
    each_option = dataclass_fields(settings)
    metric = Metric(
        id=id,
        summary=summary,
        fields=(*fields, *needs),
        optional=tuple(name for name in _RUN_FIELDS if name not in needs),
        options={
            **{each.name: default_of(each) for each in each_option if not is_required(each)},
            **sample_options,
        },
        required_options=tuple(each.name for each in each_option if is_required(each)),
        higher_is_better=higher_is_better,
        kind="judged",
        cost=f"{n_calls} call" + ("s" if n_calls > 1 else ""),
        source=source,
        null_when="a field is missing, or the judge failed",
        judged=f"{__name__}:rule_of",
    )
    return MastraSpec(
        metric=metric,
        create=create,
        settings=settings,
        steps=steps,
        n_calls=n_calls,
        n_reason_calls=n_reason_calls,
        sample_options=sample_options,
    )


_SPECS: Final = (
    _spec(
        id=answer_relevancy.ID,
        create=answer_relevancy.create_answer_relevancy_scorer,
        settings=answer_relevancy.AnswerRelevancyOptions,
        steps=answer_relevancy.STEPS,
        summary="Share of the answer's statements that bear on the question",
        fields=("question", "answer"),
        n_calls=3,
    ),
    _spec(
        id=answer_similarity.ID,
        create=answer_similarity.create_answer_similarity_scorer,
        settings=answer_similarity.AnswerSimilarityOptions,
        steps=answer_similarity.STEPS,
        summary="Worth of what answer and ground truth both say, less what contradicts",
        fields=("answer", "ground_truth"),
        n_calls=3,
    ),
    _spec(
        id=faithfulness.ID,
        create=faithfulness.create_faithfulness_scorer,
        settings=faithfulness.FaithfulnessOptions,
        steps=faithfulness.STEPS,
        summary="Share of the answer's claims that the context supports",
        fields=("answer", "contexts"),
        n_calls=3,
        sample_options=_PER_RUN,
    ),
    _spec(
        id=hallucination.ID,
        create=hallucination.create_hallucination_scorer,
        settings=hallucination.HallucinationOptions,
        steps=hallucination.STEPS,
        summary="Share of the answer's claims that are made up",
        fields=("answer", "contexts"),
        n_calls=3,
        higher_is_better=False,
        sample_options=_PER_RUN,
    ),
    _spec(
        id=bias.ID,
        create=bias.create_bias_scorer,
        settings=bias.BiasOptions,
        steps=bias.STEPS,
        summary="Share of the answer's opinions that are biased",
        fields=("answer",),
        n_calls=3,
        higher_is_better=False,
    ),
    _spec(
        id=toxicity.ID,
        create=toxicity.create_toxicity_scorer,
        settings=toxicity.ToxicityOptions,
        steps=toxicity.STEPS,
        summary="Share of the answer's statements that are toxic",
        fields=("question", "answer"),
        n_calls=2,
        higher_is_better=False,
    ),
    _spec(
        id=context_precision.ID,
        create=context_precision.create_context_precision_scorer,
        settings=context_precision.ContextPrecisionOptions,
        steps=context_precision.STEPS,
        summary="Average precision of the chunks that were useful for the answer",
        fields=("question", "answer", "contexts"),
        n_calls=2,
        sample_options=_PER_RUN,
    ),
    _spec(
        id=context_relevance.ID,
        create=context_relevance.create_context_relevance_scorer_llm,
        settings=context_relevance.ContextRelevanceOptions,
        steps=context_relevance.STEPS,
        summary="Mean relevance of the chunks, less what was not used and what is missing",
        fields=("question", "answer", "contexts"),
        n_calls=2,
        sample_options=_PER_RUN,
    ),
    _spec(
        id=noise_sensitivity.ID,
        create=noise_sensitivity.create_noise_sensitivity_scorer_llm,
        settings=noise_sensitivity.NoiseSensitivityOptions,
        steps=noise_sensitivity.STEPS,
        summary="How well the answer held against noise in the question",
        fields=("question", "answer"),
        n_calls=2,
    ),
    _spec(
        id=prompt_alignment.ID,
        create=prompt_alignment.create_prompt_alignment_scorer_llm,
        settings=prompt_alignment.PromptAlignmentOptions,
        steps=prompt_alignment.STEPS,
        summary="How far the answer does as user and system prompt say",
        fields=("question", "answer"),
        n_calls=2,
        sample_options=MappingProxyType({"evaluation_mode": "user"}),
    ),
    _spec(
        id=tool_call_accuracy.ID,
        create=tool_call_accuracy.create_tool_call_accuracy_scorer_llm,
        settings=tool_call_accuracy.ToolCallAccuracyOptions,
        steps=tool_call_accuracy.STEPS,
        summary="Share of the tool calls that were right to make",
        fields=("question", "answer"),
        n_calls=2,
    ),
    _spec(
        id=context_recall.ID,
        create=context_recall.create_context_recall_scorer,
        settings=context_recall.ContextRecallOptions,
        steps=context_recall.STEPS,
        summary="Share of the ground truth's claims that the context has",
        fields=("ground_truth", "contexts"),
        n_calls=3,
        sample_options=_PER_RUN,
        source=_NEWER,
    ),
    _spec(
        id=rubric.ID,
        create=rubric.create_rubric_scorer,
        settings=rubric.RubricOptions,
        steps=rubric.STEPS,
        summary="Whether the answer meets all that a rubric requires",
        fields=("question", "answer"),
        n_calls=1,
        n_reason_calls=0,
        source=_NEWER,
    ),
    _spec(
        id=summarization.ID,
        create=summarization.create_summarization_scorer,
        settings=summarization.SummarizationOptions,
        steps=summarization.STEPS,
        summary="The lower of a summary's truth to its source and its coverage of it",
        fields=("question", "answer"),
        n_calls=3,
        source=_NEWER,
    ),
    _spec(
        id=multi_turn.ID,
        create=multi_turn.create_multi_turn_judge_scorer,
        settings=multi_turn.MultiTurnJudgeOptions,
        steps=multi_turn.STEPS,
        summary="Whether all that the assistant said meets a criterion",
        fields=("answer",),
        n_calls=1,
        n_reason_calls=0,
        source=_NEWER,
    ),
    _spec(
        id=trajectory_accuracy.ID,
        create=trajectory_accuracy.create_trajectory_accuracy_scorer_llm,
        settings=trajectory_accuracy.TrajectoryAccuracyOptions,
        steps=trajectory_accuracy.STEPS,
        summary="Whether the steps of an agent were needed and in order",
        fields=("question",),
        needs=("messages",),
        n_calls=2,
        source=_NEWER,
    ),
)

MASTRA_SCORERS: Final[Mapping[str, MastraSpec]] = MappingProxyType(
    {spec.metric.id: spec for spec in _SPECS}
)

METRICS: Final = tuple(spec.metric for spec in _SPECS)


def rule_of(metric: MetricId) -> JudgedRule:
    """How a judge scores one of them; the same in either style."""
    spec = MASTRA_SCORERS[metric]
    return JudgedRule(
        metric=dict.fromkeys(JUDGE_STYLES, spec.metric),
        steps=dict.fromkeys(JUDGE_STYLES, spec.steps),
        create=spec.judged_scorer,
    )
