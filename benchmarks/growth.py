"""Rows that are made to be costly cost the kernels in proportion to their size.

In: pairs of calls, a plain one and one that costs as much where nothing is quadratic, or eight
times as much. Out: what costs too much, by the instructions that callgrind counts in the gate.

    python -m benchmarks.growth    makes all calls, each in a child of this process
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from benchmarks.in_children import make_in_children
from benchmarks.kernel_workload import score_rows
from rag_eval import evaluate, evaluate_batch, text
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.retrieval import evaluate_arrays

Sample: TypeAlias = dict[str, Any]
Call: TypeAlias = Callable[[], object]

FACTOR: Final = 8
# Between what is proportional and what is a product, 64: tables that grow and logarithms cost some.
LIMIT: Final = 16.0
# What prose costs, for odd texts of its length. The dearest takes 3.8;
# scripts without spaces, which have a word per letter, take 2.5.
TIMES_PROSE: Final = 6.0
N_BYTES: Final = 4_000


class Pair(NamedTuple):
    """Two calls of a kernel, and how many times the first one's instructions the other may take."""

    small: Call
    large: Call
    limit: float = LIMIT


# ------------------------------------------------------------------------ eight times as much


def numbered(letter: str, n: int) -> list[str]:
    return [f"{letter}{i}" for i in range(n)]


def truths_that_share_nothing(n: int) -> Sample:
    """The answer was read once for each."""
    return {
        "question": "q",
        "answer": " ".join(numbered("a", n)),
        "contexts": ["c"],
        "ground_truth": numbered("t", n),
    }


def truths_that_the_answer_has(n: int) -> Sample:
    return {**truths_that_share_nothing(n), "ground_truth": numbered("a", n)}


def truths_in_another_script(n: int) -> Sample:
    return {**truths_that_share_nothing(n), "ground_truth": numbered("é", n)}


def a_long_question(n: int) -> Sample:
    """It was read once with each ground truth, and kept as often."""
    return {**truths_that_share_nothing(n), "question": " ".join(numbered("q", n)), "answer": "a b"}


def chunks_and_truths(n: int) -> Sample:
    """Each chunk was scored for each ground truth."""
    return {**truths_that_share_nothing(n), "answer": "a b", "contexts": numbered("c", n)}


def chunks_and_claims(n: int, letter: str = "a", mark: str = "!") -> Sample:
    """Each sentence was held against each chunk, and looked for the chunk of each."""
    claims = " ".join(f"A{i}{mark}" for i in range(n))
    return {
        "question": "q",
        "answer": claims,
        "contexts": numbered(letter, n),
        "ground_truth": claims,
    }


