"""Regtrace's scorers of format: `regtrace.format` and the tool's own formulas, as contracts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer, truths_of
from rag_eval.metrics.findings_column import RowScore, column_of
from rag_eval.plumbing.checked_values import share
from rag_eval.samples import NullReason
from rag_eval.scorers.regtrace.details import documents, shown
from rag_eval.scorers.regtrace.format import FormatCheck, FormatOptions, FormatResult
from rag_eval.scorers.regtrace.format_formulas import (
    PHRASES,
    SUB_CHECKS,
    format_mean,
    length_ratio,
    markdown_features,
    phrase_penalty,
    regex_match,
    term_coverage,
)
from rag_eval.scorers.regtrace.json_comparison import value_similarity
from rag_eval.scorers.safe_patterns import UnsupportedPatternError

_THRESHOLD: Final = 0.7
_DOCUMENTED: Final = "Regtrace, metrics reference"
_OF_THE_CODE: Final = "Regtrace 0.10"
_MOST_PHRASES: Final = 1000


def _format(**options: Any) -> Scorer:
    check = FormatCheck(FormatOptions(**options))

    def score(fields: Fields) -> Scored:
        found = _best_format(check, fields)
        if found.score is None:
            return Scored.nothing("no sub-check applies: " + "; ".join(found.not_applied))
        lines = shown(found.details) or [f"{len(found.details)} sub-checks passed"]
        lines += [f"not applied: {reason}" for reason in found.not_applied]
        return Scored(found.score, explanation="; ".join(lines), details=documents(found.details))

    def row_score(fields: Fields) -> RowScore:
        found = _best_format(check, fields).score
        return NullReason.NOTHING_TO_MEASURE if found is None else found

    return Scorer(score, lambda rows: column_of(rows, row_score))


def _best_format(check: FormatCheck, fields: Fields) -> FormatResult:
    """The finding for the expected output that suits the answer best; the first of equals."""
    truths: Sequence[str | None] = truths_of(fields) or [None]
    found = [check(fields["answer"], truth) for truth in truths]
    return max(found, key=lambda one: -1.0 if one.score is None else one.score)


def _of_answer(formula: Callable[[str], float]) -> Scorer:
    return Scorer(
        lambda fields: Scored(formula(fields["answer"])),
        lambda rows: column_of(rows, lambda fields: formula(fields["answer"])),
    )


def _of_both(formula: Callable[[str, str], float]) -> Scorer:
    """The best score over the expected outputs."""

    def best(fields: Fields) -> RowScore:
        scores = [formula(fields["answer"], truth) for truth in truths_of(fields)]
        return max(scores, default=NullReason.NOTHING_TO_MEASURE)

    def score(fields: Fields) -> Scored:
        found = best(fields)
        if isinstance(found, NullReason):
            return Scored.nothing("ground_truth is empty")
        return Scored(found)

    return Scorer(score, lambda rows: column_of(rows, best))


def _format_mean(sub_checks: Mapping[str, bool] | None, length_tolerance: float) -> Scorer:
    share(length_tolerance, "length_tolerance")
    if sub_checks is not None and not isinstance(sub_checks, Mapping):
        raise InputError(f"sub_checks must be a mapping, got {type(sub_checks).__name__}")
    for name, switch in (sub_checks or {}).items():
        if name not in SUB_CHECKS or not isinstance(switch, bool):
            raise InputError(
                f"sub_checks must map names of {SUB_CHECKS} to true or false, "
                f"got {glance(name, 40)}: {glance(switch, 40)}"
            )

    def score(fields: Fields) -> Scored:
        truths = truths_of(fields)
        if not truths:
            return Scored.nothing("ground_truth is empty")
        try:
            found = [
                format_mean(
                    fields["answer"],
                    truth,
                    sub_checks=sub_checks,
                    length_tolerance=length_tolerance,
                )
                for truth in truths
            ]
        except UnsupportedPatternError as fault:
            return Scored.nothing(f"the expected output, as a pattern: {fault}")
        best = max(found, key=lambda one: one.score)
        return Scored(best.score, details=documents(best.details))

    return Scorer(score)


def _length_ratio(length_tolerance: float) -> Scorer:
    tolerance = share(length_tolerance, "length_tolerance")
    return _of_both(lambda answer, truth: length_ratio(answer, truth, tolerance))


def _phrase_penalty(phrases: Sequence[str] | None) -> Scorer:
    if phrases is None:
        return _of_answer(phrase_penalty)
    if not isinstance(phrases, (list, tuple)) or not all(
        isinstance(phrase, str) and phrase for phrase in phrases
    ):
        raise InputError(f"phrases must be a list of texts, got {glance(phrases)}")
    if len(phrases) > _MOST_PHRASES:
        raise InputError(f"phrases must be at most {_MOST_PHRASES}, got {len(phrases)}")
    return _of_answer(lambda answer: phrase_penalty(answer, phrases))


def _regex_match() -> Scorer:
    def score(fields: Fields) -> Scored:
        found: list[float] = []
        reasons: list[str] = []
        for truth in truths_of(fields):
            try:
                found.append(regex_match(fields["answer"], truth))
            except UnsupportedPatternError as fault:
                reasons.append(str(fault))
        if not found:
            return Scored.nothing("; ".join(reasons) or "ground_truth is empty")
        return Scored(max(found))

    return Scorer(score)


def _formula(
    name: str,
    summary: str,
    create: Callable[..., Scorer],
    *,
    needs_truth: bool = True,
    options: Mapping[str, Any] | None = None,
    null_when: str = "",
    extra: str = "",
    version: int = 1,
) -> Metric:
    return Metric(
        id=f"regtrace.{name}",
        summary=summary,
        create=create,
        fields=("answer", "ground_truth") if needs_truth else ("answer",),
        options=options or {},
        threshold=_THRESHOLD,
        cost="python",
        source=_OF_THE_CODE,
        null_when=null_when,
        extra=extra,
        version=version,
    )


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        id="regtrace.format",
        summary="Share of the sub-checks of format that pass, of those that apply",
        create=_format,
        fields=("answer",),
        optional=("ground_truth",),
        options={
            "sub_checks": None,
            "length_tolerance": 0.2,
            "schema": None,
            "required_fields": None,
            "forbidden_content": None,
            "pattern": None,
            "pattern_flags": "",
        },
        threshold=_THRESHOLD,
        cost="python",
        source=_DOCUMENTED,
        null_when="no sub-check applies",
        extra="markdown,schema,safe-regex",
    ),
    _formula(
        "format_mean",
        "Mean of the fractional scores of Regtrace's seven sub-checks",
        _format_mean,
        options={"sub_checks": None, "length_tolerance": 0.2},
        null_when="the expected output is a pattern that linear time has not",
        extra="safe-regex",
        version=2,
    ),
    _formula(
        "length_ratio",
        "1 where the length is the expected one, give or take, less in proportion beyond",
        _length_ratio,
        options={"length_tolerance": 0.2},
    ),
    _formula(
        "value_similarity",
        "Share of the expected JSON value that the answer has, value by value",
        lambda: _of_both(value_similarity),
    ),
    _formula(
        "markdown_features",
        "Share of five features of Markdown that the answer has",
        lambda: _of_answer(markdown_features),
        needs_truth=False,
        version=2,
    ),
    _formula(
        "term_coverage",
        "Share of the longer words of the expected output that occur in the answer",
        lambda: _of_both(term_coverage),
    ),
    _formula(
        "phrase_penalty",
        "1 less 0.2 for each phrase of refusal or doubt in the answer",
        _phrase_penalty,
        needs_truth=False,
        options={"phrases": PHRASES},
    ),
    _formula(
        "regex_match",
        "1 where the answer matches the expected output as a pattern, else 0",
        _regex_match,
        null_when="the pattern is one that linear time has not",
        extra="safe-regex",
    ),
)
