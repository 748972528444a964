"""A golden dataset -> two datasets: one to work with, and one held out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

from rag_eval.errors import InputError, glance
from rag_eval.golden.datasets import GoldenCase, GoldenDataset
from rag_eval.plumbing.checked_values import LARGEST_SEED, is_number


class GoldenSplit(NamedTuple):
    """Two datasets that share no case.

    Attributes
    ----------
    rest, holdout : GoldenDataset
        Each in the order of the dataset that was split.
    """

    rest: GoldenDataset
    holdout: GoldenDataset


def split_golden_dataset(
    dataset: GoldenDataset,
    holdout: float = 0.2,
    *,
    seed: int = 0,
    by: Literal["tags"] | None = None,
) -> GoldenSplit:
    """Hold out a share of the cases, always the same ones.

    Cases are chosen by a hash of the seed and their id, so neither their order nor their content
    matters, and few cases change sides when others are added.

    Parameters
    ----------
    holdout : float, default 0.2
        The share that is held out, between 0 and 1; rounded half up to whole cases.
    seed : int, default 0
    by : {"tags"}, optional
        Hold out this share of the cases of each set of tags, as far as whole cases allow.

    Raises
    ------
    InputError
        For a share outside (0, 1) or an unknown ``by``.
    """
    if not is_number(holdout) or not 0 < holdout < 1:
        raise InputError(f"holdout must be a number between 0 and 1, got {glance(holdout)}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"seed must be a whole number, got {glance(seed)}")
    if abs(seed) > LARGEST_SEED:
        raise InputError(f"seed must be at most 2**256 - 1, got {glance(seed)}")
    if by not in (None, "tags"):
        raise InputError(f"by must be 'tags' or None, got {glance(by)}")
    groups: dict[frozenset[str], list[GoldenCase]] = {}
    for case in dataset:
        key = frozenset(case.tags) if by == "tags" else frozenset()
        groups.setdefault(key, []).append(case)
    held = {case.id for group in groups.values() for case in _held(group, holdout, seed)}
    return GoldenSplit(
        dataset.with_cases([case for case in dataset if case.id not in held]),
        dataset.with_cases([case for case in dataset if case.id in held]),
    )


def _held(cases: Sequence[GoldenCase], share: float, seed: int) -> list[GoldenCase]:
    n_held = int(len(cases) * share + 0.5)
    return sorted(cases, key=lambda case: _place(seed, case.id))[:n_held]


def _place(seed: int, name: str) -> bytes:
    text = f"{seed}\n{name}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest()
