"""Settings of both profiles: options of a call -> checked parameters, in the form kernels take."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.kernels.languages import LISTED, language_code
from rag_eval.plumbing.checked_values import number, plain
from rag_eval.samples import PROFILES, Profile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    KernelArguments: TypeAlias = tuple[
        npt.NDArray[np.int64],
        npt.NDArray[np.int64],
        npt.NDArray[np.float64],
        npt.NDArray[np.float64],
    ]

_DEFAULT_SIZES: Final = (1, 2)
_DEFAULT_WEIGHTS: Final = (0.7, 0.3)
# Products and sums of weights stay finite far beyond any sensible value.
LARGEST_WEIGHT: Final = 1e100
# No text has as many tokens: every wider window is as empty.
WIDEST: Final = 2**31


@dataclass(frozen=True, slots=True)
class OverlapSettings:
    """The heuristic options with all defaults filled in; hashable, comparable."""

    profile: ClassVar[Profile] = "overlap"
    ngram_sizes: tuple[float, ...] = _DEFAULT_SIZES
    ngram_weights: tuple[float, ...] = _DEFAULT_WEIGHTS
    chunk_relevance_threshold: float = 0.2
    claim_support_threshold: float = 0.15
    sentence_coverage_threshold: float = 0.3
    ngram_weight: float = 1.0
    tfidf_weight: float = 1.0

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> OverlapSettings:
        """Settings from normalized heuristic options; None means the default."""
        given = {name: value for name, value in options.items() if value is not None}
        if not given:
            return _DEFAULTS
        checked: dict[str, Any] = {
            name: _number(value, name)
            for name, value in given.items()
            if name not in ("ngram_sizes", "ngram_weights")
        }
        sizes = _sizes(given.get("ngram_sizes", _DEFAULT_SIZES))
        weights = _sequence(given.get("ngram_weights", _DEFAULT_WEIGHTS), "ngram_weights")
        settings = cls(
            ngram_sizes=sizes,
            # Surplus weights are ignored; a missing one counts 1.
            ngram_weights=tuple(
                1.0 if weight is None else _number(weight, "ngram_weights")
                for weight, _ in zip((*weights, *[None] * len(sizes)), sizes, strict=False)
            ),
            **checked,
        )
        if settings.ngram_weight + settings.tfidf_weight == 0:
            raise InputError("ngram_weight and tfidf_weight must not add up to 0")
        _check_cancelling(settings.ngram_weights, "ngram_weights")
        _check_cancelling((settings.ngram_weight, settings.tfidf_weight), "ngram_weight")
        return settings

    def only(self, names: Sequence[str]) -> dict[str, Any]:
        """The named settings, as JSON values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if name in names
        }


_DEFAULTS: Final = OverlapSettings()


@functools.lru_cache(maxsize=64)
def overlap_arguments(settings: OverlapSettings) -> KernelArguments:
    """Windows, needs and weights per n-gram size, and the five numbers of the block kernel."""
    import numpy as np

    return (
        np.array([math.floor(size) for size in settings.ngram_sizes], np.int64),
        np.array([math.ceil(size) for size in settings.ngram_sizes], np.int64),
        np.array(settings.ngram_weights, np.float64),
        np.array(
            [
                settings.chunk_relevance_threshold,
                settings.claim_support_threshold,
                settings.sentence_coverage_threshold,
                settings.ngram_weight,
                settings.tfidf_weight,
            ],
            np.float64,
        ),
    )


def _number(value: object, name: str) -> float:
    found = number(plain(value), f"heuristic option {name}")
    if abs(found) > LARGEST_WEIGHT:
        raise InputError(f"heuristic option {name} must be at most {LARGEST_WEIGHT:g}, got {found}")
    return found


def _check_cancelling(weights: tuple[float, ...], name: str) -> None:
    """Reject weights that almost cancel out: their shares could exceed the range of a double."""
    total = 0.0
    for each in weights:
        total += each
    if total and sum(map(abs, weights)) / LARGEST_WEIGHT > abs(total):
        raise InputError(f"heuristic option {name}: the weights cancel out, {weights}")


