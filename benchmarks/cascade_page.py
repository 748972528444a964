"""Outcomes of cascades -> the Markdown page: figures and names of sets, never a row of one."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Final, TypeAlias

import numpy as np

from benchmarks.cascade_runs import (
    AUDIT_BAND,
    AUDIT_SHARE,
    N_AUDITS,
    RIGHT,
    SEED,
    SHARES,
    Audits,
    Point,
    SetOutcome,
)
from benchmarks.validity.pieces import table

Column: TypeAlias = "tuple[str, Mapping[float, Point]]"
"""A row of the ladder: what was asked for, and the run of each judge."""

NOTES: Final = """\
- **What is run.** `evaluate_batch(mode="cascade", profile="grounded", judge_style="rating",
  calibration=...)` on half of the groups of a set (documents, questions), calibrated on the other
  half. No figure but those of "none" is computed in another way.
- **The judge** is a script that knows what people said of each row and says it in 100, 85 or 70 %
  of the rows, drawn at random, and else the opposite. Real judges are not wrong at random: they
  err more on rows that are hard, and if those are the rows of the band, one of the same accuracy
  gains less there than this one.
- **The band** of a share is that part of the calibration rows whose probability of being good is
  nearest to one half; what it comes to on new rows is in the next column. "default" is the band
  that nobody chose, from 0.2 to 0.8, and an audit of 2 % of the other rows.
- **Accuracy** is the share of rows that pass where people called them good and fail where they did
  not; **balanced** is the mean of that share over good rows and over bad ones. A row passes from
  0.5 on: a row that was not judged carries its probability, a judged one 1 or 0.
- **Mean** is that of the scores, beside the share of rows that people called good. A judge that
  errs in both directions alike moves the mean towards one half.
- Identical rows count once. Sets of fewer than 500 rows, and labels of single chunks, are left
  out. All sets are English, and the weights of the grounded profile were chosen on sets that
  include these: see [RESULTS.md](RESULTS.md).
"""


def page(outcomes: Sequence[SetOutcome]) -> str:
    """The whole page."""
    lines = [
        "# The cascade: rows judged against accuracy",
        "",
        "Written by `python -m benchmarks.cascade --write`; do not edit. Rows are human-labelled",
        "public data and are not in this repository.",
        "",
        f"- {platform.python_implementation()} {platform.python_version()}, "
        f"scikit-learn {version('scikit-learn')}, numpy {version('numpy')}, seed {SEED}",
        "",
        *mean_lines(outcomes),
        "## How to read this",
        "",
        NOTES,
        *audit_lines(outcomes),
        *(line for outcome in outcomes for line in set_lines(outcome)),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def rungs(outcome: SetOutcome) -> Iterator[Column]:
    """The runs of a set, from no row judged to all of them."""
    yield "none", dict.fromkeys(RIGHT, outcome.native)
    for share in SHARES:
        runs = {right: outcome.by_share[share, right] for right in RIGHT}
        yield ("all" if share == 1 else percent(share)), runs
    yield "default", outcome.by_default


def percent(share: float) -> str:
    """A share as a whole percent."""
    return f"{share:.0%}".replace("%", " %")


def _heads() -> list[str]:
    judges = " / ".join(f"{right:.0%}".rstrip("%") for right in RIGHT)
    return ["band", "rows judged", "calls saved"] + [
        f"{what} with a judge right in {judges} %" for what in ("accuracy", "balanced")
    ]


def _each(runs: Mapping[float, Point], figure: Callable[[Point], float], digits: int = 3) -> str:
    return " / ".join(f"{figure(runs[right]):.{digits}f}" for right in RIGHT)


def _shares(runs: Mapping[float, Point]) -> list[str]:
    one = runs[RIGHT[0]]  # the judge's accuracy does not move the band
    return [percent(one.judged), percent(one.saved)]


# ---------------------------------------------------------------------------------------- sections


def mean_of(points: Sequence[Point]) -> Point:
    """Plain means over sets."""
    return Point(*(float(np.mean(figures)) for figures in zip(*points, strict=True)))


def mean_lines(outcomes: Sequence[SetOutcome]) -> list[str]:
    """The ladder, every set counting the same."""
    ladders = [dict(rungs(outcome)) for outcome in outcomes]
    rows = []
    for name in ladders[0]:
        runs = {right: mean_of([ladder[name][right] for ladder in ladders]) for right in RIGHT}
        rows.append(
            [
                name,
                *_shares(runs),
                _each(runs, lambda point: point.accuracy),
                _each(runs, lambda point: point.balanced),
            ]
        )
    several = "s" if len(outcomes) > 1 else ""
    return [f"## Means over {len(outcomes)} set{several}", "", *table(_heads(), rows)]


def set_lines(outcome: SetOutcome) -> list[str]:
    """The ladder of one set."""
    rows = [
        [
            name,
            *_shares(runs),
            _each(runs, lambda point: point.accuracy),
            _each(runs, lambda point: point.balanced),
            _each(runs, lambda point: point.mean),
        ]
        for name, runs in rungs(outcome)
    ]
    said = (
        f"{outcome.metric}: {outcome.n_measured:,} rows, calibrated on {outcome.n_calibrated:,} "
        f"others; {outcome.share_good:.3f} of them are good."
    )
    return [f"## {outcome.name}", "", said, "", *table([*_heads(), "mean"], rows)]


def audit_lines(outcomes: Sequence[SetOutcome]) -> list[str]:
    """What audits say about rows outside a band, and what holds."""
    rows = [
        [outcome.name, percent(right), *_audit_cells(outcome.audits[right])]
        for outcome in outcomes
        for right in RIGHT
    ]
    head = [
        "set",
        "judge right in",
        "rows audited",
        "error rate, estimated",
        "differ from the judge",
        "differ from people",
        "intervals that hold",
    ]
    holding = {
        outcome.name: sum(audits.n_holding for audits in outcome.audits.values())
        for outcome in outcomes
    }
    worst = min(holding, key=holding.__getitem__)
    per_set = N_AUDITS * len(RIGHT)
    return [
        "## The audit",
        "",
        f"A band of {percent(AUDIT_BAND)}, and {percent(AUDIT_SHARE)} of the rows outside it "
        f"audited, with {N_AUDITS} seeds. The estimate is the mean",
        "of the reports' `error_rate`; beside it stands what is true of all rows outside the band:",
        "how many pass or fail otherwise than the judge says, and otherwise than people say. An",
        "audit knows the judge alone, so a judge that errs makes the estimate too high. Of the",
        f"{len(outcomes) * per_set} intervals (95 %), {sum(holding.values())} hold the share that "
        f"differs from the judge; the fewest on {worst}, {holding[worst]} of {per_set}.",
        "",
        *table(head, rows),
    ]


def _audit_cells(audits: Audits) -> list[str]:
    return [
        f"{audits.n_rows:.0f}",
        f"{audits.estimate:.3f}",
        f"{audits.disagreement:.3f}",
        f"{audits.errors:.3f}",
        f"{audits.n_holding} of {N_AUDITS}",
    ]
