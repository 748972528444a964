"""What commands do with files that are there, links, pipes, and other names of standard streams."""

from __future__ import annotations

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rag_eval.cli.program import program
from rag_eval.jobs.file_run import run_file

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "examples" / "handbook.jsonl"
STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def invoke(line: str, input: bytes | None = None) -> Result:
    found = CliRunner().invoke(program, shlex.split(line), input=input)
    assert found.exit_code in (0, 1), found.output
    return found


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "rag_eval", *map(str, arguments)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "data.jsonl").write_bytes(HANDBOOK.read_bytes())
    (tmp_path / "golden.json").write_bytes((ROOT / "examples" / "golden.json").read_bytes())
    return tmp_path


def test_every_command_keeps_the_mode_of_a_file_and_writes_through_a_link(here: Path) -> None:
    invoke("run data.jsonl --output r.json --quiet")
    (here / "far").mkdir()
    commands = {
        "run data.jsonl --quiet --output": "json",
        "run data.jsonl --quiet --html": "html",
        "run data.jsonl --quiet --junit": "xml",
        "run data.jsonl --quiet --gitlab": "json",
        "run data.jsonl --quiet --markdown": "md",
        "report r.json --html": "html",
        "gate r.json --baseline r.json --junit": "xml",
        "gate r.json --baseline r.json --html": "html",
        "compare r.json r.json --html": "html",
        "score --quiet data.jsonl": "parquet",
        "score --quiet data.jsonl ": "jsonl",
        "score --quiet data.jsonl  ": "csv",
        "score --quiet data.jsonl s.jsonl --summary": "json",
        "baseline export --from r.json": "json",
        "golden dedupe golden.json --output": "json",
    }
    for number, (line, suffix) in enumerate(commands.items()):
        real, link = here / "far" / f"{number}.{suffix}", here / f"{number}.{suffix}"
        real.write_bytes(b"old")
        real.chmod(0o600)
        link.symlink_to(real)
        invoke(f"{line} {link.name}")
        assert real.read_bytes() != b"old", line
        assert (stat.S_IMODE(real.stat().st_mode), link.is_symlink()) == (0o600, True), line
    assert not [path for path in here.rglob("*") if path.name.startswith(".")]


def test_a_killed_run_leaves_a_file_that_the_next_run_removes(here: Path) -> None:
    os.mkfifo("pipe.jsonl")
    run = command("run", "pipe.jsonl", "--output", "o.json")
    # The run opens the pipe after the output, and waits for it to end.
    with subprocess.Popen(run) as killed, Path("pipe.jsonl").open("wb"):
        assert len(list(here.glob(".o.json.*"))) == 1
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert len(list(here.glob(".o.json.*"))) == 1
    invoke("run data.jsonl --quiet --output o.json")
    assert not list(here.glob(".*"))


def test_a_partial_result_lies_beside_the_file_that_a_link_names(here: Path) -> None:
    (here / "far").mkdir()
    (here / "far" / "o.json").write_bytes(b"old")
    (here / "far" / "o.json").chmod(0o600)
    (here / "link.json").symlink_to("far/o.json")
    (here / "many.jsonl").write_bytes(HANDBOOK.read_bytes() * 200)
    rows: list[bytes] = []

    def interrupted(row: bytes) -> None:
        rows.append(row)
        if len(rows) == 1000:
            raise KeyboardInterrupt

    report = run_file("many.jsonl", output="link.json", on_row=interrupted, threads=1)
    partial = here.resolve() / "far" / "o.partial.json"
    assert (report.interrupted, report.written) == (True, partial)
    assert json.loads(partial.read_bytes())["interrupted"] is True
    assert stat.S_IMODE(partial.stat().st_mode) == 0o600
    assert (here / "far" / "o.json").read_bytes() == b"old"


