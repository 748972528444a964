"""Finds ids that occur more than once, in little memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

_RECENT: Final = 1 << 16
_MOST_KEPT: Final = 1 << 21


class RepeatedIds:
    """Counts rows whose id an earlier row had, and names the first few.

    Of each id only its 64-bit hash is kept, 8 bytes a row, and of the first two million only: a
    later row is still compared with those. In a million rows two different ids share a hash with a
    chance of 3 in 100 million, and then a warning is wrong, not a score.
    """

    def __init__(self, n_named: int = 3) -> None:
        self.count = 0
        self.names: list[str] = []
        self._n_named = n_named
        self._recent: set[int] = set()
        self._older: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def add(self, ids: Sequence[object], name: Callable[[int], str]) -> None:
        """Look at the ids of some rows; ``name`` gives the name of the row at an index."""
        if self._are_new(ids):
            return
        places = [index for index, found in enumerate(ids) if isinstance(found, (str, int))]
        keys = [hash(ids[index]) for index in places]
        known = self._in_older(np.array(keys, np.int64)).tolist()
        for index, key, was_seen in zip(places, keys, known, strict=True):
            if was_seen or key in self._recent:
                self.count += 1
                if len(self.names) < self._n_named:
                    self.names.append(name(index))
            elif not self._is_full:
                self._recent.add(key)
        self._settle()

    def _are_new(self, ids: Sequence[object]) -> bool:
        """Add ids if none is missing or repeated, the usual case, without looking at each."""
        if not {str, int}.issuperset(map(type, ids)):
            return False
        keys = set(map(hash, ids))
        if len(keys) < len(ids) or not self._recent.isdisjoint(keys):
            return False
        if len(self._older) and self._in_older(_sorted(keys)).any():
            return False
        if not self._is_full:
            self._recent |= keys
            self._settle()
        return True

    def _settle(self) -> None:
        if len(self._recent) >= _RECENT:
            # Stable sorting merges what is in order already.
            both = np.concatenate([self._older, _sorted(self._recent)])
            self._older = np.sort(both, kind="stable")
            self._recent.clear()

    @property
    def has_any(self) -> bool:
        """Whether any row had an id."""
        return bool(self._recent) or bool(len(self._older))

    @property
    def _is_full(self) -> bool:
        return len(self._older) >= _MOST_KEPT

    def _in_older(self, keys: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Sorted keys are looked up in a fraction of the time: they are near each other."""
        places = np.searchsorted(self._older, keys)
        found = np.zeros(len(keys), np.bool_)
        within = places < len(self._older)
        found[within] = self._older[places[within]] == keys[within]
        return found

    def warning(self) -> str:
        """The message for the user; empty if all ids differ."""
        if not self.count:
            return ""
        more = ", …" if self.count > len(self.names) else ""
        rows = "row has" if self.count == 1 else "rows have"
        least = "at least " if self._is_full else ""
        return (
            f"{least}{self.count:,} {rows} the same id as an earlier row: "
            f"{', '.join(self.names)}{more}"
        )


def _sorted(keys: set[int]) -> npt.NDArray[np.int64]:
    found = np.fromiter(keys, np.int64, len(keys))
    found.sort()
    return found
