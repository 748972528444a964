"""Results in; their rows one at a time, and their summaries, out.

Every form is read that this library or rag-eval-node-ts writes: a JSON value with rows and summary,
or one of the two, rows as JSON lines, tables of scores, committed baselines. Of a file of lines no
more than a row is in memory, of a file that is one value its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from rag_eval.errors import InputError, glance
from rag_eval.inputs.byte_files import ByteFile, file_bytes, opened_bytes, plain_name, source_name
from rag_eval.inputs.file_lines import FileLines
from rag_eval.inputs.file_states import unchanged
from rag_eval.inputs.named_files import COLUMNS
from rag_eval.inputs.schemas.synonyms import meaning_of
from rag_eval.inputs.tables import rows_of, table_rows
from rag_eval.metrics.registry import to_metric_id
from rag_eval.plumbing import json_text
from rag_eval.plumbing.descriptors import descriptor_of, is_standard_input

_TABLE_FILES: Final = (".jsonl", ".ndjson", ".csv")
HOW_TO: Final = "to write a result file: rag-eval run DATA --output results.json"

# A file as this library writes it, a row a line: of a hundred thousand rows with their texts the
# whole would not fit in half a gigabyte.
_HEAD: Final = b'{"results":[\n'
_END: Final = b"],"

# Fields that a file has once, and a row never.
_DOCUMENT: Final = {"results", "aggregates", "baseline"}

# What else comes through a pipe; both need a file, or to be unpacked by another program.
_NOT_TEXT: Final = {
    b"PAR1": "Parquet, which can only be read from a file: give its name",
    b"ARRO": "Arrow, which can only be read from a file: give its name",
    b"\x1f\x8b": "gzip data: unpack it first, with gzip -dc",
    b"\x28\xb5\x2f\xfd": "zstd data: unpack it first, with zstd -dc",
}

_Undecoded: TypeAlias = Iterator[tuple[str, Any]]
_decode = msgspec.json.Decoder().decode
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class MissingIdsError(InputError):
    """A run has no ids by which its rows could be found again."""


class SummaryAloneError(MissingIdsError):
    """A file has a summary but no rows."""


class ResultFile:
    """A file of results, standard input, or the text of a result file.

    Attributes
    ----------
    source : str
        How messages call it.
    said : dict
        What it says beside its rows, known when all have been read; empty in a file of rows alone.
    is_baseline : bool
        A committed baseline, known with its first row.

    Parameters
    ----------
    source : path or bytes
        ``.json``, ``.jsonl``, ``.ndjson`` or ``.csv``, also with ``.gz`` or ``.zst``; ``-`` for
        standard input, which may hold the same, not packed; or the text itself.
    """

    def __init__(self, source: str | Path | bytes) -> None:
        self.source = "the text given" if isinstance(source, bytes) else source_name(source)
        self.said: dict[str, Any] = {}
        self.is_baseline = False
        self._given = source
        self._pipe: bytes | None = None

    @classmethod
    def of(cls, source: str | Path | ResultFile) -> ResultFile:
        """The file of a name, or the one given."""
        return source if isinstance(source, ResultFile) else cls(source)

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Its rows in order, with the places that messages call them by.

        Raises
        ------
        InputError
            When it cannot be read, or is no file of results.
        """
        for place, row in self._undecoded():
            found = row if type(row) is dict else _value(row, f"{self.source}, {place}")
            if not isinstance(found, dict):
                raise InputError(f"{self.source}, {place} must be an object, got {glance(found)}")
            yield place, found

    def result_rows(self, *, needed: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
        """The same, of a file whose rows have texts and explanations.

        Raises
        ------
        InputError
            For one with scores alone; and for one without rows, where they are ``needed``.
        """
        if self.is_columns:
            raise self._scores_alone(self.source)
        place = ""
        for place, row in self.rows():
            if not isinstance(row.get("metrics"), Mapping):
                raise self._without_metrics(place, row)
            yield place, row
        if not place and self.is_baseline:
            raise self._scores_alone(self.source)
        if not place and (needed or "aggregates" not in self.said):
            raise self.without_rows()

    def n_rows(self) -> int:
        """How many rows there are; none is decoded, and ``said`` is known afterwards."""
        return sum(1 for _ in self._undecoded())

    @property
    def is_columns(self) -> bool:
        """A file of Parquet or Arrow."""
        return self._is_named(COLUMNS)

    @property
    def may_say_more(self) -> bool:
        """Whether its name allows more than rows."""
        return not self._is_named((*COLUMNS, *_TABLE_FILES))

    def _is_named(self, endings: tuple[str, ...]) -> bool:
        given = self._given
        return not isinstance(given, bytes) and plain_name(given).endswith(endings)

    @property
    def _is_piped(self) -> bool:
        given = self._given
        if isinstance(given, bytes):
            return False
        return is_standard_input(given) or descriptor_of(given) is not None

    def without_rows(self) -> InputError:
        """What to raise where rows are needed."""
        if "aggregates" in self.said:
            return SummaryAloneError(f"{self.source} has a summary but no rows; {HOW_TO}")
        return InputError(f"{self.source} has no rows; {HOW_TO}")

    def _without_metrics(self, place: str, row: Mapping[str, Any]) -> InputError:
        fields = {meaning.field for name in row if (meaning := meaning_of(name)) is not None}
        if fields & {"question", "answer", "contexts"} and not any(map(_is_metric, row)):
            return SamplesNotScoresError(self.source)
        return self._scores_alone(f"{self.source}, {place}")

    def _scores_alone(self, where: str) -> InputError:
        return InputError(
            f"{where} has no metrics with explanations. Files of scores alone are read by rag-eval "
            f"gate and compare; {HOW_TO}"
        )

    # --------------------------------------------------------------------------------- forms

    def _undecoded(self) -> _Undecoded:
        given = self._given
        if isinstance(given, bytes):
            return self._unnamed(given)
        if self._is_piped:
            # It can be read only once.
            self._pipe = file_bytes(given) if self._pipe is None else self._pipe
            return self._unnamed(self._pipe)
        name = plain_name(given)
        if name.endswith(".json"):
            return self._json(given)
        if name.endswith(_TABLE_FILES):
            return table_rows(given)
        raise InputError(
            f"{given}: unknown file format. The name must end in {', '.join(_TABLE_FILES)}, .json "
            "(also with .gz or .zst), .parquet or .arrow"
        )

    def _json(self, path: str | Path) -> _Undecoded:
        with unchanged(path), opened_bytes(path) as file:
            if file.head(len(_HEAD)) == _HEAD:
                yield from self._lines(file)
            else:
                yield from self._document(file.content())

    def _unnamed(self, data: bytes) -> _Undecoded:
        """A pipe or a text; its beginning tells the form."""
        for mark, what in _NOT_TEXT.items():
            if data.startswith(mark):
                raise InputError(f"{self.source} contains {what}")
        if data.startswith(_HEAD):
            return self._lines(ByteFile.of(data, self.source))
        if data[:64].lstrip()[:1] not in b"{[":
            return rows_of(ByteFile.of(data, self.source), "unnamed.csv")
        begin = len(data[:64]) - len(data[:64].lstrip())
        end = data.find(b"\n", begin)
        if _is_row(data[begin : end if end >= 0 else len(data)]):
            return rows_of(ByteFile.of(data, self.source), "unnamed.jsonl")
        return self._document(data)

    def _lines(self, file: ByteFile) -> _Undecoded:
        lines = FileLines(file)
        lines.next()
        for number, line in enumerate(lines):
            if line.startswith(_END):
                self.said.update(_value(b"{" + line[len(_END) :], f"the summary of {self.source}"))
                return
            yield f"results[{number}]", line.rstrip().removesuffix(b",")
        raise InputError(
            f"{self.source} is not valid JSON: it ends before its summary. If the file was cut "
            "off, write it again"
        )

    def _document(self, data: bytes) -> _Undecoded:
        """A list of rows, or an object that holds one beside other fields."""
        is_list = data[:64].lstrip()[:1] == b"["
        try:
            found: Any = (_decode_list if is_list else _decode_object)(data)
        except (ValueError, RecursionError):
            # Half a character in a text, which msgspec does not take anywhere in a value.
            try:
                found = _value(data, self.source)
            except InputError as error:
                raise InputError(f"{error}; {HOW_TO}") from None
        name, rows = "", found
        if isinstance(found, dict):
            name, rows = self._rows_beside(found)
        elif not isinstance(found, list):
            raise InputError(f"{self.source} is not a result file: it has no rows; {HOW_TO}")
        del found, data
        for number, row in enumerate(rows):
            yield f"{name}[{number}]" if name else f"row {number + 1}", row

    def _rows_beside(self, found: dict[str, Any]) -> tuple[str, list[Any]]:
        """The rows of an object, whose other fields are noted, and the name they go by."""
        if "metrics" in found and not found.keys() & _DOCUMENT:
            return "row ", [{name: self._plain(name, value) for name, value in found.items()}]
        self.is_baseline = "baseline" in found and "results" not in found
        name, what = ("rows", "baseline") if self.is_baseline else ("results", "result file")
        rows: Any = found.pop(name, [] if "aggregates" in found else None)
        self.said.update({name: self._plain(name, value) for name, value in found.items()})
        if rows is None:
            raise InputError(
                f"{self.source} is not a {what}: it has neither results nor aggregates; {HOW_TO}"
            )
        try:
            return name, rows if isinstance(rows, list) else _decode_list(rows)
        except (TypeError, ValueError):
            given = glance(self._plain(name, rows))
            raise InputError(
                f"{self.source} is not a {what}: {name} must be a list of objects, got {given}"
            ) from None

    def _plain(self, name: str, value: Any) -> Any:
        return _value(value, f"{self.source}, {name}") if isinstance(value, msgspec.Raw) else value


class SamplesNotScoresError(InputError):
    """Scores are needed, and ``source`` has the samples."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"{source} holds samples, not scores. Score them with rag-eval run {source} --output "
            f"results.json, then give results.json instead of {source}"
        )
        self.source = source


def _is_metric(name: str) -> bool:
    try:
        return bool(to_metric_id(name))
    except InputError:
        return False


def _is_row(line: bytes) -> bool:
    """Whether a line is a row by itself, and not a whole file."""
    try:
        found = _decode_object(line)
    except (ValueError, RecursionError):
        return False
    return not found.keys() & _DOCUMENT


def _value(data: Any, where: str) -> Any:
    try:
        try:
            return _decode(data)
        except msgspec.DecodeError:
            return json_text.loads(bytes(data))  # escapes of lone surrogates
    except (ValueError, RecursionError) as error:
        fault = json_text.syntax_fault(error)
        raise InputError(
            f"{where} is not valid JSON: {fault}. The file may be cut off: write or copy it again"
        ) from None
