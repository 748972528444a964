"""Reports of runs by the command line: which files are written, and what is refused before work."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import rag_eval
from rag_eval.cli.program import program
from tests.browser.report_pages import generated_rows, write_rows, written

EXAMPLE = Path(__file__).parents[2] / "examples" / "quickstart.jsonl"


def started(
    *arguments: str | Path, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A process of its own: reports name the command that it was started by."""
    return subprocess.run(
        [sys.executable, "-m", "rag_eval", *map(str, arguments)],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(EXAMPLE.parents[1]), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def run(*arguments: str | Path, cwd: Path) -> Result:
    with contextlib.chdir(cwd):
        return CliRunner().invoke(program, list(map(str, arguments)))


def test_a_run_writes_all_reports_beside_its_table(tmp_path: Path) -> None:
    summary = tmp_path / "step.md"
    done = started(
        *("run", EXAMPLE, "--profile", "grounded", "--output", "out.json", "--github"),
        *("--min-pass-rate", "1", "--thresholds", "faithfulness=0.76"),
        *("--html", "page.html", "--junit", "j.xml", "--gitlab", "g.json", "--markdown", "s.md"),
        cwd=tmp_path,
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.returncode == 1, done.stderr
    assert "FAIL  pass rate 0.67 (2/3) is below 1.00" in done.stdout
    assert "::error" not in done.stdout
    # The gate, and the row behind it.
    assert done.stderr.count("::error ") == 2, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "pass rate 0.67 (2/3) is below 1.00" in page
    assert f"rag-eval run {EXAMPLE} --profile grounded" in page
    root = ET.parse(tmp_path / "j.xml").getroot()
    assert root.get("failures") == "2"
    assert {case.get("name") for case in root.iter("testcase")} >= {'line 2 ("q2")'}
    assert json.loads((tmp_path / "g.json").read_text())
    assert (tmp_path / "s.md").read_text().strip() == summary.read_text().strip()


def test_without_a_gate_no_report_has_a_failed_gate(tmp_path: Path) -> None:
    """Regression: all of them said that a gate had failed, which nobody had set."""
    files = ("--html", "page.html", "--junit", "j.xml", "--gitlab", "g.json", "--markdown", "s.md")
    for words in (("run", EXAMPLE, "--output", "out.json"), ("report", "out.json")):
        done = run(*words, *files, "--github", cwd=tmp_path)
        assert done.exit_code == 0, done.output
        assert "::error" not in done.output
        assert "::warning " in done.output
        assert "NO VERDICT" in (tmp_path / "page.html").read_text()
        suites = ET.parse(tmp_path / "j.xml").getroot()
        assert "gates" not in {suite.get("name") for suite in suites}
        assert suites.get("failures") == "3", "rows fail their thresholds all the same"
        found = json.loads((tmp_path / "g.json").read_text())
        assert {one["severity"] for one in found} == {"major"}
        assert (tmp_path / "s.md").read_text().startswith("## rag-eval: no verdict\n")


def test_reports_of_a_result_file_are_those_of_its_run(tmp_path: Path) -> None:
    gate = ("--min-pass-rate", "1")
    run("run", EXAMPLE, "--output", "out.json", "--html", "run.html", *gate, cwd=tmp_path)
    files = ("--html", "later.html", "--junit", "j.xml")
    done = run("report", "out.json", *files, *gate, cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (0, "")
    page = (tmp_path / "later.html").read_text()
    for text in ("The cafe is run by robots.", "pass rate 0.00 (0/3) is below 1.00"):
        assert text in page
        assert text in (tmp_path / "run.html").read_text()
    plain = run("report", "out.json", "--min-mean", "faithfulness=0.5", cwd=tmp_path)
    assert "faithfulness mean 0.59 (3/3) is at least 0.50" in plain.stdout.replace("\\", "")


def test_a_report_against_a_baseline_shows_the_rows_that_moved(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in EXAMPLE.read_text().splitlines()]
    worse = tmp_path / "worse.jsonl"
    worse.write_text("".join(json.dumps({**row, "answer": "No idea."}) + "\n" for row in lines))
    run("run", EXAMPLE, "--output", "old.json", cwd=tmp_path)
    done = run(
        *("run", worse, "--baseline", "old.json", "--html", "page.html", "--output", "new.json"),
        *("--policy", "node"),
        cwd=tmp_path,
    )
    assert done.exit_code == 1
    page = (tmp_path / "page.html").read_text()
    assert 'id="comparison"' in page
    assert page.count("<h3>Answer in the baseline</h3>") == len(lines)
    again = ("report", "new.json", "--baseline", "old.json", "--html", "again.html")
    assert run(*again, cwd=tmp_path).exit_code == 0
    assert "<h3>Answer in the baseline</h3>" in (tmp_path / "again.html").read_text()
    gate = run(
        *("gate", "new.json", "--baseline", "old.json", "--junit", "gate.xml", "--github"),
        *("--min-mean", "faithfulness=0.9"),
        cwd=tmp_path,
    )
    assert gate.exit_code == 1
    assert "::error title=rag-eval" in gate.stderr
    cases = ET.parse(tmp_path / "gate.xml").getroot().iter("testcase")
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    assert any("faithfulness" in str(name) for name in failed)


_ENDS = "--{} writes {}, but {} ends in {}: use a name that ends in {}"
_PDF = " (for a PDF, print the page from a browser)"
_TWICE = "x is given twice: each report needs its own file"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--html", "x", "--junit", "x"], _TWICE),
        (["--html", "x", "--output", "x"], _TWICE),
        (["--html", "x", "--baseline", "./x"], _TWICE),
        (
            ["--html", "x.pdf"],
            _ENDS.format("html", "an HTML page", "x.pdf", ".pdf", ".html") + _PDF,
        ),
        (["--html", "x.XML"], _ENDS.format("html", "an HTML page", "x.XML", ".xml", ".html")),
        (["--junit", "x.json"], _ENDS.format("junit", "JUnit XML", "x.json", ".json", ".xml")),
        (["--gitlab", "x.xml"], _ENDS.format("gitlab", "JSON", "x.xml", ".xml", ".json")),
        (["--markdown", "x.html"], _ENDS.format("markdown", "Markdown", "x.html", ".html", ".md")),
        (
            ["--html", "no/page.html"],
            "cannot write no/page.html: the folder 'no' does not exist; create it first",
        ),
        (["--html", "."], "cannot write .: it is a folder"),
        (
            ["--junit", "data.jsonl"],
            "the output data.jsonl is the sample file itself; give it another name",
        ),
        (["--slice-by", "topic"], "slice_by needs a report that shows it (html, view=True)"),
    ],
)
def test_what_could_not_be_written_is_refused_before_any_work(
    tmp_path: Path, flags: list[str], message: str
) -> None:
    (tmp_path / "data.jsonl").write_text(EXAMPLE.read_text())
    done = run("run", "data.jsonl", *flags, cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"error: {message}\n"
    assert (tmp_path / "data.jsonl").read_text() == EXAMPLE.read_text()


def test_a_summary_without_rows_makes_no_report(tmp_path: Path) -> None:
    done = run("run", EXAMPLE, "--format", "json", cwd=tmp_path)
    (tmp_path / "summary.json").write_text(done.stdout)
    found = run("report", "summary.json", "--html", "page.html", cwd=tmp_path)
    assert found.exit_code == 2
    assert (
        "summary.json has a summary but no rows; to write a result file: rag-eval run"
        in found.stderr
    )
    assert not (tmp_path / "page.html").exists()


def test_reports_are_there_though_nobody_reads_the_table(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -m rag_eval run '{EXAMPLE}' --html page.html | true"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(EXAMPLE.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[1] == "wrote page.html"
    assert "Error" not in done.stderr
    assert "</html>" in (tmp_path / "page.html").read_text()


def test_a_field_that_no_row_has_is_refused_where_all_rows_are_at_hand(tmp_path: Path) -> None:
    rag_eval.evaluate_batch([json.loads(EXAMPLE.read_text().splitlines()[0])]).to_json(
        tmp_path / "out.json"
    )
    done = run("report", "out.json", "--slice-by", "topik", "--html", "x.html", cwd=tmp_path)
    assert done.exit_code == 2
    assert "no sample has a field 'topik'" in done.stderr
    assert not (tmp_path / "x.html").exists()


def test_a_report_does_not_take_the_place_of_a_file_that_a_pattern_names(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(EXAMPLE.read_text())
    done = run("run", "*.jsonl", "--junit", "a.jsonl", cwd=tmp_path)
    assert done.exit_code == 2
    assert (tmp_path / "a.jsonl").read_text() == EXAMPLE.read_text()


def test_a_partial_result_passes_no_gate(tmp_path: Path) -> None:
    assert run("run", EXAMPLE, "--output", "out.json", "--quiet", cwd=tmp_path).exit_code == 0
    held = run("report", "out.json", "--min-pass-rate", "0", cwd=tmp_path)
    assert held.output.startswith("## rag-eval: passed"), held.output
    found = json.loads((tmp_path / "out.json").read_text())
    (tmp_path / "part.json").write_text(json.dumps({**found, "interrupted": True}))
    part = run("report", "part.json", "--min-pass-rate", "0", cwd=tmp_path)
    assert part.output.startswith("## rag-eval: failed"), part.output


@pytest.mark.deep
def test_a_page_of_a_hundred_thousand_rows_is_below_25_megabytes(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "rows.jsonl", generated_rows(100_000))
    page = written(tmp_path / "page.html", data, "--metrics", "faithfulness")
    assert 2_000_000 < page.stat().st_size < 25_000_000
    assert "20,000 of 100,000 rows: the worst ones and a random sample" in page.read_text("utf-8")
