"""Both profiles' kernels against their oracles, and against themselves however rows come in."""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np
import pytest

import rag_eval
from rag_eval.inputs import row_blocks as sources
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.samples import NullReason
from tests.differential.test_grounded_block import assert_rows_equal_the_oracle
from tests.differential.test_overlap_block import (
    INPUT_KINDS,
    assert_same_bits,
    joined_sample,
    oracle_scores,
)
from tests.differential.test_overlap_words import assert_words
from tests.fuzz import hostile_texts
from tests.fuzz.hostile_texts import Sample
from tests.fuzz.running import Target
from tests.grounded_samples import TAGS, Choices, read_sample

# What an oracle may read of a row, tenths of a second's worth.
_ORACLE_CHARACTERS: Final = 60_000

_GROUNDED: Final[dict[str, Any]] = {"profile": "grounded", "metrics": ALL_METRIC_IDS}
_PROFILES: Final[tuple[dict[str, Any], ...]] = (
    {"profile": "overlap", "metrics": METRIC_IDS},
    _GROUNDED,
    {**_GROUNDED, "stemmer": "snowball"},
    {**_GROUNDED, "language": "de", "stemmer": "snowball"},
    {**_GROUNDED, "language": "und"},
)


def overlap(choices: Choices) -> None:
    """Scores under any options, and what explains them."""
    rows = [affordable(hostile_texts.sample(choices)) for _ in range(choices.between(1, 3))]
    options = hostile_texts.heuristic_options(choices)
    result = rag_eval.evaluate_batch(rows, heuristic=options, threads=1, allow_missing=True)
    assert_same_bits(result.scores, oracle_scores(rows, **options))
    assert_nulls_have_reasons(result)
    opened = rag_eval.evaluate_batch(rows, threads=1, allow_missing=True).results
    for row, found in zip(rows, opened, strict=True):
        assert_words(found, row)


def grounded(choices: Choices) -> None:
    """Scores, nulls, languages and the evidence of every sentence."""
    row = affordable(hostile_texts.sample(choices))
    row["ground_truth"] = row.pop("groundTruth", None)
    if choices.one_in(2):
        row["language"] = choices.of(TAGS)
    if choices.one_in(3):
        row = read_sample(choices, [hostile_texts.text(choices)])
    assert_rows_equal_the_oracle([row])


def affordable(row: Sample) -> Sample:
    """The row with contexts left out that an oracle would read every sentence beside."""
    claims = row["answer"] + (row.get("groundTruth") or "")
    n_sentences = 1 + sum(claims.count(mark) for mark in ".!?")
    contexts, left = [], _ORACLE_CHARACTERS // n_sentences
    for context in row["contexts"]:
        left -= len(context) + len(claims) // n_sentences
        if left > 0:
            contexts.append(context)
    return {**row, "contexts": contexts}


def cuts(choices: Choices) -> None:
    """Any threads, blocks, input kinds and neighbours give the same bits."""
    options = choices.of(_PROFILES)
    rows = [joined_sample(hostile_texts.sample(choices)) for _ in range(choices.between(2, 12))]
    rows += rows[: choices.below(4)]
    if choices.one_in(6):
        rows.insert(choices.below(len(rows)), giant(choices))
    wanted = scored(rows, options, 1)
    assert_nulls_have_reasons(wanted)
    assert_shares(wanted)
    alone = [scored([row], options, 1) for row in rows]
    assert_same_bits(np.concatenate([one.scores for one in alone]), wanted.scores)
    assert np.array_equal(np.concatenate([one.null_reasons for one in alone]), wanted.null_reasons)
    kind = INPUT_KINDS[choices.of(sorted(INPUT_KINDS))]
    with pytest.MonkeyPatch.context() as patch:
        n_bytes = choices.of((1, 64, 1000, 1 << 14))
        patch.setattr(sources, "BLOCK_BYTES", n_bytes)
        patch.setattr(sources, "_FIRST_BLOCK_ROWS", choices.of((1, 3, 16)))
        patch.setattr(sources, "_MAX_BLOCK_ROWS", choices.of((1, 7, 1024)))
        cut = scored(kind(rows), options, choices.between(1, 3))
    assert_same_bits(cut.scores, wanted.scores)
    assert np.array_equal(cut.null_reasons, wanted.null_reasons)
    turned = scored(rows[::-1], options, 2)
    assert turned.scores[::-1].tobytes() == wanted.scores.tobytes()


def giant(choices: Choices) -> Sample:
    """A row whose tables outgrow those of the others."""
    n = choices.of((500, 2000, 9000))
    words = [f"{choices.of('aé')}{number * 7919 % n}" for number in range(n)]
    return {
        "question": " ".join(words[:40]),
        "answer": ". W".join(words[:300]) + hostile_texts.text(choices, surrogates=False),
        "contexts": [" ".join(words), " ".join(words[: n // 2]), ""] * choices.of((1, 1, 30)),
        "groundTruth": ". A ".join(words[-60:]),
    }


def scored(rows: Any, options: dict[str, Any], threads: int) -> rag_eval.BatchEvalResult:
    return rag_eval.evaluate_batch(rows, threads=threads, **options, allow_missing=True)


def assert_nulls_have_reasons(result: rag_eval.BatchEvalResult) -> None:
    """Scores are shares, or null for a reason that is known."""
    is_null = np.isnan(result.scores)
    assert np.array_equal(result.null_reasons != NullReason.MEASURED, is_null)
    reasons = set(itertools.chain.from_iterable(result.null_reasons.tolist()))
    assert reasons <= {int(reason) for reason in NullReason}


def assert_shares(result: rag_eval.BatchEvalResult) -> None:
    scores = result.scores[~np.isnan(result.scores)]
    # The mean of cosines may pass 1 by a rounding error.
    assert ((scores >= 0) & (scores <= 1 + 1e-12)).all()


TARGETS: Final[dict[str, Target]] = {"overlap": overlap, "grounded": grounded, "cuts": cuts}
