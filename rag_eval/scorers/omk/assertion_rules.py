"""What assertions measure and what they want of it, as functions of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from rag_eval.errors import glance
from rag_eval.scorers.javascript_strings import trimmed, utf16_length
from rag_eval.scorers.omk.assertion_runs import AssertionCall, call_text
from rag_eval.scorers.omk.parameters import Values

Measure: TypeAlias = Callable[[Any], Any]
Verdict: TypeAlias = Callable[[Any], bool]


def itself(values: Values) -> Measure:
    return lambda subject: subject


def plainly(measure: Measure) -> Callable[[Values], Measure]:
    """A measure that no parameter changes."""
    return lambda values: measure


# ------------------------------------------------------------------------------- what is measured


def json_fault(text: str) -> str | None:
    """Why a text is no JSON; None where it is."""
    from rag_eval.plumbing.strict_json import JsonFault, parse_json

    try:
        parse_json(text)
    except JsonFault as fault:
        return fault.reason
    return None


def schema_errors(values: Values) -> Measure:
    from rag_eval.plumbing.strict_json import JsonFault, parse_json
    from rag_eval.scorers.json_schemas import validator

    check = validator(values["schema"])

    def errors(text: str) -> list[str]:
        try:
            return [f"{error.path}: {error.message}" for error in check(parse_json(text))]
        except JsonFault as fault:
            return [f"no JSON: {fault.reason}"]

    return errors


def rouge(values: Values) -> Measure:
    from rag_eval.scorers.omk.text_metrics import rouge_n

    reference, n = values["reference"], int(values["n"])
    return lambda text: rouge_n(text, reference, n)


def bleu_score(values: Values) -> Measure:
    from rag_eval.scorers.omk.text_metrics import bleu

    reference = values["reference"]
    return lambda text: bleu(text, reference)


def distance(values: Values) -> Measure:
    """The edit distance; where the lengths alone are too far apart, how far that is."""
    from rag_eval.scorers.omk.text_metrics import levenshtein

    reference, most = values["reference"], values["value"]
    length = utf16_length(reference)

    def distance(text: str) -> int:
        at_least = abs(utf16_length(text) - length)
        return at_least if at_least > most else levenshtein(text, reference)

    return distance


def names(calls: Iterable[AssertionCall]) -> list[str]:
    return [call.tool for call in calls]


def texts_of_tool(part: Literal["input", "output"]) -> Callable[[Values], Measure]:
    def measure(values: Values) -> Measure:
        tool = _tool_and_text(values)[0]
        return lambda calls: [call_text(getattr(c, part)) for c in calls if c.tool.lower() == tool]

    return measure


def hits(values: Values) -> Measure:
    return lambda hits: hits.get(values["value"], 0)


# ----------------------------------------------------------------------------------- what is wanted


def at_least(name: str) -> Callable[[Values], Verdict]:
    def holds(values: Values) -> Verdict:
        least = values[name]
        return lambda measured: bool(measured >= least)

    return holds


def at_most(values: Values) -> Verdict:
    most = values["value"]
    return lambda measured: bool(measured <= most)


def has(values: Values) -> Verdict:
    part = values["value"].lower()
    return lambda text: part in text.lower()


def has_not(values: Values) -> Verdict:
    part = values["value"].lower()
    return lambda text: part not in text.lower()


def has_all(values: Values) -> Verdict:
    parts = [part.lower() for part in values["values"]]

    def holds(text: str) -> bool:
        lowered = text.lower()
        return all(part in lowered for part in parts)

    return holds


def has_any(values: Values) -> Verdict:
    parts = [part.lower() for part in values["values"]]

    def holds(text: str) -> bool:
        lowered = text.lower()
        return any(part in lowered for part in parts)

    return holds


def equals(values: Values) -> Verdict:
    value = trimmed(values["value"])
    return lambda text: bool(text == value)


def differs(values: Values) -> Verdict:
    value = trimmed(values["value"])
    return lambda text: bool(text != value)


def starts(values: Values) -> Verdict:
    part = values["value"].lower()
    return lambda text: bool(text.lower().startswith(part))


def ends(values: Values) -> Verdict:
    part = values["value"].lower()
    return lambda text: bool(text.lower().endswith(part))


def matches(values: Values) -> Verdict:
    from rag_eval.scorers.safe_patterns import compiled

    # No flags at all are the default there, too.
    return compiled(values["pattern"], values["flags"] or "i").search


def nothing_found(values: Values) -> Verdict:
    return lambda faults: not faults


def called(values: Values) -> Verdict:
    names = _lower(values["values"])
    return lambda called: names <= _lower(called)


def not_called(values: Values) -> Verdict:
    names = _lower(values["values"])
    return lambda called: names.isdisjoint(_lower(called))


def some_call_has(values: Values) -> Verdict:
    part = _tool_and_text(values)[1]
    return lambda texts: any(part in text.lower() for text in texts)


def no_call_has(values: Values) -> Verdict:
    part = _tool_and_text(values)[1]
    return lambda texts: not any(part in text.lower() for text in texts)


def _tool_and_text(values: Values) -> tuple[str, str]:
    """Lower-cased; no tool, which no call is of, where there is no colon."""
    tool, colon, part = values["value"].lower().partition(":")
    return (tool, part) if colon else ("", "")


def _lower(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}


def names_no_tool(values: Values) -> str | None:
    """Why an assertion about one tool's calls says nothing of any run."""
    value = values["value"]
    tool, _, part = value.partition(":")
    if tool and part:
        return None
    return f"value must be a tool, a colon and a text, as in 'Bash:rm', got {glance(value)}"


def least_is_zero(values: Values) -> bool:
    return bool(values["value"] <= 0)
