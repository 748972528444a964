"""Ids that come more than once, found in little memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

_RECENT: Final = 1 << 16


class RepeatedIds:
    """Counts rows whose id an earlier row had, and names the first few.

    Of each id only its 64-bit hash is kept, 8 bytes a row. In a million rows two different ids
    share one with a chance of 3 in 100 million, and then a warning is wrong, not a score.
    """

    def __init__(self, n_named: int = 3) -> None:
        self.count = 0
        self.names: list[str] = []
        self._n_named = n_named
        self._recent: set[int] = set()
        self._older: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def add(self, rows: Iterable[tuple[str, object]]) -> None:
        """Look at the ids of some rows, each given with the row's name."""
        named = [(name, hash(found)) for name, found in rows if isinstance(found, (str, int))]
        hashes = np.array([key for _, key in named], np.int64)
        places = np.searchsorted(self._older, hashes)
        older = np.zeros(len(named), np.bool_)
        within = places < len(self._older)
        older[within] = self._older[places[within]] == hashes[within]
        for (name, key), was_seen in zip(named, older.tolist(), strict=True):
            if was_seen or key in self._recent:
                self.count += 1
                if len(self.names) < self._n_named:
                    self.names.append(name)
            else:
                self._recent.add(key)
        if len(self._recent) >= _RECENT:
            recent = np.fromiter(self._recent, np.int64, len(self._recent))
            self._older = np.sort(np.concatenate([self._older, recent]), kind="stable")
            self._recent.clear()

    def warning(self) -> str:
        """What to tell the user; empty when every id is its own."""
        if not self.count:
            return ""
        more = ", …" if self.count > len(self.names) else ""
        rows = "row has" if self.count == 1 else "rows have"
        return f"{self.count:,} {rows} the id of an earlier one: {', '.join(self.names)}{more}"
