"""Statistics of labelled or scored rows: arrays in, numbers with their intervals out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.stats.agreement import (
        agreement_intervals,
        cohen_kappa,
        kendall,
        pearson,
        spearman,
        weighted_kappa,
    )
    from rag_eval.stats.bootstrap import Statistic, bootstrap_intervals, group_bootstrap
    from rag_eval.stats.confusion import ConfusionTable, confusion_table
    from rag_eval.stats.differences import (
        difference_interval,
        difference_lower_bound,
        independent_difference,
    )
    from rag_eval.stats.effect_sizes import cliffs_delta, cohens_d_z, hedges_g, hedges_g_z
    from rag_eval.stats.groups import group_numbers
    from rag_eval.stats.index_sources import (
        Indices,
        counted_indices,
        mulberry32_indices,
        numpy_indices,
    )
    from rag_eval.stats.intervals import Interval, wilson_interval
    from rag_eval.stats.mean_intervals import mean_interval
    from rag_eval.stats.moment_intervals import interval_of_moments
    from rag_eval.stats.multiplicity import benjamini_hochberg, holm
    from rag_eval.stats.paired import (
        McNemarResult,
        SignFlipResult,
        mcnemar_test,
        sign_flip_test,
        sign_flip_tests,
    )
    from rag_eval.stats.power import minimum_detectable_effect, rows_needed, verdict_rows_needed
    from rag_eval.stats.ppi import ppi_difference, ppi_mean
    from rag_eval.stats.ppi_results import PpiEstimate
    from rag_eval.stats.rank_tests import SignedRanks, signed_ranks
    from rag_eval.stats.sampling_designs import (
        RowDraw,
        neyman_allocation,
        proportional_draw,
        stratified_draw,
        uniform_draw,
    )
    from rag_eval.stats.worst_case_means import WorstCaseMean, worst_case_mean

_HOMES: Final = {
    "agreement": (
        "agreement_intervals",
        "cohen_kappa",
        "kendall",
        "pearson",
        "spearman",
        "weighted_kappa",
    ),
    "bootstrap": ("Statistic", "bootstrap_intervals", "group_bootstrap"),
    "confusion": ("ConfusionTable", "confusion_table"),
    "differences": (
        "difference_interval",
        "difference_lower_bound",
        "independent_difference",
    ),
    "effect_sizes": ("cliffs_delta", "cohens_d_z", "hedges_g", "hedges_g_z"),
    "groups": ("group_numbers",),
    "index_sources": ("Indices", "counted_indices", "mulberry32_indices", "numpy_indices"),
    "intervals": ("Interval", "wilson_interval"),
    "mean_intervals": ("mean_interval",),
    "moment_intervals": ("interval_of_moments",),
    "multiplicity": ("benjamini_hochberg", "holm"),
    "paired": (
        "McNemarResult",
        "SignFlipResult",
        "mcnemar_test",
        "sign_flip_test",
        "sign_flip_tests",
    ),
    "power": ("minimum_detectable_effect", "rows_needed", "verdict_rows_needed"),
    "ppi": ("ppi_difference", "ppi_mean"),
    "ppi_results": ("PpiEstimate",),
    "rank_tests": ("SignedRanks", "signed_ranks"),
    "sampling_designs": (
        "RowDraw",
        "neyman_allocation",
        "proportional_draw",
        "stratified_draw",
        "uniform_draw",
    ),
    "worst_case_means": ("WorstCaseMean", "worst_case_mean"),
}

__all__ = [
    "ConfusionTable",
    "Indices",
    "Interval",
    "McNemarResult",
    "PpiEstimate",
    "RowDraw",
    "SignFlipResult",
    "SignedRanks",
    "Statistic",
    "WorstCaseMean",
    "agreement_intervals",
    "benjamini_hochberg",
    "bootstrap_intervals",
    "cliffs_delta",
    "cohen_kappa",
    "cohens_d_z",
    "confusion_table",
    "counted_indices",
    "difference_interval",
    "difference_lower_bound",
    "group_bootstrap",
    "group_numbers",
    "hedges_g",
    "hedges_g_z",
    "holm",
    "independent_difference",
    "interval_of_moments",
    "kendall",
    "mcnemar_test",
    "mean_interval",
    "minimum_detectable_effect",
    "mulberry32_indices",
    "neyman_allocation",
    "numpy_indices",
    "pearson",
    "ppi_difference",
    "ppi_mean",
    "proportional_draw",
    "rows_needed",
    "sign_flip_test",
    "sign_flip_tests",
    "signed_ranks",
    "spearman",
    "stratified_draw",
    "uniform_draw",
    "verdict_rows_needed",
    "weighted_kappa",
    "wilson_interval",
    "worst_case_mean",
]

__getattr__ = late_names(__name__, _HOMES)
