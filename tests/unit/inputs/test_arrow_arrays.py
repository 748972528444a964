"""The reader of Arrow data: what it takes, gives back, releases, and refuses."""

from __future__ import annotations

import ctypes
import gc
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval._native import arrow_stream, arrow_texts
from rag_eval.errors import InputError
from rag_eval.inputs.arrow.arrays import ArrowSource, open_arrow
from rag_eval.inputs.arrow.blocks import arrow_blocks
from rag_eval.inputs.arrow.texts import texts_of
from rag_eval.inputs.samples import FieldNeeds
from tests.tables import every_row

# ------------------------------------------------------- a producer that says whatever it is told


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
RELEASE_STREAM = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
GET_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Stream))

Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", RELEASE_SCHEMA),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", RELEASE_ARRAY),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", GET_SCHEMA),
    ("get_next", GET_NEXT),
    ("get_last_error", GET_ERROR),
    ("release", RELEASE_STREAM),
    ("private_data", ctypes.c_void_p),
]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def column(
    format_: str,
    length: int,
    /,
    *buffers: bytes | None,
    name: str = "a",
    nulls: int = 0,
    offset: int = 0,
    children: tuple[Any, ...] = (),
    dictionary: Any = None,
    **changed: Any,
) -> dict[str, Any]:
    """Schema and array of a column; ``changed`` are fields of the array that say otherwise."""
    return {
        "format": format_,
        "name": name,
        "length": length,
        "null_count": nulls,
        "offset": offset,
        "buffers": list(buffers),
        "children": list(children),
        "dictionary": dictionary,
        "changed": changed,
    }


