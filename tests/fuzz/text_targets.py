"""The primitives and string similarity against their definitions in tests/oracle."""

from __future__ import annotations

from typing import Final

import numpy as np
from rapidfuzz.distance import LCSseq, Levenshtein
from scipy.sparse import csr_array

from rag_eval import text
from rag_eval.kernels import similarity as string_similarity
from tests.differential.test_primitives import joined
from tests.fuzz import hostile_texts
from tests.fuzz.running import Target
from tests.grounded_samples import Choices
from tests.oracle import ngrams, sentences, tfidf, token_f1, tokens
from tests.oracle import string_similarity as oracle

_WINDOWS: Final = (1, 2, 3, 4, 7, 50, 10**30, 0, -1, 0.5, 1.5, 2.0, None)
# Pairs of units whose matrix the definition fills in; rapidfuzz does the others.
_MOST_CELLS: Final = 20_000


def texts(choices: Choices) -> list[str]:
    """A few texts, some of them twice and some within others."""
    some = [hostile_texts.text(choices) for _ in range(choices.between(1, 4))]
    if choices.one_in(2):
        some += [some[0], f"{some[-1]} {some[0]}"]
    return some


def primitives(choices: Choices) -> None:
    """Tokens, sentences and measures of two texts."""
    some = texts(choices)
    whole = [joined(one) for one in some]
    for one, same in zip(some, whole, strict=True):
        assert text.tokenize(one) == tokens.tokenize(same)
        assert text.split_sentences(one) == sentences.split_sentences(same)
    assert text.filter_factual_sentences(some) == sentences.filter_factual_sentences(some)
    (a, b), (same_a, same_b) = (some[0], some[-1]), (whole[0], whole[-1])
    n = choices.of(_WINDOWS)
    assert text.ngram_overlap(a, b, n) == ngrams.ngram_overlap(same_a, same_b, n)
    options = hostile_texts.heuristic_options(choices)
    sizes, weights = options.get("ngram_sizes"), options.get("ngram_weights")
    wanted = ngrams.weighted_ngram_overlap(same_a, same_b, sizes, weights)
    assert text.weighted_ngram_overlap(a, b, sizes, weights) == wanted
    assert text.tfidf_similarity(a, b) == tfidf.tfidf_similarity(same_a, same_b)
    assert text.token_f1(a, b) == token_f1.token_f1(same_a, same_b)
    assert text.build_tfidf_vectors(a, some) == tfidf.build_tfidf_vectors(same_a, whole)


def columns_of_texts(choices: Choices) -> None:
    """Many texts at once: counts, weights, and pairs by texts and by matrices."""
    left, right = texts(choices), texts(choices)
    right = (right * len(left))[: len(left)]
    counts, vocabulary = text.tokenize_batch([*left, *right])
    rows = [tokens.tokenize(joined(one)) for one in (*left, *right)]
    assert vocabulary == list(dict.fromkeys(token for row in rows for token in row))
    for row, found in enumerate(rows):
        begin, end = counts.indptr[row : row + 2]
        held = [vocabulary[column] for column in counts.indices[begin:end]]
        assert held == list(dict.fromkeys(found))
        assert counts.data[begin:end].tolist() == [found.count(token) for token in held]
    similarities = text.paired_tfidf_similarity(left, right)
    wanted = [
        tfidf.tfidf_similarity(joined(a), joined(b)) for a, b in zip(left, right, strict=True)
    ]
    assert similarities.tolist() == wanted
    n = choices.between(1, 3)
    overlaps = [
        ngrams.ngram_overlap(joined(a), joined(b), n) for a, b in zip(left, right, strict=True)
    ]
    assert text.paired_ngram_overlap(left, right, n).tolist() == overlaps
    halves = counts[: len(left)], counts[len(left) :]
    assert text.paired_tfidf_similarity(*halves).tolist() == wanted


