"""Hypothesis strategies of the differential tests and properties: texts, samples, options.

Small on purpose: the oracle reads each text character by character for every pair. Those that take
nothing from what was drawn are made once: making one takes as long as drawing from it.
"""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import strategies as st

MARKS = ".!?"
SPACES = "\t\n\x0b\x0c\r \xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
# Python's, JavaScript's and Unicode's ideas of space differ in these; none of them separates.
NOT_SPACES = "\x1c\x1d\x1e\x1f\x85\u180e\u200b\u200c\u200d\u2060\xad"
CONTROLS = "\x00\x01\x07\x08\x0e\x1b\x7f\x80\x9f\u200e\u202e\ue000\ufffe\uffff\U0010ffff"
PUNCTUATION = "!\"#%&'()*,-./:;?@[\\]_{}¡§«»¿–—‘’“”•…‼、。！（「・．＿؟،।״་፡\U00010100\U0001e95e"
SYMBOLS = "$+<=>^`|~€°±×→™½②＋＝～❤\ufe0f👍👨👩👧🇫🇷🏽"
# Case-ignorable characters, which final sigma looks through; some separate and some do not.
CASE_IGNORABLE = ".':’·\xad\u0301\u0345\u02b0\u02bc\u0640\u200b\u200d\ufe0f\U0001f3fd\U000e0001"
# Capitals and titlecase that grow, shrink, leave their script's block, or have several forms.
CAPITALS = "İIıẞßKÅΩǄǅǆᾈᾼΐŉΣςσϒſﬁＡＺႠᲐᏣꭰꙊⰀ𐐀𐐨𞤀𐒰𑢠𐲀𝐀𝛔Ⓐ"
# Punctuation and capitals younger than Python 3.11's tables (Unicode 14).
YOUNG = (
    "\u1b4e\u1b7f\U00010d6e\U000113d4\U00011b00\U00016d6e\U0001e5ff\u1c89\ua7cb\ua7da\ua7dc"
    "\U00010d50\U00016ea0"
)
SCRIPTS = "éñøПриветعربיתहिन्दीไทย한국어日本語中文ქართულიአማርኛᠮ𐌰𒀀𓀀𠀀"
LONE_SURROGATES = "\ud800\udbff\udc00\udfff"

WORDS = [
    *("a", "an", "the", "cat", "Cat", "CAT", "sat", "on", "mat", "red", "fox", "Paris", "France"),
    *("capital", "of", "is", "not", "3.14", "1,000", "50%", "$5", "C++", "node.js", "don't"),
    *(
        "don’t",
        "e-mail",
        "foo_bar",
        "U.S.",
        "Dr.",
        "na\u00efve",
        "nai\u0308ve",
        "straße",
        "STRASSE",
    ),
    *("ΟΔΟΣ", "οδός", "İstanbul", "東京", "😀"),
]


@functools.cache
def texts(*, lone_surrogates: bool = True, max_parts: int = 8) -> st.SearchStrategy[str]:
    """Anything a text may be; most are short, some a few thousand characters long.

    ``lone_surrogates=False`` leaves out what UTF-8 and files cannot hold.
    """
    odd = [
        SPACES,
        NOT_SPACES + SPACES + MARKS,
        CONTROLS,
        PUNCTUATION,
        SYMBOLS,
        CASE_IGNORABLE,
        CAPITALS,
        YOUNG,
        SCRIPTS,
    ]
    if lone_surrogates:
        odd.append(LONE_SURROGATES + "a. A")
    oddities = _one_of_equals([st.text(chars + "aA. ", max_size=15) for chars in odd])
    part = st.one_of(
        _few_letters(),
        prose(),
        _boundaries(),
        _sigmas(),
        oddities,
        oddities,
        oddities,
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    )
    mixed = st.lists(part, max_size=max_parts).map("".join)
    return st.one_of(
        st.just(""), _few_letters(), prose(), oddities, oddities, mixed, mixed, _long()
    )


@functools.cache
def prose() -> st.SearchStrategy[str]:
    """Sentences of a few words that come back often, with a mark or none."""
    words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
    sentence = st.tuples(
        st.sampled_from(["", "The ", "A ", "it "]),
        words,
        st.sampled_from([*MARKS, "...", "?!", ""]),
    ).map("".join)
    return st.lists(sentence, min_size=1, max_size=5).map(" ".join)


@st.composite
def samples(draw: st.DrawFn, *, lone_surrogates: bool = True) -> dict[str, Any]:
    """A sample whose fields share sentences, so that overlaps lie on both sides of thresholds.

    ``contexts`` may be empty or hold empty strings; ``groundTruth`` may be missing, None or empty.
    """
    shared = draw(_shared_texts(lone_surrogates))
    pieces = [*shared, *WORDS[:8], ". The", "! A", "? It", "."]

    def told(field: int | list[int]) -> str:
        if isinstance(field, int):
            return shared[field % len(shared)]
        return " ".join(pieces[place % len(pieces)] for place in field)

    sample: dict[str, Any] = {
        "question": told(draw(_FIELD)),
        "answer": told(draw(_FIELD)),
        "contexts": [told(field) for field in draw(_CONTEXTS)],
    }
    truth = draw(_TRUTH)
    if truth != "missing":
        sample["groundTruth"] = None if truth is None else told(truth)
    return sample


