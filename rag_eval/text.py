"""The primitives.  In: texts, or CSR rows of counts and weights.  Out: tokens, vectors, scores.

Tokens, sentences and formulas are those of rag-eval-node-ts 0.3.2. A text may hold lone surrogates;
a high and a low one side by side are one code point.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from rag_eval._native import count_matrices, text_kernels
from rag_eval.errors import InputError, glance
from rag_eval.kernels.packed_texts import SparseRows, check_text, pack, strings, text_columns
from rag_eval.kernels.scoring import hash_seed
from rag_eval.kernels.settings import WIDEST
from rag_eval.plumbing.checked_values import plain

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_Scores: TypeAlias = npt.NDArray[np.float64]

# Rows between two looks for Ctrl-C.
_BLOCK_ROWS: Final = 8192


class TfIdfVectors(NamedTuple):
    """Weights by term, terms in order of first appearance in their text."""

    query_vec: dict[str, float]
    doc_vecs: list[dict[str, float]]


class TokenCounts(NamedTuple):
    """How often each text holds each token.

    Attributes
    ----------
    counts : scipy.sparse.csr_array of int32, shape (R, V)
        One row for each text, its columns in order of first appearance in the text; no zeros.
    vocabulary : list of str, length V
        The token of each column, in order of first appearance over all texts.
    """

    counts: csr_array
    vocabulary: list[str]


# -------------------------------------------------------------------------------- one text


def tokenize(text: str) -> list[str]:
    """Tokens of a text: lower-cased, cut at white space and punctuation, in order.

    No stop words, no stemming, no normalisation. Separators are the 25 white space code points of
    JavaScript and category P of Unicode 17.0, whatever the Python version; symbols such as
    ``$ + =`` are parts of tokens. The text is lower-cased as a whole, with final sigma, then cut.

    Returns
    -------
    list of str
        Empty for a text of separators only.

    Examples
    --------
    >>> tokenize("It's 50% off: C++ & node.js!")
    ['it', 's', '50', 'off', 'c++', 'node', 'js']
    """
    return text_kernels.tokens(pack("tokenize: text", [text])[0])


def get_ngrams(tokens: Sequence[str], n: float | None = None) -> list[str]:
    """N-grams of a list of tokens, in order, with repeats.

    Parameters
    ----------
    tokens : sequence of str
        The tokens, for example from `tokenize`.
    n : float, optional
        Tokens per n-gram. As in rag-eval-node-ts, an n-gram is JavaScript's
        ``tokens.slice(begin, begin + n)`` for each ``begin`` up to ``len(tokens) - n``: 0 gives
        ``len(tokens) + 1`` empty strings, 1.5 acts as 1 but drops the last n-gram, and a negative
        ``n`` counts from the end.

    Returns
    -------
    list of str
        The tokens of each n-gram, joined by a space; empty without ``n`` or with fewer than ``n``
        tokens.

    Raises
    ------
    InputError
        If ``n`` is below -2147483648: the empty n-grams would fill the memory.

    Examples
    --------
    >>> get_ngrams(["a", "b", "c"], 2)
    ['a b', 'b c']
    """
    if isinstance(tokens, str):
        raise TypeError("get_ngrams: tokens must be a sequence of str, got str")
    if n is None:
        return []
    n = plain(n)  # sums of NumPy's small integers overflow
    if not isinstance(n, (int, float)):
        raise TypeError(f"get_ngrams: n must be a number, got {type(n).__name__}")
    if n < -WIDEST:
        raise InputError(f"get_ngrams: n must be at least {-WIDEST}")
    tokens = list(tokens)
    ngrams: list[str] = []
    begin = 0
    while len(tokens) >= n and begin <= len(tokens) - n:
        ngrams.append(" ".join(tokens[begin : int(begin + n)]))
        begin += 1
    return ngrams


def split_sentences(text: str) -> list[str]:
    """Sentences of a text, trimmed, in order.

    A boundary is white space directly after ``.``, ``!`` or ``?`` and directly before ``A`` to
    ``Z``. Abbreviations are not recognised, and marks and capitals of other scripts do not count. A
    text of white space has no sentence; a text of marks only is one sentence.

    Examples
    --------
    >>> split_sentences("It rained.  Dr. Who left! why? OK")
    ['It rained.', 'Dr.', 'Who left! why?', 'OK']
    """
    return text_kernels.sentences(pack("split_sentences: text", [text])[0])


def filter_factual_sentences(sentences: Sequence[str]) -> list[str]:
    """Sentences with at least three words, in order and unchanged.

    Words are separated by white space and may be any characters: ``"- - -"`` is kept, and
    ``"a,b,c"`` is not.
    """
    kept = strings("filter_factual_sentences: sentences", sentences)
    data, offsets = pack("filter_factual_sentences: sentences[{}]", kept)
    factual = np.empty(len(kept), np.uint8)
    text_kernels.mark_factual(data, offsets, factual)
    return [kept[i] for i in np.flatnonzero(factual)]


# ------------------------------------------------------------------------------- two texts


def ngram_overlap(a: str, b: str, n: float | None = 1) -> float:
    """Jaccard overlap of the sets of n-grams of two texts.

    Parameters
    ----------
    a, b : str
        The texts.
    n : float, optional
        Tokens per n-gram, as in `get_ngrams`. Whole numbers from 1 are fastest.

    Returns
    -------
    float
        In [0, 1]; 1 if both sets are empty, as for texts shorter than ``n``, and 0 if only one is.
    """
    return _overlaps("ngram_overlap", a, b, [n])[0]


def weighted_ngram_overlap(
    a: str,
    b: str,
    ngram_sizes: Sequence[float] | None = (1, 2),
    weights: Sequence[float | None] | None = (0.7, 0.3),
) -> float:
    """Weighted mean of `ngram_overlap` over several n-gram sizes.

    Parameters
    ----------
    a, b : str
        The texts.
    ngram_sizes : sequence of float, optional
        Tokens per n-gram; a repeated size counts twice.
    weights : sequence of float, optional
        One weight per size. A missing weight, or None, is 1; surplus weights are ignored. The
        default weights also apply if only ``ngram_sizes`` is given.

    Returns
    -------
    float
        In [0, 1] unless a weight is negative; 0 if the weights add up to 0. Two different texts
        of one token each overlap by 0.3: neither has a bigram, which counts as equal.
    """
    sizes = (1, 2) if ngram_sizes is None else ngram_sizes
    weights = (0.7, 0.3) if weights is None else weights
    total = weight_sum = 0.0
    for i, overlap in enumerate(_overlaps("weighted_ngram_overlap", a, b, sizes)):
        weight = weights[i] if i < len(weights) else None
        weight = 1.0 if weight is None else plain(weight)
        total += overlap * weight
        weight_sum += weight
    return total / weight_sum if weight_sum != 0 else 0.0


def tfidf_similarity(query: str, document: str) -> float:
    """Cosine of the TF-IDF vectors of two texts, which are the whole corpus.

    Parameters
    ----------
    query, document : str
        The texts.

    Returns
    -------
    float
        From 0 to 1; for identical texts the last bit may differ from 1, in either direction. 0 if
        one or both texts have no tokens.
    """
    left = pack("tfidf_similarity: query", [query])
    right = pack("tfidf_similarity: document", [document])
    return float(_by_blocks(1, text_kernels.paired_tfidf, *left, *right, hash_seed())[0])


def token_f1(reference: str, hypothesis: str) -> float:
    """F1 of the tokens of two texts, with repeats.

    As in SQuAD's evaluation, but with the tokens of `tokenize`, including articles.

    Parameters
    ----------
    reference, hypothesis : str
        The expected text and the text to score.

    Returns
    -------
    float
        Harmonic mean of token precision and recall, in [0, 1]; 0 if no token is shared, also if
        both texts have no tokens.
    """
    left = pack("token_f1: reference", [reference])
    right = pack("token_f1: hypothesis", [hypothesis])
    return float(_by_blocks(1, text_kernels.paired_token_f1, *left, *right, hash_seed())[0])


def build_tfidf_vectors(query: str, documents: Sequence[str]) -> TfIdfVectors:
    """TF-IDF weights of a query and its documents.

    The weight of a term is its count / tokens of the text x (ln((N + 1) / (df + 1)) + 1). N counts
    the query and the documents, and df is the number of these texts that contain the term. This is
    the smooth idf of scikit-learn's TfidfTransformer.

    Parameters
    ----------
    query : str
        The query.
    documents : sequence of str
        The documents.

    Returns
    -------
    TfIdfVectors
        The weights by term; a text without tokens has an empty vector.
    """
    check_text("build_tfidf_vectors: query", query)
    texts = strings("build_tfidf_vectors: documents", documents)
    for i, text in enumerate(texts):
        check_text(f"build_tfidf_vectors: documents[{i}]", text)
    rows, vocabulary = _count("build_tfidf_vectors: texts[{}]", [query, *texts])
    weights = _weigh(rows)
    terms = [vocabulary[i] for i in weights.indices]
    entries = list(zip(terms, weights.values.tolist(), strict=True))
    vectors = [dict(entries[begin:end]) for begin, end in itertools.pairwise(weights.indptr)]
    return TfIdfVectors(vectors[0], vectors[1:])


def cosine_similarity(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Cosine of two vectors of weights by term.

    Parameters
    ----------
    a, b : mapping of str to float
        The vectors. Sums run in the order of each mapping, that of ``a`` for the dot product.

    Returns
    -------
    float
        The cosine with its sign, not clamped; 0 if a sum of squares is 0, as for an empty vector.
    """
    for name, vector in (("a", a), ("b", b)):
        if not isinstance(vector, Mapping):
            raise TypeError(
                f"cosine_similarity: {name} must be a mapping, got {type(vector).__name__}"
            )
    dot = a_squares = b_squares = 0.0
    for term, weight in a.items():
        weight = float(weight)  # integers would overflow where floats do not
        if term in b:
            dot += weight * b[term]
        a_squares += weight * weight
    for weight in map(float, b.values()):
        b_squares += weight * weight
    if a_squares == 0 or b_squares == 0:
        return 0.0
    return dot / (math.sqrt(a_squares) * math.sqrt(b_squares))


