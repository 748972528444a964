"""Files that change between their opening and the end: told, what was scored is kept, exit code 2.

Every change is made by a hook of the run itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyarrow import ipc, parquet

from rag_eval.cli.program import program
from rag_eval.errors import InputChangedError, InputError
from rag_eval.golden.loading import load_golden_dataset
from rag_eval.inputs import parquet_files
from rag_eval.inputs.byte_files import ByteFile
from rag_eval.inputs.file_states import FileState
from rag_eval.jobs.file_run import run_file
from rag_eval.jobs.file_scoring import score_file
from rag_eval.jobs.judge_estimates import estimate_judging
from rag_eval.outputs.parts import PartedFile
from rag_eval.reports.plain_text import without_python
from rag_eval.results.batch import BatchEvalResult
from rag_eval.runs.run_files import read_run
from rag_eval.runs.store import RunStore
from rag_eval.scoring.faulty_rows import validate_file

N_ROWS = 3
METRICS = ["faithfulness"]
ADVICE = (
    "; the results are complete, but may mix old and new rows; run the command again, or accept "
    "such changes with --allow-changed-input (in Python: allow_changed_input=True)"
)
Change = Callable[[Path], None]


def line(n: int) -> str:
    sample = {"id": f"q-{n}", "question": "red fox", "answer": "red fox.", "contexts": ["red fox."]}
    return json.dumps(sample) + "\n"


def settle(path: Path) -> None:
    """Let the last change be long ago: two within a tick of the clock have the same time."""
    os.utime(path, ns=(10**18, 10**18))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(map(line, range(N_ROWS))))
    settle(path)
    return path


def appended(path: Path) -> None:
    with path.open("a") as file:
        file.write(line(9))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 10)


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    settle(other)
    other.replace(path)


def rewritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b" ")


def rewritten_with_its_time(path: Path) -> None:
    before = path.stat().st_ctime_ns
    # Until the clock of the file system has moved on.
    while path.stat().st_ctime_ns == before:
        rewritten(path)
        settle(path)


CHANGES: dict[str, tuple[Change, str]] = {
    "rows appended": (appended, f"has grown by {len(line(9))} bytes since it was opened"),
    "cut": (cut, "has shrunk by 10 bytes since it was opened"),
    "replaced": (replaced, "was replaced by another file since it was opened"),
    "rewritten in place": (rewritten, "was written to since it was opened"),
    "rewritten, its time set back": (
        rewritten_with_its_time,
        "was written to, or its permissions or links were changed, since it was opened",
    ),
    "removed": (Path.unlink, "was removed since it was opened"),
}


class Once:
    """A hook that makes its change the first time it is called.

    As a hook of progress: when so many rows are done.
    """

    def __init__(self, change: Change, path: Path, n_rows: int = N_ROWS) -> None:
        self.change: Change | None = change
        self.path = path
        self.n_rows = n_rows

    def __call__(self, n_done: int | None = None, total: int | None = None) -> None:
        if n_done is not None and n_done < self.n_rows:
            return
        change, self.change = self.change, None
        if change is not None:
            change(self.path)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(program, [str(part) for part in arguments])


# ------------------------------------------------------------------------------- run and score


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_told_when_all_results_are_there(data: Path, tmp_path: Path, kind: str) -> None:
    change, what = CHANGES[kind]
    output, store = tmp_path / "o.json", tmp_path / "runs.db"
    hook = Once(change, data)
    with pytest.raises(InputChangedError) as caught:
        run_file(data, METRICS, output=output, store=store, on_progress=hook, min_pass_rate=1)
    assert str(caught.value) == f"{data} {what}{ADVICE}"
    report = caught.value.report
    assert (report.result.n_rows, report.written) == (N_ROWS, output)
    # All gates hold, and yet it is no pass, nor a run that later ones are held against.
    assert all(gate.held for gate in report.gates)
    assert (report.passed, report.to_dict()["verdict"], report.run_id) == (False, "fail", None)
    assert "the input changed, so the run was not saved in the store" in report.result.notes
    assert RunStore(store).runs() == []
    written = json.loads(output.read_bytes())
    assert (len(written["results"]), written["inputChanged"]) == (N_ROWS, True)
    assert f"{data} {what}" in written["notes"]
    assert BatchEvalResult.from_json(output).n_rows == N_ROWS  # sound for its readers


def test_a_change_can_be_allowed(data: Path, tmp_path: Path) -> None:
    output = tmp_path / "o.json"
    hook = Once(appended, data)
    report = run_file(
        data,
        METRICS,
        output=output,
        store=tmp_path / "runs.db",
        on_progress=hook,
        allow_changed_input=True,
        min_pass_rate=1,
    )
    assert report.passed
    assert report.run_id is not None
    assert len(report.changed_input) == 1
    written = json.loads(output.read_bytes())
    assert written["inputChanged"] is True
    target = tmp_path / "s.jsonl"
    hook = Once(appended, data)
    scored = score_file(data, target, METRICS, on_progress=hook, allow_changed_input=True)
    # The row that was appended during the run before.
    assert (scored.result.n_rows, len(scored.changed_input)) == (N_ROWS + 1, 1)


def test_nothing_is_said_of_a_file_that_stays(data: Path, tmp_path: Path) -> None:
    output = tmp_path / "o.json"
    report = run_file(data, METRICS, output=output, on_progress=lambda *_: data.read_bytes())
    assert report.changed_input == []
    assert "inputChanged" not in json.loads(output.read_bytes())


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "arrow"])
def test_scores_of_a_changed_file_are_whole_and_marked(
    data: Path, tmp_path: Path, suffix: str
) -> None:
    target, same = tmp_path / f"s.{suffix}", tmp_path / f"same.{suffix}"
    score_file(data, same, METRICS)
    with pytest.raises(InputChangedError) as caught:
        score_file(data, target, METRICS, on_progress=Once(appended, data))
    report = caught.value.report
    assert (report.target, report.result.n_rows, report.kept) == (target, N_ROWS, None)
    assert report.to_dict()["inputChanged"] is True
    assert report.changed_input[0] in report.to_dict()["notes"]
    assert not target.with_name(f"{target.name}.parts").exists()
    if suffix == "jsonl":  # rows alone
        assert target.read_bytes() == same.read_bytes()
        return
    tables = [
        parquet.read_table(path) if suffix == "parquet" else ipc.open_file(path).read_all()
        for path in (target, same)
    ]
    assert tables[0].equals(tables[1])
    marked, plain = (table.schema.metadata for table in tables)
    assert marked.pop(b"rag_eval.input_changed") == report.changed_input[0].encode()
    assert marked == plain


def test_of_several_files_each_that_changed_is_named(data: Path, tmp_path: Path) -> None:
    others = [tmp_path / f"other-{n}.jsonl" for n in (1, 2)]
    for other in others:
        other.write_text(line(0))
        settle(other)

    def change(path: Path) -> None:
        appended(data)
        cut(others[1])

    with pytest.raises(InputChangedError) as caught:
        run_file([data, *others], METRICS, on_progress=Once(change, data, N_ROWS + 2))
    first, second, *_ = str(caught.value).split("; ")
    assert first.startswith(f"{data} has grown by")
    assert second.startswith(f"{others[1]} has shrunk by")


def test_tables_of_columns_are_watched_too(data: Path, tmp_path: Path) -> None:
    score_file(data, tmp_path / "s.parquet", METRICS, columns=["question", "answer", "contexts"])
    table = tmp_path / "s.parquet"
    settle(table)
    with pytest.raises(InputChangedError, match="was replaced by another file"):
        run_file(table, METRICS, on_progress=Once(replaced, table))


def test_ctrl_c_keeps_what_was_scored_and_tells_of_the_change(data: Path, tmp_path: Path) -> None:
    def interrupt(path: Path) -> None:
        appended(path)
        raise KeyboardInterrupt

    output = tmp_path / "o.json"
    report = run_file(data, METRICS, output=output, on_progress=Once(interrupt, data))
    assert (report.interrupted, len(report.changed_input)) == (True, 1)
    written = json.loads((tmp_path / "o.partial.json").read_bytes())
    assert (written["interrupted"], written["inputChanged"]) == (True, True)
    target = tmp_path / "s.jsonl"
    kept = score_file(data, target, METRICS, on_progress=Once(interrupt, data))
    assert (kept.interrupted, len(kept.changed_input)) == (True, 1)
    # To go on would mix two files.
    with pytest.raises(
        InputError,
        match=r"was started from other data or settings: \S*samples\.jsonl was changed\.",
    ):
        score_file(data, target, METRICS, resume=True, allow_changed_input=True)
    # Of another profile all options are others, too.
    with pytest.raises(InputError, match=r"profile was 'overlap' and is") as caught:
        score_file(data, target, METRICS, profile="grounded", resume=True)
    assert str(caught.value).count(" was ") == 3  # started, the file, and the profile


def test_a_change_after_the_journal_has_the_file_and_before_it_is_read(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, hook = PartedFile.begin, Once(appended, data)

    def changing(self: PartedFile, **options: bool) -> None:
        begin(self, **options)
        hook()

    monkeypatch.setattr(PartedFile, "begin", changing)
    with pytest.raises(InputChangedError, match="has grown by") as caught:
        score_file(data, tmp_path / "s.jsonl", METRICS)
    assert caught.value.report.result.n_rows == N_ROWS + 1


def test_an_error_of_reading_names_the_change(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill, hook = ByteFile.fill, Once(cut, data)

    def cutting(self: ByteFile, buffer: bytearray, begin: int) -> int:
        hook()
        return fill(self, buffer, begin)

    monkeypatch.setattr(ByteFile, "fill", cutting)
    what = rf"line 3.*: not valid JSON.*; {data} has shrunk by 10 bytes since it was opened"
    for act in (
        lambda: run_file(data, METRICS),
        lambda: score_file(data, tmp_path / "s.jsonl", METRICS),
    ):
        data.write_text("".join(map(line, range(N_ROWS))))
        hook.change = cut
        with pytest.raises(InputError, match=what):
            act()


def test_pipes_and_standard_input_have_no_identity(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "missing", "-", "/dev/null"):
        assert FileState.of(path) is None
    done = CliRunner().invoke(program, ["run", "-", "--metrics", "faithfulness"], input=line(0))
    assert done.exit_code == 0


# ------------------------------------------------------------------------------------ commands


@pytest.fixture
def changing_reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Rows are appended to a file when its content is first read."""
    hooks: list[Once] = []
    for name in ("fill", "chunks"):
        read = getattr(ByteFile, name)

        def changing(self: ByteFile, *arguments: Any, read: Any = read) -> Any:
            for hook in hooks:
                if self.source == str(hook.path):
                    hook()
            return read(self, *arguments)

        monkeypatch.setattr(ByteFile, name, changing)
    batches = parquet_files._ParquetBatches.read

    def changing_batches(self: Any, *arguments: Any) -> Any:
        for hook in hooks:
            hook()
        return batches(self, *arguments)

    monkeypatch.setattr(parquet_files._ParquetBatches, "read", changing_batches)

    def watch(path: Path) -> None:
        settle(path)
        hooks[:] = [Once(rewritten_end, path)]

    return watch


