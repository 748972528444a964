"""False alarms of the gate's policies: how often a build is red when nothing changed.

Old and new run come from one system: seven metrics of scores with lumps at 0 and 1, correlated
within a row, a share of rows with the same scores in both runs. Writes its section of the page and
the table of the package that ``rag-eval gate`` prints from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from benchmarks.statistics.page import Figures, Section, lost, two_errors
from benchmarks.statistics.populations import LUMPS, Floats, PairedPopulation
from rag_eval.gating.tools.false_alarm_rates import POLICIES
from rag_eval.scorers.regtrace.regression import CRITICAL, TOLERANCE
from rag_eval.stats.differences import FEWEST_ROWS, difference_lower_bound
from rag_eval.stats.distributions import t_quantile
from rag_eval.stats.index_sources import Resampling
from rag_eval.stats.max_t import max_t
from rag_eval.stats.multiplicity import holm
from rag_eval.stats.paired import sign_flip_tests, sign_flips
from rag_eval.stats.sign_patterns import SignPatterns
from rag_eval.stats.skewness import skewed_lower_bounds, skewed_p_values

Flags: TypeAlias = npt.NDArray[np.bool_]

TABLE: Final = Path(__file__).parents[2] / "rag_eval" / "gating" / "tools" / "false_alarm_rates.py"
SIZES: Final = (20, 50, 200, 1_000)
TIES: Final = (0.0, 0.5, 0.9)
ALPHA: Final = 0.05
MARGIN: Final = 0.05
NODE_THRESHOLD: Final = 0.05
ENOUGH_TO_COMMIT: Final = 4_000
"""Replicates from which on the table of the package is written anew."""

_N_FLIPS: Final = 1_999
_N_OMK_RESAMPLES: Final = 1_000
_N_METRICS: Final = 7
_N_CHECKED: Final = 40
# Scores held at once: 64 MB.
_CELLS: Final = 8_000_000
# Replicates whose sign patterns are held at once: 28 MB.
_AT_ONCE: Final = 250


@dataclass(frozen=True, slots=True)
class Runs:
    """Replicates of a pair of runs; the draws that all of them share.

    Attributes
    ----------
    old, new : float64, shape (P, R, M)
    signs, weights : float64, shape (B, R)
        One draw for all P replicates: their rows are exchangeable, so a draw is as good for one
        as for any other.
    """

    old: Floats
    new: Floats
    signs: Floats
    weights: Floats


def no_regression(runs: Runs) -> Flags:
    """Whether the max-T rule rejects any of the one-sided sign-flip tests."""
    return _rejected(runs, lambda statistics, p_values: max_t(list(statistics), list(p_values)))


def no_regression_by_holm(runs: Runs) -> Flags:
    """Whether Holm's rule does."""
    return _rejected(runs, lambda _, p_values: [p for p in holm(list(p_values)) if p is not None])


def _rejected(runs: Runs, adjust: Callable[[Floats, Floats], Sequence[float]]) -> Flags:
    found = []
    for patterns, p_values in _flipped(runs):
        spread = np.sqrt(np.square(patterns).mean(axis=0))
        statistics = -patterns / np.where(spread > 0, spread, 1.0)
        found += [
            min(adjust(statistics[:, place].T, p_values[place])) <= ALPHA
            for place in range(len(p_values))
        ]
    return np.array(found)


def p_worse(runs: Runs) -> Floats:
    """One-sided p values of every replicate and metric, shape (P, M)."""
    return np.concatenate([p_values for _, p_values in _flipped(runs)])


def _flipped(runs: Runs) -> Iterator[tuple[Floats, Floats]]:
    """Some replicates at a time: sums under each pattern, the one found first, and p values."""
    n_rows = runs.old.shape[1]
    for begin in range(0, len(runs.old), _AT_ONCE):
        some = slice(begin, begin + _AT_ONCE)
        differences = np.moveaxis(runs.new[some] - runs.old[some], 1, 0).reshape(n_rows, -1)
        patterns = np.concatenate([differences.sum(axis=0)[np.newaxis], runs.signs @ differences])
        nearly = 1e-9 * np.abs(differences).sum(axis=0)
        flipped = (patterns <= patterns[0] + nearly).mean(axis=0)
        p_values = np.maximum(flipped, skewed_p_values(differences)[0])
        shape = (-1, runs.old.shape[2])
        yield patterns.reshape(len(patterns), *shape), p_values.reshape(shape)


