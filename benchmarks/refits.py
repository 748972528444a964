"""Calibrates faithfulness with some of the labels of every labelled set and measures on the rest;
prints a page.

Sets are found as by ``benchmarks.validity``: in ``labelled/`` of the folder in ``RAG_EVAL_DATA``,
or of ``../shared/data`` beside the checkout. Needs ``pip install -e '.[validity]'``. The exit code
is 2 when there is no set.

    python -m benchmarks.refits [--sets a,b] [--draws N] [--write]
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from benchmarks.refit_runs import METRIC, N_DRAWS, SEED, SIZES, Draw, LabelledSet
from benchmarks.validity.command import SetsParser
from benchmarks.validity.pieces import table
from benchmarks.validity.sets import load_trials
from rag_eval.calibration.refitting import refit_weights
from rag_eval.stats.index_sources import Resampling

RESULTS: Final = Path(__file__).resolve().parent / "validity" / "REFIT.md"
TIMED_ROWS: Final = 1000

NOTES: Final = """\
- **What is measured.** Whole groups (documents, questions) are drawn until so many rows are
  labelled; the figures are of the rows of all other groups. Draws that a refit does not take, with
  fewer than 8 rows of a class, are left out, and so are sets too small for any draw.
- **Shipped** is faithfulness as it is, with its default threshold. **Own cut** is the threshold of
  the best balanced accuracy on the labelled rows. **Refit** is what `calibrate` does: weights
  fitted to the labels, kept where cross-validation inside the labelled rows is for them, and their
  own cut. **Fitted, always** is the gain without that question.
- Means are over sets, each with the mean of its draws; most of the gain is that of two sets, and
  the median over sets is beside it. Brackets hold the 10th and the 90th
  percentile over all draws of all sets: of differences those inside a draw, so that what is easy
  or hard about a set is not in them.
- **Random labels** are those of the labelled rows, shuffled. Nothing can be learnt from them, so
  what a refit changes then is what chance costs. Cross-validation is for them in about half of the
  draws: a gain of nothing is as often a little above 0 as below. The loss is what counts, and the
  penalty that draws weights to the shipped ones keeps it small from 100 labels on. A threshold
  chosen by such labels costs far more, with the shipped weights too.
- All sets are English, and the shipped weights were chosen on sets that include these: see
  [RESULTS.md](RESULTS.md).
