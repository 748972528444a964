"""Contracts of omk's scorers: assertions, their layers, text metrics, types by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.judge.metrics.catalogue import OMK_METRICS
from rag_eval.metrics.contract import Column, Fields, Metric, Scored, Scorer
from rag_eval.metrics.findings_column import column_of_verdicts
from rag_eval.plumbing.checked_values import is_number
from rag_eval.samples import NullReason
from rag_eval.scorers.omk import parameters as p
from rag_eval.scorers.omk.assertion_reading import (
    CustomCheck,
    Finding,
    Helpers,
    leaf_finder,
    read_assertions,
)
from rag_eval.scorers.omk.assertion_runs import RUN_FIELDS, AssertionRun, run_of_fields
from rag_eval.scorers.omk.assertion_types import TYPES, AssertionType
from rag_eval.scorers.omk.assertions import AssertionScore, score_of, shown
from rag_eval.scorers.omk.layers import GATE, layered_scores
from rag_eval.scorers.omk.text_metrics import TEXT_METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

_SOURCE: Final = "omk 0.54"
_ALONE: Final = MappingProxyType({"checks": None})
# A sample passes when all hold.
_ALL: Final = 1.0


# ------------------------------------------------------------------------- assertions of samples


def _of_assertions(scored: Callable[[Fields, AssertionScore], Scored]) -> Callable[..., Scorer]:
    """Makes a scorer from what is found of a sample and of its assertions."""

    def create(checks: Mapping[str, CustomCheck] | None = None) -> Scorer:
        if checks is None:
            checks = {}
        if not isinstance(checks, Mapping) or not all(map(callable, checks.values())):
            raise InputError("checks must map names to functions")
        helpers = Helpers(None, checks)

        def score(fields: Fields) -> Scored:
            prepared = read_assertions(fields.get("assertions", ()))
            run = run_of_fields(fields) if "assertions" in fields else AssertionRun()
            return scored(fields, score_of(prepared, run, helpers))

        return Scorer(score)

    return create


def _details(found: AssertionScore) -> list[dict[str, Any]]:
    return [result.to_dict() for result in found.results]


def _counted(n_passed: int, n_checked: int, n_all: int) -> str:
    left_out = f"; not checked because they need a judge: {n_all - n_checked}"
    return f"{n_passed} of {n_checked} assertions passed{left_out if n_all > n_checked else ''}"


def _all_of_them(_: Fields, found: AssertionScore) -> Scored:
    if found.ratio is None:
        return _none_checked(found)
    counts = _counted(found.n_passed, found.n_checked, len(found.results))
    return Scored(found.ratio, explanation=counts, details=_details(found))


def _of_layer(layer: str) -> Callable[[Fields, AssertionScore], Scored]:
    def scored(_: Fields, found: AssertionScore) -> Scored:
        rating = layered_scores(found.details)[layer]
        details = [d for d in _details(found) if d["layer"] == layer]
        if rating is None:
            return Scored.nothing(f"no assertion of the {layer} layer was checked")
        outcomes = [detail["passed"] for detail in details]
        n_checked = len(outcomes) - outcomes.count(None)
        explanation = _counted(outcomes.count(True), n_checked, len(outcomes))
        return Scored(rating, explanation=explanation, details=details)

    return scored


def _composite(fields: Fields, found: AssertionScore) -> Scored:
    judged = fields.get("judge_score")
    if "assertions" not in fields and judged is None:
        return Scored(None, NullReason.MISSING_FIELD, "neither assertions nor judge_score")
    if judged is not None and not (is_number(judged) and 1 <= judged <= 5):
        raise InputError(f"judge_score must be a number from 1 to 5, got {glance(judged)}")
    layers = layered_scores(found.details, judged)
    shown_layers = ", ".join(f"{name} {value:g}" for name, value in layers.items() if value)
    if not layers["composite"]:
        return _none_checked(found)
    return Scored(layers["composite"], explanation=shown_layers, details=_details(found))


def _none_checked(found: AssertionScore) -> Scored:
    why = "all need a judge or belong to no layer" if found.results else "there are none"
    explanation = f"no assertion counts: {why}"
    return Scored(None, NullReason.NOTHING_TO_MEASURE, explanation, _details(found))


def _assertion_metric(
    name: str, summary: str, scored: Callable[[Fields, AssertionScore], Scored], **more: Any
) -> Metric:
    contract = {
        "fields": ("assertions",),
        "optional": RUN_FIELDS,
        "threshold": GATE,
        "range": (1.0, 5.0),
        "null_when": "no assertion of the layer was checked",
    }
    return Metric(
        id=f"omk.{name}",
        summary=summary,
        create=_of_assertions(scored),
        options=_ALONE,
        cost="python",
        source=_SOURCE,
        version=3,
        **{**contract, **more},
    )


_LAYER: Final = "1 + 4 times the weighted share of the assertions about {} that hold"
_ASSERTION_SPECS: Final = (
    _assertion_metric(
        "assertions",
        "Weighted share of the sample's assertions that hold",
        _all_of_them,
        threshold=_ALL,
        range=(0.0, 1.0),
        null_when="no assertion was checked",
    ),
    _assertion_metric(
        "composite",
        "Mean of the available layers: fact, behaviour, and the judge's score",
        _composite,
        fields=(),
        optional=("assertions", "judge_score", *RUN_FIELDS),
        null_when="no assertion of a layer was checked, and there is no judge_score",
    ),
    _assertion_metric("fact", _LAYER.format("what was said"), _of_layer("fact")),
    _assertion_metric(
        "behaviour", _LAYER.format("how it was said and done"), _of_layer("behavior")
    ),
)


# ------------------------------------------------------------------------ types of assertions

# Text metrics are scorers of their own, with thresholds that are the assertions'.
_MEASURED: Final = {"rouge_n_min", "bleu_min", "levenshtein_max"}
_FIELDS: Final = {"output": "answer"}
_EXTRAS: Final = {"regex": "safe-regex", "json_schema": "schema"}
_VERSIONS: Final = {
    "regex": 3,
    "json_valid": 2,
    "tool_output_contains": 3,
    "tool_input_contains": 3,
    "tool_input_not_contains": 3,
    "tools_called": 2,
    "tools_not_called": 2,
}
_NO_HELP: Final = Helpers()
# Places of parameters in what a type wants.
_PLACE: Final = re.compile(r"\{(\w+)[^}]*\}")


def _create_type(kind: AssertionType) -> Callable[..., Scorer]:
    field = _FIELDS.get(kind.reads, kind.reads)
    known = (*kind.parameters, p.NOT)

    def create(**options: Any) -> Scorer:
        values = {parameter.name: parameter.read(options) for parameter in known}
        # As an option, an empty pattern is a slip: omk's own assertions alone may have one.
        if values.get("pattern") == "":
            raise InputError(str(kind.fault(values)))
        find = leaf_finder(kind, values)
        negated = values["not"]
        wanted = kind.wanted.format(**values)
        expected = f"not: {wanted}" if negated else wanted

        def score(fields: Fields) -> Scored:
            finding = find(run_of_fields({field: fields[field]}), _NO_HELP)
            passed = finding.passed is not negated
            return _scored(kind.name, passed, expected, finding)

        return Scorer(score, _column_of(kind, field, values))

    return create


def _scored(name: str, passed: bool, expected: str, finding: Finding) -> Scored:
    actual = shown(finding.actual)
    message = "" if passed else f"expected: {expected}; got: {glance(actual, 120)}"
    detail = {
        "check": name,
        "passed": passed,
        "expected": expected,
        "actual": actual,
        "message": message,
    }
    return Scored(float(passed), explanation=message or expected, details=(detail,))


def _column_of(
    kind: AssertionType, field: str, values: Mapping[str, Any]
) -> Callable[[Sequence[Fields]], Column] | None:
    """Verdicts of many answers; what else is read needs checks that take longer than verdicts."""
    if kind.reads != "output":
        return None
    measure, holds, negated = kind.measure(values), kind.holds(values), values["not"]

    def column(rows: Sequence[Fields]) -> Column:
        texts = [row[field] for row in rows]
        measured = map(measure, texts) if kind.measure_all is None else kind.measure_all(texts)
        return column_of_verdicts([holds(one) is not negated for one in measured])

    return column


def _type_spec(kind: AssertionType) -> Metric:
    known = (*kind.parameters, p.NOT)
    field = _FIELDS.get(kind.reads, kind.reads)
    words = _PLACE.sub(r"\1", kind.wanted)
    return Metric(
        id=f"omk.{kind.name}",
        summary=f"Whether {field} meets the assertion: {words}",
        create=_create_type(kind),
        fields=(field,),
        options={each.name: each.default for each in known if each.default is not p.REQUIRED},
        required_options=tuple(each.name for each in known if each.default is p.REQUIRED),
        threshold=_ALL,
        cost="python",
        source=_SOURCE,
        extra=_EXTRAS.get(kind.name, ""),
        version=_VERSIONS.get(kind.name, 1),
    )


CODE_METRICS: Final[tuple[Metric, ...]] = (
    *_ASSERTION_SPECS,
    *TEXT_METRICS,
    *(_type_spec(kind) for kind in TYPES.values() if kind.name not in _MEASURED),
)
"""All of omk that needs no judge."""

METRICS: Final = (*OMK_METRICS, *CODE_METRICS)
