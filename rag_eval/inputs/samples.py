"""Samples of any accepted kind -> blocks of texts, checked field by field.

In: dicts, other mappings and EvalSample, in any mix.  Out: strings per field, then packed columns.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, islice, pairwise
from types import NoneType
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, suggestion
from rag_eval.inputs.blocks import FileOrigin, SampleError
from rag_eval.kernels import scoring as kernels
from rag_eval.kernels.columns import (
    GIVEN_ANSWER,
    GIVEN_CONTEXTS,
    GIVEN_QUESTION,
    GroundedColumns,
    SampleBatch,
    TextColumn,
)
from rag_eval.kernels.grounded_settings import DETECT, language_number
from rag_eval.kernels.languages import language_code
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.samples import EvalSample, MetricId, Profile

SampleLike: TypeAlias = Mapping[str, Any] | EvalSample
RowBlocks: TypeAlias = "Generator[RowBlock, None, None]"

TEXT_FIELDS: Final = ("question", "answer", "contexts", "ground_truth")
_OTHER_FIELDS: Final = frozenset({"id", "metadata", "language", "groundTruth"})
_MOST_NAMED: Final = 5
_LONGEST_NAMED: Final = 40
_ROW_FIELDS: Final = ("question", "answer", "ground_truth")  # one text a row
# Texts of one block, on one thread: small enough for the second-level cache, large enough that the
# cost of a call does not show.
BLOCK_BYTES: Final = 1 << 17
# On several threads: each block takes the interpreter's lock from one thread to another a few
# times, at some 50 microseconds. So there are fewer, short enough still for Ctrl-C to get its turn.
SHARED_BLOCK_BYTES: Final = 1 << 20
_FIRST_BLOCK_ROWS: Final = 16
_MAX_BLOCK_ROWS: Final = 1024


@dataclass(slots=True)
class RowBlock:
    """Some consecutive rows, their texts still Python strings; see :class:`SampleBlock`.

    ``rows`` are the samples as they came; a text list is empty when no metric reads the field. The
    last three lists are of the grounded profile, where a row has any number of ground truths.
    ``text_bytes`` is known of rows from a file; ``renamed`` gives our name of a column of the file.
    """

    first_row: int
    rows: list[SampleLike]
    origin: FileOrigin | None = None
    text_bytes: int = 0
    renamed: Mapping[str, str] = field(default_factory=dict)
    is_read: bool = False
    question: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    ground_truth: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    row_contexts: list[int] = field(default_factory=lambda: [0])
    row_truths: list[int] = field(default_factory=lambda: [0])
    given: list[int] = field(default_factory=list)
    languages: list[int] = field(default_factory=list)
    id_values: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_bytes(self) -> int:
        """How long the block's texts are, about: one context in eight stands for all."""
        if self.text_bytes:
            return self.text_bytes
        sampled = [text for text in self.contexts[::8] if isinstance(text, str)]
        texts = sampled or [text for text in self.answer if isinstance(text, str)]
        return 1 + sum(map(len, texts)) * (8 if sampled else 1)

    def name(self, index: int) -> str:
        """How errors call the row at ``index``."""
        sample = self.rows[index]
        if self.origin is not None:
            return self.origin.name(index, sample)
        return sample_name(self.first_row + index, sample)

    def sample(self, index: int) -> SampleLike:
        """The row at ``index``, as it came."""
        return self.rows[index]

    def ids(self) -> list[Any]:
        """The id of each row, None where it has none."""
        if self.id_values is None:
            self.id_values = [id_of(row) for row in self.rows]
        return self.id_values

    def values(self, name: str) -> list[Any]:
        """A column of the input under its own name; None where a row lacks it."""
        key = self.renamed.get(name, name)
        return [row.get(key) if isinstance(row, Mapping) else None for row in self.rows]

    def plain_rows(self, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """All rows, if they are dicts that hold columns of these names as the input has them."""
        if not self.renamed.keys().isdisjoint(names) or set(map(type, self.rows)) != {dict}:
            return None
        return self.rows  # type: ignore[return-value]  # the line before has checked

    def pack(self, needs: FieldNeeds) -> SampleBatch:
        """The texts as kernels read them, read from the rows first where that was not done."""
        if self.is_read:
            return pack_block(self, needs)
        return pack_block(read_rows(self.rows, self.first_row, needs, self.origin), needs)

    def fault(self, index: int, needs: FieldNeeds) -> str | None:
        """What is wrong with one row; None when it can be scored."""
        try:
            pack_block(read_rows([self.rows[index]], 0, needs), needs)
        except SampleError as error:
            return error.fault
        return None

    def taken(self, indices: Sequence[int]) -> RowBlock:
        """Some of the rows, to be read again."""
        return RowBlock(
            self.first_row,
            [self.rows[index] for index in indices],
            None if self.origin is None else self.origin.taken(indices),
            self.text_bytes,
            self.renamed,
        )


@dataclass(frozen=True, slots=True)
class FieldNeeds:
    """Which fields the requested metrics read, and when a row may lack one."""

    metrics: frozenset[MetricId]
    question: bool
    answer: bool
    contexts: bool
    ground_truth: bool
    profile: Profile = "overlap"

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, metrics: tuple[MetricId, ...], profile: Profile = "overlap") -> FieldNeeds:
        """The needs of some metrics of a profile.

        In the grounded profile all texts of a sample decide on its language, and on what is a
        mark and not a word: without all of them a score would depend on what else is asked for.
        """
        wanted = frozenset(metrics)
        specs = PROFILE_METRICS[profile]
        read = {name for metric in wanted for name in specs[metric].fields}
        if profile == "grounded" and wanted:
            read.update(TEXT_FIELDS)
        return cls(
            wanted,
            question="question" in read,
            answer="answer" in read,
            contexts="contexts" in read,
            ground_truth="ground_truth" in read,
            profile=profile,
        )

    def reads(self, name: str, sample: SampleLike) -> bool:
        """Whether a requested metric reads the field of this sample.

        Metrics that end early do not: without contexts nothing reads the question for them, and
        without a ground truth nothing reads the answer for answer_correctness. In the grounded
        profile a field that is missing makes scores null, and one that is there is read.
        """
        if self.profile == "grounded":
            return bool(getattr(self, name))
        wants = self.metrics
        if name == "contexts":
            return bool(
                wants
                & {
                    "faithfulness",
                    "context_precision",
                    "context_relevance",
                    "hallucination_rate",
                }
            ) or ("context_recall" in wants and bool(ground_truth_of(sample)))
        has_contexts = bool(field_of(sample, "contexts"))
        if name == "question":
            chunks = wants & {"context_precision", "context_relevance"}
            return "answer_relevance" in wants or (bool(chunks) and has_contexts)
        return (
            bool(wants & {"faithfulness", "answer_relevance"})
            or ("hallucination_rate" in wants and has_contexts)
            or ("answer_correctness" in wants and bool(ground_truth_of(sample)))
        )


