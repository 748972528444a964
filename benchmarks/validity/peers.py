"""Scores of peers that run without a model, each on what it was made to compare.

Where a metric asks whether texts carry a claim, a peer compares the claim with the texts joined
by spaces; where it asks whether an answer agrees with a gold, with each gold, and the best counts.
Options were chosen in the peers' favour where the sets showed a difference: stemming for ROUGE,
folding of case and punctuation for rapidfuzz, of case for BLEU, and every chunk a reference of its
own for BLEU and chrF.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Final, NamedTuple, TypeAlias

from benchmarks.validity.sets import Trial, order_precision

TextScore: TypeAlias = Callable[[str, str], float]  # claim, text
TextsScore: TypeAlias = Callable[[str, list[str]], float]  # claim, texts
TrialScore: TypeAlias = Callable[[Trial], list[float]]

CLAIMS: Final = ("faithfulness", "context_recall")
EVIDENCE: Final = (*CLAIMS, "context_relevance", "answer_relevance")
AGREEMENT: Final = ("answer_correctness",)


class Package(NamedTuple):
    """A package that some peers need."""

    name: str
    module: str
    licence: str


PACKAGES: Final[dict[str, Package]] = {
    package.name: package
    for package in (
        Package("rouge-score", "rouge_score", "Apache-2.0"),
        Package("rapidfuzz", "rapidfuzz", "MIT"),
        Package("sacrebleu", "sacrebleu", "Apache-2.0"),
    )
}


class Peer(NamedTuple):
    """One score: its name, the metrics it is measured beside, its package ("" for none)."""

    name: str
    metrics: Sequence[str]
    package: str
    make: Callable[[], TrialScore]


# ----------------------------------------------------------------------- from pairs to a trial


def best_or_joined(score: TextScore) -> TrialScore:
    """The score with the best gold, or with the joined texts."""

    def run(trial: Trial) -> list[float]:
        if trial.metric in AGREEMENT:
            return [
                max((score(claim, text) for text in texts), default=0.0)
                for claim, texts in trial.pairs
            ]
        return [score(claim, " ".join(texts)) for claim, texts in trial.pairs]

    return run


def whole_lists(score: TextsScore) -> TrialScore:
    """The score with all texts at once."""
    return lambda trial: [score(claim, texts) if texts else 0.0 for claim, texts in trial.pairs]


# ------------------------------------------------------------------------- scores by a package


def rouge_l(part: str) -> Callable[[], TrialScore]:
    """Longest common subsequence as a share of the claim (precision), of the text, or both."""

    def make() -> TrialScore:
        from rouge_score.rouge_scorer import RougeScorer

        scorer = RougeScorer(["rougeL"], use_stemmer=True)
        return best_or_joined(
            lambda claim, text: float(getattr(scorer.score(text, claim)["rougeL"], part))
        )

    return make


def fuzzy(ratio: str) -> Callable[[], TrialScore]:
    """A ratio of rapidfuzz, from 0 to 1."""

    def make() -> TrialScore:
        from rapidfuzz import fuzz, utils

        score = getattr(fuzz, ratio)
        return best_or_joined(
            lambda claim, text: score(claim, text, processor=utils.default_process) / 100
        )

    return make


def bleu() -> TrialScore:
    """Sentence BLEU over the n-gram orders that the claim has."""
    from sacrebleu.metrics import BLEU

    scorer = BLEU(effective_order=True, lowercase=True)
    return whole_lists(lambda claim, texts: scorer.sentence_score(claim, texts).score / 100)


def chrf() -> TrialScore:
    """Character n-gram F2 with the best reference."""
    from sacrebleu.metrics import CHRF

    scorer = CHRF()
    return whole_lists(lambda claim, texts: scorer.sentence_score(claim, texts).score / 100)


def string_similarity() -> TextScore:
    """1 - Levenshtein distance / length of the longer, over characters as they are."""
    from rapidfuzz.distance import Levenshtein

    return lambda claim, text: float(Levenshtein.normalized_similarity(claim, text))


def context_recall() -> TrialScore:
    """1 when some retrieved chunk is more than half similar to the reference, the claim here."""
    similarity = string_similarity()
    return whole_lists(
        lambda claim, texts: float(any(similarity(claim, text) > 0.5 for text in texts))
    )


def context_precision() -> TrialScore:
    """Average precision, a chunk relevant when at least half similar to the reference."""
    similarity = string_similarity()
    return whole_lists(
        lambda claim, texts: order_precision([similarity(claim, text) >= 0.5 for text in texts])
    )


# ------------------------------------------------------------------------- scores written here

_ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def squad_tokens(text: str) -> list[str]:
    """Words of SQuAD's evaluation: lower case, no ASCII punctuation, no English articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def squad_f1(claim: str, text: str) -> float:
    """Harmonic mean of word precision and recall; 1 for two empty texts."""
    left, right = Counter(squad_tokens(claim)), Counter(squad_tokens(text))
    if not left or not right:
        return float(left == right)
    return 2 * (left & right).total() / (left.total() + right.total())


def squad_exact_match(claim: str, text: str) -> float:
    """1 when both have the same words in the same order."""
    return float(squad_tokens(claim) == squad_tokens(text))


