"""Quotes of evidence: found where the words are, whatever copying did to them, and nowhere else."""

from __future__ import annotations

from rag_eval.judge.metrics.quotes import QuotedChunks
from tests.tables import every_row

CHUNKS = QuotedChunks(
    [
        "The kiln’s heat was 1,240 °C –\nfor nine hours.",
        "Jugs are green.",
        "The jugs are green, too.",
    ]
)


@every_row(
    ("quote", "named", "place"),
    [
        ("heat was 1,240 °C", 0, 0),
        ("heat was 1,240 °C", 2, 0),  # of another chunk than the judge names
        ("heat was 1,240 °C", None, 0),
        ('"The KILN\'s heat was  1,240 °C - for nine hours."', 0, 0),
        ("… the kiln's heat ... nine hours", 0, 0),
        ("heat [...] nine", 0, 0),
        ("jugs are green", 2, 2),
        ("jugs are green", 1, 1),
        ("jugs are green", None, 1),
        ("heat was 1,250 °C", 0, None),
        ("the kiln's heat ... green", 0, None),  # parts of two chunks are no quote
        ("...", 0, None),
        (" . ", 0, None),
        ("", 0, None),
    ],
)
def test_a_quote_is_in_the_chunk_that_has_its_words(
    quote: str, named: int | None, place: int | None
) -> None:
    assert CHUNKS.place(quote, named) == place


def test_without_chunks_no_quote_is_found() -> None:
    assert QuotedChunks([]).place("a word", 0) is None
