"""A random draw of rows in; a table to label, with all that an estimate needs, out.

Every row says how it was drawn, so the table can be sorted, have its columns reordered and be saved
by a spreadsheet, and needs no second file.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.inputs.byte_files import BOM, plain_name, source_name
from rag_eval.inputs.tables import table_rows
from rag_eval.plumbing import json_text
from rag_eval.plumbing.csv_cells import guarded_cell
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.plumbing.json_records import record_json

DESIGNS: Final = ("uniform", "proportional", "strata")
"""Sampling designs with known probabilities."""

COLUMNS: Final = (
    "id",
    "label",
    "inclusion_probability",
    "stratum",
    "score",
    "design",
    "seed",
    "n_rows",
    "n_drawn",
    "drawn_by",
    "drawn_from",
    "ids_digest",
)
_OF_DRAW: Final = COLUMNS[5:]
_SHARED: Final = ("design", "seed", "n_rows", "n_drawn", "ids_digest")
HOW_TO_DRAW: Final = (
    "draw rows with rag-eval labels sample N SCORES --output NEW_FILE, then label them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelDraw:
    """Rows that were drawn for labelling.

    Attributes
    ----------
    design : {"uniform", "proportional", "strata"}
    seed : int
    n_rows : int
        Number of rows to draw from.
    n_drawn : int
        Number of drawn rows, whether or not they are still in the table.
    ids_digest : str
        Digest of the ids of all rows, see :func:`ids_digest`.
    probabilities : mapping of str to float
        Inclusion probability of each drawn row, by id.
    strata : mapping of str to str, or None
        Stratum of each drawn row, by id.
    scores : mapping of str to float or None
        Scores at the time of the draw.
    drawn_by : str or None
        The metric behind the probabilities or strata.
    drawn_from : str
        The file of scores.
    """

    design: str
    seed: int
    n_rows: int
    n_drawn: int
    ids_digest: str
    probabilities: Mapping[str, float] = field(repr=False)
    strata: Mapping[str, str] | None = field(default=None, repr=False)
    scores: Mapping[str, float | None] = field(default_factory=dict, repr=False)
    drawn_by: str | None = None
    drawn_from: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, without the rows."""
        return record_json(self, without=("probabilities", "strata", "scores"))


def ids_digest(ids: Iterable[str]) -> str:
    """A digest of the ids of a file that does not depend on their order."""
    digest = hashlib.sha256()
    for name in sorted(ids):
        data = name.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    # Letters first: a spreadsheet reads digits with an e as a number.
    return f"ids-{digest.hexdigest()[:16]}"


# ------------------------------------------------------------------------------------- writing


def write_draw(
    draw: LabelDraw,
    path: str | Path,
    *,
    id_field: str = "id",
    texts: Mapping[str, Sequence[str | None]] | None = None,
) -> None:
    """Write a table with a column of labels to fill in: JSON lines or CSV, by file name.

    Parameters
    ----------
    draw : LabelDraw
    path : path
        A new file: existing labels are never overwritten.
    id_field : str
    texts : mapping of str to sequence of str, optional
        Further columns, with a value per drawn row.

    Raises
    ------
    InputError
    """
    target, columns = Path(path), (id_field, *COLUMNS[1:])
    if target.exists():
        raise InputError(
            f"{target} already exists, and labels in it would be lost; choose another file name"
        )
    is_csv = plain_name(target).endswith(".csv")
    if not is_csv and not plain_name(target).endswith((".jsonl", ".ndjson")):
        raise InputError(f"{target}: the file name must end in .csv or .jsonl")
    texts = texts or {}
    if taken := [name for name in texts if name in columns]:
        raise InputError(f"the column name {taken[0]!r} is reserved for the draw")
    rows = [
        {**row, **{name: values[place] for name, values in texts.items()}}
        for place, row in enumerate(_rows(draw, id_field))
    ]
    # Without a byte order mark, spreadsheets assume the code page of the machine.
    packed = BOM + _csv_bytes([*columns, *texts], rows, target) if is_csv else b""
    with atomic_file(target) as file:
        if is_csv:
            file.write(packed)
        else:
            file.writelines(json_text.dumps(row) + b"\n" for row in rows)


def _rows(draw: LabelDraw, id_field: str) -> list[dict[str, Any]]:
    return [
        {
            id_field: name,
            "label": None,
            "inclusion_probability": probability,
            "stratum": None if draw.strata is None else draw.strata[name],
            "score": draw.scores.get(name),
            **{each: getattr(draw, each) for each in _OF_DRAW},
        }
        for name, probability in draw.probabilities.items()
    ]