def omk(runs: Runs) -> Flags:
    """Whether the level is another than PROGRESS."""
    return ~_omk_significant(runs, 1)


def omk_regress(runs: Runs) -> Flags:
    """Whether the level is REGRESS."""
    return _omk_significant(runs, -1)


def _omk_significant(runs: Runs, sign: int) -> Flags:
    before, after = (np.round(1 + 4 * scores.mean(axis=2), 2) for scores in (runs.old, runs.new))
    means = runs.weights @ (after - before).T
    bounds = np.round(np.quantile(means, [0.025, 0.975], axis=0), 4)
    found: Flags = np.asarray(bounds[0] > 0 if sign > 0 else bounds[1] < 0)
    # Gains below 0.1 are CAUTIOUS; losses of any size REGRESS.
    gains: Flags = (after - before).mean(axis=1) >= 0.1
    return found & gains if sign > 0 else found


def regtrace(runs: Runs) -> Flags:
    """Whether the status of the suite is not clean."""
    return _suite_delta(runs) < -TOLERANCE


def regtrace_critical(runs: Runs) -> Flags:
    """Whether it is critical."""
    return _suite_delta(runs) < -CRITICAL


def _suite_delta(runs: Runs) -> Floats:
    before, after = runs.old.mean(axis=(1, 2)), runs.new.mean(axis=(1, 2))
    found: Floats = (after - before) / before
    return found


def non_inferior(runs: Runs, margin: float = MARGIN) -> Flags:
    """Whether a lower bound of any metric is not above the margin."""
    found: Flags = np.any(lower_bounds(runs.new - runs.old) <= -margin, axis=1)
    return found


def lower_bounds(differences: Floats) -> Floats:
    """One-sided lower bounds as of ``difference_lower_bound``, (P, R, M) to (P, M)."""
    n_rows = differences.shape[1]
    center = differences.sum(axis=1) / (n_rows + 2)
    size = np.abs(differences).max(axis=1, keepdims=True)
    with_two = np.concatenate([differences, size, -size], axis=1)
    squares = np.square(with_two).sum(axis=1) - (n_rows + 2) * center**2
    reach = t_quantile(1 - ALPHA, n_rows - 1) * np.sqrt(squares) / (n_rows + 2)
    columns = np.moveaxis(with_two, 1, 0).reshape(n_rows + 2, -1)
    skewed = skewed_lower_bounds(columns, ALPHA).reshape(center.shape)
    n_moved = np.count_nonzero(differences, axis=1)
    share = special.betaincinv(n_moved + 1, np.maximum(n_rows - n_moved, 1), 1 - ALPHA)
    bounds = np.minimum(center - reach, skewed)
    found: Floats = np.where(n_moved >= FEWEST_ROWS, bounds, -share)
    return found


def node(runs: Runs) -> Flags:
    """Whether the plain mean of any metric drops by more than the threshold."""
    deltas = runs.new.mean(axis=1) - runs.old.mean(axis=1)
    found: Flags = np.any(deltas < -NODE_THRESHOLD, axis=1)
    return found


RULES: Final[dict[str, Callable[[Runs], Flags]]] = {
    "no-regression": no_regression,
    "non-inferior": non_inferior,
    "omk": omk,
    "regtrace": regtrace,
    "node": node,
}
_PARTS: Final[dict[str, Callable[[Runs], Flags]]] = {
    "no-regression, Holm": no_regression_by_holm,
    "non-inferior, margin 0.1": lambda runs: non_inferior(runs, 0.1),
    "omk, REGRESS alone": omk_regress,
    "regtrace, critical alone": regtrace_critical,
}


_WRONG: Final = "non-inferior, green at -0.05"


