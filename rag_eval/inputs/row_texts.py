"""Samples -> the texts of some rows, checked field by field -> columns that kernels read.

In: dicts, other mappings and EvalSample, in any mix.  Out: strings per field, then packed columns.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import accumulate, chain, repeat
from operator import contains, is_not, itemgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.samples import (
    FieldNeeds,
    SampleError,
    SampleLike,
    ground_truth_of,
    sample_name,
)
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.columns import (
    GIVEN_ANSWER,
    GIVEN_CONTEXTS,
    GIVEN_QUESTION,
    GroundedColumns,
    SampleBatch,
    TextColumn,
)
from rag_eval.kernels.languages import language_code
from rag_eval.kernels.settings import DETECT, language_number
from rag_eval.samples import EvalSample

if TYPE_CHECKING:
    from rag_eval.inputs.blocks import FileOrigin

_ROW_FIELDS: Final = ("question", "answer", "ground_truth")  # one text a row


@dataclass(slots=True)
class RowTexts:
    """The texts of some consecutive rows by field, still Python strings.

    ``rows`` are the samples as they came; a list is empty when no metric reads the field. The last
    three lists are of the grounded profile, where a row has any number of ground truths.
    """

    needs: FieldNeeds
    rows: list[SampleLike]
    first_row: int = 0
    origin: FileOrigin | None = None
    question: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    ground_truth: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    row_contexts: list[int] = field(default_factory=lambda: [0])
    row_truths: list[int] = field(default_factory=lambda: [0])
    given: list[int] = field(default_factory=list)
    languages: list[int] = field(default_factory=list)

    def name(self, index: int) -> str:
        """How errors call the row at ``index``."""
        return row_name(self.rows[index], index, self.first_row, self.origin)

    def pack(self) -> SampleBatch:
        """The texts as columns, all over one buffer.

        Raises
        ------
        SampleError
            For a field that is missing or of the wrong type and that a requested metric reads.
        """
        needs, n_rows = self.needs, len(self.rows)
        texts = [*self.question, *self.answer, *self.ground_truth, *self.contexts]
        while True:
            try:
                data, offsets = kernels.pack_texts(texts)
                break
            except (TypeError, OverflowError) as error:
                from rag_eval.inputs.schemas.maps import with_texts

                rows: list[SampleLike] = [
                    with_texts(row if type(row) is dict else dict(row))
                    if isinstance(row, Mapping)
                    else row
                    for row in self.rows
                ]
                if any(map(is_not, rows, self.rows)):
                    return read_rows(rows, self.first_row, needs, self.origin).pack()
                if n_rows > 1 and self.origin is None:
                    raise_first_fault(self.rows, self.first_row, needs)
                texts[error.args[0]] = _unread_text(self, error.args[0])
        columns: list[TextColumn] = []
        begin = 0
        for found in (self.question, self.answer, self.ground_truth):
            end = begin + len(found)
            # A field that no metric reads is empty in every row.
            columns.append(
                TextColumn(data, offsets[begin : end + 1] if found else _no_texts(n_rows))
            )
            begin = end
        question, answer, ground_truth = columns
        contexts = TextColumn(data, offsets[begin:])
        row_contexts = _offsets(self.row_contexts) if needs.contexts else _no_texts(n_rows)
        grounded = None
        if needs.profile == "grounded":
            grounded = GroundedColumns(
                _offsets(self.row_truths) if needs.ground_truth else _no_texts(n_rows),
                np.array(self.given, np.uint8),
                np.array(self.languages, np.int8),
            )
        return SampleBatch(
            question, answer, ground_truth, contexts, row_contexts, grounded, needs.absent
        )


def row_name(sample: SampleLike, index: int, first_row: int, origin: FileOrigin | None) -> str:
    """How errors call the row at ``index`` of a block."""
    if origin is not None:
        return origin.name(index, sample)
    return sample_name(first_row + index, sample)


def read_rows(
    rows: list[SampleLike], first_row: int, needs: FieldNeeds, origin: FileOrigin | None = None
) -> RowTexts:
    """The texts of some samples that are read, by field; types are checked when packed."""
    texts = RowTexts(needs, rows, first_row, origin)
    grounded = needs.profile == "grounded"
    read_plain = _read_plain_grounded if grounded else _read_plain
    if not needs.absent and set(map(type, rows)) == {dict} and read_plain(texts):
        return texts
    read = _read_grounded if grounded else _read_overlap
    for index, sample in enumerate(rows):
        if not isinstance(sample, (EvalSample, Mapping)):
            raise InputError(
                f"sample {first_row + index} must be a dict or an EvalSample, "
                f"got {type(sample).__name__}; expected {{'question': ..., 'answer': ..., "
                "'contexts': [...]}"
            )
        try:
            read(texts, sample)
        except _FieldError as error:
            raise SampleError(texts.name(index), str(error)) from None
    return texts


def _read_plain(texts: RowTexts) -> bool:
    """Read plain dicts field by field, or leave the texts empty and say no.

    A third of the time that row by row takes; for lists of contexts and one spelling only.
    """
    needs = texts.needs
    rows: list[dict[str, Any]] = texts.rows  # type: ignore[assignment]  # checked by the caller
    lists = _values(rows, "contexts") if needs.contexts else []
    truth = _spelling_of_truths(rows) if needs.ground_truth else ""
    if truth is None or not set(map(type, lists)) <= {list}:
        return False
    if needs.question:
        texts.question = _values(rows, "question")
    if needs.answer:
        texts.answer = _values(rows, "answer")
    if needs.ground_truth:
        texts.ground_truth = [text or "" for text in _values(rows, truth)]
        if set(map(type, texts.ground_truth)) != {str} or "[" in {
            text[:1] for text in texts.ground_truth
        }:
            texts.question, texts.answer, texts.ground_truth = [], [], []
            return False
    texts.contexts = kernels.joined_texts(lists)
    texts.row_contexts += accumulate(map(len, lists))
    return True


def _read_plain_grounded(texts: RowTexts) -> bool:
    """As :func:`_read_plain`, for the grounded profile: what is missing is marked as not given."""
    needs = texts.needs
    rows: list[dict[str, Any]] = texts.rows  # type: ignore[assignment]  # checked by the caller
    if len(rows) == 1:
        return False  # a row by itself is read sooner than its columns are set up

    def values(name: str) -> list[Any]:
        return _values(rows, name) if getattr(needs, name) else [None] * len(rows)

    question, answer, lists = values("question"), values("answer"), values("contexts")
    kinds = set(map(type, lists))
    if not kinds <= {list, NoneType}:
        return False
    try:
        truths = _plain_truths(rows) if needs.ground_truth else []
        languages = _languages(rows)
    except _FieldError:
        return False  # row by row, its row will be known
    if truths is None:
        return False
    if NoneType in kinds.union(map(type, question), map(type, answer)):
        texts.given = [
            GIVEN_QUESTION * (asked is not None)
            | GIVEN_ANSWER * (answered is not None)
            | GIVEN_CONTEXTS * (found is not None)
            for asked, answered, found in zip(question, answer, lists, strict=True)
        ]
        question, answer = _or_empty(question), _or_empty(answer)
        lists = [found or [] for found in lists]
    else:
        texts.given = [GIVEN_QUESTION | GIVEN_ANSWER | GIVEN_CONTEXTS] * len(rows)
    texts.question = question if needs.question else []
    texts.answer = answer if needs.answer else []
    texts.contexts = kernels.joined_texts(lists, "")
    texts.row_contexts += accumulate(map(len, lists))
    texts.ground_truth = list(chain.from_iterable(truths))
    texts.row_truths += accumulate(map(len, truths))
    texts.languages = languages
    return True


def _values(rows: list[dict[str, Any]], name: str) -> list[Any]:
    """A field of some rows, None where it is missing."""
    try:
        return list(map(itemgetter(name), rows))  # in half the time of ``get``
    except KeyError:
        return [row.get(name) for row in rows]


def _spelling_of_truths(rows: list[dict[str, Any]]) -> str | None:
    """The key of the ground truth in some rows; None if they have both."""
    both = ("groundTruth", "ground_truth")
    found = [name for name in both if any(map(contains, rows, repeat(name)))]
    return None if len(found) > 1 else (found or both)[0]


def _plain_truths(rows: list[dict[str, Any]]) -> list[Sequence[str]] | None:
    """Each row's ground truths; None if they come in two spellings."""
    spelling = _spelling_of_truths(rows)
    if spelling is None:
        return None
    found = _values(rows, spelling)
    return [
        (truth,) if type(truth) is str and truth and truth[0] != "[" else _acceptable(truth)
        for truth in found
    ]