def prose(n_bytes: int) -> str:
    choose = random.Random(1)
    words = [f"w{choose.getrandbits(14)}" for _ in range(n_bytes // 5)]
    words[::12] = [word.capitalize() + "." for word in words[::12]]
    return " ".join(words)[:n_bytes]


def everywhere(content: str) -> Sample:
    """A row whose question, answer, only chunk and ground truth are one text."""
    return {
        "question": content,
        "answer": content,
        "contexts": [content],
        "ground_truth": content,
    }


def one_letter_sentences(n: int) -> Sample:
    """Each is held against a chunk that has it, and one that has not."""
    answer = " ".join("ABCDEFGHIJ"[i % 10] + "!" for i in range(n))
    return {"question": "A?", "answer": answer, "contexts": [prose(2000), "a b c d"]}


def one_long_chunk(n: int) -> Sample:
    """``n`` words for an answer whose words are all over it."""
    return {
        "question": "Who saw w1 or w2?",
        "answer": "Ana saw w1, w2 and w3. Then w4 met W5.",
        "contexts": [prose(5 * n)],
        "ground_truth": "w9 w8",
    }


def combining_marks(n: int) -> Sample:
    return everywhere("a" + "\u0301\u0323" * n + " b")


def one_long_word(n: int) -> Sample:
    return everywhere("xé" * n + " end")


def citation_list(n: int) -> Sample:
    """Each number of a list that no bracket closes in time may be the end of a citation."""
    return everywhere("[" + "1," * n + "]")


def claim(answer: str, chunk: str) -> Sample:
    return {"question": "q", "answer": answer, "contexts": [chunk], "ground_truth": answer}


def numbers_of_one_thing(n: int) -> Sample:
    """Each is missing, and the chunk counts the same thing by as many others."""
    beds, others = ([f"{begin + i} beds" for i in range(n)] for begin in (10_000, 50_000))
    return claim(" ".join(beds), " ".join(others))


def numbers_in_groups(n: int) -> Sample:
    """Any run of neighbours may be one number."""
    groups = numbered("", n + 1000)[1000:]
    return claim(" ".join(groups), " ".join(groups[::-1]))


def names_in_turns(n: int) -> Sample:
    """The names of each pair are known, and stand far from each other."""
    names = numbered("Ana", n)
    return claim("They saw " + " ".join(names), " met ".join(names[::2] + names[1::2]))


def two_frequent_names(n: int) -> Sample:
    """One pair, whose places in the chunk are many."""
    return claim("He saw Ana Bob.", "saw Ana, " * n + "he met " * 30 + "saw Bob, " * n)


def words_in_reverse(n: int) -> Sample:
    """No pair of the answer is one of the chunk."""
    words = numbered("w", n)
    return claim(" ".join(words), " ".join(words[::-1]))


def clauses_that_say_nothing(n: int) -> Sample:
    return claim("The text does not say, but " * n + "it is open.", "It is open.")


def many_chunks(n: int) -> Sample:
    return {
        "question": "Who saw w1?",
        "answer": "Ana saw w1. Bob saw w2.",
        "contexts": [f"Ana {i} saw w{i % 9}." for i in range(n)],
        "ground_truth": "w1",
    }


def overlap_sentences(n: int) -> Sample:
    return chunks_and_claims(n, "c", ".")


def overlap_question(n: int) -> Sample:
    """It was read once for each context."""
    return {"question": " ".join(numbered("q", n)), "answer": "a", "contexts": numbered("c", n)}


_TRUTHS: Final = (
    truths_that_share_nothing,
    truths_that_the_answer_has,
    truths_in_another_script,
    a_long_question,
    chunks_and_truths,
    chunks_and_claims,
)
# The diagnostics hold sentences against chunks one by one, and are left out here.
_TEXTS: Final = (
    one_letter_sentences,
    one_long_chunk,
    combining_marks,
    one_long_word,
    many_chunks,
    numbers_of_one_thing,
    numbers_in_groups,
    names_in_turns,
    two_frequent_names,
    words_in_reverse,
    clauses_that_say_nothing,
)


def sentences_beside_empty_contexts(n: int) -> Sample:
    """Each sentence was held against each context, for the first of the best."""
    return {
        "question": "q",
        "answer": " ".join(f"A{i}." for i in range(n)),
        "contexts": [""] * n,
        "ground_truth": "b",
    }


def scored(rows: list[Sample], profile: Any, metrics: Any = METRIC_IDS, **options: Any) -> Call:
    return lambda: evaluate_batch(
        rows, metrics, profile=profile, threads=1, keep_texts=False, **options, allow_missing=True
    )


def wide_texts(n: int) -> tuple[str, str]:
    return (
        " ".join(f"w{i % 1000}" for i in range(n)),
        " ".join(f"w{i % 999}" for i in range(n)),
    )


def wide_ngrams(n: int) -> Call:
    """The texts were passed over once for each token of a window."""
    texts = wide_texts(n)
    return lambda: text.ngram_overlap(*texts, n // 2)


def wide_ngrams_of_a_profile(n: int) -> Call:
    answer, context = wide_texts(n)
    sample = {"question": "q", "answer": answer, "contexts": [context]}
    return scored(
        [sample], "overlap", heuristic={"ngram_sizes": [1, n // 2], "ngram_weights": [1, 1]}
    )


def documents(n: int) -> Call:
    """Neither sorting nor joining is quadratic, whatever the ids."""
    ids, grades = np.arange(n) << 32, np.arange(n) % 100
    names = ["map", "ndcg", "bpref", "Rprec", "mrr", "recall@2"]
    return lambda: evaluate_arrays(ids, [0, n], ids[::-1], grades, [0, n], names)


def grown(make: Callable[[int], Sample], n: int, profile: Any, metrics: Any = METRIC_IDS) -> Pair:
    small, large = (scored([make(size)], profile, metrics) for size in (n, n * FACTOR))
    return Pair(small, large)


def growing() -> Iterator[tuple[str, Pair]]:
    """Pairs of which the larger is eight times the size."""
    for make in _TRUTHS:
        yield f"{make.__name__}, seven", grown(make, 300, "grounded")
        yield f"{make.__name__}, all", grown(make, 300, "grounded", ALL_METRIC_IDS)
    for make in _TEXTS:
        yield make.__name__, grown(make, 500, "grounded")
    yield "citation_list, all", grown(citation_list, 500, "grounded", ALL_METRIC_IDS)
    for make in (overlap_sentences, overlap_question):
        yield make.__name__, grown(make, 300, "overlap")
    small, large = (sentences_beside_empty_contexts(size) for size in (300, 300 * FACTOR))
    yield "explained", Pair(lambda: evaluate(small), lambda: evaluate(large))
    for wide in (wide_ngrams, wide_ngrams_of_a_profile, documents):
        yield wide.__name__, Pair(wide(1000), wide(1000 * FACTOR))


# ------------------------------------------------------------------------------------- as much

# Repeated to a length. A rule that looked at all that follows, or back, would show.
# Left out is what has many sentences of words that the chunk is full of, such as a line of "2. x":
# sentences are held against it one by one, and all places of their words are looked at.
REPEATED: Final = [
    *(" .", " . .", ". ", "...", "? ! ", ".)))))", ".)", '."', "! a ", "A. ", "e.g. ", "No. 5 "),
    *("(1) ", " (1)", "(1)", " (1,2)", "[1]", "[1", "[1,", " [1-2]", "[^", "【1†", "【1†x】", "】"),
    *("*", "*_", "*_ ", "**a", "_a", "a_", "`", "~", "~~ ", "> ", ">", "# ", "#", "- ", "\n- "),
    *("\n", "\r\n", "\n1. x", "\n2.", "\n7) ", "\n(1) ", "\na) ", "\n> ", "\n\n", "\u2028"),
    *("1,", "1,234", ",234", "1 , ", "1.", "1.2", "v2.0.", "'", "'s", "n't", "n'", "a'", "don't "),
    *("A", "Ab ", "Ab-", "A.B.", "a-", "x", "é", "xé", "ﬁ", "Σ", "İ", "½", "½ ", "①²", "²", ".²"),
    *("漢", "漢字 ", "漢。", "。", "ก", "\u0e01\u0e31", "가", "\u1100\u1161", "\u1161", "\u11a8"),
    *("\u0301", "\u0301\u0323", "a\u0301", "\u00ad", "\u200d", "\ufe0f", "\u0344", "\u05b0\u05bc"),
    *(" ", "\t", "\u3000", "\ufeff", "\x00", "x ", "the ", "the of ", "der die ", "한국어 "),
    *("5 beds ", "12 345 ", "third ", "2 million ", "Ana Bob ", "Big Red: ", "x:\n", ": "),
    *("I do not know ", "no information ", "does not say ", "but ", "while ", "no mention of it "),
]


def odd_texts() -> Iterator[tuple[str, Pair]]:
    """Odd texts beside prose of their length, whose answer is one sentence as theirs mostly are."""
    plain = everywhere(prose(N_BYTES).replace(".", ""))
    prosaic = scored([plain, plain], "grounded", ALL_METRIC_IDS)
    for piece in REPEATED:
        odd = piece * (N_BYTES // len(piece.encode()))
        rows = [everywhere(odd), everywhere(f"x{odd}x y.")]
        yield (
            f"repeated {piece!a}",
            Pair(prosaic, scored(rows, "grounded", ALL_METRIC_IDS), TIMES_PROSE),
        )


# token_stream.pxd, home_slot: the first eight bytes of a token xor the seed are one factor of a
# product. Under this seed, of which an attacker must not know, it is 0 for every token that begins
# with these letters, and all of them have one home.
COLLIDER: Final = int.from_bytes(b"collider", "little")
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz012345"


def flood(n_tokens: int) -> tuple[Sample, Sample]:
    """Rows of distinct 16-byte tokens: all with one home under COLLIDER, and random ones."""
    choose = random.Random(4)
    tails = [
        "".join(LETTERS[i >> shift & 31] for shift in range(0, 40, 5)) for i in range(n_tokens)
    ]
    choose.shuffle(tails)
    heads = [choose.getrandbits(40) for _ in range(n_tokens)]
    spread = [
        "".join(LETTERS[head >> shift & 31] for shift in range(0, 40, 5)) + tail
        for head, tail in zip(heads, tails, strict=True)
    ]
    return tokens_row(["collider" + tail for tail in tails]), tokens_row(spread)


def tokens_row(tokens: list[str]) -> Sample:
    return {
        "question": f"what is {tokens[5]}",
        "answer": f"It is {tokens[7]}. Or it is {tokens[-1]} {tokens[0]}.",
        "contexts": [" ".join(tokens)],
        "groundTruth": f"It is {tokens[7]}.",
    }


def collisions() -> Pair:
    """Without a new seed after a long probe each token walks past all others."""
    hostile, friendly = flood(5_000)
    return Pair(
        lambda: score_rows([friendly], COLLIDER), lambda: score_rows([hostile], COLLIDER), 3.0
    )


def costly_pairs() -> dict[str, Pair]:
    """All of them, by name."""
    return {**dict(growing()), **dict(odd_texts()), "colliding tokens": collisions()}


# ------------------------------------------------------------------------------------- counting


def calls_of(pairs: Iterable[Pair]) -> list[Call]:
    """Each call once, in order: all odd texts are held against the same prose."""
    return list(dict.fromkeys(call for pair in pairs for call in (pair.small, pair.large)))


def complaints(pairs: Mapping[str, Pair], counts: Mapping[Call, int]) -> list[str]:
    """What costs too much, by the instructions of each call."""
    found = []
    for name, pair in pairs.items():
        small, large = counts[pair.small], counts[pair.large]
        if large > pair.limit * small:
            found.append(
                f"{name}: {large:,} instructions are {large / small:.1f} times {small:,}, "
                f"the limit is {pair.limit:g}"
            )
    return found


if __name__ == "__main__":
    for _, pair in growing():
        pair.small()
    make_in_children(calls_of(costly_pairs().values()))
