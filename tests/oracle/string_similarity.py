"""What the measures of strings mean: on lists of UTF-16 units, with whole matrices."""

from __future__ import annotations

from array import array
from collections import Counter
from itertools import pairwise

# ECMAScript: WhiteSpace and LineTerminator.
JAVASCRIPT_SPACES = {
    *"\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff",
    *map(chr, range(0x2000, 0x200B)),
}


def units(text: str) -> array[int]:
    return array("H", text.encode("utf-16-le", "surrogatepass"))


def dice_similarity(left: str, right: str) -> float:
    """Over bigrams with repeats; 1 for equal texts, else 0 where one has fewer than 2 units."""
    a, b = (units("".join(c for c in x if c not in JAVASCRIPT_SPACES)) for x in (left, right))
    if a == b:
        return 1.0
    if len(a) < 2 or len(b) < 2:
        return 0.0
    shared = (Counter(pairwise(a)) & Counter(pairwise(b))).total()
    return 2 * shared / (len(a) + len(b) - 2)


def lcs_length(left: str, right: str) -> int:
    columns = units(right)
    above = [0] * (len(columns) + 1)
    for unit in units(left):
        row = [0]
        for j, other in enumerate(columns):
            row.append(above[j] + 1 if unit == other else max(above[j + 1], row[j]))
        above = row
    return above[-1]


def lcs_ratio(left: str, right: str) -> float:
    total = len(units(left)) + len(units(right))
    return 2 * lcs_length(left, right) / total if total else 1.0


def levenshtein(left: str, right: str) -> int:
    columns = units(right)
    above = list(range(len(columns) + 1))
    for i, unit in enumerate(units(left), 1):
        row = [i]
        for j, other in enumerate(columns):
            row.append(min(above[j] + (unit != other), above[j + 1] + 1, row[j] + 1))
        above = row
    return above[-1]
