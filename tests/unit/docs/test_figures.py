"""Figures of the pages are those that benchmarks/ measured."""

from __future__ import annotations

import re

import pytest

import rag_eval
from benchmarks import skew
from rag_eval.gating.tools.false_alarm_rates import RATES
from rag_eval.inputs.byte_files import MAX_ROW_BYTES
from rag_eval.outputs.parts import PART_BYTES, PART_SECONDS
from rag_eval.plumbing import repeated_ids
from rag_eval.reports import notebook_batch
from rag_eval.results import totals
from rag_eval.scoring import engine
from tests.docs_pages import ROOT
from tests.tables import every_row
from tests.unit.reports.test_notebook import MOST_BYTES

RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8")
DOCS = ROOT / "docs"
ROW_BYTES = (ROOT / "benchmarks" / "ROW_BYTES.md").read_text("utf-8")


def prose(name: str) -> str:
    return " ".join((DOCS / name).read_text("utf-8").split())


def measured(start: str) -> list[float]:
    """The numbers of the first row of RESULTS.md that starts so."""
    (row, *_) = [line for line in RESULTS.splitlines() if line.startswith(start)]
    return [
        float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*\.?\d*", row[len(start) :])
    ]


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


BYTES = [_cells(line) for line in ROW_BYTES.splitlines()]


def test_rates_of_the_scale_page_are_measured_ones() -> None:
    page = prose("scale.md")
    row = "| 40,000 rows, repeated from 2,000 rows of bench_typical.jsonl.gz | in memory |"
    in_memory = round(1e6 / measured(row)[0], 1)
    share = measured("|  | jsonl → jsonl |")[7] / 100
    grounded = measured("| 2,000 rows of bench_typical.jsonl.gz | grounded, 1 thread |")[0]
    files = in_memory / share - in_memory
    assert f"`overlap`, dicts in memory | {in_memory:.1f} |" in page
    assert f"| {in_memory / share:.1f} | {in_memory} / {share}, by processor time" in page
    assert f"{grounded:.1f} in memory + {files:.1f} for files" in page
    assert f"JSONL → JSONL | {grounded + files:.0f} |" in page


def test_estimates_of_the_scale_page_follow_from_its_rates() -> None:
    rows = [_cells(line) for line in (DOCS / "scale.md").read_text("utf-8").splitlines()]
    rows = [row for row in rows if len(row) == 7 and row[0][:4] in ("1 KB", "7 KB")]
    assert len(rows) == 4
    for _, rate, source, hours, total, cluster, price in rows:
        parts = re.findall(r"[\d.]+(?= in memory| for files)", source)
        seconds = sum(map(float, parts or [rate]))  # of one core, for a million rows
        assert hours == f"{seconds / 3600:.4f} *est.*"
        assert total == f"{seconds / 3.6:.1f} *est.*"
        assert cluster == f"{seconds / 3.6 / (64 * 0.9) * 60:.0f} min *est.*"
        assert price == f"{seconds / 3600 * 0.05:.5f} *est.*"
    page = prose("scale.md")
    small, large = (next(row for row in BYTES if row[0] == f"in, {n} KB rows")[1] for n in (1, 7))
    for rate, n_bytes, words in (
        (rows[0][1], small, "1 KB rows"),
        (rows[2][1], large, "7 KB rows"),
    ):
        speed = float(n_bytes.replace(",", "")) / float(rate)
        assert f"{rate} µs a core reads {speed:.0f} MB/s of {words}" in page.replace(
            f"at {rows[2][1]} µs", f"{rows[2][1]} µs a core reads"
        )
    # Of two cores, for a hundred million rows.
    few, more = (float(row[1]) * 1e8 / 1e6 / 2 / 60 for row in (rows[0], rows[2]))
    assert f"{few:.0f} minutes for 1 KB rows, {more:.0f} minutes for 7 KB rows" in page


def test_memory_and_start_up_of_the_scale_page_are_measured() -> None:
    page = prose("scale.md")
    peaks = {way: [peak_of(way, n) for n in ("1,000,000", "5,000,000")] for way in WAYS}
    score, run, parquet = (" and ".join(found) for found in peaks.values())
    assert (
        f"{score} MB from JSONL to JSONL, {run} MB for `rag-eval run`, {parquet} MB from Parquet"
        in page
    )
    growth = RESULTS.partition("| command | start-up, s |")[2].splitlines()
    starts = [
        float(_cells(line)[1])
        for line in growth
        if line.startswith((f"| {WAYS[0]}", f"| {WAYS[2]}"))
    ]
    words = f"start-up takes {starts[0]:.1f} s for JSONL and {starts[1]:.1f} s for Parquet"
    assert words in page
    (profile,) = [
        _cells(line)
        for at, line in enumerate(RESULTS.splitlines())
        if "100,000 generated rows of 1 KB | in memory | 0 | 0" in RESULTS.splitlines()[at - 1]
    ]
    one_thread = sum(map(int, (*profile[2:4], *profile[6:9])))
    assert "If that is half of the processor time, as for 1 KB rows" in page
    assert 45 <= one_thread <= 65