def rewritten_end(path: Path) -> None:
    """Written to, but not where anything is."""
    with path.open("r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(first)


def test_commands_end_with_2_when_all_is_written_unless_it_is_allowed(
    data: Path, tmp_path: Path, changing_reads: Callable[[Path], None]
) -> None:
    output, target, summary = (tmp_path / name for name in ("o.json", "s.csv", "summary.json"))
    what = f"{data} was written to since it was opened"
    for command, n_lines in (
        (["run", data, "--output", output, "--metrics", "faithfulness", "--format", "json"], 1),
        (["score", data, target, "--metrics", "faithfulness", "--summary", summary], 0),
        (["score", data, "-", "--metrics", "faithfulness"], N_ROWS),
        (["validate", data], 1),
    ):
        for path in (output, target, summary):
            path.unlink(missing_ok=True)
        changing_reads(data)
        done = invoke(*command)
        assert (done.exit_code, len(done.stdout.splitlines())) == (2, n_lines), done.output
        *_, last = done.stderr.splitlines()
        assert last == without_python(f"error: {what}{ADVICE}")
        changing_reads(data)
        done = invoke(*command, "--allow-changed-input")
        assert (done.exit_code, len(done.stdout.splitlines())) == (0, n_lines), done.output
        assert f"note: {what}" in done.stderr.splitlines()
    changing_reads(data)
    invoke("score", data, target, "--metrics", "faithfulness", "--summary", summary)
    assert json.loads(summary.read_bytes())["inputChanged"] is True
    assert len(target.read_text().splitlines()) == N_ROWS + 1
    config = tmp_path / "rag-eval.toml"
    config.write_text("allow_changed_input = true\n")
    changing_reads(data)
    assert invoke("run", data, "--config", config, "--metrics", "faithfulness").exit_code == 0


def test_validation_and_estimates_tell_of_a_change(
    data: Path, changing_reads: Callable[[Path], None]
) -> None:
    changing_reads(data)
    with pytest.raises(InputChangedError) as caught:
        validate_file(data)
    assert (caught.value.report.n_rows, len(caught.value.report.changed_input)) == (N_ROWS, 1)
    changing_reads(data)
    found = validate_file(data, allow_changed_input=True)
    assert (found.n_rows, len(found.changed_input)) == (N_ROWS, 1)
    options: Any = {"mode": "llm", "judge": "openai:gpt-5"}
    changing_reads(data)
    with pytest.raises(InputChangedError, match=r"since it was opened; run the command again, or"):
        estimate_judging(data, METRICS, **options)
    changing_reads(data)
    assert estimate_judging(data, METRICS, **options, allow_changed_input=True).n_wanted == N_ROWS


def test_runs_to_compare_and_labels_must_not_change_while_they_are_read(
    data: Path, tmp_path: Path, changing_reads: Callable[[Path], None]
) -> None:
    run_file(data, METRICS, output=tmp_path / "a.json")
    run_file(data, METRICS, output=tmp_path / "a.jsonl")
    for suffix in ("parquet", "csv"):
        score_file(data, tmp_path / f"a.{suffix}", METRICS)
    whole = read_run(tmp_path / "a.json")
    for suffix in ("json", "jsonl", "parquet", "csv"):
        path = tmp_path / f"a.{suffix}"
        message = f"{path} was written to since it was opened; run the command again when it is"
        changing_reads(path)
        with pytest.raises(InputError, match=message):
            read_run(path)
        for command in ("compare", "gate"):
            changing_reads(path)
            flags = ["--baseline", path] if command == "gate" else [path]
            done = invoke(command, path, *flags)
            assert done.exit_code == 2
            assert message in done.stderr
        assert read_run(path).scores.tolist() == whole.scores.tolist()
    changing_reads(tmp_path / "a.json")
    with pytest.raises(InputError, match="since it was opened"):
        BatchEvalResult.from_json(tmp_path / "a.json")


def test_a_golden_dataset_must_not_change_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "golden.json"
    path.write_text('{"cases": [{"id": "a", "input": "q", "expected": "b"}]}')
    settle(path)
    hook, opened = Once(rewritten_end, path), Path.open

    def changing(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == path and hook.change is not None:
            hook()
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", changing)
    with pytest.raises(InputError, match=r"golden\.json was written to since it was opened"):
        load_golden_dataset(path)
