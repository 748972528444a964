"""The folder of an ONNX verifier.  In: its path.  Out: checked files, settings, a digest.

Nothing in the folder is run as code. Weights beside the model are read only from inside the folder:
where they are is found here, in the model's own protobuf messages, and not left to who loads it.
"""

from __future__ import annotations

import hashlib
import mmap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from rag_eval.errors import InputError
from rag_eval.plumbing.unreadable import unreadable

MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
SETTINGS: Final = "verifier.toml"

_LARGEST: Final = {MODEL: 2 << 30, TOKENIZER: 128 << 20, SETTINGS: 64 << 10}
_DIGEST_DIGITS: Final = 16
_DEEPEST: Final = 100
# By message of onnx.proto the fields that lead to tensors, and the message that each of them is.
_MESSAGES: Final[Mapping[str, Mapping[int, str]]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
_LENGTH: Final = 2
_SIZES: Final = {1: 8, 5: 4}
# A location that ONNX Runtime takes for an address in memory.
_ADDRESS: Final = "_ORT_MEM_ADDR_"


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What a folder holds.

    Attributes
    ----------
    name : str
        Of the folder.
    model : Path
    tokenizer : str
        The tokenizer as JSON.
    settings : dict
        Those of ``verifier.toml``; empty without one.
    digest : str
        Of the bytes of model, weights beside it, and tokenizer.
    """

    name: str
    model: Path
    tokenizer: str
    settings: dict[str, Any]
    digest: str


def read_folder(path: Path) -> ModelFolder:
    """The files of a verifier's folder.

    Raises
    ------
    InputError
        If one is missing, too large, or damaged, or if weights are outside the folder.
    """
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise InputError(
            f"the verifier's folder {path} {what}. Name a folder with {MODEL} and {TOKENIZER}"
        )
    for name, hint in (
        (MODEL, "export the model to ONNX, for instance with optimum-cli export onnx"),
        (TOKENIZER, "it comes with the model's weights; save it beside the model"),
    ):
        if not (path / name).is_file():
            raise InputError(f"the verifier's folder {path} has no {name}: {hint}")
    for name, most in _LARGEST.items():
        if (path / name).is_file() and (path / name).stat().st_size > most:
            raise InputError(f"{path / name} is larger than {most:,} bytes, which is the limit")
    try:
        tokenizer = (path / TOKENIZER).read_bytes()
        weights = sorted(_weights(path))
        digest = hashlib.sha256(tokenizer)
        for file in (path / MODEL, *weights):
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return ModelFolder(
            path.resolve().name,
            path / MODEL,
            tokenizer.decode("utf-8"),
            _settings(path / SETTINGS),
            digest.hexdigest()[:_DIGEST_DIGITS],
        )
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise InputError(f"{path / TOKENIZER} is not UTF-8") from None


def _settings(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None


def _weights(folder: Path) -> set[Path]:
    """The files beside a model that hold some of its weights."""
    path = folder / MODEL
    with path.open("rb") as stream:
        try:
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise InputError(f"{path} is empty") from None
        with content, memoryview(content) as whole:
            try:
                places = list(_locations(whole, "model", 0, len(whole), 0))
            except (IndexError, ValueError):
                raise InputError(f"{path} is damaged, or not an ONNX model") from None
    return {_inside(folder, path, place) for place in set(places)}


def _inside(folder: Path, model: Path, place: str) -> Path:
    def refuse(fault: str) -> NoReturn:
        raise InputError(
            f"{model} has weights in {place!r:.200}, {fault}. Keep all files of a model in its "
            "folder"
        )

    if _ADDRESS in place or "\0" in place or not place:
        refuse("which is no file")
    # In a download cache the model itself is a link, and its weights are beside what it leads to.
    roots = (folder.resolve(), model.resolve().parent)
    found = (folder / place).resolve()
    if not any(found.is_relative_to(root) for root in roots):
        refuse("outside its folder")
    if not found.is_file():
        refuse("which does not exist")
    return found


# ------------------------------------------------------------------------------- protobuf


def _locations(data: memoryview, message: str, begin: int, end: int, depth: int) -> Iterator[str]:
    """The ``location`` entries of the external data of all tensors below a message.

    Raises
    ------
    IndexError, ValueError
        If it is not such a message.
    """
    if depth > _DEEPEST:
        raise ValueError("nested too deep")
    inner = _MESSAGES[message]
    for number, low, high in _fields(data, begin, end):
        kind = inner.get(number)
        if kind == "entry":
            entry = {key: bytes(data[first:last]) for key, first, last in _fields(data, low, high)}
            if entry.get(1) == b"location":
                yield entry.get(2, b"").decode("utf-8")
        elif kind is not None:
            yield from _locations(data, kind, low, high, depth + 1)


def _fields(data: memoryview, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Number, begin and end of each field of a message that has a length; others are skipped."""
    at = begin
    while at < end:
        key, at = _varint(data, at, end)
        kind = key & 7
        if kind == 0:
            _, at = _varint(data, at, end)
            continue
        if kind == _LENGTH:
            size, at = _varint(data, at, end)
        else:
            size = _SIZES.get(kind, end)
        if at + size > end:
            raise ValueError("a field ends after its message")
        if kind == _LENGTH:
            yield key >> 3, at, at + size
        at += size


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number does not end")
