"""What TF-IDF similarity means."""

from __future__ import annotations

import math

from tests.oracle.tokens import tokenize

Vector = dict[str, float]


def build_tfidf_vectors(query: str, documents: list[str]) -> tuple[Vector, list[Vector]]:
    """Term weights; the query is a document of the corpus too, keys in order of appearance."""
    texts = [tokenize(query)] + [tokenize(document) for document in documents]
    holding: dict[str, int] = {}  # in how many texts each term is
    for tokens in texts:
        for term in set(tokens):
            holding[term] = holding.get(term, 0) + 1
    vectors: list[Vector] = []
    for tokens in texts:
        counts: dict[str, int] = {}
        for term in tokens:
            counts[term] = counts.get(term, 0) + 1
        vector: Vector = {}
        for term, count in counts.items():
            idf = math.log((len(texts) + 1) / (holding[term] + 1)) + 1
            vector[term] = count / len(tokens) * idf
        vectors.append(vector)
    return vectors[0], vectors[1:]


def cosine_similarity(left: Vector, right: Vector) -> float:
    """Sums in insertion order, ``left``'s for the dot product; 0 if a norm is 0; not clamped."""
    dot = 0.0
    left_squares = 0.0
    right_squares = 0.0
    for term, weight in left.items():
        if term in right:
            dot += weight * right[term]
        left_squares += weight * weight
    for weight in right.values():
        right_squares += weight * weight
    if left_squares == 0 or right_squares == 0:
        return 0.0
    return dot / (math.sqrt(left_squares) * math.sqrt(right_squares))


def tfidf_similarity(query: str, document: str) -> float:
    """Cosine in the corpus of just these two texts; 0 if either has no tokens."""
    query_vector, (document_vector,) = build_tfidf_vectors(query, [document])
    return cosine_similarity(query_vector, document_vector)
