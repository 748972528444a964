"""Laws of the grounded profile that hold whatever the texts are."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import unicodedata2
from hypothesis import assume, example, given
from hypothesis import strategies as st

import rag_eval
from rag_eval.inputs import row_blocks as sources
from rag_eval.inputs.samples import FieldNeeds
from rag_eval.kernels import scoring as kernels
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.results.row import Losses
from rag_eval.samples import EvalSample
from tests.differential.test_grounded_block import ROWS, Matrix, scored
from tests.differential.test_overlap_block import assert_same_bits, joined
from tests.grounded_samples import NAMES, NUMBERS, grounded_samples, grounded_texts, plain_corpus
from tests.oracle.grounded import read_sample, tokens
from tests.oracle.grounded_characters import fold, normalize
from tests.oracle.grounded_lists import STOP_WORDS
from tests.oracle.grounded_markup import begins_with_label
from tests.oracle.grounded_refusals import only_refuses
from tests.oracle.unicode17 import lower
from tests.own_sentences import SENTENCES
from tests.strategies import samples as overlap_samples
from tests.tables import deep, every_row

Sample = dict[str, Any]

IDENTITY = ("faithfulness", "hallucination_rate", "context_recall", "answer_correctness")
# What is found in chunks: it can only grow with them.
SUPPORT = ("faithfulness", "hallucination_rate", "context_recall")
LISTED_TAGS = st.sampled_from([*STOP_WORDS, "und", "is"])


def scores_of(sample: Sample, **options: Any) -> dict[str, float | None]:
    """The thirteen scores of one evaluation."""
    return all_scores(evaluated(sample, **options))


def evaluated(sample: Sample, **options: Any) -> rag_eval.EvalResult:
    return rag_eval.evaluate(sample, ALL_METRIC_IDS, profile="grounded", **options)


def all_scores(result: rag_eval.EvalResult) -> dict[str, float | None]:
    return {metric: result.metrics[metric].score for metric in ALL_METRIC_IDS}


def is_contradicted(sample: Sample) -> bool:
    """A chunk contradicts a number of the answer, or of one of the ground truths."""
    truth = sample.get("ground_truth")
    truths = truth if isinstance(truth, list) else [truth]
    results = [evaluated({**sample, "ground_truth": one}) for one in [None, *truths]]
    return any(
        sentence.contradiction
        for result in results
        for metric in ("faithfulness", "context_recall")
        for sentence in result.metrics[metric].evidence or ()
    )


def evidence(answer: str, chunk: str, **more: Any) -> rag_eval.MetricResult:
    """Faithfulness of an answer to one chunk."""
    sample = {"answer": answer, "contexts": [chunk], **more}
    return rag_eval.evaluate(sample, ["faithfulness"], profile="grounded").metrics.faithfulness


def whole(result: rag_eval.MetricResult) -> float:
    assert result.score is not None
    return result.score


# ---------------------------------------------------------------------------- a text and itself


def assert_perfect(text: str, **more: Any) -> None:
    found = scores_of({"answer": text, "contexts": [text], "ground_truth": text, **more})
    assert [found[metric] for metric in IDENTITY] == [1.0] * 4
    assert found["claim_recall"] == 1.0
    assert found["self_knowledge"] == 0.0
    assert not found["unsupported_numbers"]
    assert not found["unsupported_names"]


@every_row("tag", SENTENCES)
def test_sentences_against_themselves_are_perfect(tag: str) -> None:
    text = " ".join(SENTENCES[tag])
    for more in ({}, {"language": tag}, {"language": "en"}, {"language": "und"}):
        assert_perfect(text, **more)
        assert_perfect(text, question=SENTENCES[tag][0], **more)
        assert_perfect(SENTENCES[tag][1], question="How many hens?", **more)


@given(grounded_texts(), st.none() | grounded_texts(), st.none() | LISTED_TAGS)
@example("The passages do not say. ", None, None)
def test_any_text_against_itself_is_perfect(
    text: str, question: str | None, tag: str | None
) -> None:
    text = joined(text)
    assume(tokens(text, begins_with_label(text)))
    sample = {"answer": text, "contexts": [text], "ground_truth": text, "question": question}
    answer = read_sample(sample, tag).answer
    assert answer
    if only_refuses(answer):
        assert scores_of(sample, language=tag)["faithfulness"] is None
    else:
        assert_perfect(text, question=question, language=tag)


@every_row("tag", SENTENCES)
def test_spelling_and_markup_make_no_difference(tag: str) -> None:
    """Composed or not, in a list, quoted, emphasised, cited: it says the same."""
    first, second = SENTENCES[tag]
    text = f"{first} {second}"
    for told in (
        normalize("NFD", text),
        f"- {first}\n- {second}",
        f"1. {first}\r\n2. {second}",
        f"> **{first}**\n> _{second}_",
        f"{first} [1]\n\n{second} [2, 3]",
        f"## {first}\n{second}【1†source】",
    ):
        assert whole(evidence(told, text)) == 1.0
        assert whole(evidence(text, told)) == 1.0


# -------------------------------------------------------------------------- numbers and names


@every_row("tag", SENTENCES)
def test_another_number_is_noticed(tag: str) -> None:
    """In the digits of its language."""
    sentence = SENTENCES[tag][0]
    digits = [letter for letter in sentence if unicodedata2.category(letter) == "Nd"]
    other = sentence.replace(digits[1], chr(ord(digits[1]) + 1))
    found = evidence(other, sentence)
    assert whole(found) < 1.0
    assert [number[:2] for number in (found.evidence or ())[0].missing_numbers] == ["16"]


ZEROS = [
    point
    for point in range(0x20000)  # the planes of ideographs hold no digit
    if unicodedata2.category(chr(point)) == "Nd" and unicodedata2.decimal(chr(point)) == 0
]


def test_every_script_of_unicode_is_there() -> None:
    assert len(ZEROS) > 70


@every_row("zero", ZEROS, ids=hex)
def test_numbers_in_the_digits_of_any_script(zero: int) -> None:
    def told(number: int) -> str:
        return f"ba {''.join(chr(zero + int(digit)) for digit in str(number))} da"

    assert whole(evidence("ba 1507 da", told(1507))) == 1.0
    assert whole(evidence(told(1507), "ba 1507 da")) == 1.0
    for said, chunk in [(told(1508), told(1507)), (told(1508), "ba 1507 da")]:
        found = evidence(said, chunk)
        assert whole(found) < 1.0
        assert (found.evidence or ())[0].missing_numbers == ("1508",)


# Five capitals of scripts that have them.
CAPITALS = {
    "Latin": "BDGKM",
    "Latin with accents": "ÉÑÖŠŻ",
    "Latin, full width": "ＢＤＧＫＭ",
    "Greek": "ΒΔΓΚΜ",
    "Cyrillic": "БДГКЖ",
    "Armenian": "ԲԴԳԿՄ",
    "Georgian": "ᲐᲑᲒᲓᲔ",
    "Cherokee": "ᎠᎡᎢᎣᎤ",
    "Coptic": "ⲀⲂⲄⲆⲈ",
    "Glagolitic": "ⰀⰁⰂⰃⰄ",
    "Deseret": "𐐀𐐁𐐂𐐃𐐄",
    "Osage": "𐒰𐒱𐒲𐒳𐒴",
    "Vithkuqi": "𐕰𐕱𐕲𐕳𐕴",
    "Old Hungarian": "𐲀𐲁𐲂𐲃𐲄",
    "Garay": "𐵐𐵑𐵒𐵓𐵔",
    "Warang Citi": "𑢠𑢡𑢢𑢣𑢤",
    "Medefaidrin": "𖹀𖹁𖹂𖹃𖹄",
    "Adlam": "𞤀𞤁𞤂𞤃𞤄",
}


@every_row("script", CAPITALS)
def test_another_name_is_noticed(script: str) -> None:
    a, b, c, d, e = CAPITALS[script]
    name, other = a + lower(b + c), e + lower(d + a)
    sentence = f"{lower(a + b)} {{}} {lower(c + d)}."
    kept, said = sentence.format(name), sentence.format(other)
    assert whole(evidence(kept, kept)) == 1.0
    found, uncapitalised = evidence(said, kept), evidence(lower(said), kept)
    assert (found.evidence or ())[0].missing_names == (fold(other),)
    assert (uncapitalised.evidence or ())[0].missing_names == ()
    assert whole(found) < whole(uncapitalised) < 1.0


@pytest.mark.parametrize("seed", range(4))
def test_another_figure_never_raises_faithfulness(seed: int) -> None:
    """A number or a name that no chunk has, in place of a word of a sentence that is carried."""
    choose = random.Random(seed)
    for row in plain_corpus(15, seed):
        text = choose.choice([chunk for chunk in row["contexts"] if chunk])
        words = text.split(" ")
        at = choose.randrange(len(words))
        words[at] = choose.choice(["98,765", "Quillby", "QUILLBY", "¾"])
        more = {"language": "en", "question": row["question"]}
        assert whole(evidence(" ".join(words), text, **more)) < 1.0


# -------------------------------------------------------------------------------------- range


@given(grounded_samples())
def test_scores_lie_between_0_and_1(sample: Sample) -> None:
    for score in scores_of(sample).values():
        assert score is None or 0 <= score <= 1
    result = rag_eval.evaluate(sample, profile="grounded")
    assert result.composite_score is None or 0 <= result.composite_score <= 1
    for metric in result.metrics.values():
        for value in (*(metric.chunk_scores or ()), *(metric.sentence_scores or ())):
            assert 0 <= value <= 1


# --------------------------------------------------------------------------- chunks and truths


@given(grounded_samples(), st.lists(grounded_texts(), min_size=1, max_size=3), LISTED_TAGS)
def test_one_more_chunk_never_takes_words_away(sample: Sample, more: list[str], tag: str) -> None:
    """It may contradict a number, or have a name far from its neighbours: nothing else is lost.

    In a language that is given: more text may tell another one. And without labels, which make the
    citations of the answer words.
    """
    chunks = sample.get("contexts")
    assume(chunks is not None)
    assume(not any(begins_with_label(joined(chunk)) for chunk in more))
    richer = {**sample, "contexts": [*chunks, *more]}
    fewer, found = (
        rag_eval.evaluate(
            one, ["faithfulness"], profile="grounded", language=tag
        ).metrics.faithfulness
        for one in (sample, richer)
    )
    assert (found.score is None) == (fewer.score is None)
    before = fewer.losses or Losses(1, 1, 1, 1, 1, 1, 1, 1)
    after = found.losses or before
    for name in ("window", "bigram", "skip", "number", "name", "new_name"):
        assert getattr(after, name) <= getattr(before, name), name
    taken = 0.12 * (after.contradiction - before.contradiction) + 0.06 * (after.near - before.near)
    assert (found.score or 0) >= (fewer.score or 0) - max(taken, 0) - 1e-12


@given(grounded_samples(), st.randoms(use_true_random=False))
def test_the_order_of_chunks_matters_to_precision_alone(
    sample: Sample, choose: random.Random
) -> None:
    """And to contradictions: of windows that are equally near, that of the first chunk tells."""
    chunks = sample.get("contexts")
    assume(chunks)
    order = choose.sample(range(len(chunks)), len(chunks))
    shuffled = {**sample, "contexts": [chunks[i] for i in order]}
    assume(not any(map(is_contradicted, (sample, shuffled))))
    straight, permuted = map(scores_of, (sample, shuffled))
    for metric in ALL_METRIC_IDS:
        if metric != "context_precision":
            assert permuted[metric] == straight[metric]
    found, wanted = (
        rag_eval.evaluate(
            row, ["context_relevance"], profile="grounded"
        ).metrics.context_relevance.chunk_scores
        for row in (shuffled, sample)
    )
    assert found == (None if wanted is None else tuple(wanted[i] for i in order))


@given(grounded_samples(), LISTED_TAGS)
def test_repeated_chunks_support_no_more(sample: Sample, tag: str) -> None:
    """In a language that is given: counted twice the words of the chunks may tell another one."""
    chunks = sample.get("contexts") or []
    language = sample.get("language") or tag
    once = scores_of({**sample, "contexts": chunks}, language=language)
    again = scores_of({**sample, "contexts": 2 * chunks}, language=language)
    for metric in SUPPORT:
        assert again[metric] == once[metric]


@given(grounded_samples(), st.randoms(use_true_random=False))
def test_the_order_of_ground_truths_does_not_matter(sample: Sample, choose: random.Random) -> None:
    truths = sample.get("ground_truth")
    truths = truths if isinstance(truths, list) else [truths, sample.get("question")]
    shuffled = choose.sample(truths, len(truths))
    straight = scores_of({**sample, "ground_truth": truths})
    assert scores_of({**sample, "ground_truth": shuffled}) == straight
    assert scores_of({**sample, "ground_truth": [*truths, "?", None]}) == straight


# ---------------------------------------------------------------- which metrics are asked for

ALL = scored(ROWS, metrics=ALL_METRIC_IDS).scores


@every_row("metric", ALL_METRIC_IDS)
def test_a_metric_is_the_same_alone(metric: str) -> None:
    """All texts of a sample tell its language, and a chunk's label is heeded, whoever asks."""
    column = ALL_METRIC_IDS.index(metric)
    found = scored(ROWS, metrics=[metric]).scores
    assert_same_bits(found, np.ascontiguousarray(ALL[:, [column]]))


