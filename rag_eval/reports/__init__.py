"""Results as text, HTML, Markdown, JUnit XML and notebook output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.reports.golden import report_eval_for_ci

_HOMES: Final = {
    "golden": ("report_eval_for_ci",),
}

__all__ = [
    "report_eval_for_ci",
]

__getattr__ = late_names(__name__, _HOMES)
