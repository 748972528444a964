"""Seeded texts: typical, long, not Latin, many contexts, repeated words; any number of rows.

The same name, number and seed give the same rows under any Python, hash seed and platform: the
instruction counts in ``floors.toml`` were taken on them.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

Sample: TypeAlias = dict[str, Any]

VOCABULARY: Final = 30_000


def _split(words: str) -> list[str]:
    return words.split()


_COMMON: Final = _split(
    "the of and to in a is was for on that with as it by at from are this be or an were which "
    "not have has had but their they its he his one also can been may would other more all than "
    "when who into some her between most such these there if time only about new over no two"
)
_ACCENTED: Final = ("café", "naïve", "Zürich", "São", "Dvořák", "résumé", "Ångström", "İzmir")


@dataclass(frozen=True, slots=True)
class Script:
    """How the words of a script are made and set.

    Attributes
    ----------
    onsets, vowels, codas : str or list of str
        What a syllable is made of; a coda may be empty.
    space, comma : str
        Between words, and after some of them.
    stops : str
        One ends a sentence; a space follows where words are spaced.
    common : sequence of str
        The most frequent words.
    """

    onsets: Sequence[str]
    vowels: Sequence[str]
    codas: Sequence[str]
    space: str = " "
    comma: str = ","
    stops: str = "....!?"
    common: Sequence[str] = ()


def _code_points(first: int, last: int) -> list[str]:
    return [chr(code_point) for code_point in range(first, last + 1)]


SCRIPTS: Final[dict[str, Script]] = {
    "latin": Script(
        _split("b br c cl d dr f fl g gr h j k l m n p pl qu r s st t tr v w z"),
        _split("a e i o u ai ou ea"),
        ("", "", "n", "r", "s", "t", "ng", "st", "ck", "ment", "tion", "ious"),
        common=_COMMON,
    ),
    "cyrillic": Script(
        _split("б бр в г гр д ж з к кр л м н п пр р с ст т тр ф х ц ч ш щ"),
        _split("а е и о у ы э ю я"),
        ("", "", "н", "р", "ть", "ский", "ция", "й"),
        common=_split("и в не на я что тот быть с а весь это как она по но они к у ты"),
    ),
    "arabic": Script(
        _code_points(0x0628, 0x063A) + _code_points(0x0641, 0x064A),
        ("ا", "و", "ي", "َ", "ِ"),
        ("", "", "ة", "ن", "ت"),
        comma="،",
        stops="...؟",
        common=_split("في من على إلى أن التي الذي هذا كان عن مع ما لا هو"),
    ),
    "hindi": Script(
        _code_points(0x0915, 0x0939),
        ["", "", *_code_points(0x093E, 0x094C)],
        ("", "", "ं", "न", "र", "्य"),
        stops="।।।?",
        common=_split("के में है की और को से का पर यह ने कि हैं एक"),
    ),
    "chinese": Script(
        _code_points(0x4E00, 0x56FF), ("",), ("",), space="", comma="，", stops="。。。！"
    ),
    "japanese": Script(
        _code_points(0x5800, 0x5DFF), ["", *_code_points(0x3042, 0x3093)], ("", "の", "は"),
        space="", comma="、", stops="。",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """Words and sentences of one sample.

    ``n_words`` bounds the vocabulary; with ``repeated`` every context is the first one again.
    """

    answer_words: int = 80
    answer_sentences: int = 4
    n_contexts: int = 5
    context_words: int = 150
    truth_words: int = 40
    truth_sentences: int = 2
    question_words: int = 12
    scripts: tuple[str, ...] = ("latin",)
    n_words: int = VOCABULARY
    repeated: bool = False


TYPICAL: Final = Shape()
SHAPES: Final[dict[str, Shape]] = {
    "typical": TYPICAL,
    "long": replace(TYPICAL, n_contexts=10, context_words=2000),
    "nonlatin": replace(TYPICAL, scripts=tuple(name for name in SCRIPTS if name != "latin")),
    "many_contexts": replace(TYPICAL, n_contexts=100, context_words=60),
    "repeated": replace(TYPICAL, n_words=12, repeated=True),
}


class _Words(NamedTuple):
    population: list[str]
    cumulative: list[float]  # weights by Zipf's law: 1 / rank


@cache
def _words(script_name: str, n_words: int) -> _Words:
    """Distinct words of a script, the most frequent first."""
    script = SCRIPTS[script_name]
    rng = random.Random(f"words of {script_name}")
    known = dict.fromkeys(script.common)
    while len(known) < VOCABULARY:
        n_syllables = rng.choice((1, 2, 2, 3))
        known["".join(_syllable(rng, script) for _ in range(n_syllables))] = None
    population = list(known)
    if script_name == "latin":
        # Ranks at which one context in three holds one of them.
        population[300:2700:300] = _ACCENTED
    weights = (1 / rank for rank in range(1, n_words + 1))
    return _Words(population[:n_words], list(accumulate(weights)))


def _syllable(rng: random.Random, script: Script) -> str:
    return rng.choice(script.onsets) + rng.choice(script.vowels) + rng.choice(script.codas)


def _draw(rng: random.Random, words: _Words, n_words: int) -> list[str]:
    drawn = rng.choices(words.population, cum_weights=words.cumulative, k=n_words)
    for _ in range(n_words // 60):
        drawn[rng.randrange(n_words)] = rng.choice(("1998", "47.8", "$143", "3,000", "12%"))
    return drawn


def _set_sentence(rng: random.Random, script: Script, words: list[str]) -> str:
    """Words with marks between and after them."""
    pieces = [words[0][:1].upper() + words[0][1:]]
    for word in words[1:]:
        draw = rng.random()
        if draw < 0.08:
            pieces[-1] += script.comma
        elif draw < 0.09:
            word = f"“{word}”"
        elif draw < 0.095:
            word = f"– {word}"
        pieces.append(word)
    return script.space.join(pieces) + rng.choice(script.stops)


def _set_text(rng: random.Random, script: Script, sentences: list[list[str]]) -> str:
    set_sentences = [_set_sentence(rng, script, words) for words in sentences]
    return (" " if script.space else "").join(set_sentences)


def _sentences(
    rng: random.Random, words: _Words, n_words: int, n_sentences: int
) -> list[list[str]]:
    """Sentences of about the same length."""
    drawn = _draw(rng, words, n_words)
    cuts = [n_words * i // n_sentences for i in range(n_sentences + 1)]
    return [drawn[cuts[i] : cuts[i + 1]] for i in range(n_sentences)]


def _retold(
    rng: random.Random, sentences: list[list[str]], told: list[str], noise: _Words
) -> list[list[str]]:
    """Seven sentences of ten taken from the told words, a fifth of their words changed."""
    for i, sentence in enumerate(sentences):
        if rng.random() < 0.7 and len(told) > len(sentence):
            begin = rng.randrange(len(told) - len(sentence))
            sentences[i] = [
                word if rng.random() < 0.8 else _draw(rng, noise, 1)[0]
                for word in told[begin : begin + len(sentence)]
            ]
    return sentences


def sample(rng: random.Random, shape: Shape, number: int) -> Sample:
    """One sample of a shape."""
    script_name = shape.scripts[number % len(shape.scripts)]
    script, words = SCRIPTS[script_name], _words(script_name, shape.n_words)
    n_chunk_sentences = max(1, shape.context_words // 18)
    chunks = [
        _sentences(rng, words, shape.context_words, n_chunk_sentences)
        for _ in range(1 if shape.repeated else shape.n_contexts)
    ]
    chunks *= shape.n_contexts if shape.repeated else 1
    told_chunks = chunks[: shape.n_contexts // 2 + 1]
    told = [word for chunk in told_chunks for part in chunk for word in part]
    answer = _sentences(rng, words, shape.answer_words, shape.answer_sentences)
    truth = _sentences(rng, words, shape.truth_words, shape.truth_sentences)
    question = _draw(rng, words, shape.question_words)
    question[::4] = [rng.choice(told) for _ in question[::4]]
    contexts = [_set_text(rng, script, chunk) for chunk in chunks]
    return {
        "id": f"g{number}",
        "question": _set_text(rng, script, [question]),
        "answer": _set_text(rng, script, _retold(rng, answer, told, words)),
        "contexts": contexts[:1] * len(contexts) if shape.repeated else contexts,
        "groundTruth": _set_text(rng, script, _retold(rng, truth, told, words)),
    }


def samples_of(shape: Shape, n_rows: int, seed: int = 0) -> list[Sample]:
    """``n_rows`` samples of any shape; fewer rows are the beginning of more."""
    rng = random.Random(f"{shape} {seed}")
    return [sample(rng, shape, number) for number in range(n_rows)]


def generate(name: str, n_rows: int, seed: int = 0) -> list[Sample]:
    """``n_rows`` samples of a corpus in ``SHAPES``."""
    return samples_of(SHAPES[name], n_rows, seed)


class BenchmarkSet(NamedTuple):
    """Rows to be timed, and in words where they are from."""

    rows: list[Sample]
    source: str


_SET_ROWS: Final = {"typical": 2000, "long": 50}


def data_folder() -> Path:
    """Where the benchmark sets may lie; see :func:`benchmark_set`."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("RAG_EVAL_DATA") or default)


