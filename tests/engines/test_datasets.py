"""Data sets of Hugging Face are scored as the rows they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rag_eval import evaluate_batch
from rag_eval.samples import Profile
from tests.differential.test_entrances import CHATS, NAMES, SHAPES, scores_of
from tests.differential.test_entrances import rows_of as entrance_rows
from tests.engines.rows import PROFILES, Row, rows_of
from tests.tables import every_row

datasets = pytest.importorskip("datasets", reason="make engines installs datasets")
# The package's own warnings are not ours to mend.
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


def assert_same(found: Any, rows: list[Row], profile: Profile) -> None:
    wanted = evaluate_batch(rows, profile=profile)
    assert found.scores.tobytes() == wanted.scores.tobytes()
    assert np.array_equal(found.null_reasons, wanted.null_reasons)
    assert found.n_passed == wanted.n_passed


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("profile", PROFILES)
def test_scores_are_those_of_the_rows(profile: Profile, threads: int) -> None:
    # More rows than are read at a time.
    rows = rows_of(profile, 5000)
    found = evaluate_batch(datasets.Dataset.from_list(rows), profile=profile, threads=threads)
    assert_same(found, rows, profile)
    assert found.results[4999].sample["id"] == "r4999"


def test_chosen_and_joined_rows() -> None:
    rows = rows_of("overlap", 300)
    data = datasets.Dataset.from_list(rows)
    chosen = [299, 4, 4, 120]
    assert_same(evaluate_batch(data.select(chosen)), [rows[at] for at in chosen], "overlap")
    joined = datasets.concatenate_datasets([data.select(range(100, 300)), data.select(range(7))])
    assert_same(evaluate_batch(joined), [*rows[100:], *rows[:7]], "overlap")
    shuffled = data.shuffle(seed=1)
    order = [int(name[1:]) for name in shuffled["id"]]
    assert_same(evaluate_batch(shuffled), [rows[at] for at in order], "overlap")


def test_a_stream() -> None:
    rows = rows_of("overlap", 300)
    stream = datasets.Dataset.from_list(rows).to_iterable_dataset(num_shards=3)
    assert_same(evaluate_batch(stream), rows, "overlap")


def test_a_data_set_formatted_for_another_library() -> None:
    rows = rows_of("overlap", 50)
    data = datasets.Dataset.from_list(rows).with_format("numpy")
    assert_same(evaluate_batch(data), rows, "overlap")


def test_names_of_other_tools() -> None:
    rows = rows_of("overlap", 50)
    data = datasets.Dataset.from_list(rows).rename_columns(
        {
            "question": "user_input",
            "answer": "response",
            "contexts": "retrieved_contexts",
            "ground_truth": "reference",
        }
    )
    assert_same(evaluate_batch(data), rows, "overlap")


def assert_entrance(rows: list[Row]) -> None:
    """The fields and scores of the rows as dicts, whatever of them the data set holds."""
    data = datasets.Dataset.from_list(rows)
    for profile in PROFILES:
        wanted = evaluate_batch(rows, profile=profile)
        for found in (
            evaluate_batch(data, profile=profile),
            evaluate_batch(data.to_iterable_dataset(), profile=profile),
            evaluate_batch(data.with_format("pandas"), profile=profile),
        ):
            assert scores_of(found) == scores_of(wanted)
            assert found.not_measured == wanted.not_measured
            for ours, theirs in zip(found.results, wanted.results, strict=True):
                for name in ("question", "answer", "contexts"):
                    assert ours.sample.get(name) == theirs.sample.get(name)


@every_row("names", list(NAMES))
@every_row("shape", list(SHAPES))
def test_contexts_in_every_shape(names: str, shape: str) -> None:
    assert_entrance(entrance_rows(names, shape))


@every_row("form", list(CHATS))
def test_chat_turns(form: str) -> None:
    rows = entrance_rows("native", "list")
    for row in rows:
        turns = {"user": row.pop("question"), "assistant": row.pop("answer")}
        row["messages"] = CHATS[form](
            [{"role": role, "content": text} for role, text in turns.items()]
        )
    assert_entrance(rows)
    assert evaluate_batch(datasets.Dataset.from_list(rows)).n_rows == len(rows)


@every_row("missing", ["contexts", "ground_truth"])
def test_what_no_row_has_is_left_out(missing: str) -> None:
    rows = entrance_rows("native", "list")
    for row in rows:
        del row[missing]
    assert_entrance(rows)
