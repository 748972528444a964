"""JSON Schema.  In: a schema, given or derived from a value.  Out: a check of values against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple, NoReturn

from rag_eval.errors import InputError
from rag_eval.plumbing.extras import package
from rag_eval.scorers.schema_work import MOST_DEPTH, SchemaWork, node_count_and_depth
from rag_eval.scorers.texts import cut

MOST_ERRORS: Final = 10

# A step takes some 30 nanoseconds, and 60 microseconds where errors are collected.
_MOST_STEPS: Final = 100_000_000
_MOST_STEPS_FOR_ERRORS: Final = 20_000
_MOST_DERIVED_DEPTH: Final = 100
# Booleans are integers too, so they come first.
_TYPE_NAMES: Final = (
    (bool, "boolean"),
    ((int, float), "number"),
    (str, "string"),
    (Mapping, "object"),
    ((list, tuple), "array"),
)
_REGEX_BYTES: Final = 1 << 18


class SchemaError(NamedTuple):
    """A violation of a schema: its place, and a message of at most 80 characters."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class SchemaCheck:
    """A schema that values can be checked against; made by `validator`."""

    _validator: Any = field(repr=False)
    _work: SchemaWork = field(repr=False)

    def __call__(self, value: Any) -> list[SchemaError]:
        """Where a JSON value departs from the schema; at most ten places, none where it is valid.

        A value that would take too long is not valid, and the message says that it is too large.
        Of a large value one error is told, of one with alternatives only that there is one.
        """
        n_nodes, depth = node_count_and_depth(value)
        if depth > MOST_DEPTH:
            return [SchemaError("$", f"nested more than {MOST_DEPTH} deep")]
        n_steps = n_nodes * self._work.per_node(depth)
        if n_steps > _MOST_STEPS:
            return [SchemaError("$", "too large to be checked against this schema")]
        try:
            if self._validator.is_valid(value):
                return []
            if n_steps > _MOST_STEPS_FOR_ERRORS:
                return [self._first_error(value)]
            found = islice(self._validator.iter_errors(value), MOST_ERRORS)
            return [_schema_error(error) for error in found]
        except UnicodeEncodeError:
            return [SchemaError("$", "a string holds a lone surrogate")]
        except ValueError as error:
            return [SchemaError("$", cut(f"cannot be checked: {error}"))]

    def _first_error(self, value: Any) -> SchemaError:
        if self._work.has_alternatives:
            # The error of an alternative collects those of all that it tried.
            return SchemaError("$", "does not fit the schema")
        try:
            self._validator.validate(value)
        except _package().ValidationError as error:
            return _schema_error(error)
        raise AssertionError("a value was invalid and then valid")


def validator(schema: Any) -> SchemaCheck:
    """A check of values against a JSON Schema, in time that is bounded.

    Drafts 4 to 2020-12, as ``$schema`` says, 2020-12 without it. A ``$ref`` must stay inside the
    schema (``#``, ``#/$defs/a`` or ``#anchor``): nothing is ever fetched or read. Patterns are
    matched in linear time and know no look-around and no back-references. ``format`` is not
    checked.

    Raises
    ------
    InputError
        The schema is invalid, leaves itself by a ``$ref``, or is too large; names the place.
    MissingExtraError
        jsonschema-rs is not installed.
    """
    if not isinstance(schema, (Mapping, bool)):
        raise InputError(f"schema must be an object or a boolean, got {type(schema).__name__}")
    package = _package()
    work = SchemaWork(schema)
    try:
        made = package.validator_for(
            schema,
            validate_formats=False,
            retriever=_never_fetched,
            mask="value",
            pattern_options=package.RegexOptions(size_limit=_REGEX_BYTES),
        )
    except package.ValidationError as error:
        path = json_path(error.instance_path)
        raise InputError(f"schema is invalid at {path}: {cut(error.message)}") from None
    except (ValueError, package.ReferencingError) as error:
        raise InputError(f"schema is invalid: {cut(str(error))}") from None
    return SchemaCheck(made, work)


def derived_schema(value: Any) -> dict[str, Any]:
    """The schema of values like this one: same types, at least the same keys, like items.

    Whole numbers and fractions are both numbers. Each item of an array has to be like one of the
    items that are there; of objects in an array, the keys are required that all of them have. An
    empty array allows all items.

    Raises
    ------
    InputError
        Something is not JSON value, or the value is nested more than 100 deep.
    """
    if node_count_and_depth(value)[1] > _MOST_DERIVED_DEPTH:
        raise InputError(
            f"a schema can be derived of values nested at most {_MOST_DERIVED_DEPTH} deep"
        )
    return _schema_of([value])


def json_path(path: Sequence[str | int]) -> str:
    """``$.key[0]`` for the keys and positions on the way to a value."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _schema_of(values: Sequence[Any]) -> dict[str, Any]:
    """The schema that all of these values fit."""
    by_type: dict[str, list[Any]] = {}
    for value in values:
        by_type.setdefault(_type_name(value), []).append(value)
    kinds = [_schema_of_type(name, found) for name, found in by_type.items()]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def _schema_of_type(name: str, values: Sequence[Any]) -> dict[str, Any]:
    if name == "object":
        by_key: dict[str, list[Any]] = {}
        for value in values:
            for key, member in value.items():
                by_key.setdefault(key, []).append(member)
        required = [key for key, found in by_key.items() if len(found) == len(values)]
        properties = {key: _schema_of(found) for key, found in by_key.items()}
        return {"type": name, "properties": properties, "required": required}
    if name == "array":
        items = [item for value in values for item in value]
        return {"type": name, **({"items": _schema_of(items)} if items else {})}
    return {"type": name}


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    for types, name in _TYPE_NAMES:
        if isinstance(value, types):
            return name
    raise InputError(f"a schema can be derived of JSON values only, got {type(value).__name__}")


def _schema_error(error: Any) -> SchemaError:
    return SchemaError(cut(json_path(error.instance_path)), cut(error.message))


def _never_fetched(address: str) -> NoReturn:
    raise ValueError(f"{address} is not in the schema; references outside it are not fetched")


def _package() -> Any:
    return package("jsonschema_rs", "JSON Schema", "schema", "jsonschema-rs")
