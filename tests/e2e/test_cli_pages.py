"""``--html`` of compare, gate and history: which page is written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rag_eval.cli.program import program
from tests.unit.page_reading import read_page

ROWS = [
    {"id": f"q{n}", "question": "Who roars?", "answer": "Lions roar.", "contexts": ["Lions roar."]}
    for n in range(8)
]


def invoke(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(program, arguments, input=stdin)


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """old.json, a worse new.json, and both in a store."""
    monkeypatch.chdir(tmp_path)
    for name, answer in (("old", "Lions roar."), ("new", "Bees hum at dawn.")):
        rows = [{**row, "answer": answer} for row in ROWS]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        flags = ("--metrics", "faithfulness", "--output", f"{name}.json", "--quiet")
        done = invoke("run", f"{name}.jsonl", *flags, "--store", "runs.db")
        assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("arguments", "exit_code", "heading"),
    [
        (("compare", "old.json", "new.json"), 0, "1 REGRESSED"),
        (("gate", "new.json", "--baseline", "old.json"), 1, "✗ FAIL faithfulness fell"),
        (
            ("gate", "--store", "runs.db", "--run", "latest", "--min-mean", "faithfulness=0.1"),
            1,
            "",
        ),
        (("history", "--store", "runs.db"), 0, "2 runs, 0 failed"),
    ],
)
def test_a_page_is_written_beside_what_is_printed(
    arguments: tuple[str, ...], exit_code: int, heading: str
) -> None:
    plain = invoke(*arguments)
    done = invoke(*arguments, "--html", "page.html")
    assert (plain.exit_code, done.exit_code) == (exit_code, exit_code), done.output
    assert done.stdout == plain.stdout
    assert "wrote page.html" in done.stderr
    root = read_page(Path("page.html").read_text("utf-8"))
    shown = root.by_id("verdict").one("h1").text
    assert heading.split(" ")[0] in shown
    assert shown.strip()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "old.json", "new.json", "--html", "x.pdf"), "--html writes an HTML page"),
        (("compare", "old.json", "new.json", "--html", "new.json"), "new.json"),
        (("compare", "old.json", "new.json", "--independent", "--html", "x.html"), "remove --html"),
        (("history", "--store", "runs.db", "--html", "runs.db"), "runs.db is given twice"),
        (("gate", "new.json", "--baseline", "old.json", "--html", "old.json"), "old.json"),
    ],
)
def test_what_could_not_be_written_is_refused(arguments: tuple[str, ...], message: str) -> None:
    before = {path: path.read_bytes() for path in Path().iterdir() if path.suffix == ".json"}
    done = invoke(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr.replace("\n", " ")
    assert before == {path: path.read_bytes() for path in before}
    assert not list(Path().glob("*.html"))


def test_a_comparison_of_standard_input_has_no_page() -> None:
    text = Path("new.json").read_text()
    done = invoke("compare", "old.json", "-", "--html", "page.html", stdin=text)
    assert done.exit_code == 2
    assert "cannot be standard input" in done.stderr
    assert not Path("page.html").exists()
