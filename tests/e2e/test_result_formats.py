"""Every command that reads results, with every format: the same numbers, or a plain refusal."""

from __future__ import annotations

import gzip
import io
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest
from click.testing import CliRunner

import rag_eval
from rag_eval.calibration.labelled_files import calibrate_files
from rag_eval.cli.program import program
from rag_eval.comparing.independent_runs import compare_independent
from rag_eval.errors import InputError
from rag_eval.gating.against import gate
from rag_eval.labels.estimating import estimate_labels
from rag_eval.labels.label_files import compare_label_files
from rag_eval.labels.sampling import sample_for_labels
from rag_eval.plumbing.extras import zstd
from rag_eval.pytest_plugin.session_scores import SessionScores
from rag_eval.pytest_plugin.settings import SessionSettings
from rag_eval.runs.baseline_files import write_baseline_file
from rag_eval.runs.metric_intervals import mean_intervals
from rag_eval.runs.run_files import read_run
from rag_eval.views.making import view_of_file

METRICS: Final = ["faithfulness", "answer_correctness"]
ADDED_TO_NODE: Final = {
    *("signature", "settings", "nullReason", "notes", "meanInterval", "passRateInterval"),
}
N: Final = 24


def sample(number: int, answer: str) -> dict[str, Any]:
    found = {
        "id": f"q{number:02}",
        "question": "Where do red foxes live?",
        "answer": answer,
        "contexts": ["Red foxes live in the dark forest.", "Whales sing at sea."],
        "metadata": {"topic": "ab"[number % 2]},
        "topic": "ab"[number % 2],
    }
    if number % 4:
        found["ground_truth"] = "Red foxes live in the forest."
    return found


ANSWERS: Final = [
    "Red foxes live in the dark forest.",
    "Red foxes live in a small house.",
    "Nobody knows it.",
]
OLD_ROWS: Final = [sample(number, ANSWERS[number % 3]) for number in range(N)]
NEW_ROWS: Final = [sample(number, ANSWERS[min(2, number % 4)]) for number in range(N)]
LABELS: Final = [{"id": row["id"], "label": int("forest" in row["answer"])} for row in OLD_ROWS]


def json_lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


# ------------------------------------------------------------------------------------- formats


def of_node(value: Any) -> Any:
    """A result as rag-eval-node-ts has it."""
    if isinstance(value, dict):
        return {key: of_node(item) for key, item in value.items() if key not in ADDED_TO_NODE}
    return [of_node(item) for item in value] if isinstance(value, list) else value


def whole(batch: rag_eval.BatchEvalResult) -> Any:
    return json.loads(batch.to_json() or "")


def rows_alone(batch: rag_eval.BatchEvalResult) -> list[Any]:
    return list(whole(batch)["results"])


def summary(value: Any) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != "results"}


def scored(batch: rag_eval.BatchEvalResult, form: str) -> bytes:
    folder = Path(str(batch.notes[0]))
    rag_eval.score_file(
        folder / "samples.jsonl", folder / f"scores.{form}", METRICS, columns=["topic"]
    )
    return (folder / f"scores.{form}").read_bytes()


def committed(batch: rag_eval.BatchEvalResult) -> bytes:
    path = Path(str(batch.notes[0])) / "committed.json"
    write_baseline_file(read_run(batch, columns=["topic"]), path)
    return path.read_bytes()


def javascript(value: Any, indent: int | None = 2) -> bytes:
    return json.dumps(of_node(value), indent=indent).encode()


