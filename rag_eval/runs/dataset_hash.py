"""Rows in; the hash of their dataset, in any order, and a short digest of each row out.

Two runs have the same dataset if ids, questions and ground truths agree, whatever the answers and
contexts are. A row was edited between two runs if its inputs differ.
"""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.samples import FieldNeeds, SampleLike, field_of, ground_truth_of, id_of
from rag_eval.kernels.columns import GIVEN_ANSWER, TextColumn
from rag_eval.plumbing import json_text
from rag_eval.results.digest_texts import digest_texts

_MARK: Final = b"rag-eval dataset row 1\n"
_MODULUS: Final = 1 << 256
_DIGEST_CHARACTERS: Final = 16
# A row of a run: an edit goes unnoticed once in four billion.
_ROW_DIGEST_BYTES: Final = 4
_NO_CONTENT: Final = bytes(_ROW_DIGEST_BYTES)
_EMPTY_ANSWER: Final = 1
# The profile that keeps several ground truths of a row apart; nothing is scored.
_NEEDS: Final = FieldNeeds(
    frozenset(),
    question=True,
    answer=True,
    contexts=False,
    ground_truth=True,
    profile="grounded",
)


Digests: TypeAlias = tuple[int, int, int]
"""Of a row: question and ground truths, relevant ids, answer; 0 for what is missing or unknown.

The last two are CRC-32, which takes a tenth of the time. Relevant ids say which documents hold the
answer. Retrieved contexts are no input: a new retriever changes them.
"""
N_INPUTS: Final = 2
"""The first digests of a row are of its inputs; the last is of its answer."""
UNKNOWN: Final[Digests] = (0, 0, 0)

_Content: TypeAlias = tuple[bytes, list[bytes], bytes | None]
"""Question, ground truths and answer of a row; None for an answer that is missing."""


class DatasetHash:
    """Sums the SHA-256 of each row modulo 2**256, so the order of rows does not matter.

    The hash covers the id, the question and the ground truths of each row, as far as it has them;
    an empty string counts as missing, and ids are equal as numbers and as strings. CSV, JSON,
    Parquet and dicts give the same hash. It detects changes of a dataset, but not deliberate
    collisions.
    """

    def __init__(self) -> None:
        self._total = 0
        self.n_rows = 0

    def add(self, row_id: object, question: bytes, truths: Sequence[bytes]) -> bytes:
        """Add a row with texts in UTF-8; return the digest of the row without its id."""
        return self._add(str(row_id) if is_id(row_id) else None, question, truths)

    def _add(self, name: str | None, question: bytes, truths: Sequence[bytes]) -> bytes:
        found = _content_hash(question, truths)
        content = found.digest()
        if name is not None:
            found.update(b"id\n" + _bytes(name))
        self._total += int.from_bytes(found.digest(), "big")
        self.n_rows += 1
        return content

    def add_block(
        self, block: SampleBlock, *, relevant_ids: bool = False
    ) -> tuple[list[str], npt.NDArray[np.uint32]]:
        """Add the rows of a block; return a name for each, and its :data:`Digests`, shape (R, 3).

        The name is the id, or else a digest of the content: rows without an id that have the same
        question and ground truths get the same name. Without ``relevant_ids`` they are not read,
        which would take as long as all the rest, and are unknown.
        """
        names = []
        contents = []
        rows = _packed_contents(block)
        for row_id, (question, truths, _) in zip(block.ids(), rows, strict=True):
            is_text = type(row_id) is str and row_id
            name = row_id if is_text else str(row_id) if is_id(row_id) else None
            digest = self._add(name, question, truths)
            names.append(_content_name(digest) if name is None else name)
            contents.append(digest[:_ROW_DIGEST_BYTES] if question or truths else _NO_CONTENT)
        digests = np.zeros((len(names), len(UNKNOWN)), np.uint32)
        digests[:, 0] = np.frombuffer(b"".join(contents), "<u4")
        if relevant_ids:
            digests[:, 1] = [_relevant_digest(found) for found in _relevant_ids(block)]
        digests[:, 2] = [_answer_digest(answer) for _, _, answer in rows]
        return names, digests

    def merge(self, other: DatasetHash) -> None:
        """Add all rows that ``other`` has seen."""
        self._total += other._total
        self.n_rows += other.n_rows

    def hexdigest(self) -> str:
        """64 hexadecimal digits."""
        return f"{self._total % _MODULUS:064x}"


def dataset_hash(samples: Iterable[SampleLike]) -> str:
    """The hash of samples in memory, equal to that of ``rag-eval run --store`` for their file.

    Parameters
    ----------
    samples : iterable of mapping or EvalSample

    Returns
    -------
    str
        64 hexadecimal digits; all zeros without samples.
    """
    found = DatasetHash()
    for sample in samples:
        question, truths, _ = _sample_content(sample)
        found.add(id_of(sample), question, truths)
    return found.hexdigest()


def block_digests(block: SampleBlock) -> list[str]:
    """The digests of the rows of a block, as texts for a table of scores."""
    _, found = DatasetHash().add_block(block, relevant_ids=True)
    return [" ".join(digest_texts(digests)) for digests in found.tolist()]


