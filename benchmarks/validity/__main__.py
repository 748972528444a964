"""Scores every labelled set that is found with both profiles and with peers; prints a page.

Sets are read from ``labelled/`` in the folder in ``RAG_EVAL_DATA``, or in ``../shared/data`` beside
the checkout. Needs ``pip install -e '.[validity]'``; a peer whose package is missing is left out.
The exit code is 1 when the grounded profile differs from its definition, 2 when there is no set.

    python -m benchmarks.validity [--sets a,b] [--resamples N] [--write]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.validity.outcomes import Outcome, definition_checks, measure_trial
from benchmarks.validity.peers import missing_packages
from benchmarks.validity.report import page
from benchmarks.validity.sets import absence, found_sets, load_trials

RESULTS: Final = Path(__file__).resolve().parent / "RESULTS.md"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.validity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--sets", metavar="A,B", help="only these sets")
    made.add_argument("--resamples", type=int, default=300, metavar="N", help="default: 300")
    made.add_argument("--write", action="store_true", help="write RESULTS.md beside this module")
    return made


def chosen_sets(names: str | None, found: Mapping[str, Path]) -> dict[str, Path]:
    """The sets asked for, all by default; an absent one is a ValueError."""
    if names is None:
        return dict(found)
    wanted = [name.strip() for name in names.split(",")]
    absent = [name for name in wanted if name not in found]
    if absent:
        raise ValueError(f"no set {', '.join(absent)}; found: {', '.join(found)}")
    return {name: path for name, path in found.items() if name in wanted}


def measure(sets: Mapping[str, Path], n_draws: int, missing: Sequence[str]) -> list[Outcome]:
    """Every trial of the sets, told as it goes."""
    outcomes = []
    for name, path in sets.items():
        for trial in load_trials(name, path):
            print(f"{trial.metric} on {name}: {len(trial.good):,} cases", file=sys.stderr)
            outcomes.append(measure_trial(trial, n_draws, missing))
    return outcomes


def refusal(found: Mapping[str, Path]) -> str | None:
    """Why nothing can be measured, or None."""
    if find_spec("sklearn") is None:
        return "scikit-learn is missing: pip install -e '.[validity]'"
    return None if found else absence()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and, if asked, write."""
    options = parser().parse_args(arguments)
    found = found_sets()
    refused = refusal(found)
    if refused:
        print(refused, file=sys.stderr)
        return 2
    try:
        sets = chosen_sets(options.sets, found)
    except ValueError as error:
        parser().error(str(error))
    missing = missing_packages()
    for package in missing:
        print(f"{package} is not installed: its scores are left out", file=sys.stderr)
    outcomes = measure(sets, options.resamples, missing)
    text = page(outcomes, missing, options.resamples)
    print(text)
    if options.write:
        RESULTS.write_text(text, encoding="utf-8")
    return 0 if all(check.holds for check in definition_checks(outcomes)) else 1


if __name__ == "__main__":
    sys.exit(main())
