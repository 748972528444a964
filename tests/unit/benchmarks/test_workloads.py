"""The benchmarks measure the right thing, and their gate closes."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmarks import (
    bench_files,
    call_groups,
    callgrind,
    corpora,
    file_results,
    footprint,
    gate,
    growth,
    kernel_workload,
    memory,
    pure_python_baseline,
    rendering,
    result_sections,
    skew,
    write_results,
)
from benchmarks.pure_python_baseline import tokens, tokens_by_bytes
from rag_eval import evaluate_batch
from rag_eval.kernels.similarity import dice_similarities
from rag_eval.retrieval import evaluate_rankings
from tests.oracle.string_similarity import lcs_length
from tests.oracle.tokens import tokenize
from tests.tables import every_row

SMALL = {"typical": 10, "long": 1, "nonlatin": 15, "many_contexts": 2, "repeated": 5}


@every_row("name", list(SMALL))
def test_baseline_scores_like_the_library(name: str) -> None:
    rows = corpora.generate(name, SMALL[name])
    got = evaluate_batch(rows, threads=1).scores.tobytes()
    for cut in (tokens, tokens_by_bytes):
        want = np.array([pure_python_baseline.score(row, cut) for row in rows])
        assert want.tobytes() == got


@every_row("name", list(SMALL))
def test_kernel_workload_scores_like_the_library(name: str) -> None:
    rows = corpora.generate(name, SMALL[name])
    got = evaluate_batch(rows, threads=1).scores
    assert kernel_workload.score_rows(rows).tolist() == got.tolist()
    got = evaluate_batch(rows, threads=1, profile="grounded").scores
    assert kernel_workload.score_grounded(rows).tolist() == got.tolist()


@every_row("name", list(SMALL))
def test_the_workload_of_strings_compares_as_the_library_does(name: str) -> None:
    rows = corpora.generate(name, SMALL[name])
    left, right = ([row[side] for row in rows] for side in ("answer", "groundTruth"))
    assert kernel_workload.score_dice(rows).tolist() == dice_similarities(left, right).tolist()
    lengths = [lcs_length(a, b) for a, b in zip(left, right, strict=True)]
    assert kernel_workload.score_lcs(rows).tolist() == lengths


def test_the_workload_of_rankings_scores_like_the_library() -> None:
    rows = corpora.rankings(5)
    run = {
        str(number): {str(id): -float(place) for place, id in enumerate(row["ids"])}
        for number, row in enumerate(rows)
    }
    qrels = {
        str(number): dict(zip(map(str, row["judged"]), row["grades"], strict=True))
        for number, row in enumerate(rows)
    }
    want = evaluate_rankings(run, qrels, ["P@10", "map", "ndcg@10"]).values
    assert kernel_workload.score_rankings(rows).tolist() == want.tolist()


def test_baseline_cuts_every_ascii_character_as_the_oracle_does() -> None:
    text = "".join(f"A{chr(code)}b " for code in range(128)) + "x\x85y É“q” o–p İ …"
    cut = tokens(text)
    assert len(cut) == len(tokenize(text))
    assert tokens_by_bytes(text) == cut
    assert tokens_by_bytes(text[:300]) == tokens(text[:300])
    assert text[:300].isascii()


def test_corpora_are_the_same_everywhere() -> None:
    rows = {name: corpora.generate(name, 3) for name in SMALL}
    assert rows == {name: corpora.generate(name, 3) for name in SMALL}
    assert rows["typical"] == corpora.generate("typical", 5)[:3]
    assert rows["typical"] != corpora.generate("typical", 3, seed=1)
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]
    # Another digest makes the floors void: take new ones.
    assert digest == "d35db64f46b312ca"


def test_corpora_have_their_shape() -> None:
    row = corpora.generate("typical", 1)[0]
    assert len(row["contexts"]) == 5
    assert len(pure_python_baseline.sentences(row["answer"])) == 4
    assert 6_000 < corpora.text_bytes(corpora.generate("typical", 20)) / 20 < 8_000
    assert all(not row["contexts"][0].isascii() for row in corpora.generate("nonlatin", 15))
    assert len(set(corpora.generate("repeated", 1)[0]["contexts"])) == 1


def test_benchmark_set_says_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_EVAL_DATA", str(tmp_path))
    rows, source = corpora.benchmark_set("long")
    assert source == "50 generated rows (corpora.long)"
    assert rows[:2] == corpora.generate("long", 2)


def cost(first: int, second: int) -> gate.Cost:
    return gate.Cost("overlap.typical", (100, 300), (first, second))


def test_cost_is_the_slope() -> None:
    assert cost(5_000, 11_000).per_byte == 30.0


@every_row(
    ("totals", "counts"),
    [((7, 5_007, 11_007), [5_000, 11_000]), ((7, 7, 11_007), None), ((0, 5_000, 0), None)],
)
def test_what_calls_inherit_is_not_theirs_and_no_instruction_is_an_error(
    totals: tuple[int, ...],
    counts: list[int] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(flags: object, out_file: Path, *_: object) -> str:
        for child, total in enumerate(totals):
            out_file.with_suffix(f".{child}").write_text(f"summary: {total}\n")
        return " ".join(map(str, range(len(totals))))

    monkeypatch.setattr(callgrind, "run_callgrind", run)
    if counts is None:
        with pytest.raises(callgrind.CountError, match="collected no instruction"):
            callgrind.count_children([], "calls")
    else:
        assert callgrind.count_children([], "calls") == counts


def test_callgrind_file_without_a_total_counts_zero(tmp_path: Path) -> None:
    out = tmp_path / "callgrind.out"
    out.write_text("version: 1\nevents: Ir\nsummary: 1234\ntotals: 1234\n")
    assert callgrind.read_total(out) == 1234
    out.write_text("version: 1\nevents: Ir\n")
    assert callgrind.read_total(out) == 0


@every_row(("change", "n_complaints"), [(0.98, 0), (1.02, 0), (1.04, 1)])
def test_gate_allows_three_percent(change: float, n_complaints: int) -> None:
    complaints = gate.cost_complaints({"overlap.typical": 20.0 * change}, {"overlap.typical": 20.0})
    assert len(complaints) == n_complaints


def test_gate_fails_above_the_absolute_bar_and_without_a_floor() -> None:
    dear = {"overlap.typical": 26.1, "grounded.nonlatin": 120.1}
    complaints = gate.cost_complaints(dear, {name: cost - 0.1 for name, cost in dear.items()})
    assert "the bar is 26" in complaints[0]
    assert "the bar is 120" in complaints[1]
    assert "no floor" in gate.cost_complaints({"overlap.typical": 20.0}, {})[0]


def test_gate_ratio_passes_at_the_second_try() -> None:
    assert gate.ratio_complaints([17.9]) == ["typical: 17.9 times plain Python, the floor is 18"]
    assert gate.ratio_complaints([17.9, 18.1]) == []


def test_gate_allows_grounded_some_times_the_time_of_overlap() -> None:
    assert "the limit is 3" in gate.grounded_complaints([3.1, 3.2])[0]
    assert gate.grounded_complaints([3.1, 2.9]) == []


def test_gate_fails_for_another_package_more_bytes_and_a_slow_import() -> None:
    packages = dict.fromkeys(map(str, range(footprint.PACKAGES_LIMIT)), 1)
    assert footprint.footprint_complaints(packages, footprint.IMPORT_LIMIT) == []
    complaints = footprint.footprint_complaints({**packages, "new": 1_000_000_000}, 1.9)
    assert [line.partition(",")[0] for line in complaints] == [
        f"packages: {footprint.PACKAGES_LIMIT + 1}",
        "packages: 1000 MB",
        "import rag_eval: 1.90 times the instructions of import msgspec",
    ]


def test_footprint_counts_what_dependencies_bring_and_nothing_of_extras() -> None:
    packages = footprint.base_packages()
    assert {"rag-eval-native", "numpy", "rich", "pygments"} <= packages.keys()  # rich's own
    assert packages.keys().isdisjoint({"pytest", "pandas", "jinja2"})
    assert min(packages.values()) > 0


def test_what_grows_more_than_it_may_is_named() -> None:
    one, eight, square = (lambda: 1), (lambda: 8), (lambda: 64)
    pairs = {"rows": growth.Pair(one, eight), "joins": growth.Pair(one, square)}
    assert growth.calls_of(pairs.values()) == [one, eight, square]
    found = growth.complaints(pairs, {one: 1000, eight: 9000, square: 64_000})
    assert found == ["joins: 64,000 instructions are 64.0 times 1,000, the limit is 16"]


def test_kernels_whose_calls_are_counted_are_found() -> None:
    for kernel, function in (*gate._GROWING, *gate._COUNTED.values()):
        assert callgrind.wrapper_of(kernel, function).endswith(function)
    with pytest.raises(callgrind.CountError, match="stripped"):
        callgrind.wrapper_of("rankings", "score_blocks")


def no_valgrind() -> tuple[list[gate.Cost], list[str]]:
    raise FileNotFoundError("valgrind")


def test_gate_fails_without_valgrind_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "measure_counts", no_valgrind)
    monkeypatch.setattr(gate, "try_ratio", lambda rows: [25.0])
    monkeypatch.setattr(gate, "_gate_grounded", list)
    monkeypatch.setattr(gate, "gate_footprint", list)
    monkeypatch.setattr(gate.corpora, "benchmark_set", lambda name: ([], "no rows"))
    assert gate.main([]) == 1
    assert gate.main(["--allow-missing-valgrind"]) == 0


def test_floors_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "floors.toml"
    floors = {"overlap.typical": 30.25, "grounded.long": 20.0}
    path.write_text(gate.floors_text(floors, "GCC 12", "avx2"))
    expected = {"compiler": "GCC 12", "avx2": floors}
    assert gate.read_floors(path) == expected
    assert set(gate.read_floors()["avx2"]) == set(gate.SIZES)


# --------------------------------------------------------------------------------- any size


def test_memory_rows_are_about_one_kilobyte(tmp_path: Path) -> None:
    n_bytes = memory.write_rows(tmp_path / "rows.jsonl", 200)
    assert 0.8 < n_bytes / 200 / 1024 < 1.3
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert set(rows[0]) == {"id", "question", "answer", "contexts", "groundTruth"}
    assert [row["id"] for row in rows] == [f"m{number}" for number in range(200)]


def test_memory_rows_are_the_same_in_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(memory, "_GROUP_ROWS", 20)
    memory.write_parquet(tmp_path / "rows.parquet", 50)
    file = parquet.ParquetFile(tmp_path / "rows.parquet")
    assert file.num_row_groups == 3
    assert file.read().to_pylist() == [json.loads(line) for line in memory.lines(50)]


def test_slope_is_the_power_by_which_time_grows() -> None:
    sizes = [1.0, 10.0, 100.0]
    assert memory.slope(sizes, [0.5, 5.0, 50.0]) == pytest.approx(1.0)
    assert memory.slope(sizes, [0.5, 50.0, 5000.0]) == pytest.approx(2.0)
    assert memory.slope(sizes, [-0.1, 5.0, 50.0]) is None
    assert memory.slope([1.0], [1.0]) is None


def test_row_counts_are_a_list() -> None:
    assert memory.row_counts("10000,1_000_000") == [10_000, 1_000_000]
    with pytest.raises(argparse.ArgumentTypeError, match="two rows or more"):
        memory.row_counts("1")


class Usage(NamedTuple):
    free: int


def test_sizes_are_refused_when_the_disk_has_not_twice_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(2_400_000))
    memory.check_disk(tmp_path, 1_000)
    with pytest.raises(SystemExit, match="in the temporary folder"):
        memory.check_disk(tmp_path, 1_001)


def test_peaks_are_those_of_each_process(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    memory.write_rows(path, 20)
    # In a process of its own: a child's peak begins at what its parent holds.
    code = (
        "import json, pathlib; from benchmarks import memory; "
        f"print(json.dumps(memory.run(memory.WAYS[0], pathlib.Path({str(path)!r}))._asdict()))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )
    ran = json.loads(done.stdout)
    assert 10 < ran["peak_mb"] < 500
    assert ran["seconds"] > 0
    assert ran["output_mb"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_memory_says_what_failed(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{")
    with pytest.raises(RuntimeError, match="rag-eval score ended with 2"):
        memory.run(memory.WAYS[0], tmp_path / "rows.jsonl")


# ------------------------------------------------------------------------------------- files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bench_files.Folder:
    rows = corpora.generate("nonlatin", 30)
    # For a null and its reason.
    rows[3]["groundTruth"] = None
    monkeypatch.setitem(bench_files.SETS, "small", lambda: (rows, "30 rows"))
    return bench_files.Folder.filled(tmp_path, "small")


@pytest.mark.parametrize("direction", bench_files.DIRECTIONS)
def test_files_have_the_scores_of_the_rows_in_memory(
    folder: bench_files.Folder, direction: str
) -> None:
    result = folder.score_in_memory()
    scores = folder.score(direction)
    bench_files.check_scores(scores, folder.rows, result)
    with pytest.raises(AssertionError):
        bench_files.check_scores(scores, folder.rows, evaluate_batch(folder.rows[::-1]))


@pytest.mark.parametrize("direction", bench_files.DIRECTIONS)
def test_profile_sees_every_stage(folder: bench_files.Folder, direction: str) -> None:
    shares = call_groups.shares_of(lambda: folder.score(direction))
    assert set(shares) == set(call_groups.STAGE_NAMES)
    assert sum(shares.values()) == pytest.approx(1)
    assert all(share > 0 for share in shares.values())
    # Kernels run on the profiled thread, and what is called elsewhere counts for its caller.
    assert shares["other"] < 0.4


def test_time_outside_counts_for_its_callers() -> None:
    decode, write = ("rag_eval/inputs/a.py", 1, "f"), ("rag_eval/durable_files.py", 1, "g")
    shared, call = ("rag_eval/verdicts.py", 1, "h"), ("~", 0, "<sort>")
    stats = {
        decode: (1, 1, 1.0, 4.0, {}),
        write: (1, 1, 2.0, 6.0, {}),
        shared: (2, 2, 1.0, 7.0, {decode: (1, 1, 0.5, 3.0), write: (1, 1, 0.5, 4.0)}),
        call: (1, 1, 7.0, 7.0, {shared: (1, 1, 7.0, 7.0)}),
    }
    shares = call_groups.grouped(stats)
    assert shares["decoding"] == pytest.approx((1 + 8 * 3 / 7) / 11)
    assert shares["writing"] == pytest.approx((2 + 8 * 4 / 7) / 11)
    assert shares["other"] == 0


# -------------------------------------------------------------------------------------- skew


def test_queue_gives_the_next_block_to_whoever_is_free() -> None:
    # The first worker has 5, the second 1, 2 and then 4.
    assert skew.queue_makespan([5, 1, 2, 4], 2) == 7
    assert skew.queue_makespan([1, 1], 3) == 1
    assert skew.equal_rows_makespan(np.array([5, 1, 2, 4, 1]), 2) == 7


def test_blocks_end_with_the_row_that_fills_them() -> None:
    half = skew.BLOCK_BYTES // 2
    assert skew.block_costs(np.array([half, half, half, 3 * half, 1])) == [
        2 * half, 4 * half, 1,
    ]  # fmt: skip
    assert skew.block_costs(np.ones(1_500, np.int64)) == [1_024, 476]


def test_no_worker_waits_longer_than_for_the_largest_block() -> None:
    cases = skew.simulate(20_000, seed=1)
    assert cases == skew.simulate(20_000, seed=1)
    for case in cases:
        assert max(1, case.least) <= case.queue + 1e-9
        assert case.queue <= 1 + case.least + skew.BLOCK_BYTES / case.ideal_bytes
    assert len(skew.table(cases)) == 2 + len(cases)


# ----------------------------------------------------------------------------------- results


def files_info(share: float) -> dict[str, Any]:
    directions = {"jsonl → jsonl": share, "csv → csv": 0.8, "parquet → parquet": 0.9}
    seconds = {"in memory": [1.0, 0.9, 1.1]} | {
        name: [1 / found, 0.9 / found, 1.1 / found] for name, found in directions.items()
    }
    shares = {name: [found, 0.9 * found, 1.1 * found] for name, found in directions.items()}
    stages = dict.fromkeys(call_groups.STAGE_NAMES, 1 / len(call_groups.STAGE_NAMES))
    return {
        "what": "files", "set": "1 KB", "source": "5,000 rows", "rows": 5_000, "text_mb": 5.0,
        "seconds": seconds, "shares": shares, "processor_shares": shares,
        "profile": dict.fromkeys(seconds, stages), "bars": bench_files.BARS,
    }  # fmt: skip


ARROW_INFO = {
    "what": "arrow", "set": "1 KB", "source": "5,000 rows", "rows": 5_000,
    "seconds": {name: [0.05, 0.04, 0.06] for name in ("table", "dicts", "to_pylist")},
    "times": {name: [1.2, 1.1, 1.3] for name in ("dicts", "to_pylist")},
    "more_mb": {"table": 3.0, "to_pylist": 12.0},
}  # fmt: skip


def size_figures(peak_mb: float, slope: float | None) -> dict[str, Any]:
    return {
        "threads": 2,
        "runs": [
            {
                "way": way.name, "rows": rows, "file_mb": rows / 1e3,
                "output_mb": rows / 2e3 if way.target else 0.0, "seconds": rows / 1e5,
                "cpu_seconds": rows / 5e4, "rows_per_second": 1e5, "peak_mb": peak_mb,
                "bar_mb": way.bar_mb,
            }
            for rows in (10_000, 100_000)
            for way in memory.WAYS
        ],
        "growth": [
            {
                "way": way.name, "startup_seconds": 0.5, "slope": slope, "cpu_slope": 1.01,
                "bar": [0.95, 1.05],
            }
            for way in memory.WAYS
        ],
    }  # fmt: skip


def rendered(infos: list[dict[str, Any]], figures: dict[str, Any] | str) -> str:
    return write_results.render(infos, None, {"rag_eval": 40.0, "msgspec": 30.0}, figures)


def test_results_have_files_and_sizes() -> None:
    page = rendered([files_info(0.75), ARROW_INFO], size_figures(150.4, 0.98))
    assert (
        "| jsonl → jsonl, 1 thread, 1 KB | ≥ 60 % of the in-memory rate | 75 (68–82) % | met |"
        in page
    )
    assert "| 5,000 rows | in memory | 5,000 (4,545–5,556) | 5 |  |  |" in page
    assert "|  | jsonl → jsonl | 3,750 (3,409–4,167) | 4 | 75 (68–82) | 75 (68–82) |" in page
    assert "| 5,000 rows | in memory | 12 | 12 |" in page
    assert "| 5,000 rows | `evaluate_batch(table)` | 50 (40–60) | 1.00 (1.00–1.00) | 3 |" in page
    assert "|  | 100,000 | 100 | 50 | 1.00 | 100,000 | 150 |" in page
    name = "`rag-eval score`, JSONL → JSONL"
    assert f"| {name} | 10,000 | 10 | 5 | 0.10 | 100,000 | 150 |" in page
    assert (
        f"| peak RSS of {name}, up to 100,000 rows | ≤ 200 MB | 150 MB, at 10,000 rows | met |"
        in page
    )
    assert f"| log-log slope of time over size, {name} | 0.95–1.05 | 0.980 | met |" in page
    assert f"| {name} | 0.50 | 0.980 | 1.010 |" in page
    assert "Lost: none." in page
    assert all(line.count("|") != 1 for line in page.splitlines())


RANKING_INFO: dict[str, Any] = {
    "what": "rankings",
    "queries": 2000,
    "documents": 100,
    "measures": 5,
    "queries_per_second": {
        "library": [110_000.0, 100_000.0, 120_000.0],
        "trec_eval": [9_000.0, 8_000.0, 10_000.0],
    },
    "bar": 100_000,
}
RUN_FILE_INFO: dict[str, Any] = {
    "what": "run_files",
    "lines": 1_000_000,
    "writing_seconds": 1.5,
    "reading_seconds": [2.0, 1.0, 4.0],
    "bar": 200_000,
}


def string_info(rate: float, script: str = "english") -> dict[str, Any]:
    return {
        "what": "strings",
        "measure": "dice",
        "set": script,
        "pairs_a_second": [rate, rate - 1, rate + 1],
        "times": {"plain Python": [60.0, 50.0, 70.0]},
        "bar": 50_000,
    }


def check_info(rate: float, bar: int | None) -> dict[str, Any]:
    return {
        "what": "checks",
        "scorer": "omk.contains",
        "set": "mixed",
        "rows_a_second": [rate, rate - 1, rate + 1],
        "times": [0.5, 0.4, 0.6],
        "bar": bar,
    }


def pipeline_info(micros: float) -> dict[str, Any]:
    return {
        "what": "scorer_pipeline",
        "scorer": "omk.levenshtein",
        "fields": 2,
        "whole_us": [micros + 5, micros + 4, micros + 6],
        "column_us": [5.0, 4.0, 6.0],
        "overhead_us": [micros, micros - 1, micros + 1],
        "bar": 2.0,
    }


def test_results_have_rankings_strings_and_checks() -> None:
    infos = [RANKING_INFO, RUN_FILE_INFO, string_info(51_000.0), check_info(2e5, 200_000)]
    page = rendered([*infos, check_info(1e5, None), pipeline_info(4.0)], "no figures")
    bars = page[: page.index("Lost: ")]
    assert "Lost: none." in page
    assert (
        "| 5 measures of rankings of 100 documents | ≥ 100,000 queries/s | "
        "110,000 (100,000–120,000) | met |" in bars
    )
    assert "| ≥ 200,000 lines/s | 500,000 (250,000–1,000,000) | met |" in bars
    assert "| ≥ 50,000 pairs/s | 51,000 (50,999–51,001) | met |" in bars
    assert bars.count("`omk.contains`, mixed") == 1
    assert "fields read: 2 | ≤ 4 µs a row | 4.00 (3.00–5.00) µs | met |" in bars
    assert "| pytrec_eval, mappings, judgements read before | 9,000 (8,000–10,000) |" in page
    assert "| dice | english | 51,000 (50,999–51,001) | 60.0 (50.0–70.0) × plain Python |" in page
    assert "| omk.contains | mixed | 100,000 (99,999–100,001) | 0.50 (0.40–0.60) |" in page
    assert (
        "| omk.levenshtein | 2 | 9.00 (8.00–10.00) | 5.00 (4.00–6.00) | 4.00 (3.00–5.00) |" in page
    )


def test_results_name_the_lost_bars_of_strings_and_checks() -> None:
    infos = [string_info(49_999.0), string_info(1.0, "nonlatin"), check_info(199_999.0, 200_000)]
    page = rendered([*infos, pipeline_info(4.1)], "no figures")
    lost = next(line for line in page.splitlines() if line.startswith("Lost: "))
    assert lost == (
        "Lost: `dice` of texts of 80 words; `omk.contains`, mixed; "
        "`evaluate_batch` besides `omk.levenshtein`, fields read: 2."
    )


def test_results_name_the_lost_bars() -> None:
    page = rendered([files_info(0.59)], size_figures(201, 1.06))
    lost = next(line for line in page.splitlines() if line.startswith("Lost: "))
    assert "jsonl → jsonl, 1 thread, 1 KB" in lost
    assert "JSONL → JSONL, up to" in lost
    assert "Parquet → Parquet, up to" not in lost
    assert lost.count("slope") == len(memory.WAYS)


def test_results_without_figures_say_so() -> None:
    page = rendered([], "5,000,000 rows need 12.0 GB")
    assert "Not measured: 5,000,000 rows need 12.0 GB" in page
    assert page.count("not measured |") == 1 + len(memory.WAYS)
    unknown = file_results.size_bars(size_figures(100, None))
    assert [bar.met for bar in unknown] == [True] * 3 + [None] * 3


def test_a_section_measured_anew_replaces_the_old_one_and_its_bars() -> None:
    def section(measured: str, met: bool) -> result_sections.Section:
        return result_sections.Section(
            "Judging",
            "judge",
            lambda infos: [rendering.Bar("calls", "≥ 2", measured, met)],
            lambda infos: [f"made {measured}", ""],
        )

    page = "\n".join(
        [
            "# Results",
            "",
            "## Bars",
            "",
            *result_sections.bar_table([rendering.Bar("rows", "≥ 1", "3", False)]),
            result_sections.lost_line(["rows"]),
            "",
            "## Any size",
            "",
            "large",
            "",
        ]
    )
    first = result_sections.with_section(page, section("5", True), [])
    assert "| calls | ≥ 2 | 5 | met |" in first
    assert "Lost: rows." in first
    assert first.endswith("made 5\n")
    second = result_sections.with_section(first, section("1", False), [])
    assert "| calls | ≥ 2 | 5 |" not in second
    assert "Lost: rows; calls." in second
    assert second.count("## Judging") == 1
    assert "large" in second
    assert "made 5" not in second
