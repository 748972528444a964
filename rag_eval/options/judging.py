"""Options of judging, checked -> what a call asks of a judge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from rag_eval.errors import InputError, UnsupportedModeError, suggestion
from rag_eval.judge.rendering import PromptStyle
from rag_eval.judge.replies import JudgeFn, JudgeIdentity, JudgeLimits
from rag_eval.judge.steps import Step, Template
from rag_eval.judge.verifiers import VERIFIED_METRICS, Verifier
from rag_eval.metrics.contract import JudgedScorer, JudgeStyle
from rag_eval.metrics.ids import METRIC_IDS, is_scorer_id
from rag_eval.metrics.registry import can_be_judged, judged_rule, needs_judge, to_metric_id
from rag_eval.options.declared import declared
from rag_eval.options.judge_types import (
    UNCERTAIN,
    Band,
    JudgeOptions,
    OnJudgeFailure,
    asks_for_judging,
    checked_band,
)
from rag_eval.options.scorers import judged_scorers, scorer_options
from rag_eval.options.signature import SCORE_VERSIONS
from rag_eval.options.verifying import (
    chosen_verifier,
    told_apart,
    verifier_band,
    verifies_alone,
)
from rag_eval.plumbing.checked_values import one_of
from rag_eval.plumbing.json_text import json_value
from rag_eval.samples import EvaluationMode, MetricId

if TYPE_CHECKING:
    from rag_eval.judge.batch_ledger import BatchLedger
    from rag_eval.judge.cache import JudgeCache


_OPTIONS: Final = declared(JudgeOptions)
# Where a judge sees most that words alone do not show.
HYBRID_JUDGED: Final[tuple[MetricId, ...]] = (
    "faithfulness",
    "answer_relevance",
    "hallucination_rate",
)


@dataclass(frozen=True, slots=True)
class Judging:
    """What a call asks of a judge.

    Attributes
    ----------
    mode : {"llm", "hybrid", "cascade"}
    judged : tuple of MetricId
        The columns that a judge scores; in a cascade only in some rows.
    judges : tuple of callable
        None of them if a verifier judges alone.
    identities : tuple of JudgeIdentity
        One per judge.
    style, repeat, on_failure
        As the options of those names.
    batches : BatchLedger or path, optional
        Where the batches of a run on files are kept; open when there are replies in it to use.
    scorers : dict of JudgedScorer
        Those of ``judged`` that only a judge can score and that are judged by themselves.
    bands : dict of (low, high)
        Cascade: the native scores between which the judge is asked, for the metrics that were given
        such; of others the calibration tells.
    verifier : Verifier or None
        Judges in place of judges or, in a cascade, before them.
    verifier_band : (low, high)
        The probabilities of claims that it leaves to the judges.
    """

    mode: EvaluationMode
    judged: tuple[MetricId, ...]
    judges: tuple[JudgeFn, ...] = field(compare=False, repr=False)
    identities: tuple[JudgeIdentity, ...]
    style: JudgeStyle
    repeat: int
    on_failure: OnJudgeFailure
    prompts: PromptStyle
    limits: JudgeLimits
    bands: Mapping[MetricId, Band]
    audit_share: float
    seed: int
    cache: Path | JudgeCache | None = field(compare=False)
    batches: BatchLedger | Path | None = field(compare=False)
    prices: Any
    scorers: Mapping[MetricId, JudgedScorer] = field(compare=False, repr=False)
    verifier: Verifier | None = field(default=None, compare=False)
    verifier_band: Band = UNCERTAIN

    @property
    def is_cascade(self) -> bool:
        """Whether the judge is asked in the uncertain band only."""
        return self.mode == "cascade"

    def steps(self, metric: MetricId) -> Sequence[Step[Any]]:
        """What the judge is asked for one metric."""
        return judged_rule(metric).steps[self.style]

    def signature_options(self, calibrations: Mapping[MetricId, Any]) -> dict[str, Any]:
        """What of it could change a number, as JSON values; what is of a metric, per metric."""
        options: dict[str, Any] = {
            "mode": self.mode,
            "judged": sorted(self.judged),
            "judges": [json_value(identity.to_dict()) for identity in self.identities],
            "onJudgeFailure": self.on_failure,
        }
        if self.judges:
            options["judgeStyle"] = self.style
            options["judgeRepeat"] = self.repeat
            options["judgePrompts"] = {name: self.prompt_digest(name) for name in self.judged}
        if self.verifier is not None:
            options["verifier"] = self._verifier_options(self.verifier)
        if self.is_cascade:
            options["auditShare"] = self.audit_share
            options["judgeSeed"] = self.seed
        settings = {metric: dict(found.signed) for metric, found in self.scorers.items()}
        if any(settings.values()):
            options["scorerOptions"] = {name: found for name, found in settings.items() if found}
        if self.is_cascade:
            options["cascadeBand"] = {
                metric: list(self.bands[metric])
                if metric in self.bands
                else {"probability": list(UNCERTAIN)}
                for metric in self.judged
            }
            options["calibrations"] = {
                metric: calibrations[metric].digest
                for metric in self.judged
                if metric in calibrations
            }
        return options

    def _verifier_options(self, verifier: Verifier) -> dict[str, Any]:
        found = {
            **json_value(verifier.identity.to_dict()),
            "threshold": verifier.threshold,
            "sentences": f"grounded:{SCORE_VERSIONS['grounded']}",
        }
        return {**found, "band": list(self.verifier_band)} if self.judges else found

    def prompt_digest(self, metric: MetricId) -> str:
        """The wording of a metric's prompts in twelve hex digits."""
        steps = sorted(self.steps(metric), key=lambda step: step.name)
        digests = [f"{step.name}={self.prompts.digest(step)}" for step in steps]
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:12]


