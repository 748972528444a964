"""Damaged files through the commands that read them: each ends soon, in bounds, and in words.

``python -m tests.fuzz.documents --seconds 600 --seed 1 --crashes FOLDER`` writes files of every
format as the library itself writes them, changes some bytes, and runs a command on each, in a
process of its own that may use 10 s and 4 GB. A file counts as a crash when the command is ended
by a signal, prints a traceback, runs out of memory, or takes 50 times the size of the file. It is
copied into the folder, with the command and what it printed; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib
import io
import json
import os
import pkgutil
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import rag_eval

CPU_SECONDS: Final = 10
WALL_SECONDS: Final = 60
MEMORY_BYTES: Final = 4 << 30
MEMORY_TIMES: Final = 50
LEAST_MEMORY: Final = 200 << 20
"""What a small file may cost: a command's own modules, buffers, and the file of a store."""
ENDINGS: Final = (0, 1, 2, 3)

Mutator = Callable[[Path, random.Random], None]


class Format(NamedTuple):
    """A kind of file: how one is written, damaged, and read.

    Attributes
    ----------
    name : str
        Of the file; its suffix tells commands what it is.
    write : callable
        Writes a sound one; gets its path, in a folder with those of all other formats.
    commands : sequence of sequences of str
        Arguments; ``{}`` stands for the damaged file, ``{folder}`` for the folder of sound ones,
        ``{out}`` for a folder that may be written to.
    damage : callable, optional
        Changes a file in place; its bytes are changed where none is named.
    """

    name: str
    write: Callable[[Path], None]
    commands: Sequence[Sequence[str]]
    damage: Mutator | None = None


# ------------------------------------------------------------------------------- sound files

_ROWS: Final = [
    {
        "id": f"q{n}",
        "question": f"How long do refunds of order {n} take?",
        "answer": f"Refunds take {n} days [1]. \U0001f600 é “x”\n- a\n- b",
        "contexts": [f"Refunds take {n % 2 * n} days.", "", "Orders ship on Monday."],
        "ground_truth": f"{n} days",
        "metadata": {"topic": "refunds", "n": n, "deep": [{"a": None}, True, 1.5e300]},
        "retrieved_ids": ["a", "b"],
        "relevant_ids": {"a": 1},
        "tool_calls": [{"name": "search", "arguments": {"q": "x"}}],
    }
    for n in range(1, 13)
]


def _program(*arguments: str) -> None:
    """A command of ours that must not fail."""
    from rag_eval.cli.program import program

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            program.main(list(arguments), "rag-eval")
        except SystemExit as ending:
            if ending.code not in (0, 1):
                raise RuntimeError(f"{arguments} ended with {ending.code}") from None


def _jsonl(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in _ROWS))


def _text_file(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text) and None


def _packed(write: Callable[[Path], None]) -> Callable[[Path], None]:
    def written(path: Path) -> None:
        write(path)
        path.write_bytes(gzip.compress(path.read_bytes()))

    return written


def _arrow_rows() -> list[dict[str, object]]:
    names = ("id", "question", "answer", "contexts", "ground_truth", "metadata")
    return [{name: row[name] for name in names if name != "metadata"} for row in _ROWS]


def _parquet(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(_arrow_rows()), path, compression="none")


def _arrow(is_stream: bool, compression: str | None = None) -> Callable[[Path], None]:
    def written(path: Path) -> None:
        import pyarrow as pa
        from pyarrow import ipc

        table = pa.Table.from_pylist(_arrow_rows())
        place = table.schema.get_field_index("answer")
        table = table.set_column(place, "answer", table["answer"].dictionary_encode())
        made = ipc.new_stream if is_stream else ipc.new_file
        options = ipc.IpcWriteOptions(compression=compression)
        with made(str(path), table.schema, options=options) as writer:
            writer.write_table(table, 5)

    return written


def _run_to(*arguments: str) -> Callable[[Path], None]:
    """What a command writes; it reads the sound samples beside the file."""

    def written(path: Path) -> None:
        given = {"out": str(path), "folder": str(path.parent)}
        _program(*(text.format(**given) for text in arguments))

    return written


_GOLDEN: Final = """
version: "1.0"
test_cases:
  - &first
    id: a
    input: How long?
    expected_output: {text: "14 days", keys: [1, 2.5, null, true]}
    metadata: {tags: [x, y]}
  - {<<: *first, id: b}
"""
_LABELS: Final = "id,label\n" + "".join(f"q{n},{n % 2}\n" for n in range(1, 13))
_CONFIG: Final = """
metrics = ["faithfulness", "answer_relevance"]
profile = "grounded"
threads = 1
quantiles = "exact"
composite_threshold = 0.5
[run.thresholds]
faithfulness = 0.5
[run.weights]
faithfulness = 1.0
answer_relevance = 2
[run.mapping]
question = "question"
"""
_SCHEMA: Final = {
    "$defs": {"n": {"type": "number", "multipleOf": 0.01, "minimum": -1e9}},
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"pattern": "^(a|b)+$", "maxLength": 9}},
    "patternProperties": {"^x": {"type": ["string", "null"]}},
    "allOf": [{"anyOf": [{"required": ["a"]}, {"minProperties": 1}]}, {"not": {"const": 1}}],
    "additionalProperties": {"items": {"enum": [1, "a", None]}, "uniqueItems": True},
}


