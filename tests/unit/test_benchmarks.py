"""The benchmarks measure the right thing, and their gate closes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import corpora, gate, kernel_workload, memory, pure_python_baseline
from benchmarks.pure_python_baseline import tokens, tokens_by_bytes
from rag_eval import evaluate_batch
from tests.oracle.tokens import tokenize

SMALL = {"typical": 10, "long": 1, "nonlatin": 15, "many_contexts": 2, "repeated": 5}


@pytest.mark.parametrize("name", list(SMALL))
def test_baseline_scores_like_the_library(name: str) -> None:
    rows = corpora.generate(name, SMALL[name])
    got = evaluate_batch(rows, threads=1).scores.tobytes()
    for cut in (tokens, tokens_by_bytes):
        want = np.array([pure_python_baseline.score(row, cut) for row in rows])
        assert want.tobytes() == got


@pytest.mark.parametrize("name", list(SMALL))
def test_kernel_workload_scores_like_the_library(name: str) -> None:
    rows = corpora.generate(name, SMALL[name])
    got = evaluate_batch(rows, threads=1).scores
    assert kernel_workload.score_rows(rows).tolist() == got.tolist()
    got = evaluate_batch(rows, threads=1, profile="grounded").scores
    assert kernel_workload.score_grounded(rows).tolist() == got.tolist()


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


@pytest.mark.parametrize("counts", [(0, 0), (0, 11_000), (5_000, 0)])
def test_gate_fails_when_nothing_was_collected(counts: tuple[int, int]) -> None:
    with pytest.raises(gate.GateError, match="collected no instruction"):
        _ = cost(*counts).per_byte


def test_callgrind_file_without_a_total_counts_zero(tmp_path: Path) -> None:
    out = tmp_path / "callgrind.out"
    out.write_text("version: 1\nevents: Ir\nsummary: 1234\ntotals: 1234\n")
    assert gate.read_total(out) == 1234
    out.write_text("version: 1\nevents: Ir\n")
    assert gate.read_total(out) == 0


@pytest.mark.parametrize(("change", "n_complaints"), [(0.98, 0), (1.02, 0), (1.04, 1)])
def test_gate_allows_three_percent(change: float, n_complaints: int) -> None:
    complaints = gate.cost_complaints({"overlap.typical": 30.0 * change}, {"overlap.typical": 30.0})
    assert len(complaints) == n_complaints


def test_gate_fails_above_the_absolute_bar_and_without_a_floor() -> None:
    dear = {"overlap.typical": 40.1, "grounded.typical": 120.1}
    complaints = gate.cost_complaints(dear, {name: cost - 0.1 for name, cost in dear.items()})
    assert "the bar is 40" in complaints[0]
    assert "the bar is 120" in complaints[1]
    assert "no floor" in gate.cost_complaints({"overlap.typical": 30.0}, {})[0]


def test_gate_ratio_passes_at_the_second_try() -> None:
    assert gate.ratio_complaints([14.9]) == ["typical: 14.9 times plain Python, the floor is 15"]
    assert gate.ratio_complaints([14.9, 15.1]) == []


def test_gate_allows_grounded_three_times_the_time_of_overlap() -> None:
    assert "the limit is 3" in gate.grounded_complaints([3.1, 3.2])[0]
    assert gate.grounded_complaints([3.1, 2.9]) == []


def no_valgrind() -> list[gate.Cost]:
    raise FileNotFoundError("valgrind")


def test_gate_fails_without_valgrind_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "measure_costs", no_valgrind)
    monkeypatch.setattr(gate, "try_ratio", lambda rows: [25.0])
    monkeypatch.setattr(gate, "_gate_grounded", list)
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


def test_memory_rows_are_about_one_kilobyte(tmp_path: Path) -> None:
    n_bytes = memory.write_rows(tmp_path / "rows.jsonl", 200)
    assert 0.8 < n_bytes / 200 / 1024 < 1.3
    row = json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])
    assert set(row) == {"id", "question", "answer", "contexts", "groundTruth"}
