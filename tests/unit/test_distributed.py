"""Record batches come back with the scores that their rows have in one process."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval import calibrate, distributed, evaluate_batch
from rag_eval.distributed import (
    BatchScorer,
    merged_totals,
    partition_totals,
    score_dask,
    score_ray,
    score_record_batch,
    score_spark,
)
from rag_eval.errors import InputError, MissingExtraError
from rag_eval.options.signature import SIGNATURE_KEY
from rag_eval.samples import Profile
from tests.engines.rows import (
    PROFILES,
    by_id,
    expected,
    facts,
    rows_of,
    single_summary,
    with_bad_row,
)
from tests.tables import every_row

pa = pytest.importorskip("pyarrow")

TYPES = pa.schema(
    [
        ("id", pa.string()),
        ("question", pa.string()),
        ("answer", pa.string()),
        ("contexts", pa.list_(pa.string())),
        ("ground_truth", pa.string()),
        ("topic", pa.dictionary(pa.int8(), pa.string())),
    ]
)
ROWS = {profile: rows_of(profile, 120) for profile in PROFILES}
ONE = {"question": "Who?", "answer": "Ellen Marsh.", "contexts": ["Ellen Marsh led it."]}


def batch_of(rows: list[dict[str, Any]], types: Any = TYPES) -> Any:
    return pa.RecordBatch.from_pylist(rows, schema=types)


def scored_ids(scorer: Any, batches: list[Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    found = [row for batch in batches for row in scorer(batch).to_pylist()]
    return by_id(found, rows)


# ------------------------------------------------------------------------------------- scores


@every_row("threads", [None, 1, 3])
@every_row("profile", PROFILES)
def test_scores_are_those_of_one_process(profile: Profile, threads: int | None) -> None:
    rows = ROWS[profile]
    scorer = BatchScorer(profile=profile, threads=threads)
    assert scored_ids(scorer, [batch_of(rows)], rows) == expected(rows, profile=profile)


@given(
    profile=st.sampled_from(PROFILES),
    cuts=st.lists(st.integers(0, 120), max_size=6).map(sorted),
    order=st.randoms(use_true_random=False),
)
def test_any_parting_gives_the_same(profile: Profile, cuts: list[int], order: Any) -> None:
    rows = ROWS[profile]
    whole = batch_of(rows)
    bounds = list(zip([0, *cuts], [*cuts, len(rows)], strict=True))
    batches = [whole.slice(begin, end - begin) for begin, end in bounds]
    order.shuffle(batches)
    scorer = pickle.loads(pickle.dumps(BatchScorer(profile=profile)))
    assert scored_ids(scorer, batches, rows) == expected(rows, profile=profile)
    wanted = facts(single_summary(rows, profile=profile))
    for parting in ([batches], [batches[:2], batches[2:]], [[batch] for batch in batches]):
        parts = [partition_totals(group, profile=profile) for group in parting]
        assert facts(merged_totals(parts, profile=profile)) == wanted


def test_kept_columns_stay_what_they_are() -> None:
    rows = ROWS["overlap"]
    batch = batch_of(rows).replace_schema_metadata({b"theirs": b"1"})
    scored = score_record_batch(batch, ["faithfulness"])
    assert scored.schema.names == [
        *TYPES.names,
        *("faithfulness", "faithfulness_null_reason", "composite_score", "passed"),
    ]
    assert scored.select(TYPES.names).equals(batch)
    assert scored.schema.metadata[b"theirs"] == b"1"
    some = score_record_batch(batch, ["faithfulness"], columns=["topic", "id"], prefix="s_")
    assert some.schema.names[:3] == ["topic", "id", "s_faithfulness"]
    assert some.column("topic").equals(batch.column("topic"))
    assert some.column("s_passed").equals(scored.column("passed"))
    assert score_record_batch(batch, ["faithfulness"], columns=[]).num_columns == 4


@every_row("n_rows", [0, 5])
def test_the_schema_is_foretold(n_rows: int) -> None:
    scorer = BatchScorer(profile="grounded", prefix="s_", columns=["id", "topic"])
    scored = scorer(batch_of(ROWS["grounded"][:n_rows]))
    assert scored.num_rows == n_rows
    assert scored.schema.equals(scorer.output_schema(TYPES), check_metadata=True)
    signature = json.loads(scored.schema.metadata[SIGNATURE_KEY])
    result = evaluate_batch([], profile="grounded")
    assert result.signature is not None
    assert signature == result.signature.to_dict()


def test_tables_are_scored_by_chunk() -> None:
    rows = ROWS["overlap"]
    whole = batch_of(rows)
    scorer = BatchScorer()
    table = pa.Table.from_batches([whole.slice(0, 50), whole.slice(50, 0), whole.slice(50)])
    assert scorer.table(table).to_pylist() == scorer(whole).to_pylist()
    empty = scorer.table(TYPES.empty_table())
    assert empty.schema.equals(scorer.output_schema(TYPES), check_metadata=True)
    assert empty.num_rows == 0


def test_names_of_other_tools_are_recognised() -> None:
    theirs = {
        "user_input": ["Who led it?"],
        "response": ["Ellen Marsh led it."],
        "retrieved_contexts": [["Ellen Marsh led it."]],
        "reference": ["Ellen Marsh"],
    }
    ours = dict(
        zip(("question", "answer", "contexts", "ground_truth"), theirs.values(), strict=True)
    )
    wanted = score_record_batch(pa.RecordBatch.from_pydict(ours), columns=[])
    for options in ({}, {"schema": "ragas"}, {"mapping": {"answer": "response"}}):
        found = score_record_batch(pa.RecordBatch.from_pydict(theirs), columns=[], **options)
        assert found.equals(wanted), options


def test_a_calibration_file_is_read_where_the_scorer_is_made(tmp_path: Any) -> None:
    rows = ROWS["overlap"]
    result = evaluate_batch(rows)
    labels = [bool(score > 0.2) for score in result.scores[:, 0]]
    made = calibrate(result, labels, metric="faithfulness")
    path = tmp_path / "calibration.json"
    made.save(path)
    scorer = BatchScorer(["faithfulness"], calibration=path)
    path.unlink()
    scored = pickle.loads(pickle.dumps(scorer))(batch_of(rows))
    assert scored.schema.names[-1] == "faithfulness_probability"
    wanted = list(made.probabilities(result.scores[:, 0]))
    assert scored.column("faithfulness_probability").to_pylist() == wanted
    summary = scorer.summary([scorer.totals([batch_of(rows)])])
    assert summary.aggregates["faithfulness"].pass_rate == pytest.approx(
        sum(score >= made.threshold for score in result.scores[:, 0]) / len(rows)
    )


# ------------------------------------------------------------------------------------- totals


def test_totals_of_nothing() -> None:
    parts = [partition_totals([]), partition_totals([batch_of([])])]
    assert facts(merged_totals(parts)) == facts(merged_totals([])) == facts(single_summary([]))


def test_medians_say_that_they_are_from_a_histogram() -> None:
    summary = merged_totals([partition_totals([batch_of(ROWS["overlap"])])])
    assert summary.signature is not None
    assert summary.signature.options["quantiles"] == "sketch"
    exact = evaluate_batch(ROWS["overlap"])
    for metric, aggregate in exact.aggregates.items():
        assert summary.aggregates[metric].mean == aggregate.mean
        assert summary.aggregates[metric].median == pytest.approx(aggregate.median, rel=1 / 4096)


# ------------------------------------------------------------------------------------- faults


@every_row("threads", [1, 2])
def test_a_bad_row_is_named_by_its_id(threads: int) -> None:
    batch = batch_of(with_bad_row(ROWS["overlap"])[50:])
    with pytest.raises(InputError) as caught:
        score_record_batch(batch, threads=threads)
    assert (
        str(caught.value) == 'row 10 ("the bad one") of its batch: answer is missing; it must '
        "be a string"
    )
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))


def test_a_bad_row_without_an_id_has_its_number() -> None:
    batch = pa.RecordBatch.from_pylist([ONE, {**ONE, "answer": None}])
    with pytest.raises(
        InputError,
        match=r"^row 1 of its batch: answer is missing; it must be "
        r"a string$",
    ):
        score_record_batch(batch)


def test_a_column_of_the_name_of_a_score_is_refused() -> None:
    batch = pa.RecordBatch.from_pylist([{**ONE, "passed": 1}])
    fault = r"column 'passed' of the input .*; give the scores a prefix \(prefix=\)"
    for call in (BatchScorer(), lambda found: BatchScorer().output_schema(found.schema)):
        with pytest.raises(InputError, match=fault):
            call(batch)
    with pytest.raises(InputError, match=fault):
        score_record_batch(batch, columns=["passed"])
    assert score_record_batch(batch, prefix="s_").column("passed").to_pylist() == [1]
    assert score_record_batch(batch, columns=["answer"]).column("passed").to_pylist() == [False]
    # The other names of columns of scores are no score's own.
    assert score_record_batch(batch, ["faithfulness"], columns=["question"]).num_columns == 5


def test_columns_to_keep_must_be_there() -> None:
    batch = pa.RecordBatch.from_pylist([ONE])
    with pytest.raises(InputError, match=r"there is no column 'anser'; did you mean 'answer'\?"):
        score_record_batch(batch, columns=["anser"])
    twice = pa.RecordBatch.from_arrays([pa.array([1])] * 2, ["x", "x"])
    with pytest.raises(InputError, match="there is more than one column 'x'"):
        score_record_batch(twice, columns=["x"])


def test_options_are_checked_when_the_scorer_is_made() -> None:
    with pytest.raises(TypeError, match="BatchScorer has no option 'treads'; did you mean"):
        BatchScorer(treads=2)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="threads must be a whole number"):
        BatchScorer(threads=0)
    with pytest.raises(InputError, match="at least one metric"):
        BatchScorer([])
    with pytest.raises(InputError, match="needs --profile grounded"):
        BatchScorer(["unsupported_numbers"])
    with pytest.raises(InputError, match="unknown schema 'raags'"):
        BatchScorer(schema="raags").output_schema(TYPES)


def test_only_record_batches_are_taken() -> None:
    with pytest.raises(InputError, match="must be a pyarrow record batch, got Table"):
        BatchScorer()(TYPES.empty_table())


@every_row(("score", "extra"), [(score_spark, "spark"), (score_ray, "ray"), (score_dask, "dask")])
def test_a_missing_engine_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, score: Any, extra: str
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(distributed, "import_module", missing)
    with pytest.raises(MissingExtraError, match=rf"pip install 'rag-eval-native\[{extra}\]'"):
        score(None)


def test_no_engine_is_imported() -> None:
    code = (
        "import sys, rag_eval.distributed as d; d.BatchScorer(); "
        "print(*{'pyspark', 'ray', 'dask', 'pandas', 'pyarrow'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
