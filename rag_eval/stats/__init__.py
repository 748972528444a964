"""Statistics of labelled or scored rows: arrays in, numbers with their intervals out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.stats.bootstrap import Statistic, group_bootstrap
    from rag_eval.stats.groups import group_numbers
    from rag_eval.stats.intervals import Interval, wilson_interval

_HOMES: Final = {
    "bootstrap": ("Statistic", "group_bootstrap"),
    "groups": ("group_numbers",),
    "intervals": ("Interval", "wilson_interval"),
}

__all__ = [
    "Interval",
    "Statistic",
    "group_bootstrap",
    "group_numbers",
    "wilson_interval",
]

__getattr__ = late_names(__name__, _HOMES)
