"""Keeps README.md and docs/ true: runs what they show and puts the real output back.

    python tools/update_readme.py [--check] [PAGE ...]

A ``console`` block holds commands after ``$`` and what they print on standard output; the tables
of metrics stand between two marks. What becomes of the other blocks is said in docs_blocks.py.
``--check`` changes nothing and exits 1 where a page is out of date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from docs_blocks import TAGS, executed, page_blocks

from rag_eval.gating.tools.false_alarm_rates import RATES, TIES
from rag_eval.metrics.catalogue import CatalogueEntry, catalogue
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.plumbing.spelling import camel_case
from rag_eval.samples import Profile

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
_FAMILIES = ("ir", "mastra", "hazel", "regtrace", "omk")
_SHORT_METRICS = ("faithfulness", "answer_correctness", "context_relevance", "answer_relevance")
_BLOCKS = {
    "run": "a test executes it and compares what it prints",
    "loopback-judge": "the same, with a scripted judge on this machine",
    "judge-server": "a test runs it against a server on this machine that replies as the named one",
    "engine": "needs a cluster engine or another tool, and has separate tests",
    "illustration": "not executed: it installs something, or is for another tool or machine",
}


def metric_table(profile: Profile) -> str:
    """One row per metric of a profile: what it measures, reads, needs."""
    rows = [
        "| metric | algorithm | reads | threshold | null when |",
        "|---|---|---|---|---|",
    ]
    for spec in PROFILE_METRICS[profile].values():
        fields = ", ".join(f"`{name}`" for name in spec.fields)
        threshold = "–" if spec.threshold is None else spec.threshold
        lower = "" if spec.higher_is_better else "; lower is better"
        rows.append(
            f"| `{spec.id}` (`{camel_case(spec.id)}`) | {spec.summary}{lower} | {fields} "
            f"| {threshold} | {spec.null_when} |".replace(f" (`{spec.id}`)", "")
        )
    return "\n".join(rows) + "\n"


def speed_table() -> str:
    """Rates of this library and of others, from the page that has them side by side."""
    rows = [
        "| scorer | computes for each sample | samples/s, one core | time |",
        "|---|---|---:|---:|",
    ]
    table = _table_below("PEERS.md", "## All seven metrics of a sample")
    for line in table.splitlines()[2:]:
        scorer, _, work, _, _, rate, times = line.strip("| ").split(" | ")
        rows.append(f"| {scorer} | {work} | {rate} | {times} |")
    return "\n".join(rows) + "\n"


def short_validity_table() -> str:
    """AUROC of both profiles and of the best peer, from the page of results."""
    shown: dict[str, list[str]] = {}
    for line in _table_below("validity/RESULTS.md", "## Means over sets\n").splitlines()[2:]:
        metric, scorer, area, *_ = line.strip("| ").split(" | ")
        name, _, sets = metric.partition(", ")
        if name not in _SHORT_METRICS:
            continue
        cells = shown.setdefault(name, [f"`{name}`", sets.split()[0], "–", "–", "–"])
        value = area.split()[0]
        place = {"**overlap**": 2, "**grounded**": 3}.get(scorer, 4)
        cells[place] = f"{value} {scorer}" if place == 4 else value
    rows = ["| metric | datasets | overlap | grounded | best of other libraries |"]
    rows += ["|---|---:|---:|---:|---|"]
    rows += [f"| {' | '.join(shown[name])} |" for name in _SHORT_METRICS]
    return "\n".join(rows) + "\n"


def scorer_table(family: str) -> str:
    """One row per scorer of a family."""
    rows = [
        "| metric | rule | needs | also reads | options | range | threshold | cost |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows += [_scorer_row(entry) for entry in _entries(family)]
    return "\n".join(rows) + "\n"


def false_alarm_table() -> str:
    """How often each policy is red when nothing changed, by the number of rows."""
    sizes = list(next(iter(RATES.values())))
    heads = ["policy", "same scores", *(f"{size:,} rows" for size in sizes)]
    rows = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    for policy, rates in RATES.items():
        for place, tied in enumerate(TIES):
            cells = [f"{100 * rates[size][place]:.1f} %" for size in sizes]
            rows.append(f"| {' | '.join([f'`{policy}`', f'{100 * tied:.0f} %', *cells])} |")
    return "\n".join(rows) + "\n"


def block_counts() -> dict[str, int]:
    """How many blocks of all pages have each tag."""
    found = Counter(
        block.tag
        for page in PAGES
        for block in page_blocks(page.read_text("utf-8"))
        if block.language != "setup"
    )
    return {tag: found[tag] for tag in TAGS}


def block_table() -> str:
    """How the blocks of all pages are treated, with their numbers."""
    rows = ["| block | how it is tested | blocks |", "|---|---|---:|"]
    rows += [f"| {tag} | {_BLOCKS[tag]} | {n} |" for tag, n in block_counts().items()]
    return "\n".join(rows) + "\n"


def _table_below(page: str, heading: str) -> str:
    """The first table below a heading of a page of benchmarks/."""
    text = (ROOT / "benchmarks" / page).read_text("utf-8").partition(f"{heading}\n")[2]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    if table is None:
        raise SystemExit(f"{page} has no table below {heading!r}")
    return table[0]


def _entries(family: str) -> list[CatalogueEntry]:
    """Those of a family; of a measure with a cutoff the usual ones, 10 stands for all."""
    return [
        entry
        for entry in catalogue()
        if entry.family == family and entry.id.partition("@")[2] in ("", "10")
    ]


def _scorer_row(entry: CatalogueEntry) -> str:
    low, high = ("∞" if abs(end) == float("inf") else f"{end:g}" for end in entry.range)
    better = "" if entry.higher_is_better else ", lower is better"
    extra = f" Extra `{entry.extra}`." if entry.extra else ""
    judge = " A judge can score it." if entry.judge == "can" else ""
    threshold = ", ".join(f"{bar:g}" for bar in entry.thresholds.values()) or "–"
    summary = entry.summary.rstrip(".").replace("|", "\\|")
    summary = summary[:1].upper() + summary[1:]
    cells = (
        f"`{entry.id}`",
        f"{summary}.{extra}{judge}",
        *(
            ", ".join(f"`{name}`" for name in names) or "–"
            for names in (entry.needs, entry.reads, entry.options)
        ),
        f"{low}–{high}{better}",
        threshold,
        entry.cost,
    )
    return f"| {' | '.join(cells)} |"


def updated(page: Path) -> str:
    """A page with its outputs and its tables as they are now; raises where a block fails."""
    text = executed(page)
    tables: dict[str, Callable[[], str]] = {
        "speed": speed_table,
        "validity-short": short_validity_table,
        "false-alarms": false_alarm_table,
        "block-counts": block_table,
        "validity": partial(_table_below, "validity/RESULTS.md", "## Means over sets"),
        "grounded-versions": partial(
            _table_below, "validity/RESULTS.md", "## Version 2 beside version 3"
        ),
        "defaults": partial(_table_below, "validity/RESULTS.md", "## The default thresholds"),
        "peers-ahead": partial(_table_below, "validity/RESULTS.md", "## Where a peer is ahead"),
        "row-bytes": partial(_table_below, "ROW_BYTES.md", "# Bytes per row"),
        "footprints": partial(_table_below, "FOOTPRINTS.md", "# Footprints"),
        "cascades": partial(_table_below, "validity/CASCADE.md", "## Means over 9 sets"),
    }
    tables |= {profile: partial(metric_table, profile) for profile in PROFILE_METRICS}
    tables |= {family: partial(scorer_table, family) for family in _FAMILIES}
    for name, table in tables.items():
        marked = re.compile(rf"(?<=<!-- {name} -->\n)(.*?)(?=<!-- /{name} -->)", re.DOTALL)
        text = marked.sub(lambda _, table=table: table(), text)  # type: ignore[misc]
    return text


def main() -> int:
    """Update, or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    parser.add_argument("pages", nargs="*", type=Path, help="all pages when none is named")
    given = parser.parse_args()
    check, outdated = given.check, False
    for page in given.pages or PAGES:
        before = page.read_text("utf-8")
        after = updated(page)
        outdated |= before != after
        if not check:
            page.write_text(after, "utf-8")
    return int(check and outdated)


if __name__ == "__main__":
    sys.exit(main())
