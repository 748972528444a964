"""Contracts of Regtrace's scorers: format, factuality, tone, and the rules of the tool's code."""

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
    value_similarity,
)
from rag_eval.scorers.safe_patterns import UnsupportedPatternError

_THRESHOLD: Final = 0.7
_MOST_PHRASES: Final = 1000
_JUDGED: Final = "rag_eval.scorers.regtrace.judged:rule_of"


# ------------------------------------------------------------------------------------------ format


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


# ----------------------------------------------------------------------------- factuality and tone


def _factuality(**options: Any) -> Scorer:
    from rag_eval.scorers.regtrace.factuality import (
        FactualitySettings,
        factuality,
        factuality_column,
    )

    settings = FactualitySettings(**options)
    return Scorer(
        lambda fields: factuality(fields, settings),
        lambda samples: factuality_column(samples, settings),
    )


def _tone(**options: Any) -> Scorer:
    from rag_eval.scorers.regtrace.tone import ToneScorer, ToneSettings

    scorer = ToneScorer(ToneSettings(**options))
    return Scorer(scorer.score, scorer.column)


def _ngram_factuality(*, mode: Any = "strict") -> Scorer:
    from rag_eval.scorers.regtrace.formulas import checked_mode, ngram_factuality

    mode = checked_mode(mode)

    def score(fields: Fields) -> Scored:
        from rag_eval.scorers.regtrace.factuality import structure_scored

        found = [ngram_factuality(fields["answer"], truth, mode) for truth in truths_of(fields)]
        known = [one for one in found if one.score is not None]
        if not known:
            return Scored.nothing("Neither text has a letter from a to z or a digit.")
        best = max(known, key=lambda one: one.score or 0.0)
        if best.structure is not None:
            return structure_scored(best.structure)
        return Scored(best.score, explanation="Overlap of words and of word pairs.")

    return Scorer(score)


def _json_structure() -> Scorer:
    from rag_eval.scorers.regtrace.factuality import structure_scored
    from rag_eval.scorers.regtrace.formulas import structure_as_code

    def score(fields: Fields) -> Scored:
        pairs = [structure_as_code(fields["answer"], truth) for truth in truths_of(fields)]
        found = [one for one in pairs if one is not None]
        if not found:
            return Scored.nothing("The answer or the expected output is not JSON.")
        return structure_scored(max(found, key=lambda one: one.score))

    return Scorer(score)


def _tone_heuristic(*, sub_dimensions: Any = None, lexicon: Any = None) -> Scorer:
    from rag_eval.scorers.regtrace.details import finding
    from rag_eval.scorers.regtrace.formulas import HeuristicTone, tone_heuristic
    from rag_eval.scorers.regtrace.tone import checked_dimensions
    from rag_eval.scorers.regtrace.tone_voice import checked_lexicon, heuristic_words

    wanted = checked_dimensions(sub_dimensions)
    words = heuristic_words(checked_lexicon(lexicon))

    def heard(answer: str, truth: str) -> HeuristicTone:
        return tone_heuristic(answer, truth, words, wanted)

    def score(fields: Fields) -> Scored:
        found = [heard(fields["answer"], truth) for truth in truths_of(fields)]
        best = max(found, key=lambda one: one.score)
        said = ", ".join(f"{name} {value:.2f}" for name, value in best.dimensions.items())
        details = [
            finding(f"tone.{name}", value >= _THRESHOLD, message=f"{name} {value:.2f}")
            for name, value in best.dimensions.items()
        ]
        return Scored(best.score, explanation=f"{said}.", details=details)

    return Scorer(score)


# --------------------------------------------------------------------------------------- contracts


def _metric(name: str, summary: str, create: Callable[..., Scorer], **more: Any) -> Metric:
    usual: dict[str, Any] = {"fields": ("answer", "ground_truth"), "source": "Regtrace 0.10"}
    return Metric(
        id=f"regtrace.{name}",
        summary=summary,
        create=create,
        threshold=_THRESHOLD,
        cost="python",
        **{**usual, **more},
    )


