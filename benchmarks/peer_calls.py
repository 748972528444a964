"""What each library beside ours is asked for, row by row; imported where it is timed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

from benchmarks import pure_python_baseline
from benchmarks.corpora import Sample
from rag_eval import evaluate_batch, split_sentences

Rows: TypeAlias = Sequence[Sample]
Score: TypeAlias = Callable[[Rows], object]

SEVEN: Final = "All seven metrics of a sample"
PAIR: Final = "An answer beside its ground truth"


class Peer(NamedTuple):
    """A scorer: its packages, what it computes for a row, and what makes the call.

    A call may return its processor time in seconds, where it is another process's.
    """

    title: str
    name: str
    packages: tuple[str, ...]
    work: str
    make: Callable[[], Score]
    is_ours: bool = False


def ours(profile: Any, *metrics: str) -> Callable[[], Score]:
    """Our scores on one thread."""
    named = list(metrics) or None
    return lambda: lambda rows: evaluate_batch(rows, named, profile=profile, threads=1)


def plain_python() -> Score:
    """The seven scores of the overlap profile in plain Python, checked first."""

    def score(rows: Rows) -> list[tuple[float, ...]]:
        return [pure_python_baseline.score(row) for row in rows]

    def checked(rows: Rows) -> object:
        found = score(rows)
        if found[:4] != [tuple(row) for row in evaluate_batch(rows[:4]).scores.tolist()]:
            raise AssertionError("plain Python has other scores than rag_eval")
        return found

    return checked


def _pair(score: Callable[[str, str], object]) -> Score:
    return lambda rows: [score(row["answer"], row["groundTruth"]) for row in rows]


def rapidfuzz_seven() -> Score:
    """Fuzzy likeness in place of each of the seven."""
    from rapidfuzz import fuzz, process

    def likeness(left: list[str], right: list[str]) -> Any:
        return process.cdist(left, right, scorer=fuzz.token_set_ratio, workers=1).max(axis=1)

    def row_scores(row: Sample) -> tuple[object, ...]:
        contexts = list(row["contexts"])
        return (
            likeness(split_sentences(row["answer"]), contexts),
            likeness(split_sentences(row["groundTruth"]), contexts),
            likeness(contexts, [row["question"]]),
            fuzz.token_set_ratio(row["answer"], row["question"]),
            fuzz.token_set_ratio(row["answer"], row["groundTruth"]),
        )

    return lambda rows: [row_scores(row) for row in rows]


def sklearn_seven() -> Score:
    """One TF-IDF model of a sample's texts and the cosines between them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def row_scores(row: Sample) -> object:
        claims = split_sentences(row["answer"])
        texts = [row["question"], row["answer"], row["groundTruth"], *claims, *row["contexts"]]
        matrix = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(texts)
        return (matrix @ matrix.T).toarray()

    return lambda rows: [row_scores(row) for row in rows]


def _ragas(*names: str) -> Score:
    # ragas 0.4 imports a module that langchain-community no longer has.
    name = "langchain_community.chat_models.vertexai"
    if name not in sys.modules:
        stand_in: Any = ModuleType(name)
        stand_in.ChatVertexAI = type("ChatVertexAI", (), {})
        sys.modules[name] = stand_in
    from ragas import metrics
    from ragas.dataset_schema import SingleTurnSample

    scorers = [getattr(metrics, name)() for name in names]

    async def scored(rows: Rows) -> list[list[float]]:
        found = []
        for row in rows:
            sample = SingleTurnSample(
                user_input=row["question"],
                response=row["answer"],
                reference=row["groundTruth"],
                retrieved_contexts=list(row["contexts"]),
                reference_contexts=list(row["contexts"][:3]),
            )
            found.append([await one.single_turn_ascore(sample) for one in scorers])
        return found

    return lambda rows: asyncio.run(scored(rows))


def ragas_five() -> Score:
    """The metrics of ragas that ask no model."""
    return _ragas(
        "NonLLMContextPrecisionWithReference",
        "NonLLMContextRecall",
        "NonLLMStringSimilarity",
        "RougeScore",
        "BleuScore",
    )


def rouge() -> Score:
    """ROUGE-1, -2 and -L."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
    return _pair(lambda answer, truth: scorer.score(truth, answer))


def bleu() -> Score:
    """Sentence BLEU."""
    from sacrebleu.metrics import BLEU

    scorer = BLEU(effective_order=True)
    return _pair(lambda answer, truth: scorer.sentence_score(answer, [truth]))


def chrf() -> Score:
    """Sentence chrF."""
    from sacrebleu.metrics import CHRF

    scorer = CHRF()
    return _pair(lambda answer, truth: scorer.sentence_score(answer, [truth]))


def levenshtein() -> Score:
    """Normalized Levenshtein similarity."""
    from rapidfuzz.distance import Levenshtein

    return _pair(Levenshtein.normalized_similarity)


def fuzzy() -> Score:
    """The token set ratio."""
    from rapidfuzz import fuzz

    return _pair(fuzz.token_set_ratio)


FUZZY: Final = "likeness of sentences and contexts (token set ratio) and of three pairs of texts"
TFIDF: Final = "TF-IDF of the sample's sentences, contexts and texts, all cosines (no other metric)"
FIVE: Final = "its five metrics without a model: precision, recall, Levenshtein, ROUGE-L, BLEU"
PEERS: Final = (
    Peer(SEVEN, "rag_eval, `overlap`", (), "the seven metrics", ours("overlap"), is_ours=True),
    Peer(SEVEN, "rag_eval, `grounded`", (), "the seven metrics", ours("grounded"), is_ours=True),
    Peer(SEVEN, "plain Python", (), "the scores of `overlap`, bit for bit", plain_python),
    Peer(SEVEN, "rapidfuzz", ("rapidfuzz",), FUZZY, rapidfuzz_seven),
    Peer(SEVEN, "scikit-learn", ("scikit-learn",), TFIDF, sklearn_seven),
    Peer(SEVEN, "ragas", ("ragas",), FIVE, ragas_five),
    Peer(
        PAIR,
        "rag_eval, `overlap`",
        (),
        "answer_correctness: token F1, n-grams",
        ours("overlap", "answer_correctness"),
        is_ours=True,
    ),
    Peer(PAIR, "rapidfuzz, Levenshtein", ("rapidfuzz",), "normalized similarity", levenshtein),
    Peer(PAIR, "rapidfuzz, token set ratio", ("rapidfuzz",), "token set ratio", fuzzy),
    Peer(PAIR, "rouge-score", ("rouge-score",), "ROUGE-1, -2 and -L", rouge),
    Peer(PAIR, "sacrebleu, BLEU", ("sacrebleu",), "sentence BLEU", bleu),
    Peer(PAIR, "sacrebleu, chrF", ("sacrebleu",), "sentence chrF", chrf),
    Peer(
        PAIR,
        "ragas, string similarity",
        ("ragas",),
        "NonLLMStringSimilarity (rapidfuzz)",
        lambda: _ragas("NonLLMStringSimilarity"),
    ),
)
