"""Judges behind vendors' SDKs, the judge at an address, and verifiers from ONNX models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rag_eval.plumbing.late_names import late_names

if TYPE_CHECKING:
    from rag_eval.adapters.addresses import judge_from_address as judge_from_address
    from rag_eval.adapters.anthropic import create_anthropic_judge as create_anthropic_judge
    from rag_eval.adapters.onnx import create_onnx_verifier as create_onnx_verifier
    from rag_eval.adapters.openai import create_openai_judge as create_openai_judge

_HOMES: Final = {
    "addresses": ("judge_from_address",),
    "anthropic": ("create_anthropic_judge",),
    "onnx": ("create_onnx_verifier",),
    "openai": ("create_openai_judge",),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = late_names(__name__, _HOMES)
