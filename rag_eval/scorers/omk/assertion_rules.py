"""What assertions measure and what they want of it, as functions of their parameters.

Words are separated by the white space of JavaScript.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from rag_eval.errors import glance
from rag_eval.scorers.javascript import SPACE, parsed, trimmed, utf16_length
from rag_eval.scorers.omk.assertion_runs import AssertionCall, given_text, result_text
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
    """Why a text is not JSON; None if it is. Numbers may have any size."""
    from rag_eval.plumbing.strict_json import MOST_DEPTH, json_depth

    # How deep Python reads depends on its version.
    if json_depth(text) > MOST_DEPTH:
        return f"nested more than {MOST_DEPTH} deep"
    try:
        parsed(text)
    except ValueError as error:
        return f"not JSON: {error}"
    return None


def schema_errors(values: Values) -> Measure:
    from rag_eval.plumbing.strict_json import JsonFault, parse_json
    from rag_eval.scorers.json_schemas import validator

    check = validator(values["schema"])

    def errors(text: str) -> list[str]:
        try:
            return [f"{error.path}: {error.message}" for error in check(parse_json(text))]
        except JsonFault as fault:
            return [fault.reason]

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
    from rag_eval.kernels.similarity import levenshtein

    reference, most = values["reference"], values["value"]
    length = utf16_length(reference)

    def distance(text: str) -> int:
        at_least = abs(utf16_length(text) - length)
        return at_least if at_least > most else levenshtein(text, reference)

    return distance


def names(calls: Iterable[AssertionCall]) -> list[str]:
    return [call.tool for call in calls]


def _texts_of_tool(text_of: Callable[[AssertionCall], str]) -> Callable[[Values], Measure]:
    def measure(values: Values) -> Measure:
        tool = _tool_and_text(values)[0]
        return lambda calls: [text_of(call) for call in calls if call.tool.lower() == tool]

    return measure


given_texts = _texts_of_tool(given_text)
result_texts = _texts_of_tool(result_text)


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


def opposite(rule: Callable[[Values], Verdict]) -> Callable[[Values], Verdict]:
    """Holds where the rule does not."""

    def holds(values: Values) -> Verdict:
        verdict = rule(values)
        return lambda measured: not verdict(measured)

    return holds


def _in_lower_case(test: Callable[[str, str], bool]) -> Callable[[Values], Verdict]:
    def holds(values: Values) -> Verdict:
        part = values["value"].lower()
        return lambda text: test(text.lower(), part)

    return holds


has = _in_lower_case(operator.contains)
starts = _in_lower_case(str.startswith)
ends = _in_lower_case(str.endswith)


def has_each(decided: Callable[[Iterable[bool]], bool]) -> Callable[[Values], Verdict]:
    """Whether a text has all or any of several."""

    def holds(values: Values) -> Verdict:
        parts = [part.lower() for part in values["values"]]

        def verdict(text: str) -> bool:
            lowered = text.lower()
            return decided(part in lowered for part in parts)

        return verdict

    return holds


def equals(values: Values) -> Verdict:
    value = trimmed(values["value"])
    return lambda text: bool(text == value)


def matches(values: Values) -> Verdict:
    from rag_eval.scorers.safe_patterns import compiled

    # No flags at all are the default there, too.
    return compiled(values["pattern"], values["flags"] or "i").search


def matches_all(values: Values) -> str | None:
    """Why a pattern says nothing of any text."""
    return None if values["pattern"] else "pattern is empty, which every text matches"


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


# -------------------------------------------------------------------------------------------- words


_WORD: Final = re.compile(f"[^{SPACE}]+")
# Where Python and JavaScript differ on what a space is.
_DISPUTED: Final = "\x1c\x1d\x1e\x1f\x85\ufeff"
# 1 for each ASCII character that is not a space.
_IN_WORD: Final = bytes(chr(code) not in "\t\n\v\f\r " for code in range(256))
_PIECE: Final = 1 << 19


def word_count(text: str) -> int:
    """Runs of characters that are not spaces."""
    for letter in _DISPUTED:
        if letter in text:
            return sum(1 for _ in _WORD.finditer(text))
    return len(text.split())


def word_counts(texts: Sequence[str]) -> list[int]:
    """The same for many texts, in about a quarter of the time for those that are ASCII."""
    counts: list[int] = []
    for piece in _pieces(texts):
        joined = " ".join(piece) + " "
        counts += _ascii_counts(joined, piece) if joined.isascii() else map(word_count, piece)
    return counts


def _pieces(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in pieces that stay in the processor's cache; a longer text is one by itself."""
    begin = size = 0
    for end, text in enumerate(texts):
        if size and size + len(text) > _PIECE:
            yield texts[begin:end]
            begin, size = end, 0
        size += len(text) + 1
    if begin < len(texts):
        yield texts[begin:]


def _ascii_counts(joined: str, texts: Sequence[str]) -> Iterable[int]:
    """Words that begin in each text, of texts joined with a space after each."""
    import numpy as np

    in_word = np.frombuffer(joined.encode().translate(_IN_WORD), dtype=np.bool_)
    begins = in_word.copy()
    np.greater(in_word[1:], in_word[:-1], out=begins[1:])
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + 1
    counts: Iterable[int] = np.add.reduceat(begins, np.cumsum(sizes) - sizes, dtype=np.int64)
    return map(int, counts)