GERMAN = "Der Hund ist nicht da, und die Katze auch nicht."


@every_row("field", ["question", "answer", "contexts", "ground_truth"])
@every_row("metric", ALL_METRIC_IDS)
def test_every_field_tells_the_language(metric: str, field: str) -> None:
    """Whether the metric has another use for it or not."""
    sample: Sample = {"question": "q", "answer": "x", "contexts": ["y"], "ground_truth": "z"}
    assert rag_eval.evaluate(sample, [metric], profile="grounded").language == "en"
    sample[field] = [GERMAN] if field == "contexts" else GERMAN
    assert rag_eval.evaluate(sample, [metric], profile="grounded").language == "de"


@every_row("seed", range(30))
def test_metrics_are_the_same_in_any_company(seed: int) -> None:
    """In any order, and asked for twice."""
    choose = random.Random(seed)
    rows = choose.sample(range(len(ROWS)), 40)
    columns = choose.sample(range(13), choose.randint(2, 12))
    asked = [ALL_METRIC_IDS[column] for column in columns]
    found = scored([ROWS[row] for row in rows], metrics=[*asked, asked[0]])
    assert found.metrics == tuple(asked)
    assert_same_bits(found.scores, np.ascontiguousarray(ALL[rows][:, columns]))


# ---------------------------------------------------------------- threads, blocks, input kinds


