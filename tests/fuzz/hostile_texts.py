"""Choices in; texts, options and samples that compiled code may trip over, out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests import grounded_samples, strategies
from tests.grounded_samples import Choices
from tests.hostile_samples import TEXTS as HOSTILE_TEXTS

Sample = dict[str, Any]

CORPUS: Final = Path(__file__).parent / "corpus"

# Bytes at a time, words of bits, chunks of tokens, and one more or less.
SEAMS: Final = (15, 16, 17, 31, 32, 33, 62, 63, 64, 65, 126, 127, 128, 129, 447, 448, 449)
FAR_SEAMS: Final = (503, 504, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097)
LETTERS: Final = (*"aAéßİΣ東ก😀𐐀1_-", "\u0301", "\x00")
FILLS: Final = ("ab ", "Ab. ", "x", "1 ", "é ", "日", *". \u0301", "a, ", "İ ", "\n- ", "[1] ")
ODD_CHARACTERS: Final = (
    strategies.SPACES,
    strategies.NOT_SPACES + strategies.SPACES + strategies.MARKS,
    strategies.CONTROLS,
    strategies.PUNCTUATION,
    strategies.SYMBOLS,
    strategies.CASE_IGNORABLE,
    strategies.CAPITALS,
    strategies.YOUNG,
    strategies.SCRIPTS,
    "abAB .!?",
    "ΣσςΑα.’ \u0301\u00ad",
)


@cache
def corpus(pattern: str) -> tuple[bytes, ...]:
    """The files of the corpus, in an order that depends on their names alone."""
    return tuple(path.read_bytes() for path in sorted(CORPUS.glob(pattern)))


def mutated(choices: Choices, data: bytes, pieces: tuple[bytes, ...]) -> bytes:
    """Bytes with a few of them changed, left out, doubled or replaced by a piece."""
    changed = bytearray(data)
    for _ in range(choices.below(6)):
        if not changed:
            break
        at, kind = choices.below(len(changed)), choices.below(5)
        piece = choices.of(pieces) if choices.below(2) else bytes([choices.below(256)])
        if kind == 0:
            changed[at : at + 1] = piece
        elif kind == 1:
            changed[at:at] = piece
        elif kind == 2:
            del changed[at : at + choices.of((1, 1, 2, 9, 64))]
        elif kind == 3:
            other = choices.below(len(changed))
            changed[at:at] = changed[other : other + choices.of((1, 7, 20, 64))]
        else:
            changed[at] ^= 1 << choices.below(8)
    return bytes(changed)


# ------------------------------------------------------------------------------------------ texts


def from_corpus(choices: Choices) -> str:
    """Some lines of a file of texts, with bytes changed."""
    content = choices.of(corpus("texts/*.txt"))
    begin = choices.below(len(content))
    part = content[begin : begin + choices.of((20, 64, 300, 700))]
    changed = mutated(choices, part, (b"\xcc\x81", b"\xed\xa0\x80", b". ", b"\x00", b"\xc4\xb0"))
    try:
        return changed.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return changed.decode("utf-8", "replace")


def odd_characters(choices: Choices) -> str:
    characters = choices.of(ODD_CHARACTERS)
    return "".join(choices.of(characters + "aA. ") for _ in range(choices.below(40)))


def at_a_seam(choices: Choices) -> str:
    """A word that lies across the place where a block of bytes ends, and what comes after it."""
    seam, fill = choices.of(SEAMS if choices.below(4) else FAR_SEAMS), choices.of(FILLS)
    before = (fill * seam)[: max(0, seam - choices.below(9))]
    if not fill.isascii():
        before = before.encode()[: len(before)].decode("utf-8", "ignore")
    return before + piece(choices) + choices.of(grounded_samples.JOINTS) + piece(choices)


def piece(choices: Choices) -> str:
    """A word, a mark or a few."""
    kind = choices.below(4)
    if kind == 0:
        return choices.of(grounded_samples.WORDS)
    if kind == 1:
        return choices.of(LETTERS) * choices.of((1, 2, 3, 15, 16, 17, 63, 64, 65))
    if kind == 2:
        return odd_characters(choices)[:6]
    return choices.of(grounded_samples.DENSE)


def long_word(choices: Choices) -> str:
    size = choices.of((*SEAMS, *FAR_SEAMS))
    return choices.of(LETTERS) * size + choices.of(("", ".", " a", "b. A"))


def repeated(choices: Choices) -> str:
    """A few words over and over: the same n-grams many times, sentences that are all alike."""
    words = [piece(choices) for _ in range(choices.between(1, 4))]
    joint = choices.of((" ", " ", ". ", ".", ", ", "\n", ". A "))
    return joint.join(words * choices.of((2, 3, 8, 20)))


def distinct_letters(choices: Choices) -> str:
    """Characters of which none comes twice, about as many as rows or words of a matrix."""
    begin = choices.of((0x20, 0xA0, 0x370, 0x4E00, 0xAC00, 0x10300, 0x1F300))
    size = choices.of((*SEAMS, *FAR_SEAMS[:8]))
    return "".join(chr(begin + number) for number in range(size))


def near_misses(choices: Choices) -> str:
    """Words of one length that differ in one place: what a weak hash takes for one another."""
    size, n = choices.of((1, 7, 8, 9, 15, 16, 17, 24, 64)), choices.between(2, 40)
    words = []
    for _ in range(n):
        letters = ["a"] * size
        letters[choices.below(size)] = choices.of("abcdefgh01é")
        words.append("".join(letters))
    return choices.of((" ", ". ", ". A")).join(words)


def piled_up(choices: Choices) -> str:
    marks = choices.of(("\u0301", "\u0327\u0301", "\u0345", "\u200d", "\ufe0f", "\u034f", "\u05b0"))
    return choices.of(LETTERS) + marks * choices.of((1, 2, 17, 33, 64, 300)) + piece(choices)


def hostile(choices: Choices) -> str:
    return choices.of(tuple(HOSTILE_TEXTS.values()))


def lone_surrogates(choices: Choices) -> str:
    letters = strategies.LONE_SURROGATES + "a. A😀"
    return "".join(choices.of(letters) for _ in range(choices.below(24)))


_TEXTS: Final[tuple[Callable[[Choices], str], ...]] = (
    grounded_samples.text,
    grounded_samples.text,
    grounded_samples.prose,
    from_corpus,
    from_corpus,
    odd_characters,
    at_a_seam,
    at_a_seam,
    long_word,
    repeated,
    repeated,
    near_misses,
    distinct_letters,
    piled_up,
    hostile,
    lambda choices: "",
    lone_surrogates,
)
_SOUND_TEXTS: Final = _TEXTS[:-1]


def text(choices: Choices, *, surrogates: bool = True) -> str:
    """Any text; ``surrogates=False`` leaves out those that files cannot hold."""
    parts = [_part(choices, surrogates) for _ in range(1 + choices.one_in(3) + choices.one_in(5))]
    return choices.of((" ", "", ". ")).join(parts)


def _part(choices: Choices, surrogates: bool) -> str:
    made = choices.of(_TEXTS if surrogates else _SOUND_TEXTS)(choices)
    if surrogates:
        return made
    return made.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


# ---------------------------------------------------------------------------------------- samples


def sample(choices: Choices, *, surrogates: bool = True) -> Sample:
    """A sample whose fields share texts; contexts may be none, or many, or empty strings."""
    shared = [text(choices, surrogates=surrogates) for _ in range(choices.between(1, 3))]
    joints = (" ", ". ", "\n", "")

    def field() -> str:
        if choices.one_in(10):
            return choices.of(("", " ", ".", "\x00", "a"))
        some = choices.some(shared, 1, 3)
        if choices.one_in(3):
            some.insert(choices.below(2), piece_of(choices, surrogates))
        return choices.of(joints).join(some)

    n_contexts = choices.of((0, 1, 1, 2, 3, 5, 9, 70 if choices.one_in(8) else 2))
    made: Sample = {
        "question": field(),
        "answer": field(),
        "contexts": [field() if n < 9 else choices.of(shared)[:20] for n in range(n_contexts)],
    }
    truth = choices.below(4)
    if truth:
        made["groundTruth"] = (None, field(), field())[truth - 1]
    return made


def piece_of(choices: Choices, surrogates: bool) -> str:
    made = piece(choices)
    return made if surrogates else made.encode("utf-8", "replace").decode()


def heuristic_options(choices: Choices) -> dict[str, Any]:
    """Options of the overlap profile, each of them missing at times."""
    options: dict[str, Any] = {}
    sizes = ([1, 2], [1], [2], [3, 1], [2, 2], [], [4, 1, 2], [1, 9], [0], [1.5, 2], [40, 1])
    weights = ([0.7, 0.3], [1], [0, 1], [0.1, None, 2], [-0.5, 1], [])
    thresholds = (0, 1e-7, 0.15, 0.2, 0.3, 1 / 3, 0.5, 1, 1.5, -1)
    for name, values in (
        ("ngram_sizes", sizes),
        ("ngram_weights", weights),
        ("chunk_relevance_threshold", thresholds),
        ("claim_support_threshold", thresholds),
        ("sentence_coverage_threshold", thresholds),
        ("ngram_weight", (0.25, 1, 2)),
        ("tfidf_weight", (0, 0.5, 3)),
    ):
        if choices.one_in(3):
            options[name] = choices.of(values)
    return options
