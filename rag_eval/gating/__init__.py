"""Gates on a run: limits, and earlier runs by a policy, to a verdict with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.gating.against import NamedBaseline, gate
    from rag_eval.gating.guards import Guards
    from rag_eval.gating.omk_verdict import OmkVerdict
    from rag_eval.gating.stored import gate_stored, store_baselines
    from rag_eval.gating.verdicts import BaselineVerdict, Finding, GateReport

_HOMES: Final = {
    "against": ("NamedBaseline", "gate"),
    "guards": ("Guards",),
    "omk_verdict": ("OmkVerdict",),
    "stored": ("gate_stored", "store_baselines"),
    "verdicts": ("BaselineVerdict", "Finding", "GateReport"),
}

__all__ = [
    "BaselineVerdict",
    "Finding",
    "GateReport",
    "Guards",
    "NamedBaseline",
    "OmkVerdict",
    "gate",
    "gate_stored",
    "store_baselines",
]

__getattr__ = late_names(__name__, _HOMES)