# ------------------------------------------------------------------------- texts by the column


def tokenize_batch(texts: Sequence[str]) -> TokenCounts:
    """Token counts of R texts as a CSR matrix, and the V tokens that its columns stand for.

    The tokens are those of `tokenize`. A text without tokens is an empty row.
    """
    column = strings("tokenize_batch: texts", texts)
    rows, vocabulary = _count("tokenize_batch: texts[{}]", column)
    return TokenCounts(rows.to_scipy(), vocabulary)


def paired_tfidf_similarity(
    left: Sequence[str] | csr_array, right: Sequence[str] | csr_array
) -> npt.NDArray[np.float64]:
    """`tfidf_similarity` of each row of ``left`` with the same row of ``right``.

    Parameters
    ----------
    left, right : sequences of R str, or CSR matrices of shape (R, V)
        A matrix holds whole counts from 0 on, of any dtype, with columns in any order; int32 and
        int64 indices serve alike, zeros count as absent, a row's repeated columns are added up.

    Returns
    -------
    float64, shape (R,)
        0 if a row has no tokens. Each pair is a corpus of its own. Texts and the rows that
        `tokenize_batch` makes of them give the same bits.

    Raises
    ------
    InputError
        For unequal lengths or shapes, or invalid counts.
    """
    where = "paired_tfidf_similarity"
    if _are_matrices(where, left, right):
        kernel = count_matrices.paired_tfidf
        return _paired_rows(where, kernel, SparseRows.of_counts, left, right)
    columns = text_columns(where, left, right)
    n_rows = len(columns[1]) - 1
    return _by_blocks(n_rows, text_kernels.paired_tfidf, *columns, hash_seed())