def _schema_options(path: Path) -> None:
    path.write_text(json.dumps({"regtrace.format": {"schema": _SCHEMA, "pattern": "(a+)+$"}}))


_TREC: Final = (
    "python",
    "import sys; from rag_eval.retrieval import *\n"
    "run, qrels = read_run(sys.argv[1]), read_qrels(sys.argv[2])\n"
    "evaluate_rankings(run, qrels, ['ndcg@10', 'map', 'err@5', 'rbp'])",
)

_SAMPLES: Final = (
    ("validate", "{}"),
    ("run", "{}", "--output", "{out}/run.json", "--threads", "1", "--quiet"),
    ("score", "{}", "{out}/scores.jsonl", "--profile", "grounded", "--threads", "1", "--quiet"),
)
_COLUMNS: Final = (*_SAMPLES, ("score", "{}", "{out}/scores.parquet", "--gold-separator", ";"))
_SCORES: Final = (
    ("compare", "{}", "{folder}/result.json"),
    ("gate", "{folder}/result.json", "--baseline", "{}"),
    ("calibrate", "{}", "{folder}/labels.csv", "--metric", "faithfulness"),
    ("estimate", "{}", "{folder}/labels.csv", "--metric", "faithfulness"),
)
_RESULTS: Final = (
    *_SCORES,
    ("show", "{}", "--worst", "2"),
    ("report", "{}", "--html", "{out}/report.html", "--md", "{out}/report.md"),
    ("run", "{folder}/samples.jsonl", "--baseline", "{}", "--quiet"),
)
_RESULT: Final = _run_to("run", "{folder}/samples.jsonl", "--quiet", "--output", "{out}")


def _damaged_database(path: Path, rng: random.Random) -> None:
    """Other values, or other bytes, in the file of a store or of a cache."""
    if rng.random() < 0.3:
        _damaged_bytes(path, rng)
        return
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        table = rng.choice([name for (name,) in names if not name.startswith("sqlite_")])
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = rng.choice(columns)
        value: object = rng.choice(_VALUES)
        rows = connection.execute(f"SELECT {column} FROM {table}").fetchall()
        if rows and rng.random() < 0.6:
            value = rng.choice(rows)[0]
            if isinstance(value, str):
                value = _changed(value.encode(), rng).decode("utf-8", "replace")
            elif isinstance(value, bytes):
                with contextlib.suppress(zlib.error):
                    value = zlib.compress(_changed(zlib.decompress(value), rng))
        connection.execute("PRAGMA ignore_check_constraints = ON")
        with contextlib.suppress(sqlite3.Error):
            connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _cache(path: Path) -> None:
    from rag_eval.judge.cache import CachedReply, JudgeCache
    from rag_eval.judge.replies import Usage

    with JudgeCache(path) as cache:
        for n in range(20):
            cache.put(bytes([n]) * 32, CachedReply({"score": n / 20}, Usage(1, 2), "m"))


