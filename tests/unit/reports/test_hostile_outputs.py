"""Samples that want to be more than text come out of every output as text."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from rag_eval import evaluate_batch
from rag_eval.cli.program import program
from rag_eval.gating.limits import pass_rate_outcome
from rag_eval.plumbing.csv_cells import unguarded_cell
from rag_eval.reports.code_hosts import annotations, code_quality, step_summary
from rag_eval.reports.junit import junit_xml
from rag_eval.reports.run_markdown import run_markdown
from rag_eval.results.batch import BatchEvalResult
from rag_eval.views.making import view_of_batch
from rag_eval.views.outcomes import run_outcomes, run_properties
from rag_eval.views.run_view import RunView
from tests import raw_text
from tests.hostile_samples import MARKUP, TEXTS, hostile_samples
from tests.tables import every_row
from tests.unit.page_reading import every_row_is_html, unfolded, without_data

# A million letters are for the browser; what is cut here is cut there.
SAMPLES: Final = hostile_samples(long_word=60_000)
# A name of a file can be as bad as what is in it.
FILE_NAME: Final = "<img src=x onerror=alert(1)>\x1b[2J\u202e::error::@a #1.jsonl"
OWN_MARKUP: Final = re.compile(r"</?(details|summary|b)>")


@pytest.fixture(scope="module", params=["overlap", "grounded"])
def batch(request: pytest.FixtureRequest) -> BatchEvalResult:
    # The profiles differ in their evidence alone: one of them on a part of the samples will do.
    samples = SAMPLES if request.param == "grounded" else SAMPLES[::4]
    return evaluate_batch(samples, profile=request.param)


@pytest.fixture(scope="module")
def view(batch: BatchEvalResult) -> RunView:
    gate = pass_rate_outcome(batch.n_passed, batch.n_rows, 1.0)
    slices = ["kind", "__proto__", "constructor"]
    return view_of_batch(batch, source=FILE_NAME, slice_by=slices, gates=[gate])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a run has been over a file of them, with every file that a run writes."""
    made = tmp_path_factory.mktemp("hostile")
    lines = [json.dumps(sample) for sample in SAMPLES]
    lines[3:3] = ['{"question": "::error::\\u001b[2J", "answer": 5, "contexts": ["\\u202e"]}']
    (made / FILE_NAME).write_text("\n".join(lines), encoding="utf-8")
    return made


