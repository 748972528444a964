"""Runs cascades on every labelled set that is large enough, with judges of known accuracy; prints
a page.

Sets are found as by ``benchmarks.validity``: in ``labelled/`` of the folder in ``RAG_EVAL_DATA``,
or of ``../shared/data`` beside the checkout. Needs ``pip install -e '.[validity,judge]'``. No model
is asked: the judges are scripts. The exit code is 2 when there is no set.

    python -m benchmarks.cascade [--sets a,b] [--write]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.cascade_page import page
from benchmarks.cascade_runs import FEWEST_ROWS, METRICS, Ladder, SetOutcome
from benchmarks.validity.command import SetsParser
from benchmarks.validity.sets import KNOWN, Trial, load_trials

RESULTS: Final = Path(__file__).resolve().parent / "validity" / "CASCADE.md"


def trials(sets: Mapping[str, Path]) -> list[Trial]:
    """What can be measured: rows with a verdict of people, and enough of them."""
    found = [
        trial
        for name, path in sets.items()
        for trial in load_trials(name, path)
        if trial.metric in METRICS and (name not in KNOWN or KNOWN[name].metric == trial.metric)
    ]
    return [trial for trial in found if len(trial.good) >= FEWEST_ROWS]


def measure(sets: Mapping[str, Path]) -> list[SetOutcome]:
    """Every set, told as it goes."""
    outcomes = []
    for trial in trials(sets):
        print(f"{trial.metric} on {trial.set_name}: {len(trial.good):,} rows", file=sys.stderr)
        outcomes.append(Ladder(trial).outcome())
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and, if asked, write."""
    parser = SetsParser("benchmarks.cascade", __doc__, RESULTS)
    options, sets = parser.asked(arguments)
    outcomes = measure(sets)
    if not outcomes:
        print(f"no set has {FEWEST_ROWS} rows with verdicts", file=sys.stderr)
        return 2
    parser.show(page(outcomes), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
