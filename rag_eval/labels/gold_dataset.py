"""A gold dataset of omk (a folder of YAML files) in; the scores of one annotator out.

One file has ``metadata`` on who labelled and when; any number of files have ``annotations``.
Invalid parts are skipped and listed; the rest is read. Parts that omk passes over without a word
are warned of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rag_eval.errors import InputError, glance
from rag_eval.inputs.checked_records import described
from rag_eval.inputs.yaml_files import MOST_BYTES, YamlDate, load_yaml
from rag_eval.plumbing.checked_values import is_number
from rag_eval.plumbing.json_records import JsonRecord

_SUFFIXES: Final = (".yaml", ".yml")
_TEXTS: Final = ("annotator", "annotatedAt", "version")


@dataclass(frozen=True, slots=True)
class GoldIssue(JsonRecord):
    """A part of a gold dataset that could not be read.

    Attributes
    ----------
    file : str
        File name in the folder; ``.`` for the whole dataset.
    index : int or None
        Index among the annotations of the file, from 0.
    message : str
    """

    file: str
    index: int | None
    message: str

    def __str__(self) -> str:
        place = "" if self.index is None else f", annotations[{self.index}]"
        return f"{'the folder' if self.file == '.' else self.file}{place}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldMetadata:
    """Who labelled, when, and on what scale.

    Attributes
    ----------
    annotator, annotated_at, version : str
        Not empty.
    scale : tuple of float or None
        Smallest and largest score.
    notes : str
    """

    annotator: str
    annotated_at: str
    version: str
    scale: tuple[float, float] | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """The score that the annotator gave a sample."""

    sample_id: str
    score: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GoldDataset:
    """The scores of one annotator, each sample once."""

    metadata: GoldMetadata
    annotations: tuple[Annotation, ...]


@dataclass(frozen=True, slots=True)
class GoldReading:
    """The contents of a folder.

    Attributes
    ----------
    dataset : GoldDataset or None
        None without metadata or without any annotation.
    issues : tuple of GoldIssue
        Parts that were skipped.
    warnings : tuple of str
        Parts that were read but look like mistakes.
    """

    dataset: GoldDataset | None
    issues: tuple[GoldIssue, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is a dataset and nothing was skipped."""
        return self.dataset is not None and not self.issues


def read_gold_dataset(folder: str | Path) -> GoldReading:
    """Read the ``.yaml`` and ``.yml`` files of a folder, in the order of their names.

    Annotations of all files are joined. A score outside the scale is kept, with a warning.
    Versions, dates and ids must be texts: in omk a bare ``1`` is a number, and a bare
    ``2026-01-31`` a date.

    Raises
    ------
    InputError
        When the folder does not exist.
    MissingExtraError
        Without PyYAML.
    """
    path = Path(folder)
    if not path.is_dir():
        raise InputError(
            f"{folder}: folder not found; a gold dataset of omk is a folder of YAML files"
        )
    reader = _Reader()
    for file in sorted(path.iterdir(), key=lambda one: one.name):
        if file.name.endswith(_SUFFIXES) and file.is_file():
            reader.take_file(file)
    return reader.reading()


