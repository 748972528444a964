"""What GitHub is told: annotations, which are commands in a log, and the summary of a step."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rag_eval.errors import InputError
from rag_eval.reports.code_hosts import annotations, step_summary, write_github
from rag_eval.reports.console import console_for, number_table, print_line
from rag_eval.reports.plain_text import plain_text
from rag_eval.reports.run_markdown import run_markdown
from rag_eval.views.outcomes import FailedCheck, Outcome, run_outcomes
from tests.run_views import GOOD, HOSTILE_IDS, HOSTILE_TEXTS, hostile_view, view_of
from tests.tables import every_row

MIB = 1024 * 1024


class Command(NamedTuple):
    name: str
    properties: dict[str, str]
    data: str


def commands(log: str) -> list[Command]:
    """What a runner takes for commands: at the start of a line, or in the old form anywhere."""
    found = []
    for line in re.split(r"\r\n|\n|\r", log):
        if match := re.match(r"\s*::([a-z-]+)(?: (.*?))?::(.*)$", line, re.IGNORECASE):
            pairs = [pair.split("=", 1) for pair in (match[2] or "").split(",") if "=" in pair]
            values = {name: unescaped(value) for name, value in pairs}
            found.append(Command(match[1], values, unescaped(match[3])))
        elif match := re.search(r"##\[([a-z-]+)[^\]]*\](.*)$", line, re.IGNORECASE):
            found.append(Command(match[1], {}, match[2]))
    return found


def unescaped(text: str) -> str:
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ",")):
        text = text.replace(escape, character)
    return text.replace("%25", "%")


def row(name: str, status: Any = "failed", n_checks: int = 1, **more: Any) -> Outcome:
    checks = tuple(FailedCheck(f"m{number}", "low") for number in range(n_checks))
    return Outcome(group="s.jsonl", name=name, status=status, message="low", checks=checks, **more)


def test_an_annotation_names_file_line_and_why() -> None:
    gate, bad = annotations(run_outcomes(view_of()))
    assert gate == "::error title=rag-eval%3A min_pass_rate::pass rate 0.50 (1/2) is below 1.00"
    assert bad == (
        '::error file=data/samples.jsonl,line=2,title=rag-eval%3A line 2 ("bad")::'
        "faithfulness 0.00 is below 0.70; hallucination_rate 0.00 is below 0.70"
    )


@every_row(
    ("text", "shown"),
    [
        ("100% of a,b: c", "100% of a,b: c"),
        ("a\r\nb%0Ac", "a b%0Ac"),
        ("::error::x", "\\x3a:error::x"),
        ("a ##[add-mask]x", "a #\\x23[add-mask]x"),
    ],
)
def test_texts_come_out_as_they_went_in(text: str, shown: str) -> None:
    outcome = Outcome(
        group="g", name=text, status="failed", message=text, path="a,b:c%.jsonl", line=1
    )
    (line,) = annotations([outcome])
    assert "\n" not in line
    assert "\r" not in line
    (found,) = commands(line)
    assert found.name == "error"
    title = plain_text(f"rag-eval: {text}")
    assert found.properties == {"file": "a,b:c%.jsonl", "line": "1", "title": title}
    assert found.data == shown


def test_hostile_texts_are_no_commands_of_their_own() -> None:
    view = hostile_view()
    outcomes = run_outcomes(view)
    lines = annotations(outcomes, limit=1000)
    assert len(lines) == len(HOSTILE_TEXTS) + 1
    for line in lines:
        (found,) = commands(line)
        assert (found.name, set(found.properties) - {"file", "line"}) == ("error", {"title"})


@every_row("text", HOSTILE_TEXTS, ids=HOSTILE_IDS)
@every_row("before", ["", "note: "])
def test_what_is_printed_of_data_is_no_command(text: str, before: str) -> None:
    stream = io.StringIO()
    print_line(console_for(stream), f"{before}{plain_text(text)}")
    assert commands(stream.getvalue()) == []


@every_row("n_before", range(28, 40))
def test_a_word_that_a_table_breaks_is_no_command(n_before: int) -> None:
    """The rest of a name that was broken before ``::error::`` began a line of the log."""
    name = f"{'x' * n_before}::error::pwned"
    table = number_table(console_for(io.StringIO()), "change", first="name")
    table.columns[0].no_wrap = False
    table.columns[0].overflow = "fold"
    table.columns[0].max_width = 36
    table.add_row(plain_text(name), "0")
    stream = io.StringIO()
    console_for(stream).print(table)
    shown = stream.getvalue()
    assert shown.count("\n") == 4
    assert commands(shown) == []


def test_names_of_code_stay_readable() -> None:
    assert plain_text("std::chrono::seconds") == "std::chrono::seconds"


def test_a_runner_would_take_raw_texts_for_commands() -> None:
    """The checks above could not fail otherwise."""
    assert {each.name for text in HOSTILE_TEXTS for each in commands(text)} >= {
        "error",
        "set-output",
        "add-mask",
    }


def test_of_many_failures_the_worst_are_shown_and_the_last_says_how_many_more() -> None:
    rows = [row(f"r{number}", n_checks=1 + number % 3) for number in range(1_200)]
    gate = Outcome(group="gates", name="gate", status="failed", message="no")
    found = [commands(line)[0] for line in annotations([row("e", "error"), *rows, gate])]
    assert [each.properties["title"] for each in found] == [
        "rag-eval: gate",
        *(f"rag-eval: r{number}" for number in range(2, 26, 3)),
        "rag-eval: more failures",
    ]
    assert found[-1].data.startswith("1,193 more failures: ")
    assert len(annotations([gate, *rows[:9]])) == 10
    assert "more" not in annotations([gate, *rows[:9]])[-1]


def test_where_the_gates_held_rows_are_warnings() -> None:
    held = Outcome(group="gates", name="gate", status="passed")
    assert annotations([held, row("r")])[0].startswith("::warning ")
    assert annotations([row("r")])[0].startswith("::warning "), "no gate was set"
    dead = replace(held, name="judge", status="error")
    assert {line.partition(" ")[0] for line in annotations([held, dead, row("r")])} == {"::error"}


def test_what_passed_or_was_skipped_has_no_annotation() -> None:
    assert annotations(run_outcomes(view_of([GOOD]))) == []
    assert annotations([row("s", "skipped")]) == []


# -------------------------------------------------------------------------------------- summary


def balanced(markdown: str) -> bool:
    return markdown.count("<details>") == markdown.count("</details>")


def test_a_summary_that_fits_is_left_as_it_is() -> None:
    text = "ä" * (MIB // 2)
    assert step_summary(text) == text
    assert step_summary(f"{text}a") != f"{text}a"


@every_row("limit", [4_000, 5_000, 6_001, 9_999, 20_000])
def test_a_long_summary_is_cut_where_nothing_is_open(limit: int) -> None:
    text = run_markdown(hostile_view(), most_rows=100)
    assert len(text.encode()) > 20_000
    cut = step_summary(text, limit)
    assert len(cut.encode()) <= limit
    head, note, rest = cut.partition("\n**Truncated: a step summary holds 1 MiB.**")
    assert note
    assert rest
    assert text.startswith(head)
    assert head.endswith("\n")
    assert balanced(head)
    assert sum(line.startswith("```") for line in head.splitlines()) % 2 == 0


def test_no_cut_is_made_in_a_block_of_code_or_a_collapsible() -> None:
    for text in ("a\n````text\n```\nb\n````\n", "a\n<details>\n\\</details>\nb\n\n</details>\n"):
        long = f"{text}{'x' * MIB}\n"
        for limit in range(MIB - 1, MIB - 200, -20):
            assert step_summary(long, limit).startswith(text)
    inside = f"a\n```text\n{'x' * 500}\n{'y' * 500}\n```\n"
    assert step_summary(inside, 800).startswith("a\n\n**Truncated")
    assert step_summary("x" * 3 * MIB).startswith("\n**Truncated")


def test_bytes_count_and_not_characters() -> None:
    line = f"{'ä' * 99}\n"
    cut = step_summary(line * 100, 4_000)
    assert 4_000 - 2 * len(line.encode()) < len(cut.encode()) <= 4_000


def test_the_summary_is_appended_and_annotations_are_printed(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    stream = io.StringIO()
    notes = write_github("## now\n", [row("r")], {"GITHUB_STEP_SUMMARY": str(summary)}, stream)
    assert notes == []
    assert summary.read_text() == "before\n\n## now\n"
    assert stream.getvalue() == "::warning title=rag-eval%3A r::low\n"


def test_what_the_step_wrote_before_counts(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("x" * (MIB - 3_000))
    environ = {"GITHUB_STEP_SUMMARY": str(summary)}
    for _ in range(3):
        write_github("line of text\n" * 500, [], environ, io.StringIO())
        assert MIB - 3_000 < summary.stat().st_size <= MIB


def test_without_a_summary_to_write_to_a_note_says_so(tmp_path: Path) -> None:
    (note,) = write_github("x", [], {}, io.StringIO())
    assert "GITHUB_STEP_SUMMARY is not set" in note
    with pytest.raises(InputError, match="GITHUB_STEP_SUMMARY: cannot write"):
        write_github("x", [], {"GITHUB_STEP_SUMMARY": str(tmp_path)}, io.StringIO())
