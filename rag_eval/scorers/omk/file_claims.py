"""Paths of files that a text names: a text and the paths that there are in, the share that is true.

No file is looked at: what exists is what the caller says.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from rag_eval.errors import InputError
from rag_eval.plumbing.javascript_numbers import fixed_number
from rag_eval.scorers.omk.layers import mean_score, ratio_to_score

# Runs are cut first and read after, so that no start is tried twice.
_RUN: Final = re.compile(r"[\w./\\@~+-]+", re.ASCII)
_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


def path_claims(text: str) -> list[str]:
    """Paths of files in a text, each once, in order.

    A path has a slash and a name with an ending: ``src/app.py``, ``./notes/a.md``. Addresses of the
    web are none.
    """
    found = []
    for run in _RUN.finditer(text):
        path = run.group().rstrip(".").replace("\\", "/")
        is_address = path.startswith("//") and text[: run.start()].endswith(":")
        if "/" in path and not is_address and _ENDING.search(path.rpartition("/")[2]):
            found.append(path.removeprefix("./"))
    return list(dict.fromkeys(found))


def verified_rate(text: str, known_paths: Collection[str]) -> float | None:
    """Share of the paths in a text that are known; None where it has none.

    A path is known by itself or as the end of a known one: ``app.py`` in ``lib`` as ``lib/app.py``
    of ``src/lib/app.py``.
    """
    if isinstance(known_paths, str):
        raise InputError("known_paths must be a collection of paths, got a str")
    claims = path_claims(text)
    if not claims:
        return None
    wanted = [tuple(claim.strip("/").split("/")) for claim in claims]
    lengths = {len(parts) for parts in wanted}
    ends: set[tuple[str, ...]] = set()
    for path in known_paths:
        parts = tuple(path.replace("\\", "/").removeprefix("./").strip("/").split("/"))
        ends.update(parts[-length:] for length in lengths if length <= len(parts))
    return sum(parts in ends for parts in wanted) / len(wanted)


def fact_with_paths(fact: float | None, text: str, known_paths: Collection[str]) -> float | None:
    """The score of the fact layer with the paths that a text names.

    Returns
    -------
    float or None
        Mean of the layer's score and that of the share of known paths; the layer's own where the
        text names none.
    """
    rate = verified_rate(text, known_paths)
    if rate is None:
        return fact
    # The share has two decimals there before it becomes a score.
    of_paths = ratio_to_score(fixed_number(rate, 2))
    scores = [score for score in (fact, of_paths) if score is not None]
    return mean_score(scores)