Maker = Callable[[Any], bytes]
ROWS, SCORES, SUMMARY, BASELINE = "rows", "scores", "summary", "baseline"
FORMATS: Final[dict[str, tuple[str, Maker]]] = {
    "whole.json": (ROWS, lambda batch: (batch.to_json() or "").encode()),
    "indented.json": (ROWS, lambda batch: json.dumps(whole(batch), indent=1).encode()),
    "array.json": (ROWS, lambda batch: json.dumps(rows_alone(batch)).encode()),
    "rows.jsonl": (ROWS, lambda batch: json_lines(rows_alone(batch))),
    "rows.ndjson": (ROWS, lambda batch: json_lines(rows_alone(batch))),
    "summary.json": (SUMMARY, lambda batch: json.dumps(summary(whole(batch))).encode()),
    "committed.json": (BASELINE, committed),
    "scores.jsonl": (SCORES, lambda batch: scored(batch, "jsonl")),
    "scores.csv": (SCORES, lambda batch: scored(batch, "csv")),
    "scores.parquet": (SCORES, lambda batch: scored(batch, "parquet")),
    "scores.arrow": (SCORES, lambda batch: scored(batch, "arrow")),
    "node.json": (ROWS, lambda batch: javascript(whole(batch))),
    "node-compact.json": (ROWS, lambda batch: javascript(whole(batch), None)),
    "node-rows.jsonl": (ROWS, lambda batch: json_lines(of_node(rows_alone(batch)))),
    "node-summary.json": (SUMMARY, lambda batch: javascript(summary(whole(batch)))),
}
PACKED: Final = {
    f"{name}.{packing}": (name, packing)
    for name in FORMATS
    if not name.endswith((".parquet", ".arrow"))
    for packing in ("gz", "zst")
}
PIPED: Final = {
    f"- {name}": name for name in FORMATS if "." + name.split(".")[1] in (".json", ".jsonl")
}
NAMES: Final = [*FORMATS, *PACKED, *PIPED]
# A use that opens a file by itself fails with any that is packed or comes from a pipe.
USUAL: Final = [*FORMATS, "whole.json.gz", "scores.csv.zst", "- whole.json", "- scores.jsonl"]


def packed(data: bytes, packing: str) -> bytes:
    return gzip.compress(data) if packing == "gz" else bytes(zstd().compress(data))


