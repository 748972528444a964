"""``rag-eval show``: a result file in brief, and one row of it."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rag_eval.cli.program import program
from rag_eval.jobs.file_run import run_file
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.results.batch_reading import read_row
from rag_eval.results.reading import ResultFile
from rag_eval.samples import Profile
from rag_eval.views.result_rows import overview, rows_with_id
from tests.fluent_judge import FluentJudge
from tests.warm_processes import WarmProcess

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "examples" / "handbook.jsonl"
HOSTILE = "[bold]x[/] \x1b[31m \u202eevil \ud800 ::error::y\n::stop::z <script>"


def show(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(program, ["show", *map(str, arguments)], **options)


def refused(*arguments: object) -> str:
    done = show(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of both profiles, as lines, as one value, packed, and without evidence."""
    path = tmp_path_factory.mktemp("results")
    files: dict[str, dict[str, Any]] = {
        "grounded.jsonl": {"profile": "grounded", "details": True},
        "bare.json": {"profile": "grounded"},
        "overlap.json.gz": {},
    }
    for name, options in files.items():
        run_file(HANDBOOK, output=path / name, **options)
    return path


# --------------------------------------------------------------------------------------- all rows


@pytest.mark.parametrize("name", ["grounded.jsonl", "bare.json", "overlap.json.gz"])
def test_the_whole_is_the_table_of_the_run_and_its_worst_rows(folder: Path, name: str) -> None:
    profile: Profile = "overlap" if name.startswith("overlap") else "grounded"
    run = run_file(HANDBOOK, worst=3, profile=profile)
    done = show(folder / name)
    assert done.exit_code == 0
    for metric, aggregate in run.result.aggregates.items():
        row = next(line for line in done.stdout.splitlines() if line.startswith(metric))
        assert row.split()[1] == f"{aggregate.mean:.2f}"
        assert f" {aggregate.n}/66 " in row
        threshold = PROFILE_METRICS[profile][metric].threshold
        decides = threshold is not None
        passed = [f"{aggregate.pass_rate:.2f}", f"{threshold:.2f}"] if decides else ["–", "–"]
        assert row.split()[-2:] == passed
    assert f"{folder / name}: 66 rows, {run.result.n_passed} passed; a null lowers a" in done.stdout
    assert "verdict" not in done.stdout
    heads = [line for line in done.stdout.splitlines() if line.startswith("row ")]
    assert [line.split('"')[1] for line in heads] == [row.name.split('"')[1] for row in run.worst]
    found = heads[0].split('"')[1]
    assert done.stdout.splitlines()[-1].endswith(f"show {folder / name} {found}")


def test_the_whole_as_json(folder: Path) -> None:
    value = json.loads(show(folder / "bare.json", "--worst", 2, "--format", "json").stdout)
    file = json.loads((folder / "bare.json").read_text())
    assert value["nRows"] == 66
    assert value["aggregates"] == file["aggregates"]
    assert value["compositeAggregate"] == file["compositeAggregate"]
    lowest = sorted(file["results"], key=lambda row: row["compositeScore"])[:2]
    assert [row["sample"]["id"] for row in value["worst"]] == [
        row["sample"]["id"] for row in lowest
    ]


def test_memory_does_not_grow_with_the_texts(tmp_path: Path) -> None:
    sample = {"question": "q?", "answer": "A b c.", "contexts": ["A b c. " * 4000]}
    data, path = tmp_path / "d.jsonl", tmp_path / "r.jsonl"
    data.write_text("".join(json.dumps({"id": f"r{n}", **sample}) + "\n" for n in range(400)))
    run_file(data, ["faithfulness"], output=path)
    assert path.stat().st_size > 11_000_000
    tracemalloc.start()
    overview(ResultFile(path), 3)
    found = rows_with_id(ResultFile(path), "r399")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [row.number for row in found] == [399]
    assert peak < 8_000_000


# --------------------------------------------------------------------------------------- one row


def test_a_row_is_shown_with_what_carries_each_sentence(folder: Path) -> None:
    text = show(folder / "grounded.jsonl", "hb-020").stdout
    lines = text.splitlines()
    assert lines[0].startswith('row 20 ("hb-020")  composite 0.11  FAIL  profile grounded')
    assert "  Do I need a permit to film for publication?" in lines
    assert "    1 ~ 0.42 [0]  Photography is not restricted, as long as you use" in text
    assert "   t1 ✗ 0.25 [0]  Yes, a permit from the director's office" in text
    assert "numbers in no context: 80" in map(str.strip, lines)
    assert "«red torches may be used outdoors." in text
    assert "best match for 1, t1" in text
    assert len(re.findall(r"best match for t?\d", text)) == 1
    assert "  ✗ faithfulness 0.416 (threshold 0.60)" in lines
    assert "    - critical: Low support (0.416): best match in" in text
    assert "found anew" not in text
    assert "\x1b" not in text