def benchmark_set(name: str) -> BenchmarkSet:
    """The set ``bench_<name>.jsonl.gz`` of the data folder, or else a generated one.

    The folder is the one in ``RAG_EVAL_DATA``, or ``../shared/data`` beside the checkout.
    """
    path = data_folder() / f"bench_{name}.jsonl.gz"
    if not path.is_file():
        n_rows = _SET_ROWS.get(name, 500)
        return BenchmarkSet(generate(name, n_rows), f"{n_rows:,} generated rows (corpora.{name})")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return BenchmarkSet(rows, f"{len(rows):,} rows of {path.name}")


def texts_of(row: Sample) -> list[str]:
    """All texts of a sample."""
    return [row["question"], row["answer"], row["groundTruth"], *row["contexts"]]


def text_bytes(rows: Sequence[Sample]) -> int:
    """Bytes of text in UTF-8."""
    return sum(len(text.encode()) for row in rows for text in texts_of(row))


def rankings(n_rows: int) -> list[dict[str, list[int]]]:
    """Queries with 100 retrieved and 30 judged ids each, half of those retrieved."""
    rows = []
    for number in range(n_rows):
        rng = random.Random(number)
        retrieved = rng.sample(range(50_000), 100)
        judged = [*rng.sample(retrieved, 15), *rng.sample(range(50_000, 60_000), 15)]
        grades = [rng.randint(0, 3) for _ in judged]
        rows.append({"ids": retrieved, "judged": judged, "grades": grades})
    return rows
