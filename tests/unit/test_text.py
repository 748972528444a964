"""The primitives: column forms, matrices of all kinds, arguments that are wrong."""

from __future__ import annotations

import doctest
import math
import sys
from collections.abc import Callable
from subprocess import run
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from rag_eval import text
from rag_eval.errors import InputError
from tests.tables import every_row

LEFT = ["a b a", "", "Red fox, red hen.", "ΟΔΟΣ. 50%", "one two three", "...", "same text"]
RIGHT = ["b c", "", "A red hen", "οδος", "four", "a", "same text"]


def matrices() -> tuple[Any, Any]:
    """LEFT and RIGHT as counts over one vocabulary."""
    counts = text.tokenize_batch([*LEFT, *RIGHT]).counts
    return counts[: len(LEFT)], counts[len(LEFT) :]


def spoiled(matrix: Any, index_type: type, seed: int) -> Any:
    """The same counts, entries shuffled within rows, split in two, and zeros stored between."""
    coo = matrix.tocoo()
    rng = np.random.default_rng(seed)
    zeros = np.arange(matrix.shape[0])
    rows = np.concatenate([coo.row, coo.row, zeros])
    columns = np.concatenate([coo.col, coo.col, np.zeros_like(zeros)])
    data = np.concatenate([coo.data - coo.data // 2, coo.data // 2, zeros * 0])
    order = rng.permutation(len(rows))
    order = order[np.argsort(rows[order], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=matrix.shape[0]))])
    made = sparse.csr_array(matrix.shape, dtype=data.dtype)
    made.data = data[order]
    made.indices = columns[order].astype(index_type)
    made.indptr = indptr.astype(index_type)
    return made


def test_examples_of_the_docstrings() -> None:
    results = doctest.testmod(text)
    assert results.attempted == 3
    assert results.failed == 0


def test_scipy_is_not_imported() -> None:
    """It takes longer than scoring thousands of rows."""
    code = (
        "import sys; from rag_eval import text; text.paired_tfidf_similarity(['a'], ['a'])\n"
        "assert not [name for name in sys.modules if name.startswith('scipy')]"
    )
    run([sys.executable, "-c", code], check=True)


# ------------------------------------------------------------------------------- columns


def test_columns_are_one_by_one_calls() -> None:
    similarities = text.paired_tfidf_similarity(LEFT, RIGHT)
    assert similarities.dtype == np.float64
    assert similarities.tolist() == list(map(text.tfidf_similarity, LEFT, RIGHT))
    for n in (1, 2, 3):
        overlaps = text.paired_ngram_overlap(LEFT, RIGHT, n)
        expected = [text.ngram_overlap(*pair, n) for pair in zip(LEFT, RIGHT, strict=True)]
        assert overlaps.tolist() == expected


def test_counts_are_one_by_one_calls() -> None:
    counts, vocabulary = text.tokenize_batch(LEFT)
    assert counts.format == "csr"
    assert (counts.dtype, counts.indices.dtype) == (np.int32, np.int32)
    dense = counts.toarray()
    for row, source in enumerate(LEFT):
        tokens = text.tokenize(source)
        assert dense[row].tolist() == [tokens.count(token) for token in vocabulary]


def test_nothing_in_nothing_out() -> None:
    counts, vocabulary = text.tokenize_batch([])
    assert counts.shape == (0, 0)
    assert vocabulary == []
    assert text.tokenize_batch(["", "..."]).counts.shape == (2, 0)
    empty = sparse.csr_array((0, 3))
    for scores in (
        text.paired_tfidf_similarity([], []),
        text.paired_ngram_overlap([], []),
        text.paired_tfidf_similarity(empty, empty),
        text.paired_cosine_similarity(empty, empty),
    ):
        assert scores.shape == (0,)
    assert text.tfidf_weights(empty).shape == (0, 3)
    assert text.filter_factual_sentences([]) == []
    assert text.build_tfidf_vectors("", []) == ({}, [])


def test_any_sequence_of_strings_will_do() -> None:
    expected = text.paired_tfidf_similarity(LEFT, RIGHT).tolist()
    assert text.paired_tfidf_similarity(tuple(LEFT), np.array(RIGHT)).tolist() == expected
    generated: Any = (source for source in LEFT)
    assert text.paired_tfidf_similarity(generated, RIGHT).tolist() == expected


# ------------------------------------------------------------------------------ matrices