def _or_empty(texts: Iterable[str | None]) -> list[str]:
    return ["" if text is None else text for text in texts]


class _FieldError(ValueError):
    """A field is not what it has to be; the caller knows whose."""


def _getter(sample: SampleLike) -> Callable[[str], Any]:
    """What gives a field of a sample by its name; None for one that is missing."""
    return partial(getattr, sample) if isinstance(sample, EvalSample) else sample.get


def _read_overlap(texts: RowTexts, sample: SampleLike) -> None:
    needs, get = texts.needs, _getter(sample)
    for name in needs.absent:
        if get(name) is not None:
            metrics = ",".join(sorted(needs.metrics))
            raise _FieldError(
                f"{name} is given here, but the rows before it have none. Give it in every row, or "
                f"score without it: --metrics {metrics}"
            )
    if needs.question:
        texts.question.append(get("question"))
    if needs.answer:
        texts.answer.append(get("answer"))
    if needs.ground_truth:
        texts.ground_truth.append(_only_truth(_ground_truth(sample)) or "")
    if needs.contexts:
        texts.contexts.extend(_contexts(sample, get("contexts"), needs))
        texts.row_contexts.append(len(texts.contexts))


def _read_grounded(texts: RowTexts, sample: SampleLike) -> None:
    """Read what is there; what is missing is an empty text that is marked as not given."""
    needs, get, given = texts.needs, _getter(sample), 0
    if needs.question:
        question = get("question")
        given |= 0 if question is None else GIVEN_QUESTION
        texts.question.append("" if question is None else question)
    if needs.answer:
        answer = get("answer")
        given |= 0 if answer is None else GIVEN_ANSWER
        texts.answer.append("" if answer is None else answer)
    if needs.ground_truth:
        texts.ground_truth.extend(_acceptable(_ground_truth(sample)))
        texts.row_truths.append(len(texts.ground_truth))
    if needs.contexts:
        contexts = get("contexts")
        if contexts is not None:
            given |= GIVEN_CONTEXTS
            texts.contexts.extend(_or_empty(_listed(contexts)))
        texts.row_contexts.append(len(texts.contexts))
    texts.given.append(given)
    texts.languages.append(_language(get("language")))


