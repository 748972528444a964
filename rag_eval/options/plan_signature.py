"""The signature of a plan: of what kernels and scorers compute, and of how a judge is asked."""

from __future__ import annotations

from dataclasses import replace

from rag_eval.options.cascade import band_options
from rag_eval.options.plan import Plan
from rag_eval.options.signature import Signature


def signature_of(plan: Plan) -> Signature:
    """Everything that could change a number of the plan's columns."""
    native = Signature.of(plan.native_columns, plan.settings)
    if plan.judging is None and not plan.scorers:
        return native
    options = dict(native.options)
    if plan.scorers:
        options["scorers"] = {name: found.signature() for name, found in plan.scorers.items()}
    if plan.judging is not None:
        options |= {**plan.judging.signature_options(), **band_options(plan)}
    return replace(native, options=options)
