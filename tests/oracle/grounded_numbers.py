"""What numbers of a text are worth in the `grounded` profile: 2.3 million is 2,300,000."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from tests.oracle.grounded_lists import MULTIPLIERS, ORDINALS

MOST_DIGITS = 15  # a number that is written with more has no value
ORDINAL_UNITS = ("st", "nd", "rd", "th")
UNITS = (*ORDINAL_UNITS, "s", "pc", "km", "kg", "cm", "mm", "am", "pm", "p", *MULTIPLIERS)
ALSO_UNITS = ("m", "k")  # metre and kelvin

_VALUED = re.compile(rf"([0-9]+)(?:\.([0-9]+))?({'|'.join(UNITS)})?")
_GROUPED = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+")
_DIGITS = re.compile("[0-9]+")


class Reading(NamedTuple):
    """A number that the tokens ``first`` to ``last``, both included, may be together."""

    first: int
    last: int
    value: float


class Numbers:
    """The values of a text's tokens, which of them are ordinals, and second readings.

    ``values`` has the places of tokens that have a value; some have two.
    """

    def __init__(self, words: Sequence[str], english: bool) -> None:
        self.values: dict[int, tuple[float, ...]] = {}
        self.ordinals: set[int] = set()
        for place, (word, following) in enumerate(zip_longest(words, words[1:])):
            values, is_ordinal = (_english if english else _foreign)(word, following)
            if values:
                self.values[place] = values
            if values and is_ordinal:
                self.ordinals.add(place)
        self.readings = [
            reading for place in range(len(words)) for reading in _readings(words, place, english)
        ]
        self.all = {value for _, _, value in self.readings}.union(*self.values.values())


def _worth(whole: str, fraction: str = "", power: int = 0) -> tuple[float, ...]:
    """The nearest double, by the parser of Python."""
    if len(whole) + len(fraction) > MOST_DIGITS:
        return ()
    return (float(f"{whole}.{fraction or 0}e{power}"),)


def _english(word: str, following: str | None) -> tuple[tuple[float, ...], bool]:
    if word in ORDINALS:
        return (float(ORDINALS[word]),), True
    found = _VALUED.fullmatch(word)
    if found is None:
        return (), False
    whole, fraction, unit = found[1], found[2] or "", found[3] or ""
    multiplier = unit or following
    values = _worth(whole, fraction, MULTIPLIERS.get(multiplier or "", 0))
    if multiplier in ALSO_UNITS:
        values += _worth(whole, fraction)
    return values, unit in ORDINAL_UNITS


def _foreign(word: str, _following: str | None) -> tuple[tuple[float, ...], bool]:
    """Groups of three digits are thousands; a single one may be decimals as well."""
    if _GROUPED.fullmatch(word):
        whole, *groups = word.split(".")
        as_decimals = _worth(whole, groups[0]) if len(groups) == 1 else ()
        return _worth("".join([whole, *groups])) + as_decimals, False
    found = _VALUED.fullmatch(word)
    if found is None:
        return (), False
    return _worth(found[1], found[2] or ""), found[3] in ORDINAL_UNITS


def _readings(words: Sequence[str], place: int, english: bool) -> list[Reading]:
    """What the digits at a place may be with those of the next tokens: thousands or decimals."""
    run = [word if _DIGITS.fullmatch(word) else "" for word in words[place : place + 3]]
    if len(run) < 2 or not run[0] or not run[1]:
        return []
    first, second, third = (*run, "")[:3]
    found: list[Reading] = []
    if len(first) <= 3 and len(second) == 3:
        found += [Reading(place, place + 1, value) for value in _worth(first + second)]
        if len(third) == 3:
            found += [Reading(place, place + 2, value) for value in _worth(first + second + third)]
    if len(second) <= 2:
        powers = [0]
        if english and words[place + 2 : place + 3] and words[place + 2] in MULTIPLIERS:
            powers.append(MULTIPLIERS[words[place + 2]])
        found += [
            Reading(place, place + 1, value)
            for power in powers
            for value in _worth(first, second, power)
        ]
    return found