def as_eval_sample(row: Sample) -> EvalSample:
    return EvalSample(**row)


def camel(row: Sample) -> Sample:
    return {"groundTruth" if name == "ground_truth" else name: row[name] for name in row}


def with_tuples(row: Sample) -> Sample:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


KINDS: list[Callable[[Sample], Any]] = [dict, camel, as_eval_sample, MappingProxyType, with_tuples]
INPUT_KINDS: dict[str, Callable[[Sequence[Sample]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "camelCase": lambda rows: [camel(row) for row in rows],
    "EvalSample": lambda rows: [as_eval_sample(row) for row in rows],
    "tuples": lambda rows: [with_tuples(row) for row in rows],
    "mixed": lambda rows: (KINDS[i % 5](row) for i, row in enumerate(rows)),
    "EvalSample with tuples": lambda rows: [as_eval_sample(with_tuples(row)) for row in rows],
}


@pytest.mark.parametrize("threads", [1, 3, *deep(2)])
@pytest.mark.parametrize(
    ("block_bytes", "first_rows", "most_rows"),
    [(1, 1, 1), (1, 5, 3), (2000, 3, 7), (1 << 14, 1, 1024), (1 << 18, 16, 1024)],
)
def test_same_bits_for_any_threads_blocks_and_inputs(
    threads: int, block_bytes: int, first_rows: int, most_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(sources, "_FIRST_BLOCK_ROWS", first_rows)
    monkeypatch.setattr(sources, "_MAX_BLOCK_ROWS", most_rows)
    for name, kind in INPUT_KINDS.items():
        found = rag_eval.evaluate_batch(
            kind(ROWS), ALL_METRIC_IDS, profile="grounded", threads=threads, allow_missing=True
        )
        assert found.scores.tobytes() == ALL.tobytes(), name


def test_the_blocks_of_the_test_above_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would vary nothing: a renamed constant must not go unnoticed."""
    needs = FieldNeeds.of(METRIC_IDS, "grounded")
    default = len(list(sources.sample_blocks(ROWS, needs)))
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1)
    monkeypatch.setattr(sources, "_FIRST_BLOCK_ROWS", 1)
    assert len(list(sources.sample_blocks(ROWS, needs))) == len(ROWS) > 2 * default


@pytest.mark.parametrize("threads", [1, 2])
def test_same_bits_from_a_file(threads: int, tmp_path: Path) -> None:
    """Files hold no lone surrogates."""
    rows = [i for i, row in enumerate(ROWS) if not has_surrogates(row)]
    lines = [json.dumps(ROWS[i], ensure_ascii=i % 2 == 0) for i in rows]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    target = tmp_path / "scores.jsonl"
    rag_eval.score_file(path, target, ALL_METRIC_IDS, profile="grounded", threads=threads)
    found = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    scores = [[row[metric] for metric in ALL_METRIC_IDS] for row in found]
    assert len(rows) > 100
    # Numbers are written so that the same double is read again.
    assert_same_bits(np.array(scores, np.float64), np.ascontiguousarray(ALL[rows]))


def has_surrogates(row: Sample) -> bool:
    text = json.dumps(row, ensure_ascii=False)
    return any(0xD800 <= ord(letter) < 0xE000 for letter in text)


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1, int.from_bytes(b"the anax", "little")])
def test_same_bits_under_any_seed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "hash_seed", lambda: seed)
    assert_same_bits(scored(ROWS, metrics=ALL_METRIC_IDS).scores, ALL)


@given(st.lists(grounded_samples(), min_size=1, max_size=3), st.data())
def test_split_and_one_by_one(rows: list[Sample], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(rows)))
    together = scored(rows)
    parts = [scored(part).scores for part in (rows[:cut], rows[cut:])]
    assert_same_bits(np.concatenate(parts), together.scores)
    for row, opened in zip(rows, together.results, strict=True):
        alone = rag_eval.evaluate(row, profile="grounded")
        assert undated(opened) == undated(alone)
        assert opened.language == alone.language


def undated(result: rag_eval.EvalResult) -> dict[str, Any]:
    written = result.to_dict(details=True)
    del written["durationMs"], written["evaluatedAt"]
    return written


# ------------------------------------------------------------------------- the other profile


@given(overlap_samples(), grounded_samples())
def test_the_overlap_profile_is_left_as_it_was(sample: Sample, other: Sample) -> None:
    """Nothing that one profile sets up is used by the other."""
    before = rag_eval.evaluate_batch([sample], threads=1)
    scored([other, sample | {"groundTruth": None}], metrics=ALL_METRIC_IDS)
    rag_eval.evaluate(other, profile="grounded")
    after = rag_eval.evaluate_batch([sample], threads=1)
    assert after.scores.tobytes() == before.scores.tobytes()
    assert after.null_reasons.tobytes() == before.null_reasons.tobytes()
    assert str(after.signature) == str(before.signature)


@given(grounded_samples(), st.sampled_from([*NAMES, *NUMBERS]))
def test_unknown_fields_do_not_matter(sample: Sample, value: str) -> None:
    extended = {**sample, "id": value, "metadata": {"answer": value}, "notes": [value]}
    assert scored([extended]).scores.tobytes() == scored([sample]).scores.tobytes()


def test_the_corpus_is_of_all_thirteen() -> None:
    def kinds(column: Matrix) -> int:
        return len(np.unique(column[~np.isnan(column)]))

    assert all(kinds(column) >= 5 for column in ALL.T)