def _only_truth(truth: Any) -> Any:
    """The ground truth that a list of one holds, which the overlap profile takes as well."""
    truth = _listed_truth(truth)
    return truth[0] if isinstance(truth, (list, tuple)) and len(truth) == 1 else truth


def _listed_truth(truth: Any) -> Any:
    if type(truth) is not str or truth[:1] != "[":
        return truth
    # A sample as we know it needs none of this.
    from rag_eval.inputs.schemas.contexts import truth_texts

    return truth_texts(truth)


def _acceptable(truth: Any) -> Sequence[str]:
    """The acceptable answers of a ground truth; there may be none.

    A null among several is an empty text: results count them as the caller does.
    """
    if truth is None:
        return ()
    truth = _listed_truth(truth)
    if not isinstance(truth, (list, tuple)):
        return () if isinstance(truth, str) and not truth else (truth,)
    texts = _or_empty(truth)
    # Of another type even an empty one is a fault, which packing names.
    return texts if set(map(type, texts)) != {str} or any(texts) else ()


def _languages(rows: list[dict[str, Any]]) -> list[int]:
    if not any(map(contains, rows, repeat("language"))):
        return [DETECT] * len(rows)
    return [_language(row.get("language")) for row in rows]


def _language(tag: Any) -> int:
    if tag is None:
        return DETECT
    if not isinstance(tag, str):
        raise _FieldError(f"language must be a language tag, got {type(tag).__name__}")
    return _tag_number(tag) if tag else DETECT


@lru_cache(maxsize=256)
def _tag_number(tag: str) -> int:
    try:
        return language_number(language_code(tag))
    except InputError as error:
        raise _FieldError(error) from None


def _ground_truth(sample: SampleLike) -> Any:
    try:
        return ground_truth_of(sample)
    except ValueError as error:
        raise _FieldError(error) from None


def _contexts(sample: SampleLike, contexts: Any, needs: FieldNeeds) -> Iterable[str]:
    if isinstance(contexts, (list, tuple)):
        return contexts
    if not needs.reads("contexts", sample):
        return ()
    if contexts is None:
        from rag_eval.inputs.field_faults import missing_field

        raise _FieldError(missing_field(sample, "contexts", "a list of strings"))
    return _listed(contexts)


def _listed(contexts: Any) -> Sequence[str]:
    """Contexts that came as something else than a list of texts as one."""
    if isinstance(contexts, (list, tuple)):
        return contexts
    # A sample as we know it needs none of this.
    from rag_eval.inputs.schemas.contexts import UNREADABLE, context_texts

    texts = context_texts(contexts)
    if isinstance(texts, list):
        return texts
    if isinstance(texts, str):
        raise _FieldError(UNREADABLE)
    raise _FieldError(f"contexts must be a list of strings, got {type(contexts).__name__}")


# ---------------------------------------------------------------------------------------- packing


def raise_first_fault(rows: list[SampleLike], first_row: int, needs: FieldNeeds) -> None:
    """Raise the fault of the first faulty row; a block finds faults field by field instead."""
    for row, sample in enumerate(rows, first_row):
        read_rows([sample], row, needs).pack()


def _offsets(ends: list[int]) -> npt.NDArray[np.int64]:
    return np.array(ends, np.int64)


def _no_texts(n_rows: int) -> npt.NDArray[np.int64]:
    """Offsets of rows that have no text at all."""
    return np.zeros(n_rows + 1, np.int64)


def _unread_text(texts: RowTexts, index: int) -> str:
    """The empty text, for text ``index`` of a block that no metric reads in its row.

    Raises a SampleError when one does.
    """
    for name in _ROW_FIELDS:
        found = getattr(texts, name)
        if index < len(found):
            if name == "ground_truth" and len(texts.row_truths) > 1:
                row = bisect_right(texts.row_truths, index) - 1
                return _raise_bad_text(texts, row, name, found[index])
            if name == "ground_truth" or texts.needs.reads(name, texts.rows[index]):
                _raise_bad_text(texts, index, name, found[index])
            return ""
        index -= len(found)
    row = bisect_right(texts.row_contexts, index) - 1
    name = f"contexts[{index - texts.row_contexts[row]}]"
    return _raise_bad_text(texts, row, name, texts.contexts[index])


def _raise_bad_text(texts: RowTexts, index: int, name: str, value: object) -> NoReturn:
    from rag_eval.inputs.field_faults import text_fault

    raise SampleError(texts.name(index), text_fault(texts.rows[index], name, value))
