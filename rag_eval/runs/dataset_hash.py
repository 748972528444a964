"""Ids, questions and ground truths of rows, in any order, in; the hash of the dataset out.

Two runs have the same dataset if these agree, whatever the answers and contexts are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.inputs.blocks import SampleBlock
from rag_eval.inputs.samples import FieldNeeds, SampleLike, field_of, ground_truth_of, id_of
from rag_eval.kernels.columns import TextColumn

_MARK: Final = b"rag-eval dataset row 1\n"
_MODULUS: Final = 1 << 256
_DIGEST_CHARACTERS: Final = 16
# The profile that keeps several ground truths of a row apart; nothing is scored.
_NEEDS: Final = FieldNeeds(
    frozenset(),
    question=True,
    answer=False,
    contexts=False,
    ground_truth=True,
    profile="grounded",
)


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
        content = hashlib.sha256(_MARK + _encoded(question) + b"".join(map(_encoded, truths)))
        named = content.copy()
        if is_id(row_id):
            named.update(b"id\n" + _bytes(str(row_id)))
        self._total = (self._total + int.from_bytes(named.digest(), "big")) % _MODULUS
        self.n_rows += 1
        return content.digest()

    def add_block(self, block: SampleBlock) -> list[str]:
        """Add the rows of a block; return a name for each: its id, or a digest of its content.

        Rows without an id that have the same question and ground truths get the same name.
        """
        names = []
        contents = _packed_contents(block)
        for row_id, (question, truths) in zip(block.ids(), contents, strict=True):
            digest = self.add(row_id, question, truths)
            names.append(str(row_id) if is_id(row_id) else _content_name(digest))
        return names

    def merge(self, other: DatasetHash) -> None:
        """Add all rows that ``other`` has seen."""
        self._total = (self._total + other._total) % _MODULUS
        self.n_rows += other.n_rows

    def hexdigest(self) -> str:
        """64 hexadecimal digits."""
        return f"{self._total:064x}"


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
        found.add(id_of(sample), *_sample_content(sample))
    return found.hexdigest()


def is_id(value: object) -> bool:
    """Whether a value is an id: a non-empty string or an integer."""
    return isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""


def _content_name(digest: bytes) -> str:
    return f"content:{digest.hex()[:_DIGEST_CHARACTERS]}"


def _encoded(text: bytes) -> bytes:
    """A length-prefixed text, so that no two sequences of texts look alike."""
    return b"%d:" % len(text) + text


def _packed_contents(block: SampleBlock) -> list[tuple[bytes, list[bytes]]]:
    """Question and ground truths of each row, as read by the kernels if possible."""
    try:
        batch = block.pack(_NEEDS)
    except InputError:
        # A row the kernels reject but no metric needs: an odd language, a non-text question.
        return [_sample_content(block.sample(index)) for index in range(len(block))]
    assert batch.grounded is not None
    questions, truths = _texts(batch.question), _texts(batch.ground_truth)
    ends = batch.grounded.row_truths.tolist()
    return [
        (question, [text for text in truths[ends[row] : ends[row + 1]] if text])
        for row, question in enumerate(questions)
    ]


def _texts(column: TextColumn) -> list[bytes]:
    first = int(column.offsets[0])
    data = column.data[first : int(column.offsets[-1])].tobytes()
    ends = (column.offsets - first).tolist()
    return [data[begin:end] for begin, end in pairwise(ends)]


def _sample_content(sample: SampleLike | Mapping[str, Any]) -> tuple[bytes, list[bytes]]:
    try:
        truth = ground_truth_of(sample)
    except ValueError:
        raise InputError("ground_truth and groundTruth are both given and differ") from None
    truths = [truth] if isinstance(truth, str) else truth
    if not isinstance(truths, (list, tuple)):
        truths = []
    question = field_of(sample, "question")
    return _bytes(question), [_bytes(text) for text in truths if isinstance(text, str) and text]


def _bytes(text: object) -> bytes:
    """UTF-8 as in the kernels: a lone surrogate is three bytes, a pair is one character."""
    if not isinstance(text, str):
        return b""
    try:
        return text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode("utf-8", "surrogatepass")