def row_digests(sample: Mapping[str, Any]) -> Digests:
    """The digests of one sample, equal to those of :meth:`DatasetHash.add_block`."""
    try:
        question, truths, answer = _sample_content(sample)
    except InputError:
        return UNKNOWN
    content = _NO_CONTENT
    if question or truths:
        content = _content_hash(question, truths).digest()[:_ROW_DIGEST_BYTES]
    relevant = sample.get("relevant_ids")
    relevant = sample.get("relevantIds") if relevant is None else relevant
    return int.from_bytes(content, "little"), _relevant_digest(relevant), _answer_digest(answer)


def known_digests(
    digests: Sequence[Sequence[int]] | npt.NDArray[np.uint32],
) -> npt.NDArray[np.uint32] | None:
    """Digests of rows as an array, shape (R, 3); None if none is known."""
    found = np.array(digests, np.uint32).reshape(-1, len(UNKNOWN))
    return found if found.any() else None


def _answer_digest(answer: bytes | None) -> int:
    """An empty answer is known: CRC-32 has 0 for it, which stands for a missing one."""
    return 0 if answer is None else zlib.crc32(answer) or _EMPTY_ANSWER


def _relevant_digest(relevant: object) -> int:
    return 0 if relevant is None else zlib.crc32(_listed(relevant))


def _listed(relevant: object) -> bytes:
    """Ids with their grades, if any, in one spelling for lists, mappings and their JSON text."""
    if isinstance(relevant, str):
        with contextlib.suppress(ValueError, RecursionError):
            relevant = json_text.loads(relevant)
    if isinstance(relevant, Mapping):
        # A struct of Arrow has nulls for the keys of other rows.
        relevant = [f"{name}={grade}" for name, grade in relevant.items() if grade is not None]
    elif not isinstance(relevant, (list, tuple)):
        relevant = [] if relevant in (None, "") else [relevant]
    return b"".join(map(_encoded, sorted(_bytes(str(each)) for each in relevant)))


def _relevant_ids(block: SampleBlock) -> list[Any]:
    """Of each row, None if it has none, and where the column was not read."""
    found = block.values("relevant_ids")
    return block.values("relevantIds") if all(each is None for each in found) else found


def is_id(value: object) -> bool:
    """Whether a value is an id: a non-empty string or an integer."""
    return isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""


def _content_name(digest: bytes) -> str:
    return f"content:{digest.hex()[:_DIGEST_CHARACTERS]}"


def _encoded(text: bytes) -> bytes:
    """A length-prefixed text, so that no two sequences of texts look alike."""
    return b"%d:" % len(text) + text


def _content_hash(question: bytes, truths: Sequence[bytes]) -> hashlib._Hash:
    if len(truths) == 1:
        (truth,) = truths
        return hashlib.sha256(b"%b%d:%b%d:%b" % (_MARK, len(question), question, len(truth), truth))
    return hashlib.sha256(_MARK + _encoded(question) + b"".join(map(_encoded, truths)))


def _packed_contents(block: SampleBlock) -> list[_Content]:
    """The contents of each row, as read by the kernels if possible."""
    try:
        batch = block.pack(_NEEDS)
    except InputError:
        # A row the kernels reject but no metric needs: an odd language, a non-text question.
        return [_sample_content(block.sample(index)) for index in range(len(block))]
    assert batch.grounded is not None
    questions, truths = _texts(batch.question), _texts(batch.ground_truth)
    ends = batch.grounded.row_truths.tolist()
    answered = (batch.grounded.given & GIVEN_ANSWER).tolist()
    answers = zip(_texts(batch.answer), answered, strict=True)
    return [
        (
            question,
            [text for text in truths[ends[row] : ends[row + 1]] if text],
            answer if is_given else None,
        )
        for row, (question, (answer, is_given)) in enumerate(zip(questions, answers, strict=True))
    ]


def _texts(column: TextColumn) -> list[bytes]:
    first = int(column.offsets[0])
    data = column.data[first : int(column.offsets[-1])].tobytes()
    ends = (column.offsets - first).tolist()
    return [data[begin:end] for begin, end in pairwise(ends)]


def _sample_content(sample: SampleLike | Mapping[str, Any]) -> _Content:
    try:
        truth = ground_truth_of(sample)
    except ValueError:
        raise InputError("ground_truth and groundTruth are both given and differ") from None
    truths = [truth] if isinstance(truth, str) else truth
    if not isinstance(truths, (list, tuple)):
        truths = []
    texts = [_bytes(text) for text in truths if isinstance(text, str) and text]
    answer = field_of(sample, "answer")
    return _bytes(field_of(sample, "question")), texts, None if answer is None else _bytes(answer)


def _bytes(text: object) -> bytes:
    """UTF-8 as in the kernels: a lone surrogate is three bytes, a pair is one character."""
    if not isinstance(text, str):
        return b""
    try:
        return text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode("utf-8", "surrogatepass")