def make_judging(options: Mapping[str, Any], columns: tuple[MetricId, ...]) -> Judging | None:
    """What the normalized options of a call ask of a judge; None for nothing.

    Raises
    ------
    InputError
        For an invalid value of an option, naming both.
    UnsupportedModeError
        When a judge is needed and none was given.
    """
    if not asks_for_judging(options) and not any(map(needs_judge, columns)):
        return None
    mode: EvaluationMode = _OPTIONS["mode"].of(options)
    options = told_apart(options)
    judged = _judged_columns(mode, options, columns)
    given_scorer_options = scorer_options(options, columns)
    limits = limits_of(options)
    if not judged:
        _check_unused(mode, options)
        return None
    style: JudgeStyle = _OPTIONS["judge_style"].of(options)
    verifier = chosen_verifier(options, mode, judged)
    judges, identities = _judges(options, mode, judged, limits)
    scorers = judged_scorers(judged, judges[0], given_scorer_options) if judges else {}
    from rag_eval.judge.prices import price_table

    return Judging(
        mode="hybrid" if mode == "heuristic" else mode,
        judged=judged,
        judges=judges,
        identities=identities,
        style=style,
        repeat=_OPTIONS["judge_repeat"].of(options),
        on_failure=_OPTIONS["on_judge_failure"].of(options),
        prompts=PromptStyle(
            _overrides(options.get("prompt_overrides") or {}, judged, style),
            length_neutral=_OPTIONS["length_debias"].of(options),
            shares_chunks=_share_chunks(judged, style),
        ),
        limits=limits,
        bands=_bands(options, mode, judged),
        audit_share=_OPTIONS["audit_share"].of(options),
        seed=_OPTIONS["judge_seed"].of(options),
        cache=_cache(options.get("judge_cache")),
        batches=options.get("judge_batch"),
        prices=price_table(options.get("prices")),
        scorers=scorers,
        verifier=verifier,
        verifier_band=verifier_band(options),
    )


def _share_chunks(judged: Sequence[MetricId], style: JudgeStyle) -> bool:
    """Whether several prompts of a row read its contexts."""
    reading = {
        metric
        for metric in judged
        if any("chunk" in step.template.variables for step in judged_rule(metric).steps[style])
    }
    if style == "claims" and "faithfulness" in reading:
        reading.discard("hallucination_rate")  # counted from the same verdicts
    return len(reading) > 1


