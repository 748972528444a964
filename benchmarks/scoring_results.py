"""Results of ``bench_retrieval``, ``_strings`` and ``_scorers`` -> a section, and its bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.rendering import Bar, Info, of_kind, spread, table

_RANKINGS: Final = {
    "library": "rag_eval, integer arrays",
    "mappings": "rag_eval, mappings, judgements read anew",
    "trec_eval": "pytrec_eval, mappings, judgements read before",
    "trec_eval_with_judgements": "pytrec_eval, mappings, judgements read anew",
}


def scoring_lines(infos: Sequence[Info]) -> list[str]:
    """What rankings, pairs of texts and checks take."""
    return [
        "One thread, by processor time. Numbers are those of pytrec_eval, of rapidfuzz or of the",
        "definition in Python before anything is timed.",
        "",
        *_ranking_lines(infos),
        *_string_lines(infos),
        *_check_lines(infos),
        *_pipeline_lines(infos),
    ]


def scoring_bars(infos: Sequence[Info]) -> list[Bar]:
    """The bars on rates, and on what a row costs besides its scorer."""
    bars = []
    for info in of_kind(infos, "rankings"):
        what = f"{info['measures']} measures of rankings of {info['documents']} documents"
        rate = info["queries_per_second"]["library"]
        bars.append(_rate_bar(what, "queries", rate, info["bar"]))
    for info in of_kind(infos, "run_files"):
        rate = [info["lines"] / seconds for seconds in _reversed(info["reading_seconds"])]
        bars.append(_rate_bar("reading files of rankings", "lines", rate, info["bar"]))
    for info in of_kind(infos, "strings"):
        if info["bar"] is not None and info["set"] == "english":
            what = f"`{info['measure']}` of texts of 80 words"
            bars.append(_rate_bar(what, "pairs", info["pairs_a_second"], info["bar"]))
    for info in of_kind(infos, "checks"):
        if info["bar"] is not None:
            what = f"`{info['scorer']}`, {info['set']}"
            bars.append(_rate_bar(what, "rows", info["rows_a_second"], info["bar"]))
    for info in of_kind(infos, "scorer_pipeline"):
        bar = info["bar"] * info["fields"]
        what = f"`evaluate_batch` besides `{info['scorer']}`, fields read: {info['fields']}"
        taken = info["overhead_us"]
        measured = f"{spread(taken, 2)} µs"
        bars.append(Bar(what, f"≤ {bar:g} µs a row", measured, taken[0] <= bar))
    return bars


def _rate_bar(what: str, unit: str, rate: Sequence[float], bar: float) -> Bar:
    return Bar(what, f"≥ {bar:,.0f} {unit}/s", spread(rate, 0), rate[0] >= bar)


def _reversed(seconds: Sequence[float]) -> tuple[float, float, float]:
    """Median, high and low: the lowest rate is that of the longest time."""
    median, low, high = seconds
    return median, high, low


def _ranking_lines(infos: Sequence[Info]) -> list[str]:
    lines: list[str] = []
    for info in of_kind(infos, "rankings"):
        rates = info["queries_per_second"]
        lines += [
            f"{info['queries']:,} queries with {info['documents']} documents each, "
            f"{info['measures']} measures:",
            "",
            *table(
                ["what", "queries/s"],
                [[name, spread(rates[key], 0)] for key, name in _RANKINGS.items() if key in rates],
            ),
        ]
    for info in of_kind(infos, "run_files"):
        reading = spread(info["reading_seconds"], 2)
        lines += [
            f"A run file of {info['lines']:,} lines is read in {reading} s and written in "
            f"{info['writing_seconds']:.2f} s.",
            "",
        ]
    return lines


def _string_lines(infos: Sequence[Info]) -> list[str]:
    rows = [
        [
            info["measure"],
            info["set"],
            spread(info["pairs_a_second"], 0),
            ", ".join(f"{spread(times)} × {other}" for other, times in info["times"].items()),
        ]
        for info in of_kind(infos, "strings")
    ]
    return table(["pairs of texts of 80 words", "script", "pairs/s", "times as fast as"], rows)


def _check_lines(infos: Sequence[Info]) -> list[str]:
    rows = [
        [info["scorer"], info["set"], spread(info["rows_a_second"], 0), spread(info["times"], 2)]
        for info in of_kind(infos, "checks")
    ]
    head = ["check, column form", "answers of 80 words", "rows/s", "times as fast as plain Python"]
    return table(head, rows)


def _pipeline_lines(infos: Sequence[Info]) -> list[str]:
    rows = [
        [
            info["scorer"],
            str(info["fields"]),
            spread(info["whole_us"], 2),
            spread(info["column_us"], 2),
            spread(info["overhead_us"], 2),
        ]
        for info in of_kind(infos, "scorer_pipeline")
    ]
    head = ["scorer", "fields", "`evaluate_batch` of dicts, µs a row", "its column", "difference"]
    return table(head, rows)
