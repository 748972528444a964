"""Typical replies for dry runs: the sentences of a text, and reasons of the usual length."""

from __future__ import annotations

import re
from typing import Final

from rag_eval.judge.steps import Fields

REASON: Final = "The second sentence of the first chunk says so in nearly the same words."
"""About as long as the reasons that are asked for."""

QUOTE: Final = "the oven must not be used after nine in the evening"
"""About as long as quotes of evidence are."""

# Marks of sentence ends, among them those that no space follows in Chinese and Japanese.
_SENTENCE: Final = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")


def sentences(text: str) -> list[str]:
    """The sentences of a text, about; those without a letter or digit are none."""
    found = (match.group().strip() for match in _SENTENCE.finditer(text))
    return [sentence for sentence in found if any(map(str.isalnum, sentence))]


def text_of(fields: Fields, name: str) -> str:
    """A field that holds one text, or several as one."""
    return "\n".join(texts_of(fields, name))


def texts_of(fields: Fields, name: str) -> list[str]:
    """A field that holds a list of texts, or one."""
    value = fields[name]
    if isinstance(value, str):
        return [value]
    return [] if isinstance(value, (int, float)) else list(value)