def int32(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


def int64(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


def texts(*values: bytes, name: str = "a") -> dict[str, Any]:
    ends = np.cumsum([0, *map(len, values)])
    return column("u", len(values), None, int32(*ends), b"".join(values), name=name)


# Callbacks made in Python go with their producer; those of a library stay as long as its data.
_PRODUCERS: list[Producer] = []


class Producer:
    """A stream of batches of one column or more; counts what is released."""

    def __init__(self, *batches: Any, top: str = "+s", fails_with: str | None = None) -> None:
        self.batches = [batch if isinstance(batch, list) else [batch] for batch in batches]
        self.top = top
        self.fails_with = fails_with
        self.n_read = 0
        self.released: dict[str, int] = {"schema": 0, "array": 0, "stream": 0}
        self._kept: list[Any] = []
        _PRODUCERS.append(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        stream = Stream()
        stream.get_schema = self._keep(GET_SCHEMA(self._get_schema))
        stream.get_next = self._keep(GET_NEXT(self._get_next))
        told = ctypes.create_string_buffer((self.fails_with or "").encode())
        self._keep(told)
        stream.get_last_error = self._keep(
            GET_ERROR(lambda _: ctypes.addressof(told) if self.fails_with else None)
        )
        stream.release = self._keep(self._releaser(RELEASE_STREAM, "stream"))
        self._keep(stream)
        return new_capsule(ctypes.addressof(stream), b"arrow_array_stream", None)

    def _keep(self, thing: Any) -> Any:
        self._kept.append(thing)
        return thing

    def _releaser(self, kind: Any, name: str) -> Any:
        def release(released: Any) -> None:
            assert released.contents.release  # callbacks look whether it was done before
            self.released[name] += 1
            released.contents.release = kind()

        return kind(release)

    def _get_schema(self, _: Any, out: Any) -> int:
        columns = self.batches[0] if self.batches else []
        self._fill_schema(out.contents, column(self.top, 0, children=tuple(columns), name=""))
        out.contents.release = self._keep(self._releaser(RELEASE_SCHEMA, "schema"))
        return 0

    def _get_next(self, _: Any, out: Any) -> int:
        if self.n_read == len(self.batches):
            out.contents.release = RELEASE_ARRAY()
            return 22 if self.fails_with else 0
        columns = self.batches[self.n_read]
        self.n_read += 1
        length = columns[0]["length"] if columns else 0
        self._fill_array(out.contents, column(self.top, length, None, children=tuple(columns)))
        out.contents.release = self._keep(self._releaser(RELEASE_ARRAY, "array"))
        return 0

    def _fill_schema(self, out: Any, made: dict[str, Any]) -> None:
        out.format = self._keep(made["format"].encode())
        out.name = self._keep(made["name"].encode())
        children = [Schema() for _ in made["children"]]
        for child, inner in zip(children, made["children"], strict=True):
            self._fill_schema(child, inner)
        out.n_children = len(children)
        out.children = self._pointers(Schema, children)
        if made["dictionary"] is not None:
            values = self._keep(Schema())
            self._fill_schema(values, made["dictionary"])
            out.dictionary = ctypes.pointer(values)

    def _fill_array(self, out: Any, made: dict[str, Any]) -> None:
        out.length, out.null_count, out.offset = (
            made[name] for name in ("length", "null_count", "offset")
        )
        addresses = []
        for content in made["buffers"]:
            # A copy, which ends where the content does: bytes have a NUL more.
            kept = content and self._keep(np.frombuffer(content, np.uint8).copy())
            # Empty buffers have an address too.
            addresses.append(None if kept is None else kept.ctypes.data if len(kept) else 8)
        sizes = made["changed"].get("variadic")
        if sizes is not None:
            addresses.append(self._keep(np.array(sizes, np.int64)).ctypes.data)
        out.n_buffers = len(addresses)
        out.buffers = self._keep((ctypes.c_void_p * max(1, len(addresses)))(*addresses))
        children = [Array() for _ in made["children"]]
        for child, inner in zip(children, made["children"], strict=True):
            self._fill_array(child, inner)
        out.n_children = len(children)
        out.children = self._pointers(Array, children)
        if made["dictionary"] is not None:
            values = self._keep(Array())
            self._fill_array(values, made["dictionary"])
            out.dictionary = ctypes.pointer(values)
        for name, value in made["changed"].items():
            if name != "variadic":
                setattr(out, name, value)

    def _pointers(self, kind: Any, items: list[Any]) -> Any:
        pointers = (ctypes.POINTER(kind) * max(1, len(items)))(*map(ctypes.pointer, items))
        self._kept += [pointers, items]
        return pointers


# -------------------------------------------------------------------------- release and errors


def test_each_batch_is_released_once_when_its_last_part_goes() -> None:
    producer = Producer(texts(b"a", b"b"), texts(b"c"))
    blocks = list(arrow_blocks(open_arrow(producer), {"answer": "a"}))
    gc.collect()
    assert producer.released == {"schema": 1, "array": 0, "stream": 1}
    picked = blocks[0].taken([0])
    del blocks
    gc.collect()
    assert producer.released["array"] == 1
    assert picked.sample(0) == {"answer": "a"}
    del picked
    gc.collect()
    assert producer.released == {"schema": 1, "array": 2, "stream": 1}


def test_buffers_keep_their_batch() -> None:
    producer = producer_of("Paris.")
    node = arrow_stream.open_stream(producer.__arrow_c_stream__()).next()
    assert node is not None
    buffer = node.child(0).buffer(2, 6)
    del node
    gc.collect()
    assert producer.released == {"schema": 0, "array": 0, "stream": 1}
    assert bytes(buffer) == b"Paris."
    assert buffer.readonly
    del buffer
    gc.collect()
    assert producer.released["array"] == 1


def producer_of(*values: str) -> Producer:
    return Producer(texts(*(value.encode() for value in values)))


def test_a_stream_that_is_closed_in_the_middle() -> None:
    producer = Producer(texts(b"a"), texts(b"b"), texts(b"c"))
    blocks = arrow_blocks(open_arrow(producer), {"answer": "a"})
    with closing(blocks):  # type: ignore[type-var]  # a generator
        kept = next(blocks)
    assert producer.n_read == 1
    assert producer.released == {"schema": 1, "array": 0, "stream": 1}
    assert kept.values("a") == ["a"]
    del kept, blocks
    gc.collect()
    assert producer.released["array"] == 1


def test_a_stream_that_nobody_reads() -> None:
    producer = producer_of("a")
    source = open_arrow(producer)
    assert producer.released["stream"] == 0
    del source
    gc.collect()
    assert producer.released == {"schema": 1, "array": 0, "stream": 1}


def test_an_error_of_the_producer() -> None:
    producer = Producer(texts(b"a"), fails_with="the disk is gone")
    batches = open_arrow(producer).batches()
    assert len(next(batches)) == 1
    with pytest.raises(InputError, match=r"^cannot read Producer as Arrow data: the disk is gone$"):
        next(batches)
    assert producer.released["stream"] == 1


def test_the_stream_itself() -> None:
    producer = producer_of("a")
    capsule = producer.__arrow_c_stream__()
    stream = arrow_stream.open_stream(capsule)
    with pytest.raises(ValueError, match="was read before"):
        arrow_stream.open_stream(capsule)
    with pytest.raises(TypeError, match="wanted a capsule of the kind 'arrow_array_stream'"):
        arrow_stream.open_stream(object())
    with pytest.raises(TypeError, match="wanted a capsule of the kind 'arrow_schema'"):
        arrow_stream.open_array(capsule, capsule)
    schema = stream.schema()
    assert (schema.format, schema.name, schema.nullable) == ("+s", "", False)
    assert [(child.format, child.name) for child in schema.children] == [("u", "a")]
    assert schema.dictionary is None
    assert stream.next() is not None
    assert stream.next() is None
    stream.close()
    stream.close()
    assert producer.released["stream"] == 1
    for call in (stream.schema, stream.next):
        with pytest.raises(ValueError, match="is closed"):
            call()
    failing = arrow_stream.open_stream(Producer(fails_with="no").__arrow_c_stream__())
    with pytest.raises(OSError, match="no") as raised:
        failing.next()
    assert raised.value.errno == 22


def test_a_stream_cannot_be_read_while_it_is_read() -> None:
    producer = producer_of("a")
    raised: list[str] = []
    get_next = producer._get_next

    def reads_itself(_: Any, out: Any) -> int:
        for call in (stream.next, stream.schema, stream.close):
            try:
                call()
            except ValueError as error:
                raised.append(str(error))
        return get_next(_, out)

    producer._get_next = reads_itself  # type: ignore[method-assign]
    stream = arrow_stream.open_stream(producer.__arrow_c_stream__())
    assert stream.next() is not None
    assert raised == ["the Arrow stream is being read in another thread"] * 3
    stream.close()  # the producer refers to it, and would go first


def test_nodes_that_python_makes_are_empty() -> None:
    node = arrow_stream.ArrayNode()
    assert (node.length, node.offset, node.null_count, node.n_buffers) == (0, 0, 0, 0)
    assert node.address(0) == 0
    assert bytes(node.buffer(0, 10)) == b""
    for call in (node.dictionary, lambda: node.child(0)):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(ValueError, match="closed"):
        arrow_stream.ArrowStream().next()


def test_what_is_no_table() -> None:
    with pytest.raises(InputError, match="expected Arrow data, got int"):
        open_arrow(3)
    with pytest.raises(InputError, match=r"must be a table, got a single column of type string"):
        open_arrow(Producer(top="u"))

    class Broken:
        def __arrow_c_stream__(self) -> Any:
            raise RuntimeError("there is no connection")

    with pytest.raises(InputError, match="cannot read Broken as Arrow data: there is no conn"):
        open_arrow(Broken())

    class Wrong:
        def __arrow_c_array__(self) -> Any:
            return (1, 2)

    with pytest.raises(InputError, match="cannot read Wrong as Arrow data: wanted a capsule"):
        open_arrow(Wrong())


def test_a_schema_without_end() -> None:
    made = texts(b"a")
    for _ in range(100):
        made = column("+s", 1, None, children=(made,))
    with pytest.raises(InputError, match="nested more than 64 deep"):
        open_arrow(Producer(made))


# ------------------------------------------------------------------------------------- paths


def test_paths() -> None:
    pa = pytest.importorskip("pyarrow")
    inner = pa.struct([("text", pa.string()), ("more", pa.list_(pa.string()))])
    schema = pa.schema(
        [
            ("id", pa.int8()),
            ("row", pa.struct([("answer", pa.string()), ("deep", pa.struct([("x", pa.int8())]))])),
            ("docs", pa.large_list(inner)),
            ("lists", pa.list_(pa.list_(inner))),
            ("row.answer", pa.string()),
            ("plain", pa.list_view(pa.string())),
            ("kind", pa.dictionary(pa.int8(), pa.string())),
        ]
    )
    source = open_arrow(schema.empty_table())
    assert source.paths() == [
        *("id", "row.answer", "row.deep.x", "docs[].text", "docs[].more"),
        *("lists", "plain", "kind"),
    ]
    assert source.path("row.deep.x").members == (1, 1, 0)
    assert source.path("docs[].more") == (
        "docs[].more",
        source.path("docs[].more").schema,
        (2,),
        (1,),
    )
    assert source.has("row")
    assert not source.has("answer")
    with pytest.raises(InputError, match=r"there are 2 columns 'row\.answer'"):
        source.path("row.answer")
    with pytest.raises(InputError, match=r"no column 'roww'; did you mean 'row'\? \(columns: id, "):
        source.path("roww")
    assert isinstance(source, ArrowSource)
    assert sum(map(len, source.batches())) == 0


# -------------------------------------------------------------------------- data that is broken


def view(text: bytes, buffer: int = 0, offset: int = 0, length: int | None = None) -> bytes:
    n_bytes = len(text) if length is None else length
    if n_bytes <= 12:
        return struct.pack("<i12s", n_bytes, text)
    return struct.pack("<i4sii", n_bytes, text[:4], buffer, offset)


LONG = b"more than twelve bytes"
GOOD: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "string": (texts(b"a", b"", b"bc"), ["a", "", "bc"]),
    "offset": (column("u", 2, None, int32(9, 1, 2, 4), b"xabc", offset=1), ["a", "bc"]),
    "large": (column("U", 2, None, int64(0, 1, 3), b"abc"), ["a", "bc"]),
    "nulls": (column("u", 3, b"\x05", int32(0, 1, 2, 3), b"abc", nulls=1), ["a", None, "c"]),
    "counted by nobody": (
        column("u", 3, b"\x05", int32(0, 1, 2, 3), b"abc", nulls=-1),
        ["a", None, "c"],
    ),
    "no rows": (column("u", 0, None, None, None), []),
    "all empty": (column("u", 2, None, int32(0, 0, 0), None), ["", ""]),
    "views": (
        column(
            "vu", 3, None, view(b"a") + view(LONG, 0, 2) + view(b""), b"xx" + LONG, variadic=[24]
        ),
        ["a", LONG.decode(), ""],
    ),
    "views without buffers": (column("vu", 1, None, view(b"a"), variadic=[]), ["a"]),
    "codes": (
        column("c", 3, b"\x05", b"\x01\x77\x00", nulls=1, dictionary=texts(b"x", b"yz")),
        ["yz", None, "x"],
    ),
    "codes of nothing": (
        column("i", 2, b"\x00", int32(5, -1), nulls=2, dictionary=texts()),
        [None, None],
    ),
    "list": (
        column("+l", 2, None, int32(0, 2, 3), children=(texts(b"a", b"b", b"c"),)),
        [["a", "b"], ["c"]],
    ),
    # Room for as many as the array says was more than there is: an error that was not ours.
    "codes in a list, said to go on": (
        column(
            "+l",
            1,
            None,
            int32(0, 2),
            children=(column("c", 2, None, b"\1\0", dictionary=texts(b"x", b"yz"), length=2**40),),
        ),
        [["yz", "x"]],
    ),
    "list view": (
        column(
            "+vl", 3, None, int32(1, 0, 99), int32(2, 1, 0), children=(texts(b"a", b"b", b"c"),)
        ),
        [["b", "c"], ["a"], []],
    ),
    "fixed": (
        column("+w:2", 2, None, children=(texts(b"a", b"b", b"c", b"d", b"e", b"f"),), offset=1),
        [["c", "d"], ["e", "f"]],
    ),
    "items of none": (column("+l", 2, None, int32(0, 0, 0), children=(texts(),)), [[], []]),
}


@every_row("made, values", GOOD.values(), ids=list(GOOD))
def test_sound_data(made: dict[str, Any], values: list[Any]) -> None:
    """Guards the test below: what it breaks would be read otherwise."""
    for block in arrow_blocks(open_arrow(Producer(made)), {}):
        assert block.values("a") == values
    pack_all(made)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "offsets go down": (column("u", 2, None, int32(0, 2, 1), b"ab"), "offset 2 is 1"),
    "offset below 0": (column("u", 1, None, int32(-1, 1), b"ab"), "offset 0 is -1"),
    "only the last is negative": (column("u", 1, None, int32(0, -5), b"ab"), "offset 1 is -5"),
    "large offsets go down": (column("U", 2, None, int64(0, 2, 1), b"ab"), "offset 2 is 1"),
    "large offset below 0": (column("U", 1, None, int64(-9, 1), b"ab"), "offset 0 is -9"),
    "no offsets": (column("u", 1, None, None, b"a"), "buffer 1 is missing"),
    "no bytes": (column("u", 1, None, int32(0, 1), None), "buffer 2 is missing"),
    "no buffers": (column("u", 1), "buffer 1 is missing"),
    "length below 0": (column("u", -1, None, int32(0), b""), "-1 rows"),
    "length without end": (column("u", 1, None, int32(0, 1), b"a", length=1 << 62), "rows from"),
    "offset of the rows": (column("u", 1, None, int32(0, 1), b"a", offset=-1), "rows from -1"),
    "offset too large": (column("u", 1, None, int32(0, 1), b"a", offset=1 << 60), "rows from"),
    "shorter than the table": (column("u", 2, None, int32(0, 1, 2), b"ab", length=1), "1 rows"),
    "children of texts": (column("u", 1, None, int32(0, 1), b"a", n_children=1), "1 children"),
    "view too long": (
        column("vu", 1, None, view(LONG, 0, 0, 30), LONG, variadic=[len(LONG)]),
        "text of row 0 lies outside",
    ),
    "view too late": (
        column("vu", 1, None, view(LONG, 0, 1), LONG, variadic=[len(LONG)]),
        "text of row 0 lies outside",
    ),
    "view before its buffer": (
        column("vu", 1, None, view(LONG, 0, -1), LONG, variadic=[len(LONG)]),
        "text of row 0 lies outside",
    ),
    "view of negative length": (
        column("vu", 1, None, view(b"", length=-1), variadic=[]),
        "text of row 0 lies outside",
    ),
    "view of no buffer": (
        column("vu", 2, None, view(b"a") + view(LONG, 1), LONG, variadic=[len(LONG)]),
        "text of row 1 lies outside",
    ),
    "view of a buffer below 0": (
        column("vu", 1, None, view(LONG, -1), LONG, variadic=[len(LONG)]),
        "text of row 0 lies outside",
    ),
    "a buffer of negative size": (
        column("vu", 1, None, view(LONG), LONG, variadic=[-5]),
        "text of row 0 lies outside",
    ),
    "a buffer of views that is missing": (
        column("vu", 1, None, view(LONG), None, variadic=[len(LONG)]),
        "a buffer of texts is missing",
    ),
    "no views": (column("vu", 1, None, None, variadic=[]), "buffer 1 is missing"),
    "code too large": (
        column("c", 2, None, b"\x00\x02", dictionary=texts(b"x", b"y")),
        "an index outside the 2 values",
    ),
    "code below 0": (
        column("c", 1, None, b"\xff", dictionary=texts(b"x")),
        "an index outside the 1 values",
    ),
    "code beyond 63 bits": (
        column("L", 1, None, int64(-1), dictionary=texts(b"x")),
        "an index outside the 1 values",
    ),
    "code of nothing": (
        column("i", 1, None, int32(0), dictionary=texts()),
        "an index outside the 0 values",
    ),
    "codes that are no integers": (
        column("f", 1, None, int32(0), dictionary=texts(b"x")),
        "have type 'f'",
    ),
    "dictionary missing": (
        column("c", 1, None, b"\x00", dictionary=texts(b"x"))
        | {"changed": {"dictionary": ctypes.POINTER(Array)()}},
        "the dictionary is missing",
    ),
    "codes in a list without end": (
        column(
            "+l",
            1,
            None,
            int32(0, 1),
            children=(column("c", 1, None, b"\0", dictionary=texts(b"x"), length=2**56),),
        ),
        "72057594037927936 rows from 0 on",
    ),
    "list too long": (
        column("+l", 1, None, int32(0, 4), children=(texts(b"a", b"b", b"c"),)),
        "offset 1 is 4",
    ),
    "lists go down": (
        column("+l", 2, None, int32(0, 3, 1), children=(texts(b"a", b"b", b"c"),)),
        "offset 2 is 1",
    ),
    "large list too long": (
        column("+L", 1, None, int64(0, 1 << 40), children=(texts(b"a"),)),
        "offset 1 is",
    ),
    "list view too late": (
        column("+vl", 1, None, int32(3), int32(1), children=(texts(b"a", b"b", b"c"),)),
        "reaches beyond its items",
    ),
    "list view below 0": (
        column("+vL", 1, None, int64(-1), int64(2), children=(texts(b"a", b"b", b"c"),)),
        "reaches beyond its items",
    ),
    "list view without end": (
        column("+vL", 1, None, int64(2), int64((1 << 63) - 1), children=(texts(b"a"),)),
        "reaches beyond its items",
    ),
    "list view of negative size": (
        column("+vL", 1, None, int64(2), int64(-1), children=(texts(b"a", b"b", b"c"),)),
        "reaches beyond its items",
    ),
    "too few items": (column("+w:2", 2, None, children=(texts(b"a", b"b", b"c"),)), "fewer items"),
    "items of negative number": (column("+w:-2", 2, None, children=(texts(b"a"),)), "fewer items"),
    "no items": (
        column("+l", 1, None, int32(0, 1), children=(texts(b"a"),), n_children=0),
        "0 children",
    ),
    "items that are null": (
        column("+l", 1, None, int32(0, 1), children=(texts(b"a"),))
        | {"changed": {"children": ctypes.POINTER(ctypes.POINTER(Array))()}},
        "a child is missing",
    ),
    "bad items": (
        column("+l", 1, None, int32(0, 1), children=(column("u", 1, None, int32(5, 1), b"a"),)),
        r"column 'a\[\]': offset 1 is 1",
    ),
}


@every_row("made, message", BROKEN.values(), ids=list(BROKEN))
def test_broken_data(made: dict[str, Any], message: str) -> None:
    # The table has as many rows as the second column.
    other = texts(*[b"a"] * 2, name="b")
    with pytest.raises(InputError, match=message) as raised:
        pack_all([made, other] if message == "1 rows" else made)
    assert "broken Arrow data" in str(raised.value)


def pack_all(made: Any) -> None:
    first = made[0] if isinstance(made, list) else made
    field = "contexts" if first["format"].startswith("+") else "ground_truth"
    for block in arrow_blocks(open_arrow(Producer(made)), {field: "a"}):
        block.pack(FieldNeeds.of(("context_recall",), "grounded"))


def test_buffers_need_not_be_aligned() -> None:
    made = texts(b"a", b"bc")
    offsets = np.zeros(64, np.uint8)
    begin = 1 + (-offsets.ctypes.data) % 8
    offsets[begin : begin + 12] = np.frombuffer(made["buffers"][1], np.uint8)
    producer = Producer(made)
    fill = producer._fill_array

    def unaligned_fill(out: Any, filled: dict[str, Any]) -> None:
        fill(out, filled)
        if filled["format"] == "u":
            out.buffers[1] = offsets.ctypes.data + begin

    producer._fill_array = unaligned_fill  # type: ignore[method-assign]
    (block,) = arrow_blocks(open_arrow(producer), {})
    assert block.values("a") == ["a", "bc"]


# ------------------------------------------------------------------------------------ kernels


def packed(values: list[bytes]) -> tuple[Any, Any]:
    offsets = np.cumsum([0, *map(len, values)]).astype(np.int64)
    return np.frombuffer(b"".join(values), np.uint8), offsets


def is_utf8(text: bytes) -> bool:
    """Lone surrogates are, pairs of them are not."""
    try:
        decoded = text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    pairs = pairwise(decoded)
    return not any("\ud800" <= a < "\udc00" <= b < "\ue000" for a, b in pairs)


ODD_BYTES = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF]
pieces = st.one_of(
    st.sampled_from([*ODD_BYTES, 0xF0, 0xF4, 0xF5, 0xFF]).map(lambda byte: bytes([byte])),
    st.sampled_from(["a", "12345678", "é", "東", "🎨", "\ud7ff", "\ud800", "\udc00"]).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    ),
)