def paired_ngram_overlap(
    left: Sequence[str] | csr_array, right: Sequence[str] | csr_array, n: int = 1
) -> npt.NDArray[np.float64]:
    """`ngram_overlap` of each row of ``left`` with the same row of ``right``.

    Parameters
    ----------
    left, right : sequences of R str, or CSR matrices of shape (R, V)
        Matrices as for `paired_tfidf_similarity`; only what is not 0 matters: columns are the
        n-grams.
    n : int, default 1
        Tokens of an n-gram, from 1 on; 1 for matrices.

    Returns
    -------
    float64, shape (R,)
        In [0, 1]; 1 if neither row has an n-gram, 0 where just one has none.

    Raises
    ------
    InputError
        For unequal lengths or shapes, invalid counts, or another ``n``.
    """
    where = "paired_ngram_overlap"
    n = plain(n)
    if not _is_window(n):
        raise InputError(f"{where}: n must be a whole number of at least 1, got {glance(n)}")
    if _are_matrices(where, left, right):
        if n != 1:
            raise InputError(f"{where}: n must be 1 for matrices, whose columns are the n-grams")
        kernel = count_matrices.paired_jaccard
        return _paired_rows(where, kernel, SparseRows.of_counts, left, right)
    sizes = np.array([min(n, WIDEST)], np.int64)
    columns = text_columns(where, left, right)
    n_rows = len(columns[1]) - 1
    kernel_arguments = (*columns, sizes, hash_seed())
    return _by_blocks(n_rows, text_kernels.paired_overlaps, *kernel_arguments, n_sizes=1)[:, 0]


def tfidf_weights(counts: csr_array) -> csr_array:
    """TF-IDF weights of token counts, all R rows being the corpus.

    Weight: count / total of the row x (ln((R + 1) / (df + 1)) + 1), where df rows hold the column.
    That is scikit-learn's TfidfTransformer(smooth_idf=True, norm=None) on each row's shares.

    Parameters
    ----------
    counts : CSR matrix of shape (R, V)
        As for `paired_tfidf_similarity`.

    Returns
    -------
    scipy.sparse.csr_array of float64, shape (R, V)
        No zeros and no repeats; a row's columns in the order of ``counts``.
    """
    return _weigh(SparseRows.of_counts("tfidf_weights: counts", counts)).to_scipy()


