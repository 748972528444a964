"""Choices in; a column as the C data interface has it, sound or with one lie in it, checked.

The interface has no sizes of buffers, so offsets that rise beyond a text buffer cannot be known to
lie; all else can, and has to be refused before it is read.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import struct
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.inputs.arrow.arrays import open_arrow
from rag_eval.inputs.arrow.blocks import arrow_blocks
from rag_eval.inputs.samples import FieldNeeds, SampleError
from tests.grounded_samples import Choices
from tests.unit.inputs.test_arrow_arrays import _PRODUCERS, Producer, column, view

Made = dict[str, Any]

_TEXTS: Final = (b"", b"a", b"twelve bytes", b"thirteen byte", b"\xc3\xa9" * 9, b"x" * 70)
_LIES: Final = (-1, 0, 1, 2, 5, 1000, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63), 2**56)
_CODES: Final = {"c": "b", "s": "h", "i": "i", "l": "q", "C": "B", "S": "H", "I": "I", "L": "Q"}
_NEEDS: Final = FieldNeeds.of(("context_recall",), "grounded")
_KEPT: Final = 200


def check(choices: Choices) -> None:
    """Read such a column in all ways; a sound one gives its values."""
    n_rows = choices.of((0, 1, 2, 3, 8, 9))
    maker = choices.of((*_TEXT_MAKERS, _plain, _lists, _lists, _list_views, _fixed, _struct))
    made, values = maker(choices, n_rows)
    lied = choices.below(4) > 0 and _lie(choices, made)
    top_level = made if choices.below(3) else [made, column("n", n_rows, name="b")]
    producer = Producer(top_level)
    field = "contexts" if isinstance(next(iter(values), None), list) else "ground_truth"
    try:
        found: list[Any] = []
        for block in arrow_blocks(open_arrow(producer), {field: "a"}):
            found += block.values("a")
            for index in range(len(block)):
                block.sample(index)
                block.fault(index, _NEEDS)
            for some in (block, block.taken([*range(len(block))][::-2])):
                # Structs are no texts.
                with contextlib.suppress(SampleError):
                    some.pack(_NEEDS)
    except InputError:
        if not lied:
            raise
    else:
        assert lied or found == values, (found, values)
    assert producer.released["schema"] == producer.released["stream"] == 1
    del producer
    if len(_PRODUCERS) > _KEPT:
        gc.collect()
        assert all(each.released["array"] == each.n_read for each in _PRODUCERS[:-1])
        _PRODUCERS.clear()


def _bits(flags: list[bool]) -> bytes:
    packed = bytearray(len(flags) // 8 + 1)
    for index, flag in enumerate(flags):
        packed[index // 8] |= flag << (index % 8)
    return bytes(packed)


def _nulls(choices: Choices, n: int, offset: int) -> tuple[bytes | None, list[bool], int]:
    """A validity buffer, or none; which of the rows are null; how many the array says there are."""
    if choices.below(2):
        return None, [False] * n, 0
    flags = [bool(choices.below(3)) for _ in range(offset + n)]
    nulls = [not flag for flag in flags[offset:]]
    return _bits(flags), nulls, choices.of((-1, sum(nulls)))


def _hide(values: list[Any], nulls: list[bool]) -> list[Any]:
    return [None if null else value for value, null in zip(values, nulls, strict=True)]


def _plain(choices: Choices, n: int) -> tuple[Made, list[Any]]:
    offset, wide = choices.of((0, 0, 1, 9)), choices.below(2)
    texts = [choices.of(_TEXTS) for _ in range(offset + n)]
    validity, nulls, n_nulls = _nulls(choices, n, offset)
    skipped = choices.below(5)
    ends = [skipped]
    for text in texts:
        ends.append(ends[-1] + len(text))
    offsets = struct.pack(f"<{len(ends)}{'q' if wide else 'i'}", *ends)
    made = column(
        "U" if wide else "u",
        n,
        validity,
        offsets,
        b"-" * skipped + b"".join(texts),
        nulls=n_nulls,
        offset=offset,
    )
    return made, _hide([text.decode() for text in texts[offset:]], nulls)


def _views(choices: Choices, n: int) -> tuple[Made, list[Any]]:
    offset = choices.of((0, 1))
    buffers = [b"".join(choices.some(_TEXTS, 0, 4)) for _ in range(choices.below(3))]
    views, values = b"", []
    for _ in range(offset + n):
        number = choices.below(len(buffers)) if buffers else 0
        content = buffers[number] if buffers else b""
        at = choices.below(len(content) + 1)
        text = content[at : at + choices.of((0, 5, 13, 40))]
        if not _decodes(text):
            text = b"short"
        views += view(text, number, at)
        values.append(text.decode())
    validity, nulls, n_nulls = _nulls(choices, n, offset)
    sizes = [len(content) for content in buffers]
    made = column("vu", n, validity, views, *buffers, nulls=n_nulls, offset=offset, variadic=sizes)
    return made, _hide(values[offset:], nulls)


def _decodes(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _coded(choices: Choices, n: int) -> tuple[Made, list[Any]]:
    dictionary, known = choices.of((_plain, _views))(choices, choices.between(1, 4))
    format_ = choices.of(sorted(_CODES))
    codes = [choices.below(len(known)) for _ in range(n)]
    validity, nulls, n_nulls = _nulls(choices, n, 0)
    packed = struct.pack(f"<{n}{_CODES[format_]}", *codes)
    made = column(format_, n, validity, packed, nulls=n_nulls, dictionary=dictionary)
    return made, _hide([known[code] for code in codes], nulls)


def _items(choices: Choices, n: int) -> tuple[Made, list[Any]]:
    return choices.of(_TEXT_MAKERS)(choices, n)


_TEXT_MAKERS: Final = (_plain, _views, _coded)


def _lists(choices: Choices, n: int) -> tuple[Made, list[Any]]:
    offset, wide = choices.of((0, 0, 2)), choices.below(2)
    ends = [choices.below(3)]
    for _ in range(offset + n):
        ends.append(ends[-1] + choices.below(4))
    items, known = _items(choices, ends[-1] + choices.below(2))
    validity, nulls, n_nulls = _nulls(choices, n, offset)
    packed = struct.pack(f"<{len(ends)}{'q' if wide else 'i'}", *ends)
    made = column(
        "+L" if wide else "+l", n, validity, packed, nulls=n_nulls, offset=offset, children=(items,)
    )
    lists = [known[begin:end] for begin, end in itertools.pairwise(ends[offset:])]
    return made, _hide(lists, nulls)


def _list_views(choices: Choices, n: int) -> tuple[Made, list[Any]]:
    wide = choices.below(2)
    items, known = _items(choices, choices.between(1, 6))
    starts = [choices.below(len(known)) for _ in range(n)]
    sizes = [choices.below(len(known) - start + 1) for start in starts]
    validity, nulls, n_nulls = _nulls(choices, n, 0)
    packed = [struct.pack(f"<{n}{'q' if wide else 'i'}", *numbers) for numbers in (starts, sizes)]
    made = column("+vL" if wide else "+vl", n, validity, *packed, nulls=n_nulls, children=(items,))
    lists = [known[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    return made, _hide(lists, nulls)


def _fixed(choices: Choices, n: int) -> tuple[Made, list[Any]]:
    size, offset = choices.of((0, 1, 2, 3)), choices.of((0, 1))
    items, known = _items(choices, (offset + n) * size)
    validity, nulls, n_nulls = _nulls(choices, n, offset)
    made = column(f"+w:{size}", n, validity, nulls=n_nulls, offset=offset, children=(items,))
    lists = [known[at * size : (at + 1) * size] for at in range(offset, offset + n)]
    return made, _hide(lists, nulls)


def _struct(choices: Choices, n: int) -> tuple[Made, list[Any]]:
    members = [_items(choices, n) for _ in range(choices.between(1, 2))]
    validity, nulls, n_nulls = _nulls(choices, n, 0)
    columns = tuple({**made, "name": f"m{number}"} for number, (made, _) in enumerate(members))
    made = column("+s", n, validity, nulls=n_nulls, children=columns)
    rows = [
        {f"m{number}": known[at] for number, (_, known) in enumerate(members)} for at in range(n)
    ]
    return made, _hide(rows, nulls)


# ---------------------------------------------------------------------------------------- lies


def _lie(choices: Choices, made: Made) -> bool:
    """Change a number of the column or of what is inside it; whether any was."""
    inner = [*made["children"], *([made["dictionary"]] if made["dictionary"] else [])]
    if inner and choices.below(2):
        return _lie(choices, choices.of(inner))
    kind = choices.below(6)
    if kind == 0:
        return _lie_about_the_rows(choices, made)
    if kind == 1 and inner:
        made["changed"]["n_children"] = choices.of((-1, len(made["children"]) + 1, 2**40))
        return True
    if kind == 2 and made["format"] == "vu":
        sizes = made["changed"]["variadic"]
        if sizes:
            at = choices.below(len(sizes))
            sizes[at] = choices.of((-1, 0, sizes[at] - 1, sizes[at] // 2, -(2**63)))
            return True
    return _lie_in_a_buffer(choices, made)


def _lie_about_the_rows(choices: Choices, made: Made) -> bool:
    """Lengths and offsets that are negative or beyond all memory, or fewer rows than there are."""
    name = choices.of(("length", "offset"))
    lies = [-1, 2**62, -(2**63), 2**63 - 1]
    if name == "length":
        lies.append(made["length"] // 2)
    made["changed"][name] = choices.of(lies)
    return True


def _lie_in_a_buffer(choices: Choices, made: Made) -> bool:
    """Another number in the buffer of offsets, places, sizes or views, or no buffer at all."""
    format_, buffers = made["format"], made["buffers"]
    at = 1
    if format_ in ("+vl", "+vL"):
        at = choices.between(1, 2)
    if len(buffers) <= at or format_.startswith("+w") or not buffers[at]:
        return False
    if choices.one_in(8):
        buffers[at] = None
        return True
    code = {"u": "i", "U": "q", "+l": "i", "+L": "q", "+vl": "i", "+vL": "q", "vu": "i"}.get(
        format_, _CODES.get(format_, "b")
    )
    width = struct.calcsize(code)
    place = choices.below(len(buffers[at]) // width) * width
    limit = 2 ** (8 * width - (code.islower()))
    (told,) = struct.unpack_from(f"<{code}", buffers[at], place)
    lie = choices.of((*_LIES, told - 1, told + 1, told + 1))
    lie = lie % limit if not code.islower() else max(-limit, min(limit - 1, lie))
    changed = bytearray(buffers[at])
    struct.pack_into(f"<{code}", changed, place, lie)
    if format_ in ("u", "U") and not _texts_can_be_told(changed, code, made):
        return False
    buffers[at] = bytes(changed)
    return True


def _texts_can_be_told(offsets: bytearray, code: str, made: Made) -> bool:
    """Whether offsets fall, or end within the bytes that there are."""
    numbers = [number for (number,) in struct.iter_unpack(f"<{code}", bytes(offsets))]
    read = numbers[made["offset"] :]
    falls = any(a > b for a, b in itertools.pairwise(read)) or read[0] < 0
    return falls or read[-1] <= len(made["buffers"][2])
