"""What a schema finds among columns in; with the fields that only common names tell, out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError
from rag_eval.inputs.samples import TEXT_FIELDS
from rag_eval.inputs.schemas.chats import chat_paths
from rag_eval.inputs.schemas.contexts import TEXT_PATHS, context_texts
from rag_eval.inputs.schemas.maps import FirstRows, listed, shown_name
from rag_eval.inputs.schemas.paths import EACH, steps_of, value_at
from rag_eval.inputs.schemas.synonyms import LIKELY, SURE, Meaning, may_hold_contexts, meaning_of
from rag_eval.inputs.schemas.tools import Columns

CLAIMS: Final = ("question", "answer")  # a schema without either of them is not there
# Where an object that stands in place of a text has it.
_TEXT_MEMBERS: Final = ("text", "content", "answer", "output", "response", "value")


class Fit(NamedTuple):
    """A schema on the columns at hand."""

    schema: str
    paths: dict[str, str]
    n_own: int = 0  # fields that it names itself
    marked: bool = False
    others: tuple[str, ...] = ()

    def texts(self) -> dict[str, str]:
        """The paths that samples are scored by."""
        return {name: self.paths[name] for name in TEXT_FIELDS if name in self.paths}

    def rank(self) -> tuple[bool, int, bool]:
        """What decides between schemas."""
        texts = self.texts()
        return self.marked, len(texts), all(name in texts for name in CLAIMS)


def completed(fit: Fit, columns: Columns, given: Mapping[str, str], first_rows: FirstRows) -> Fit:
    """The fit with the fields that only common names, or the shape of their values, tell."""
    fit = _without_guesses(fit, columns)
    paths = with_synonyms(fit, columns, given)
    for name, candidates in _named_like(fit, columns, given).items():
        if len(candidates) > 1:
            rows = first_rows(candidates)
            fitting = [path for path in candidates if not rows or _may_be(name, path, rows)]
            if len(fitting) > 1:
                raise ambiguous(name, fitting)
            paths.update((name, path) for path in fitting)
    _check_one_answer(fit, paths, columns)
    for name, path in chat_paths(columns, first_rows).items():
        if name not in paths and name not in given:
            paths[name] = path
    return fit._replace(paths=paths)


def _without_guesses(fit: Fit, columns: Columns) -> Fit:
    """The fit without columns that only often are the field, where others may be it as well."""
    doubted = {
        meaning.field
        for column in columns
        if column not in fit.paths.values()
        and column not in fit.others
        and (meaning := meaning_of(column)) is not None
    }
    kept = {}
    for name, path in fit.paths.items():
        meaning = meaning_of(path)
        if name not in doubted or meaning is None or meaning.rank <= SURE or meaning.field != name:
            kept[name] = path
    return fit._replace(paths=kept)


def with_synonyms(fit: Fit, columns: Columns, given: Mapping[str, str]) -> dict[str, str]:
    """The fields of a fit, with those that have a common name exactly once."""
    paths = dict(fit.paths)
    for name, candidates in _named_like(fit, columns, given).items():
        if len(candidates) == 1:
            paths[name] = candidates[0]
    return paths


def _named_like(fit: Fit, columns: Columns, given: Mapping[str, str]) -> dict[str, list[str]]:
    """For fields that the fit lacks, the columns whose names say so most surely."""
    found: dict[str, tuple[int, list[str]]] = {}
    taken = {*fit.paths.values(), *fit.others}
    for column in columns:
        meaning = None if column in taken else _meaning_of(column, columns)
        if meaning is None or meaning.field in fit.paths or meaning.field in given:
            continue
        path = _text_path(meaning.field, column, columns)
        if path is None or path in taken:
            continue
        rank, candidates = found.get(meaning.field, (meaning.rank, []))
        if meaning.rank < rank:
            candidates = []
        if meaning.rank <= rank:
            found[meaning.field] = (meaning.rank, [*candidates, path])
    return {name: candidates for name, (_, candidates) in found.items()}


def _meaning_of(column: str, columns: Columns) -> Meaning | None:
    """What the name of a column says, or what it says for the objects that the column holds."""
    if may_hold_contexts(column) and hold_texts(column, columns.paths):
        return Meaning("contexts", LIKELY)
    return meaning_of(column)


def hold_texts(column: str, paths: Collection[str]) -> bool:
    """Whether the objects in a list have a text where documents have it."""
    return any(f"{column}{EACH}.{member}" in paths for member in TEXT_PATHS)


def _text_path(name: str, column: str, columns: Columns) -> str | None:
    """Where in a column the text of a field is; None where it holds objects without one."""
    if columns.hold(column, name):
        return column
    if name == "contexts":
        members = (f"{column}.{member}" for member in TEXT_PATHS)
        return column if any(path in columns.paths for path in members) else None
    for member in _TEXT_MEMBERS:
        path = f"{column}.{member}"
        if columns.hold(path, name):
            return path
        listed_as = f"{column}{EACH}.{member}"
        # Several acceptable answers, written as objects.
        if name == "ground_truth" and listed_as in columns.paths:
            return listed_as
        if name == "answer" and listed_as in columns.paths:
            return f"{column}[0].{member}"
    return None


def _may_be(name: str, path: str, rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether some row holds there what the field can be."""
    steps = steps_of(path)
    for row in rows:
        value = row[path] if path in row else value_at(row, steps)
        if name == "contexts":
            texts = context_texts(value)
            if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
                return True
        elif isinstance(value, str):
            if value:
                return True
        elif name == "ground_truth" and isinstance(value, list) and value:
            return True
    return False


def _check_one_answer(fit: Fit, paths: Mapping[str, str], columns: Columns) -> None:
    """Raise an InputError where ``answer`` may be what should have been answered.

    Datasets of questions and answers get a column of what a model said: without a ground truth of
    another name, ``answer`` would be scored as if the model had said it.
    """
    if paths.get("answer") != "answer" or "ground_truth" in paths or "contexts" in fit.paths:
        return
    said = [
        column
        for column in columns
        if column not in paths.values()
        and (meaning := meaning_of(column)) is not None
        and meaning.field == "answer"
    ]
    if said:
        raise ambiguous("answer", ["answer", *said])


def ambiguous(name: str, paths: Sequence[str]) -> InputError:
    """The error for a field that several columns may be."""
    shown = list(map(shown_name, paths))
    return InputError(
        f"{len(paths)} columns may be {name.replace('_', ' ')}: {listed(shown)}; "
        f"choose one with --map {name}={shown[0]} or --map {name}={shown[1]}"
    )
