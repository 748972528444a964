"""omk's statistics of repeats, with its generator, its additions and its rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.stats.omk.bootstrap import OmkInterval as OmkInterval
    from rag_eval.stats.omk.bootstrap import bootstrap_diff_ci as bootstrap_diff_ci
    from rag_eval.stats.omk.bootstrap import bootstrap_mean_ci as bootstrap_mean_ci
    from rag_eval.stats.omk.bootstrap import bootstrap_metric_ci as bootstrap_metric_ci
    from rag_eval.stats.omk.bootstrap import bootstrap_paired_diff_ci as bootstrap_paired_diff_ci
    from rag_eval.stats.omk.bootstrap import ci_level_label as ci_level_label
    from rag_eval.stats.omk.means import effect_size as effect_size
    from rag_eval.stats.omk.means import p_value_bucket as p_value_bucket
    from rag_eval.stats.omk.means import t_interval as t_interval
    from rag_eval.stats.omk.means import welch_t_test as welch_t_test
    from rag_eval.stats.omk.repeats import stability_cv as stability_cv
    from rag_eval.stats.omk.repeats import variance_data as variance_data
    from rag_eval.stats.omk.repeats import variant_summary as variant_summary
    from rag_eval.stats.omk.settling import saturation as saturation

_HOMES: Final = {
    "bootstrap": (
        "OmkInterval",
        "bootstrap_diff_ci",
        "bootstrap_mean_ci",
        "bootstrap_metric_ci",
        "bootstrap_paired_diff_ci",
        "ci_level_label",
    ),
    "means": ("effect_size", "p_value_bucket", "t_interval", "welch_t_test"),
    "repeats": ("stability_cv", "variance_data", "variant_summary"),
    "settling": ("saturation",),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = late_names(__name__, _HOMES)
