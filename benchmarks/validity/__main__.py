"""Scores every labelled set that is found with both profiles and with peers; prints a page.

Sets are read from ``labelled/`` in the folder in ``RAG_EVAL_DATA``, or in ``../shared/data`` beside
the checkout. Needs ``pip install -e '.[validity]'``; a peer whose package is missing is left out.
The exit code is 1 when the grounded profile differs from its definition, 2 when there is no set.

    python -m benchmarks.validity [--sets a,b] [--resamples N] [--write]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.validity.command import SetsParser
from benchmarks.validity.outcomes import Outcome, definition_checks, measure_trial
from benchmarks.validity.peers import missing_packages
from benchmarks.validity.report import page
from benchmarks.validity.sets import load_trials

RESULTS: Final = Path(__file__).resolve().parent / "RESULTS.md"


def measure(sets: Mapping[str, Path], n_draws: int, missing: Sequence[str]) -> list[Outcome]:
    """Every trial of the sets, told as it goes."""
    outcomes = []
    for name, path in sets.items():
        for trial in load_trials(name, path):
            print(f"{trial.metric} on {name}: {len(trial.good):,} cases", file=sys.stderr)
            outcomes.append(measure_trial(trial, n_draws, missing))
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and, if asked, write."""
    parser = SetsParser("benchmarks.validity", __doc__, RESULTS)
    parser.add_argument("--resamples", type=int, default=300, metavar="N", help="default: 300")
    options, sets = parser.asked(arguments)
    missing = missing_packages()
    for package in missing:
        print(f"{package} is not installed: its scores are left out", file=sys.stderr)
    outcomes = measure(sets, options.resamples, missing)
    parser.show(page(outcomes, missing, options.resamples), options)
    return 0 if all(check.holds for check in definition_checks(outcomes)) else 1


if __name__ == "__main__":
    sys.exit(main())