def field_of(sample: SampleLike, name: str) -> Any:
    """A field of a sample of any kind; None when it is missing."""
    if isinstance(sample, EvalSample):
        return getattr(sample, name)
    return sample.get(name)


def ground_truth_of(sample: SampleLike) -> Any:
    """The ground truth under either spelling; two different ones are a ValueError."""
    if isinstance(sample, EvalSample):
        return sample.ground_truth
    value, other = sample.get("ground_truth"), sample.get("groundTruth")
    if other is None:
        return value
    if value is not None and value != other:
        raise ValueError("ground_truth and groundTruth are both there, with different values")
    return other


def id_of(sample: object) -> Any:
    """The id of a sample of any kind; None where it has none."""
    # Asking whether it is a mapping takes longer than all the rest.
    if type(sample) is dict or isinstance(sample, Mapping):
        return sample.get("id")
    return getattr(sample, "id", None)


def sample_name(row: int, sample: object) -> str:
    """``sample 17 ("q-0042")``: how errors call a sample."""
    name = id_of(sample)
    return f"sample {row}" if name is None else f'sample {row} ("{name}")'


def sample_blocks(
    samples: Iterable[SampleLike], needs: FieldNeeds, threads: int = 1
) -> Iterator[RowBlock]:
    """Cut samples into blocks of a size that suits the number of threads.

    How many rows that is follows from the block before; scores do not depend on it.
    """
    rows = iter(samples)
    block_bytes = BLOCK_BYTES if threads == 1 else SHARED_BLOCK_BYTES
    first_row, n_rows = 0, _FIRST_BLOCK_ROWS
    while block_rows := list(islice(rows, n_rows)):
        try:
            block = read_rows(block_rows, first_row, needs)
        except InputError:
            _raise_first_fault(block_rows, first_row, needs)
            raise
        yield block
        first_row += len(block_rows)
        n_rows = max(1, min(_MAX_BLOCK_ROWS, n_rows * block_bytes // block.n_bytes))


def read_rows(
    rows: list[SampleLike], first_row: int, needs: FieldNeeds, origin: FileOrigin | None = None
) -> RowBlock:
    """The texts of some samples that are read, by field; types are checked when packed."""
    block = RowBlock(first_row, rows, origin, is_read=True)
    grounded = needs.profile == "grounded"
    read_plain = _read_plain_grounded if grounded else _read_plain
    if set(map(type, rows)) == {dict} and read_plain(block, needs):
        return block
    for index, sample in enumerate(rows):
        try:
            if grounded and isinstance(sample, (EvalSample, Mapping)):
                _read_grounded(block, sample, needs)
            elif isinstance(sample, EvalSample):
                _read_sample(block, sample, needs)
            elif isinstance(sample, Mapping):
                _read_mapping(block, sample, needs)
            else:
                raise InputError(
                    f"sample {first_row + index} must be a dict or an EvalSample, "
                    f"got {type(sample).__name__}"
                )
        except _FieldError as error:
            raise SampleError(block.name(index), str(error)) from None
    return block


def _read_plain(block: RowBlock, needs: FieldNeeds) -> bool:
    """Read plain dicts field by field, or leave the block empty and say no.

    A third of the time that row by row takes; for lists of contexts and one spelling only.
    """
    rows: list[dict[str, Any]] = block.rows  # type: ignore[assignment]  # checked by the caller
    lists = [row.get("contexts") for row in rows] if needs.contexts else []
    if needs.ground_truth and any("ground_truth" in row for row in rows):
        return False
    if not set(map(type, lists)) <= {list}:
        return False
    if needs.question:
        block.question = [row.get("question") for row in rows]  # type: ignore[misc]
    if needs.answer:
        block.answer = [row.get("answer") for row in rows]  # type: ignore[misc]
    if needs.ground_truth:
        block.ground_truth = [row.get("groundTruth") or "" for row in rows]
    block.contexts = list(chain.from_iterable(lists))  # type: ignore[arg-type]
    block.row_contexts += accumulate(map(len, lists))  # type: ignore[arg-type]
    return True


def _read_plain_grounded(block: RowBlock, needs: FieldNeeds) -> bool:
    """As :func:`_read_plain`, for the grounded profile: what is missing is marked as not given."""
    rows: list[dict[str, Any]] = block.rows  # type: ignore[assignment]  # checked by the caller
    if len(rows) == 1:
        return False  # a row by itself is read sooner than its columns are set up

    def values(name: str) -> list[Any]:
        return [row.get(name) for row in rows] if getattr(needs, name) else [None] * len(rows)

    question, answer, lists = values("question"), values("answer"), values("contexts")
    if not set(map(type, lists)) <= {list, NoneType}:
        return False
    try:
        truths = _plain_truths(rows) if needs.ground_truth else []
        languages = [_language(row.get("language")) for row in rows]
    except _FieldError:
        return False  # row by row, its row will be known
    if truths is None:
        return False
    block.question = _or_empty(question) if needs.question else []
    block.answer = _or_empty(answer) if needs.answer else []
    block.contexts = _or_empty(chain.from_iterable(found or () for found in lists))
    block.row_contexts += accumulate(0 if found is None else len(found) for found in lists)
    block.ground_truth = list(chain.from_iterable(truths))
    block.row_truths += accumulate(map(len, truths))
    block.given = [
        GIVEN_QUESTION * (asked is not None)
        | GIVEN_ANSWER * (answered is not None)
        | GIVEN_CONTEXTS * (found is not None)
        for asked, answered, found in zip(question, answer, lists, strict=True)
    ]
    block.languages = languages
    return True


def _plain_truths(rows: list[dict[str, Any]]) -> list[Sequence[str]] | None:
    """Each row's ground truths; None where they come in two spellings."""
    both = ("ground_truth", "groundTruth")
    spellings = [name for name in both if any(name in row for row in rows)]
    if len(spellings) != 1:
        return None if spellings else [()] * len(rows)
    found = [row.get(spellings[0]) for row in rows]
    return [(truth,) if type(truth) is str and truth else _acceptable(truth) for truth in found]


def _or_empty(texts: Iterable[str | None]) -> list[str]:
    return ["" if text is None else text for text in texts]


class _FieldError(ValueError):
    """A field is not what it has to be; the caller knows whose."""


def _read_mapping(block: RowBlock, sample: Mapping[str, Any], needs: FieldNeeds) -> None:
    get = sample.get
    if needs.question:
        block.question.append(get("question"))  # type: ignore[arg-type]  # checked when packed
    if needs.answer:
        block.answer.append(get("answer"))  # type: ignore[arg-type]
    if needs.ground_truth:
        truth = get("groundTruth")
        if truth is None or "ground_truth" in sample:
            truth = _ground_truth(sample)
        block.ground_truth.append(truth or "")
    if needs.contexts:
        contexts = get("contexts")
        if type(contexts) is not list:
            contexts = _contexts(sample, contexts, needs)
        block.contexts.extend(contexts)
        block.row_contexts.append(len(block.contexts))


def _read_sample(block: RowBlock, sample: EvalSample, needs: FieldNeeds) -> None:
    if needs.question:
        block.question.append(sample.question)  # type: ignore[arg-type]  # checked when packed
    if needs.answer:
        block.answer.append(sample.answer)  # type: ignore[arg-type]
    if needs.ground_truth:
        block.ground_truth.append(sample.ground_truth or "")  # type: ignore[arg-type]
    if needs.contexts:
        block.contexts.extend(_contexts(sample, sample.contexts, needs))
        block.row_contexts.append(len(block.contexts))


def _read_grounded(block: RowBlock, sample: SampleLike, needs: FieldNeeds) -> None:
    """Read what is there; what is missing is an empty text that is marked as not given."""
    given = 0
    if needs.question:
        question = field_of(sample, "question")
        given |= 0 if question is None else GIVEN_QUESTION
        block.question.append("" if question is None else question)
    if needs.answer:
        answer = field_of(sample, "answer")
        given |= 0 if answer is None else GIVEN_ANSWER
        block.answer.append("" if answer is None else answer)
    if needs.ground_truth:
        block.ground_truth.extend(_acceptable(_ground_truth(sample)))
        block.row_truths.append(len(block.ground_truth))
    if needs.contexts:
        contexts = field_of(sample, "contexts")
        if contexts is not None:
            given |= GIVEN_CONTEXTS
            if not isinstance(contexts, (list, tuple)):
                raise _FieldError(
                    f"contexts must be a list of strings, got {type(contexts).__name__}"
                )
            block.contexts.extend(_or_empty(contexts))
        block.row_contexts.append(len(block.contexts))
    block.given.append(given)
    block.languages.append(_language(field_of(sample, "language")))


def _acceptable(truth: Any) -> Sequence[str]:
    """The acceptable answers of a ground truth, of which there may be none.

    A null among several is an empty text: results count them as the caller does.
    """
    if truth is None:
        return ()
    if not isinstance(truth, (list, tuple)):
        return () if isinstance(truth, str) and not truth else (truth,)
    if not truth:
        raise _FieldError(
            "ground_truth is an empty list; wanted at least one acceptable answer, or none at all"
        )
    texts = _or_empty(truth)
    # Of another type even an empty one is a fault, which packing names.
    return texts if set(map(type, texts)) != {str} or any(texts) else ()


def _language(tag: Any) -> int:
    if tag is None:
        return DETECT
    if not isinstance(tag, str):
        raise _FieldError(f"language must be a language tag, got {type(tag).__name__}")
    return _tag_number(tag) if tag else DETECT


@functools.lru_cache(maxsize=256)
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
        raise _FieldError(f"contexts is missing{_near(sample, 'contexts')}; wanted a list of str")
    raise _FieldError(f"contexts must be a list of strings, got {type(contexts).__name__}")


def _near(sample: SampleLike, name: str) -> str:
    """A hint at a field of the sample whose name is nearly right."""
    if not isinstance(sample, Mapping):
        return ""
    unknown = [key for key in sample if isinstance(key, str) and key not in TEXT_FIELDS]
    hint = suggestion(name, unknown)
    if hint:
        return hint.replace("; did you mean", " (there is") + ")"
    strange = [key for key in unknown if key not in _OTHER_FIELDS]
    # Many strange fields are those of a scorer or of another tool, and tell nothing.
    if not strange or len(strange) > _MOST_NAMED:
        return ""
    named = ", ".join(repr(key[:_LONGEST_NAMED]) for key in strange)
    return f" (there is {named}; a mapping says which field it is: --map {name}=COLUMN)"


# ------------------------------------------------------------------------------------ packing


def pack_block(block: RowBlock, needs: FieldNeeds) -> SampleBatch:
    """Pack a block's texts into columns, all over one buffer.

    Raises
    ------
    InputError
        For a field that is missing or of the wrong type and that a requested metric reads.
    """
    n_rows = len(block.rows)
    texts = [*block.question, *block.answer, *block.ground_truth, *block.contexts]
    while True:
        try:
            data, offsets = kernels.pack_texts(texts)
            break
        except (TypeError, OverflowError) as error:
            if n_rows > 1 and block.origin is None:
                _raise_first_fault(block.rows, block.first_row, needs)
            texts[error.args[0]] = _unread_text(block, error.args[0], needs)
    ends = list(accumulate(len(getattr(block, name)) for name in _ROW_FIELDS))
    question, answer, ground_truth = (
        # A field that no metric reads is empty in every row.
        TextColumn(data, offsets[begin : end + 1] if end > begin else _no_texts(n_rows))
        for begin, end in pairwise((0, *ends))
    )
    row_contexts = np.array(block.row_contexts, np.int64) if needs.contexts else _no_texts(n_rows)
    contexts = TextColumn(data, offsets[ends[-1] :])
    grounded = _grounded_columns(block, needs) if needs.profile == "grounded" else None
    return SampleBatch(question, answer, ground_truth, contexts, row_contexts, grounded)


def _grounded_columns(block: RowBlock, needs: FieldNeeds) -> GroundedColumns:
    return GroundedColumns(
        np.array(block.row_truths, np.int64) if needs.ground_truth else _no_texts(len(block.rows)),
        np.array(block.given, np.uint8),
        np.array(block.languages, np.int8),
    )


def _raise_first_fault(rows: list[SampleLike], first_row: int, needs: FieldNeeds) -> None:
    """Raise the fault of the first row that has one: a block finds its faults field by field."""
    for row, sample in enumerate(rows, first_row):
        pack_block(read_rows([sample], row, needs), needs)


def _no_texts(n_rows: int) -> npt.NDArray[np.int64]:
    """Offsets of rows that have no text at all."""
    return np.zeros(n_rows + 1, np.int64)


def _unread_text(block: RowBlock, index: int, needs: FieldNeeds) -> str:
    """The empty text, for text ``index`` of a block that no metric reads in its row.

    Raises a SampleError when one does.
    """
    for name in _ROW_FIELDS:
        texts = getattr(block, name)
        if index < len(texts):
            if name == "ground_truth" and len(block.row_truths) > 1:
                row = bisect_right(block.row_truths, index) - 1
                return _raise_bad_text(block, row, name, texts[index])
            if name == "ground_truth" or needs.reads(name, block.rows[index]):
                _raise_bad_text(block, index, name, texts[index])
            return ""
        index -= len(texts)
    row = bisect_right(block.row_contexts, index) - 1
    name = f"contexts[{index - block.row_contexts[row]}]"
    return _raise_bad_text(block, row, name, block.contexts[index])


def _raise_bad_text(block: RowBlock, index: int, name: str, value: object) -> NoReturn:
    raise SampleError(block.name(index), _text_fault(block.rows[index], name, value))


def _text_fault(sample: SampleLike, name: str, value: object) -> str:
    if isinstance(value, str):
        return f"{name} is too long: {len(value):,} characters, 2 GiB and more"
    if value is None and "[" not in name:
        return f"{name} is missing{_near(sample, name)}; wanted a str"
    if name == "ground_truth" and isinstance(value, (list, tuple)):
        return f"ground_truth is a list of {len(value)}; the overlap profile takes one str"
    return f"{name} must be a str, got {type(value).__name__}"