def peak_of(way: str, n_rows: str) -> str:
    """The peak memory of a way through the command line in RESULTS.md."""
    lines = [_cells(line) for line in RESULTS.splitlines()]
    begin = next(at for at, line in enumerate(lines) if line[:2] == [way, "10,000"])
    return next(line[-1] for line in lines[begin:] if line[1:2] == [n_rows])


WAYS = (
    "`rag-eval score`, JSONL → JSONL",
    "`rag-eval run`, JSONL",
    "`rag-eval score`, Parquet → Parquet",
)


def test_disk_space_of_the_scale_page_follows_from_its_table() -> None:
    page = prose("scale.md")
    out, parts = (
        next(row for row in BYTES if row[0] == name)
        for name in ("out, 1 KB rows", "parts until the end")
    )
    times = (int(out[1]) + int(parts[1])) / int(out[1])
    assert f"This is {times:.1f} times the output for JSONL" in page
    assert f"{parts[2]} + {out[2]} bytes per row for `.jsonl.gz`, {parts[4]} + {out[4]} for" in page
    assert f"one process needs {int(parts[4]) + int(out[4])} GB" in page
    (totals,) = re.findall(r"^Totals of 20,000 rows as JSON: (\d+) KB", ROW_BYTES, re.MULTILINE)
    assert f"they take {totals} KB for seven metrics of 20,000 rows" in page


@pytest.mark.deep
def test_the_simulated_schedules_of_the_scale_page() -> None:
    head, _, *rows = skew.table(skew.simulate())
    page = (DOCS / "scale.md").read_text("utf-8").splitlines()
    assert {head, *rows} <= set(page)


def test_a_million_rows_take_what_the_pages_say() -> None:
    scored, run = (
        [line for line in RESULTS.splitlines() if line.startswith("|  | 1,000,000 | 1,154 |")][at]
        for at in (0, 1)
    )
    seconds, memory = scored.split(" | ")[4], scored.split(" | ")[6].rstrip(" |")
    words = f"took {float(seconds):.1f} s and {memory} MB from JSON lines to JSON lines"
    assert words in prose("how-to/big-data.md")
    run_seconds = float(run.split(" | ")[4])
    assert f"a million rows of 1 KB in {run_seconds:.1f} s" in prose("how-to/coming-from.md")
    assert f"{run_seconds:.1f} s a million × 2 cores" in prose("scale.md")


def test_the_red_builds_of_the_node_policy_are_simulated_ones() -> None:
    page = prose("how-to/migrate-from-rag-eval-node-ts.md")
    assert (
        f"fails {RATES['node'][200][0]:.0%}".replace("%", " %") + " of builds of 200 rows" in page
    )


def test_what_spending_alpha_saves_and_costs_is_simulated() -> None:
    page = (ROOT / "benchmarks" / "statistics" / "RESULTS.md").read_text("utf-8")

    def shares(what: str) -> list[str]:
        (found,) = re.findall(rf"^\| {what} \| ([0-9.]+) \| ([0-9.]+) \|$", page, re.MULTILINE)
        return [f"{100 * float(share):.0f} %" for share in found]

    each, spent = shares("nothing: any alarm in 20 gates")
    first, last = (shares(f"one metric falls by 0.15 at gate {n}: found there") for n in (1, 20))
    said = prose("decisions.md")
    assert f"a false alarm in {each} of the series, and gates with `--spend` in {spent}." in said
    assert (
        f"at the first gate in {' and '.join(first)}, and at the 20th in {' and '.join(last)}"
        in said
    )


def test_speed_beside_plain_python_is_the_measured_one() -> None:
    ratio = measured("| 7 metrics, `overlap`, 1 thread, typical | ≥ 30 × plain Python |")[0]
    page = prose("how-to/migrate-from-rag-eval-node-ts.md")
    assert f"{ratio:.0f} times the speed of plain Python" in page


