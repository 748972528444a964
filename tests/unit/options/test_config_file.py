"""rag-eval.toml: which options it gives, and how a mistake in it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_eval.errors import InputError
from rag_eval.options.config_file import read_config
from tests.tables import every_row

FULL = """
metrics = ["faithfulness", "answerRelevance"]
composite_threshold = 0.5
min_pass_rate = 1
baseline = "old/main.json"
regression_threshold = 0.02
skip_invalid = true
worst = 3
threads = 2
thresholds = { faithfulness = 0.4 }
weights = { answerRelevance = 2 }
[min_mean]
faithfulness = 0.3
[heuristic]
claimSupportThreshold = 0.2
"""


def config(folder: Path, text: str) -> dict[str, object]:
    path = folder / "rag-eval.toml"
    path.write_text(text)
    return read_config(path)


def test_every_option(tmp_path: Path) -> None:
    assert config(tmp_path, FULL) == {
        "metrics": ["faithfulness", "answerRelevance"],
        "composite_threshold": 0.5,
        "min_pass_rate": 1,
        "baseline": tmp_path / "old/main.json",
        "regression_threshold": 0.02,
        "skip_invalid": True,
        "worst": 3,
        "threads": 2,
        "thresholds": {"faithfulness": 0.4},
        "composite_weights": {"answer_relevance": 2},
        "min_mean": {"faithfulness": 0.3},
        "heuristic": {"claim_support_threshold": 0.2},
    }


def test_a_table_called_run_says_the_same(tmp_path: Path) -> None:
    assert config(tmp_path, "worst = 1\n[run]\nmin_pass_rate = 0.5\n[run.thresholds]\n") == {
        "worst": 1,
        "min_pass_rate": 0.5,
        "thresholds": {},
    }


def test_shares_and_numbers_of_metrics_may_be_percentages_as_those_of_flags(
    tmp_path: Path,
) -> None:
    """Regression: ``min_pass_rate = "90%"`` was refused, although the flag takes it."""
    text = """
    min_pass_rate = "90%"
    min_mean = {faithfulness = "62.5%"}
    [thresholds]
    context_recall = 0.5
    faithfulness = "70%"
    """
    assert config(tmp_path, text) == {
        "min_pass_rate": 0.9,
        "min_mean": {"faithfulness": 0.625},
        "thresholds": {"context_recall": 0.5, "faithfulness": 0.7},
    }
    for wrong in ('"x%"', '"90"', '"190%"'):
        with pytest.raises(InputError, match=r"min_pass_rate must be (a number from|between) 0"):
            config(tmp_path, f"min_pass_rate = {wrong}")


def test_a_table_called_judge_holds_options_of_judging(tmp_path: Path) -> None:
    text = """
    worst = 1
    [judge]
    mode = "llm"
    retries = 0
    call_timeout = 90
    requests-per-minute = 50
    tokens_per_minute = 1e5
    run_timeout_s = 3600
    max_parse_failures = 3
    prices = "prices.toml"
    """
    assert config(tmp_path, text) == {
        "worst": 1,
        "mode": "llm",
        "retries": 0,
        "call_timeout_s": 90.0,
        "requests_per_minute": 50.0,
        "tokens_per_minute": 1e5,
        "run_timeout_s": 3600.0,
        "max_parse_failures": 3,
        "prices": tmp_path / "prices.toml",
    }


def test_empty(tmp_path: Path) -> None:
    assert config(tmp_path, "# nothing\n") == {}


@every_row(
    ("text", "message"),
    [
        ("min_passrate = 1", "unknown key 'min_passrate'; did you mean 'min_pass_rate'"),
        ("[run]\ncolour = 1", "unknown key 'colour'"),
        ("run = 1", "run must be a table"),
        ("worst = 1\n[run]\nworst = 1", r"worst in \[run\] is given twice"),
        ("weights = {}\ncomposite_weights = {}", "weights is given twice"),
        ("min_pass_rate = '1'", "min_pass_rate must be a number from 0 to 1, got '1'"),
        ("min_pass_rate = true", "min_pass_rate must be a number from 0 to 1, got True"),
        ("skip_invalid = 1", "skip_invalid must be true or false, got 1"),
        ("metrics = 'faithfulness'", "metrics must be an array of metric ids"),
        ("thresholds = { faithfullness = 1 }", "did you mean 'faithfulness'"),
        ("thresholds = { answerRelevance = 1, answer_relevance = 0 }", "given twice"),
        ("[heuristic]\nngram_size = 1", "did you mean 'ngram_sizes'"),
        ("a = ", "is not valid TOML"),
        (
            "[judge]\nretries = '5'",
            r"retries in \[judge\] must be a whole number of at least 0, got '5'",
        ),
        (
            "[judge]\nretries = -1",
            r"retries in \[judge\] must be a whole number of at least 0, got -1",
        ),
        ("[judge]\ncall_timeout = 0", r"call_timeout_s in \[judge\] must be above 0, got 0"),
        ("[judge]\nretrys = 1", r"\[judge\] unknown key 'retrys'; did you mean 'retries'"),
        (
            "[judge]\nmodel = 'm'",
            r"model in \[judge\] is not allowed in a configuration file: the judge is set by",
        ),
        ("[judge]\napi_key = 'k'", r"api_key in \[judge\] is not allowed in a configuration file"),
        (
            "[judge]\nworst = 3",
            r"worst in \[judge\] is not an option of a judge. Move it to the top",
        ),
        ("retries = 1\n[judge]\nretries = 2", r"retries in \[judge\] is given twice"),
        ("[run]\nworst = -1", r"worst in \[run\] must be a whole number of at least 0, got -1"),
        (
            "judge = 'openai:m'",
            "judge is not allowed in a configuration file: the judge is set by --judge",
        ),
        ("[run]\njudge = 'openai:m'", r"judge in \[run\] is not allowed in a configuration file"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        config(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "rag-eval.toml"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*: No such file"):
        read_config(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_config(tmp_path / "bytes.toml")


def test_options_of_scorers_are_taken_but_for_those_of_judges(tmp_path: Path) -> None:
    path = tmp_path / "rag-eval.toml"
    path.write_text('metrics = ["ir.rbp"]\n[scorer_options."ir.rbp"]\npersistence = 0.5\n')
    assert read_config(path)["scorer_options"] == {"ir.rbp": {"persistence": 0.5}}
    path.write_text('[scorer_options."mastra.noise_sensitivity"]\nnoise_type = "x"\n')
    with pytest.raises(InputError, match="options of a judge must be given with --scorer-options"):
        read_config(path)