FORMAT_METRICS: Final[tuple[Metric, ...]] = (
    _metric(
        "format",
        "Share of the applicable format sub-checks that pass",
        _format,
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
        source="Regtrace, metrics reference",
        null_when="no sub-check applies",
        extra="markdown,schema,safe-regex",
        version=2,
    ),
    _metric(
        "format_mean",
        "Mean of the fractional scores of Regtrace's seven sub-checks",
        _format_mean,
        options={"sub_checks": None, "length_tolerance": 0.2},
        null_when="the expected output is a pattern that cannot be matched in linear time",
        extra="safe-regex",
        version=3,
    ),
    _metric(
        "length_ratio",
        "1 if the length is within the tolerance of the expected length, else less in proportion",
        _length_ratio,
        options={"length_tolerance": 0.2},
    ),
    _metric(
        "value_similarity",
        "Share of the expected JSON value that the answer has, value by value",
        lambda: _of_both(value_similarity),
    ),
    _metric(
        "markdown_features",
        "Share of five features of Markdown that the answer has",
        lambda: _of_answer(markdown_features),
        fields=("answer",),
        version=2,
    ),
    _metric(
        "term_coverage",
        "Share of the longer words of the expected output that occur in the answer",
        lambda: _of_both(term_coverage),
    ),
    _metric(
        "phrase_penalty",
        "1 minus 0.2 for each phrase of refusal or doubt in the answer",
        _phrase_penalty,
        fields=("answer",),
        options={"phrases": PHRASES},
    ),
    _metric(
        "regex_match",
        "1 if the answer matches the expected output as a pattern, else 0",
        _regex_match,
        null_when="the pattern cannot be matched in linear time",
        extra="safe-regex",
        version=2,
    ),
)

_FACTUALITY_OPTIONS: Final[Mapping[str, Any]] = {
    "mode": "strict",
    "claim_extraction_depth": "shallow",
    "rag_faithfulness_only": False,
}
_TONE_OPTIONS: Final[Mapping[str, Any]] = {
    "sub_dimensions": None,
    "sub_dimension_weights": None,
    "tone_profile": None,
    "lexicon": None,
}
_CODE: Final = "Regtrace 0.10, as its code does"

MEANING_METRICS: Final[tuple[Metric, ...]] = (
    _metric(
        "factuality",
        "share of the answer's claims that the expected output, or otherwise the contexts, "
        "support; for JSON, the share of leaves that agree",
        _factuality,
        source="Regtrace 0.10, as documented",
        fields=("answer",),
        optional=("question", "contexts", "ground_truth", "language"),
        options=_FACTUALITY_OPTIONS,
        null_when="no claims, or nothing to check them against",
        judged=_JUDGED,
        version=2,
    ),
    _metric(
        "tone",
        "weighted mean of the similarity of answer and expected output in formality, "
        "sentiment, assertiveness, persona and verbosity",
        _tone,
        source="Regtrace 0.10, as documented",
        fields=("answer",),
        optional=("ground_truth", "language"),
        options=_TONE_OPTIONS,
        null_when="no expected output or profile, or a language without word lists",
        judged=_JUDGED,
    ),
    _metric(
        "ngram_factuality",
        "0.4 x Jaccard index of the words + 0.6 x Jaccard index of the word pairs; for JSON, "
        "the share of leaves that agree",
        _ngram_factuality,
        source=_CODE,
        options={"mode": "strict"},
        null_when="neither text has an ASCII letter or digit",
    ),
    _metric(
        "json_structure",
        "share of JSON leaves that agree, by the rules of the tool's code",
        _json_structure,
        source=_CODE,
        null_when="one of the texts is not JSON",
    ),
    _metric(
        "tone_heuristic",
        "mean of the tool's own heuristics for formality, sentiment, assertiveness, persona and "
        "verbosity",
        _tone_heuristic,
        source=_CODE,
        options={"sub_dimensions": None, "lexicon": None},
    ),
)

METRICS: Final = (*FORMAT_METRICS, *MEANING_METRICS)
