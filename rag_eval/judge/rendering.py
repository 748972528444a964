"""Prompts: a template and the texts of a sample, each text between marks that it cannot know.

A prompt begins with what other prompts begin with too, so that servers can reuse their work on it:
the system message, which is the same for all, then the chunks, which are the same for a row. The
task and the form of its reply come last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from rag_eval.judge.fencing import fence, fresh_mark, is_free, neutral, one_line
from rag_eval.judge.replies import JudgePrompt
from rag_eval.judge.steps import Fields, FieldValue, Step, Template, load_template

_MOST_COMPLAINT: Final = 500
SHARED_FIELD: Final = "chunk"
"""The long field that several steps of a row begin with."""

_Texts: TypeAlias = "str | list[str]"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it is sent, and the mark that its reply has to repeat."""

    text: JudgePrompt
    mark: str


class RowMark:
    """The mark of a row's prompts; because they share it, they begin alike."""

    def __init__(self, mark: str = "") -> None:
        self._mark = mark

    def unknown_to(self, texts: Iterable[str]) -> str:
        """The mark; a new one if it is in a text, to which a reply may have brought it."""
        known = list(texts)
        if not self._mark or not is_free(self._mark, known):
            self._mark = fresh_mark(known)
        return self._mark


@dataclass(frozen=True, slots=True)
class PromptStyle:
    """What can be changed about prompts.

    Attributes
    ----------
    overrides : mapping of Template
        By the name of the step; made with :meth:`Template.with_body`.
    length_neutral : bool
        Graded steps say that length is no merit.
    shares_chunks : bool
        Several prompts of a row begin with its chunks, so that a server may keep them.
    """

    overrides: Mapping[str, Template] = field(default_factory=dict)
    length_neutral: bool = True
    shares_chunks: bool = True

    def template(self, step: Step[Any]) -> Template:
        """The template that this step is asked with."""
        return self.overrides.get(step.name) or step.template

    def is_overridden(self, step: Step[Any]) -> bool:
        """Whether the body is a custom one, which may begin with anything."""
        return step.name in self.overrides

    def digest(self, step: Step[Any]) -> str:
        """What the wording of this step is, in a dozen letters per part."""
        parts = [self.template(step).digest, _shared("material").digest, _shared("frame").digest]
        if step.graded and self.length_neutral:
            parts.append(_shared("length_neutrality").digest)
        return "-".join(parts)


def render(
    step: Step[Any],
    fields: Fields,
    style: PromptStyle,
    complaint: str = "",
    row_mark: RowMark | None = None,
) -> Prompt:
    """The prompt of a step, under the mark of its row or one made for it alone.

    ``complaint`` says what was wrong with the last reply, when the step is asked again.
    """
    template = style.template(step)
    texts = {name: _neutral(fields[name]) for name in template.variables}
    each = [text for value in texts.values() for text in _each(value)]
    mark = fresh_mark(each) if row_mark is None else row_mark.unknown_to(each)
    shared, task = template.filled_apart(
        {name: _fenced(name, value, mark) for name, value in texts.items()}, SHARED_FIELD
    )
    if not style.shares_chunks:
        shared, task = "", shared + task
    neutral_on_length = step.graded and style.length_neutral
    again = one_line(complaint, _MOST_COMPLAINT)
    frame = _shared("frame").filled(
        {
            "length_neutrality": _paragraph("length_neutrality") if neutral_on_length else "",
            "mark": mark,
            "reply_form": template.reply_form,
            "again": f"\n\nYour last reply could not be used: {again}" if again else "",
        }
    )
    system = _shared("material").body
    lengths = step.lengths(fields)
    prompt = JudgePrompt.of(system, shared, f"{task}\n\n{frame}", mark=mark, lengths=lengths)
    return Prompt(prompt, mark)


def fenced_prompt(template: Template, fields: Mapping[str, str]) -> str:
    """A template with fenced texts and what fences mean, for replies that bear no mark."""
    texts = {name: neutral(fields[name]) for name in template.variables}
    mark = fresh_mark(texts.values())
    body = template.filled({name: _fenced(name, text, mark) for name, text in texts.items()})
    rules = f"{_shared('material').body} {_shared('mark').filled({'mark': mark})}"
    return f"{rules}\n\n{body}\n\n{template.reply_form}"


def _paragraph(name: str) -> str:
    return _shared(name).body + "\n\n"


_SHARED: dict[str, Template] = {}


def _shared(name: str) -> Template:
    if name not in _SHARED:
        _SHARED[name] = load_template(f"shared/{name}")
    return _SHARED[name]


def _neutral(value: FieldValue) -> _Texts | int | float:
    if isinstance(value, (int, float)):
        return value
    return neutral(value) if isinstance(value, str) else [neutral(text) for text in value]


def _each(value: _Texts | int | float) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from value


def _fenced(name: str, value: _Texts | int | float, mark: str) -> str:
    if isinstance(value, (int, float)):
        return str(value)
    label = name.replace("_", " ")
    if isinstance(value, str):
        return fence([(label, value)], mark)
    if not value:
        return f"[[no {label} {mark}]]"
    return fence([(f"{label} {n}", text) for n, text in enumerate(value)], mark)