FORMATS: Final = (
    Format("samples.jsonl", _jsonl, _SAMPLES),
    Format("samples.json", lambda path: _text_file(json.dumps(_ROWS))(path), _SAMPLES),
    Format("samples.csv", _run_to("score", "{folder}/samples.jsonl", "{out}"), _SAMPLES),
    Format("packed.jsonl.gz", _packed(_jsonl), _SAMPLES),
    Format("samples.parquet", _parquet, _COLUMNS),
    Format("samples.arrow", _arrow(is_stream=False), _COLUMNS),
    Format("stream.arrow", _arrow(is_stream=True), _COLUMNS),
    Format("packed.feather", _arrow(is_stream=False, compression="lz4"), _COLUMNS),
    Format("result.json", _RESULT, _RESULTS),
    Format("packed.json.gz", _RESULT, _RESULTS),
    Format("rows.jsonl", _RESULT, _RESULTS),
    Format("scores.csv", _run_to("score", "{folder}/samples.jsonl", "{out}"), _SCORES),
    Format("scores.parquet", _run_to("score", "{folder}/samples.jsonl", "{out}"), _SCORES),
    Format("scores.arrow", _run_to("score", "{folder}/samples.jsonl", "{out}"), _SCORES),
    Format(
        "runs.db",
        _run_to("run", "{folder}/samples.jsonl", "--quiet", "--store", "{out}"),
        (
            ("history", "--store", "{}"),
            ("history", "--store", "{}", "--format", "json"),
            ("baseline", "pin", "latest", "--store", "{}"),
            ("baseline", "show", "--store", "{}"),
            ("baseline", "export", "{out}/b.json", "--store", "{}", "--run", "latest"),
            ("gate", "{folder}/result.json", "--store", "{}"),
            ("run", "{folder}/samples.jsonl", "--quiet", "--store", "{}"),
        ),
        _damaged_database,
    ),
    Format(
        "baseline.json",
        _run_to("baseline", "export", "{out}", "--from", "{folder}/result.json"),
        _SCORES,
    ),
    Format(
        "judge.sqlite",
        _cache,
        (("cache", "info", "--cache-file", "{}"), ("cache", "clear", "--cache-file", "{}")),
        _damaged_database,
    ),
    Format(
        "labels.csv",
        _text_file(_LABELS),
        (
            ("labels", "validate", "{}"),
            ("labels", "compare", "{}", "{folder}/result.json", "--metric", "faithfulness"),
            ("calibrate", "{folder}/result.json", "{}", "--metric", "faithfulness"),
            ("estimate", "{folder}/result.json", "{}", "--metric", "faithfulness"),
        ),
    ),
    Format(
        "calibration.json",
        _run_to(
            *("calibrate", "{folder}/result.json", "{folder}/labels.csv"),
            *("--metric", "faithfulness", "--output", "{out}"),
        ),
        (("run", "{folder}/samples.jsonl", "--quiet", "--calibration", "{}"),),
    ),
    Format(
        "golden.yaml",
        _text_file(_GOLDEN),
        (
            ("golden", "validate", "{}"),
            ("golden", "dedupe", "{}"),
            ("golden", "diff", "{}", "{folder}/golden.yaml"),
            ("golden", "split", "{}", "--rest-file", "{out}/a.json", "--holdout-file", "{out}/b"),
        ),
    ),
    Format(
        "rag-eval.toml",
        _text_file(_CONFIG),
        (("run", "{folder}/samples.jsonl", "--quiet", "--config", "{}"),),
    ),
    Format(
        "options.json",
        _schema_options,
        (
            (
                *("run", "{folder}/samples.jsonl", "--quiet"),
                *("--metrics", "regtrace.format", "--scorer-options", "{}"),
            ),
        ),
    ),
    Format(
        "run.trec",
        _text_file("q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1e3 tag\n"),
        ((*_TREC, "{}", "{folder}/qrels.trec"),),
    ),
    Format(
        "qrels.trec", _text_file("q1 0 d1 1\nq1 0 d2 -1\n"), ((*_TREC, "{folder}/run.trec", "{}"),)
    ),
)


# ------------------------------------------------------------------------------------ damage

