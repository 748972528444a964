"""Resamples as plain Python: the generator and the sums it is used for."""

from __future__ import annotations

from collections.abc import Sequence

_MASK = 2**64 - 1
FLIPS, DRAWS = 0, 1


def word(stream: int, number: int) -> int:
    """Word ``number`` of splitmix64 begun at ``stream``."""
    mixed = (stream + (number + 1) * 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)


def stream_of(seed: int, purpose: int, resample: int) -> int:
    """Where the words of a resample begin; a seed counts 64 bits at a time."""
    key, left = word(seed & _MASK, 0), seed >> 64
    while left:
        key, left = word(key ^ (left & _MASK), 0), left >> 64
    return word(word(key, purpose), resample)


def is_negative(seed: int, resample: int, group: int) -> bool:
    """Whether the sign of a group is flipped."""
    return bool(word(stream_of(seed, FLIPS, resample), group // 64) >> (group % 64) & 1)


def flipped_sums(rows: Sequence[Sequence[float]], n_resamples: int, seed: int) -> list[list[float]]:
    """Sums after flips: fours of rows are added up, then those of 64 rows, then all."""
    found = []
    for resample in range(n_resamples):
        signed = [
            [-value if is_negative(seed, resample, group) else value for value in row]
            for group, row in enumerate(rows)
        ]
        found.append([_in_order([row[m] for row in signed]) for m in range(len(rows[0]))])
    return found


def _in_order(values: list[float]) -> float:
    values = values + [0.0] * (-len(values) % 64)
    total = 0.0
    for begin in range(0, len(values), 64):
        part = 0.0
        for first in range(begin, begin + 64, 4):
            a, b, c, d = values[first : first + 4]
            part += (a + b) + (c + d)
        total += part
    return total


def drawn(n_groups: int, seed: int, resample: int) -> list[int]:
    """The groups of a resample, in the order they are drawn."""
    stream = stream_of(seed, DRAWS, resample)
    return [word(stream, draw) * n_groups >> 64 for draw in range(n_groups)]


def drawn_sums(rows: Sequence[Sequence[float]], n_resamples: int, seed: int) -> list[list[float]]:
    """Sums of drawn groups, added up as they are drawn."""
    found = []
    for resample in range(n_resamples):
        sums = [0.0] * len(rows[0])
        for place in drawn(len(rows), seed, resample):
            sums = [total + value for total, value in zip(sums, rows[place], strict=True)]
        found.append(sums)
    return found


def mulberry32(seed: int, n_words: int) -> list[int]:
    """The generator mulberry32, word by word."""
    mask, state, found = 2**32 - 1, seed & (2**32 - 1), []
    for _ in range(n_words):
        state = (state + 0x6D2B79F5) & mask
        mixed = ((state ^ (state >> 15)) * (state | 1)) & mask
        mixed ^= (mixed + (((mixed ^ (mixed >> 7)) * (mixed | 61)) & mask)) & mask
        found.append(mixed ^ (mixed >> 14))
    return found