"""


Pick: TypeAlias = Callable[[Draw], float]


class SizeOutcome:
    """The draws of one size from each set that has some."""

    def __init__(self, draws: Mapping[str, Sequence[Draw]]) -> None:
        self.draws = {name: found for name, found in draws.items() if found}

    def mean(self, pick: Pick) -> float:
        """Over sets, of the means over draws."""
        return float(np.mean([np.mean([*map(pick, found)]) for found in self.draws.values()]))

    def median(self, pick: Pick) -> float:
        """Over sets, of the means over draws: one set that gains much does not move it."""
        return float(np.median([np.mean([*map(pick, found)]) for found in self.draws.values()]))

    def told(self, pick: Pick, form: str = ".3f") -> str:
        """The mean, and in brackets the 10th and 90th percentile of all draws."""
        each = [pick(draw) for found in self.draws.values() for draw in found]
        low, high = np.percentile(each, [10, 90])
        return f"{self.mean(pick):{form}} ({low:{form}} to {high:{form}})"

    @property
    def share_used(self) -> str:
        """How often the fitted weights were used."""
        return f"{100 * self.mean(lambda draw: draw.used):.0f} %"


def measure(
    sets: Mapping[str, Path], n_draws: int
) -> tuple[dict[int, SizeOutcome], dict[int, SizeOutcome]]:
    """Draws by size, with labels as they are and shuffled."""
    found = [
        LabelledSet.of(trial)
        for name, path in sets.items()
        for trial in load_trials(name, path)
        if trial.metric == METRIC
    ]
    outcomes = []
    for shuffled in (False, True):
        by_size = {}
        for size in SIZES:
            print(f"{size} {'shuffled ' * shuffled}labels", file=sys.stderr)
            by_size[size] = SizeOutcome(
                {one.name: one.draws(size, shuffled=shuffled, n_draws=n_draws) for one in found}
            )
        outcomes.append(by_size)
    return outcomes[0], outcomes[1]


def refit_seconds() -> float:
    """Processor time of a refit of 1,000 rows with the interval of its gain."""
    random = np.random.default_rng(SEED)
    losses = random.random((TIMED_ROWS, 8))
    good = losses[:, :3].mean(axis=1) + random.normal(0, 0.2, TIMED_ROWS) < 0.5
    begin = time.process_time()
    refit_weights(losses, good, np.arange(TIMED_ROWS), Resampling())
    return time.process_time() - begin


# ------------------------------------------------------------------------------------------ page

Column: TypeAlias = Callable[[SizeOutcome], str]


def page(
    labelled: Mapping[int, SizeOutcome], shuffled: Mapping[int, SizeOutcome], seconds: float
) -> str:
    """The whole page."""
    lines = [
        "# Calibrated faithfulness: own threshold and own weights",
        "",
        "Written by `python -m benchmarks.refits --write`; do not edit. Rows are human-labelled",
        "public data and are not in this repository.",
        "",
        f"- {platform.python_implementation()} {platform.python_version()}, "
        f"scipy {version('scipy')}, numpy {version('numpy')}, seed {SEED}",
        f"- A refit of {TIMED_ROWS:,} labelled rows, cross-validation and the interval of the gain "
        f"(1,000 resamples) included, took {seconds:.2f} s of one core.",
        "",
        "## How to read this",
        "",
        NOTES,
        "## Means over sets",
        "",
        *_means(labelled),
        "## Random labels",
        "",
        *_means(shuffled),
        "## Set by set",
        "",
    ]
    for size, outcome in labelled.items():
        if outcome.draws:
            lines += [f"With {size} labels:", "", *_sets(outcome)]
    return "\n".join(lines).rstrip("\n") + "\n"


_AUROC: Final[dict[str, Column]] = {
    "AUROC shipped": lambda found: found.told(lambda draw: draw.shipped),
    "refit": lambda found: found.told(lambda draw: draw.refitted),
    "gain": lambda found: found.told(lambda draw: draw.refitted - draw.shipped, "+.4f"),
    "median of sets": lambda found: f"{found.median(lambda d: d.refitted - d.shipped):+.4f}",
    "fitted, always": lambda found: found.told(lambda draw: draw.always - draw.shipped, "+.4f"),
    "refit used": lambda found: found.share_used,
}
_BALANCED: Final[dict[str, Column]] = {
    "balanced accuracy shipped": lambda found: found.told(lambda draw: draw.default_cut),
    "own cut": lambda found: found.told(lambda draw: draw.own_cut),
    "refit": lambda found: found.told(lambda draw: draw.refitted_cut),
    "own cut adds": lambda found: found.told(lambda d: d.own_cut - d.default_cut, "+.4f"),
    "refit adds to that": lambda found: found.told(lambda d: d.refitted_cut - d.own_cut, "+.4f"),
}
_OF_SET: Final[dict[str, Column]] = {
    "draws": lambda found: str(sum(map(len, found.draws.values()))),
    "refit used": _AUROC["refit used"],
    "AUROC shipped": lambda found: f"{found.mean(lambda draw: draw.shipped):.3f}",
    "gain": _AUROC["gain"],
    "balanced accuracy": lambda found: f"{found.mean(lambda draw: draw.default_cut):.3f}",
    "own cut": _BALANCED["own cut"],
    "refit": _BALANCED["refit"],
}


def _means(outcomes: Mapping[int, SizeOutcome]) -> list[str]:
    lines = []
    for columns in (_AUROC, _BALANCED):
        rows = (
            [str(size), str(len(found.draws)), *(cell(found) for cell in columns.values())]
            for size, found in outcomes.items()
            if found.draws
        )
        lines += table(["labels", "sets", *columns], rows)
    return lines


def _sets(outcome: SizeOutcome) -> list[str]:
    rows = (
        [name, *(cell(SizeOutcome({name: draws})) for cell in _OF_SET.values())]
        for name, draws in outcome.draws.items()
    )
    return table(["set", *_OF_SET], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and, if asked, write."""
    parser = SetsParser("benchmarks.refits", __doc__, RESULTS)
    parser.add_argument("--draws", type=int, default=N_DRAWS, metavar="N", help="of each set")
    options, sets = parser.asked(arguments)
    labelled, shuffled = measure(sets, options.draws)
    if not any(outcome.draws for outcome in labelled.values()):
        print(f"no set has labels of {METRIC} for a refit", file=sys.stderr)
        return 2
    parser.show(page(labelled, shuffled, refit_seconds()), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
