"""TREC's files.  In: lines of qrels and runs.  Out: mappings by query, and the way back.

Fields are separated by white space of ASCII. A qrels line is ``query iteration document grade``,
a line of a run ``query Q0 document rank score tag``; names are UTF-8. Files may end in ``.gz`` or
``.zst``.
"""

from __future__ import annotations

import math
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from rag_eval.errors import InputError, glance
from rag_eval.inputs.byte_files import opened_bytes, source_name
from rag_eval.inputs.file_lines import FileLines
from rag_eval.inputs.file_states import unchanged
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.retrieval.id_lists import DocId

_Value = TypeVar("_Value", int, float)

_QRELS: Final = (4, "query iteration document grade")
_RUN: Final = (6, "query Q0 document rank score tag")
_HIGHEST_GRADE: Final = 2**31 - 1


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """Judgements by query and document.

    Parameters
    ----------
    path : str or Path
        A file, or ``-`` for standard input. Blank lines are skipped.

    Raises
    ------
    InputError
        If it cannot be read, or a line (which is named) has another number of fields, a grade that
        is not a whole number of 32 bits, or a repeated document.
    """
    return _read(path, _QRELS, 3, _grade)


def read_run(path: str | Path) -> dict[str, dict[str, float]]:
    """Scores by query and document; ranks and tags are not read, as by trec_eval.

    Parameters
    ----------
    path : str or Path
        As for :func:`read_qrels`.

    Raises
    ------
    InputError
        As for :func:`read_qrels`; a score must be a number.
    """
    return _read(path, _RUN, 4, _score)


def write_run(
    path: str | Path,
    run: Mapping[DocId, Mapping[DocId, float] | list[DocId] | tuple[DocId, ...]],
    *,
    tag: str = "rag_eval",
) -> None:
    """Write a run, ranked as trec_eval would.

    Parameters
    ----------
    path : str or Path
        The file is written completely or not at all.
    run : mapping
        By query id, scores by document or a list of documents, best first, which get decreasing
        scores. Numeric ids are written as digits and read back as strings.
    tag : str
        Name of the run.

    Raises
    ------
    InputError
        If a name is empty, contains white space or is not Unicode text, a score is not a number, or
        the file cannot be written.
    """
    last = _name(tag, "tag")
    with atomic_file(path) as file:
        for number, (query, ranking) in enumerate(run.items()):
            name = _name(query, "query")
            if number == 0 and name.startswith(BOM_UTF8):
                file.write(BOM_UTF8)  # readers take off the first one, which is no part of a name
            lines = [
                b"%b Q0 %b %d %b %b\n"
                % (name, _name(document, "document"), rank, repr(score).encode(), last)
                for rank, (document, score) in enumerate(_ranked(ranking, query), 1)
            ]
            file.write(b"".join(lines))


def _ranked(ranking: object, query: DocId) -> list[tuple[DocId, float]]:
    if isinstance(ranking, (list, tuple)):
        documents = list(dict.fromkeys(ranking))
        return [(document, float(len(documents) - i)) for i, document in enumerate(documents)]
    if not isinstance(ranking, Mapping):
        raise InputError(
            f"query {glance(query)} must have a mapping of scores or a list of ids, got "
            f"{type(ranking).__name__}"
        )
    from rag_eval.retrieval.trec_order import trec_order

    pairs = list(ranking.items())
    return [(pairs[i][0], float(pairs[i][1])) for i in trec_order([ranking]).tolist()]


def _name(name: object, what: str) -> bytes:
    text = str(name) if isinstance(name, (str, int)) else ""
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        encoded = b""
    if encoded.split() != [encoded]:
        raise InputError(f"{what} {glance(name)} cannot be written to a TREC file")
    return encoded


# ------------------------------------------------------------------------------------- reading


def _read(
    path: str | Path, form: tuple[int, str], place: int, value_of: Callable[[bytes], _Value]
) -> dict[str, dict[str, _Value]]:
    """Values by query and document."""
    n_fields, shape = form
    found: dict[str, dict[str, _Value]] = {}
    with unchanged(path), opened_bytes(path) as file:
        number, source = 0, source_name(path)
        query: bytes | None = None
        documents: dict[str, _Value] = {}
        try:
            for line in FileLines(file):
                number += 1
                fields = line.split()
                if len(fields) != n_fields:
                    if not fields:
                        continue
                    raise ValueError(
                        f"a line must have {n_fields} fields ({shape}), got {len(fields)}"
                    )
                if fields[0] != query:
                    query = fields[0]
                    documents = found.setdefault(query.decode(), {})
                document = fields[2].decode()
                if document in documents:
                    raise ValueError(
                        f"query {glance(query.decode())} has document {glance(document)} twice"
                    )
                documents[document] = value_of(fields[place])
        except UnicodeDecodeError:
            _fail(source, number, "a name is not UTF-8")
        except InputError:
            raise
        except ValueError as error:
            _fail(source, number, str(error))
    return found


def _fail(source: str, number: int, what: str) -> NoReturn:
    raise InputError(f"{source}, line {number}: {what}") from None


def _grade(text: bytes) -> int:
    try:
        grade = int(text)
    except ValueError:
        grade = None
    if grade is None or b"_" in text or abs(grade) > _HIGHEST_GRADE:
        raise ValueError(f"a grade must be a whole number, got {_shown(text)}")
    return grade


def _score(text: bytes) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if score != score or b"_" in text:
        raise ValueError(f"a score must be a number, got {_shown(text)}")
    return score


def _shown(text: bytes) -> str:
    return repr(text[:80].decode(errors="replace"))
