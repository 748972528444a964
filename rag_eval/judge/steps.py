"""Steps: a template, the shape of its reply, and what the template was when a verdict was made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from string import Template as Placeholders
from types import MappingProxyType
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from rag_eval.errors import InputError, suggestion
from rag_eval.judge.reading import strings_in
from rag_eval.judge.replies import JudgeReply

Reply = TypeVar("Reply", bound=msgspec.Struct)

FieldValue: TypeAlias = str | Sequence[str] | int | float
"""A text or a list of texts, which are fenced, or a number of our own, which is not."""

Fields: TypeAlias = Mapping[str, FieldValue]

_PARTING: Final = "\n---\n"
# Shorter texts of an example, such as a label, can be right for other material as well.
_FEWEST_SPACES: Final = 3


@dataclass(frozen=True)  # without slots, which cached properties need
class Template:
    """A prompt's body with ``$name`` where a text goes, and the form of the reply it asks for.

    Attributes
    ----------
    name : str
        Its file in ``prompts``, without the suffix.
    body : str
    reply_form : str
        The JSON that is wanted, in example.
    """

    name: str
    body: str
    reply_form: str

    @cached_property
    def pieces(self) -> tuple[tuple[str, str], ...]:
        """The body cut at its variables: what stands before each of them, and its name.

        The last piece has no name. Filling in is one pass over these, so that a text which itself
        holds a ``$name`` stays as it is.
        """
        found, literal, place = [], "", 0
        for match in Placeholders.pattern.finditer(self.body):
            literal += self.body[place : match.start()]
            place = match.end()
            name = match["named"] or match["braced"]
            if name:
                found.append((literal, name))
                literal = ""
            elif match["escaped"]:
                literal += "$"
            else:
                raise InputError(f"prompt {self.name}: a $ that begins no variable must be $$")
        return (*found, (literal + self.body[place:], ""))

    def filled(self, texts: Mapping[str, str]) -> str:
        """The body with a text for each of its variables."""
        return "".join(
            [part for text, name in self.pieces for part in (text, texts[name] if name else "")]
        )

    def filled_apart(self, texts: Mapping[str, str], last: str) -> tuple[str, str]:
        """The body in two parts: what it begins with up to the text ``last``, and the rest.

        The first part is empty if instructions of the body come before that text.
        """
        n_shared = 0
        for place, (text, name) in enumerate(self.pieces):
            if text.strip() or not name:
                break
            if name == last:
                n_shared = place + 1
        parts = [text + (texts[name] if name else "") for text, name in self.pieces]
        return "".join(parts[:n_shared]), "".join(parts[n_shared:])

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names of the texts it takes."""
        return frozenset(name for _, name in self.pieces if name)

    @cached_property
    def digest(self) -> str:
        """First 12 hex digits of SHA-256 of body and reply form: what a verdict was made with."""
        text = f"{self.body}{_PARTING}{self.reply_form}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @cached_property
    def example_texts(self) -> frozenset[str]:
        """The sentences in its examples of replies; each example is one line."""
        found: list[str] = []
        for line in self.reply_form.splitlines():
            # Other lines are words about it, or the form of a reply such as {"rating": 1 | 2}.
            with suppress(msgspec.DecodeError):
                found += strings_in(msgspec.json.decode(line))
        return frozenset(text for text in found if text.count(" ") >= _FEWEST_SPACES)

    def with_body(self, body: object, owner: str) -> Template:
        """This template with a body of the caller's, which takes the same texts.

        Raises
        ------
        InputError
            Naming the variables that it lacks or that nothing fills.
        """
        if not isinstance(body, str):
            raise InputError(f"{owner} must be a string, got {type(body).__name__}")
        changed = Placeholders(body)
        if not changed.is_valid():
            raise InputError(f"{owner}: a $ that begins no variable must be written $$")
        found = set(changed.get_identifiers())
        for name in sorted(found - self.variables):
            hint = suggestion(name, self.variables)
            raise InputError(f"{owner} has no variable ${name}{hint}")
        missing = sorted(self.variables - found)
        if missing:
            raise InputError(f"{owner} lacks the variable ${missing[0]}")
        return replace(self, body=body)


def load_template(name: str) -> Template:
    """The template of that name from the package's ``prompts``."""
    path = resources.files("rag_eval.judge") / "prompts" / f"{name}.md"
    body, parting, reply_form = path.read_text("utf-8").partition(_PARTING)
    if not parting:
        raise InputError(f"prompts/{name}.md has no line --- before the form of the reply")
    return Template(name, body.strip(), reply_form.strip())


@dataclass(frozen=True)
class Step(Generic[Reply]):
    """One question to a judge.

    Attributes
    ----------
    name : str
        Of the template, and for overrides: ``extract_claims``, ``mastra/bias_extract``.
    shape : type of msgspec.Struct
        What the reply is decoded into; unknown keys are dropped.
    imagine : callable
        From the fields to a typical reply: a dry run counts calls and tokens with it.
    graded : bool
        It asks for a verdict, so the paragraph on length belongs into it.
    lengths : callable
        From the fields to how many items the lists of its reply have, at least and at most.
    weighed : callable, optional
        From a value and the reply it was read from to the value with what only the reply knows.
    """

    name: str
    shape: type[Reply]
    imagine: Callable[[Fields], Reply] = field(compare=False)
    graded: bool = True
    lengths: Callable[[Fields], Mapping[str, tuple[int, int]]] = field(
        default=lambda fields: MappingProxyType({}), compare=False
    )
    weighed: Callable[[Reply, JudgeReply], Reply] | None = field(default=None, compare=False)

    @cached_property
    def template(self) -> Template:
        """Its template as the package ships it, read on first use."""
        return load_template(self.name)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the reply, with the mark before its own keys."""
        return reply_schema(self.shape)


def reply_schema(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON schema of a reply of this shape, the mark first; every key is required.

    As servers with structured outputs want it: no further keys, every value with its type,
    references resolved by ``$defs``, and none of the bounds, which the reading checks.
    """
    (schema,), definitions = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    name = schema["$ref"].rpartition("/")[2]
    whole = _enforceable(definitions.pop(name))
    ours = getattr(shape, "OURS", ())
    asked = {key: found for key, found in whole["properties"].items() if key not in ours}
    whole["properties"] = {"mark": {"type": "string"}, **asked}
    whole["required"] = list(whole["properties"])
    if definitions:
        whole["$defs"] = {key: _enforceable(value) for key, value in definitions.items()}
    return whole


# What servers with structured outputs enforce; they refuse schemas with defaults or bounds.
_ENFORCED: Final = frozenset({"type", "enum", "const", "anyOf", "items", "$ref"})
_TYPES: Final = {str: "string", bool: "boolean", int: "integer", type(None): "null"}


def _enforceable(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without what servers refuse, closed to further keys."""
    kept = {name: value for name, value in schema.items() if name in _ENFORCED}
    if "enum" in kept and "type" not in kept:
        types = sorted({_TYPES[type(value)] for value in kept["enum"]})
        kept["type"] = types[0] if len(types) == 1 else types
    if isinstance(kept.get("items"), dict):
        kept["items"] = _enforceable(kept["items"])
    if "anyOf" in kept:
        kept["anyOf"] = [_enforceable(choice) for choice in kept["anyOf"]]
    if "properties" in schema:
        properties = schema["properties"]
        kept["properties"] = {name: _enforceable(value) for name, value in properties.items()}
        kept["required"] = list(properties)
        kept["additionalProperties"] = False
    return kept
