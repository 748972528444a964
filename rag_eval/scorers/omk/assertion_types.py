"""The types of assertions, in one table: what each reads, measures and wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from rag_eval.scorers.javascript_strings import trimmed, utf16_length
from rag_eval.scorers.omk import assertion_rules as rules
from rag_eval.scorers.omk import parameters as p
from rag_eval.scorers.omk.assertion_rules import Measure, Verdict
from rag_eval.scorers.omk.parameters import Parameter, Values
from rag_eval.scorers.omk.word_counts import word_count, word_counts

Layer: TypeAlias = Literal["fact", "behavior"]

SET: Final = "assert-set"
CUSTOM: Final = "custom"
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
        Whether it holds whatever it reads, so that it holds where that is not known.
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
_INPUTS: Final = rules.texts_of_tool("input")
_OUTPUTS: Final = rules.texts_of_tool("output")
_LEAST: Final = rules.at_least("value")
_ENOUGH: Final = rules.at_least("threshold")


def _fact(
    name: str,
    reads: str,
    wanted: str,
    parameters: tuple[Parameter, ...],
    measure: Callable[[Values], Measure],
    holds: Callable[[Values], Verdict],
) -> AssertionType:
    return AssertionType(name, "fact", reads, parameters, measure, holds, wanted)


def _behavior(
    name: str,
    reads: str,
    wanted: str,
    parameters: tuple[Parameter, ...],
    measure: Callable[[Values], Measure],
    holds: Callable[[Values], Verdict],
) -> AssertionType:
    return AssertionType(name, "behavior", reads, parameters, measure, holds, wanted)


def _of_one_tool(
    name: str, wanted: str, measure: Callable[[Values], Measure], holds: Callable[[Values], Verdict]
) -> AssertionType:
    """About the calls of one tool: "Tool:text", where the text may hold colons."""
    return AssertionType(
        name, "fact", _CALLS, (p.TEXT,), measure, holds, wanted, fault=rules.names_no_tool
    )


_ANSWER: Final = "output"
_CALLS: Final = "tool_calls"
_GOLD: Final = (p.REFERENCE, p.SHARE)
_TABLE: Final = (
    _fact("contains", _ANSWER, "has {value!r:.80}", (p.TEXT,), rules.itself, rules.has),
    _fact(
        "not_contains",
        _ANSWER,
        "does not have {value!r:.80}",
        (p.TEXT,),
        rules.itself,
        rules.has_not,
    ),
    _fact(
        "contains_all",
        _ANSWER,
        "has all of {values!r:.80}",
        (p.TEXTS,),
        rules.itself,
        rules.has_all,
    ),
    _fact(
        "contains_any",
        _ANSWER,
        "has one of {values!r:.80}",
        (p.TEXTS,),
        rules.itself,
        rules.has_any,
    ),
    _fact("equals", _ANSWER, "is {value!r:.80}", (p.TEXT,), _TRIMMED, rules.equals),
    _fact("not_equals", _ANSWER, "is not {value!r:.80}", (p.TEXT,), _TRIMMED, rules.differs),
    _fact(
        "regex",
        _ANSWER,
        "matches {pattern!r:.80} with the flags {flags!r:.20}",
        (p.PATTERN, p.FLAGS),
        rules.itself,
        rules.matches,
    ),
    _fact(
        "json_valid", _ANSWER, "is JSON", (), rules.plainly(rules.json_fault), rules.nothing_found
    ),
    _fact(
        "json_schema",
        _ANSWER,
        "is JSON of the schema",
        (p.SCHEMA,),
        rules.schema_errors,
        rules.nothing_found,
    ),
    _fact(
        "rouge_n_min",
        _ANSWER,
        "ROUGE-{n} of at least {threshold}",
        (*_GOLD, p.GRAM),
        rules.rouge,
        _ENOUGH,
    ),
    _fact("bleu_min", _ANSWER, "BLEU of at least {threshold}", _GOLD, rules.bleu_score, _ENOUGH),
    _fact(
        "levenshtein_max",
        _ANSWER,
        "at most {value} edits from the reference",
        (p.REFERENCE, p.AMOUNT),
        rules.distance,
        rules.at_most,
    ),
    _of_one_tool("tool_output_contains", "gave {value!r:.80}", _OUTPUTS, rules.some_call_has),
    _of_one_tool("tool_input_contains", "was given {value!r:.80}", _INPUTS, rules.some_call_has),
    _of_one_tool(
        "tool_input_not_contains", "was never given {value!r:.80}", _INPUTS, rules.no_call_has
    ),
    _behavior(
        "starts_with", _ANSWER, "starts with {value!r:.80}", (p.TEXT,), rules.itself, rules.starts
    ),
    _behavior("ends_with", _ANSWER, "ends with {value!r:.80}", (p.TEXT,), rules.itself, rules.ends),
    _behavior("min_length", _ANSWER, "at least {value} characters", (p.AMOUNT,), _LENGTH, _LEAST),
    _behavior(
        "max_length", _ANSWER, "at most {value} characters", (p.AMOUNT,), _LENGTH, rules.at_most
    ),
    _behavior("word_count_min", _ANSWER, "at least {value} words", (p.AMOUNT,), _WORDS, _LEAST),
    _behavior(
        "word_count_max", _ANSWER, "at most {value} words", (p.AMOUNT,), _WORDS, rules.at_most
    ),
    _behavior(
        "cost_max", "cost_usd", "at most {value} USD", (p.AMOUNT,), rules.itself, rules.at_most
    ),
    _behavior(
        "latency_max",
        "latency_ms",
        "at most {value} milliseconds",
        (p.AMOUNT,),
        rules.itself,
        rules.at_most,
    ),
    AssertionType(
        "turns_min",
        "behavior",
        "n_turns",
        (p.AMOUNT,),
        rules.itself,
        _LEAST,
        "at least {value} turns",
        rules.least_is_zero,
    ),
    _behavior(
        "turns_max", "n_turns", "at most {value} turns", (p.AMOUNT,), rules.itself, rules.at_most
    ),
    _behavior(
        "tools_called", _CALLS, "calls all of {values!r:.80}", (p.TEXTS,), _CALLED, rules.called
    ),
    _behavior(
        "tools_not_called",
        _CALLS,
        "calls none of {values!r:.80}",
        (p.TEXTS,),
        _CALLED,
        rules.not_called,
    ),
    _behavior(
        "tools_count_min", _CALLS, "at least {value} calls of tools", (p.AMOUNT,), _COUNT, _LEAST
    ),
    _behavior(
        "tools_count_max",
        _CALLS,
        "at most {value} calls of tools",
        (p.AMOUNT,),
        _COUNT,
        rules.at_most,
    ),
    _behavior(
        "mock_hit",
        "mock_hits",
        "at least {threshold} hits of the mock {value!r:.80}",
        (p.MOCK, p.HITS),
        rules.hits,
        _ENOUGH,
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
    """The layer that assertions of a type count in.

    Returns
    -------
    {"fact", "behavior"} or None
        None for sets, which count where their leaves do, and for what is no type.
    """
    if name in JUDGED:
        return "fact"
    if name == CUSTOM:
        return "behavior"
    kind = TYPES.get(name) if isinstance(name, str) else None
    return None if kind is None else kind.layer
