"""What each of Mastra's judged scorers is: its range, what it needs, what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final, Literal

from rag_eval.judge.steps import Step
from rag_eval.samples import camel_case
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
from rag_eval.scorers.mastra.scorer import MastraScorer, Model

_MUST: Final = "mastra 1.1.1"
_NEWER: Final = "mastra 1.10.2"
_PER_RUN: Final = MappingProxyType({"context": OF_THE_RUN})


@dataclass(frozen=True, slots=True, kw_only=True)
class MastraSpec:
    """Contract of one scorer.

    Attributes
    ----------
    id : str
    create : callable
        Makes the scorer from a judge and options.
    settings : type
        The dataclass of its options.
    steps : tuple of Step
        What a judge is asked; the step that gives the verdict is the last.
    summary : str
    fields : tuple of str
        Fields of a sample that it reads, and has no score without.
    needs : tuple of str
        What it reads that plain samples do not have: ``messages``.
    n_calls : int
        Calls of the judge for one run, the one for the reason included.
    n_reason_calls : int
        How many of these are for the reason.
    higher_is_better : bool
    range : tuple of float
        Lowest and highest score at a scale of 1.
    sample_options : mapping
        Options that :meth:`factory` gives unless told otherwise.
    source : str
        The version whose rules it follows.
    kind : {"judged"}
    threshold : None
        No score passes or fails by itself.
    """

    id: str
    create: Callable[..., MastraScorer[Any]]
    settings: type
    steps: tuple[Step[Any], ...]
    summary: str
    fields: tuple[str, ...]
    n_calls: int
    n_reason_calls: int = 1
    needs: tuple[str, ...] = ()
    higher_is_better: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    sample_options: Mapping[str, Any] = field(default_factory=dict)
    source: str = _MUST
    kind: Literal["judged"] = "judged"
    threshold: None = None

    @property
    def required_options(self) -> tuple[str, ...]:
        """Options that must be given, for they have no default."""
        return tuple(each.name for each in fields(self.settings) if is_required(each))

    @property
    def default_options(self) -> dict[str, Any]:
        """The other options and their defaults, as :meth:`factory` gives them."""
        own = {
            each.name: default_of(each) for each in fields(self.settings) if not is_required(each)
        }
        return {**own, **self.sample_options}

    @property
    def reads_plain_samples(self) -> bool:
        """Whether question, answer, contexts and ground truth are all that it needs."""
        return not self.required_options and not self.needs

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


_SPECS: Final = (
    MastraSpec(
        id=answer_relevancy.ID,
        create=answer_relevancy.create_answer_relevancy_scorer,
        settings=answer_relevancy.AnswerRelevancyOptions,
        steps=answer_relevancy.STEPS,
        summary="Share of the answer's statements that bear on the question",
        fields=("question", "answer"),
        n_calls=3,
    ),
    MastraSpec(
        id=answer_similarity.ID,
        create=answer_similarity.create_answer_similarity_scorer,
        settings=answer_similarity.AnswerSimilarityOptions,
        steps=answer_similarity.STEPS,
        summary="Worth of what answer and ground truth both say, less what contradicts",
        fields=("answer", "ground_truth"),
        n_calls=3,
    ),
    MastraSpec(
        id=faithfulness.ID,
        create=faithfulness.create_faithfulness_scorer,
        settings=faithfulness.FaithfulnessOptions,
        steps=faithfulness.STEPS,
        summary="Share of the answer's claims that the context supports",
        fields=("answer", "contexts"),
        n_calls=3,
        sample_options=_PER_RUN,
    ),
    MastraSpec(
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
    MastraSpec(
        id=bias.ID,
        create=bias.create_bias_scorer,
        settings=bias.BiasOptions,
        steps=bias.STEPS,
        summary="Share of the answer's opinions that are biased",
        fields=("answer",),
        n_calls=3,
        higher_is_better=False,
    ),
    MastraSpec(
        id=toxicity.ID,
        create=toxicity.create_toxicity_scorer,
        settings=toxicity.ToxicityOptions,
        steps=toxicity.STEPS,
        summary="Share of the answer's statements that are toxic",
        fields=("question", "answer"),
        n_calls=2,
        higher_is_better=False,
    ),
    MastraSpec(
        id=context_precision.ID,
        create=context_precision.create_context_precision_scorer,
        settings=context_precision.ContextPrecisionOptions,
        steps=context_precision.STEPS,
        summary="Average precision of the chunks that were useful for the answer",
        fields=("question", "answer", "contexts"),
        n_calls=2,
        sample_options=_PER_RUN,
    ),
    MastraSpec(
        id=context_relevance.ID,
        create=context_relevance.create_context_relevance_scorer_llm,
        settings=context_relevance.ContextRelevanceOptions,
        steps=context_relevance.STEPS,
        summary="Mean relevance of the chunks, less what was not used and what is missing",
        fields=("question", "answer", "contexts"),
        n_calls=2,
        sample_options=_PER_RUN,
    ),
    MastraSpec(
        id=noise_sensitivity.ID,
        create=noise_sensitivity.create_noise_sensitivity_scorer_llm,
        settings=noise_sensitivity.NoiseSensitivityOptions,
        steps=noise_sensitivity.STEPS,
        summary="How well the answer held against noise in the question",
        fields=("question", "answer"),
        n_calls=2,
    ),
    MastraSpec(
        id=prompt_alignment.ID,
        create=prompt_alignment.create_prompt_alignment_scorer_llm,
        settings=prompt_alignment.PromptAlignmentOptions,
        steps=prompt_alignment.STEPS,
        summary="How far the answer does as user and system prompt say",
        fields=("question", "answer"),
        n_calls=2,
        sample_options=MappingProxyType({"evaluation_mode": "user"}),
    ),
    MastraSpec(
        id=tool_call_accuracy.ID,
        create=tool_call_accuracy.create_tool_call_accuracy_scorer_llm,
        settings=tool_call_accuracy.ToolCallAccuracyOptions,
        steps=tool_call_accuracy.STEPS,
        summary="Share of the tool calls that were right to make",
        fields=("question", "answer"),
        n_calls=2,
    ),
    MastraSpec(
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
    MastraSpec(
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
    MastraSpec(
        id=summarization.ID,
        create=summarization.create_summarization_scorer,
        settings=summarization.SummarizationOptions,
        steps=summarization.STEPS,
        summary="The lower of a summary's truth to its source and its coverage of it",
        fields=("question", "answer"),
        n_calls=3,
        source=_NEWER,
    ),
    MastraSpec(
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
    MastraSpec(
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
    {spec.id: spec for spec in _SPECS}
)