@functools.cache
def _shared_texts(lone_surrogates: bool) -> st.SearchStrategy[list[str]]:
    anything = texts(lone_surrogates=lone_surrogates, max_parts=4)
    more = st.lists(prose() | anything, max_size=3)
    return st.tuples(prose(), more).map(lambda drawn: [drawn[0], *drawn[1]])


# Fields of a sample, before it is known what they share: one of its texts, or some of its pieces.
_PLACE = st.integers(0, 239)
_PASSAGE = st.lists(_PLACE, min_size=1, max_size=8)
_FIELD: st.SearchStrategy[Any] = st.one_of(_PLACE, _PASSAGE, _PASSAGE, _PASSAGE, st.just([]))
_SOME_CONTEXTS = st.lists(_FIELD, min_size=1, max_size=4)
_CONTEXTS = st.one_of(_SOME_CONTEXTS, _SOME_CONTEXTS, st.just([]))
_TRUTH = st.one_of(_FIELD, _FIELD, st.none(), st.just("missing"))


@functools.cache
def heuristic_options() -> st.SearchStrategy[dict[str, Any]]:
    """Keyword arguments of the heuristic, each of them missing at times or None.

    The weights of answer_relevance never add up to 0, which is an input error.
    """
    sizes = st.sampled_from([[1, 2], [1], [2], [3, 1], [2, 2], [], [4, 1, 2], [1, 2, 3], [1, 9]])
    weight = st.sampled_from([0, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, -0.5, -1, 1e-300, None])
    threshold = st.one_of(
        # Limits that overlaps of short texts meet exactly, then any.
        st.sampled_from([0, 1e-7, 0.0625, 0.15, 0.2, 0.25, 0.3, 1 / 3, 0.5, 1, 1.5, -1]),
        st.floats(0, 1),
    )
    blend = st.sampled_from([0, 0.25, 0.5, 1, 2, 3])
    options = st.fixed_dictionaries(
        {},
        optional={
            "ngram_sizes": st.none() | sizes,
            "ngram_weights": st.none() | st.lists(weight, max_size=5),
            "chunk_relevance_threshold": st.none() | threshold,
            "claim_support_threshold": st.none() | threshold,
            "sentence_coverage_threshold": st.none() | threshold,
            "ngram_weight": st.none() | blend,
            "tfidf_weight": st.none() | blend,
        },
    )
    return options.filter(
        lambda given: given.get("ngram_weight") != 0 or given.get("tfidf_weight") != 0
    )


def _few_letters() -> st.SearchStrategy[str]:
    """Tiny alphabets: repeated tokens, equal n-grams, sentences of one word."""
    alphabets = ["ab ", "aA. ", "ab.!? \n", "xy-", "Aa\u0301 ."]
    return _one_of_equals([st.text(alphabet, max_size=40) for alphabet in alphabets])


def _one_of_equals(found: list[st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    """One choice whatever they are made of: ``st.one_of`` would take their parts for its own."""
    return st.sampled_from(found).flatmap(lambda strategy: strategy)


def _boundaries() -> st.SearchStrategy[str]:
    """A mark, a run that may be no whitespace, and something that may be no ASCII capital."""
    return st.tuples(
        st.sampled_from([*MARKS, "...", "?!", "…", "。", "．", '."', ".)", "", "v2."]),
        st.text(SPACES + NOT_SPACES, max_size=3) | st.sampled_from(["", " ", "\n", "\ufeff"]),
        st.sampled_from(
            ["A", "Z", "A\u0301", "[", "@", "a", "1", "É", "Ａ", "𝐀", '"A', "B. C", ""]
        ),
    ).map("".join)


def _sigmas() -> st.SearchStrategy[str]:
    """Σ between letters, separators and case-ignorable runs: final or not."""
    return st.text("ΣΣΑα1 -,_中𝐀ʰªⅠ" + CASE_IGNORABLE, max_size=12).map(lambda text: text + "Σ") | (
        st.text("ΣΑ" + CASE_IGNORABLE, max_size=12)
    )


def _long() -> st.SearchStrategy[str]:
    """Long runs, one very long token, many repeats, many distinct tokens."""
    count = st.integers(1, 600)
    run = st.builds(
        lambda piece, n: piece * n,
        st.sampled_from(
            ["a", " ", ".", "a ", "A. ", "é", "😀", "Σ", "İ", "\x00", "\ufeff", "ab ba "]
        ),
        count,
    )
    distinct = st.builds(
        lambda n, stride: " ".join(f"t{i * stride % 1009}" for i in range(n)),
        count,
        st.sampled_from([1, 7, 256]),
    )
    one_token = st.builds(
        lambda n, end: "x" * n + end, st.integers(1, 3000), st.text("xy", max_size=2)
    )
    return st.one_of(run, distinct, one_token)
