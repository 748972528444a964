"""Labels as files: folders of YAML, tables, templates; and what comes of holding scores to them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_eval.errors import InputError
from rag_eval.labels.comparing_labels import compare_labels, contamination_warnings, is_contaminated
from rag_eval.labels.gold_dataset import read_gold_dataset
from rag_eval.labels.label_files import check_labels, compare_label_files
from rag_eval.labels.label_sets import LabelSet, read_labels
from rag_eval.labels.omk_gold import column_of_omk_report
from rag_eval.labels.score_columns import ScoreColumn, column_of_run
from rag_eval.labels.templates import FILES, write_template
from rag_eval.results.verdicts import NO_VERDICT
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.stats import pearson, spearman, weighted_kappa
from rag_eval.stats.krippendorff import krippendorff_alpha
from tests.tables import every_row

METADATA = """
metadata:
  annotator: anna
  annotatedAt: "2026-01-31"
  version: "1"
"""
TWO = "annotations:\n  - {sample_id: a, score: 2}\n  - {sample_id: b, score: 4}\n"
NAN = math.nan


def folder(path: Path, **files: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / f"{name}.yaml").write_text(text, "utf-8")
    return path


def label_set(ratings: list[list[float]], **more: Any) -> LabelSet:
    return LabelSet(
        name="labels",
        ids=tuple(f"q{n}" for n in range(len(ratings[0]))),
        annotators=tuple(["anna", "ben", "cleo"][: len(ratings)]),
        ratings=np.array(ratings, np.float64),
        **more,
    )


def column(scores: list[float | None], **more: Any) -> ScoreColumn:
    named = {f"q{n}": score for n, score in enumerate(scores)}
    return ScoreColumn(name="scores", metric="faithfulness", scores=named, **more)


# ---------------------------------------------------------------------------- folders of YAML


def test_a_dataset_is_read_with_its_metadata(tmp_path: Path) -> None:
    scale = "  scale: {min: 1, max: 5}\n  notes: blind\n"
    found = read_gold_dataset(folder(tmp_path, m=METADATA + scale, a=TWO)).dataset
    assert found is not None
    assert found.metadata.annotator == "anna"
    assert found.metadata.annotated_at == "2026-01-31"
    assert (found.metadata.scale, found.metadata.notes) == ((1.0, 5.0), "blind")
    assert [(one.sample_id, one.score) for one in found.annotations] == [("a", 2), ("b", 4)]


@every_row(
    ("text", "message"),
    [
        (
            "annotations: [{sample_id: 7, score: 1}]",
            "sample_id must be a non-empty string.* in quotes",
        ),
        (
            "annotations: [{sample_id: 2026-01-01, score: 1}]",
            "got the date 2026-01-01; write .* quotes",
        ),
        ("annotations: [{sample_id: a, score: true}]", "score of 'a' must be a number, got bool"),
        ("annotations: [{sample_id: '', score: 1}]", "sample_id is empty; fill it in"),
        (
            "annotations: [{sample_id: c, score: .nan}]",
            "score of .c. must be a number, got float nan",
        ),
        ("metadata: {annotator: ben, annotatedAt: x, version: '1'}", "metadata is repeated"),
        ("just a text", "must be a mapping, got 'just a text'"),
        ("a: *b", "not YAML|is not defined"),
        ("a: 1\na: 2", "is repeated"),
    ],
)
def test_what_is_not_sound_is_listed_and_the_rest_is_read(
    tmp_path: Path, text: str, message: str
) -> None:
    found = read_gold_dataset(folder(tmp_path, a_meta=METADATA, b=TWO, z=text))
    (issue,) = found.issues
    assert issue.file == "z.yaml"
    with pytest.raises(InputError, match=message):
        raise InputError(issue.message)
    assert found.dataset is not None
    assert len(found.dataset.annotations) == 2
    assert not found.ok


@every_row(
    ("metadata", "message"),
    [
        ("metadata: [1]", "metadata must be a mapping, got list"),
        ("metadata: {}", "metadata.annotator must be a non-empty string, got null"),
        (METADATA.replace('"1"', "1"), "metadata.version .* write it in quotes"),
        (
            METADATA.replace('"2026-01-31"', "2026-01-31"),
            "metadata.annotatedAt .* got the date .* quotes",
        ),
        (METADATA.replace("anna", '""'), "metadata.annotator is empty; fill it in"),
        (METADATA + "  scale: {min: 1}\n", "metadata.scale must have the numbers min and max"),
        (METADATA + "  scale: {min: 5, max: 1}\n", "metadata.scale.max must be .* got 5 to 1"),
        (METADATA + "  scale: {min: 5, max: 5}\n", "metadata.scale.max must be .* got 5 to 5"),
    ],
)
def test_without_sound_metadata_there_is_no_dataset(
    tmp_path: Path, metadata: str, message: str
) -> None:
    found = read_gold_dataset(folder(tmp_path, m=metadata, a=TWO))
    assert found.dataset is None
    assert [issue.file for issue in found.issues] == ["m.yaml", "."]
    with pytest.raises(InputError, match=message):
        raise InputError(found.issues[0].message)
    assert str(found.issues[1]) == "the folder: no valid metadata in any file"
    with pytest.raises(InputError, match=f"{tmp_path}: m.yaml: {message}"):
        read_labels(tmp_path)


@every_row(
    ("text", "message"),
    [
        ("labels: []", "z.yaml: ignored, because it has neither metadata nor annotations"),
        ("- {sample_id: c, score: 1}", "z.yaml: ignored, because it is a list; annotations belong"),
        ("annotations: {a: 1}", "z.yaml: annotations is ignored, because it is not a list"),
        ("annotations:", "z.yaml: annotations is ignored, because it is not a list"),
        ("metadata: null", "z.yaml: metadata is ignored, because it is empty"),
        ("metadata: false", "z.yaml: metadata is ignored, because it is empty"),
        ("annotations: [{sample_id: ' ', score: 3}]", "z.yaml, annotations[0]: sample_id is blank"),
    ],
)
def test_parts_that_are_passed_over_are_warnings(tmp_path: Path, text: str, message: str) -> None:
    found = read_gold_dataset(folder(tmp_path, a_meta=METADATA, b=TWO, z=text))
    assert found.ok
    (warning,) = found.warnings
    assert warning.startswith(message)


def test_a_blank_name_is_read_and_warned_of(tmp_path: Path) -> None:
    found = read_gold_dataset(folder(tmp_path, m=METADATA.replace("anna", '" "'), a=TWO))
    assert found.ok
    assert found.warnings == ("m.yaml: metadata.annotator is blank",)
    assert read_labels(tmp_path).annotators == (" ",)


@every_row(
    ("files", "issues"),
    [
        ({}, [".: there is no YAML file"]),
        ({"a": METADATA}, [".: there are no labels yet"]),
        ({"a": TWO}, [".: no valid metadata in any file"]),
        (
            {"a": "foo: 1"},
            [".: no valid metadata in any file", ".: there are no labels yet"],
        ),
        (
            {"a": ""},
            [
                "a.yaml: must be a mapping, got null",
                ".: no valid metadata in any file",
                ".: there are no labels yet",
            ],
        ),
        (
            {"": METADATA, "b": "annotations: [3]"},
            ["b.yaml: must be a mapping of", ".: no valid annotations in any file"],
        ),
    ],
)
def test_each_part_that_a_folder_lacks_is_an_issue(
    tmp_path: Path, files: dict[str, str], issues: list[str]
) -> None:
    found = read_gold_dataset(folder(tmp_path, **files))
    assert found.dataset is None
    shown = [f"{issue.file}: {issue.message}" for issue in found.issues]
    assert len(shown) == len(issues)
    assert all(map(str.startswith, shown, issues)), shown


def test_what_looks_like_a_mistake_is_a_warning_and_no_issue(tmp_path: Path) -> None:
    scale = METADATA + "  scale: {min: 1, max: 3}\n"
    path = folder(tmp_path, m=scale, a=TWO, b="- {sample_id: c, score: 1}", c="labels: []")
    found = read_gold_dataset(path)
    assert found.ok
    assert [warning.partition(":")[0] for warning in found.warnings[:2]] == ["b.yaml", "c.yaml"]
    assert found.warnings[2] == ("1 scores are outside the scale 1 to 3, first that of 'b': 4")


def test_a_score_that_is_not_finite_skips_its_row_alone(tmp_path: Path) -> None:
    """Regression: one ``.nan`` made the whole file unreadable."""
    scores = {"a": "4", "b": ".nan", "c": ".inf", "d": "-.INF", "e": "1e400", "f": "2"}
    rows = [f"  - {{sample_id: {name}, score: {score}}}" for name, score in scores.items()]
    found = read_gold_dataset(folder(tmp_path, a=METADATA + "annotations:\n" + "\n".join(rows)))
    assert found.dataset is not None
    assert [one.sample_id for one in found.dataset.annotations] == ["a", "f"]
    assert [(issue.file, issue.index) for issue in found.issues] == [
        ("a.yaml", index) for index in (1, 2, 3, 4)
    ]
    assert str(found.issues[0]).endswith("score of 'b' must be a number, got float nan")


def test_a_file_that_is_no_text_is_an_issue(tmp_path: Path) -> None:
    folder(tmp_path, m=METADATA, a=TWO)
    (tmp_path / "b.yml").write_bytes(b"\xff\xfe")
    (issue,) = read_gold_dataset(tmp_path).issues
    assert issue.to_dict() == {"file": "b.yml", "index": None, "message": "not UTF-8 at byte 0"}
    with pytest.raises(InputError, match="folder not found"):
        read_gold_dataset(tmp_path / "nowhere")


# ------------------------------------------------------------------------------------- tables


def test_a_table_may_hold_several_people(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id,label,annotator\na,1,anna\nb,true,anna\na,0.5,ben\nc,,ben\n", "utf-8")
    found = read_labels(path)
    assert (found.ids, found.annotators) == (("a", "b", "c"), ("anna", "ben"))
    assert np.array_equal(found.ratings, [[1, 1, NAN], [0.5, NAN, NAN]], equal_nan=True)
    assert found.notes == (f"{path}: rows without a label: 1 of 4",)


@every_row(
    ("text", "message"),
    [
        ("id,label\na,good\n", r'line 2 \("a"\): label must be a number, or true or false'),
        ("id,label\na,inf\n", "label must be a number"),
        ("id,label\na,1\na,1\n", "id 'a' has two labels, in line 2 .* and in line 3"),
        ("id,label\n,1\n", r"line 2 .*: id is missing"),
        ("id,labels\na,1\n", "no field 'label'; did you mean 'labels'"),
        ("id,label\na,\n", "the column 'label' is empty; fill it with labels"),
    ],
)
def test_a_table_that_is_not_sound_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        read_labels(path)
    check = check_labels(path)
    assert (check.ok, check.labels) == (False, None)
    assert len(check.issues) == 1


def test_folders_of_several_people_are_put_side_by_side(tmp_path: Path) -> None:
    anna = folder(tmp_path / "anna", m=METADATA, a=TWO)
    ben = folder(
        tmp_path / "ben",
        m=METADATA.replace("anna", "ben"),
        a="annotations: [{sample_id: c, score: 1}, {sample_id: b, score: 5}]",
    )
    found = read_labels(anna, ben)
    assert (found.ids, found.annotators) == (("a", "b", "c"), ("anna", "ben"))
    assert np.array_equal(found.ratings, [[2, 4, NAN], [NAN, 5, 1]], equal_nan=True)
    with pytest.raises(InputError, match="an earlier file also has labels by 'anna'"):
        read_labels(anna, anna)
    other = folder(
        tmp_path / "other",
        m=METADATA.replace("anna", "cleo") + "  scale: {min: 1, max: 5}\n",
        a=TWO,
    )
    with pytest.raises(InputError, match=r"labels on different scales .* no scale.* 1 to 5"):
        read_labels(anna, other)


# ----------------------------------------------------------------------------------- comparing


def test_scores_and_labels_are_paired_by_id() -> None:
    labels = label_set([[0.0, 0.5, 1.0, NAN, 0.5, 1.0]])
    scores = {"q0": 0.1, "q1": None, "q2": 0.8, "q3": 0.3, "q5": 0.9, "else": 0.1}
    found = compare_labels(labels, ScoreColumn(name="s", metric="faithfulness", scores=scores))
    assert (found.n_labels, found.n_pairs) == (5, 3)
    assert (found.missing, found.unscored) == (("q4",), ("q1",))
    left, right = [0.0, 1.0, 1.0], [0.1, 0.8, 0.9]
    assert found.alpha is not None
    assert found.alpha.estimate == krippendorff_alpha([left, right])
    for name, expected in (
        ("quadratic_kappa", weighted_kappa(left, right)),
        ("linear_kappa", weighted_kappa(left, right, weights="linear")),
        ("pearson", pearson(left, right)),
        ("spearman", spearman(left, right)),
    ):
        one = found.coefficients[name]  # type: ignore[index]
        assert one is not None
        assert one.estimate == expected
    assert (found.people, found.each, found.verdicts) == (None, (), None)
    assert found.notes == ("only 3 pairs of label and score: the agreement is only indicative",)


def test_labels_are_put_on_the_scale_of_the_scores() -> None:
    labels = label_set([[1.0, 2.0, 3.0, 5.0]], scale=(1.0, 5.0))
    found = compare_labels(labels, column([0.0, 0.25, 0.5, 1.0]))
    assert found.alpha is not None
    assert found.alpha.estimate == 1
    # What the caller says of the scale goes before what the file says.
    found = compare_labels(labels, column([0.1, 0.2, 0.3, 0.5]), scale=(0.0, 10.0))
    assert found.alpha is not None
    assert found.alpha.estimate == pytest.approx(1)
    with pytest.raises(InputError, match="scale must have its lower end first, got 5 to 5"):
        compare_labels(labels, column([0.5]), scale=(5.0, 5.0))


def test_on_unlike_scales_only_the_order_is_compared() -> None:
    found = compare_labels(label_set([[1.0, 2.0, 4.0, 5.0]]), column([0.0, 0.2, 0.3, 1.0]))
    assert found.alpha is None
    assert found.coefficients["quadratic_kappa"] is None
    rank = found.coefficients["spearman"]
    assert rank is not None
    assert rank.estimate == pytest.approx(1)
    assert any("labels from 1 to 5 cannot be compared with scores" in note for note in found.notes)


def test_several_people_are_compared_with_one_another_first() -> None:
    ratings = [[0.0, 0.5, 1.0, 1.0], [0.0, 1.0, 1.0, NAN]]
    scores = [0.2, 0.6, 0.9, 0.7]
    found = compare_labels(label_set(ratings), column(list(scores)))
    assert found.people is not None
    assert found.people.n_samples == 3
    assert found.people.alpha is not None
    assert found.people.alpha.estimate == krippendorff_alpha(ratings)
    assert [(one.annotator, one.n_pairs) for one in found.each] == [("anna", 4), ("ben", 3)]
    assert found.each[1].spearman == spearman(ratings[1], scores)
    assert found.alpha is not None
    # The mean label: of the last sample that of the only one who gave it.
    assert found.alpha.estimate == krippendorff_alpha([[0.0, 0.75, 1.0, 1.0], scores])


def test_verdicts_are_the_runs_own_or_those_of_a_threshold() -> None:
    labels = label_set([[0.0, 1.0, 1.0, 0.0, 1.0]])
    scores = [0.2, 0.8, 0.4, 0.6, 0.5]
    given = {"q0": False, "q1": True, "q2": False, "q3": True}
    own = compare_labels(labels, column(list(scores), passed=given)).verdicts
    assert own is not None
    assert (own.threshold, own.table.n_left_out) == (None, 1)
    assert own.table.counts == ((1, 1), (1, 1))
    at = compare_labels(labels, column(list(scores), passed=given), threshold=0.5).verdicts
    assert at is not None
    assert at.table.counts == ((1, 1), (1, 2))
    assert (at.threshold, at.label_threshold) == (0.5, 0.5)
    assert at.cohen_kappa is not None
    lower = compare_labels(labels, column(list(scores), higher_is_better=False), threshold=0.5)
    assert lower.verdicts is not None
    # Good are labels of 0, and scores up to 0.5.
    assert lower.verdicts.table.counts == ((1, 2), (1, 1))
    assert any("lower is better" in note for note in lower.notes)


def test_graded_labels_are_good_from_the_threshold_of_the_scores_on() -> None:
    labels = label_set([[1.0, 3.0, 4.0, 5.0]], scale=(1.0, 5.0))
    found = compare_labels(labels, column([0.1, 0.9, 0.9, 0.9]), threshold=0.7)
    assert found.verdicts is not None
    assert found.verdicts.label_threshold == 0.7
    assert found.verdicts.table.counts == ((1, 1), (0, 2))
    found = compare_labels(labels, column([0.1, 0.9, 0.9, 0.9]), threshold=0.7, label_threshold=0.5)
    assert found.verdicts is not None
    assert found.verdicts.table.counts == ((1, 0), (0, 3))


def test_a_comparison_without_pairs_says_so() -> None:
    found = compare_labels(label_set([[0.5, 1.0]]), column([None, None]))
    assert (found.n_pairs, found.alpha) == (0, None)
    assert set(found.coefficients.values()) == {None}
    assert "only 0 pairs" in found.notes[0]
    json.dumps(found.to_dict(), allow_nan=False)


def test_repeats_of_a_row_are_averaged() -> None:
    run = ScoredRun(
        name="runs/*.json",
        ids=["a", "b", "a", "b", "a"],
        metrics=("faithfulness",),
        scores=np.array([[0.2], [NAN], [0.4], [NAN], [NAN]]),
        null_reasons=np.zeros((5, 1), np.uint8),
        metric_passed=np.array([[1], [NO_VERDICT], [0], [NO_VERDICT], [NO_VERDICT]], np.int8),
        composite=np.full(5, NAN),
        passed=np.full(5, NO_VERDICT, np.int8),
    )
    found = column_of_run(run, "faithfulness")
    assert found.scores == {"a": pytest.approx(0.3), "b": None}
    assert found.passed == {"a": True}
    assert found.scale == (0, 1)


# ------------------------------------------------------------------------- who judged, and omk


@every_row(
    ("annotator", "judges", "expected"),
    [
        ("anna", ["openai:gpt-4o"], False),
        ("GPT-4o", ["openai:gpt-4o"], True),
        ("OpenAI:GPT-4o reviewed", ["x:y", "openai:gpt-4o"], True),
        ("", ["x:y"], False),
        ("anna", ["", " "], False),
    ],
)
def test_a_judge_is_no_check_of_itself(annotator: str, judges: list[str], expected: bool) -> None:
    assert is_contaminated(annotator, judges) is expected
    assert len(contamination_warnings([annotator, "zoe"], judges)) == expected


def test_judges_known_and_named_are_both_held_against_annotators() -> None:
    labels = label_set([[0.0, 1.0]])
    for known, named in ((("openai:anna",), ()), ((), ("ANNA",))):
        found = compare_labels(labels, column([0.1, 0.9], judges=known), judges=named)
        assert any(note.startswith("the annotator anna has the name") for note in found.notes)


def omk_report(path: Path) -> Path:
    rows = [
        {"sample_id": "a", "variants": {"base": {"llmScore": 2}, "skill": {"llmScore": 4}}},
        {"sample_id": "b", "variants": {"base": {"llmScore": 5}, "skill": {"llmScore": 0}}},
    ]
    meta = {
        "variants": ["base", "skill"],
        "judgeModels": [{"executor": "claude", "model": "opus"}, "openai-api:gpt-4o"],
    }
    path.write_text(json.dumps({"kind": "evaluation", "meta": meta, "results": rows}), "utf-8")
    return path


def test_a_report_of_omk_gives_the_scores_of_a_variant(tmp_path: Path) -> None:
    path = omk_report(tmp_path / "report.json")
    found = column_of_omk_report(path)
    assert found.scores == {"a": 2, "b": 5}
    assert found.judges == ("claude:opus", "openai-api:gpt-4o")
    # 0 is a judgement that failed.
    assert column_of_omk_report(path, "skill").scores == {"a": 4, "b": None}
    with pytest.raises(InputError, match="no variant 'skil'; did you mean 'skill'"):
        column_of_omk_report(path, "skil")
    path.write_text('{"results": [{"sample": {}}]}', "utf-8")
    with pytest.raises(InputError, match="is not a report of omk"):
        column_of_omk_report(path)


def test_labels_are_compared_with_a_report_of_omk_on_its_own_scale(tmp_path: Path) -> None:
    gold = folder(tmp_path / "gold", m=METADATA, a=TWO)
    report = omk_report(tmp_path / "report.json")
    found = compare_label_files([gold], report, variant="")
    assert (found.metric, found.n_pairs) == ("llmScore", 2)
    assert found.alpha is not None
    assert found.alpha.estimate == krippendorff_alpha([[2, 4], [2, 5]])
    with pytest.raises(InputError, match="has no metrics"):
        compare_label_files([gold], report, variant="base", metric="faithfulness")


def test_files_without_a_shared_id_are_refused(tmp_path: Path) -> None:
    gold = folder(tmp_path / "gold", m=METADATA, a=TWO)
    scores = tmp_path / "scores.csv"
    scores.write_text("id,faithfulness\nx,0.5\n", "utf-8")
    with pytest.raises(InputError, match=r"share no id: .* has 'a', 'b', .* has 'x'"):
        compare_label_files([gold], scores, metric="faithfulness")
    with pytest.raises(InputError, match="give the metric that the labels are about"):
        compare_label_files([gold], scores)


# ----------------------------------------------------------------------------------- templates


def test_a_template_is_sound_once_it_is_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "gold"
    assert [one.name for one in write_template(path)] == list(FILES)
    fresh = check_labels(path)
    assert not fresh.ok
    assert "metadata.annotator is empty; fill it in" in fresh.issues[0]["message"]
    metadata, annotations = path / "metadata.yaml", path / "annotations.yaml"
    text = metadata.read_text("utf-8").replace('annotator: ""', 'annotator: "anna"')
    metadata.write_text(text.replace('annotatedAt: ""', 'annotatedAt: "2026-01-31"'), "utf-8")
    # The examples are sound as they are.
    text = annotations.read_text("utf-8").replace("annotations: []\n# ann", "ann")
    annotations.write_text(text.replace("#   - ", "  - "), "utf-8")
    found = check_labels(path)
    assert found.ok, found.issues
    assert found.to_dict()["nLabels"] == 2
    assert found.labels is not None
    assert found.labels.scale == (1, 5)


def test_a_template_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "annotations.yaml").write_text("mine", "utf-8")
    with pytest.raises(InputError, match=r"already there: .*annotations\.yaml"):
        write_template(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["annotations.yaml"]
    assert (tmp_path / "annotations.yaml").read_text("utf-8") == "mine"
    with pytest.raises(InputError, match="is a file, not a folder"):
        write_template(tmp_path / "annotations.yaml")
