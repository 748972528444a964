"""The grounded profile on the command line: run and validate."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import rag_eval
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.results.batch import BatchEvalResult
from tests.commands import invoke
from tests.grounded_rows import CONTEXTS, GROUNDED, INVENTED, SAMPLES, SOUND, samples


def run(*arguments: object, **options: Any) -> Result:
    return invoke("run", *arguments, **options)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return samples(tmp_path / "data.jsonl", *SAMPLES)


def library(rows: Any = SAMPLES, metrics: Any = None, **options: Any) -> BatchEvalResult:
    return rag_eval.evaluate_batch(rows, metrics, profile="grounded", **options)


def timeless(value: Any) -> Any:
    """A result without the times in it."""
    if isinstance(value, dict):
        times = ("evaluatedAt", "totalDurationMs", "durationMs")
        return {name: timeless(inner) for name, inner in value.items() if name not in times}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def as_json(value: Any) -> Any:
    return timeless(json.loads(json.dumps(value)))


# --------------------------------------------------------------------------------------- output


def test_table(data: Path) -> None:
    gates = ("--min-mean", "context_recall=0.9,faithfulness=0.9", "--min-pass-rate", 1)
    done = run(data, *GROUNDED, *gates)
    assert done.exit_code == 1
    assert done.stderr.startswith("fields: question=question, answer=answer, ")
    lines = done.stdout.splitlines()
    names = [line.split()[0] for line in lines if line.startswith(METRIC_IDS)]
    assert names == list(METRIC_IDS)
    recall = next(line for line in lines if line.startswith("context_recall")).split()
    assert recall[1:5] == ["1.00", "[0.34,", "1.00]", "2/3"]
    assert recall[-3:] == ["0.67", "0.60", "PASS"]
    assert next(line for line in lines if line.startswith("faithfulness")).split()[-1] == "FAIL"
    assert "FAIL  pass rate 0.33 (1/3) is below 1.00" in lines


def test_diagnostics_in_the_table(data: Path) -> None:
    """Regression: the composite of passing diagnostics had a pass rate of 0."""
    whole = ("--min-pass-rate", 1)
    diagnostics = ("--metrics", "noiseSensitivity,unsupported_names")
    refused = run(data, *GROUNDED, *whole, *diagnostics)
    assert refused.exit_code == 2
    assert "no threshold is set for noise_sensitivity, unsupported_names" in refused.stderr
    done = run(data, *GROUNDED, *diagnostics)
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    wanted = ["unsupported_names", "0.50", "[0.09,", "0.91]", "2/3"]
    assert wanted in [line[:5] for line in lines]
    composite = next(line for line in lines if line[:1] == ["composite"])
    assert composite == ["composite", "–", "–", "0/3", "1.00", "–"]
    # A threshold turns a diagnostic into a bar that lower scores pass, and nulls do not.
    barred = ("--thresholds", "unsupported_names=0.2", "--metrics", "unsupported_names")
    done = run(data, *GROUNDED, *whole, *barred)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "FAIL  pass rate 0.33 (1/3) is below 1.00"


def test_json_is_what_the_library_gives(data: Path) -> None:
    names = ",".join(ALL_METRIC_IDS)
    done = run(data, *GROUNDED, "--metrics", names, "--format", "json", "--language", "en-GB")
    summary = json.loads(done.stdout)
    expected = library(metrics=ALL_METRIC_IDS, language="en").summary_dict()
    for name in ("aggregates", "compositeAggregate", "passed", "signature"):
        assert summary[name] == expected[name]
    assert summary["signature"]["options"] == {"language": "en", "stemmer": "light"}


@pytest.mark.parametrize("details", [True, False])
def test_json_lines(data: Path, details: bool) -> None:
    done = run(data, *GROUNDED, "--format", "jsonl", *(["--details"] if details else []))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert timeless(rows) == as_json([row.to_dict(details) for row in library().results])
    assert ("evidence" in rows[0]["metrics"]["faithfulness"]) is details
    assert ("chunkScores" in rows[0]["metrics"]["contextRelevance"]) is details
    assert rows[2]["metrics"]["contextRecall"]["nullReason"] == "missing_field"
    assert rows[0]["sample"]["groundTruth"] == SOUND["ground_truth"]


@pytest.mark.parametrize("name", ["o.json", "o.json.gz", "o.jsonl", "o.jsonl.gz"])
@pytest.mark.parametrize("details", [True, False])
def test_result_files(tmp_path: Path, data: Path, name: str, details: bool) -> None:
    output = tmp_path / name
    flags = ["--details"] if details else []
    assert run(data, *GROUNDED, "--output", output, *flags).exit_code == 0
    text = output.read_bytes()
    text = gzip.decompress(text) if name.endswith(".gz") else text
    if ".jsonl" in name:
        rows = [json.loads(line) for line in text.splitlines()]
    else:
        rows = json.loads(text)["results"]
        again = BatchEvalResult.from_json(output)
        assert again.aggregates == library().aggregates
        (first, *_) = again.results
        evidence = library().results[0].metrics.faithfulness.evidence
        assert first.metrics.faithfulness.evidence == (evidence if details else None)
    assert timeless(rows) == as_json([row.to_dict(details) for row in library().results])


def test_worst_rows(data: Path) -> None:
    lines = run(data, *GROUNDED, "--worst", 1).stdout.splitlines()
    assert any(line.startswith('line 2 ("b")  composite ') for line in lines)
    assert any(
        "critical hallucination_rate: Low support (" in line
        and "numbers in no context: 2020, 17; names in no context: tom, reed, lagos" in line
        and line.endswith("“In 2020 Tom Reed sold 17 boats in Lagos.”")
        for line in lines
    )


@pytest.mark.parametrize("details", [True, False])
def test_worst_rows_with_details(data: Path, details: bool) -> None:
    """Regression: they came without."""
    flags = ["--details"] if details else []
    done = run(data, *GROUNDED, "--worst", 1, "--format", "json", *flags)
    (worst,) = json.loads(done.stdout)["worst"]
    assert worst["row"] == 'line 2 ("b")'
    expected = library().results[1].to_dict(details)
    assert timeless(worst) == {"row": worst["row"], **as_json(expected)}


def test_a_table_on_standard_input_is_told_what_is_read_there() -> None:
    done = run("-", *GROUNDED, input="question,answer,contexts\nq,a,c\n")
    assert done.exit_code == 2
    assert "standard input is read as JSON Lines, one object a line" in done.stderr


def test_threads_and_standard_input_change_nothing(data: Path) -> None:
    one = run(data, *GROUNDED, "--format", "jsonl", "--details", "--threads", 1)
    many = run("-", *GROUNDED, "--format", "jsonl", "--details", input=data.read_text())
    left, right = ([json.loads(row) for row in done.stdout.splitlines()] for done in (one, many))
    assert timeless(left) == timeless(right)


def test_many_rows_with_several_golds(tmp_path: Path) -> None:
    """Rows as of a labelled set: fields of their own, golds that differ in number."""
    golds: list[Any] = ["Ellen Marsh", ["Ellen Marsh"], ["Nobody", None, "Ellen Marsh"], None, ""]
    rows = [
        {
            "task": "faithfulness",
            "question": f"Who led trial {row} at Norwick?",
            "answer": SOUND["answer"] if row % 2 else INVENTED["answer"],
            "contexts": [None, *CONTEXTS] if row % 3 else [" ".join(CONTEXTS)],
            "ground_truth": golds[row % len(golds)],
            "label_bin": row % 2,
            "group": f"g{row // 4}",
        }
        for row in range(1250)
    ]
    file = samples(tmp_path / "set.jsonl.gz", *rows)
    output = tmp_path / "o.jsonl.gz"
    done = run(file, *GROUNDED, "--format", "json", "--output", output, "--min-pass-rate", 0)
    assert done.exit_code == 0
    expected = library(rows)
    n_passed = int(expected.sample_passed.sum())
    assert n_passed == 625  # the sound ones
    assert f"({n_passed}/1250) is at least 0.00" in done.stderr
    assert json.loads(done.stdout)["aggregates"] == expected.summary_dict()["aggregates"]
    assert expected.aggregates.context_recall.n == 750
    written = [json.loads(line) for line in gzip.decompress(output.read_bytes()).splitlines()]
    assert [row["sample"]["groundTruth"] for row in written] == [
        row["ground_truth"] for row in rows
    ]
    assert {row["sample"]["label_bin"] for row in written} == {0, 1}
    assert [row["compositeScore"] for row in written] == expected.composite_scores.tolist()


# -------------------------------------------------------------------------------- configuration


def test_configuration_file(tmp_path: Path, data: Path) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(
        'profile = "grounded"\nlanguage = "en"\nstemmer = "snowball"\ndetails = true\n'
        'metrics = ["faithfulness", "noise_sensitivity"]\nmin_pass_rate = 0.1\n'
        "[thresholds]\nnoiseSensitivity = 0.1\n"
    )
    done = run(data, "--config", config, "--format", "jsonl")
    assert done.exit_code == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    expected = library(
        metrics=["faithfulness", "noise_sensitivity"],
        language="en",
        stemmer="snowball",
        thresholds={"noise_sensitivity": 0.1},
    )
    assert timeless(rows) == as_json([row.to_dict(details=True) for row in expected.results])
    # Flags win.
    done = run(
        data, "--config", config, "--language", "de", "--stemmer", "light", "--format", "json"
    )
    options = json.loads(done.stdout)["signature"]["options"]
    assert options == {"language": "de", "stemmer": "light"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('profile = "grundet"', "profile must be 'overlap' or 'grounded', got 'grundet'; did you"),
        ('profile = ""', "profile must be 'overlap' or 'grounded', got ''"),
        ("profile = 1", "profile must be a string, got 1"),
        ('language = "de"', "option language works only with --profile grounded"),
        ('profile = "grounded"\nlanguage = 3', "language must be a language tag, got 3"),
        ('profile = "grounded"\nstemmer = "x"', "stemmer must be 'light' or 'snowball', got 'x'"),
        ('profile = "grounded"\ndetails = "yes"', "details must be true or false, got 'yes'"),
        ('profile = "grounded"\ncalibration = 1', "calibration must be a file name, got 1"),
        ('profile = "grounded"\n[heuristic]\nngram_sizes = [1]', "belongs to profile='overlap'"),
        ('profil = "grounded"', "unknown key 'profil'; did you mean 'profile'?"),
    ],
)
def test_mistakes_in_the_configuration_file(
    tmp_path: Path, data: Path, text: str, message: str
) -> None:
    config = tmp_path / "rag-eval.toml"
    config.write_text(text)
    done = run(data, "--config", config)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--language", "xx", *GROUNDED), "unknown language 'xx'"),
        (("--language", "germn", *GROUNDED), "unknown language 'germn'; did you mean 'de'?"),
        (("--language", "de"), "option language works only with --profile grounded"),
        (("--stemmer", "light"), "option stemmer works only with --profile grounded"),
        (("--profile", "grund"), "'grund' is not one of 'overlap', 'grounded'"),
        (("--stemmer", "x", *GROUNDED), "'x' is not one of 'light', 'snowball'"),
        (("--metrics", "claim_recall"), "metric 'claim_recall' needs --profile grounded"),
        (
            ("--weights", "self_knowledge=1", "--metrics", "self_knowledge", *GROUNDED),
            "a diagnostic cannot be part of the composite score",
        ),
        (
            ("--min-mean", "noise_sensitivity=0.5", "--metrics", "noise_sensitivity", *GROUNDED),
            "min_mean does not apply to noise_sensitivity, where lower is better: use max_mean",
        ),
        (
            ("--thresholds", "noise_sensitivity=0.5", *GROUNDED),
            "--thresholds names noise_sensitivity, which is not among the metrics to compute",
        ),
        (("--calibration", "none.json", *GROUNDED), "cannot read none.json: No such file"),
    ],
)
def test_flags_that_are_refused(data: Path, flags: tuple[str, ...], message: str) -> None:
    done = run(data, *flags)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr


def test_a_missing_stemmer(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    done = run(data, *GROUNDED, "--stemmer", "snowball")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "pip install 'rag-eval-native[lang]'" in done.stderr


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("run", ["--profile", "--language", "--stemmer", "--calibration", "--details"]),
        ("validate", ["--profile"]),
    ],
)
def test_help(command: str, flags: list[str]) -> None:
    text = invoke(command, "--help", env={"COLUMNS": "120"}).stdout
    for flag in flags:
        assert flag in text
    assert "grounded" in text


# ------------------------------------------------------------------------------------- validate

BAD_ROWS: list[tuple[Any, str]] = [
    ({"ground_truth": [3]}, "ground_truth must be a string, got int"),
    ({"contexts": 7}, "contexts must be a list of strings, got int"),
    ({"contexts": ["x", 3]}, "contexts[1] must be a string, got int"),
    ({"answer": 5}, "answer must be a string, got int"),
    ({"language": "xq"}, "unknown language 'xq'"),
    ({"language": 5}, "language must be a language tag, got int"),
]


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    rows = [{**SOUND, **change, "id": f"r{row}"} for row, (change, _) in enumerate(BAD_ROWS)]
    return samples(
        tmp_path / "bad.jsonl",
        *[row for pair in zip(SAMPLES * 3, rows, strict=False) for row in pair],
    )


def test_validate(data: Path, bad: Path) -> None:
    done = invoke("validate", data, *GROUNDED)
    assert (done.exit_code, done.stdout) == (0, "3 samples, 0 invalid\n")
    # In the overlap profile fields must be there, and one ground truth is taken.
    done = invoke("validate", data)
    assert (done.exit_code, len(done.stdout.splitlines())) == (2, 4)
    done = invoke("validate", bad, *GROUNDED)
    assert done.exit_code == 2
    *lines, last = done.stdout.splitlines()
    for row, (line, (_, message)) in enumerate(zip(lines, BAD_ROWS, strict=True)):
        assert line.startswith(f'line {2 * row + 2} ("r{row}"): {message}')
    assert last == "12 samples, 6 invalid"
    # Whatever the metric: all texts of a sample decide on how it is read.
    assert invoke("validate", bad, *GROUNDED, "--metrics", "answer_relevance").stdout == done.stdout


def test_invalid_rows_end_a_run_or_are_skipped(bad: Path) -> None:
    done = run(bad, *GROUNDED)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f'error: {bad}, line 2 ("r0"): {BAD_ROWS[0][1]}')
    done = run(bad, *GROUNDED, "--skip-invalid", "--format", "json")
    summary = json.loads(done.stdout)
    assert (summary["nRows"], summary["nSkipped"]) == (6, 6)
    for row, (_, message) in enumerate(BAD_ROWS):
        assert f'skipped line {2 * row + 2} ("r{row}"): {message}' in done.stderr
    expected = library((SAMPLES * 3)[:6]).summary_dict()
    assert summary["aggregates"] == expected["aggregates"]
