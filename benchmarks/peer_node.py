"""rag-eval-node-ts in a process of Node, from a built checkout: right first, then how fast."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Final

from benchmarks.peer_calls import SEVEN, Peer, Rows, Score
from rag_eval import evaluate_batch

# Reads {entry, rows} from standard input; prints processor seconds and the mean of each metric.
_PROGRAM: Final = """
import { readFileSync } from "node:fs";
const { entry, rows } = JSON.parse(readFileSync(0, "utf8"));
const { evaluateBatch } = await import(entry);
await evaluateBatch(rows.slice(0, 8));
const before = process.cpuUsage();
const { aggregates } = await evaluateBatch(rows);
const { user, system } = process.cpuUsage(before);
const means = Object.values(aggregates).map((one) => [one.metricId, one.mean]);
console.log(JSON.stringify({ seconds: (user + system) / 1e6, means: Object.fromEntries(means) }));
"""


def entry_of(folder: Path) -> Path:
    """The module that a checkout's ``package.json`` names as its own."""
    package = json.loads((folder / "package.json").read_text("utf-8"))
    named = package.get("exports", {})
    named = named.get(".", named) if isinstance(named, dict) else named
    while isinstance(named, dict):
        named = named.get("import") or named.get("default")
    entry: Path = (folder / (named or package.get("module") or package.get("main", ""))).resolve()
    if not entry.is_file():
        raise ValueError(f"{entry} is no file; build the checkout first")
    return entry


def node_peer(folder: Path) -> tuple[Peer, str]:
    """The peer with its versions."""
    entry = entry_of(folder)
    package = json.loads((folder / "package.json").read_text("utf-8"))
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    versions = f"{package.get('version', '?')}, Node {node.stdout.strip()}"
    work = "the scores of `overlap`, with explanations"
    return Peer(SEVEN, "rag-eval-node-ts", (), work, lambda: _score(entry)), versions


def _score(entry: Path) -> Score:
    def score(rows: Rows) -> float:
        given = json.dumps({"entry": entry.as_uri(), "rows": list(rows)})
        command = ["node", "--input-type=module", "--eval", _PROGRAM]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        ours = evaluate_batch(rows, threads=1)
        mean = ours.aggregates["faithfulness"].mean
        if not math.isclose(found["means"]["faithfulness"], mean, rel_tol=1e-12):
            raise ValueError(f"its faithfulness is {found['means']['faithfulness']}, ours {mean}")
        return float(found["seconds"])

    return score