_VALUES: Final = (
    *(None, "", "\x00", -1, 2**63 - 1, -(2**63), 1e308, b"", b"\xff" * 9, "[" * 9999, "NaN"),
    *("{}", "[]", "null", "1e999", "\U0001f600", "9" * 5000, "a" * 100_000),
)
_TOKENS: Final = (
    *(b"\x00", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80", b"\xed\xa0\x80", b"\x1b[2J"),
    *(
        b"\n",
        b"\r",
        b'"',
        b"'",
        b",",
        b":",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\\",
        b"\\ud800",
        b"#",
        b"&a ",
    ),
    *(b"*a ", b"<<: *a", b"- ", b"NaN", b"Infinity", b"1e999", b"-1", b"1e-320", b"9" * 5000),
    *(b"[" * 3000, b"{" * 3000, b'{"a":' * 2000, b"null", b"true", b"{}", b"[]", b'""', b"0x"),
    *(b"a." * 2000, b"2020-01-01", b"inf", b"!!python/object:os.system ", b"%TAG ! x\n", b"=1+1"),
)


def _changed(data: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, cut, doubled, moved, or replaced by what parsers stumble over."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(found) + 1)
        end = min(len(found), at + rng.choice((1, 1, 2, 4, 8, 64, 1024)))
        kind = rng.randrange(8)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(found):
            found[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif kind == 2:
            del found[at : None if rng.random() < 0.2 else end]
        elif kind == 3:
            found[at:at] = found[at:end] * rng.choice((1, 2, 50))
        elif kind == 4:
            other = rng.randrange(len(found) + 1)
            found[at:end] = found[other : other + end - at]
        elif kind == 5:
            found[at:at] = rng.choice(_TOKENS)
        elif kind == 6:
            found[at:end] = rng.choice(_TOKENS)
        else:
            number = rng.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1))
            size = rng.choice((4, 8))
            found[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(found)


def _damaged_bytes(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    if path.suffix == ".gz" and rng.random() < 0.7:
        path.write_bytes(gzip.compress(_changed(gzip.decompress(data), rng), 1))
    else:
        path.write_bytes(_changed(data, rng))


# ----------------------------------------------------------------------------------- running


def _as_child(arguments: Sequence[str], log: Path) -> NoReturn:
    """Run a command here, and end; never returns to the caller's program."""
    code = 99
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(WALL_SECONDS)
        try:
            if arguments[0] == "python":
                code = _python(arguments[1], arguments[2:])
            else:
                from rag_eval.cli.program import program

                program.main(list(arguments), "rag-eval")
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else 98
        except BaseException:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _python(code: str, arguments: Sequence[str]) -> int:
    from rag_eval.errors import InputError

    sys.argv = ["-c", *arguments]
    try:
        exec(code, {})
    except InputError as error:
        print(f"error: {error}")
        return 2
    return 0


def fault_of(arguments: Sequence[str], size: int, log: Path) -> str:
    """What is wrong with how a command ends; empty where nothing is."""
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    child = os.fork()
    if not child:
        _as_child(arguments, log)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    text = log.read_text(errors="replace")
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    if "Traceback (most" in text or code not in ENDINGS:
        return f"exit {code}: {text.strip().splitlines()[-1:]}"
    if "not enough memory" in text:
        return "out of memory"
    if code == 2 and not text.strip():
        return "exit 2 without a message"
    memory = (usage.ru_maxrss << 10) - base
    if memory > max(LEAST_MEMORY, MEMORY_TIMES * size):
        return f"{memory >> 20} MB for a file of {size:,} bytes"
    return ""


def write_sound_files(folder: Path, log: Path) -> None:
    """A file of each format, written in a process of its own: threads do not survive a fork."""
    for kind in FORMATS:
        child = os.fork()
        if not child:
            try:
                kind.write(folder / kind.name)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit(f"{kind.name} could not be written")


def _import_all() -> None:
    """What commands import, once for all children."""
    for module in pkgutil.walk_packages(rag_eval.__path__, "rag_eval."):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
    for name in ("pyarrow.parquet", "pyarrow.ipc", "yaml", "re2", "jsonschema_rs", "rich.table"):
        importlib.import_module(name)


def fuzz(kinds: Sequence[Format], seconds: float, seed: int, crashes: Path) -> int:
    """Damage and read files for so long; how many crashed."""
    _import_all()
    rng, n_runs, n_crashes = random.Random(seed), 0, 0
    seen: set[str] = set()
    with tempfile.TemporaryDirectory() as made:
        folder, work, log = Path(made, "sound"), Path(made, "work"), Path(made, "log")
        folder.mkdir()
        write_sound_files(folder, log)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            kind = rng.choice(kinds)
            shutil.rmtree(work, ignore_errors=True)
            (work / "out").mkdir(parents=True)
            file = work / kind.name
            shutil.copyfile(folder / kind.name, file)
            (kind.damage or _damaged_bytes)(file, rng)
            given = rng.choice(kind.commands)
            shutil.copyfile(file, work / "kept")
            arguments = [_filled(text, file, folder, work / "out") for text in given]
            fault = fault_of(arguments, file.stat().st_size, log)
            n_runs += 1
            if fault and f"{kind.name} {fault}" not in seen:
                seen.add(f"{kind.name} {fault}")
                n_crashes += 1
                kept = _keep(crashes / f"{seed}-{n_runs}-{kind.name}", work / "kept", given, log)
                print(f"{kept}: {fault}", flush=True)
    print(f"{n_runs:,} files, {n_crashes} crashes (seed {seed})")
    return n_crashes


def _filled(text: str, file: Path, folder: Path, out: Path) -> str:
    for mark, path in (("{}", file), ("{folder}", folder), ("{out}", out)):
        text = text.replace(mark, str(path))
    return text


def _keep(target: Path, file: Path, command: Sequence[str], log: Path) -> Path:
    target.mkdir(parents=True, exist_ok=True)
    kept = target / target.name.split("-", 2)[2]
    shutil.copyfile(file, kept)
    shutil.copyfile(log, target / "log.txt")
    (target / "command.txt").write_text(f"{json.dumps(command)}\n")
    return kept


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crashes", type=Path, default=Path("crashes"), metavar="FOLDER")
    parser.add_argument(
        "--format", action="append", choices=[kind.name for kind in FORMATS], help="again for more"
    )
    given = parser.parse_args()
    kinds = [kind for kind in FORMATS if given.format is None or kind.name in given.format]
    return 1 if fuzz(kinds, given.seconds, given.seed, given.crashes) else 0


if __name__ == "__main__":
    sys.exit(main())
