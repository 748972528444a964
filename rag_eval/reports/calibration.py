"""A calibration on a terminal: threshold, quality, and what each score means."""

from __future__ import annotations

from typing import Final

from rich.console import Console

from rag_eval.calibration.refitting import Refit
from rag_eval.calibration.result import Calibration
from rag_eval.kernels.settings import LOSSES, SHIPPED_WEIGHTS
from rag_eval.reports.console import number_table, print_line
from rag_eval.reports.figures import NONE, bounds_text, number_text

_SHOWN_SCORES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
# Of fewer labels resamples are much the same, and their interval would look exact.
_FEWEST_LABELS: Final = 10


def print_calibration(calibration: Calibration, console: Console) -> None:
    """Print a calibration: threshold, quality, and the probability that each score means."""
    profile = "" if calibration.profile is None else f" ({calibration.profile})"
    rows = f"{calibration.metric}{profile}, {calibration.method}: {calibration.n_labels:,} labels"
    if calibration.n_groups != calibration.n_labels:
        rows += f" in {calibration.n_groups:,} groups"
    rows += f", {100 * calibration.share_good:.0f} % good"
    if calibration.n_null:
        rows += f"; {calibration.n_null:,} without a score excluded"
    print_line(console, rows)
    console.print()
    has_intervals = calibration.n_labels >= _FEWEST_LABELS
    level = f"{calibration.threshold_interval.level * 100:g} % interval"
    table = number_table(console, "value", level, first="")
    for name, found, digits in (
        ("threshold", calibration.threshold_interval, 4),
        ("balanced accuracy", calibration.balanced_accuracy_interval, 2),
    ):
        bounds = bounds_text(found, digits, " to ") if has_intervals else ""
        table.add_row(name, f"{found.estimate:.{digits}f}", bounds or NONE)
    validated = number_text(calibration.cross_validated_balanced_accuracy)
    table.add_row("  on held-out rows", validated, NONE)
    refit = calibration.refit
    if refit is not None:
        gain = bounds_text(refit.gain, 3, " to ") or NONE
        table.add_row("AUROC on held-out rows", f"{refit.shipped_auroc:.3f}", NONE)
        table.add_row("  gain of fitted weights", f"{refit.gain.estimate:+.3f}", gain)
    if calibration.precision is not None:
        print_line(
            console, f"lowest threshold with a precision of at least {calibration.precision:g}"
        )
    console.print(table)
    console.print()
    meaning = number_table(console, *(f"{score:.2f}" for score in _SHOWN_SCORES), first="score")
    meaning.add_row(
        "probability of good", *map(number_text, calibration.probabilities(_SHOWN_SCORES))
    )
    console.print(meaning)
    if refit is not None:
        console.print()
        _print_weights(refit, console)


def _print_weights(refit: Refit, console: Console) -> None:
    if not refit.used:
        told = "the shipped weights are kept: fitted weights do not rank held-out rows better"
        print_line(console, told)
        return
    weights = number_table(console, "shipped", "fitted", first="weight of")
    for name, shipped, fitted in zip(LOSSES, SHIPPED_WEIGHTS, refit.weights, strict=True):
        weights.add_row(name.replace("_", " "), f"{shipped:.2f}", f"{fitted:.2f}")
    console.print(weights)
