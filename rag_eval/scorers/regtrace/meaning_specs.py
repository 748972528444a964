"""Contracts of Regtrace's factuality and tone, as documented, and of the rules of its code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rag_eval.metrics.contract import Fields, Metric, Scored, Scorer, truths_of

_DOCUMENTED: Final = "Regtrace 0.10, as documented"
_CODE: Final = "Regtrace 0.10, as its code does"
_THRESHOLD: Final = 0.7


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
    from rag_eval.scorers.regtrace.factuality_formulas import checked_mode, ngram_factuality

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
    from rag_eval.scorers.regtrace.factuality_formulas import structure_as_code

    def score(fields: Fields) -> Scored:
        pairs = [structure_as_code(fields["answer"], truth) for truth in truths_of(fields)]
        found = [one for one in pairs if one is not None]
        if not found:
            return Scored.nothing("The answer or what is expected is not JSON.")
        return structure_scored(max(found, key=lambda one: one.score))

    return Scorer(score)


def _tone_heuristic(*, sub_dimensions: Any = None, lexicon: Any = None) -> Scorer:
    from rag_eval.scorers.regtrace.details import finding
    from rag_eval.scorers.regtrace.tone import checked_dimensions
    from rag_eval.scorers.regtrace.tone_formulas import HeuristicTone, tone_heuristic
    from rag_eval.scorers.regtrace.tone_words import checked_lexicon, heuristic_words

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


def _spec(name: str, summary: str, create: Any, source: str, **more: Any) -> Metric:
    return Metric(
        id=f"regtrace.{name}",
        summary=summary,
        create=create,
        threshold=_THRESHOLD,
        source=source,
        **more,
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
_JUDGED: Final = "rag_eval.scorers.regtrace.judged:rule_of"
_COMPARED: Final = {"fields": ("answer", "ground_truth"), "cost": "python"}

METRICS: Final[tuple[Metric, ...]] = (
    _spec(
        "factuality",
        "share of the answer's claims that the expected output, or else the contexts, support; "
        "of JSON, the share of leaves that agree",
        _factuality,
        _DOCUMENTED,
        fields=("answer",),
        optional=("question", "contexts", "ground_truth", "language"),
        options=_FACTUALITY_OPTIONS,
        cost="python",
        null_when="no claims, or nothing to hold them against",
        judged=_JUDGED,
    ),
    _spec(
        "tone",
        "weighted mean of how alike answer and expected output are in formality, sentiment, "
        "assertiveness, persona and verbosity",
        _tone,
        _DOCUMENTED,
        fields=("answer",),
        optional=("ground_truth", "language"),
        options=_TONE_OPTIONS,
        cost="python",
        null_when="no expected output or profile, or a language without word lists",
        judged=_JUDGED,
    ),
    _spec(
        "ngram_factuality",
        "0.4 of the Jaccard index of the words and 0.6 of that of the word pairs; of JSON, the "
        "share of leaves that agree",
        _ngram_factuality,
        _CODE,
        options={"mode": "strict"},
        null_when="neither text has an ASCII letter or digit",
        **_COMPARED,
    ),
    _spec(
        "json_structure",
        "share of JSON leaves that agree, by the rules of the tool's code",
        _json_structure,
        _CODE,
        null_when="one of the texts is not JSON",
        **_COMPARED,
    ),
    _spec(
        "tone_heuristic",
        "mean of the tool's own heuristics for formality, sentiment, assertiveness, persona and "
        "verbosity",
        _tone_heuristic,
        _CODE,
        options={"sub_dimensions": None, "lexicon": None},
        **_COMPARED,
    ),
)
