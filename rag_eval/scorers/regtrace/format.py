"""Format, as Regtrace documents it.  In: an answer, the expected output, options.  Out: a score.

The score is the number of sub-checks that passed by that of the sub-checks that apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError, glance, suggestion
from rag_eval.plumbing.checked_values import share
from rag_eval.plumbing.strict_json import JsonFault, parse_json
from rag_eval.scorers.json_schemas import SchemaCheck, derived_schema, validator
from rag_eval.scorers.regtrace import format_checks
from rag_eval.scorers.regtrace.details import AssertionDetail
from rag_eval.scorers.regtrace.format_checks import folded, unfenced, words_of
from rag_eval.scorers.regtrace.format_formulas import SUB_CHECKS
from rag_eval.scorers.safe_patterns import Pattern, compiled

LONGEST_PATTERN: Final = 500
MOST_TERMS: Final = 1000

# Of words that were taken from an expected output, a paraphrase has most and not all.
_SHARE_OF_WORDS: Final = 0.7
_MOST_WORDS: Final = 2000

_NO_EXPECTED: Final = "no expected output"
_NO_JSON: Final = "the expected output is not a JSON object or array, and no schema is given"

_Found = list[AssertionDetail] | str
"""The detail of a sub-check and of its parts, or why it does not apply."""


class FormatResult(NamedTuple):
    """Which sub-checks passed.

    Attributes
    ----------
    score : float or None
        Passed sub-checks divided by applied ones, from 0 to 1; None if none applies.
    details : tuple of AssertionDetail
        One per applied sub-check, such as ``format.length``; violations of a schema follow as
        ``format.json_schema.$.key``.
    not_applied : tuple of str
        Requested sub-checks that do not apply, each with the reason.
    """

    score: float | None
    details: tuple[AssertionDetail, ...]
    not_applied: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """The sub-checks and what they compare with.

    Attributes
    ----------
    sub_checks : list of str, or mapping of str to bool, optional
        A list names all enabled sub-checks; a mapping turns single ones on or off. Named sub-checks
        apply to every answer; the others apply as described at `format_score`.
    length_tolerance : float, default 0.2
        Accepted deviation of the length, as a share of the expected length.
    schema : mapping or bool, optional
        JSON Schema; by default it is derived from the expected output.
    required_fields : list of str, optional
        Terms that must all occur; by default those of the expected output.
    forbidden_content : list of str, optional
        Terms that must not occur; by default a list of English refusals and hedges.
    pattern, pattern_flags : str
        A regular expression of JavaScript of at most 500 characters, and its flags.
    """

    sub_checks: Sequence[str] | Mapping[str, bool] | None = None
    length_tolerance: float = 0.2
    schema: Mapping[str, Any] | bool | None = None
    required_fields: Sequence[str] | None = None
    forbidden_content: Sequence[str] | None = None
    pattern: str | None = None
    pattern_flags: str = ""


def format_score(answer: str, expected: str | None = None, **options: Any) -> FormatResult:
    """Share of the format's sub-checks that an answer passes.

    By default a sub-check is enabled if it applies: ``length`` with an expected output;
    ``json_validity`` and ``json_schema`` if that is a JSON object or array, or a schema is given;
    ``markdown_structure`` and ``required_fields`` of words if it is not; ``forbidden_content``
    always; ``regex_match`` with a pattern. Fences around a JSON answer do not count.

    Parameters
    ----------
    answer : str
    expected : str, optional
        The expected output.
    **options
        Those of `FormatOptions`.

    Raises
    ------
    InputError
        For an unknown or invalid option.
    MissingExtraError
        If a sub-check needs a package that is not installed.

    Notes
    -----
    Regtrace's metrics reference, "Format". How it finds the terms of an expected output is not
    documented. Here they are the keys of a JSON object, all required, or words of at
    least four letters; 70 % of the words are required. `format_mean` has the tool's own formulas.
    """
    unknown = [name for name in options if name not in FormatOptions.__dataclass_fields__]
    if unknown:
        known = FormatOptions.__dataclass_fields__
        raise InputError(f"unknown option {unknown[0]!r}{suggestion(unknown[0], known)}")
    return FormatCheck(FormatOptions(**options))(answer, expected)


@dataclass(frozen=True, slots=True)
class _Expected:
    """The expected output, read once."""

    text: str | None
    value: Any = None
    is_json: bool = False


@dataclass(slots=True)
class FormatCheck:
    """The sub-checks with their options, ready to run.

    Raises
    ------
    InputError
        An option has a wrong value, or ``regex_match`` is asked for without a pattern.
    """

    options: FormatOptions
    _switches: dict[str, bool] = field(init=False)
    _schema: SchemaCheck | None = field(init=False)
    _pattern: Pattern | None = field(init=False)
    _required: tuple[str, ...] | None = field(init=False)
    _forbidden: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        options = self.options
        share(options.length_tolerance, "length_tolerance")
        self._switches = _switches(options.sub_checks)
        self._schema = None if options.schema is None else validator(options.schema)
        self._pattern = None
        if options.pattern is not None:
            self._pattern = compiled(
                options.pattern, options.pattern_flags, longest=LONGEST_PATTERN
            )
        elif not isinstance(options.pattern_flags, str):
            kind = type(options.pattern_flags).__name__
            raise InputError(f"pattern_flags must be a text, got {kind}")
        elif self._switches.get("regex_match"):
            raise InputError("sub_checks has regex_match, which needs a pattern")
        required, forbidden = options.required_fields, options.forbidden_content
        self._required = None if required is None else _terms(required, "required_fields")
        self._forbidden = format_checks.FORBIDDEN
        if forbidden is not None:
            self._forbidden = _terms(forbidden, "forbidden_content")

    def __call__(self, answer: str, expected: str | None) -> FormatResult:
        """The sub-checks that apply to one answer, and how many of them it passes."""
        wanted = _expected(expected)
        applied: list[AssertionDetail] = []
        parts: list[AssertionDetail] = []
        skipped: list[str] = []
        for name in SUB_CHECKS:
            switch = self._switches.get(name)
            if switch is False:
                continue
            found = _RUNS[name](self, answer, wanted, bool(switch))
            if isinstance(found, str):
                if switch:
                    skipped.append(f"{name}: {found}")
            else:
                applied.append(found[0])
                parts += found
        n_passed = sum(one.passed for one in applied)
        score = n_passed / len(applied) if applied else None
        return FormatResult(score, tuple(parts), tuple(skipped))

    def _length(self, answer: str, wanted: _Expected, named: bool) -> _Found:
        del named
        if wanted.text is None:
            return _NO_EXPECTED
        tolerance = self.options.length_tolerance
        return [format_checks.length_check(answer, wanted.text, tolerance)]

    def _json_validity(self, answer: str, wanted: _Expected, named: bool) -> _Found:
        if not (named or wanted.is_json or self._schema):
            return _NO_JSON
        return [format_checks.json_validity_check(answer)]

    def _json_schema(self, answer: str, wanted: _Expected, named: bool) -> _Found:
        del named
        schema = self._schema
        if schema is None:
            if not wanted.is_json:
                return _NO_JSON
            schema = _derived_check(unfenced(wanted.text or ""))
        return format_checks.json_schema_check(answer, schema)

    def _markdown(self, answer: str, wanted: _Expected, named: bool) -> _Found:
        if not named and (wanted.is_json or self._schema):
            return "JSON is wanted"
        return [format_checks.markdown_check(answer, None if wanted.is_json else wanted.text)]

    def _required_fields(self, answer: str, wanted: _Expected, named: bool) -> _Found:
        del named
        if self._required is not None:
            terms, least = self._required, 1.0
        elif wanted.text is None:
            return _NO_EXPECTED
        else:
            terms, least = _terms_of(wanted)
        if not terms:
            return "the expected output has no terms"
        return [format_checks.required_check(folded(answer), terms, least)]

    def _forbidden_content(self, answer: str, wanted: _Expected, named: bool) -> _Found:
        del wanted, named
        return [format_checks.forbidden_check(folded(answer), self._forbidden)]

    def _regex_match(self, answer: str, wanted: _Expected, named: bool) -> _Found:
        del wanted, named
        if self._pattern is None:
            return "there is no pattern"
        return [format_checks.regex_check(answer, self._pattern)]


_RUNS: Final[Mapping[str, Callable[[FormatCheck, str, _Expected, bool], _Found]]] = {
    "length": FormatCheck._length,
    "json_validity": FormatCheck._json_validity,
    "json_schema": FormatCheck._json_schema,
    "markdown_structure": FormatCheck._markdown,
    "required_fields": FormatCheck._required_fields,
    "forbidden_content": FormatCheck._forbidden_content,
    "regex_match": FormatCheck._regex_match,
}


def _expected(text: str | None) -> _Expected:
    bare = "" if text is None else unfenced(text)
    if not bare.startswith(("{", "[")):
        return _Expected(text)
    try:
        return _Expected(text, parse_json(bare), True)
    except JsonFault:
        return _Expected(text)


def _terms_of(wanted: _Expected) -> tuple[tuple[str, ...], float]:
    """The terms of an expected output, and the share of them that is wanted."""
    if not wanted.is_json:
        return tuple(words_of(folded(wanted.text or ""))[:_MOST_WORDS]), _SHARE_OF_WORDS
    values = wanted.value if isinstance(wanted.value, list) else [wanted.value]
    keys = {folded(key) for value in values if isinstance(value, dict) for key in value}
    return tuple(sorted(keys - {""}))[:_MOST_WORDS], 1.0


# Samples of one kind often share an expected output; a schema takes 300 microseconds to make.
@lru_cache(maxsize=64)
def _derived_check(text: str) -> SchemaCheck:
    return validator(derived_schema(parse_json(text)))


def _switches(given: object) -> dict[str, bool]:
    """Sub-checks that are on or off by name; those that are not here are on where they apply."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        named = dict(given)
    elif isinstance(given, (list, tuple)):
        named = {name: True for name in given if isinstance(name, str)}
        if len(named) < len(given):
            raise InputError(f"sub_checks must name each check once, got {glance(list(given))}")
        named = dict.fromkeys(SUB_CHECKS, False) | named
    else:
        raise InputError(f"sub_checks must be a list or a mapping, got {type(given).__name__}")
    for name, switch in named.items():
        if name not in SUB_CHECKS:
            near = suggestion(name, SUB_CHECKS)
            raise InputError(f"sub_checks has no {glance(name, 40)}{near}; they are {SUB_CHECKS}")
        if not isinstance(switch, bool):
            raise InputError(f"sub_checks.{name} must be true or false, got {glance(switch, 40)}")
    return named


def _terms(given: object, name: str) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(term, str) for term in given):
        raise InputError(f"{name} must be a list of strings, got {glance(given)}")
    if len(given) > MOST_TERMS:
        raise InputError(f"{name} must have at most {MOST_TERMS} terms, got {len(given)}")
    terms = tuple(folded(term) for term in given)
    if not all(terms):
        raise InputError(f"{name} must have no empty term")
    return terms
