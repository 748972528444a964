"""Samples that want to hang or break scorers: a score, a null with a reason, or a clear error."""

from __future__ import annotations

import datetime
import functools
import json
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.errors import InputError, glance
from rag_eval.metrics.contract import Metric
from rag_eval.metrics.registry import all_metrics
from rag_eval.results.row import MetricResult
from tests.tables import every_row
from tests.unit.metrics.test_catalogue import OPTIONS

pytestmark = pytest.mark.timeout(400)

# Of the measures of retrieval, which share what they read, one of each kind.
_MEASURES = {"ir.P@5", "ir.ndcg@10", "ir.map", "ir.rbp", "ir.err@10", "ir.bpref"}
SPECS = [
    spec
    for spec in all_metrics()
    if spec.create is not None and (not spec.id.startswith("ir.") or spec.id in _MEASURES)
]
BY_SPEC = every_row("spec", SPECS, ids=lambda spec: str(spec.id))

MOST_MESSAGE = 1000
MOST_RESULT = 500_000
SIZE = 5_000


def repeated(text: str) -> Callable[[], str]:
    return lambda: text * (SIZE // len(text))


def prose() -> str:
    letters = random.Random(1)
    words = ["".join(letters.choices("abcdefgh", k=letters.randint(2, 9))) for _ in range(3000)]
    sentences = (" ".join(letters.choices(words, k=12)).capitalize() for _ in range(SIZE // 70))
    return ". ".join(sentences)


TEXTS: dict[str, Callable[[], str]] = {
    "prose": prose,
    "one letter": repeated("a"),
    "words": lambda: " ".join(f"w{n}" for n in range(SIZE // 7)),
    "json": lambda: json.dumps([{"a": n, "b": ["x", None]} for n in range(SIZE // 26)]),
    "deep": lambda: "[" * 10_000 + "]" * 10_000,
    "deep objects": lambda: '{"a":' * 10_000 + "1" + "}" * 10_000,
    "a large exponent": lambda: '{"a": 1e400}',
    "not a number": lambda: '{"a": NaN}',
    "repeated keys": lambda: '{"a": 1, "a": [2], "a": {}}',
    "half characters": repeated("\ud800\udc00 \udfff. "),
    "markdown": repeated("# T\n\n- a\n- b\n\n|a|b|\n|-|-|\n|1|2|\n\n```\nx\n```\n"),
    "control characters": repeated("".join(map(chr, range(32)))),
    "line ends": repeated("\n"),
    "dots": repeated("."),
    "digits": repeated("1"),
    "brackets": repeated("["),
    "quotes": repeated("\"'"),
    "ideographs": lambda: "東京は日本の首都である。" * 100,
    "emoji": repeated("🎉👩\u200d👧"),
    "combining": lambda: "e" + "\u0301" * SIZE,
    "hyphens": repeated("a-"),
    "denials": repeated("not never no "),
    "dotted": repeated("İI"),
}


class Rude:
    """Says nothing of itself and is equal to nothing."""

    def __repr__(self) -> str:
        raise RuntimeError("never mind")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("never mind")

    __hash__ = None  # type: ignore[assignment]


def _cyclic_list() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def _cyclic_mapping() -> dict[str, Any]:
    found: dict[str, Any] = {"name": "a", "type": "contains", "value": "x", "role": "user"}
    for name in ("arguments", "content"):
        found[name] = found
    for name in ("steps", "children", "tool_calls"):
        found[name] = [found]
    return found


def _nested(wrapped: Callable[[Any], Any]) -> Any:
    found: Any = wrapped([])
    for _ in range(10_000):
        found = wrapped(found)
    return found


def _call(value: Any) -> dict[str, Any]:
    return {"name": "a", "arguments": value, "steps": [value], "children": [value]}


VALUES: dict[str, Any] = {
    "whole": 7,
    "negative": -3,
    "huge": 10**400,
    "digits beyond what Python writes": -(10**5000),
    "float": 1.5,
    "nan": math.nan,
    "infinite": math.inf,
    "true": True,
    "bytes": b"\xff\x00",
    "mapping": {"a": 1},
    "numbers as keys": {1: 2},
    "nested": [[["a"]]],
    "a none inside": ["a", None],
    "kinds": ["a", 1, {"name": "b"}],
    "cyclic list": _cyclic_list(),
    "cyclic mapping": _cyclic_mapping(),
    "cyclic mappings": [_cyclic_mapping()],
    "deep list": _nested(lambda value: [value]),
    "deep calls": [_nested(_call)],
    "set": {"a"},
    "object": object(),
    "array": np.arange(3),
    "date": datetime.datetime(2020, 1, 1),
    "half a character": "\ud800",
    "rude": Rude(),
    "rude within": [Rude()],
    "a rude grade": {"a": Rude()},
    "grade nan": {"a": math.nan},
    "grade huge": {"a": 10**400},
    "grade true": {"a": True},
    "grade text": {"a": "1"},
}
# Those that are almost what the fields take: its own, and for all options.
NEARLY: dict[str, dict[str, Any]] = {
    "tool_calls": {
        "call without name": [{"x": 1}],
        "call of a number": [{"name": 5}],
        "arguments cut off": [{"name": "a", "arguments": "{"}],
        "arguments deep": [{"name": "a", "arguments": "[" * 100_000}],
        "arguments huge": [{"name": "a", "arguments": {"n": 10**5000}, "result": {1, 2}}],
        "id huge": [{"name": "a", "id": 10**5000}],
        "state": [{"name": "a", "state": ["x"]}],
    },
    "assertions": {
        "assertion of no type": [{"type": 5}],
        "assertion huge": [{"type": "max_length", "value": 10**5000}],
        "assertion weight": [{"type": "contains", "value": "a", "weight": 10**400}],
        "assertion pattern": [{"type": "regex", "pattern": "("}],
        "assertion schema": [{"type": "json_schema", "schema": _cyclic_mapping()}],
    },
    "messages": {
        "message role": [{"role": 5, "content": "a"}],
        "message content": [{"role": "user", "content": 5}, {"role": "assistant", "content": b"x"}],
        "message cyclic": [{"role": "user", "content": _cyclic_list()}],
        "message calls": [{"role": "assistant", "content": "x", "tool_calls": _cyclic_list()}],
    },
    "trajectory": {
        "no steps": {"steps": 5},
        "steps of none": {"steps": [None]},
        "steps without end": {"steps": _cyclic_list()},
        "durations": {"steps": [{"name": "a", "durationMs": math.nan}], "totalDurationMs": 10**400},
        "limits": {"steps": [{"name": "a"}], "maxSteps": 10**400, "blacklistedTools": [None]},
    },
}
for _field, _other in {
    "expected_tool_calls": "tool_calls",
    "expected_trajectory": "trajectory",
}.items():
    NEARLY[_field] = NEARLY[_other]
ALL_VALUES = {
    kind: value for values in (VALUES, *NEARLY.values()) for kind, value in values.items()
}

USUAL: dict[str, Any] = {
    "question": "How long do refunds take?",
    "answer": "Refunds take 14 days.",
    "ground_truth": "They take 14 days.",
    "contexts": ["Refunds take 14 days."],
    "assertions": [{"type": "contains", "value": "14"}],
    "retrieved_ids": ["a", "b"],
    "relevant_ids": {"a": 1},
    "tool_calls": ["search"],
    "expected_tool_calls": ["search"],
    "cost_usd": 0.1,
    "latency_ms": 3,
    "n_turns": 1,
    "messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}],
    "trajectory": {"steps": [{"name": "search", "stepType": "tool_call"}]},
    "expected_trajectory": {"steps": [{"name": "search"}]},
    "judge_score": 4,
    "mock_hits": {"search:1": 1},
    "language": "en",
}
# What a message of an error may call a field besides by its own name: a part of it.
PARTS = {
    "expected_trajectory": ("step", "children"),
    "trajectory": ("step", "children"),
    "messages": ("message",),
    "assertions": ("assertion", "regex", "schema"),
}


def usual(spec: Metric) -> dict[str, Any]:
    names = (*spec.fields, *spec.optional)
    # Messages go before question and answer, which are what texts are put into.
    return {name: USUAL[name] for name in names if name in USUAL and name != "messages"}


def scored(spec: Metric, sample: dict[str, Any], **options: Any) -> MetricResult:
    given = {spec.id: {**OPTIONS.get(spec.id, {}), **options}}
    return rag_eval.evaluate(sample, metrics=[spec.id], scorer_options=given).metrics[spec.id]


def error_of(spec: Metric, sample: dict[str, Any], **options: Any) -> str:
    """What the error says; empty where there is none, and the result is one that can be."""
    try:
        found = scored(spec, sample, **options)
    except InputError as error:
        return str(error)
    if found.score is None:
        assert found.null_reason
    else:
        assert spec.range[0] <= found.score <= spec.range[1]
    assert len(json.dumps(found.to_dict(), allow_nan=False)) < MOST_RESULT
    return ""


@functools.cache
def text(name: str) -> str:
    return TEXTS[name]()


@BY_SPEC
def test_any_text_has_a_score_a_reason_or_an_error(spec: Metric) -> None:
    names = [
        name
        for name in ("answer", "ground_truth", "question", "contexts")
        if name in (*spec.fields, *spec.optional)
    ]
    for kind in TEXTS:
        value = {name: [text(kind)] if name == "contexts" else text(kind) for name in names}
        alone = [{name: value[name]} for name in names[:2]] if len(names) > 1 else []
        samples = [value, *alone]
        for sample in samples:
            said = error_of(spec, {**usual(spec), **sample})
            assert not said or any(name in said for name in names), (kind, said)
            assert len(said) < MOST_MESSAGE


@BY_SPEC
def test_any_value_has_a_score_a_reason_or_an_error_that_names_it(spec: Metric) -> None:
    for name in (*spec.fields, *spec.optional):
        for kind, value in {**VALUES, **NEARLY.get(name, {})}.items():
            said = error_of(spec, {**usual(spec), name: value})
            named = (name, *PARTS.get(name, ()))
            assert not said or any(part in said for part in named), (name, kind, said)
            assert len(said) < MOST_MESSAGE


@BY_SPEC
def test_any_option_is_taken_or_refused_by_its_name(spec: Metric) -> None:
    for name in (*spec.required_options, *spec.options):
        for kind, value in ALL_VALUES.items():
            said = error_of(spec, usual(spec), **{name: value})
            assert not said or spec.id in said or name in said, (name, kind, said)
            assert len(said) < MOST_MESSAGE


def test_a_value_is_shown_in_a_glance_whatever_it_is() -> None:
    for value in ALL_VALUES.values():
        assert 0 < len(glance(value)) <= 80
    assert glance("x" * 10_000_000).startswith("'xxx")
    assert len(glance(list(range(100_000)), 20)) == 20
    assert glance(-(10**400)) == "<int of 1329 bits>"
    assert glance("a") == "'a'"
