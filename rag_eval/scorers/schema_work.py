"""The cost of checks against a schema.  In: a JSON Schema.  Out: a bound on work per value.

Validators try every alternative, so a schema of a few lines can ask for more steps than there are
atoms: alternatives within alternatives, or two references to itself. Their number on the way to
one value is counted here before anything is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from rag_eval.errors import InputError, glance

MOST_DEPTH: Final = 500
MOST_SCHEMA_NODES: Final = 100_000
MOST_SCHEMA_DEPTH: Final = 200
MOST_PATTERNS: Final = 500

# For these the validator is built of all that references lead to, again and again: 20 that lead
# twice to the next each ask for a million, and for gigabytes.
_MOST_EXPANDED: Final = 2_000
_MOST_NODES: Final = 20_000_000
_MOST_STATES: Final = 500_000
_ENOUGH: Final = 10**12
_CHARACTERS_PER_NODE: Final = 1000

_LEAVES: Final = (int, float, bool, type(None))
_LISTS_HERE: Final = ("allOf", "anyOf", "oneOf")
_HERE: Final = ("not", "if", "then", "else")
_MAPS_HERE: Final = ("dependentSchemas", "dependencies")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_FOR_MEMBERS: Final = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_FOR_ITEMS: Final = ("additionalItems", "unevaluatedItems", "contains")
_UNEVALUATED: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_LISTED_ITEMS: Final = ("prefixItems", "items")


@dataclass(slots=True)
class _Node:
    """A subschema: what it asks of the value itself, of its members, and of its items."""

    own: int
    here: list[_Node] = field(default_factory=list)
    # One member has one name, and so at most one of the named ones.
    named_members: list[_Node] = field(default_factory=list)
    members: list[_Node] = field(default_factory=list)
    placed_items: list[_Node] = field(default_factory=list)
    items: list[_Node] = field(default_factory=list)


class SchemaWork:
    """How many subschemas a validator visits, at most, for one node of a value.

    Attributes
    ----------
    has_alternatives : bool
        There is an ``anyOf`` or a ``oneOf``.

    Raises
    ------
    InputError
        The schema is too large or too deep, a ``$ref`` leads out of it, to nothing, or to itself
        without a step down into the value.
    """

    __slots__ = ("_known", "_order", "has_alternatives")

    def __init__(self, schema: Any) -> None:
        n_nodes, depth = node_count_and_depth(schema, MOST_SCHEMA_NODES)
        if n_nodes > MOST_SCHEMA_NODES:
            raise InputError(
                f"schema must have at most {MOST_SCHEMA_NODES:,} values, but it has more"
            )
        if depth > MOST_SCHEMA_DEPTH:
            raise InputError(
                f"schema must be nested at most {MOST_SCHEMA_DEPTH} deep, but it is deeper"
            )
        reader = _Reader(schema)
        self._order = _bottom_up(reader.nodes())
        if reader.has_unevaluated and _expanded(self._order) > _MOST_EXPANDED:
            raise InputError(
                "schema must have at most "
                f"{_MOST_EXPANDED:,} subschemas of one value, references followed, where it has "
                "unevaluatedProperties or unevaluatedItems, but it has more"
            )
        self.has_alternatives = reader.has_alternatives
        self._known: list[int] = []

    def per_node(self, depth: int) -> int:
        """The bound for a value that is nested this deep."""
        if depth < len(self._known):
            return self._known[depth]
        if len(self._order) * depth > _MOST_STATES:
            return _ENOUGH
        self._known = _counts(self._order, depth)
        return self._known[depth]


def node_count_and_depth(value: Any, most: int = _MOST_NODES) -> tuple[int, int]:
    """How many values there are in a JSON value, long strings counting more; and its depth.

    Stops at a depth of 500, or when there are more values than ``most``, which it then exceeds: a
    list that holds itself twice has no end at all.
    """
    count, depth = 0, 0
    level = [value]
    while level and depth <= MOST_DEPTH and count <= most:
        count += len(level)
        below: list[Any] = []
        for one in level:
            if type(one) in _LEAVES:
                # Asking whether it is a mapping takes five times as long as all the rest.
                continue
            if isinstance(one, str):
                count += len(one) // _CHARACTERS_PER_NODE
            elif isinstance(one, Mapping):
                below.extend(one.values())
            elif isinstance(one, (list, tuple)):
                below.extend(one)
        level = below
        depth += bool(below)
    return count, depth


class _Reader:
    """Subschemas of a schema, each read once, by the identity of its mapping."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._nodes: dict[int, _Node] = {}
        self._waiting: list[tuple[Any, _Node]] = []
        self._n_patterns = 0
        self.has_alternatives = False
        self.has_unevaluated = False
        self._anchors = dict(_anchors(schema))

    def nodes(self) -> list[_Node]:
        self._node(self._root)
        while self._waiting:
            self._read(*self._waiting.pop())
        return list(self._nodes.values())

    def _node(self, schema: Any) -> _Node:
        known = self._nodes.get(id(schema))
        if known is None:
            known = self._nodes[id(schema)] = _Node(_own_work(schema))
            if isinstance(schema, Mapping):
                self._waiting.append((schema, known))
        return known

    def _read(self, schema: Mapping[str, Any], node: _Node) -> None:
        name = schema.get("$id")
        if schema is not self._root and isinstance(name, str) and not name.startswith("#"):
            # It would change what the references below it mean.
            raise InputError(
                "schema must have its only $id at the root, but it has another one inside"
            )
        self._count_patterns(schema)
        self.has_alternatives |= "anyOf" in schema or "oneOf" in schema
        self.has_unevaluated |= not _UNEVALUATED.isdisjoint(schema)
        node.here = [self._node(one) for one in self._of_the_value(schema)]
        node.named_members = [self._node(one) for one in _values(schema.get("properties"))]
        node.members = [self._node(one) for one in _values(schema.get("patternProperties"))]
        node.members += [self._node(schema[key]) for key in _FOR_MEMBERS if key in schema]
        node.items = [self._node(schema[key]) for key in _FOR_ITEMS if key in schema]
        for key in _LISTED_ITEMS:
            if isinstance(schema.get(key), (list, tuple)):
                node.placed_items += [self._node(one) for one in schema[key]]
            elif key in schema:
                node.items.append(self._node(schema[key]))

    def _of_the_value(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for key in _LISTS_HERE:
            yield from schema[key] if isinstance(schema.get(key), (list, tuple)) else ()
        for key in _HERE:
            if key in schema:
                yield schema[key]
        for key in _MAPS_HERE:
            yield from _values(schema.get(key))
        for key in _REFERENCES:
            if isinstance(schema.get(key), str):
                yield self._target(schema[key])

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise InputError(
                f"schema must refer to places inside itself only, '#/...', got {glance(reference)}"
            )
        if reference in ("#", "#/"):
            return self._root
        if not reference.startswith("#/"):
            if reference not in self._anchors:
                raise InputError(f"schema refers to {glance(reference)}, which it does not have")
            return self._anchors[reference]
        found = self._root
        for step in unquote(reference[2:]).split("/"):
            found = _below(found, step.replace("~1", "/").replace("~0", "~"), reference)
        return found

    def _count_patterns(self, schema: Mapping[str, Any]) -> None:
        by_pattern = schema.get("patternProperties")
        self._n_patterns += ("pattern" in schema) + len(_values(by_pattern))
        if self._n_patterns > MOST_PATTERNS:
            raise InputError(f"schema must have at most {MOST_PATTERNS} patterns, but it has more")


def _anchors(schema: Any) -> Iterator[tuple[str, Any]]:
    """All subvalues that have a name of their own, by their references."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(one.get(key), str):
                    yield f"#{one[key]}", one
            for key in ("$id", "id"):
                if isinstance(one.get(key), str) and one[key].startswith("#"):
                    yield one[key], one
            waiting.extend(one.values())
        elif isinstance(one, (list, tuple)):
            waiting.extend(one)


def _below(value: Any, step: str, reference: str) -> Any:
    if isinstance(value, Mapping) and step in value:
        return value[step]
    if isinstance(value, (list, tuple)) and step.isdecimal() and int(step[:9]) < len(value):
        return value[int(step[:9])]
    raise InputError(f"schema refers to {glance(reference)}, which it does not have")


def _values(of: Any) -> list[Any]:
    return list(of.values()) if isinstance(of, Mapping) else []


def _own_work(schema: Any) -> int:
    """One, and one more for each value that the value is compared with."""
    if not isinstance(schema, Mapping):
        return 1
    compared = [schema[key] for key in ("enum", "const", "required", "type") if key in schema]
    return 1 + sum(node_count_and_depth(one)[0] for one in compared)


def _bottom_up(nodes: list[_Node]) -> list[_Node]:
    """The nodes, each after those that it asks of the same value."""
    order: list[_Node] = []
    entered: set[int] = set()
    left: set[int] = set()
    for start in nodes:
        waiting = [(start, False)]
        while waiting:
            node, is_done = waiting.pop()
            if is_done:
                left.add(id(node))
                order.append(node)
            elif id(node) not in left:
                if id(node) in entered:
                    raise InputError("schema refers to itself without descending into the value")
                entered.add(id(node))
                waiting.append((node, True))
                waiting.extend((one, False) for one in node.here if id(one) not in left)
    return order


def _expanded(order: list[_Node]) -> int:
    """How many subschemas the largest has of its own value, each as often as it is reached."""
    counts: dict[int, int] = {}
    for node in order:
        counts[id(node)] = 1 + sum(counts[id(one)] for one in node.here)
    return max(counts.values())


def _counts(order: list[_Node], depth: int) -> list[int]:
    """The largest count of all subschemas, for values of each depth from 0 on."""
    most: list[int] = []
    above: dict[int, int] = {}
    for _ in range(depth + 1):
        counts: dict[int, int] = {}
        for node in order:
            found = node.own + sum(counts[id(one)] for one in node.here)
            if above:
                found += max(
                    max((above[id(one)] for one in node.named_members), default=0)
                    + sum(above[id(one)] for one in node.members),
                    max((above[id(one)] for one in node.placed_items), default=0)
                    + sum(above[id(one)] for one in node.items),
                )
            counts[id(node)] = min(found, _ENOUGH)
        above = counts
        most.append(max(counts.values()))
    return most
