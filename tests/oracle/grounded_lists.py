"""The word lists of ``tools/word_lists``: facts that kernels and oracle share."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "tools" / "word_lists"


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text("utf-8"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# By language, in the order in which ties are decided.
STOP_WORDS = {code: _words(text) for code, text in _load("stop_words.toml").items()}

_ENGLISH = _load("english.toml")

NUMBER_WORDS: dict[str, str] = _ENGLISH["numbers"]
KINDS = {kind: _words(text) for kind, text in _ENGLISH["kinds"].items()}
ORDINALS: dict[str, int] = _ENGLISH["ordinals"]
MULTIPLIERS: dict[str, int] = _ENGLISH["multipliers"]  # powers of ten
ROLES = {role: _words(text) for role, text in _ENGLISH["roles"].items()}
ABBREVIATIONS = _words(_ENGLISH["phrases"]["abbreviations"])