def invoke(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(program, [str(part) for part in arguments], **options)


REPORTS: Final = {
    "html": "html",
    "junit": "xml",
    "gitlab": "json",
    "markdown": "md",
    "output": "json",
}


@pytest.fixture(scope="module")
def run(folder: Path) -> Result:
    targets = [
        part for name, end in REPORTS.items() for part in (f"--{name}", folder / f"{name}.{end}")
    ]
    flags = [
        "--profile",
        "grounded",
        "--details",
        "--skip-invalid",
        "--min-pass-rate",
        "1",
        "--slice-by",
        "kind",
        "--worst",
        len(SAMPLES),
    ]
    env = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    with every_row_is_html():
        return invoke("run", folder / FILE_NAME, *flags, *targets, "--github", env=env)


def split_commands(text: str) -> tuple[list[str], str]:
    """The lines of a run with --github that are meant as commands, and the others."""
    lines = text.split("\n")
    commands = [line for line in lines if line.startswith("::")]
    return commands, "\n".join(line for line in lines if not line.startswith("::"))


# ------------------------------------------------------------------------------------ reports


def test_a_page_shows_markup_as_text(view: RunView) -> None:
    page = raw_text.Markup(unfolded(view))
    assert raw_text.raw_in_html(page, scripts=2) == []
    shown = page.text
    given = {row.id for row in view.rows}
    texts = [text for text in MARKUP.values() if text in given and "\u2028" not in text]
    assert len(texts) > 4
    assert [text for text in texts if text not in shown] == []
    assert "\\x1b" in shown
    assert "\\u202e" in shown


def test_a_comparison_of_hostile_runs_is_text_on_its_page_and_in_markdown() -> None:
    samples = SAMPLES[:60:3]
    changed = [{**sample, "answer": "Nothing of it. 77."} for sample in samples]
    old = evaluate_batch(samples, profile="grounded")
    new = evaluate_batch(changed, profile="grounded")
    view = view_of_batch(new, baseline=old, slice_by=["kind"])
    assert view.comparison is not None
    assert view.comparison.n_pairs == len(samples)
    assert raw_text.raw_in_html(unfolded(view), scripts=2) == []
    assert raw_text.raw_in_markdown(run_markdown(view), OWN_MARKUP) == []


def test_junit_is_clean_xml_of_every_row(view: RunView) -> None:
    outcomes = run_outcomes(view)
    data = junit_xml(outcomes, name=FILE_NAME, properties=run_properties(view))
    assert raw_text.raw_in_xml(data) == []
    assert data.count(b"<testcase ") == len(outcomes) > len(view.rows)


def test_annotations_are_a_line_each(view: RunView) -> None:
    lines = annotations(run_outcomes(view), limit=10_000)
    assert len(lines) > len(view.rows) // 3
    assert raw_text.raw_in_annotations(lines) == []


def test_code_quality_is_json_without_controls(view: RunView) -> None:
    data = code_quality(run_outcomes(view))
    assert raw_text.raw_in_json(data) == []
    found = json.loads(data)
    assert len({each["fingerprint"] for each in found}) == len(found) > len(view.rows) // 3
    texts = [each["description"] + each["location"]["path"] for each in found]
    assert [bad for text in texts for bad in raw_text.raw_characters(text, raw_text.HIDDEN)] == []


def test_markdown_has_no_link_picture_markup_or_mention_of_data(view: RunView) -> None:
    text = run_markdown(view, most_rows=10_000)
    assert raw_text.raw_in_markdown(text, OWN_MARKUP) == []
    assert "window.\\_\\_pwned" in text or "window.__pwned" in text
    assert text.count("<details>") == text.count("</details>") > len(view.rows) // 2
    text = step_summary(text, limit=30_000)
    assert raw_text.raw_in_markdown(text, OWN_MARKUP) == []
    assert text.count("<details>") == text.count("</details>") > 1


def test_notebooks_show_text(batch: BatchEvalResult) -> None:
    for shown in (batch, *batch.results[::4]):
        assert raw_text.raw_in_html(shown._repr_html_(), styled=True) == []


# ---------------------------------------------------------------------------------- the program


def test_a_run_prints_and_writes_text_alone(run: Result, folder: Path) -> None:
    assert run.exit_code == 1, run.output
    commands, talk = split_commands(run.stderr)
    assert raw_text.raw_in_annotations(commands) == []
    assert len(commands) > 5
    assert raw_text.raw_on_terminal(talk) == []
    assert "skipped" in talk
    assert raw_text.raw_on_terminal(run.stdout) == []
    for name, check in {
        "html": lambda data: raw_text.raw_in_html(without_data(data.decode()), scripts=2),
        "junit": raw_text.raw_in_xml,
        "gitlab": raw_text.raw_in_json,
        "output": raw_text.raw_in_json,
        "markdown": lambda data: raw_text.raw_in_markdown(data.decode(), OWN_MARKUP),
    }.items():
        assert check((folder / f"{name}.{REPORTS[name]}").read_bytes()) == [], name
    summary = (folder / "summary.md").read_text("utf-8")
    assert raw_text.raw_in_markdown(summary, OWN_MARKUP) == []


def test_a_result_file_gives_every_text_back(run: Result, folder: Path) -> None:
    assert run.exit_code == 1
    read = json.loads((folder / "output.json").read_bytes())
    written = [row["sample"] for row in read["results"]]
    assert [row.get("id") for row in written] == [sample.get("id") for sample in SAMPLES]
    assert [row["answer"] for row in written] == [sample["answer"] for sample in SAMPLES]


@every_row("form", ["json", "jsonl"])
def test_rows_on_stdout_are_strict_json(folder: Path, form: str) -> None:
    found = invoke(
        "run", folder / FILE_NAME, "--format", form, "--skip-invalid", "--worst", 500, "--quiet"
    )
    documents = [found.stdout_bytes] if form == "json" else found.stdout_bytes.splitlines()
    assert len(documents) == (1 if form == "json" else len(SAMPLES))
    assert [bad for data in documents for bad in raw_text.raw_in_json(data)] == []


def test_scores_in_csv_are_no_formulas_and_give_ids_back(folder: Path) -> None:
    target = folder / "scores.csv"
    flags = ["--columns", "question,kind", "--skip-invalid"]
    found = invoke("score", folder / FILE_NAME, target, *flags)
    assert found.exit_code == 0, found.output
    assert raw_text.raw_on_terminal(found.output) == []
    text = target.read_bytes().decode()
    assert raw_text.raw_in_csv(text) == []
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == len(SAMPLES)
    # Lone surrogates have no bytes in UTF-8, and stand there as escapes.
    for row, sample in zip(rows, SAMPLES, strict=True):
        if sample.get("id"):
            written = unguarded_cell(row["id"]).encode()
            assert written == sample["id"].encode("utf-8", "backslashreplace")
    lines = folder / "scores.jsonl"
    assert invoke("score", folder / FILE_NAME, lines, *flags).exit_code == 0
    assert [
        bad for line in lines.read_bytes().splitlines() for bad in raw_text.raw_in_json(line)
    ] == []


def test_what_is_shown_of_a_row_is_text(run: Result, folder: Path) -> None:
    result = folder / "output.json"
    assert run.exit_code == 1
    found = invoke("show", result)
    assert found.exit_code in (0, 1), found.output
    assert raw_text.raw_on_terminal(found.output) == []
    for row in range(0, len(SAMPLES), 16):
        found = invoke("show", result, "--row", row + 1)
        assert found.exit_code in (0, 1), found.output
        assert raw_text.raw_on_terminal(found.output) == [], row
    for text in ("\x1b[2J\u202e", "::error::x", "same  id"):
        found = invoke("show", result, text)
        assert found.exit_code == 2
        assert raw_text.raw_on_terminal(found.output) == []


def test_colours_on_a_terminal_are_ours_alone(run: Result, folder: Path, tmp_path: Path) -> None:
    assert run.exit_code == 1
    data = tmp_path / FILE_NAME
    data.write_text("\n".join(json.dumps(sample) for sample in SAMPLES[::4]), "utf-8")
    text = on_terminal("run", data, "--worst", len(SAMPLES), "--quiet")
    assert "\x1b[" in text
    assert raw_text.raw_on_terminal(text, styled=True) == []
    text = on_terminal("show", folder / "output.json", "--row", row_of("all of C1") + 1)
    assert "\x1b[" in text
    assert raw_text.raw_on_terminal(text, styled=True) == []


def row_of(name: str) -> int:
    return [sample.get("id") for sample in SAMPLES].index(TEXTS[name])


def on_terminal(*arguments: object) -> str:
    """What the program writes to a terminal, both streams."""
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    env.pop("NO_COLOR", None)
    running = subprocess.Popen(
        [sys.executable, "-m", "rag_eval", *map(str, arguments)],
        stdout=slave, stderr=slave, stdin=subprocess.DEVNULL, env=env,
    )  # fmt: skip
    os.close(slave)
    parts = []
    try:
        while part := os.read(master, 1 << 16):
            parts.append(part)
    except OSError:
        pass  # how Linux says that the other end is closed
    finally:
        os.close(master)
    running.wait()
    return b"".join(parts).decode("utf-8")


def test_faults_and_errors_name_hostile_things_as_text(folder: Path) -> None:
    bad = folder / "\x1b[2J\u202e::error::.jsonl"
    for arguments in (
        ["run", bad],
        ["validate", folder / FILE_NAME],
        ["run", folder / FILE_NAME, "--schema", "\x1b[2J"],
        ["run", folder / FILE_NAME, "--metrics", "\x1b[2J\u202e"],
        ["run", folder / FILE_NAME, "--slice-by", "\u202e\x9b2J", "--html", folder / "x.html"],
        ["show", bad],
        ["report", bad],
        ["\x1b[2J\u202e"],
    ):
        found = invoke(*arguments)
        assert found.exit_code in (1, 2), (arguments, found.output)
        assert raw_text.raw_on_terminal(found.output) == [], arguments


def test_logs_hold_text_alone(caplog: pytest.LogCaptureFixture, folder: Path) -> None:
    with caplog.at_level(logging.DEBUG):
        invoke("run", folder / FILE_NAME, "--skip-invalid", "--worst", 5)
        evaluate_batch(SAMPLES)
    texts = [record.getMessage() for record in caplog.records]
    assert [bad for text in texts for bad in raw_text.raw_on_terminal(text)] == []


def test_ids_of_tests_are_text(tmp_path: Path) -> None:
    rows = "\n".join(json.dumps(sample) for sample in SAMPLES[::5])
    (tmp_path / "rows.jsonl").write_text(rows, "utf-8")
    (tmp_path / "test_rows.py").write_text(
        "import pytest\n\n"
        '@pytest.mark.rag_eval_dataset("rows.jsonl")\n'
        "def test_row(rag_eval, sample):\n"
        "    rag_eval.assert_rag(sample, faithfulness=0.99)\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-rA", "--junitxml=junit.xml"],
        cwd=tmp_path, capture_output=True, check=False, text=True, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )  # fmt: skip
    assert found.returncode == 1, found.stdout[-2000:] + found.stderr[-2000:]
    assert found.stdout.count("test_rows.py::test_row[") > len(SAMPLES) / 5
    # Pytest itself shows what a failed test was given, as literals.
    printed = re.sub("^sample = .*$", "", found.stdout, flags=re.MULTILINE)
    assert raw_text.raw_on_terminal(printed) == []
    assert raw_text.raw_in_xml((tmp_path / "junit.xml").read_bytes()) == []
