"""Options of a verifier, checked -> the verifier of a call: in place of judges, or before them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.judge.verifiers import VERIFIED_METRICS, Verifier
from rag_eval.options.declared import declared
from rag_eval.options.judge_types import UNCERTAIN, Band, JudgeOptions, checked_band
from rag_eval.samples import EvaluationMode, MetricId

_OPTIONS: Final = declared(JudgeOptions)
# What says how an LLM judge is asked.
_OF_JUDGES: Final = (
    *("judge_style", "judge_repeat", "prompt_overrides", "judge_options", "judge_allow_http"),
    "max_calls",
)


def told_apart(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options with a verifier that was given as the judge under its own name."""
    judge, several = options.get("judge"), options.get("judges")
    if isinstance(several, (list, tuple)) and any(isinstance(one, Verifier) for one in several):
        raise InputError("judges cannot have a verifier among them; give it as verifier=")
    if not isinstance(judge, Verifier):
        return options
    if options.get("verifier") is not None:
        raise InputError("judge and verifier are both verifiers; give one of them")
    return {**options, "judge": None, "verifier": judge}


def verifier_band(options: Mapping[str, Any]) -> Band:
    """The probabilities of claims between which a verifier is uncertain."""
    given = options.get("verifier_band")
    return UNCERTAIN if given is None else checked_band(given, "verifier_band")


def verifies_alone(options: Mapping[str, Any]) -> bool:
    """Whether a verifier takes the place of all judges."""
    has_judge = options.get("judge") is not None or options.get("judges") is not None
    return options.get("verifier") is not None and not has_judge


def chosen_verifier(
    options: Mapping[str, Any], mode: EvaluationMode, judged: Iterable[MetricId]
) -> Verifier | None:
    """The verifier of a call, its options checked; None without one.

    Raises
    ------
    InputError
        If it cannot be loaded, cannot score a metric, or is given with what has no effect on it.
    MissingExtraError
        For a folder, without the extra ``verifier``.
    """
    given = options.get("verifier")
    is_alone = verifies_alone(options)
    if options.get("verifier_band") is not None and (given is None or is_alone):
        raise InputError(
            "verifier_band says which claims of a verifier a judge is asked about: it needs a "
            "verifier, a judge and mode='cascade'"
        )
    if given is None:
        return None
    if not is_alone and mode != "cascade":
        raise InputError(
            f"only mode 'cascade' asks a verifier and a judge, and the mode is {mode!r}. Leave out "
            "one of them, or use --mode cascade (in Python: mode='cascade')"
        )
    listed = ", ".join(VERIFIED_METRICS)
    for metric in judged if is_alone else ():
        if metric not in VERIFIED_METRICS:
            raise InputError(
                f"a verifier cannot score {metric}, only {listed}. Request those with --metrics, "
                "or use --mode hybrid, which scores the others natively"
            )
    for name in _OF_JUDGES if is_alone else ():
        if options.get(name) not in (None, {}, [], (), _OPTIONS[name].default):
            instead = "; budget_usd limits its cost" if name == "max_calls" else ""
            raise InputError(f"{name} is for LLM judges and has no effect on a verifier{instead}")
    if isinstance(given, (str, PathLike)):
        from rag_eval.adapters.onnx import create_onnx_verifier

        given = create_onnx_verifier(given)
    if not isinstance(given, Verifier):
        raise InputError(
            "verifier must be a rag_eval.judge.Verifier or the path of a folder with an ONNX "
            f"model, got {glance(given)}"
        )
    if given.cost_per_claim and options.get("judge_batch") is not None:
        raise InputError(
            f"judge_batch reads the data several times, and {given.identity} would be paid each "
            "time. Leave out judge_batch (--judge-batch), or the verifier"
        )
    low, high = verifier_band(options)
    if not is_alone and not low <= given.threshold <= high:
        raise InputError(
            f"verifier_band must enclose the verifier's threshold {given.threshold:g}, got "
            f"{low:g} to {high:g}"
        )
    return given