def _csv_bytes(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], target: Path) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(map(_cell, columns))
    writer.writerows([_cell(row[name]) for name in columns] for row in rows)
    try:
        return text.getvalue().encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{target}: an id or a text contains a lone surrogate, which CSV cannot hold; use a "
            "file name that ends in .jsonl"
        ) from None


def _cell(value: Any) -> Any:
    return guarded_cell(value) if isinstance(value, str) else value


# ------------------------------------------------------------------------------------- reading


def read_draw(path: str | Path, *, id_field: str = "id") -> LabelDraw:
    """How the rows of a table of labels were drawn.

    The order of rows and columns does not matter, and other columns are ignored. A row that two
    annotators labelled counts once.

    Raises
    ------
    InputError
        When rows have no inclusion probability, were not chosen at random, or come from different
        draws.
    """
    source = source_name(path)
    shared: dict[str, str] | None = None
    probabilities: dict[str, float] = {}
    strata: dict[str, str] = {}
    first: Mapping[str, Any] = {}
    for place, row in table_rows(path):
        where = f"{source}, {place}"
        found = _shared_of(row, where)
        if shared is None:
            shared, first = found, row
        elif found != shared:
            name = next(name for name in _SHARED if found[name] != shared[name])
            raise InputError(
                f"{where}: {name} is {found[name]!r:.80}, and {shared[name]!r:.80} above: "
                "these rows are from two draws"
            )
        name = _text(row, id_field, where)
        probability = _probability(row, where)
        if probabilities.setdefault(name, probability) != probability:
            raise InputError(
                f"{where}: {id_field} {name!r} has two different inclusion probabilities"
            )
        strata[name] = str(row.get("stratum") or "")
    if shared is None:
        raise InputError(f"{source} has no rows; {HOW_TO_DRAW}")
    n_drawn = _whole(shared, "n_drawn", source)
    if len(probabilities) > n_drawn:
        raise InputError(
            f"{source} has {len(probabilities):,} rows, but {n_drawn:,} were drawn: rows that "
            "were added later are not a random sample"
        )
    return LabelDraw(
        design=shared["design"],
        seed=_whole(shared, "seed", source),
        n_rows=_whole(shared, "n_rows", source),
        n_drawn=n_drawn,
        ids_digest=shared["ids_digest"],
        probabilities=probabilities,
        strata=_strata(strata, source) if shared["design"] == "strata" else None,
        drawn_by=str(first.get("drawn_by") or "") or None,
        drawn_from=str(first.get("drawn_from") or ""),
    )


def _shared_of(row: Mapping[str, Any], where: str) -> dict[str, str]:
    """The fields that all rows of a draw share; rows that were not drawn at random are an error."""
    design = str(row.get("design") or "").strip()
    if design and design not in DESIGNS:
        raise InputError(
            f"{where}: rows were chosen by {design!r:.80}, not at random, so they do not "
            f"represent the others; {HOW_TO_DRAW}"
        )
    missing = [name for name in ("inclusion_probability", *_SHARED) if row.get(name) in (None, "")]
    if missing:
        raise InputError(
            f"{where}: {missing[0]} is missing. An estimate needs labels of rows that were drawn "
            f"at random; {HOW_TO_DRAW}"
        )
    return {name: str(row[name]).strip() for name in _SHARED}


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if value is None or value == "" or isinstance(value, (bool, float, list, dict)):
        raise InputError(f"{where}: {name} must be a string or a whole number, got {glance(value)}")
    return str(value)


def _probability(row: Mapping[str, Any], where: str) -> float:
    value = row["inclusion_probability"]
    try:
        # Spreadsheets of many countries write a decimal comma.
        found = float(value.replace(",", ".") if isinstance(value, str) else value)
    except (TypeError, ValueError):
        found = -1.0
    if isinstance(value, bool) or not 0 < found <= 1:
        raise InputError(
            f"{where}: inclusion_probability must be above 0 and at most 1, got {glance(value)}"
        )
    return found


def _whole(shared: Mapping[str, str], name: str, source: str) -> int:
    try:
        found = float(shared[name])
    except ValueError:
        found = -1.0
    if found < 0 or found != int(found):
        raise InputError(f"{source}: {name} must be a whole number, got {shared[name]!r:.80}")
    return int(found)


def _strata(strata: Mapping[str, str], source: str) -> Mapping[str, str]:
    for name, stratum in strata.items():
        if not stratum:
            raise InputError(f"{source}: row {name!r} has no stratum, but the draw has strata")
    return strata
