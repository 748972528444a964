"""Rows that rise and fall together: the group of each row in, its number out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError


def group_numbers(groups: Iterable[object]) -> npt.NDArray[np.int64]:
    """Number groups from 0 on in the order of their first rows.

    Parameters
    ----------
    groups : iterable of str, int or anything else that is hashable
        The group of each row.

    Returns
    -------
    int64, shape (R,)

    Raises
    ------
    InputError
        For a row without a group (None, NaN), or with one that cannot be compared.
    """
    known: dict[object, int] = {}
    numbers: list[int] = []
    for row, group in enumerate(groups):
        try:
            if group is None or group != group:  # NaN
                raise InputError(f"group of row {row} is missing; wanted a name or a number")
            numbers.append(known.setdefault(group, len(known)))
        except TypeError:
            raise InputError(
                f"group of row {row} must be a name or a number, got {type(group).__name__}"
            ) from None
    return np.array(numbers, np.int64)