def limits_of(options: Mapping[str, Any]) -> JudgeLimits:
    """The limits among some options; None and missing mean the default."""
    return JudgeLimits(
        **{limit.name: _OPTIONS[limit.name].of(options) for limit in fields(JudgeLimits)}
    )


def _cache(given: object) -> Path | JudgeCache | None:
    if given is None:
        return None
    if isinstance(given, (str, Path)):
        return Path(given)
    from rag_eval.judge.cache import JudgeCache

    if isinstance(given, JudgeCache):
        return given
    raise InputError(f"judge_cache must be a path or a JudgeCache, got {type(given).__name__}")


def _judged_columns(
    mode: EvaluationMode, options: Mapping[str, Any], columns: tuple[MetricId, ...]
) -> tuple[MetricId, ...]:
    given = options.get("metric_modes") or {}
    for metric, chosen in given.items():
        one_of(chosen, f"metric_modes[{metric!r}]", ("heuristic", "llm"))
        if metric not in columns:
            raise InputError(f"metric_modes names {metric}, which is not among the metrics")
        if chosen == "llm" and not can_be_judged(metric):
            kind = "scorer" if is_scorer_id(metric) else "diagnostic"
            raise InputError(f"metric_modes[{metric!r}]: no judge can score this {kind}")
        if chosen == "heuristic" and needs_judge(metric):
            raise InputError(f"metric_modes[{metric!r}]: only a judge can score this metric")
    if mode == "cascade":
        _check_cascade(given, columns)

    def is_judged(metric: MetricId) -> bool:
        if needs_judge(metric):
            return True
        if metric in given:
            return bool(given[metric] == "llm")
        if mode == "hybrid":
            # The list of modes of the caller replaces ours.
            judged = VERIFIED_METRICS if verifies_alone(options) else HYBRID_JUDGED
            return not given and metric in judged
        if mode == "llm":
            return can_be_judged(metric)
        return mode == "cascade" and metric in METRIC_IDS

    return tuple(metric for metric in columns if is_judged(metric))


def _check_cascade(given: Mapping[str, Any], columns: tuple[MetricId, ...]) -> None:
    """Only the seven have scores between which a judge is asked."""
    for metric in columns:
        if needs_judge(metric):
            fault = "it has no native score"
        elif given.get(metric) == "llm" and metric not in METRIC_IDS:
            fault = "a judge cannot score only some of its rows"
        else:
            continue
        raise InputError(
            f"mode='cascade' cannot score {metric}: {fault}; request it in another call"
        )


def _check_unused(mode: EvaluationMode, options: Mapping[str, Any]) -> None:
    if mode != "heuristic":
        raise InputError(f"mode={mode!r} judges none of the requested metrics")
    unused = ("judge_style", "judge_repeat", "cascade_band", "judge_cache", "budget_usd")
    for name in (*unused, "verifier", "verifier_band"):
        if options.get(name) is not None:
            raise InputError(
                f"{name} has no effect in mode 'heuristic'; use mode='llm' for a judge"
            )


def _judges(
    options: Mapping[str, Any],
    mode: EvaluationMode,
    judged: tuple[MetricId, ...],
    limits: JudgeLimits,
) -> tuple[tuple[JudgeFn, ...], tuple[JudgeIdentity, ...]]:
    one, several = options.get("judge"), options.get("judges")
    if one is not None and several is not None:
        raise InputError("give either judge or judges, not both")
    if verifies_alone(options):
        return (), ()
    if one is None and several is None:
        raise UnsupportedModeError(
            f"{_asking(options, mode, judged)} needs a judge. Add --judge openai:MODEL "
            "or set RAG_EVAL_JUDGE (in Python: judge='openai:MODEL', or a function that takes a "
            f"prompt and returns the reply), or leave out {_dispensable(options, mode, judged)}"
        )
    if several is not None and (not isinstance(several, (list, tuple)) or not several):
        raise InputError(f"judges must be a list of judges, got {several!r:.80}")
    given = [one] if several is None else several
    judges = tuple(resolved_judge(judge, options, limits.call_timeout_s) for judge in given)
    from rag_eval.judge.replies import identity_of

    return judges, tuple(identity_of(judge, place) for place, judge in enumerate(judges))