def test_what_carries_a_sentence_is_found_anew_where_it_was_not_kept(folder: Path) -> None:
    kept = show(folder / "grounded.jsonl", "hb-020").stdout.splitlines()
    anew = show(folder / "bare.json", "hb-020").stdout.splitlines()
    mark = "; recomputed from the texts"
    # The legend stands above the first sentences and holds for those of the ground truth too.
    assert sum(mark in line for line in anew) == 1
    sentences = [line for line in kept if " [0]  " in line and line.startswith("   ")]
    assert len(sentences) == 2
    assert [line for line in anew if " [0]  " in line and line.startswith("   ")] == sentences


def test_sentences_of_the_overlap_profile(folder: Path) -> None:
    text = show(folder / "overlap.json.gz", "--row", 20).stdout
    assert "    1 ~ 0.12 [2]  Photography is not restricted" in text
    assert "  [2]  best match for 1, t1" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_row_keeps_to_the_width(folder: Path, width: int) -> None:
    text = show(folder / "grounded.jsonl", "hb-020", env={"COLUMNS": str(width)}).stdout
    body = [line for line in text.splitlines() if line.startswith("      ")]
    assert len(body) > 5
    assert max(map(len, body)) <= width


def test_of_many_sentences_and_chunks_the_first_are_shown_unless_all_are_asked_for(
    tmp_path: Path,
) -> None:
    words = [f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60)]
    sample = {
        "question": "q?",
        "answer": " ".join(f"The {word} sings." for word in words),
        "contexts": [f"The {word} sings." for word in words[:25]],
    }
    data, path = tmp_path / "d.jsonl", tmp_path / "r.jsonl"
    data.write_text(json.dumps(sample) + "\n")
    run_file(data, ["faithfulness"], output=path)
    brief = show(path, "--row", 1).stdout
    full = show(path, "--row", 1, "--full").stdout
    for number, shown in ((50, True), (51, False)):
        line = f"\n {number:>4} "
        assert (line in brief, line in full) == (shown, True)
    for place, shown in ((19, True), (20, False)):
        assert (f"\n  [{place}]" in brief, f"\n  [{place}]" in full) == (shown, True)
    assert "  … 10 more sentences: use --full\n" in brief
    assert "  … 5 more contexts: use --full\n" in brief
    assert "more" not in full


def test_a_row_as_json_is_the_row_of_the_file(folder: Path) -> None:
    lines = (folder / "grounded.jsonl").read_text().splitlines()
    found = show(folder / "grounded.jsonl", "--row", 8, "--format", "json").stdout
    assert json.loads(found) == json.loads(lines[7])


def test_unknown_ids_and_numbers(folder: Path) -> None:
    message = refused(folder / "bare.json", "hb-20")
    assert "none of its 66 rows has the id 'hb-20'; similar ids: 'hb-020'" in message
    assert "bare.json has no row 67; the last row is 66" in refused(
        folder / "bare.json", "--row", 67
    )
    assert "row 4 does not have the id 'hb-020'; rows with it: 20" in refused(
        folder / "bare.json", "hb-020", "--row", 4
    )
    assert "\\x1b" in refused(folder / "bare.json", "\x1b[2J")
    assert "remove ID and --row" in refused(folder / "bare.json", "hb-020", "--worst", 1)
    assert "give its ID" in refused(folder / "bare.json", "--full")


def test_rows_count_from_1(folder: Path) -> None:
    for number in (0, -1):
        assert refused(folder / "bare.json", "--row", number) == (
            f"error: --row must be at least 1, the number of the first row, got {number}\n"
        )


def test_an_id_that_comes_several_times(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "grounded.jsonl").read_text().splitlines()
    path = tmp_path / "twice.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([lines[0], lines[1], lines[0]]).encode()))
    done = show(path, "hb-001")
    assert done.stdout.count('("hb-001")') == 2
    assert "2 rows have this id: 1, 3" in done.stderr
    one = show(path, "hb-001", "--row", 3)
    assert one.stdout.splitlines()[0].startswith('row 3 ("hb-001")')
    assert one.stderr == ""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "is not valid JSON"),
        ("a.json", "[]", "has no rows"),
        ("a.json", '{"aggregates": {}}', "has a summary but no rows"),
        ("a.json", '{"results": 3}', "results must be a list of objects, got 3"),
        ("a.jsonl", '{"id": "q", "faithfulness": 1}', "line 1"),
        (
            "a.jsonl",
            '{"metrics": {}}',
            "row 1: is not a result row: compositeScore is missing: it must be",
        ),
        ("a.csv", "id\nq\n", 'line 2 ("q") has no metrics with explanations'),
        ("a.txt", "", "unknown file format"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    assert message in refused(tmp_path / name)


def test_scores_that_are_no_numbers_are_refused(folder: Path, tmp_path: Path) -> None:
    row = json.loads((folder / "grounded.jsonl").read_text().splitlines()[0])
    row["metrics"]["faithfulness"]["score"] = "high"
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row))
    wanted = "must be a number or null, got 'high'"
    assert f"row 1: is not a result row: metrics.faithfulness.score {wanted}" in refused(
        path, "--row", 1
    )


