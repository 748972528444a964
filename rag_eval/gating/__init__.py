"""A run, limits and baselines in; a verdict with its reason out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.gating.against import NamedBaseline as NamedBaseline
    from rag_eval.gating.against import gate as gate
    from rag_eval.gating.guards import Guards as Guards
    from rag_eval.gating.stored import gate_stored as gate_stored
    from rag_eval.gating.stored import store_baselines as store_baselines
    from rag_eval.gating.tools.omk_verdict import OmkVerdict as OmkVerdict
    from rag_eval.gating.tools.omk_verdict import omk_verdict as omk_verdict
    from rag_eval.gating.verdicts import BaselineVerdict as BaselineVerdict
    from rag_eval.gating.verdicts import Finding as Finding
    from rag_eval.gating.verdicts import GateReport as GateReport

_HOMES: Final = {
    "against": ("NamedBaseline", "gate"),
    "guards": ("Guards",),
    "rag_eval.gating.tools.omk_verdict": ("OmkVerdict", "omk_verdict"),
    "stored": ("gate_stored", "store_baselines"),
    "verdicts": ("BaselineVerdict", "Finding", "GateReport"),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = late_names(__name__, _HOMES)
