"""Texts for readers, docstrings, comments and pages use the words that the field uses.

What a phrase is replaced with stands beside it. All text of a file is read: literals that are
joined, lines of a paragraph and of a comment count as one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.docs_pages import ROOT

BANNED: Final = {
    "and no excuse": "helps you plan the next run",
    "anew": "again",
    "be had": "be available",
    "carried to": "supported",
    "carries it to": "supports it",
    "come late": "rank low",
    "come twice": "occur twice",
    "comes twice": "occurs twice",
    "for want of": "because … is missing",
    "goes on with": "continues",
    "gone on with": "resumed",
    "held against": "compared with, or checked against",
    "holds no word": "contains no words",
    "hold no word": "contain no words",
    "is for labels to say": "needs labels to decide",
    "is in no mean": "is excluded from means",
    "is no json": "is not JSON",
    "is no calibration": "is not a calibration",
    "is no function": "is not a function",
    "is no number": "is not a number",
    "is no valid": "is not a valid",
    "is not sound": "is not valid",
    "is none of": "is not one of, or is invalid",
    "is that of the baseline": "same as the baseline",
    "is the same in all of": "are identical in",
    "leave uncertain": "whose score is inconclusive",
    "leave it behind with": "discard it with",
    "made to be looked at": "readable",
    "made use of": "used",
    "nobody was asked": "no calls were made",
    "nothing can carry": "nothing can support",
    "null is no score": "nulls are excluded from means",
    "of one's own": "your own, or custom",
    "of what does not decide": "that do not affect the verdict",
    "of which": "two sentences, or: for which, some of them, where",
    "one's own": "your own",
    "passed over": "skipped, or ignored",
    "questions less": "are missing",
    "refuses where": "stops if",
    "silent wrong": "silent error",
    "that was not asked for": "that you did not ask for",
    "the caller's own": "custom",
    "those that are none": "others",
    "wanted at least": "threshold",
    "what becomes of": "what happens to",
    "what came of": "the result of",
    "where it pays": "where it helps",
}
TERMS: Final = {
    "base-line": "baseline",
    "data set": "dataset",
    "data sets": "datasets",
    "data-set": "dataset",
    "file-name": "file name",
    "ground-truth": "ground truth",
    "json-lines": "JSON lines",
    "jsonlines": "JSON lines",
    "llm-judge": "LLM judge",
    "llm as a judge": "LLM judge",
    "meta-data": "metadata",
    "meta data": "metadata",
    "p-value": "p value",
    "sub check": "sub-check",
    "subcheck": "sub-check",
    "thresh-hold": "threshold",
    "time-out": "timeout",
}
# Outcomes have one word each; those of other tools stay in the modules of their policies.
OUTCOMES: Final = re.compile(
    r"(?<![\w`.])(REGRESS|PROGRESS|UNCHANGED|NOT SHOWN|UNDERPOWERED|worse\?|better\?)(?![\w])"
)
OF_OTHER_TOOLS: Final = re.compile(
    r"/gating/|/scorers/(omk|regtrace)/|reports/gate\.py|decisions\.md"
)
# With the reason: strings of other tools stay as they are, to the letter.
ALLOWED: Final = {
    ("rag_eval/results/words_overlap.py", "come late"): "a signal of rag-eval-node-ts",
    ("rag_eval/inputs/schemas/synonyms.py", "ground-truth"): "a spelling that columns have",
}

# Quotes of two literals in a row, or the mark of a comment that goes on.
_JOINS: Final = re.compile(r"""["']\s*\n\s*[frb]{0,2}["']|\n\s*#:?(?= )""")


def pages() -> Iterator[Path]:
    yield from (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    yield from sorted((ROOT / "docs").rglob("*.md"))
    for suffix in ("py", "pyi", "j2", "js"):
        yield from sorted((ROOT / "rag_eval").rglob(f"*.{suffix}"))


def as_one_line(text: str) -> str:
    return " ".join(_JOINS.sub("", text).lower().split())


def phrases_in(text: str) -> list[str]:
    """Banned phrases and other spellings in a text, as whole words."""
    line = as_one_line(text)
    return [
        phrase
        for phrase in (*BANNED, *TERMS)
        if phrase in line and re.search(rf"(?<![\w-]){re.escape(phrase)}(?![\w-])", line)
    ]


FOUND: Final = {
    (str(page.relative_to(ROOT)), phrase)
    for page in pages()
    for phrase in phrases_in(page.read_text("utf-8"))
}


def test_texts_are_free_of_phrases_that_need_a_second_reading() -> None:
    words = BANNED | TERMS
    found = [
        f'{page}: "{phrase}"; write: {words[phrase]}'
        for page, phrase in sorted(FOUND - ALLOWED.keys())
    ]
    assert not found, "\n".join(found)


def test_every_exception_is_in_use() -> None:
    assert ALLOWED.keys() <= FOUND


def test_outcomes_have_one_word_each() -> None:
    found = {
        str(page.relative_to(ROOT)): words
        for page in pages()
        if not OF_OTHER_TOOLS.search(str(page))
        and (words := OUTCOMES.findall(page.read_text("utf-8")))
    }
    assert not found
    assert OUTCOMES.findall("REGRESS, NOT SHOWN, worse? and REGRESSED") == [
        "REGRESS",
        "NOT SHOWN",
        "worse?",
    ]


# Sentences that readers did not understand.
UNCLEAR: Final = (
    "Never a silent wrong",
    "Made to be looked at",
    "A judge where it pays",
    "no file that was not asked for",
    "Sentence is carried to 0.250 only",
    "wanted at least 0.6",
    "found anew from the texts",
    "worse? and better? are of what does not decide",
    "every score of 7 means is the same in all of 60 pairs",
    "mean 0.93 is that of the baseline",
    "nobody was asked",
    "rows that the kernels leave uncertain",
    "asked two questions less, and one more",
    "is a plan and no excuse",
    "is for labels to say",
    "A null is no score and is in no mean",
    "Relevant chunks come late",
    "it refuses where the file has changed",
    "Largest mean of a metric of which lower is better",
    "runs that can be gone on with",
)


def test_sentences_that_were_not_understood_are_caught() -> None:
    assert [sentence for sentence in UNCLEAR if not phrases_in(sentence)] == []


def test_a_phrase_is_found_across_literals_lines_and_comments() -> None:
    literals = 'f"the score is held "\n    f"against {wanted}"'
    comment = "# Nulls are counted for\n    # want of a score."
    docstring = '"""Rows of a Data\n    set."""'
    assert phrases_in(literals) == ["held against"]
    assert phrases_in(comment) == ["for want of"]
    assert phrases_in(docstring) == ["data set"]
    assert phrases_in("ground_truth, groundTruth and a p-values-table are of no concern") == []