@given(st.lists(st.lists(pieces, max_size=12).map(b"".join), max_size=8), st.data())
def test_utf8_is_what_python_says(values: list[bytes], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(begin, len(values)))
    wanted = next((i for i in range(begin, end) if not is_utf8(values[i])), -1)
    assert arrow_texts.first_invalid(*packed(values), begin, end) == wanted


def test_every_sequence_of_two_and_three_bytes() -> None:
    edges = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xAF, 0xB0, 0xBF, 0xC0, 0xED, 0xFF]
    for lead in range(0x80, 0x100):
        values = [bytes([lead])]
        values += [bytes([lead, a]) for a in range(0x100)]
        values += [bytes([lead, a, b]) for a in edges for b in edges]
        values += [bytes([lead, a, b, c]) for a in edges for b in edges for c in edges]
        content, offsets = packed(values)
        for at, value in enumerate(values):
            found = arrow_texts.first_invalid(content, offsets, at, at + 1)
            assert (found == -1) == is_utf8(value), value


def test_pairs_of_surrogates() -> None:
    """Two halves of three bytes each are no character, whichever come side by side."""
    halves = ["\ud7ff", "\ud800", "\udbff", "\udc00", "\udfff", "\ue000", "a"]
    for left in halves:
        for right in halves:
            text = (left + right).encode("utf-8", "surrogatepass")
            for value in (text, text + b"a", b"a" + text):
                found = arrow_texts.first_invalid(*packed([value]), 0, 1)
                assert (found == -1) == is_utf8(value), value


