"""Resamples as plain Python: the generator and the sums it is used for."""

from __future__ import annotations

from collections.abc import Sequence

_MASK = 2**64 - 1
DRAWS = 1


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