@every_row("index_type", [np.int32, np.int64])
@every_row("data_type", [np.int32, np.int64, np.float64, np.uint8])
def test_matrices_of_all_kinds(index_type: type, data_type: type) -> None:
    left, right = (
        spoiled(matrix, index_type, seed).astype(data_type)
        for seed, matrix in enumerate(matrices())
    )
    assert left.indices.dtype == index_type
    before = left.data.copy(), left.indices.copy(), left.indptr.copy()
    overlaps = text.paired_ngram_overlap(left, right)
    assert overlaps.tolist() == text.paired_ngram_overlap(LEFT, RIGHT).tolist()
    # Sums run in the order of the columns, so the last bit may differ from that of texts.
    expected = text.paired_tfidf_similarity(LEFT, RIGHT)
    assert text.paired_tfidf_similarity(left, right) == pytest.approx(expected, rel=1e-15)
    for array, kept in zip((left.data, left.indices, left.indptr), before, strict=True):
        np.testing.assert_array_equal(array, kept)


@every_row("index_type", [np.int32, np.int64])
def test_weights_add_up_repeats(index_type: type) -> None:
    matrix = matrices()[0]
    weights = text.tfidf_weights(matrix)
    again = text.tfidf_weights(spoiled(matrix, index_type, seed=3))
    assert weights.dtype == np.float64
    assert again.nnz == weights.nnz == matrix.nnz
    np.testing.assert_array_equal(again.toarray(), weights.toarray())


@every_row("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_arrays_and_matrices(make: Callable[[Any], Any]) -> None:
    left, right = map(make, matrices())
    expected = text.paired_tfidf_similarity(LEFT, RIGHT)
    assert text.paired_tfidf_similarity(left, right) == pytest.approx(expected, rel=1e-15)


def test_cosine_of_matrices_is_that_of_dicts() -> None:
    rng = np.random.default_rng(5)
    left, right = (
        sparse.csr_array(rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.4)) for _ in range(2)
    )
    left = sparse.vstack([left, sparse.csr_array((1, 12))], format="csr")
    right = sparse.vstack([right, right[[0]]], format="csr")
    expected = []
    for row in range(41):
        a, b = (
            {str(i): value for i, value in enumerate(matrix[[row]].toarray()[0].tolist()) if value}
            for matrix in (left, right)
        )
        expected.append(text.cosine_similarity(a, b))
    assert text.paired_cosine_similarity(left, right).tolist() == expected
    assert expected[-1] == 0
    assert min(expected) < 0


def test_cosine_adds_up_repeats() -> None:
    repeated = sparse.csr_array((1, 3))
    repeated.data = np.array([1.0, 0.5, -3.0, 2.0])
    repeated.indices, repeated.indptr = np.array([2, 0, 2, 2]), np.array([0, 4])
    right = sparse.csr_array(np.array([[3.0, 4.0, 0.0]]))
    assert text.paired_cosine_similarity(repeated, right).tolist() == [1.5 / (0.5 * 5.0)]
    assert text.paired_cosine_similarity(right, repeated).tolist() == [1.5 / (0.5 * 5.0)]


def test_cosine_of_what_is_no_number() -> None:
    left = sparse.csr_array(np.array([[1.0, math.nan], [math.inf, 1.0], [1e200, 1.0]]))
    right = sparse.csr_array(np.ones((3, 2)))
    scores = text.paired_cosine_similarity(left, right)
    assert np.isnan(scores[:2]).all()
    assert scores[2] == 0.0  # 1e200 squared is infinite, as in `cosine_similarity`


@every_row("n_texts", [1, 7, 300])
def test_weights_are_those_of_scikit_learn(n_texts: int) -> None:
    """Its term frequency is the count, ours count / total of the row."""
    rng = np.random.default_rng(n_texts)
    sources = [
        " ".join(f"t{i}" for i in rng.zipf(1.5, size=rng.integers(0, 30)) % 99)
        for _ in range(n_texts)
    ]
    sources[0] = "t1 t2 t1"
    vectorizer = CountVectorizer(
        tokenizer=text.tokenize, token_pattern=None, lowercase=False, vocabulary=None
    )
    theirs = vectorizer.fit_transform(sources)
    counts, vocabulary = text.tokenize_batch(sources)
    order = [vocabulary.index(term) for term in vectorizer.get_feature_names_out()]
    np.testing.assert_array_equal(counts.toarray()[:, order], theirs.toarray())

    transformed = TfidfTransformer(norm=None, smooth_idf=True).fit_transform(theirs).toarray()
    totals = np.maximum(theirs.toarray().sum(axis=1, keepdims=True), 1)
    weights = text.tfidf_weights(counts).toarray()
    np.testing.assert_allclose(weights[:, order], transformed / totals, rtol=1e-14)
    np.testing.assert_array_equal(text.tfidf_weights(theirs).toarray(), weights[:, order])