def _sequence(value: object, name: str) -> Sequence[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise InputError(f"heuristic option {name} must be a list of numbers, got {glance(value)}")
    return value


def _sizes(value: object) -> tuple[float, ...]:
    sizes = tuple(_number(size, "ngram_sizes") for size in _sequence(value, "ngram_sizes"))
    for size in sizes:
        if size < 0:
            raise InputError(f"heuristic option ngram_sizes must hold sizes from 0 on, got {size}")
    sizes = tuple(min(size, WIDEST) for size in sizes)
    return tuple(int(size) if size == int(size) else size for size in sizes)


# ----------------------------------------------------------------------------------------- grounded


Stemmer: TypeAlias = Literal["light", "snowball"]
"""Light English stems, or Snowball's for every language that it knows (extra ``lang``)."""

STEMMERS: Final[tuple[Stemmer, ...]] = ("light", "snowball")
DETECT: Final = -1
_NO_LIST: Final = 0

LOSSES: Final = ("window", "bigram", "skip", "number", "name", "near", "contradiction", "new_name")
"""What the kernels deduct from a support of 1: six losses from 0 to 1, and two flags."""
SHIPPED_WEIGHTS: Final = (0.40, 0.20, 0.20, 0.08, 0.06, 0.06, 0.12, 0.06)
"""Of these losses; those of the six add up to 1."""
FAITHFULNESS_WEIGHTS: Final = "faithfulness_weights"
"""The option of a signature that names other weights, by their digest."""


def weights_digest(weights: tuple[float, ...]) -> str:
    """Twelve hex digits that stand for some weights."""
    import hashlib  # which no call without refitted weights takes

    return hashlib.sha256(",".join(map(repr, weights)).encode()).hexdigest()[:12]


def language_number(code: str | None) -> int:
    """The kernels' number of a language; that of "und" where it has no list of words."""
    if code is None:
        return DETECT
    return LISTED.index(code) if code in LISTED else _NO_LIST


@dataclass(frozen=True, slots=True)
class GroundedSettings:
    """The options of the grounded profile with all defaults filled in; hashable, comparable.

    Attributes
    ----------
    language : str or None
        Code of the language that every row is read in; None detects it row by row.
    stemmer : {"light", "snowball"}
    weights : tuple of float
        Of the eight :data:`LOSSES` of an answer, for faithfulness; what a calibration refits.
        Scores of sentences and of the other metrics have the shipped ones always.
    """

    profile: ClassVar[Profile] = "grounded"
    language: str | None = None
    stemmer: Stemmer = "light"
    weights: tuple[float, ...] = SHIPPED_WEIGHTS

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> GroundedSettings:
        """Settings from normalized options; None means the default."""
        language, stemmer = options.get("language"), options.get("stemmer")
        if language is not None:
            if not isinstance(language, str):
                raise InputError(f"language must be a language tag, got {glance(language)}")
            language = language_code(language) if language else None
        if stemmer is None or stemmer == "light":
            return cls(language)
        if stemmer != "snowball":
            hint = suggestion(stemmer, STEMMERS)
            raise InputError(f"stemmer must be 'light' or 'snowball', got {glance(stemmer)}{hint}")
        from rag_eval.kernels.snowball import stemmer_package

        stemmer_package()  # missing, it is missed here
        return cls(language, "snowball")

    def only(self, names: Sequence[str]) -> dict[str, Any]:
        """The named settings, as JSON values."""
        values = {"language": self.language or "detected", "stemmer": self._stemmer()}
        if self.weights != SHIPPED_WEIGHTS:
            values[FAITHFULNESS_WEIGHTS] = weights_digest(self.weights)
        return {name: value for name, value in values.items() if name in names}

    def _stemmer(self) -> str:
        if self.stemmer == "light":
            return "light"
        from rag_eval.kernels.snowball import stemmer_version

        return f"snowball {stemmer_version()}"


# ---------------------------------------------------------------------------------------- of a call


Settings: TypeAlias = OverlapSettings | GroundedSettings

COMPOSITE_THRESHOLDS: Final[dict[Profile, float | None]] = {"overlap": 0.6, "grounded": None}
"""Composite score from which a sample passes, by profile; None if it decides nothing."""

# Options that one profile has, and why the other refuses them.
_GROUNDED_ONLY: Final = {
    "language": "the overlap profile treats all languages alike",
    "stemmer": "the overlap profile does not stem",
}


def settings_of(options: Mapping[str, Any]) -> Settings:
    """The settings of a call from its normalized options.

    Raises
    ------
    InputError
        For an unknown profile, or an option that the profile does not have.
    """
    profile = options.get("profile")
    profile = "overlap" if profile is None else profile
    if profile not in PROFILES:
        hint = suggestion(profile, PROFILES)
        raise InputError(f"profile must be 'overlap' or 'grounded', got {glance(profile)}{hint}")
    if profile == "overlap":
        for name, reason in _GROUNDED_ONLY.items():
            if options.get(name) is not None:
                raise InputError(
                    f"the option {name} works only with --profile grounded (in Python: "
                    f"profile='grounded'): {reason}"
                )
        return OverlapSettings.from_options(options.get("heuristic") or {})
    given = [name for name, value in (options.get("heuristic") or {}).items() if value is not None]
    if given:
        raise InputError(
            f"heuristic option {given[0]} belongs to profile='overlap': the formulas of the "
            "grounded profile have fixed weights and cuts"
        )
    return GroundedSettings.from_options(options)