def exact_match(claim: str, text: str) -> float:
    """ragas ExactMatch: the same string."""
    return float(claim == text)


def stripped_exact_match(claim: str, text: str) -> float:
    """deepeval ExactMatchMetric: the same string but for white space around it."""
    return float(claim.strip() == text.strip())


def claim_is_in_text(claim: str, text: str) -> float:
    """ragas StringPresence, the texts being the response that should hold the claim."""
    return float(claim in text)


def text_is_in_claim(claim: str, text: str) -> float:
    """ragas StringPresence of a gold in the answer."""
    return float(text in claim)


class Corpus(NamedTuple):
    """What BM25 knows of the texts it ranks among."""

    n_texts: int
    n_holding: Counter[str]  # texts that hold a word
    mean_length: float


def corpus_of(texts: Sequence[Counter[str]]) -> Corpus:
    """Statistics of some texts, each as counts of its words."""
    n_holding = Counter(word for counts in texts for word in counts)
    total = sum(counts.total() for counts in texts)
    return Corpus(len(texts), n_holding, total / len(texts) if total else 1.0)


def bm25(question: Sequence[str], counts: Counter[str], corpus: Corpus) -> float:
    """Okapi BM25 of one text (k1 1.5, b 0.75)."""
    length = 0.25 + 0.75 * counts.total() / corpus.mean_length
    score = 0.0
    for word in question:
        n_holding = corpus.n_holding[word]
        idf = math.log(1 + (corpus.n_texts - n_holding + 0.5) / (n_holding + 0.5))
        score += idf * counts[word] * 2.5 / (counts[word] + 1.5 * length)
    return score


def bm25_by(words: Callable[[str], list[str]]) -> TrialScore:
    """BM25 of every chunk; the corpus is every chunk of the set, as a search engine has it.

    With the chunks of one question for a corpus, BM25 is worse: what they share is the question.
    """

    def run(trial: Trial) -> list[float]:
        texts = dict.fromkeys(text for pair in trial.pairs for text in pair.texts)
        counts = {text: Counter(words(text)) for text in texts}
        corpus = corpus_of(list(counts.values()))
        return [bm25(words(claim), counts[text], corpus) for claim, (text,) in trial.pairs]

    return run


def stemmed_bm25() -> TrialScore:
    """BM25 over the words of ROUGE, which are stems."""
    from nltk.stem.porter import PorterStemmer
    from rouge_score.tokenize import tokenize

    stemmer = PorterStemmer()
    return bm25_by(lambda text: list(tokenize(text, stemmer)))


def _of(score: TextScore) -> Callable[[], TrialScore]:
    return lambda: best_or_joined(score)


_BOTH: Final = EVIDENCE + AGREEMENT
PEERS: Final[Sequence[Peer]] = (
    Peer("ROUGE-L precision", _BOTH, "rouge-score", rouge_l("precision")),
    Peer("ROUGE-L recall", AGREEMENT, "rouge-score", rouge_l("recall")),
    Peer("ROUGE-L F1", AGREEMENT, "rouge-score", rouge_l("fmeasure")),
    Peer("rapidfuzz token_set_ratio", _BOTH, "rapidfuzz", fuzzy("token_set_ratio")),
    Peer("rapidfuzz partial_ratio", _BOTH, "rapidfuzz", fuzzy("partial_ratio")),
    Peer("sacreBLEU sentence BLEU", _BOTH, "sacrebleu", bleu),
    Peer("sacreBLEU chrF", _BOTH, "sacrebleu", chrf),
    Peer("SQuAD F1", _BOTH, "", _of(squad_f1)),
    Peer("SQuAD exact match", AGREEMENT, "", _of(squad_exact_match)),
    Peer("ragas ExactMatch", AGREEMENT, "", _of(exact_match)),
    Peer("deepeval ExactMatch", AGREEMENT, "", _of(stripped_exact_match)),
    Peer("ragas StringPresence", CLAIMS, "", _of(claim_is_in_text)),
    Peer("ragas StringPresence", AGREEMENT, "", _of(text_is_in_claim)),
    Peer(
        "ragas NonLLMStringSimilarity",
        _BOTH,
        "rapidfuzz",
        lambda: best_or_joined(string_similarity()),
    ),
    Peer("ragas NonLLMContextRecall", ("context_recall",), "rapidfuzz", context_recall),
    Peer("ragas NonLLMContextPrecision", ("context_precision",), "rapidfuzz", context_precision),
    Peer("BM25", ("context_relevance",), "rouge-score", stemmed_bm25),
)


def missing_packages() -> list[str]:
    """Names of the packages that are not installed."""
    return [name for name, package in PACKAGES.items() if find_spec(package.module) is None]


def peers_of(metric: str, missing: Sequence[str]) -> list[Peer]:
    """Peers of a metric that can run."""
    return [peer for peer in PEERS if metric in peer.metrics and peer.package not in missing]


def package_lines(missing: Sequence[str]) -> list[list[str]]:
    """Name, version and licence of each package."""
    return [
        [name, "not installed: left out" if name in missing else version(name), package.licence]
        for name, package in PACKAGES.items()
    ]