class Given(NamedTuple):
    """A file of the old run in one format; the new run is the same file for all formats."""

    path: str
    new: str
    folder: Path
    data: bytes | None = None  # of standard input

    @property
    def new_samples(self) -> Path:
        return Path(self.new).parent / "new-samples.jsonl"

    def beside(self, name: str) -> str:
        return str(Path(self.new).parent / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("formats")
    (found / "samples.jsonl").write_bytes(json_lines(OLD_ROWS))
    (found / "new-samples.jsonl").write_bytes(json_lines(NEW_ROWS))
    (found / "labels.jsonl").write_bytes(json_lines(LABELS))
    batch = rag_eval.evaluate_batch(OLD_ROWS, METRICS)
    batch.notes[:] = [str(found)]
    new = rag_eval.evaluate_batch(NEW_ROWS, METRICS)
    new.to_json(found / "new.json")
    drawn = sample_for_labels(batch, 12, output=found / "drawn.jsonl")
    assert len(drawn.probabilities) == 12
    rows = [json.loads(line) for line in (found / "drawn.jsonl").read_bytes().splitlines()]
    given = {row["id"]: row["label"] for row in LABELS}
    (found / "draw.jsonl").write_bytes(json_lines([{**r, "label": given[r["id"]]} for r in rows]))
    made = {name: make(batch) for name, (_, make) in FORMATS.items()}
    for name, data in made.items():
        (found / name).write_bytes(data)
    for name, (plain, packing) in PACKED.items():
        (found / name).write_bytes(packed(made[plain], packing))
    return found


def kind_of(name: str) -> str:
    if name in PACKED:
        name = PACKED[name][0]
    return FORMATS[PIPED.get(name, name)][0]


@contextmanager
def given(name: str, folder: Path, target: Path) -> Iterator[Given]:
    """A format of the old run; what a use writes goes to a new folder."""
    target.mkdir()
    if name not in PIPED:
        yield Given(str(folder / name), str(folder / "new.json"), target)
        return
    data = (folder / PIPED[name]).read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
        yield Given("-", str(folder / "new.json"), target, data)


# ---------------------------------------------------------------------------------------- uses


class Refused(Exception):
    """A command that ended with 2."""


def command(given: Given, *arguments: object) -> Any:
    """What a command prints; JSON is read."""
    done = CliRunner().invoke(program, [*map(str, arguments)], input=given.data)
    if done.exit_code == 2:
        raise Refused(done.stderr)
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout


def rounded(value: Any) -> Any:
    """Without names of files and what only some formats say; sums may differ in their last bit."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items() if key not in UNEQUAL}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 12)
    return value


UNEQUAL: Final = {"name", "scores", "signature", "drawnFrom", "notes", "output"}
RUN: Final = ["--metrics", ",".join(METRICS), "--format", "json"]
JSON: Final = ["--format", "json"]


def regressions(found: Any) -> Any:
    return [(one["metricId"], one["baselineMean"], one["delta"]) for one in found or ()]


def changes(found: Any) -> Any:
    return [(one["metricId"], one["oldMean"], one["newMean"]) for one in found["changes"][:2]]


def means_of(found: Any) -> Any:
    return [(name, one["mean"], one["nullRate"]) for name, one in found["aggregates"].items()]


def run_baseline(given: Given) -> Any:
    found = command(
        given, "run", given.new_samples, *RUN, *("--policy", "node", "--baseline", given.path)
    )
    return regressions(found["regressions"])


def run_file(given: Given) -> Any:
    run = rag_eval.run_file(given.new_samples, METRICS, baseline=given.path, policy="node")
    found = run.result.regressions
    return regressions(one.to_dict() for one in found or ())


def evaluate_batch(given: Given) -> Any:
    found = rag_eval.evaluate_batch(NEW_ROWS, METRICS, baseline_result=given.path).regressions
    return regressions(one.to_dict() for one in found or ())


def compare_old(given: Given) -> Any:
    return changes(command(given, "compare", given.path, given.new, *JSON))


def compare_new(given: Given) -> Any:
    return changes(command(given, "compare", given.new, given.path, *JSON))


def compare(given: Given) -> Any:
    return changes(rag_eval.compare(given.path, given.new).to_dict())


def compare_rows(given: Given) -> Any:
    return rag_eval.compare(given.path, given.new, slices=["topic"]).to_dict()["changes"]


def independent(given: Given) -> Any:
    return changes(command(given, "compare", given.path, given.new, "--independent", *JSON))


def compare_independent_runs(given: Given) -> Any:
    return changes(compare_independent(given.path, given.new).to_dict())


def gate_baseline(given: Given) -> Any:
    found = command(given, "gate", given.new, "--baseline", given.path, *JSON)
    return found["baselines"][0]["findings"]


def gate_new(given: Given) -> Any:
    found = command(given, "gate", given.path, "--min-mean", "faithfulness=0.5", *JSON)
    return found["guards"]


def gate_in_python(given: Given) -> Any:
    return gate(given.new, given.path).to_dict()["baselines"][0]["findings"]


def show(given: Given) -> Any:
    return means_of(command(given, "show", given.path, *JSON))


def show_row(given: Given) -> Any:
    found = command(given, "show", given.path, "q07", *JSON)
    return [(name, one["score"]) for name, one in found["metrics"].items()]


def report(given: Given) -> Any:
    cells = [line.split("|") for line in command(given, "report", given.path).splitlines()]
    return [(line[1], line[2]) for line in cells if len(line) > 3][:5]


def report_baseline(given: Given) -> Any:
    arguments = ["report", given.new, "--baseline", given.path, "--html", given.folder / "r.html"]
    command(given, *arguments)
    return (given.folder / "r.html").exists()


def view(given: Given) -> Any:
    return means_of(view_of_file(given.path).summary.summary_dict())


def view_baseline(given: Given) -> Any:
    found = view_of_file(given.new, baseline=given.path).comparison
    assert found is not None
    return changes(found.to_dict())


def labels_compare(given: Given) -> Any:
    labels = given.beside("labels.jsonl")
    arguments = ["--metric", "faithfulness", "--threshold", "0.5", *JSON]
    return command(given, "labels", "compare", labels, given.path, *arguments)


def labels_compare_files(given: Given) -> Any:
    labels = [given.beside("labels.jsonl")]
    found = compare_label_files(labels, given.path, metric="faithfulness", threshold=0.5)
    return found.to_dict()


def labels_sample(given: Given) -> Any:
    arguments = ["labels", "sample", 8, given.path, "--by", "faithfulness", "--design", "strata"]
    return command(given, *arguments, "-o", given.folder / "draw.jsonl", *JSON)


def labels_draw(given: Given) -> Any:
    found = sample_for_labels(given.path, 8, by="faithfulness", design="strata")
    return [found.to_dict(), dict(found.scores)]


def estimate(given: Given) -> Any:
    draw = given.beside("draw.jsonl")
    return command(given, "estimate", given.path, draw, "--metric", "faithfulness", *JSON)


def estimate_in_python(given: Given) -> Any:
    return estimate_labels(given.path, given.beside("draw.jsonl"), metric="faithfulness").to_dict()


def calibrate(given: Given) -> Any:
    labels = given.beside("labels.jsonl")
    return command(given, "calibrate", given.path, labels, "--metric", "faithfulness", *JSON)


def calibrate_in_python(given: Given) -> Any:
    found = calibrate_files(given.path, given.beside("labels.jsonl"), metric="faithfulness")
    return found.calibration.to_dict()


def from_json(given: Given) -> Any:
    return means_of(rag_eval.BatchEvalResult.from_json(Path(given.path)).summary_dict())


def export(given: Given) -> Any:
    target = given.folder / "exported.json"
    command(given, "baseline", "export", target, "--from", given.path)
    found = read_run(target)
    return [found.ids, found.scores.tolist(), found.null_reasons.tolist(), found.passed.tolist()]


def columns(given: Given) -> Any:
    found = read_run(given.path, columns=["topic"])
    return [found.columns["topic"], *(mean.estimate for mean in mean_intervals(found).values())]


def session(given: Given) -> Any:
    """The baseline of a session of pytest."""
    started = SessionScores(SessionSettings(baseline=Path(given.path)))
    try:
        started.pytest_sessionstart()
    except pytest.UsageError as error:
        raise InputError(str(error)) from None
    return [started._baseline.ids, started._baseline.scores.tolist()]  # type: ignore[union-attr]


class Use(NamedTuple):
    """What reads a file, and the kinds it cannot use with words of the message."""

    act: Callable[[Given], Any]
    refused: Mapping[str, str] = MappingProxyType({})


NEEDS_ROWS: Final = {SUMMARY: "has a summary but no rows; to write a result file: rag-eval run"}
ALONE: Final = (
    "has no metrics with explanations. Files of scores alone are read by rag-eval gate and "
    "compare; to write a result file: rag-eval run"
)
NEEDS_TEXTS: Final = {**NEEDS_ROWS, SCORES: ALONE, BASELINE: ALONE}
USES: Final = {
    use.act.__name__: use
    for use in (
        Use(run_baseline),
        Use(run_file),
        Use(evaluate_batch),
        Use(compare_old),
        Use(compare_new),
        Use(compare),
        Use(compare_rows, NEEDS_ROWS),
        Use(independent, NEEDS_ROWS),
        Use(compare_independent_runs, NEEDS_ROWS),
        Use(gate_baseline, NEEDS_ROWS),
        Use(gate_new, NEEDS_ROWS),
        Use(gate_in_python, NEEDS_ROWS),
        Use(show, NEEDS_TEXTS),
        Use(show_row, NEEDS_TEXTS),
        Use(report, NEEDS_TEXTS),
        Use(report_baseline),
        Use(view, NEEDS_TEXTS),
        Use(view_baseline),
        Use(labels_compare, NEEDS_ROWS),
        Use(labels_compare_files, NEEDS_ROWS),
        Use(labels_sample, NEEDS_ROWS),
        Use(labels_draw, NEEDS_ROWS),
        Use(estimate, NEEDS_ROWS),
        Use(estimate_in_python, NEEDS_ROWS),
        Use(calibrate, NEEDS_ROWS),
        Use(calibrate_in_python, NEEDS_ROWS),
        Use(from_json, {SCORES: ALONE, BASELINE: ALONE}),
        Use(export, NEEDS_ROWS),
        Use(columns, NEEDS_ROWS),
        Use(session, NEEDS_ROWS),
    )
}


@pytest.fixture(scope="module")
def wanted(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each use makes of the file that this library writes."""
    path = tmp_path_factory.mktemp("wanted")
    found = {}
    for name, use in USES.items():
        (path / name).mkdir()
        given = Given(str(folder / "whole.json"), str(folder / "new.json"), path / name)
        found[name] = rounded(use.act(given))
    return found


def outcome(use: str, given: Given) -> Any:
    """What a use makes of a file, or the message by which it refuses it."""
    try:
        return rounded(USES[use].act(given))
    except (Refused, InputError) as refused:
        return str(refused).strip()
    except Exception as error:
        error.add_note(f"{use} of {given.path}")
        raise


@pytest.mark.filterwarnings("ignore::rag_eval.calibration.fitting.CalibrationWarning")
@pytest.mark.parametrize(
    "names", [USUAL, pytest.param(NAMES, marks=pytest.mark.deep)], ids=["usual", "all"]
)
@pytest.mark.parametrize("use", USES)
def test_every_use_of_every_format(
    folder: Path, tmp_path: Path, wanted: Any, use: str, names: list[str]
) -> None:
    wrong = {}
    for name in names:
        with given(name, folder, tmp_path / name) as file:
            found = outcome(use, file)
        message = USES[use].refused.get(kind_of(name))
        if message is None:
            is_right = found == wanted[use]
        else:
            place = "standard input" if name in PIPED else name
            is_right = isinstance(found, str) and message in found and place in found
        if not is_right:
            wrong[name] = found
    assert wrong == {}, f"wanted {wanted[use]}"


NO_RESULTS: Final = {
    "samples.jsonl": (json_lines(OLD_ROWS), "rag-eval"),
    "empty.json": (b"", "to write a result file: rag-eval run DATA --output results.json"),
    "half.json": (
        b'{"results":[{"sample":',
        "to write a result file: rag-eval run DATA --output results.json",
    ),
    "other.json": (
        b'{"name": "x"}',
        "to write a result file: rag-eval run DATA --output results.json",
    ),
    "list.json": (b"[]", "to write a result file: rag-eval run DATA --output results.json"),
    "rows.jsonl": (b"", "to write a result file: rag-eval run DATA --output results.json"),
    "plan.txt": (
        b"scores: good",
        "unknown file format. The name must end in .jsonl, .ndjson, .csv",
    ),
    "damaged.json.gz": (gzip.compress(b'{"results": []}')[:-9], "The file seems to be cut off"),
    "lies.json": (
        b"\x89PNG\r\n\x1a\n",
        "to write a result file: rag-eval run DATA --output results.json",
    ),
    "gone.json": (None, "No such file"),
}


@pytest.mark.parametrize("use", USES)
def test_what_is_no_result_is_refused(tmp_path: Path, folder: Path, use: str) -> None:
    wrong = {}
    for name, (data, next_step) in NO_RESULTS.items():
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        found = outcome(use, Given(str(path), str(folder / "new.json"), tmp_path))
        is_right = isinstance(found, str) and str(path) in found and next_step in found
        if not is_right or "\n" in found or len(found) >= 600:
            wrong[name] = found
    assert wrong == {}


def test_scores_without_a_signature_may_be_of_any_settings(folder: Path, tmp_path: Path) -> None:
    """They were taken for the overlap profile, and refused as the baseline of another."""
    source, scores = folder / "samples.jsonl", tmp_path / "scores.csv"
    rag_eval.score_file(source, scores, METRICS, profile="grounded")
    said = "so the settings are not compared"
    run = rag_eval.run_file(source, METRICS, profile="grounded", baseline=scores)
    assert any(said in note for note in run.result.notes)
    assert run.passed
    rag_eval.run_file(source, METRICS, profile="grounded", output=tmp_path / "run.json")
    summary = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "summary.json").write_text(json.dumps({**summary, "results": []}))
    found = rag_eval.compare(scores, tmp_path / "summary.json")
    assert any(said in note for note in found.notes)
    assert found.changes[0].old.mean == pytest.approx(found.changes[0].new.mean)
