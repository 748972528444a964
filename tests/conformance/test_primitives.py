"""The primitives against the golden vectors of rag-eval-node-ts 0.3.2; FORMAT.md is beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rag_eval import text
from tests.conformance.vectors import FOLDER, load_cases
from tests.tables import Test, every_row

Case = dict[str, Any]

EXACT: dict[str, Callable[..., Any]] = {
    "tokenize": text.tokenize,
    "getNgrams": text.get_ngrams,
    "ngramOverlap": text.ngram_overlap,
    "weightedNgramOverlap": text.weighted_ngram_overlap,
    "splitSentences": text.split_sentences,
    "filterFactualSentences": text.filter_factual_sentences,
    "tfidfSimilarity": text.tfidf_similarity,
    "tokenF1": text.token_f1,
}
CASES = load_cases(*EXACT, "cosineSimilarity", "buildTfIdfVectors")


def fails(case: Case) -> bool:
    return isinstance(case["expected"], dict) and "$error" in case["expected"]


def of(*functions: str, failing: bool = False) -> Callable[[Test], Test]:
    """The cases of these functions, in one test."""
    cases = [case for case in CASES if case["fn"] in functions and fails(case) == failing]
    return every_row("case", cases, ids=[case["id"] for case in cases])


def test_every_function_has_cases() -> None:
    assert len(CASES) == 1255
    assert sum(map(fails, CASES)) == 5


@of(*EXACT)
def test_exact(case: Case) -> None:
    assert EXACT[case["fn"]](*case["args"]) == case["expected"]


@of(*EXACT, failing=True)
def test_wrong_types(case: Case) -> None:
    with pytest.raises(TypeError, match=r"^\w+: \w+ must be a string, got (NoneType|int)$"):
        EXACT[case["fn"]](*case["args"])


@every_row("line", (FOLDER / "unicode_version_sensitive.jsonl").read_text("utf-8").splitlines())
def test_unicode_version_sensitive(line: str) -> None:
    case = json.loads(line)
    assert text.tokenize(*case["args"]) == case["expected"]


@of("cosineSimilarity")
def test_cosine_similarity(case: Case) -> None:
    left, right = (dict(pairs) for pairs in case["args"])
    assert text.cosine_similarity(left, right) == case["expected"]


@of("buildTfIdfVectors")
def test_build_tfidf_vectors(case: Case) -> None:
    expected = case["expected"]
    vectors = text.build_tfidf_vectors(*case["args"])
    assert len(vectors.doc_vecs) == len(expected["docVecs"])
    for vector, pairs in zip(
        [vectors.query_vec, *vectors.doc_vecs],
        [expected["queryVec"], *expected["docVecs"]],
        strict=True,
    ):
        # Logarithms of V8 and of C differ in the last place.
        assert vector == pytest.approx(dict(pairs), rel=1e-12, abs=0)