@dataclass(slots=True)
class _Reader:
    metadata: GoldMetadata | None = None
    annotations: dict[str, Annotation] = field(default_factory=dict)
    issues: list[GoldIssue] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    n_files: int = 0

    def take_file(self, file: Path) -> None:
        self.n_files += 1
        try:
            document = load_yaml(_text(file), file.name, finite=False, dates=True)
        except InputError as error:
            self._note(file.name, None, str(error).removeprefix(file.name).lstrip(",: "))
            return
        if isinstance(document, list):
            self.warnings.append(
                f"{file.name}: ignored, because it is a list; annotations belong under the key "
                "annotations"
            )
        elif not isinstance(document, Mapping):
            self._note(file.name, None, f"must be a mapping, got {described(document)}")
        else:
            self._take(document, file.name)

    def _take(self, document: Mapping[str, Any], name: str) -> None:
        if not document.keys() & {"metadata", "annotations"}:
            self.warnings.append(
                f"{name}: ignored, because it has neither metadata nor annotations"
            )
        metadata = document.get("metadata")
        if metadata or isinstance(metadata, (dict, list)):
            self._take_metadata(metadata, name)
        elif "metadata" in document:
            self.warnings.append(f"{name}: metadata is ignored, because it is empty")
        entries = document.get("annotations", [])
        if not isinstance(entries, list):
            self.warnings.append(
                f"{name}: annotations is ignored, because it is not a list but {described(entries)}"
            )
            return
        for index, entry in enumerate(entries):
            self._take_annotation(entry, name, index)

    def _take_metadata(self, value: object, name: str) -> None:
        if self.metadata is not None:
            self._note(name, None, "metadata is repeated; an earlier file has it already")
            return
        faults = _metadata_faults(value)
        if faults:
            self._note(name, None, "; ".join(faults))
            return
        assert isinstance(value, Mapping)
        blank = [key for key in _TEXTS if not value[key].strip()]
        self.warnings += [f"{name}: metadata.{key} is blank" for key in blank]
        scale, notes = value.get("scale"), value.get("notes")
        self.metadata = GoldMetadata(
            annotator=value["annotator"],
            annotated_at=value["annotatedAt"],
            version=value["version"],
            scale=None if scale is None else (float(scale["min"]), float(scale["max"])),
            notes=notes if isinstance(notes, str) else "",
        )

    def _take_annotation(self, entry: object, name: str, index: int) -> None:
        fault = _annotation_fault(entry)
        if fault:
            self._note(name, index, fault)
            return
        assert isinstance(entry, Mapping)
        sample_id, reason = entry["sample_id"], entry.get("reason")
        if sample_id in self.annotations:
            self._note(name, index, f"sample {glance(sample_id)} already has a score")
            return
        if not sample_id.strip():
            self.warnings.append(f"{name}, annotations[{index}]: sample_id is blank")
        self.annotations[sample_id] = Annotation(
            sample_id, float(entry["score"]), reason if isinstance(reason, str) else ""
        )

    def reading(self) -> GoldReading:
        if not self.n_files:
            self._note(
                ".", None, "there is no YAML file; metadata.yaml and annotations.yaml belong here"
            )
        else:
            self._note_what_is_missing()
        if self.metadata is None or not self.annotations:
            return GoldReading(None, tuple(self.issues), tuple(self.warnings))
        dataset = GoldDataset(self.metadata, tuple(self.annotations.values()))
        return GoldReading(dataset, tuple(self.issues), (*self.warnings, *_scale_warnings(dataset)))

    def _note_what_is_missing(self) -> None:
        if self.metadata is None:
            self._note(".", None, "no valid metadata in any file")
        if not self.annotations:
            is_tried = any(issue.index is not None for issue in self.issues)
            empty = "no valid annotations in any file" if is_tried else "there are no labels yet"
            self._note(".", None, f"{empty}; add them to annotations.yaml")

    def _note(self, file: str, index: int | None, message: str) -> None:
        self.issues.append(GoldIssue(file, index, message))


def _text(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        data.decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start:,}") from None
    return data


def _metadata_faults(value: object) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"metadata must be a mapping, got {described(value)}"]
    faults = [
        _text_fault(f"metadata.{key}", value.get(key))
        for key in _TEXTS
        if not isinstance(value.get(key), str) or not value[key]
    ]
    scale = value.get("scale")
    if scale is not None and not (
        isinstance(scale, Mapping) and all(is_number(scale.get(end)) for end in ("min", "max"))
    ):
        faults.append(f"metadata.scale must have the numbers min and max, got {described(scale)}")
    elif scale is not None and scale["max"] <= scale["min"]:
        faults.append(
            "metadata.scale.max must be greater than metadata.scale.min, "
            f"got {scale['min']:g} to {scale['max']:g}"
        )
    return faults


def _text_fault(name: str, value: object) -> str:
    if value == "":
        return f"{name} is empty; fill it in"
    found = f"the date {value.text}" if isinstance(value, YamlDate) else described(value)
    hint = "; write it in quotes" if isinstance(value, YamlDate) or is_number(value) else ""
    return f"{name} must be a non-empty string, got {found}{hint}"


def _annotation_fault(entry: object) -> str:
    if not isinstance(entry, Mapping):
        return f"must be a mapping of sample_id and score, got {described(entry)}"
    name, score = entry.get("sample_id"), entry.get("score")
    if not isinstance(name, str) or not name:
        return _text_fault("sample_id", name)
    if not is_number(score):
        return f"score of {glance(name)} must be a number, got {described(score)}"
    return ""


def _scale_warnings(dataset: GoldDataset) -> list[str]:
    scale = dataset.metadata.scale
    if scale is None:
        return []
    low, high = scale
    outside = [one for one in dataset.annotations if not low <= one.score <= high]
    if not outside:
        return []
    first = outside[0]
    return [
        f"{len(outside):,} scores are outside the scale {low:g} to {high:g}, first that of "
        f"{glance(first.sample_id)}: {first.score:g}"
    ]
