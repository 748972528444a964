"""The help of commands: every flag has its place, and examples stand first."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from rag_eval.cli.panels import panel_of
from rag_eval.cli.printing import say
from rag_eval.cli.program import COMMANDS, program
from rag_eval.options.config_file import read_config
from rag_eval.options.declared import declared
from rag_eval.options.file_types import ConfigOptions
from tests.docs_pages import tool
from tests.tables import every_row
from tests.unit.cli.test_flags import command

LONG = [
    "compare",
    "estimate",
    "gate",
    "judge check",
    "judge debias-check",
    "labels compare",
    "report",
    "run",
]
LONG += ["score", "validate"]
COMMAND_PATHS = [
    f"{name} {inner}".rstrip()
    for name in COMMANDS
    for inner in getattr(command(name), "commands", [""])
]
PANELS = ["Data", "Scoring", "Gates", "Output", "LLM judge", "Advanced"]


@every_row("path", LONG)
def test_every_flag_of_a_command_with_many_has_a_panel(path: str) -> None:
    found = command(path)
    flags = [one for one in found.params if isinstance(one, click.Option)]
    assert len(flags) > 8
    for flag in flags:
        assert flag.hidden or panel_of(found, flag) in PANELS, flag.name


def helped(*args: str) -> str:
    found = CliRunner().invoke(program, [*args, "--help"], env={"COLUMNS": "100"})
    assert found.exit_code == 0
    return found.stdout


@every_row("path", ["run", "score", "judge debias-check"])
def test_flags_that_moved_are_in_no_panel_and_work_with_a_note(path: str, tmp_path: Path) -> None:
    """Their place is a table of rag-eval.toml, which the note names with the key to write there."""
    moved = [one for one in declared(ConfigOptions).values() if one.table]
    flags = [flag for flag in command(path).params if isinstance(flag, click.Option)]
    hidden = {flag.opts[0] for flag in flags if flag.hidden}
    assert {one.flag_name for one in moved} == hidden
    assert len(hidden) > 5
    text = helped(*path.split())
    assert [flag for flag in hidden if re.search(rf"{flag}\b", text)] == []
    data, toml = tmp_path / "a.jsonl", tmp_path / "rag-eval.toml"
    data.write_text('{"question": "q", "answer": "a", "contexts": ["a"], "ground_truth": "a"}\n')
    target = [str(tmp_path / "out.jsonl"), "--restart"] if path == "score" else []
    for option in moved:
        flag = option.flag_name
        key = flag.removeprefix("--").replace("-", "_")
        done = CliRunner().invoke(program, [*path.split(), str(data), *target, flag, "7"])
        place = "is deprecated. Put it into rag-eval.toml instead"
        assert f"note: {flag} still works, but {place}: {key} = 7 below [{option.table}]" in (
            done.stderr
        )
        assert done.exit_code == (2 if path.startswith("judge") else 0)  # no judge is named
        toml.write_text(f"[{option.table}]\n{key} = 7\n")
        assert read_config(toml)[option.name] == 7


def test_a_flag_that_moved_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []
    monkeypatch.setattr("rag_eval.cli.run.print_estimate", lambda *asked: given.append(asked[2]))
    flags = ["--mode", "llm", "--dry-run", "--retries", "7"]
    CliRunner().invoke(program, ["run", "a.jsonl", *flags])
    assert [options["retries"] for options in given] == [7]


def test_the_panels_of_run() -> None:
    text = helped("run")
    assert re.findall(r"^╭─ (.+?) ─", text, re.MULTILINE)[:6] == PANELS
    judge, advanced = (text.index(f"─ {name} ") for name in PANELS[4:])
    assert judge < text.index("--max-calls") < advanced < text.index("--concurrency")
    assert "--retries" not in text
    assert text.index("Examples:") < text.index("DATA is a file of samples") < text.index("─ Data ")


@every_row(
    ("path", "name", "flags"),
    [
        ("run", "LLM judge", ["--judge", "--judge-models", "--max-calls"]),
        ("run", "Output", ["--store", "--html"]),
        ("gate", "Gates", ["--store", "--min-mean", "--policy"]),
        # What is in a group is arranged as well.
        ("judge debias-check", "LLM judge", ["--judge-models"]),
        ("labels compare", "Scoring", ["--judge", "--metric"]),
        # A few flags are one list.
        ("history", "Options", ["--store", "--branch", "--limit"]),
    ],
)
def test_which_panel_a_flag_stands_in(path: str, name: str, flags: list[str]) -> None:
    panels = re.split(r"^╭─ (.+?) ─+╮$", helped(*path.split()), flags=re.MULTILINE)
    held = dict(zip(panels[1::2], panels[2::2], strict=True))[name]
    assert [flag for flag in flags if f"│ {flag} " not in held] == []


@every_row("name", ["run", "history", "compare", "labels init"])
def test_one_blank_line_stands_above_and_below_the_examples(name: str) -> None:
    """Regression: there was none above, and four below."""
    lines = [line.strip() for line in helped(*name.split()).splitlines()]
    begin = lines.index("Examples:")
    end = next(n for n in range(begin, len(lines)) if not lines[n])
    assert lines[begin - 1] == ""
    assert lines[begin - 2] != ""
    assert lines[end + 1] != ""
    assert (
        " ".join(helped("compare").split()).count("standard input. Rows are paired by id. A") == 1
    )
    assert "several files: repeats of one run" in " ".join(helped("compare").split())


def test_examples_of_what_is_in_a_group_stand_after_the_first_sentence() -> None:
    paragraphs = (command("labels compare").help or "").split("\n\n")
    assert paragraphs[1].startswith("Examples:\n    ")


@every_row("name", COMMANDS)
def test_examples_stand_after_the_first_sentence(name: str) -> None:
    paragraphs = (command(name).help or "").split("\n\n")
    places = [place for place, text in enumerate(paragraphs) if text.startswith("Examples:\n    ")]
    assert places == ([] if name == "judge" else [1])


@every_row(
    ("args", "message"),
    [
        *(
            (f"{name} d", "Did you mean 'run'?")
            for name in ("evaluate", "eval", "test", "Evaluate")
        ),
        ("check d", "No such command 'check'. Did you mean 'validate'?"),
        ("diff a b", "No such command 'diff'. Did you mean 'compare'?"),
        ("compre a b", "No such command 'compre'. Did you mean 'compare'?"),
        ("xyzzy", "No such command 'xyzzy'; see rag-eval --help"),
        ("sample 100", "No such command 'sample'. Did you mean 'labels sample'?"),
        ("golden rn d", "No such command 'rn'. Did you mean 'run'?; see rag-eval golden --help"),
        ("golden check d", "No such command 'check'. Did you mean 'validate'?"),
        ("labels smaple", "No such command 'smaple'. Did you mean 'sample'?"),
        ("baseline set x", "No such command 'set'. Did you mean 'pin'?"),
        ("cache clean", "No such command 'clean'. Did you mean 'clear'?"),
        ("judge debias", "No such command 'debias'. Did you mean 'debias-check'?"),
        ("init githb", "No such command 'githb'. Did you mean 'github'?"),
        ("init xyzzy", "No such command 'xyzzy'; see rag-eval init --help"),
        (
            "run --profil x d",
            "No such option '--profil'. Did you mean '--profile'?; see rag-eval run",
        ),
        ("--profile x run", "No such option '--profile'. The options of a command follow its name"),
        ("run d --xyzzy", "No such option '--xyzzy'; see rag-eval run --help"),
    ],
)
def test_misspelt_names_are_answered_with_the_right_ones(args: str, message: str) -> None:
    found = CliRunner().invoke(program, args.split(), prog_name="rag-eval")
    assert found.exit_code == 2
    assert message in found.stderr


@every_row(
    ("begun", "wanted"),
    [
        ("rag-eval compl", [""]),
        ("rag-eval ca", ["cache", "calibrate"]),
        ("rag-eval run --metrics faith", ["faithfulness"]),
        ("rag-eval run --metrics ir.map,faith", ["ir.map,faithfulness"]),
        ("rag-eval run --min-mean answer_r", ["answer_relevance="]),
        ("rag-eval run --min-mean answer_relevance=0.", [""]),
        ("rag-eval gate --min-mean answer_r", ["answer_relevance="]),
        ("rag-eval gate --margin answer_r", ["answer_relevance="]),
        ("rag-eval gate --max-null-rate answer_r", ["answer_relevance="]),
        ("rag-eval gate --gating ir.ndcg@1", ["ir.ndcg@1", "ir.ndcg@10"]),
        ("rag-eval estimate a b --metric faith", ["faithfulness"]),
        ("rag-eval labels compare a b --metric faith", ["faithfulness"]),
        ("rag-eval nothing fait", [""]),
        (
            "rag-eval run --metric-modes faithfulness=llm,answer_r",
            ["faithfulness=llm,answer_relevance="],
        ),
        ("rag-eval run --prompt faith", ["faithfulness="]),
        ("rag-eval metrics hazel.m", ["hazel.mrr"]),
        ("rag-eval run --profile g", ["grounded"]),
    ],
)
def test_shells_complete(begun: str, wanted: list[str]) -> None:
    words = {"COMP_WORDS": begun, "COMP_CWORD": str(begun.count(" "))}
    found = CliRunner().invoke(
        program, env={"_RAG_EVAL_COMPLETE": "bash_complete", **words}, prog_name="rag-eval"
    )
    assert [line.partition(",")[2] for line in found.stdout.splitlines()] == wanted


def test_every_flag_that_holds_metrics_is_completed() -> None:
    flags = [
        (path, flag)
        for path in COMMAND_PATHS
        for flag in command(path).params
        if isinstance(flag, click.Option) and re.search("METRIC|SCORER=|A,B", flag.metavar or "")
        if flag.name not in ("judges", "columns")
    ]
    assert len(flags) > 40
    for path, flag in flags:
        context = click.Context(command(path))
        found = {item.value for item in flag.shell_complete(context, "answer_relev")}
        assert found & {"answer_relevance", "answer_relevance="}, (path, flag.name)


@pytest.mark.parametrize("text", ["90%", "0.9", "90.0%"])
def test_a_share_may_be_a_percentage(text: str) -> None:
    run = command("run")
    with run.make_context(
        "run", ["d", "--min-pass-rate", text, "--min-mean", f"faithfulness={text}"]
    ) as found:
        assert found.params["min_pass_rate"] == 0.9
        assert found.params["min_mean"] == {"faithfulness": 0.9}


def test_lines_on_a_terminal_wrap_at_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "error: no such-file/with-a-long-name.jsonl, and some words that go on and on to the end"
    monkeypatch.setenv("COLUMNS", "30")
    say(text)
    assert capsys.readouterr().err == f"{text}\n"  # a log has it on one line
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    say(text)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 3
    assert " ".join(line.strip() for line in lines) == text
    assert [line[:2] == "  " for line in lines] == [False, *[True] * (len(lines) - 1)]
    assert all(len(line) <= 30 or " " not in line.strip() for line in lines)


def test_the_reference_is_grouped_as_the_help_is() -> None:
    page = tool("write_reference").command_page()
    panels = re.split(r"^╭─ (.+?) ─+╮$", helped(), flags=re.MULTILINE)[3:]
    sections = re.split(r"^## ([A-Z].*)$", page, flags=re.MULTILINE)[3:]
    assert sections[::2] == panels[::2]
    for section, panel in zip(sections[1::2], panels[1::2], strict=True):
        top = re.findall(r"^### `rag-eval ([\w-]+)`$", section, re.MULTILINE)
        assert top == re.findall(r"^│ (\w+) ", panel, re.MULTILINE)
    flags = page.partition("\n### `rag-eval run`\n")[2].partition("\n### ")[0]
    assert re.findall(r"^\*\*(.+)\*\*$", flags, re.MULTILINE) == PANELS
