"""Rows drawn to be labelled, and what is estimated from their labels."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_eval.errors import InputError
from rag_eval.labels.draws import COLUMNS, LabelDraw, ids_digest, read_draw, write_draw
from rag_eval.labels.estimating import LabelEstimate, estimate_labels
from rag_eval.labels.sampling import sample_for_labels
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.stats import ppi_difference, ppi_mean
from rag_eval.stats.sampling_designs import (
    assumed_spreads,
    inclusion_probabilities,
    neyman_allocation,
    proportional_draw,
    score_strata,
    stratified_draw,
    uniform_draw,
)
from tests.tables import every_row

N = 300


def truth(row: int) -> int:
    return int(row % 10 < 7)


def score(row: int) -> float:
    return round(0.2 + 0.5 * truth(row) + 0.3 * (row * 37 % 101) / 101, 4)


def score_file(path: Path, shift: float = 0.0, rows: Iterable[int] = range(N)) -> Path:
    lines = [
        {
            "id": f"q{row}",
            "faithfulness": score(row) - shift,
            "topic": f"t{row % 30}",
            "text": "é=1",
        }
        for row in rows
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    return score_file(tmp_path / "scores.jsonl")


def read_table(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_csv(path: Path, rows: list[dict[str, Any]], bom: bool = False) -> Path:
    with path.open("w", encoding="utf-8-sig" if bom else "utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def filled(
    draw: Path, label: Callable[[int], object] = truth, change: dict[str, Any] | None = None
) -> Path:
    """The table with its labels, beside it."""
    rows = read_table(draw)
    for row in rows:
        row["label"] = label(int(row["id"][1:]))
        row |= change or {}
    return write_csv(draw.with_name(f"{draw.stem}-filled.csv"), rows)


def labelled(scores: Path, n: int = 60, **options: Any) -> Path:
    target = scores.with_name(f"draw-{len(list(scores.parent.iterdir()))}.csv")
    sample_for_labels(scores, n, output=target, **options)
    return target


def estimate(scores: Path, labels: Path, **options: Any) -> LabelEstimate:
    return estimate_labels(scores, labels, **{"metric": "faithfulness", **options})


# ------------------------------------------------------------------------------------- designs


def test_a_uniform_draw_holds_each_row_once() -> None:
    drawn = uniform_draw(50, 20, seed=4)
    assert len(set(drawn.rows.tolist())) == 20
    assert (drawn.rows == np.sort(drawn.rows)).all()
    assert set(drawn.probabilities.tolist()) == {20 / 50}
    assert drawn.rows.tolist() != uniform_draw(50, 20, seed=5).rows.tolist()


@every_row("design", ["uniform", "proportional", "strata"])
def test_rows_are_drawn_as_often_as_their_probability_says(design: str) -> None:
    n_draws = 1_500
    sizes = np.array([1.0, 2, 3, 4, 30, 2, 2, 6])
    strata = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    counts, probabilities = np.zeros(8), np.zeros(8)
    for seed in range(n_draws):
        if design == "uniform":
            drawn = uniform_draw(8, 4, seed=seed)
        elif design == "proportional":
            drawn = proportional_draw(sizes, 4, seed=seed)
        else:
            drawn = stratified_draw(strata, [0.3, 0.3], 5, seed=seed)
        assert len(set(drawn.rows.tolist())) == len(drawn.rows)
        counts[drawn.rows] += 1
        probabilities[drawn.rows] = drawn.probabilities
    errors = np.sqrt(probabilities * (1 - probabilities) / n_draws)
    assert (np.abs(counts / n_draws - probabilities) <= 4 * errors).all()


def test_neighbours_can_be_drawn_together() -> None:
    """Steps along the rows in the order of the file would never take two that are side by side."""
    draws = [set(proportional_draw(np.ones(10), 5, seed=seed).rows.tolist()) for seed in range(50)]
    assert any({0, 1} <= rows for rows in draws)


def test_probabilities_are_in_proportion_and_add_up() -> None:
    found = inclusion_probabilities([1, 2, 3, 4, 30], 3)
    assert found.sum() == pytest.approx(3)
    # The fifth is certain; the others share two.
    assert found.tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8, 1])
    assert inclusion_probabilities([1, 5], 2).tolist() == [1, 1]


def test_allocation_by_hand() -> None:
    # Sizes times spreads: 20, 20, 40 of 80.
    assert neyman_allocation([100, 200, 100], [0.2, 0.1, 0.4], 40) == [10, 10, 20]
    # Without any spread two of each are drawn, then the rest goes where rows are left.
    assert neyman_allocation([10, 10], [0, 0.5], 8) == [2, 6]
    assert neyman_allocation([1, 3, 50], [0.5, 0.5, 0.1], 10) == [1, 2, 7]
    assert neyman_allocation([1, 3, 50], [0.5, 9, 0.1], 10) == [1, 3, 6]


def test_strata_keep_equal_scores_together_and_null_scores_apart() -> None:
    values = [0.1, 0.1, 0.1, 0.1, 0.5, 0.9, np.nan, 0.9]
    found = score_strata(values, 4).tolist()
    assert found[0] == found[1] == found[2] == found[3] == 0
    assert found[5] == found[7] == found[4] + 1
    assert found[6] == max(found)
    assert sorted(set(found)) == list(range(max(found) + 1))


def test_no_row_is_assumed_surer_than_half_as_unsure_as_another() -> None:
    found = assumed_spreads([0, 0.5, 1, 0.2, np.nan, 7])
    assert found.tolist() == pytest.approx([0.25, 0.5, 0.25, 0.4, 0.5, 0.25])


@every_row(
    ("call", "message"),
    [
        (lambda: uniform_draw(5, 6, seed=0), "cannot draw 6 of 5 rows"),
        (lambda: uniform_draw(5, 0, seed=0), "must be a whole number of at least 1"),
        (lambda: uniform_draw(5, 2, seed=-1), "seed must be"),
        (lambda: proportional_draw([1, 0, 2], 2, seed=0), "sizes must be finite numbers above 0"),
        (lambda: proportional_draw([1, 2], 3, seed=0), "cannot draw 3 of 2 rows"),
        (lambda: neyman_allocation([5, 5], [1, 1], 3), "in 2 strata with at least 2 rows each"),
        (lambda: neyman_allocation([5, 5], [1], 6), "spreads must be 2 numbers"),
    ],
)
def test_draws_that_cannot_be_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


# --------------------------------------------------------------------------------------- files


@every_row("name", ["draw.csv", "draw.jsonl", "draw.jsonl.gz"])
def test_a_draw_is_read_back_as_it_was_written(scores: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    for design in ("uniform", "strata"):
        drawn = sample_for_labels(
            scores, 40, output=target, by="faithfulness", design=design, seed=3
        )
        found = read_draw(target)
        assert dict(found.probabilities) == dict(drawn.probabilities)
        assert found.strata == drawn.strata
        assert found.to_dict() == drawn.to_dict()
        assert (drawn.design, drawn.seed, drawn.n_rows, drawn.n_drawn) == (design, 3, N, 40)
        target.unlink()
    # A draw that an earlier version made is still read, with its probabilities.
    unequal = {
        name: p * (1 + number % 2) / 2
        for number, (name, p) in enumerate(drawn.probabilities.items())
    }
    older = replace(drawn, design="proportional", strata=None, probabilities=unequal)
    write_draw(older, target)
    assert read_draw(target).to_dict() == older.to_dict()
    assert dict(read_draw(target).probabilities) == unequal


@every_row(
    ("lowest", "n_strata"),
    [(0.0, 2), (1.0, 2), (0.5, 4)],
)
def test_a_lumpy_score_has_two_strata_at_least(lowest: float, n_strata: int) -> None:
    """Where most rows have the lowest score, all were in one stratum, as in a uniform draw."""
    values = np.concatenate([np.full(90, lowest), np.linspace(0.6, 0.9, 10)])
    if lowest == 0.5:
        values[:90] = np.linspace(0, 1, 90)
    found = score_strata(values, 4)
    assert len(set(found.tolist())) == n_strata
    assert len(set(values[found == found[0]].tolist())) < len(set(values.tolist()))


def test_scores_that_are_all_equal_have_no_strata(tmp_path: Path) -> None:
    path = tmp_path / "equal.jsonl"
    path.write_text(
        "".join(f'{{"id": "r{row}", "faithfulness": 1}}\n' for row in range(9)), "utf-8"
    )
    with pytest.raises(InputError, match="needs rows with different scores"):
        sample_for_labels(path, 4, by="faithfulness", design="strata")


def test_the_table_is_ready_to_be_filled_in(scores: Path, tmp_path: Path) -> None:
    drawn = sample_for_labels(
        scores, 30, output=tmp_path / "d.csv", by="faithfulness", texts=["text", "topic"]
    )
    rows = read_table(tmp_path / "d.csv")
    assert tuple(rows[0]) == (*COLUMNS, "text", "topic")
    assert [row["id"] for row in rows] == list(drawn.probabilities)
    for row in rows:
        number = int(row["id"][1:])
        assert (row["label"], float(row["score"])) == ("", score(number))
        assert (row["text"], row["topic"]) == ("é=1", f"t{number % 30}")
    # Or spreadsheets would take é for two letters.
    assert (tmp_path / "d.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_the_same_seed_draws_the_same_rows(scores: Path) -> None:
    first, again, other = (sample_for_labels(scores, 40, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert set(first.probabilities) != set(other.probabilities)


def test_a_pilot_says_where_labels_spread(scores: Path) -> None:
    drawn = sample_for_labels(
        scores, 50, by="faithfulness", design="strata", n_strata=2, spreads=[0.5, 0.0]
    )
    assert drawn.strata is not None
    assert sorted(drawn.strata.values()).count("s1") == 2


def test_labels_are_never_written_over(scores: Path, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("mine")
    with pytest.raises(InputError, match="already exists, and labels in it would be lost"):
        sample_for_labels(scores, 10, output=tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_text() == "mine"


@every_row(
    ("options", "message"),
    [
        ({"n": N + 1}, f"cannot draw {N + 1} rows: .* has only {N}"),
        ({"n": 0}, "n must be a whole number of at least 1"),
        ({"design": "worst"}, "design must be 'uniform' or 'strata', got 'worst'"),
        ({"design": "strata"}, "design 'strata' needs by"),
        ({"output": "draw.xlsx"}, "the file name must end in .csv or .jsonl"),
        ({"by": "nothing"}, "nothing"),
        ({"texts": ["score"], "output": "d.csv"}, "score"),
    ],
)
def test_samples_that_cannot_be_are_refused(
    scores: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    if "output" in options:
        options = options | {"output": tmp_path / options["output"]}
    with pytest.raises(InputError, match=message):
        sample_for_labels(scores, **({"n": 10} | options))


def test_the_digest_is_of_the_ids_in_any_order() -> None:
    assert ids_digest(["a", "b", "c"]) == ids_digest(["c", "a", "b"])
    assert ids_digest(["ab", "c"]) != ids_digest(["a", "bc"])
    # Or a spreadsheet could take it for a number.
    assert re.fullmatch("ids-[0-9a-f]{16}", ids_digest(["\ud800"]))


# ------------------------------------------------------------------------------------ estimate


def test_files_give_what_arrays_give(scores: Path) -> None:
    labels = filled(labelled(scores))
    rows = [int(row["id"][1:]) for row in read_table(labels)]
    found = estimate(scores, labels)
    expected = ppi_mean([score(r) for r in range(N)], [truth(r) for r in rows], rows)
    assert found.result == expected
    assert found.estimand == "mean human verdict"
    assert found.to_dict()["interval"] == expected.interval.to_dict()
    assert (found.n_missing, found.labels_name, found.notes) == (0, str(labels), ())


def test_strata_of_the_draw_are_those_of_the_estimate(scores: Path) -> None:
    draw = labelled(scores, by="faithfulness", design="strata", n_strata=3)
    found = estimate(scores, filled(draw, lambda row: int(row % 3 > 0)))
    record = read_draw(draw)
    assert record.strata is not None
    rows = [int(name[1:]) for name in record.probabilities]
    expected = ppi_mean(
        [score(r) for r in range(N)],
        [int(r % 3 > 0) for r in rows],
        rows,
        probabilities=list(record.probabilities.values()),
        strata=[int(name[1:]) for name in record.strata.values()],
    )
    assert found.result == expected


def test_a_table_survives_a_spreadsheet(scores: Path, tmp_path: Path) -> None:
    """Sorted, columns turned round, one more of them, a mark in front, fewer digits."""
    draw = filled(labelled(scores, by="faithfulness", design="strata"))
    rows = sorted(read_table(draw), key=lambda row: str(row["score"]))
    turned = [
        {
            "comment": 'said, "well"\nsupported',
            **dict(reversed(row.items())),
            "label": "TRUE" if row["label"] == "1" else "0.0",
            "inclusion_probability": f"{float(row['inclusion_probability']):.9f}",
        }
        for row in rows
    ]
    again = estimate(scores, write_csv(tmp_path / "again.csv", turned, bom=True)).result
    found = estimate(scores, draw).result
    assert again.estimate == pytest.approx(found.estimate, rel=1e-6)
    assert again.interval.low == pytest.approx(found.interval.low, rel=1e-6)


def test_the_estimand_is_named_after_who_labelled(scores: Path) -> None:
    labels = filled(labelled(scores))
    human = estimate(scores, labels)
    judge = estimate(scores, labels, label_source="judge")
    assert (human.estimand, judge.estimand) == ("mean human verdict", "mean judge verdict")
    assert "needs human labels" in judge.assumptions[0]
    grades = filled(labelled(scores), lambda row: 1 + row % 5)
    assert estimate(scores, grades, bounds=(1, 5)).estimand == "mean human label"


def test_two_annotators_are_averaged(scores: Path, tmp_path: Path) -> None:
    rows = read_table(filled(labelled(scores)))
    both = [row | {"annotator": who, "label": who == "b"} for row in rows for who in "ab"]
    found = estimate(scores, write_csv(tmp_path / "both.csv", both))
    assert found.result.estimate == pytest.approx(0.5)
    assert found.notes == (f"{tmp_path / 'both.csv'}: labels are the mean of 2 annotators",)


def test_clusters_come_from_the_scores(scores: Path) -> None:
    labels = filled(labelled(scores))
    found = estimate(scores, labels, target="population", cluster_by="topic").result
    assert found.n_clusters is not None
    assert 20 < found.n_clusters <= 30
    with pytest.raises(InputError, match="cluster_by needs target 'population'"):
        estimate(scores, labels, cluster_by="topic")


def test_two_systems_are_compared_row_by_row(scores: Path, tmp_path: Path) -> None:
    """The rows of the other file stand in another order."""
    other = score_file(tmp_path / "other.jsonl", 0.1, reversed(range(N)))
    draw = labelled(scores)
    labels = filled(draw)
    theirs = filled(draw.rename(tmp_path / "theirs.csv"), lambda row: int(row % 10 < 5))
    found = estimate(scores, labels, against=other, against_labels=theirs)
    rows = [int(row["id"][1:]) for row in read_table(labels)]
    expected = ppi_difference(
        [score(r) for r in range(N)],
        [score(r) - 0.1 for r in range(N)],
        [truth(r) for r in rows],
        [int(r % 10 < 5) for r in rows],
        rows,
    )
    assert found.result.estimate == pytest.approx(expected.estimate)
    assert found.result.interval.low == pytest.approx(expected.interval.low)
    assert (found.estimand, found.against_name) == ("difference in mean human verdict", str(other))
    for lacking in ({"against": other}, {"against_labels": theirs}):
        with pytest.raises(InputError, match=r"needs the scores .* and the labels"):
            estimate(scores, labels, **lacking)


# ---------------------------------------------------------------------------------- what is not


def test_missing_labels_are_an_assumption(scores: Path) -> None:
    some = filled(labelled(scores), lambda row: "" if row % 7 == 0 else truth(row))
    n_missing = sum(row["label"] == "" for row in read_table(some))
    with pytest.raises(InputError, match=f"drawn rows without a label: {n_missing} of 60"):
        estimate(scores, some)
    found = estimate(scores, some, allow_missing_labels=True)
    assert (found.n_missing, found.result.n_labels) == (n_missing, 60 - n_missing)
    assert any("assumed to be missing at random" in text for text in found.assumptions)
    rows = [int(row["id"][1:]) for row in read_table(some) if row["label"] != ""]
    # As if only these had been drawn.
    expected = ppi_mean([score(r) for r in range(N)], [truth(r) for r in rows], rows)
    assert found.result.interval.low == pytest.approx(expected.interval.low)


def test_rows_that_were_deleted_are_missing(scores: Path, tmp_path: Path) -> None:
    rows = read_table(filled(labelled(scores)))
    fewer = write_csv(tmp_path / "fewer.csv", rows[:50])
    with pytest.raises(InputError, match="drawn rows without a label: 10 of 60"):
        estimate(scores, fewer)
    assert estimate(scores, fewer, allow_missing_labels=True).n_missing == 10


def test_a_stratum_without_labels_is_refused(scores: Path) -> None:
    draw = labelled(scores, by="faithfulness", design="strata", n_strata=2)
    strata = read_draw(draw).strata
    assert strata is not None
    half = filled(draw, lambda row: truth(row) if strata[f"q{row}"] == "s0" else "")
    with pytest.raises(InputError, match="no row of stratum s1 has a label"):
        estimate(scores, half, allow_missing_labels=True)


def test_labels_of_other_rows_are_refused(scores: Path, tmp_path: Path) -> None:
    labels = filled(labelled(scores))
    other = score_file(tmp_path / "other.jsonl", rows=range(1, N + 1))
    with pytest.raises(InputError, match="the labelled rows were drawn from other rows"):
        estimate(other, labels)
    with pytest.raises(InputError, match=r"drawn from other rows .*299 rows"):
        estimate(score_file(tmp_path / "fewer.jsonl", rows=range(1, N)), labels)


@every_row("design", ["cascade", "worst-first", "convenience"])
def test_rows_that_were_not_drawn_at_random_are_refused(tmp_path: Path, design: str) -> None:
    scores = score_file(tmp_path / "scores.jsonl")
    labels = filled(labelled(scores), change={"design": design})
    with pytest.raises(InputError, match=f"chosen by '{design}', not at random.* labels sample N"):
        estimate(scores, labels)


@every_row("name", ["inclusion_probability", "design", "ids_digest", "n_drawn"])
def test_labels_without_the_record_of_their_draw_are_refused(tmp_path: Path, name: str) -> None:
    scores = score_file(tmp_path / "scores.jsonl")
    rows = read_table(filled(labelled(scores)))
    without = [{key: value for key, value in row.items() if key != name} for row in rows]
    with pytest.raises(
        InputError, match=f"{name} is missing. .*draw rows with rag-eval labels sample N SCORES"
    ):
        estimate(scores, write_csv(tmp_path / "without.csv", without))


def test_rows_of_two_draws_are_refused(scores: Path, tmp_path: Path) -> None:
    rows = [*read_table(filled(labelled(scores))), *read_table(filled(labelled(scores, seed=1)))]
    with pytest.raises(
        InputError, match="seed is '1', and '0' above: these rows are from two draws"
    ):
        estimate(scores, write_csv(tmp_path / "two.csv", rows))


@every_row(
    ("change", "message"),
    [
        ({"inclusion_probability": "1.5"}, "must be above 0 and at most 1, got '1.5'"),
        ({"inclusion_probability": "nan"}, "must be above 0 and at most 1"),
        ({"inclusion_probability": "0.9"}, "the probabilities imply 67 rows, but there are 300"),
        ({"n_drawn": "many"}, "n_drawn must be a whole number, got 'many'"),
        ({"label": "good"}, "label must be a number"),
        ({"design": "strata"}, "has no stratum, but the draw has"),
    ],
)
def test_tables_that_were_tampered_with_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    scores = score_file(tmp_path / "scores.jsonl")
    with pytest.raises(InputError, match=message):
        estimate(scores, filled(labelled(scores), change=change))


def test_rows_of_repeats_are_not_drawn_from(scores: Path, tmp_path: Path) -> None:
    again = score_file(tmp_path / "again.jsonl")
    with pytest.raises(InputError, match="has repeated rows"):
        sample_for_labels([scores, again], 10)


def calibrated_run(**options: Any) -> ScoredRun:
    """A run whose signature says that scores were calibrated."""
    from rag_eval.options.signature import Signature

    options = options or {"calibrations": {"faithfulness": "0123456789ab"}}
    signature = Signature("overlap", 1, "17.0.0", options)
    return ScoredRun(
        name="calibrated",
        ids=[f"q{row}" for row in range(N)],
        metrics=("faithfulness",),
        scores=np.array([[score(row)] for row in range(N)]),
        null_reasons=np.zeros((N, 1), np.uint8),
        metric_passed=np.ones((N, 1), np.int8),
        composite=np.ones(N),
        passed=np.ones(N, np.int8),
        signature=signature,
    )


def test_a_calibration_on_the_same_labels_is_refused(scores: Path, tmp_path: Path) -> None:
    run, labels = calibrated_run(), filled(labelled(scores))
    fitted = calibrated_run(faithfulness_weights="0123456789ab")
    for each in (run, fitted):
        with pytest.raises(InputError, match=r"were calibrated on labels.*--calibration-labels"):
            estimate_labels(each, labels, metric="faithfulness")
    with pytest.raises(InputError, match=r": 60 \('q.*agree too well"):
        estimate_labels(run, labels, metric="faithfulness", calibration_labels=labels)
    drawn = set(read_draw(labels).probabilities)
    others = [{"id": f"q{row}", "label": 1} for row in range(N) if f"q{row}" not in drawn]
    apart = write_csv(tmp_path / "apart.csv", others)
    found = estimate_labels(run, labels, metric="faithfulness", calibration_labels=apart)
    assert found.result == estimate(scores, labels).result


def test_a_source_must_be_named(scores: Path) -> None:
    with pytest.raises(InputError, match="label_source must not be empty"):
        estimate(scores, filled(labelled(scores)), label_source=" ")


def test_as_json(scores: Path) -> None:
    found = estimate(scores, filled(labelled(scores, seed=5)))
    value = json.loads(json.dumps(found.to_dict()))
    assert value["draw"] == {
        "design": "uniform",
        "seed": 5,
        "nRows": N,
        "nDrawn": 60,
        "idsDigest": ids_digest(f"q{row}" for row in range(N)),
        "drawnBy": None,
        "drawnFrom": str(scores),
    }
    assert (value["estimand"], value["nMissingLabels"]) == ("mean human verdict", 0)
    assert isinstance(found.draw, LabelDraw)


def test_rows_that_were_added_to_a_draw_are_refused(scores: Path, tmp_path: Path) -> None:
    rows = read_table(filled(labelled(scores)))
    there = {row["id"] for row in rows}
    picked = next(f"q{row}" for row in range(N) if f"q{row}" not in there)
    added = write_csv(tmp_path / "added.csv", [*rows, {**rows[0], "id": picked}])
    with pytest.raises(InputError, match="61 rows, but 60 were drawn"):
        estimate(scores, added)
    renamed = write_csv(tmp_path / "renamed.csv", [{**rows[0], "id": " q7"}, *rows[1:]])
    with pytest.raises(InputError, match=r"row ' q7' is not in .*scores\.jsonl"):
        estimate(scores, renamed)


def test_labels_of_one_system_are_not_those_of_another(scores: Path, tmp_path: Path) -> None:
    labels = filled(labelled(scores))
    other = score_file(tmp_path / "other.jsonl", shift=0.1)
    with pytest.raises(InputError, match="bounds apply to the labels of one system"):
        estimate(scores, labels, against=other, against_labels="b.csv", bounds=(0.0, 1.0))
    with pytest.raises(InputError, match="is given for both systems"):
        estimate(scores, labels, against=other, against_labels=labels)


def test_a_table_of_another_country_says_the_same(scores: Path, tmp_path: Path) -> None:
    labels = filled(labelled(scores, by="faithfulness", design="strata"))
    rows = read_table(labels)
    path = tmp_path / "semicolons.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(rows[0])
        writer.writerows([str(cell).replace(".", ",") for cell in row.values()] for row in rows)
        writer.writerow([""] * len(rows[0]))
    assert estimate(scores, path).result == estimate(scores, labels).result


def test_half_a_character_is_not_written_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl"
    path.write_text('{"id": "\\ud800", "faithfulness": 0.5}\n', "utf-8")
    with pytest.raises(InputError, match=r"draw\.csv: .* lone surrogate"):
        sample_for_labels(path, 1, output=tmp_path / "draw.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["half.jsonl"]
    sample_for_labels(path, 1, output=tmp_path / "draw.jsonl")
    assert list(read_draw(tmp_path / "draw.jsonl").probabilities) == ["\ud800"]