def rates(n_rows: int, tied: float, n_replicates: int, seed: int) -> dict[str, float]:
    """Share of red builds by policy, for one size and share of ties."""
    population = PairedPopulation(scores=LUMPS, tied=tied)
    counts = dict.fromkeys([*RULES, *_PARTS], 0)
    for runs in _replicates(population, n_rows, n_replicates, seed):
        for name, rule in {**RULES, **_PARTS}.items():
            counts[name] += int(rule(runs).sum())
    return {name: count / n_replicates for name, count in counts.items()}


def wrong_passes(n_rows: int, tied: float, n_replicates: int, seed: int) -> float:
    """Share of non-inferior verdicts on a metric whose mean is worse by exactly the margin."""
    population = PairedPopulation(scores=LUMPS, tied=tied, shift=-MARGIN, n_metrics=1)
    generator = np.random.default_rng([seed, n_rows, round(100 * tied), 1])
    passed, at_once = 0, max(1, _CELLS // n_rows)
    for begin in range(0, n_replicates, at_once):
        old, new = population.draw(generator, min(at_once, n_replicates - begin), n_rows)
        passed += int((lower_bounds(new - old) > -MARGIN).sum())
    return passed / n_replicates


def _replicates(
    population: PairedPopulation, n_rows: int, n_replicates: int, seed: int
) -> Iterator[Runs]:
    generator = np.random.default_rng([seed, n_rows, round(100 * population.tied)])
    signs = generator.choice([-1.0, 1.0], size=(_N_FLIPS, n_rows))
    places = generator.integers(n_rows, size=(_N_OMK_RESAMPLES, n_rows))
    weights = np.stack([np.bincount(row, minlength=n_rows) for row in places]) / n_rows
    at_once = max(1, _CELLS // (n_rows * _N_METRICS))
    for begin in range(0, n_replicates, at_once):
        count = min(at_once, n_replicates - begin)
        yield Runs(*population.draw(generator, count, n_rows), signs, weights)


def section(n_replicates: int, seed: int) -> Section:
    """The section of the page; the package's table too where there are replicates enough."""
    found = {
        (n_rows, tied): rates(n_rows, tied, n_replicates, seed) for n_rows in SIZES for tied in TIES
    }
    if n_replicates >= ENOUGH_TO_COMMIT:
        TABLE.write_text(table_module(found, n_replicates, seed), "utf-8")
    for n_rows, tied in found:
        found[n_rows, tied][_WRONG] = wrong_passes(n_rows, tied, n_replicates, seed)
    return page(found, n_replicates, seed)


def page(found: dict[tuple[int, float], dict[str, float]], n_replicates: int, seed: int) -> Section:
    """The section in Markdown."""
    lines = [_INTRODUCTION, "| policy | same scores |" + "".join(f" n = {n:,} |" for n in SIZES)]
    lines.append("| --- | ---: |" + " ---: |" * len(SIZES))
    for name in (*RULES, *_PARTS, _WRONG):
        for tied in TIES:
            cells = "".join(f" {found[n, tied][name]:.1%} |" for n in SIZES)
            lines.append(f"| {name} | {tied:.0%} |{cells}")
    slack = two_errors(ALPHA, n_replicates)
    alarms = Figures("false alarms of `no-regression`, 7 metrics", ALPHA, slack)
    passes = Figures("`non-inferior` green though worse by the margin", ALPHA, slack)
    for (n_rows, tied), shares in found.items():
        where = f"n = {n_rows:,}, {tied:.0%} the same"
        alarms.add(shares["no-regression"], where)
        passes.add(shares[_WRONG], where)
    lines += [
        "",
        f"Thresholds: if nothing changed, `no-regression` fails at most {ALPHA:.0%} of comparisons "
        f"(plus {slack:.1%} Monte-Carlo error), and `non-inferior` passes a metric that is worse "
        f"by the margin at most as often. {lost(alarms, passes)}",
        "",
        _checked(seed),
    ]
    return Section("\n".join(lines), [alarms.bar, passes.bar])


def _is_red(differences: Floats, seed: int) -> bool:
    """Whether the gate's own tests and adjustment reject, shape (R, M)."""
    resampling = Resampling(seed=seed, n_resamples=_N_FLIPS)
    signs = SignPatterns.drawn(len(differences), _N_FLIPS, seed)
    margins = np.zeros(differences.shape[1])
    found = sign_flips(differences, None, signs, margins, resampling, skew_guard=True)
    p_values = [result.p_worse for result in found.results]
    return min(max_t(list(-found.statistics.T), p_values)) <= ALPHA


def _checked(seed: int) -> str:
    """The gate's own tests and bounds beside the vectorised ones, on the same rows."""
    runs = next(_replicates(PairedPopulation(scores=LUMPS, tied=0.5), 200, _N_CHECKED, seed))
    differences = runs.new - runs.old
    ours = np.array(
        [
            [
                test.p_worse
                for test in sign_flip_tests(rows, n_resamples=_N_FLIPS, seed=seed, skew_guard=True)
            ]
            for rows in differences
        ]
    )
    apart = float(np.abs(ours - p_worse(runs)).max())
    red = [_is_red(rows, seed) for rows in differences]
    agreed = int((np.array(red) == no_regression(runs)).sum())
    bounds = [
        [difference_lower_bound(rows[:, m]) for m in range(_N_METRICS)] for rows in differences
    ]
    off = float(np.abs(np.array(bounds, np.float64) - lower_bounds(differences)).max())
    return (
        f"Check on {_N_CHECKED} replicates (n = 200, half of the rows the same): the p values of "
        f"the gate's own tests, with their own sign patterns, differ by at most {apart:.3f} from "
        f"the simulated ones, the verdicts agree on {agreed} of {_N_CHECKED}, and the lower bounds "
        f"agree to {max(off, 1e-15):.0e}."
    )


_INTRODUCTION: Final = f"""## How often a gate fails when nothing changed

The old and the new run come from the same system: {_N_METRICS} metrics of {LUMPS.name}, mean
{LUMPS.mean:.2f} and standard deviation {LUMPS.std_dev:.2f}, whose latent normal variables correlate
by 0.5 within a row. Rows are independent (no clusters). A share of the rows has the same scores in
both runs; the other rows are drawn again. A run counts as failed in these cases:

- `no-regression` (margin 0, 5 %): step-down max-T over {_N_METRICS} one-sided sign-flip tests
  rejects (`no-regression, Holm`: Holm's method, as with `--adjust holm`);
- `non-inferior` (margin {MARGIN:g}, 5 %): the lower bound of a metric is not above minus the
  margin. With too few rows this is intended. Its error is to pass a metric that is worse by the
  margin, as in the last rows; they are for one metric, because all metrics have to pass;
- `omk`: any level but PROGRESS, on composites from 1 to 5, assuming that its layer gates pass;
- `regtrace`: the mean composite fell by more than {TOLERANCE:.0%} (warning or critical);
- `node`: the mean of at least one metric fell by more than {NODE_THRESHOLD:g}.

Replicates share one draw of {_N_FLIPS:,} sign patterns and one of {_N_OMK_RESAMPLES:,} resamples;
the gate itself takes 16,384, and omk 1,000 of its own.
"""


def table_module(
    found: dict[tuple[int, float], dict[str, float]], n_replicates: int, seed: int
) -> str:
    """The source of the package's table."""
    lines = []
    for name in POLICIES:
        lines.append(f'    "{name}": {{')
        for n_rows in SIZES:
            cells = ", ".join(f"{found[n_rows, tied][name]:.4f}" for tied in TIES)
            lines.append(f"        {n_rows}: ({cells}),")
        lines.append("    },")
    return _TABLE_HEAD.format(
        n_replicates=f"{n_replicates:_}",
        seed=seed,
        ties=TIES,
        policies=str(POLICIES).replace("'", '"'),
    ) + "\n".join(
        ["RATES: Final[dict[str, dict[int, tuple[float, float, float]]]] = {", *lines, "}\n"]
    )


_TABLE_HEAD: Final = '''\
"""How often a policy is red when nothing changed: policy and size in, share out.

Written by ``python -m benchmarks.statistics --sections policies``; not to be edited by hand.
"""

from __future__ import annotations

from typing import Final

POLICIES: Final = {policies}
N_REPLICATES: Final = {n_replicates}
SEED: Final = {seed}

TIES: Final = {ties}
"""Shares of rows with the same scores in both runs, one for each column of the rates."""

'''
