"""The types of assertions, in one table: what each reads, measures and wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from rag_eval.scorers.javascript import trimmed, utf16_length
from rag_eval.scorers.omk import assertion_rules as rules
from rag_eval.scorers.omk import parameters as p
from rag_eval.scorers.omk.assertion_rules import Measure, Verdict, word_count, word_counts
from rag_eval.scorers.omk.parameters import Parameter, Values

Layer: TypeAlias = Literal["fact", "behavior"]

SET: Final = "assert-set"
CUSTOM: Final = "custom"
ANSWER: Final = "output"
JUDGED: Final = ("faithfulness", "answer_relevancy", "context_recall", "semantic_similarity")


@dataclass(frozen=True, slots=True)
class AssertionType:
    """A type of assertion that neither asks a judge nor runs code of the caller.

    Attributes
    ----------
    name : str
    layer : {"fact", "behavior"}
    reads : str
        The field of a run that it is about.
    parameters : tuple of Parameter
    measure : callable
        Parameters to a function from what is read to what is measured.
    holds : callable
        Parameters to a function from what is measured to whether the assertion holds.
    wanted : str
        What it wants, a format of its parameters.
    holds_unknown : callable
        Whether it holds where what it reads is not known, and is no answer: of an unknown cost,
        duration or number of turns as of one that is out of bounds. A missing answer meets nothing.
    fault : callable
        Why no run could tell anything by it, or None; asked before there is any run.
    measure_all : callable, optional
        ``measure`` of many texts at once, where no parameter changes it and that is faster.
    """

    name: str
    layer: Layer
    reads: str
    parameters: tuple[Parameter, ...]
    measure: Callable[[Values], Measure]
    holds: Callable[[Values], Verdict]
    wanted: str
    holds_unknown: Callable[[Values], bool] = lambda values: False
    fault: Callable[[Values], str | None] = lambda values: None
    measure_all: Callable[[Sequence[str]], Iterable[Any]] | None = None


# ---------------------------------------------------------------------------------------- the table

_TRIMMED: Final = rules.plainly(trimmed)
_LENGTH: Final = rules.plainly(utf16_length)
_WORDS: Final = rules.plainly(word_count)
_CALLED: Final = rules.plainly(rules.names)
_COUNT: Final = rules.plainly(len)
_LEAST: Final = rules.at_least("value")
_ENOUGH: Final = rules.at_least("threshold")
_CALLS: Final = "tool_calls"


def _type(
    layer: Layer,
    name: str,
    wanted: str,
    parameters: tuple[Parameter, ...],
    holds: Callable[[Values], Verdict],
    measure: Callable[[Values], Measure] = rules.itself,
    reads: str = ANSWER,
) -> AssertionType:
    return AssertionType(name, layer, reads, parameters, measure, holds, wanted)


_fact = partial(_type, "fact")
_behavior = partial(_type, "behavior")


def _of_one_tool(
    name: str, wanted: str, holds: Callable[[Values], Verdict], measure: Callable[[Values], Measure]
) -> AssertionType:
    """About the calls of one tool: "Tool:text", where the text may hold colons."""
    kind = _fact(name, wanted, (p.TEXT,), holds, measure, _CALLS)
    return replace(kind, fault=rules.names_no_tool)


def _at_least(
    name: str, unit: str, measure: Callable[[Values], Measure], reads: str = ANSWER
) -> AssertionType:
    return _behavior(name, f"at least {{value}} {unit}", (p.AMOUNT,), _LEAST, measure, reads)


def _at_most(
    name: str, unit: str, measure: Callable[[Values], Measure], reads: str = ANSWER
) -> AssertionType:
    return _behavior(name, f"at most {{value}} {unit}", (p.AMOUNT,), rules.at_most, measure, reads)


_GOLD: Final = (p.REFERENCE, p.SHARE)
_TABLE: Final = (
    _fact("contains", "has {value!r:.80}", (p.TEXT,), rules.has),
    _fact("not_contains", "does not have {value!r:.80}", (p.TEXT,), rules.opposite(rules.has)),
    _fact("contains_all", "has all of {values!r:.80}", (p.TEXTS,), rules.has_each(all)),
    _fact("contains_any", "has one of {values!r:.80}", (p.TEXTS,), rules.has_each(any)),
    _fact("equals", "is {value!r:.80}", (p.TEXT,), rules.equals, _TRIMMED),
    _fact("not_equals", "is not {value!r:.80}", (p.TEXT,), rules.opposite(rules.equals), _TRIMMED),
    replace(
        _fact(
            "regex",
            "matches {pattern!r:.80} with the flags {flags!r:.20}",
            (p.PATTERN, p.FLAGS),
            rules.matches,
        ),
        fault=rules.matches_all,
    ),
    _fact("json_valid", "is JSON", (), rules.nothing_found, rules.plainly(rules.json_fault)),
    _fact(
        "json_schema",
        "is JSON of the schema",
        (p.SCHEMA,),
        rules.nothing_found,
        rules.schema_errors,
    ),
    _fact(
        "rouge_n_min", "ROUGE-{n} of at least {threshold}", (*_GOLD, p.GRAM), _ENOUGH, rules.rouge
    ),
    _fact("bleu_min", "BLEU of at least {threshold}", _GOLD, _ENOUGH, rules.bleu_score),
    _fact(
        "levenshtein_max",
        "at most {value} edits from the reference",
        (p.REFERENCE, p.AMOUNT),
        rules.at_most,
        rules.distance,
    ),
    _of_one_tool(
        "tool_output_contains", "gave {value!r:.80}", rules.some_call_has, rules.result_texts
    ),
    _of_one_tool(
        "tool_input_contains", "was given {value!r:.80}", rules.some_call_has, rules.given_texts
    ),
    _of_one_tool(
        "tool_input_not_contains",
        "was never given {value!r:.80}",
        rules.opposite(rules.some_call_has),
        rules.given_texts,
    ),
    _behavior("starts_with", "starts with {value!r:.80}", (p.TEXT,), rules.starts),
    _behavior("ends_with", "ends with {value!r:.80}", (p.TEXT,), rules.ends),
    _at_least("min_length", "characters", _LENGTH),
    _at_most("max_length", "characters", _LENGTH),
    _at_least("word_count_min", "words", _WORDS),
    _at_most("word_count_max", "words", _WORDS),
    _at_most("cost_max", "USD", rules.itself, "cost_usd"),
    _at_most("latency_max", "milliseconds", rules.itself, "latency_ms"),
    replace(
        _at_least("turns_min", "turns", rules.itself, "n_turns"), holds_unknown=rules.least_is_zero
    ),
    _at_most("turns_max", "turns", rules.itself, "n_turns"),
    _behavior(
        "tools_called", "calls all of {values!r:.80}", (p.TEXTS,), rules.called, _CALLED, _CALLS
    ),
    _behavior(
        "tools_not_called",
        "calls none of {values!r:.80}",
        (p.TEXTS,),
        rules.not_called,
        _CALLED,
        _CALLS,
    ),
    _at_least("tools_count_min", "calls of tools", _COUNT, _CALLS),
    _at_most("tools_count_max", "calls of tools", _COUNT, _CALLS),
    _behavior(
        "mock_hit",
        "at least {threshold} hits of the mock {value!r:.80}",
        (p.MOCK, p.HITS),
        _ENOUGH,
        rules.hits,
        "mock_hits",
    ),
)

TYPES: Final = MappingProxyType(
    {
        kind.name: replace(kind, measure_all=word_counts) if kind.measure is _WORDS else kind
        for kind in _TABLE
    }
)
"""The types by their names."""

JUDGED_PARAMETERS: Final = MappingProxyType(
    dict.fromkeys(JUDGED, (p.OWN_REFERENCE, p.RATING))
    | {"semantic_similarity": (p.REFERENCE, p.RATING)}
)
"""What assertions that ask a judge have."""

ALL_TYPES: Final = dict.fromkeys((*TYPES, *JUDGED, CUSTOM, SET))
"""The names of all types, in order."""


def layer_of(name: str) -> Layer | None:
    """The layer of an assertion type.

    Returns
    -------
    {"fact", "behavior"} or None
        None for sets, which belong to the layers of their leaves, and for unknown types.
    """
    if name in JUDGED:
        return "fact"
    if name == CUSTOM:
        return "behavior"
    kind = TYPES.get(name) if isinstance(name, str) else None
    return None if kind is None else kind.layer