def test_a_result_of_the_tool_in_javascript(tmp_path: Path) -> None:
    metric = {
        "metricId": "faithfulness",
        "score": 0.25,
        "mode": "heuristic",
        "passed": False,
        "threshold": 0.7,
        "explanation": "Low.",
        "signals": [{"id": "s", "metricId": "faithfulness", "severity": "warning", "message": "m"}],
        "llmCalls": 0,
        "durationMs": 1,
    }
    sample = {"question": "q?", "answer": "A b c. D e f.", "contexts": ["A b c."]}
    row = {"sample": sample, "metrics": {"faithfulness": metric}, "compositeScore": 0.25}
    path = tmp_path / "node.json"
    path.write_text(json.dumps({"results": [{**row, "passed": False}], "aggregates": {}}, indent=1))
    text = show(path, "--row", 1).stdout
    assert text.startswith("row 1  composite 0.25  FAIL\n")
    assert "    1 ✓ 1.00 [0]  A b c." in text
    assert "    2 ✗ 0.00" in text
    assert show(path).stdout.splitlines()[-1].endswith("node.json --row 1")
    assert "because the rows have no ids; --row takes the number" in refused(path, "q")


def test_what_a_judge_said(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    run_file(HANDBOOK, ["faithfulness"], mode="llm", judge=FluentJudge(), output=path, details=True)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    number, row = next(
        (n, row)
        for n, row in enumerate(rows)
        if any(
            v["verdict"] == "unsupported"
            for v in row["metrics"]["faithfulness"]["judge"]["verdicts"]
        )
    )
    judged = row["metrics"]["faithfulness"]["judge"]
    assert [read_row(row).to_dict(details=True) for row in rows] == rows
    text = " ".join(show(path, "--row", number + 1).stdout.split())
    assert f"judge {judged['score']:.3f}, native" in text
    assert "- unsupported “" in text
    judged["verdicts"][0] |= {"quote": "so it \x1b[31mis", "quoteFound": False}
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    text = " ".join(show(path, "--row", number + 1).stdout.split())
    assert "quoting “so it \\x1b[31mis” (not in the contexts): so" in text


def test_texts_of_data_are_only_text(tmp_path: Path) -> None:
    sample = {
        "id": HOSTILE,
        "question": HOSTILE,
        "answer": f"{HOSTILE}. " * 3,
        "contexts": [HOSTILE, "w" * 200_000],
        "groundTruth": HOSTILE,
    }
    data = tmp_path / "d.jsonl"
    data.write_text(json.dumps(sample) + "\n")
    for profile in ("grounded", "overlap"):
        path = tmp_path / f"{profile}.jsonl"
        run_file(data, profile=profile, details=True, output=path)
        for arguments in ([path], [path, "--row", 1], [path, "--row", 1, "--full"]):
            done = show(*arguments)
            assert done.exit_code == 0, done.output
            for harm in ("\x1b", "\u202e", "\ud800", "\r"):
                assert harm not in done.stdout
            assert "[bold]x[/] \\x1b[31m \\u202eevil" in done.stdout
            assert not any(line.lstrip().startswith("::") for line in done.stdout.splitlines())
        assert len(show(path, "--row", 1).stdout) < 20_000
        assert show(path, "--row", 1, "--full").stdout.count("w") > 200_000


# --------------------------------------------------------------------------------------- terminals


def on_a_terminal(*arguments: object, stream: str, **variables: str) -> tuple[str, str]:
    """What a command prints when stdout or stderr is a terminal: there, and in the other's pipe."""
    ours, theirs = pty.openpty()
    streams: dict[str, Any] = {stream: theirs}
    process = WarmProcess(*arguments, env={"TERM": "xterm-256color", **variables}, **streams)
    os.close(theirs)
    seen = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not data:
            break
        seen += data
    piped = process.stdout if stream == "stderr" else process.stderr
    assert piped is not None
    with piped:
        rest = piped.read()
    process.wait()
    os.close(ours)
    return seen.decode(), rest.decode()


def test_colours_are_for_terminals_and_marks_for_all(folder: Path) -> None:
    row = ("show", folder / "grounded.jsonl", "hb-020")
    coloured, _ = on_a_terminal(*row, stream="stdout")
    assert "\x1b[33m~ 0.42\x1b[0m" in coloured
    assert "«\x1b[4;33mred torches" in coloured
    bare, _ = on_a_terminal(*row, stream="stdout", NO_COLOR="1")
    assert "\x1b[33m" not in bare
    assert "~ 0.42 [0]" in bare
    dumb, _ = on_a_terminal(*row, stream="stdout", TERM="dumb")
    assert "\x1b" not in dumb
    assert "«red torches" in dumb


def test_progress_is_shown_on_the_terminal_and_nowhere_else(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text(HANDBOOK.read_text("utf-8") * 60, "utf-8")
    arguments = ("run", data, "--metrics", "faithfulness", "--min-pass-rate", 0)
    seen, piped = on_a_terminal(*arguments, stream="stderr")
    for part in ("samples", "/s", "to go"):
        assert part in seen
    assert "to go" not in piped
    assert "\x1b" not in piped
    assert "3,960 samples scored" in piped
    seen, piped = on_a_terminal(*arguments, "--quiet", stream="stderr")
    assert seen == ""
