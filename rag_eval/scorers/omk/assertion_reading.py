"""Assertions as data -> assertions ready to be checked; errors name the place and the wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.scorers.omk import parameters as p
from rag_eval.scorers.omk.assertion_runs import AssertionRun
from rag_eval.scorers.omk.assertion_types import (
    ALL_TYPES,
    ANSWER,
    CUSTOM,
    JUDGED,
    JUDGED_PARAMETERS,
    SET,
    TYPES,
    AssertionType,
    Layer,
    layer_of,
)
from rag_eval.scorers.omk.parameters import Parameter, Values
from rag_eval.scorers.omk.ratings import HIGHEST

MOST_NESTED: Final = 16
"""Levels of assertions, with the one within all sets."""

_MOST_ASSERTIONS: Final = 20_000
_COMMON: Final = (p.WEIGHT, p.NOT)
# Words for people, which change nothing.
_REMARKS: Final = frozenset({"type", "name", "description", "comment"})

CustomCheck: TypeAlias = Callable[[AssertionRun, Mapping[str, Any]], bool | tuple[bool, str]]
"""A custom check: a run and its assertion in; whether it holds, and optionally why, out."""


@dataclass(frozen=True, slots=True)
class JudgedAssertion:
    """A question to a judge.

    Attributes
    ----------
    type : str
        ``faithfulness``, ``answer_relevancy``, ``context_recall`` or ``semantic_similarity``.
    output, reference, question : str
        The judged text, the text it is compared with, and the question; empty if there is none.
    """

    type: str
    output: str
    reference: str
    question: str


AssertionJudge: TypeAlias = Callable[[JudgedAssertion], float | None]
"""A question in, a score from 1 to 5 out; None, 0 and less are a judgement that failed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one assertion; ``passed`` is None if that is unknown."""

    passed: bool | None
    actual: Any = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Helpers:
    """Who is asked where a run alone does not decide."""

    judge: AssertionJudge | None = None
    checks: Mapping[str, CustomCheck] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """An assertion, checked and compiled.

    Attributes
    ----------
    find : callable
        What a run has to say, before ``negated``.
    judged : bool
        It asks a judge.
    """

    place: str
    type: str
    weight: float
    negated: bool
    layer: Layer | None
    expected: str
    find: Callable[[AssertionRun, Helpers], Finding]
    judged: bool = False


def read_assertions(
    assertions: object, owner: str = "assertions", *, strict: bool = False
) -> list[Prepared]:
    """Assertions made ready; ``strict`` refuses those that no run could decide.

    Raises
    ------
    InputError
        Named by its place: an unknown type, a parameter that is missing, wrong or unknown,
        assertions nested more than 16 deep, more than 20,000 assertions with those in sets.
    """
    if isinstance(assertions, (str, bytes, Mapping)) or not isinstance(assertions, Sequence):
        raise InputError(f"{owner} must be a list, got {type(assertions).__name__}")
    reader = _Reader(strict)
    return [reader.read(each, f"{owner}[{place}]") for place, each in enumerate(assertions)]


def read_assertion(assertion: object, owner: str = "assertion") -> Prepared:
    """One assertion made ready."""
    return _Reader(strict=False).read(assertion, owner)


class _Reader:
    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._n_read = 0

    def read(self, assertion: object, place: str, depth: int = 0) -> Prepared:
        if not isinstance(assertion, Mapping):
            raise InputError(f"{place} must be a mapping, got {type(assertion).__name__}")
        if depth >= MOST_NESTED:
            raise _Placed(f"{place[:80]}: assertions are nested more than {MOST_NESTED} deep")
        self._n_read += 1
        if self._n_read > _MOST_ASSERTIONS:
            raise InputError(f"{place}: at most {_MOST_ASSERTIONS} assertions are accepted")
        name = assertion.get("type")
        if not isinstance(name, str) or name not in ALL_TYPES:
            hint = suggestion(name, ALL_TYPES) or f" (known types: {', '.join(ALL_TYPES)})"
            raise InputError(f"{place}: unknown assertion type {glance(name)}{hint}")
        if depth and (name in JUDGED or name == CUSTOM):
            raise InputError(f"{place}: {name} cannot be within an {SET}")
        try:
            if name == SET:
                return self._set(assertion, place, depth + 1)
            return self._leaf(name, assertion, place)
        except InputError as error:
            is_placed = isinstance(error, _Placed)
            message = str(error) if is_placed else f"{place} ({name}): {error}"
            # The caller's tracebacks show the public class alone.
            raise (_Placed if depth else InputError)(message) from None

    def _leaf(self, name: str, assertion: Values, place: str) -> Prepared:
        if name == CUSTOM:
            values = _values((p.FUNCTION, *_COMMON), assertion, extra=True)
            return _prepared(
                place, name, values, f"the check {values['fn']!r:.80}", _custom(assertion)
            )
        if name in JUDGED:
            values = _values((*JUDGED_PARAMETERS[name], *_COMMON), assertion)
            wanted = f"a judge gives at least {values['threshold']} of 5"
            return _prepared(place, name, values, wanted, _judged(name, values), judged=True)
        kind = TYPES[name]
        values = _values((*kind.parameters, *_COMMON), assertion)
        fault = kind.fault(values)
        if self._strict and fault is not None:
            raise InputError(fault)
        try:
            find = leaf_finder(kind, values)
        except InputError as error:
            # omk reads a schema when it meets an output, and a bad one fails there.
            if self._strict or name != "json_schema":
                raise
            find = _always(Finding(None, None, str(error)))
        return _prepared(place, name, values, kind.wanted.format(**values), find)

    def _set(self, assertion: Values, place: str, depth: int) -> Prepared:
        values = _values((p.MODE, p.CHILDREN, *_COMMON), assertion)
        children = [
            self.read(child, f"{place}.children[{number}]", depth)
            for number, child in enumerate(values["children"])
        ]
        layers = {child.layer for child in children}
        wanted = f"{values['mode']} of {len(children)}"
        return _prepared(
            place,
            SET,
            values,
            wanted,
            _of_set(children, values["mode"]),
            layer=layers.pop() if len(layers) == 1 else None,
        )


class _Placed(InputError):
    """An error whose message names the place already."""


def _prepared(
    place: str,
    name: str,
    values: Values,
    wanted: str,
    find: Callable[[AssertionRun, Helpers], Finding],
    *,
    layer: Layer | None = None,
    judged: bool = False,
) -> Prepared:
    negated = values["not"]
    return Prepared(
        place=place,
        type=name,
        weight=float(values["weight"]),
        negated=negated,
        layer=layer or layer_of(name),
        expected=f"not: {wanted}" if negated else wanted,
        find=find,
        judged=judged,
    )


def _values(
    parameters: Sequence[Parameter], assertion: Values, *, extra: bool = False
) -> dict[str, Any]:
    names = [parameter.name for parameter in parameters]
    unknown = [key for key in assertion if key not in names and key not in _REMARKS]
    if unknown and not extra:
        raise InputError(
            f"{glance(unknown[0])} is not read{suggestion(unknown[0], names)}"
            f" (it takes {', '.join(names)})"
        )
    return {parameter.name: parameter.read(assertion) for parameter in parameters}


# ---------------------------------------------------------------------------- what runs have to say


def leaf_finder(kind: AssertionType, values: Values) -> Callable[[AssertionRun, Helpers], Finding]:
    """What a run has to say about an assertion of a type that a run alone decides."""
    measure, holds, reads = kind.measure(values), kind.holds(values), kind.reads

    def find(run: AssertionRun, helpers: Helpers) -> Finding:
        subject = getattr(run, reads)
        if subject is None:
            passed = None if reads == ANSWER else kind.holds_unknown(values)
            return Finding(passed, None, f"{reads} is not known")
        measured = measure(subject)
        return Finding(holds(measured), measured)

    return find


def _always(finding: Finding) -> Callable[[AssertionRun, Helpers], Finding]:
    return lambda run, helpers: finding


def _of_set(
    children: Sequence[Prepared], mode: Literal["all", "any"]
) -> Callable[[AssertionRun, Helpers], Finding]:
    decides = mode == "any"

    def find(run: AssertionRun, helpers: Helpers) -> Finding:
        verdicts = [verdict_of(child, child.find(run, helpers)) for child in children]
        met = sum(verdict is True for verdict in verdicts)
        actual = f"{met} of {len(children)}"
        if decides in verdicts:
            return Finding(decides, actual)
        return Finding(None if None in verdicts else not decides, actual)

    return find


def verdict_of(prepared: Prepared, finding: Finding) -> bool | None:
    """Whether an assertion is met, ``not`` considered; what cannot be told stays so."""
    if finding.passed is None:
        return None
    return finding.passed is not prepared.negated


def _custom(assertion: Values) -> Callable[[AssertionRun, Helpers], Finding]:
    name = assertion["fn"]

    def find(run: AssertionRun, helpers: Helpers) -> Finding:
        check = helpers.checks.get(name)
        if check is None:
            known = ", ".join(map(repr, helpers.checks)) or "none"
            raise InputError(
                f"unknown check {glance(name)}{suggestion(name, helpers.checks)} (known: {known})"
            )
        try:
            found = check(run, assertion)
        except InputError:
            raise
        except Exception as error:
            return Finding(None, None, f"the check raised {type(error).__name__}: {error}")
        passed, message = found if isinstance(found, tuple) else (found, "")
        if not isinstance(passed, bool):
            raise InputError(
                f"the check {glance(name)} must return True or False, got {glance(passed)}"
            )
        return Finding(passed, None, message)

    return find


def _judged(name: str, values: Values) -> Callable[[AssertionRun, Helpers], Finding]:
    threshold = values["threshold"]

    def find(run: AssertionRun, helpers: Helpers) -> Finding:
        if helpers.judge is None:
            raise InputError(f"{name} needs a judge: request the metric omk.{name} with a judge")
        if run.output is None:
            return Finding(None, None, "output is missing")
        reference = values["reference"] or "\n".join(run.contexts)
        if name == "answer_relevancy":
            reference = ""
        elif not reference:
            raise InputError(f"{name} needs a reference, or a context of the sample")
        asked = JudgedAssertion(name, run.output, reference, run.question or "")
        score = helpers.judge(asked)
        if score is None or not 0 < score <= HIGHEST:
            return Finding(None, None, "the judgement failed")
        return Finding(score >= threshold, score)

    return find