def test_a_bad_text_among_many() -> None:
    for n_texts, size in ((5000, 3), (40, 4096), (3, 100_000)):
        for bad in (0, n_texts // 2, n_texts - 1):
            values = [b"x" * size] * n_texts
            values[bad] = b"x" * (size - 1) + b"\xff"
            assert arrow_texts.first_invalid(*packed(values), 0, n_texts) == bad
            assert arrow_texts.first_invalid(*packed(values), bad + 1, n_texts) == -1


def test_a_character_that_is_cut_between_texts() -> None:
    """Each text is one by itself, though the bytes together are sound."""
    assert arrow_texts.first_invalid(*packed(["é".encode()[:1], "é".encode()[1:]]), 0, 2) == 0


def test_gathering_stops_at_the_bounds() -> None:
    data = np.frombuffer(b"abcdef", np.uint8)

    def gathered(starts: list[int], lengths: list[int], room: int) -> Any:
        out = np.full(room, ord("-"), np.uint8)
        places = (np.array(starts, np.int64), np.array(lengths, np.int64))
        return arrow_texts.gather(data, *places, out), out.tobytes()

    assert gathered([4, 0, 99], [2, 3, 0], 5) == (-1, b"efabc")
    largest = (1 << 63) - 1
    for start, length in ((5, 2), (-1, 1), (0, -1), (largest, 1), (1, largest), (7, 1)):
        assert gathered([0, start], [1, length], 4)[0] == 1
    assert gathered([0, 1], [3, 2], 4) == (1, b"abc-")


def test_views_are_checked_again_when_gathered() -> None:
    buffer = np.frombuffer(LONG, np.uint8)
    views = np.frombuffer(view(b"a") + view(LONG), np.uint8)
    addresses = np.array([buffer.ctypes.data], np.int64)
    sizes = np.array([len(LONG)], np.int64)

    def gathered(places: list[int], lengths: list[int], room: int, sizes: Any = sizes) -> int:
        out = np.zeros(room, np.uint8)
        numbers = (np.array(places, np.int64), np.array(lengths, np.int64))
        return arrow_texts.gather_views(views, *numbers, addresses, sizes, out)

    assert gathered([1, 0], [len(LONG), 1], len(LONG) + 1) == -1
    assert gathered([1, 0], [len(LONG), 1], len(LONG)) == 1
    assert gathered([0, 2], [1, 1], 9) == 1
    assert gathered([-1], [1], 9) == 0
    assert gathered([0], [2], 9) == 0
    assert gathered([1], [len(LONG)], 99, sizes - 1) == 0


def test_offsets() -> None:
    def widened(offsets: list[int], limit: int) -> Any:
        out = np.empty(len(offsets), np.int64)
        bad = arrow_texts.widen_offsets(np.array(offsets, np.int32), limit, out)
        assert arrow_texts.check_offsets(np.array(offsets, np.int64), limit) == bad
        return bad

    assert widened([0, 0, 3, 3], 3) == -1
    assert widened([2, 5], 5) == -1
    assert widened([0, 2, 4], 3) == 2
    assert widened([0, 2, 1, 4], 4) == 2
    assert widened([-1, 2], 4) == 0
    assert widened([2**31 - 1, -(2**31)], 2**40) == 1
    assert widened([], 0) == -1


def test_memory_comes_back() -> None:
    """Batches of another library are let go when their last block is."""
    pa = pytest.importorskip("pyarrow")

    def batches() -> Iterator[Any]:
        for _ in range(3):
            kind = pa.list_(pa.string())
            yield pa.record_batch({"contexts": pa.array([["x" * 1000] * 10] * 200, kind)})

    gc.collect()
    before = pa.total_allocated_bytes()
    schema = next(batches()).schema
    make: Callable[[], Any] = lambda: pa.RecordBatchReader.from_batches(schema, batches())  # noqa: E731
    blocks = list(arrow_blocks(open_arrow(make()), {"contexts": "contexts"}))
    assert pa.total_allocated_bytes() > before + 6_000_000
    packed_ = blocks[-1].pack(FieldNeeds.of((), "overlap"))
    del blocks
    gc.collect()
    assert pa.total_allocated_bytes() == before
    blocks_ = arrow_blocks(open_arrow(make()), {"contexts": "contexts"})
    first = next(blocks_)
    blocks_.close()  # type: ignore[attr-defined]  # a generator
    batch = first.taken([0]).pack(FieldNeeds.of(("context_recall",)))
    del first, blocks_
    gc.collect()
    assert pa.total_allocated_bytes() > before
    assert batch.contexts.text(0) == "x" * 1000
    del batch, packed_
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_an_error_in_the_producers_python() -> None:
    pa = pytest.importorskip("pyarrow")

    def batches() -> Iterator[Any]:
        yield pa.record_batch({"answer": ["a"]})
        raise RuntimeError("the cable is cut")

    schema = pa.schema([("answer", pa.string())])
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    blocks = arrow_blocks(open_arrow(reader), {"answer": "answer"})
    assert len(next(blocks)) == 1
    with pytest.raises(InputError, match=r"cannot read RecordBatchReader .*the cable is cut"):
        next(blocks)


def test_texts_of_numbers_are_none() -> None:
    pa = pytest.importorskip("pyarrow")
    source = open_arrow(pa.table({"a": [1]}))
    (batch,) = source.batches()
    assert texts_of(batch.cells(source.path("a"))) is None