REFITS = (ROOT / "benchmarks" / "validity" / "REFIT.md").read_text("utf-8")


def test_what_a_calibration_gains_is_measured() -> None:
    page = prose("meaning.md")
    *_, balanced = [
        _cells(line)
        for line in REFITS.split("## Random labels")[0].splitlines()
        if line.startswith("| 100 |")
    ]
    default, own, refit = (float(cell.split()[0]) for cell in balanced[2:5])
    assert (
        f"from {default:.3f} with the default threshold to {own:.3f} with a fitted threshold, "
        f"and to {refit:.3f} with fitted weights as well" in page
    )
    assert default < own < refit
    better = {}
    for size in (30, 100):
        (table,) = re.findall(rf"With {size} labels:\n\n(.*?)\n\n", REFITS, re.DOTALL)
        rows = [_cells(line) for line in table.splitlines()[2:]]
        better[size] = sum(float(row[6].split()[0]) > float(row[5]) for row in rows), len(rows)
    (few, n_sets), (more, _) = better[30], better[100]
    assert (
        f"is better than the default one on {few} of {n_sets} sets, with 100 labels on {more}."
        in page
    )
    seconds = re.search(r"took (\d+\.\d+) s of one core", REFITS)
    assert seconds is not None
    assert float(seconds[1]) < 1


def test_what_random_labels_cost_is_measured() -> None:
    section = REFITS.partition("## Random labels")[2].partition("## Set by set")[0]
    rows = [_cells(line) for line in section.splitlines() if re.match(r"\| \d+ \|", line)]
    areas, balanced = rows[:3], rows[3:]
    used = [row[7].removesuffix(" %") for row in areas]
    few, *more = (-float(row[4].split()[0]) for row in areas)
    costs = [-float(row[5].split()[0]) for row in balanced]
    page = prose("how-to/calibrate.md")
    assert f"fitted weights are used in {min(used)} to {max(used)} % of draws" in page
    assert f"they cost {few:.3f} of AUROC with 30 labels" in page
    assert max(map(abs, more)) < 0.001
    assert f"costs {min(costs):.2f} to {max(costs):.2f} of balanced accuracy" in page


VALIDITY = (ROOT / "benchmarks" / "validity" / "RESULTS.md").read_text("utf-8")


def test_what_low_and_high_scores_say_is_measured() -> None:
    section = VALIDITY.partition("## What a low and a high faithfulness say\n")[2]
    (table,) = re.findall(r"(?:^\|.*\n)+", section.partition("\n## ")[0], re.MULTILINE)
    _, _, *rows, total = [_cells(line) for line in table.splitlines()]
    low, passing, high = (f"{100 * float(cell.split()[0]):.0f} %" for cell in total[2:])
    page = prose("meaning.md")
    below = f"{low} of the rows with a faithfulness below 0.40 are bad"
    assert f"{below}, and so are {passing} of those that reach" in page
    (edits,) = [float(row[4].split()[0]) for row in rows if row[0] == "summedits"]
    assert f"From 0.95 on {high} are bad, but {100 * edits:.0f} % on `summedits`" in page
    cuts = [row[1] for row in rows]
    assert f"lies between {min(cuts)} and {max(cuts)} on the seven labelled sets" in page
    assert f"[{min(cuts)} to {max(cuts)}](../benchmarks/validity/RESULTS.md)" in prose(
        "grounded.md"
    )
    assert len(rows) == 7


# A page, a figure in its prose, and the same figure in an output of that page.
REPEATED = [
    (
        "tutorial.md",
        r"`faithfulness` of (\S+) is the lowest",
        r'\("coral-visit"\) composite \S+ faithfulness (\S+)',
    ),
    ("tutorial.md", r"The pass rate of (\S+) is high", r"PASS pass rate (\S+) "),
    ("decisions.md", r"a change of (\S+) detectable", r"faithfulness changed by -(\S+) "),
    ("decisions.md", r"any change from (\S+) to", r"faithfulness changed by \S+ \[(\S+),"),
    (
        "decisions.md",
        r"`hallucination_rate` may have fallen by (\S+)\. ",
        r"hallucination_rate .{15,40} \[-(\S+), ",
    ),
    ("decisions.md", r"(\d+) of \d+ answers have the same", r"regressed, (\d+) unchanged"),
    ("decisions.md", r"a loss of (\S+) in faithfulness", r"is between (\S+) \(faithfulness\)"),
    (
        "decisions.md",
        r"lower bound of the interval, here (\S+)\. ",
        r"alpha, interval \S+ (\S+) to",
    ),
    ("how-to/calibrate.md", r"(\d+) labels are few", r"logistic: (\d+) labels"),
]