def test_other_names_of_standard_input_are_read_as_the_dash(here: Path) -> None:
    data = HANDBOOK.read_bytes()
    invoke("run data.jsonl --quiet --output r.json")
    commands = (
        "run {} --format json --quiet --max-calls 1",
        "score {} -",
        "validate {}",
        "run {} --mode llm --judge openai:any --dry-run",
    )
    for line in commands:
        found = [invoke(line.format(name), data) for name in STDIN]
        assert len({timeless(one.output) for one in found}) == 1, line
        assert "/dev" not in found[1].output


def timeless(text: str) -> str:
    """What a command printed, without the lines that tell the time."""
    return "\n".join(line for line in text.splitlines() if "valuatedAt" not in line)


def test_other_names_of_standard_output_are_written_as_the_dash(here: Path) -> None:
    rows = invoke("score data.jsonl - --quiet").stdout
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        assert invoke(f"score data.jsonl {name} --quiet").stdout == rows
    Path("link.md").symlink_to("/dev/stdout")
    with Path("printed").open("wb") as file:
        report = ("run", "data.jsonl", "--quiet", "--markdown", "link.md")
        assert subprocess.run(command(*report), stdout=file, check=False).returncode == 0
    invoke("run data.jsonl --quiet --markdown s.md")
    assert Path("printed").read_text().splitlines()[0] == Path("s.md").read_text().splitlines()[0]
    assert Path("link.md").is_symlink()


def test_pipes_are_written_to_and_stay(here: Path) -> None:
    for line, name in (
        ("run --quiet data.jsonl --output", "o.jsonl"),
        ("score data.jsonl", "s.csv"),
    ):
        os.mkfifo(name)
        with Path("read").open("wb") as file, subprocess.Popen(["cat", name], stdout=file):
            invoke(f"{line} {name}")
        n_rows = len(HANDBOOK.read_bytes().splitlines())
        assert len(Path("read").read_bytes().splitlines()) >= n_rows
        assert Path(name).is_fifo()
        assert not Path(f"{name}.parts").exists()


def test_init_follows_no_link_out_of_the_repository(here: Path) -> None:
    (here / "repository" / ".gitlab").mkdir(parents=True)
    (here / "outside").write_text("kept")
    link = here / "repository" / ".gitlab" / "rag-eval.yml"
    link.symlink_to("../../outside")
    line = ["init", "gitlab", "--directory", "repository", "--force"]
    found = CliRunner().invoke(program, line)
    assert found.exit_code == 2
    assert "a link in the repository leads out of it, to " in found.stderr
    assert (here / "outside").read_text() == "kept"
    link.unlink()
    link.symlink_to("../../not-there")
    assert CliRunner().invoke(program, line[:-1]).exit_code == 2
    link.unlink()
    link.symlink_to("../in-it.yml")
    invoke("init gitlab --directory repository")
    assert (here / "repository" / "in-it.yml").is_file()


def test_a_gold_folder_is_never_begun_through_a_link_to_nothing(here: Path) -> None:
    Path("gold").mkdir()
    Path("gold/metadata.yaml").symlink_to("nowhere.yaml")
    found = CliRunner().invoke(program, ["labels", "init", "gold"])
    assert found.exit_code == 2
    assert "labels are never overwritten; already there: gold/metadata.yaml" in found.stderr
    assert [path.name for path in Path("gold").iterdir()] == ["metadata.yaml"]


def test_a_link_that_leads_to_itself_is_refused_in_a_sentence(here: Path) -> None:
    for name in ("loop.json", "loop.jsonl"):
        Path(name).symlink_to(name)
    for line in (
        "run data.jsonl --output loop.json",
        "run data.jsonl --junit loop.json",
        "score data.jsonl loop.jsonl",
        "golden split golden.json --rest-file loop.json",
        "baseline export loop.json --from r.json",
    ):
        if "r.json" in line:
            invoke("run data.jsonl --quiet --output r.json")
        found = CliRunner().invoke(program, line.split())
        assert found.exit_code == 2, (line, found.output)
        assert "Too many levels of symbolic links" in found.stderr, line
