"""Tone.  In: an answer and a text to sound like.  Out: how much it does, dimension by dimension.

As Regtrace documents it: a weighted mean of five dimensions, each compared with what is expected.
What the tool's code computes instead is ``regtrace.tone_heuristic``. Languages are detected as the
grounded profile does it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.metrics.contract import Column, Fields, Scored
from rag_eval.metrics.findings_column import column_of_findings
from rag_eval.scorers.regtrace.details import Finding, finding
from rag_eval.scorers.regtrace.factuality import texts_of
from rag_eval.scorers.regtrace.formulas import DIMENSIONS, Dimension, length_score
from rag_eval.scorers.regtrace.tone_voice import Voice, VoiceReader, checked_lexicon

THRESHOLD: Final = 0.7
FALLBACK_CONFIDENCE: Final = 0.7
"""Confidence of a score that stands in for that of a judge."""

# The lists that a dimension goes by; a caller's stand for whatever language they are in.
_LISTS: Final[Mapping[Dimension, frozenset[str]]] = {
    "formality": frozenset(("formal", "informal")),
    "sentiment": frozenset(("positive", "negative")),
    "assertiveness": frozenset(("assertive", "hedge")),
}
_NEUTRAL_SENTIMENT: Final = 0.05
_MOST_WEIGHT: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ToneSettings:
    """The dimensions of tone, their weights, the reference and the word lists.

    Attributes
    ----------
    sub_dimensions : list of str, or mapping of bool
        The dimensions that count; None for all five. A mapping can exclude single ones.
    sub_dimension_weights : mapping of float
        Weights by dimension; 1 if not named.
    tone_profile : str, optional
        A text whose tone the answer should have, instead of that of the expected output.
    lexicon : mapping of lists
        Words in place of the lists ``formal``, ``informal``, ``hedge``, ``assertive``,
        ``positive`` and ``negative``.
    """

    sub_dimensions: Any = None
    sub_dimension_weights: Mapping[str, float] | None = None
    tone_profile: str | None = None
    lexicon: Mapping[str, Collection[str]] | None = None
    weights: dict[Dimension, float] = field(init=False, repr=False)
    lists: dict[str, frozenset[str]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        profile = self.tone_profile
        if profile is not None and (not isinstance(profile, str) or not profile.strip()):
            raise InputError(f"tone_profile must be a non-blank text, got {glance(profile)}")
        wanted = checked_dimensions(self.sub_dimensions)
        given = _checked_weights(self.sub_dimension_weights)
        weights: dict[Dimension, float] = {name: given.get(name, 1.0) for name in wanted}
        if not any(weights.values()):
            raise InputError(
                "sub_dimension_weights must leave at least one dimension with a weight above 0"
            )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "lists", checked_lexicon(self.lexicon))


class DimensionScore(NamedTuple):
    """How alike two voices are in one way; expected and actual are for people."""

    score: float
    expected: str
    actual: str


class ToneScorer:
    """Scores the tone of answers with fixed settings."""

    def __init__(self, settings: ToneSettings) -> None:
        self.settings = settings
        self._reader = VoiceReader(settings.lists)
        profile = settings.tone_profile
        self._profile = None if profile is None else self._reader.voice(profile)

    def score(self, fields: Fields) -> Scored:
        """The tone of an answer, from 0 to 1; of several expected outputs the nearest counts.

        Null where no expected output and no tone profile, or no dimension that can be told: words
        are listed in English, and in other languages there is the length, which is no tone by
        itself, and what custom lists tell.
        """
        (language,) = _languages([fields])
        return self._scored(fields, language)

    def column(self, samples: Sequence[Fields]) -> Column:
        """The scores of many samples."""
        pairs = zip(samples, _languages(samples), strict=True)
        return column_of_findings(self._scored(fields, language) for fields, language in pairs)

    def _scored(self, fields: Fields, language: str) -> Scored:
        truths = texts_of(fields.get("ground_truth"))
        if not truths and self._profile is None:
            return Scored.nothing("No expected output and no tone profile to compare with.")
        answer = self._reader.voice(fields["answer"])
        if not answer.n_words:
            return Scored.nothing("The answer has no words.")
        expected: list[Voice | None] = [self._reader.voice(truth) for truth in truths]
        found = [self._weighed(answer, truth, language) for truth in expected or [None]]
        measured = [scored for scored in found if scored.score is not None]
        return max(measured, key=lambda scored: scored.score or 0.0) if measured else found[0]

    def _weighed(self, answer: Voice, truth: Voice | None, language: str) -> Scored:
        model = self._profile or truth
        assert model is not None
        found: dict[Dimension, DimensionScore] = {}
        for name in self.settings.weights:
            against = truth if name == "verbosity" else model
            if against is not None and self._can_tell(name, language):
                found[name] = _RULES[name](answer, against)
        scores = {name: one.score for name, one in found.items()}
        if scores.keys() == {"verbosity"} != self.settings.weights.keys():
            return Scored.nothing(
                f"In this language ({language}), only the length can be compared."
            )
        return weighed(scores, self.settings.weights, [_shown(*item) for item in found.items()])

    def _can_tell(self, name: Dimension, language: str) -> bool:
        if name == "verbosity" or language == "en":
            return True
        lists = _LISTS.get(name)
        return lists is not None and lists <= self.settings.lists.keys()


def weighed(
    scores: Mapping[Dimension, float],
    weights: Mapping[Dimension, float],
    details: Sequence[Finding],
) -> Scored:
    """The weighted mean of the dimensions that were measured; null if none counts."""
    total = math.fsum(weights[name] for name in scores)
    left_out = [name for name in weights if name not in scores]
    unmeasured = f" Not measured: {', '.join(left_out)}." if left_out else ""
    if not total:
        return Scored.nothing(f"No dimension of the tone could be measured.{unmeasured}")
    score = math.fsum(weights[name] * value for name, value in scores.items()) / total
    said = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
    # A sum of shares can miss its end by a bit.
    return Scored(min(1.0, score), explanation=f"{said}.{unmeasured}", details=details)


def checked_dimensions(sub_dimensions: object) -> tuple[Dimension, ...]:
    """The dimensions that are asked for, in their usual order.

    Raises
    ------
    InputError
        For an unknown name, another value than a list or a mapping of booleans, or none left.
    """
    if sub_dimensions is None:
        return DIMENSIONS
    if isinstance(sub_dimensions, Mapping):
        for name, value in sub_dimensions.items():
            if not isinstance(value, bool):
                raise InputError(
                    f"sub_dimensions[{name!r}] must be true or false, got {glance(value)}"
                )
        off = [name for name, value in sub_dimensions.items() if not value]
        names, wanted = list(sub_dimensions), [name for name in DIMENSIONS if name not in off]
    elif isinstance(sub_dimensions, (list, tuple, set, frozenset)):
        names = wanted = list(sub_dimensions)
    else:
        kind = type(sub_dimensions).__name__
        raise InputError(f"sub_dimensions must be a list of names, got {kind}")
    for name in names:
        _check_name("sub_dimensions", name)
    if not wanted:
        raise InputError("sub_dimensions must leave at least one dimension")
    return tuple(name for name in DIMENSIONS if name in wanted)


def _checked_weights(weights: object) -> dict[str, float]:
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        kind = type(weights).__name__
        raise InputError(f"sub_dimension_weights must be a mapping, got {kind}")
    for name, value in weights.items():
        _check_name("sub_dimension_weights", name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= _MOST_WEIGHT:
            raise InputError(
                f"sub_dimension_weights[{name!r}] must be from 0 to {_MOST_WEIGHT:g}, "
                f"got {glance(value)}"
            )
    return {name: float(value) for name, value in weights.items()}


def _check_name(owner: str, name: object) -> None:
    if not isinstance(name, str) or name not in DIMENSIONS:
        hint = suggestion(name, DIMENSIONS)
        raise InputError(f"{owner}: {glance(name)} is not a dimension of tone{hint}")


def _languages(samples: Sequence[Fields]) -> list[str]:
    texts = [fields["answer"] for fields in samples]
    return languages_of(texts, [fields.get("language") for fields in samples])


# ---------------------------------------------------------------------------------- the dimensions


def _nearness(trait: str, called: str) -> Callable[[Voice, Voice], DimensionScore]:
    """How near two voices are in a trait that goes from 0 to 1."""

    def score(answer: Voice, model: Voice) -> DimensionScore:
        expected, actual = getattr(model, trait), getattr(answer, trait)
        difference = abs(expected - actual)
        return DimensionScore(1 - difference, f"{called} {expected:.2f}", f"{called} {actual:.2f}")

    return score


def _sentiment(answer: Voice, model: Voice) -> DimensionScore:
    expected, actual = model.sentiment, answer.sentiment
    score = 1 - abs(expected - actual) / 2
    return DimensionScore(score, _sentiment_words(expected), _sentiment_words(actual))


def _persona(answer: Voice, model: Voice) -> DimensionScore:
    pairs = list(zip(model.persons, answer.persons, strict=True))
    score = 1 - math.fsum(abs(left - right) for left, right in pairs) / 2
    return DimensionScore(score, _persons(model), _persons(answer))


def _verbosity(answer: Voice, model: Voice) -> DimensionScore:
    lengths = (model.n_words, model.n_sentences), (answer.n_words, answer.n_sentences)
    expected, actual = (f"{words} words in {sentences} sentences" for words, sentences in lengths)
    if not model.n_words:
        return DimensionScore(0.0, expected, actual)
    ratios = answer.n_words / model.n_words, answer.sentence_words / model.sentence_words
    return DimensionScore(sum(map(length_score, ratios)) / 2, expected, actual)


_RULES: Final = {
    "formality": _nearness("register", "register"),
    "sentiment": _sentiment,
    "assertiveness": _nearness("assertiveness", "certainty"),
    "persona_consistency": _persona,
    "verbosity": _verbosity,
}


def _sentiment_words(value: float) -> str:
    if abs(value) < _NEUTRAL_SENTIMENT:
        return f"neutral ({value:.2f})"
    return f"{'positive' if value > 0 else 'negative'} ({value:.2f})"


def _persons(voice: Voice) -> str:
    shares = zip(("I", "we", "you"), voice.persons, strict=False)
    said = [f"{name} {share:.2f}" for name, share in shares if share]
    return ", ".join(said) or "nobody"


def _shown(name: Dimension, found: DimensionScore) -> Finding:
    return finding(
        f"tone.{name}",
        found.score >= THRESHOLD,
        expected=found.expected,
        actual=found.actual,
        message=f"{name} {found.score:.2f}",
    )


# ---------------------------------------------------------------------------------------- languages


_BLOCK_ROWS: Final = 512
# More of a text does not change what its language is.
_MOST_READ: Final = 2000


def languages_of(texts: Sequence[str], tags: Sequence[str | None]) -> list[str]:
    """The code of each text's language; that of its tag where it has one.

    ``und`` where it is not known. Detection knows some forty languages and takes short texts in
    Latin letters for English.

    Raises
    ------
    InputError
        For a tag that begins with no known language.
    """
    from rag_eval.kernels.languages import language_code

    found = [language_code(tag) if tag else "" for tag in tags]
    unknown = [place for place, code in enumerate(found) if not code]
    for first in range(0, len(unknown), _BLOCK_ROWS):
        places = unknown[first : first + _BLOCK_ROWS]
        codes = _detected([texts[place][:_MOST_READ] for place in places])
        for place, code in zip(places, codes, strict=True):
            found[place] = code
    return found


def _detected(texts: Sequence[str]) -> list[str]:
    from rag_eval.inputs.row_texts import read_rows
    from rag_eval.inputs.samples import FieldNeeds
    from rag_eval.kernels import scoring as kernels
    from rag_eval.kernels.languages import LISTED
    from rag_eval.kernels.scoring import metric_numbers
    from rag_eval.kernels.settings import GroundedSettings

    needs = FieldNeeds.of(("faithfulness",), "grounded")
    batch = read_rows([{"answer": text, "contexts": []} for text in texts], 0, needs).pack()
    metrics = metric_numbers(("faithfulness",))
    settings = GroundedSettings()
    return [
        LISTED[kernels.grounded_details(batch, row, settings, metrics).language]
        for row in range(len(texts))
    ]