def paired_cosine_similarity(left: csr_array, right: csr_array) -> npt.NDArray[np.float64]:
    """Cosine of each row of ``left`` with the same row of ``right``.

    Parameters
    ----------
    left, right : CSR matrices of shape (R, V)
        Weights of any sign, taken as float64; repeated columns of a row are added up.

    Returns
    -------
    float64, shape (R,)
        As `cosine_similarity`, in the order in which a row holds its columns: not clamped, 0 where
        a row is all zero. A weight that is NaN or infinite gives NaN.

    Raises
    ------
    InputError
        Unequal shapes.
    """
    return _paired_rows(
        "paired_cosine_similarity",
        count_matrices.paired_cosine,
        SparseRows.of_weights,
        left,
        right,
    )


# ------------------------------------------------------------------------ arguments and calls


def _count(where: str, texts: list[str]) -> tuple[SparseRows, list[str]]:
    """Token counts of the texts and the vocabulary."""
    data, offsets = pack(where, texts)
    indptr = np.empty(len(texts) + 1, np.int64)
    indices, counts, tokens = count_matrices.count_column(data, offsets, hash_seed(), indptr)
    # No token holds a space, and one follows each.
    vocabulary = tokens.decode("utf-8", "surrogatepass").split(" ")[:-1]
    entries = np.frombuffer(indices, np.int32), np.frombuffer(counts, np.int32)
    return SparseRows(indptr, *entries, (len(texts), len(vocabulary))), vocabulary


def _weigh(rows: SparseRows) -> SparseRows:
    """TF-IDF weights of rows of counts."""
    indptr = np.empty_like(rows.indptr)
    indices = np.empty(len(rows.indices), np.int32)
    weights = np.empty(len(rows.indices))
    count_matrices.weigh_rows(*rows.arguments, rows.shape[1], indptr, indices, weights)
    n_entries = int(indptr[-1])
    return SparseRows(indptr, indices[:n_entries], weights[:n_entries], rows.shape)


def _is_window(n: float | None) -> TypeGuard[int]:
    """``n`` is a size that the kernels know: a whole number of tokens from 1 on."""
    return isinstance(n, (int, float)) and 1 <= n < math.inf and n == int(n)


def _overlaps(where: str, a: str, b: str, sizes: Sequence[float | None]) -> list[float]:
    """N-gram overlap of two texts for each size."""
    sizes = [plain(n) for n in sizes]
    columns = (*pack(f"{where}: a", [a]), *pack(f"{where}: b", [b]))
    windows = np.array([min(n, WIDEST) if _is_window(n) else 1 for n in sizes], np.int64)
    overlaps: list[float] = _by_blocks(
        1, text_kernels.paired_overlaps, *columns, windows, hash_seed(), n_sizes=len(windows)
    )[0].tolist()
    for i, n in enumerate(sizes):
        if not _is_window(n):
            left, right = (_ngram_set(tokenize(text), n) for text in (a, b))
            union = left | right
            overlaps[i] = len(left & right) / len(union) if union else 1.0
    return overlaps


def _ngram_set(tokens: list[str], n: float | None) -> set[str]:
    # From minus the number of tokens down, the only n-gram is the empty one.
    least = -len(tokens)
    return set(get_ngrams(tokens, least if isinstance(n, (int, float)) and n < least else n))


def _are_matrices(where: str, left: object, right: object) -> bool:
    kinds = {hasattr(side, "tocsr") for side in (left, right)}
    if len(kinds) == 2:
        raise InputError(f"{where}: left and right must be both texts or both matrices")
    return kinds == {True}


def _paired_rows(
    where: str,
    kernel: Callable[..., None],
    read: Callable[[str, object], SparseRows],
    left: object,
    right: object,
) -> _Scores:
    left_rows, right_rows = read(f"{where}: left", left), read(f"{where}: right", right)
    if left_rows.shape != right_rows.shape:
        raise InputError(f"{where}: left has shape {left_rows.shape} and right {right_rows.shape}")
    n_rows, n_columns = left_rows.shape
    return _by_blocks(n_rows, kernel, *left_rows.arguments, *right_rows.arguments, n_columns)


def _by_blocks(
    n_rows: int, kernel: Callable[..., None], *arguments: object, n_sizes: int | None = None
) -> _Scores:
    """Scores of all rows, of shape (R,) or (R, ``n_sizes``), block by block."""
    scores = np.empty(n_rows if n_sizes is None else (n_rows, n_sizes))
    for begin in range(0, n_rows, _BLOCK_ROWS):
        kernel(*arguments, begin, min(n_rows, begin + _BLOCK_ROWS), scores)
    return scores