# ----------------------------------------------------------------------- wrong arguments


@every_row(
    ("call", "message"),
    [
        (lambda: text.tokenize(5), "tokenize: text must be a string, got int"),
        (lambda: text.split_sentences(b"a"), "split_sentences: text must be a string, got bytes"),
        (lambda: text.ngram_overlap("a", None), "ngram_overlap: b must be a string, got NoneType"),
        (
            lambda: text.weighted_ngram_overlap(1, "a"),
            "weighted_ngram_overlap: a must be a string, got int",
        ),
        (lambda: text.token_f1("a", 1), "token_f1: hypothesis must be a string, got int"),
        (lambda: text.token_f1([], "a"), "token_f1: reference must be a string, got list"),
        (lambda: text.tfidf_similarity(1, ""), "tfidf_similarity: query must be a string, got int"),
        (
            lambda: text.tfidf_similarity("", 1),
            "tfidf_similarity: document must be a string, got int",
        ),
        (
            lambda: text.build_tfidf_vectors(None, []),
            "build_tfidf_vectors: query must be a string, got NoneType",
        ),
        (
            lambda: text.build_tfidf_vectors("", ["a", 2]),
            "build_tfidf_vectors: documents[1] must be a string, got int",
        ),
        (
            lambda: text.build_tfidf_vectors("", "a"),
            "build_tfidf_vectors: documents must be a sequence of str, got str",
        ),
        (
            lambda: text.filter_factual_sentences(["a", 2.5]),
            "filter_factual_sentences: sentences[1] must be a string, got float",
        ),
        (
            lambda: text.filter_factual_sentences(None),
            "filter_factual_sentences: sentences must be a sequence of str, got NoneType",
        ),
        (
            lambda: text.tokenize_batch("abc"),
            "tokenize_batch: texts must be a sequence of str, got str",
        ),
        (
            lambda: text.tokenize_batch(["a", None]),
            "tokenize_batch: texts[1] must be a string, got NoneType",
        ),
        (
            lambda: text.paired_tfidf_similarity(["a"], [None]),
            "paired_tfidf_similarity: right[0] must be a string, got NoneType",
        ),
        (
            lambda: text.paired_cosine_similarity(["a"], ["a"]),
            "paired_cosine_similarity: left must be a CSR matrix, got list",
        ),
        (
            lambda: text.get_ngrams("abc", 1),
            "get_ngrams: tokens must be a sequence of str, got str",
        ),
        (lambda: text.get_ngrams(["a"], "1"), "get_ngrams: n must be a number, got str"),
        (
            lambda: text.cosine_similarity({}, []),
            "cosine_similarity: b must be a mapping, got list",
        ),
    ],
)
def test_wrong_types(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == message


ONES = sparse.csr_array(np.ones((2, 3), np.int32))


def broken(**buffers: Any) -> Any:
    """Two rows of three ones with some buffers replaced behind scipy's back."""
    matrix = ONES.copy()
    for name, buffer in buffers.items():
        setattr(matrix, name, np.array(buffer))
    return matrix


@every_row(
    ("call", "message"),
    [
        (
            lambda: text.paired_tfidf_similarity(["a"], []),
            "paired_tfidf_similarity: left has 1 texts and right 0",
        ),
        (
            lambda: text.paired_ngram_overlap(["a"], ONES),
            "paired_ngram_overlap: left and right must be both texts or both matrices",
        ),
        (
            lambda: text.paired_tfidf_similarity(ONES, ONES[:, :2]),
            "paired_tfidf_similarity: left has shape (2, 3) and right (2, 2)",
        ),
        (
            lambda: text.paired_cosine_similarity(ONES, ONES[:1]),
            "paired_cosine_similarity: left has shape (2, 3) and right (1, 3)",
        ),
        (
            lambda: text.paired_ngram_overlap(ONES, ONES, 2),
            "paired_ngram_overlap: n must be 1 for matrices, whose columns are the n-grams",
        ),
        (
            lambda: text.paired_ngram_overlap(["a"], ["a"], 1.5),
            "paired_ngram_overlap: n must be a whole number of at least 1, got 1.5",
        ),
        (
            lambda: text.paired_ngram_overlap(["a"], ["a"], 0),
            "paired_ngram_overlap: n must be a whole number of at least 1, got 0",
        ),
        (
            lambda: text.get_ngrams(["a"], -math.inf),
            "get_ngrams: n must be at least -2147483648",
        ),
        (
            lambda: text.get_ngrams(["a"], -(10**5000)),
            "get_ngrams: n must be at least -2147483648",
        ),
        (
            lambda: text.paired_ngram_overlap(["a"], ["b"], -(10**5000)),
            "paired_ngram_overlap: n must be a whole number of at least 1, got <int of 16610 bits>",
        ),
        *(
            (
                lambda entry=entry: text.tfidf_weights(broken(data=[1, 1, 1, 1, 1, entry])),
                "tfidf_weights: counts must hold whole counts from 0 to 2147483647",
            )
            for entry in (-1, 0.5, math.nan, math.inf, 2**31)
        ),
        (
            lambda: text.tfidf_weights(ONES * 1j),
            "tfidf_weights: counts must hold real numbers, got complex128",
        ),
        (
            lambda: text.tfidf_weights(
                broken(data=[2**31 - 1] * 6, indices=[0] * 6, indptr=[0, 3, 6])
            ),
            "tfidf_weights: counts must have rows that add up to 4294967295 at most",
        ),
        (
            lambda: text.tfidf_weights(sparse.csr_array((1, 2**31))),
            "tfidf_weights: counts must have at most 2147483647 columns, got 2147483648",
        ),
        *(
            (
                lambda buffers=buffers: text.tfidf_weights(broken(**buffers)),
                "tfidf_weights: counts is not a valid CSR matrix",
            )
            for buffers in (
                {"indices": [0, 1, 2, 0, 1, 3]},
                {"indices": [0, 1, 2, 0, 1, -1]},
                {"indptr": [0, 4, 3]},
                {"indptr": [1, 3, 6]},
                {"indptr": [0, 3, 7]},
                {"indptr": [0, 6]},
                {"indices": [0, 1, 2]},
            )
        ),
    ],
)
def test_wrong_values(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == message


def test_texts_of_2_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(texts: list[str]) -> None:
        raise OverflowError(1)

    monkeypatch.setattr("rag_eval.kernels.packed_texts.pack_texts", refuse)
    with pytest.raises(InputError, match=r"^tokenize_batch: texts\[1\] must be shorter than 2 GiB"):
        text.tokenize_batch(["a", "b"])


def test_entries_past_the_last_row_do_not_count() -> None:
    matrix = broken(data=[1] * 8, indices=[0, 1, 2, 0, 1, 2, 99, 99])
    assert text.paired_ngram_overlap(matrix, ONES).tolist() == [1.0, 1.0]


HUGE = pytest.param(-(10**5000), id="-10**5000")


@every_row("n", [-3, -3.5, -1000, -(10**12), -1e300, -math.inf, HUGE])
def test_every_ngram_is_empty_from_minus_the_number_of_tokens_down(n: float) -> None:
    assert text.ngram_overlap("a b c", "d", n) == 1.0
    assert text.weighted_ngram_overlap("a b c", "d", [1, n], [1, 3]) == 0.75
    assert text.ngram_overlap("a b c d", "e", -3) == 1 / 4  # {"a", "b", "c", ""} and {""}


def test_infinite_size_is_longer_than_any_text() -> None:
    assert text.ngram_overlap("a", "b", math.inf) == 1.0
    assert text.ngram_overlap("a b", "a c", 10**30) == 1.0
    assert text.get_ngrams(["a"], math.inf) == []


def test_sizes_of_numpy_do_not_overflow() -> None:
    tokens, a, b = ["x"] * 120, "a " * 150, "b " * 150
    assert text.get_ngrams(tokens, np.int8(-10)) == text.get_ngrams(tokens, -10)
    assert text.get_ngrams(tokens * 3, np.uint8(2)) == text.get_ngrams(tokens * 3, 2)
    assert text.ngram_overlap(a, b, np.int8(-3)) == text.ngram_overlap(a, b, -3)
    assert type(text.weighted_ngram_overlap(a, b, [1], [np.float32(0.5)])) is float
