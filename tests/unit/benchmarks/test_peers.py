"""The page of peers: scores are checked first, times are over ours, and what is missing is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks import peer_calls
from benchmarks.corpora import generate
from benchmarks.peer_calls import PAIR, PEERS, SEVEN, Peer
from benchmarks.peer_node import entry_of, node_peer
from benchmarks.peers import Timed, page, rows_within, section, timed, versions_of
from benchmarks.timing import Spread
from rag_eval import evaluate_batch
from tests.tables import every_row

ROWS = generate("typical", 6)
INSTALLED = [peer for peer in PEERS if versions_of(peer) is not None]


def test_every_section_has_ours_and_peers() -> None:
    for title in (SEVEN, PAIR):
        names = {peer.name for peer in INSTALLED if peer.title == title}
        assert "rag_eval, `overlap`" in names
        assert any(name.startswith("rapidfuzz") for name in names)


@every_row("peer", [peer for peer in INSTALLED if peer.name != "scikit-learn"])
def test_a_peer_scores_each_row(peer: Peer) -> None:
    found = peer.make()(ROWS)
    assert len(found) == len(ROWS)  # type: ignore[arg-type]


@pytest.mark.deep  # two seconds, nearly all of them the import
def test_scikit_learn_scores_each_row() -> None:
    assert len(peer_calls.sklearn_seven()(ROWS)) == len(ROWS)  # type: ignore[arg-type]


def test_plain_python_is_checked_before_it_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.pure_python_baseline.score", lambda row: (0.5,) * 7)
    with pytest.raises(AssertionError, match="other scores"):
        peer_calls.plain_python()(ROWS)


def test_a_table_has_the_fastest_first_and_times_over_ours() -> None:
    ours = Peer(SEVEN, "ours", (), "seven", lambda: len, is_ours=True)
    slow, fast = (Peer(SEVEN, name, (), "some", lambda: len) for name in ("slow", "fast"))
    found = [
        Timed(slow, "1.0", 4, Spread(300.0, 200.0, 400.0)),
        Timed(ours, "0.1", 2000, Spread(30.0, 20.0, 40.0)),
        Timed(fast, "", 2000, Spread(10.0, 10.0, 10.0)),
    ]
    assert section("T", found)[4:7] == [
        "| fast |  | some | 2,000 | 10.0 (10.0–10.0) | 100,000 | 0.3 × |",
        "| ours | 0.1 | seven | 2,000 | 30.0 (20.0–40.0) | 33,333 | 1.0 × |",
        "| slow | 1.0 | some | 4 | 300.0 (200.0–400.0) | 3,333 | 10.0 × |",
    ]
    text = page({"T": found}, ["ragas (not installed)"], ROWS, "6 rows")
    assert text.endswith("Not measured: ragas (not installed).\n")
    assert versions_of(Peer(SEVEN, "x", ("no-such-package-at-all",), "", lambda: len)) is None


def test_slow_peers_get_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("benchmarks.peers.time.process_time", lambda: clock[0])

    def call(rows: object) -> None:
        clock[0] += len(rows)  # type: ignore[arg-type]  # a second for each

    rows = list(range(1000))
    assert rows_within(call, rows, 20.0) == 20  # type: ignore[arg-type]
    assert rows_within(call, rows, 0.5) == 4  # type: ignore[arg-type]
    assert rows_within(lambda _: None, rows, 1.0) == 1000  # type: ignore[arg-type]
    own = Peer(SEVEN, "apart", (), "", lambda: lambda rows: 0.5 * len(rows))
    (one,) = timed([(own, "")], ROWS, 1.0)
    assert one.micros.median == pytest.approx(0.5e6)  # what it says, not what passed here


# ------------------------------------------------------------------------------- rag-eval-node-ts


def checkout(folder: Path, mean: float) -> Path:
    """A package with the interface of rag-eval-node-ts, which knows one mean."""
    (folder / "dist").mkdir()
    package = {"version": "9.9.9", "type": "module", "exports": {".": {"import": "./dist/a.js"}}}
    (folder / "package.json").write_text(json.dumps(package))
    aggregates = json.dumps({"faithfulness": {"metricId": "faithfulness", "mean": mean}})
    code = f"export const evaluateBatch = async (rows) => ({{ aggregates: {aggregates} }});\n"
    (folder / "dist" / "a.js").write_text(code)
    return folder


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_node_is_asked_in_its_own_process_and_has_to_score_as_we_do(tmp_path: Path) -> None:
    mean = evaluate_batch(ROWS).aggregates["faithfulness"].mean
    for place, shift in enumerate((0.0, 1e-6)):
        (tmp_path / str(place)).mkdir()
        peer, versions = node_peer(checkout(tmp_path / str(place), mean + shift))
        assert versions.startswith("9.9.9, Node v")
        if shift:
            with pytest.raises(ValueError, match="its faithfulness is"):
                peer.make()(ROWS)
        else:
            assert 0 <= peer.make()(ROWS) < 60  # type: ignore[operator]


def test_a_checkout_that_is_not_built_is_named(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"main": "dist/index.js"}')
    with pytest.raises(ValueError, match=r"index.js is no file; build the checkout first"):
        entry_of(tmp_path)
