"""Numbers that kernels and Python both write are the same."""

from __future__ import annotations

import re
from pathlib import Path

from rag_eval.kernels.settings import SHIPPED_WEIGHTS
from rag_eval.metrics.ids import ALL_METRIC_IDS, METRIC_IDS
from rag_eval.results.words_grounded import RELEVANT, SENTENCE_CUT, Cause
from rag_eval.samples import NullReason

NATIVE = Path(__file__).parents[3] / "_native"


def source(name: str) -> str:
    return re.sub(r"\s*#.*", "", (NATIVE / name).read_text(encoding="utf-8"))


def members(first: str) -> dict[str, int]:
    """The names of an enumeration of ``outcomes.pxd``, and their numbers."""
    block = re.search(
        rf"cdef enum:\n((?: .*\n)*? +{first}\b.*\n(?: .*\n)*)", source("outcomes.pxd")
    )
    assert block
    found: dict[str, int] = {}
    for name, number in re.findall(r"(\w+)(?: = (\d+))?", block[1]):
        found[name] = int(number) if number else len(found)
    return found


def constant(name: str, file: str) -> list[float]:
    found = re.search(rf"\b{name}(?:\[\d+\])? = ([^;,{{]+|{{[^}}]*}})[;,]", source(file))
    assert found
    return [float(number) for number in re.findall(r"[\d.]+", found[1])]


def test_metrics_null_reasons_and_causes_have_the_numbers_of_kernels() -> None:
    metrics = members("FAITHFULNESS")
    assert metrics.pop("N_ALL_METRICS") == len(metrics)
    assert [*metrics] == [name.upper() for name in ALL_METRIC_IDS]
    assert [*metrics.values()] == [*range(len(ALL_METRIC_IDS))]
    assert members("N_OVERLAP_METRICS") == {"N_OVERLAP_METRICS": len(METRIC_IDS)}
    reasons = members("MEASURED")
    assert reasons.pop("REFUSED") == NullReason.REFUSAL
    assert {name: NullReason[name].value for name in reasons} == reasons
    assert members("COUNTED") == {cause.name: cause.value for cause in Cause}


def test_limits_and_weights_are_those_of_kernels() -> None:
    assert constant("SENTENCE_CUT", "support.pxd") == [SENTENCE_CUT]
    assert constant("RELEVANT", "relevance.pxd") == [RELEVANT]
    assert constant("shipped_weights", "support.pxd") == [*SHIPPED_WEIGHTS]
