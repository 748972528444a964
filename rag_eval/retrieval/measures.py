"""Names and options of retrieval measures in; checked measures out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.metrics.measure_names import (
    KINDS,
    WITH_CUTOFF,
    WITHOUT_CUTOFF,
    Measure,
    read_name,
)
from rag_eval.plumbing.checked_values import number, one_of, whole_from_one

Gain: TypeAlias = Literal["linear", "exponential"]
"""What a document of grade g is worth to nDCG: g, as in trec_eval, or 2**g - 1."""

GAINS: Final[tuple[Gain, ...]] = ("linear", "exponential")

HIGHEST_EXPONENT: Final = 500
"""The highest grade that is taken as an exponent; sums of 2**g stay finite."""

_EXAMPLES: Final = tuple(
    f"{kind}@10" if kind in WITH_CUTOFF else kind for kind in (*KINDS, "ndcg@10", "map@10")
)


def parse_measure(name: str) -> Measure:
    """The measure with a name.

    Parameters
    ----------
    name : str
        A name as for :func:`rag_eval.metrics.measure_names.canonical_name`.

    Raises
    ------
    InputError
        If it is unknown, lacks a required cutoff, or has a cutoff that the measure does not take.
    """
    found = read_name(name)
    if found is not None:
        return found
    if isinstance(name, str):
        if read_name(f"{name}@1") is not None:
            raise InputError(f"measure {name!r} needs a cutoff, as in '{name}@10'")
        bare = read_name(name.rpartition("@")[0])
        if bare is not None and bare.kind in WITHOUT_CUTOFF:
            raise InputError(f"measure {name!r} takes no cutoff; use {bare.kind!r}")
    raise InputError(
        f"unknown retrieval measure {glance(name)}{suggestion(name, _EXAMPLES)} "
        f"(known: {', '.join(_EXAMPLES[: len(KINDS)])}; @10 is the cutoff)"
    )


def parse_measures(names: Iterable[str]) -> tuple[Measure, ...]:
    """The measures of some names, each once, in the order they first come in."""
    if isinstance(names, str):
        names = (names,)
    found = tuple(dict.fromkeys(map(parse_measure, names)))
    if not found:
        raise InputError("give at least one measure")
    return found


@dataclass(frozen=True, slots=True)
class RankingRules:
    """How judgements are read; checked when it is made.

    Attributes
    ----------
    relevance_level : int
        From this grade on a document is relevant, from 1 on; nDCG and ERR read the grades
        themselves.
    gain : {"linear", "exponential"}
        Of nDCG.
    max_grade : int
        Of ERR: the highest grade that there can be, 4 as in the TREC Web track's gdeval. With
        judgements that are relevant or not, 1.
    p : float
        Of RBP: how likely the next document is looked at, from 0 to below 1.
    """

    relevance_level: int = 1
    gain: Gain = "linear"
    max_grade: int = 4
    p: float = 0.8

    def __post_init__(self) -> None:
        if whole_from_one(self.relevance_level, "relevance_level") > 2**31 - 1:
            raise InputError(f"relevance_level must be below 2**31, got {self.relevance_level}")
        one_of(self.gain, "gain", GAINS)
        if whole_from_one(self.max_grade, "max_grade") > HIGHEST_EXPONENT:
            raise InputError(f"max_grade must be at most {HIGHEST_EXPONENT}, got {self.max_grade}")
        if not 0 <= number(self.p, "p") < 1:
            raise InputError(f"p must be at least 0 and below 1, got {self.p}")

    def highest_grade(self, measures: Iterable[Measure]) -> tuple[int, str]:
        """The highest grade that the measures can take, and why there is one."""
        kinds = {measure.kind for measure in measures}
        if "err" in kinds:
            return self.max_grade, "max_grade of ERR"
        if "ndcg" in kinds and self.gain == "exponential":
            return HIGHEST_EXPONENT, "the highest grade of an exponential gain"
        return 2**31 - 1, "the highest possible grade"
