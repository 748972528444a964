"""The digests of a row, as files have them: three hexadecimal numbers in one text, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

DIGESTS: Final = "digests"
"""The column of a table of scores that holds them."""

_N_DIGESTS: Final = 3
_DIGEST: Final = re.compile("[0-9a-f]{8}")


def digest_texts(digests: Sequence[int]) -> list[str]:
    """Each digest as eight hexadecimal digits."""
    return [f"{digest:08x}" for digest in digests]


def digests_of_texts(texts: Sequence[str]) -> tuple[int, ...] | None:
    """The digests; None if the text is not one of digests."""
    if len(texts) != _N_DIGESTS or not all(map(_DIGEST.fullmatch, texts)):
        return None
    return tuple(int(text, 16) for text in texts)


def digests_of_cell(cell: object) -> tuple[int, ...]:
    """The digests in a cell of a table; empty where it holds something else."""
    return (digests_of_texts(cell.split(" ")) if isinstance(cell, str) else None) or ()