@every_row("page, said, printed", REPEATED)
def test_prose_repeats_the_figures_of_its_outputs(page: str, said: str, printed: str) -> None:
    text = prose(page)
    figures = re.search(said, text), re.search(printed, text)
    assert figures[0] is not None
    assert figures[1] is not None
    assert figures[0][1] == figures[1][1]


def test_a_row_of_scores_has_the_same_bytes_on_both_pages() -> None:
    rows = [_cells(line) for line in (DOCS / "scale.md").read_text("utf-8").splitlines()]
    small, large = (row for row in rows if row[0] in ("out, 1 KB rows", "out, 7 KB rows"))
    words = f"{small[4]} to {large[4]} bytes, compared with {small[1]} in JSON lines"
    assert words in prose("how-to/big-data.md")


def test_what_the_defaults_let_pass_on_all_sets_is_measured() -> None:
    found = re.search(
        r"let (\d+ %) of the good answers and (\d+ %) of the bad ones pass \(balanced accuracy "
        r"(\S+)\)\. Version 2 let (\d+ %) and (\d+ %) pass \((\S+)\)",
        " ".join(VALIDITY.split()),
    )
    assert found is not None
    good, bad, balanced, *version_2 = found.groups()
    assert (
        f"{good} of the good answers and {bad} of the bad ones pass the defaults (balanced "
        f"accuracy {balanced}). In version 2 it was {version_2[0]} and {version_2[1]} "
        f"({version_2[2]})"
    ) in prose("meaning.md")
    (row,) = [line for line in VALIDITY.splitlines() if line.startswith("| **defaults** |")]
    good, bad = (f"{100 * float(cell):.0f} %" for cell in _cells(row)[1:3])
    labelled = f"{good} of the answers that people labelled good and {bad} of the bad ones pass"
    assert labelled in prose("../README.md")


def test_limits_are_those_of_the_code() -> None:
    scale, files, notebooks = map(prose, ("scale.md", "files.md", "how-to/notebooks.md"))
    parts = f"every {PART_SECONDS:g} s"
    assert f"closed {parts} and every {PART_BYTES >> 20} MiB" in scale
    assert f"{parts}, every {PART_BYTES >> 20} MiB" in files
    assert f"at most {MAX_ROW_BYTES:,} bytes ({MAX_ROW_BYTES >> 20} MiB)" in files
    waiting = f"{engine._WAITING_BYTES >> 20} MiB of texts and twice"
    assert waiting in scale
    assert waiting in files
    error = f"relative error of at most 1/{1 << (53 - totals._BIN_SHIFT):,}"
    assert error in scale
    assert error in files
    assert repeated_ids._MOST_KEPT // 1_000_000 == 2
    assert "the first two million ids" in scale
    assert "the first two million ids" in files
    assert notebook_batch._N_WORST == 10
    assert "the ten worst rows" in notebooks
    assert f"smaller than {MOST_BYTES // 1000} KB" in notebooks


def test_sets_that_are_not_here_are_counted_as_on_the_page_of_the_measurement() -> None:
    validity = (ROOT / "benchmarks" / "validity" / "RESULTS.md").read_text("utf-8")
    measured_on = " ".join(validity.split())
    there = re.search(
        r"mean AUROC is (\S+) for faithfulness on (\d+) sets .*?, (\S+) on the (\d+) of them",
        measured_on,
    )
    assert there is not None
    everywhere, n_sets, elsewhere, n_others = there.groups()
    page = prose("meaning.md")
    assert f"faithfulness on {n_others} more sets: the mean AUROC is {elsewhere} there" in page
    assert f"and {everywhere} on all {n_sets} sets" in page
    (labelled,) = re.findall(r"\| answer_relevance \| (\d+) \|", validity)
    assert f"`answer_relevance` was measured on {labelled} rows of one set" in page


def test_a_copied_sentence_scores_what_the_readme_says() -> None:
    words = re.search(
        r"a sentence of (\d+) words copied from a context of (\d+) words scores (\S+)\. ",
        " ".join((ROOT / "README.md").read_text("utf-8").split()),
    )
    assert words is not None
    context = [f"word{number}" for number in range(int(words[2]))]
    sample = {
        "question": "",
        "answer": " ".join(context[: int(words[1])]),
        "contexts": [" ".join(context)],
    }
    assert f"{rag_eval.score_faithfulness(sample).score:.2f}" == words[3]
