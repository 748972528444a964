"""Servers that cut long prompts without saying so, known by the prompt tokens that they report."""

from __future__ import annotations

import re
from typing import Final

from rag_eval.judge.replies import Usage

# Letters of scripts without spaces; a token holds a few of them at most.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_UNSPACED_PER_TOKEN: Final = 6
# Tokenisers take 1.2 to 2 tokens for a word of prose, those that join words about 0.9.
_FEWEST_PER_WORD: Final = 0.75
# No server has so small a context, so a small count says that a server counts something else.
_FEWEST_WORDS: Final = 300


def cut_message(prompt: str, usage: Usage) -> str | None:
    """What to say of a server that reports far fewer tokens than a prompt can have; None if not.

    Servers that report no tokens, or 0, are not known to cut.
    """
    if usage.estimated or not usage.input_tokens:
        return None
    n_words = len(prompt.split())
    if n_words < _FEWEST_WORDS and len(prompt) < _FEWEST_WORDS * _UNSPACED_PER_TOKEN:
        return None
    least = n_words * _FEWEST_PER_WORD
    if not prompt.isascii():
        least += len(_UNSPACED.findall(prompt)) / _UNSPACED_PER_TOKEN
    if usage.input_tokens >= least:
        return None
    return (
        f"the server reports {usage.input_tokens:,} tokens for a prompt of {n_words:,} words, so "
        "it cuts long prompts without saying so. Raise the size of its context, with Ollama by "
        "OLLAMA_CONTEXT_LENGTH"
    )