def _asking(options: Mapping[str, Any], mode: EvaluationMode, judged: tuple[MetricId, ...]) -> str:
    """What it is that asks for a judge."""
    if mode != "heuristic":
        return f"mode {mode!r}"
    if judged[0] in (options.get("metric_modes") or {}):
        return f"mode 'llm' of the metric {judged[0]!r}"
    return f"the metric {judged[0]!r}"


def _dispensable(
    options: Mapping[str, Any], mode: EvaluationMode, judged: tuple[MetricId, ...]
) -> str:
    """What to leave out to score without a judge."""
    if mode != "heuristic":
        return f"--mode {mode} (in Python: mode={mode!r})"
    if judged[0] in (options.get("metric_modes") or {}):
        return "that mode"
    return "that metric"


def resolved_judge(judge: object, options: Mapping[str, Any], timeout_s: float) -> JudgeFn:
    """A judge that is a function or an address, by the options of a call.

    Raises
    ------
    InputError
        If it is neither, or its address, key or options cannot be.
    """
    if isinstance(judge, str):
        from rag_eval.adapters.addresses import judge_from_address

        found = judge_from_address(
            judge,
            timeout_s=timeout_s,
            options=options.get("judge_options"),
            allow_http=options.get("judge_allow_http") or (),
        )
        return cast(JudgeFn, found)
    if options.get("judge_options"):
        raise InputError(
            "judge_options are for judges given by an address, such as openai:MODEL. Give those of "
            f"your own {type(judge).__name__} where you create it"
        )
    if not callable(judge):
        raise InputError(
            f"judge must be a function from prompt to reply or an address, "
            f"got {type(judge).__name__}"
        )
    return cast(JudgeFn, judge)


def _overrides(
    given: Mapping[str, Any], judged: Iterable[MetricId], style: JudgeStyle
) -> dict[str, Template]:
    found: dict[str, Template] = {}
    for metric, value in given.items():
        if metric not in judged:
            raise InputError(f"prompt_overrides names {metric}, which is not judged")
        steps = {step.name.rpartition("/")[2]: step for step in judged_rule(metric).steps[style]}
        # A text by itself is for the step that gives the verdict, which comes last.
        bodies = {list(steps)[-1]: value} if isinstance(value, str) else value
        if not isinstance(bodies, Mapping):
            raise InputError(f"prompt_overrides[{metric!r}] must be a string or a mapping of steps")
        for name, body in bodies.items():
            if name not in steps:
                hint = suggestion(name, steps) or f" (steps: {', '.join(steps)})"
                raise InputError(f"prompt_overrides[{metric!r}] has no step {name!r}{hint}")
            step = steps[name]
            owner = f"prompt_overrides[{metric!r}][{name!r}]"
            changed = step.template.with_body(body, owner)
            if found.setdefault(step.name, changed) != changed:
                raise InputError(
                    f"{owner}: another metric shares this step and has a different text"
                )
    return found


def _bands(
    options: Mapping[str, Any], mode: EvaluationMode, judged: tuple[MetricId, ...]
) -> dict[MetricId, Band]:
    given = options.get("cascade_band")
    if given is None:
        return {}
    if mode != "cascade":
        raise InputError("cascade_band needs mode='cascade'")
    if not isinstance(given, Mapping):
        return {metric: checked_band(given, "cascade_band") for metric in judged}
    bands = {}
    for name, band in given.items():
        metric = to_metric_id(name)
        if metric not in judged:
            raise InputError(f"cascade_band names {metric}, which is not judged")
        if metric in bands:
            raise InputError(f"cascade_band names {metric} twice")
        bands[metric] = checked_band(band, f"cascade_band[{name!r}]")
    return bands
