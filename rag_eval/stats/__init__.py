"""Statistics of labelled or scored rows: arrays in, numbers with their intervals out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.stats.agreement import agreement_intervals as agreement_intervals
    from rag_eval.stats.agreement import cohen_kappa as cohen_kappa
    from rag_eval.stats.agreement import kendall as kendall
    from rag_eval.stats.agreement import pearson as pearson
    from rag_eval.stats.agreement import spearman as spearman
    from rag_eval.stats.agreement import weighted_kappa as weighted_kappa
    from rag_eval.stats.bootstrap import Statistic as Statistic
    from rag_eval.stats.bootstrap import bootstrap_intervals as bootstrap_intervals
    from rag_eval.stats.bootstrap import group_bootstrap as group_bootstrap
    from rag_eval.stats.confusion import ConfusionTable as ConfusionTable
    from rag_eval.stats.confusion import confusion_table as confusion_table
    from rag_eval.stats.differences import difference_interval as difference_interval
    from rag_eval.stats.differences import difference_lower_bound as difference_lower_bound
    from rag_eval.stats.differences import independent_difference as independent_difference
    from rag_eval.stats.effect_sizes import cliffs_delta as cliffs_delta
    from rag_eval.stats.effect_sizes import cohens_d_z as cohens_d_z
    from rag_eval.stats.effect_sizes import hedges_g as hedges_g
    from rag_eval.stats.effect_sizes import hedges_g_z as hedges_g_z
    from rag_eval.stats.groups import group_numbers as group_numbers
    from rag_eval.stats.index_sources import Indices as Indices
    from rag_eval.stats.index_sources import counted_indices as counted_indices
    from rag_eval.stats.index_sources import numpy_indices as numpy_indices
    from rag_eval.stats.intervals import Interval as Interval
    from rag_eval.stats.intervals import wilson_interval as wilson_interval
    from rag_eval.stats.mean_intervals import mean_interval as mean_interval
    from rag_eval.stats.moment_intervals import interval_of_moments as interval_of_moments
    from rag_eval.stats.multiplicity import benjamini_hochberg as benjamini_hochberg
    from rag_eval.stats.multiplicity import holm as holm
    from rag_eval.stats.multiplicity import spending_level as spending_level
    from rag_eval.stats.omk.bootstrap import mulberry32_indices as mulberry32_indices
    from rag_eval.stats.paired import McNemarResult as McNemarResult
    from rag_eval.stats.paired import SignFlipResult as SignFlipResult
    from rag_eval.stats.paired import mcnemar_test as mcnemar_test
    from rag_eval.stats.paired import sign_flip_test as sign_flip_test
    from rag_eval.stats.paired import sign_flip_tests as sign_flip_tests
    from rag_eval.stats.power import minimum_detectable_effect as minimum_detectable_effect
    from rag_eval.stats.power import rows_needed as rows_needed
    from rag_eval.stats.power import verdict_rows_needed as verdict_rows_needed
    from rag_eval.stats.ppi import ppi_difference as ppi_difference
    from rag_eval.stats.ppi import ppi_mean as ppi_mean
    from rag_eval.stats.ppi_results import PpiEstimate as PpiEstimate
    from rag_eval.stats.rank_tests import SignedRanks as SignedRanks
    from rag_eval.stats.rank_tests import signed_ranks as signed_ranks
    from rag_eval.stats.sampling_designs import RowDraw as RowDraw
    from rag_eval.stats.sampling_designs import neyman_allocation as neyman_allocation
    from rag_eval.stats.sampling_designs import proportional_draw as proportional_draw
    from rag_eval.stats.sampling_designs import stratified_draw as stratified_draw
    from rag_eval.stats.sampling_designs import uniform_draw as uniform_draw
    from rag_eval.stats.worst_case_means import WorstCaseMean as WorstCaseMean
    from rag_eval.stats.worst_case_means import worst_case_mean as worst_case_mean

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
    "index_sources": ("Indices", "counted_indices", "numpy_indices"),
    "intervals": ("Interval", "wilson_interval"),
    "mean_intervals": ("mean_interval",),
    "moment_intervals": ("interval_of_moments",),
    "multiplicity": ("benjamini_hochberg", "holm", "spending_level"),
    "rag_eval.stats.omk.bootstrap": ("mulberry32_indices",),
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

__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = late_names(__name__, _HOMES)