def matrices(choices: Choices) -> None:
    """Counts as anybody may hold them: columns in any order, twice, zeros, other dtypes."""
    n_rows, n_columns = choices.below(5), choices.between(1, 9)
    sides = [_odd_counts(choices, n_rows, n_columns) for _ in range(2)]
    plain = [csr_array(side.astype(np.int64).toarray()) for side in sides]
    for measure in (text.paired_tfidf_similarity, text.paired_ngram_overlap):
        found, wanted = measure(*sides), measure(*plain)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        assert ((found >= 0) & (found <= 1 + 1e-12)).all()
    cosines = text.paired_cosine_similarity(*(text.tfidf_weights(side) for side in sides))
    assert cosines.shape == (n_rows,)
    odd = [_odd_weights(choices, side) for side in sides]
    dense = [csr_array(side.toarray()) for side in odd]
    cosines = text.paired_cosine_similarity(*odd)
    np.testing.assert_allclose(
        cosines, text.paired_cosine_similarity(*dense), rtol=1e-9, atol=1e-12
    )
    weights = text.tfidf_weights(sides[0]).toarray()
    np.testing.assert_allclose(weights, text.tfidf_weights(plain[0]).toarray(), rtol=1e-12)


def _odd_counts(choices: Choices, n_rows: int, n_columns: int) -> csr_array:
    sizes = [choices.below(12) for _ in range(n_rows)]
    n_entries = sum(sizes)
    indices = [choices.below(n_columns) for _ in range(n_entries)]
    data = [choices.of((0, 1, 1, 2, 1000)) for _ in range(n_entries)]
    kind = choices.of((np.int8, np.int32, np.int64, np.uint16, np.float32, np.float64))
    counts = np.array([min(value, 100) if kind == np.int8 else value for value in data], kind)
    places = choices.of((np.int32, np.int64))
    made = csr_array(
        (counts, np.array(indices, places), np.cumsum([0, *sizes]).astype(places)),
        shape=(n_rows, n_columns),
    )
    made.has_sorted_indices = False
    return made


def _odd_weights(choices: Choices, counts: csr_array) -> csr_array:
    """Weights in the places of counts, of both signs; a row's repeated columns are added up."""
    weights = counts.astype(np.float64)
    weights.data = np.array([choices.of((0.0, 0.5, 1.0, 3.25, -2.0)) for _ in weights.data])
    return weights


def similarity(choices: Choices) -> None:
    """Dice, common subsequences and distances, by the row and by the column."""
    left, right = texts(choices), texts(choices)
    right = (right * len(left))[: len(left)]
    if choices.below(2):  # common beginnings and ends, which are left out before
        begin, end = choices.below(70), choices.below(70)
        right = [a[:begin] + b + a[-end:] for a, b in zip(left, right, strict=True)]
    assert string_similarity.dice_similarities(left, right).tolist() == [
        oracle.dice_similarity(a, b) for a, b in zip(left, right, strict=True)
    ]
    units = [(oracle.units(a), oracle.units(b)) for a, b in zip(left, right, strict=True)]
    ratios = string_similarity.lcs_ratios(left, right).tolist()
    assert ratios == [
        2 * LCSseq.similarity(a, b) / (len(a) + len(b)) if a or b else 1.0 for a, b in units
    ]
    distances = string_similarity.levenshteins(left, right).tolist()
    assert distances == [Levenshtein.distance(a, b) for a, b in units]
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        assert string_similarity.levenshtein(b, a) == distances[row]
        assert string_similarity.lcs_ratio(b, a) == ratios[row]
        if len(units[row][0]) * len(units[row][1]) < _MOST_CELLS:
            assert oracle.levenshtein(a, b) == distances[row]
            assert oracle.lcs_ratio(a, b) == ratios[row]


TARGETS: Final[dict[str, Target]] = {
    "primitives": primitives,
    "columns_of_texts": columns_of_texts,
    "matrices": matrices,
    "similarity": similarity,
}
