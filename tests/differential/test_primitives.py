"""The primitives against their definitions in tests/oracle, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_eval import text
from tests import strategies
from tests.oracle import ngrams, sentences, tfidf, token_f1, tokens

TEXTS = strategies.texts()
# Texts that share words, besides texts of any kind.
PAIRS = st.one_of(
    st.tuples(strategies.prose(), strategies.prose()),
    st.tuples(TEXTS, TEXTS),
    TEXTS.map(lambda one: (one, one)),
    st.tuples(TEXTS, TEXTS).map(lambda pair: (pair[0], f"{pair[1]} {pair[0]}")),
)
COLUMNS = st.lists(PAIRS, max_size=6)
ODD_SIZES = st.sampled_from([0, -1, -2, 0.5, 1.5, 2.5, 2.0, float("inf"), None])
SIZES = st.one_of(st.integers(1, 4), st.integers(1, 4), st.sampled_from([7, 50, 10**30]), ODD_SIZES)


def joined(source: str) -> str:
    """Surrogate pairs as one code point each, as ours and JavaScript have it."""
    return source.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(TEXTS)
@example("\ud83d\ude00A \ude00\ud83d")
@example("x" * 511 + "\u0130 " + "y" * 700)
def test_tokenize(source: str) -> None:
    assert text.tokenize(source) == tokens.tokenize(joined(source))


@given(st.lists(st.sampled_from(["a", "b", "a b", ""]), max_size=6), SIZES)
def test_get_ngrams(source: list[str], n: float | None) -> None:
    assert text.get_ngrams(source, n) == tokens.get_ngrams(source, n)


@given(TEXTS)
@example("A.\ufeff\u2028B. \x85C! \ud800")
def test_split_sentences(source: str) -> None:
    assert text.split_sentences(source) == sentences.split_sentences(joined(source))


@given(st.lists(TEXTS, max_size=6))
def test_filter_factual_sentences(sources: list[str]) -> None:
    expected = sentences.filter_factual_sentences(sources)
    assert text.filter_factual_sentences(sources) == expected


@given(PAIRS, SIZES)
def test_ngram_overlap(pair: tuple[str, str], n: float | None) -> None:
    assert text.ngram_overlap(*pair, n) == ngrams.ngram_overlap(*map(joined, pair), n)


@given(st.text("ab ", max_size=60), st.text("ab ", max_size=60), st.integers(1, 40))
def test_ngram_overlap_of_every_width(left: str, right: str, n: int) -> None:
    """A wide window is put together from two narrower ones that overlap."""
    sizes = [n, 3, n, 2 * n]
    assert text.ngram_overlap(left, right, n) == ngrams.ngram_overlap(left, right, n)
    expected = ngrams.weighted_ngram_overlap(left, right, sizes, [1, 2, 3, 4])
    assert text.weighted_ngram_overlap(left, right, sizes, [1, 2, 3, 4]) == expected


@given(PAIRS, strategies.heuristic_options())
@example(("a b", "a c"), {"ngram_sizes": [1.5, 2, 0, 1], "ngram_weights": [2, None, 0.5]})
def test_weighted_ngram_overlap(pair: tuple[str, str], options: dict[str, Any]) -> None:
    sizes, weights = options.get("ngram_sizes"), options.get("ngram_weights")
    expected = ngrams.weighted_ngram_overlap(*map(joined, pair), sizes, weights)
    assert text.weighted_ngram_overlap(*pair, sizes, weights) == expected


@given(PAIRS)
def test_tfidf_similarity(pair: tuple[str, str]) -> None:
    assert text.tfidf_similarity(*pair) == tfidf.tfidf_similarity(*map(joined, pair))


@given(PAIRS)
def test_token_f1(pair: tuple[str, str]) -> None:
    assert text.token_f1(*pair) == token_f1.token_f1(*map(joined, pair))


@given(TEXTS, st.lists(TEXTS, max_size=5))
def test_build_tfidf_vectors(query: str, documents: list[str]) -> None:
    """Exact for so few texts; from 40 on, logarithms of long and plain doubles may differ."""
    vectors = text.build_tfidf_vectors(query, documents)
    expected = tfidf.build_tfidf_vectors(joined(query), [joined(one) for one in documents])
    assert vectors == expected
    for ours, theirs in zip(
        [vectors.query_vec, *vectors.doc_vecs], [expected[0], *expected[1]], strict=True
    ):
        assert list(ours) == list(theirs)
        assert text.cosine_similarity(vectors.query_vec, ours) == tfidf.cosine_similarity(
            expected[0], theirs
        )


WEIGHTS = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.sampled_from([0, 1, -1, 0.1, 1 / 3, 1e-200, 5e-324, 1e100]) | st.floats(-2, 2),
)


@given(WEIGHTS, WEIGHTS)
def test_cosine_similarity(a: dict[str, float], b: dict[str, float]) -> None:
    assert text.cosine_similarity(a, b) == tfidf.cosine_similarity(a, b)


@given(COLUMNS)
def test_tokenize_batch(pairs: list[tuple[str, str]]) -> None:
    sources = [source for pair in pairs for source in pair]
    counts, vocabulary = text.tokenize_batch(sources)
    expected = [tokens.tokenize(joined(source)) for source in sources]
    assert vocabulary == list(dict.fromkeys(token for row in expected for token in row))
    for row, row_tokens in enumerate(expected):
        begin, end = counts.indptr[row : row + 2]
        found = [vocabulary[column] for column in counts.indices[begin:end]]
        assert found == list(dict.fromkeys(row_tokens))
        assert counts.data[begin:end].tolist() == [row_tokens.count(token) for token in found]


@given(COLUMNS, st.integers(1, 4))
def test_paired_texts(pairs: list[tuple[str, str]], n: int) -> None:
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    overlaps = [ngrams.ngram_overlap(*map(joined, pair), n) for pair in pairs]
    assert text.paired_ngram_overlap(left, right, n).tolist() == overlaps
    similarities = [tfidf.tfidf_similarity(*map(joined, pair)) for pair in pairs]
    assert text.paired_tfidf_similarity(left, right).tolist() == similarities


@given(COLUMNS)
def test_paired_matrices_give_the_bits_of_texts(pairs: list[tuple[str, str]]) -> None:
    counts = text.tokenize_batch([source for pair in pairs for source in pair]).counts
    left, right = counts[0::2], counts[1::2]
    sources = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    similarities = text.paired_tfidf_similarity(left, right)
    np.testing.assert_array_equal(similarities, text.paired_tfidf_similarity(*sources))
    overlaps = text.paired_ngram_overlap(left, right)
    np.testing.assert_array_equal(overlaps, text.paired_ngram_overlap(*sources))


@given(TEXTS, st.lists(TEXTS, max_size=5))
def test_weights_of_a_column_are_the_vectors(query: str, documents: list[str]) -> None:
    counts, vocabulary = text.tokenize_batch([query, *documents])
    weights = text.tfidf_weights(counts)
    expected = tfidf.build_tfidf_vectors(joined(query), [joined(one) for one in documents])
    vectors = [expected[0], *expected[1]]
    for row, vector in enumerate(vectors):
        begin, end = weights.indptr[row : row + 2]
        terms = [vocabulary[column] for column in weights.indices[begin:end]]
        assert dict(zip(terms, weights.data[begin:end].tolist(), strict=True)) == vector
    left, right = weights[[0] * len(vectors)], weights
    cosines = [tfidf.cosine_similarity(vectors[0], vector) for vector in vectors]
    assert text.paired_cosine_similarity(left, right).tolist() == cosines


@pytest.mark.parametrize("n_texts", [1, 4095, 4096, 4097, 8193])
def test_columns_longer_than_a_block(n_texts: int) -> None:
    """Counting looks for Ctrl-C every 4,096 texts and pairs come 8,192 at a time."""
    left = [f"a b{i % 7} c{i:020}" for i in range(n_texts)]
    right = [f"a b{i % 5} c{i:020}" for i in range(n_texts)]
    counts, vocabulary = text.tokenize_batch(left)
    assert counts.shape == (n_texts, len(vocabulary)) == (n_texts, 1 + min(7, n_texts) + n_texts)
    assert (counts.sum(axis=1) == 3).all()
    similarities = text.paired_tfidf_similarity(left, right)
    for row in {0, n_texts // 2, n_texts - 1}:
        assert similarities[row] == tfidf.tfidf_similarity(left[row], right[row])
