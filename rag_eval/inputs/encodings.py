"""Text files in other encodings than UTF-8: read as UTF-8, and recognised if none is named."""

from __future__ import annotations

import codecs
import io
from typing import IO, Any, Final

from rag_eval.errors import InputError, glance

_CHUNK_BYTES: Final = 1 << 16
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# How files begin that are compressed, and the end of their names.
_COMPRESSED: Final = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}


def checked_encoding(value: Any, name: str) -> str:
    """The name of a text encoding that Python knows."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be the name of an encoding, got {glance(value)}")
    try:
        found = codecs.lookup(value)
        "".encode(value)
    except (LookupError, UnicodeError, ValueError):
        raise InputError(
            f"{name}: there is no text encoding {value!r:.80}; common ones are utf-8, latin-1, "
            "cp1252 and utf-16"
        ) from None
    return found.name


class Recoded(io.RawIOBase):
    """The bytes of a text file in UTF-8, whatever encoding they are in."""

    def __init__(self, file: IO[bytes], encoding: str, source: str) -> None:
        self._file = file
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._source = source
        self._rest = b""
        self._n_lines = 0
        self._at_end = False

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def read1(self, n_bytes: int) -> bytes:
        """Up to this many bytes; none at the end."""
        while not self._rest and not self._at_end:
            chunk: bytes = self._file.read1(_CHUNK_BYTES)  # type: ignore[attr-defined]
            self._at_end = not chunk
            try:
                text = self._decoder.decode(chunk, self._at_end)
                self._rest = text.encode()
            except UnicodeError as error:
                raise InputError(self._fault(error)) from None
            self._n_lines += text.count("\n")
        given, self._rest = self._rest[:n_bytes], self._rest[n_bytes:]
        return given

    def readinto1(self, buffer: memoryview) -> int:
        """Read some bytes into a buffer; how many."""
        found = self.read1(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def _fault(self, error: UnicodeError) -> str:
        line = self._n_lines + 1
        if isinstance(error, UnicodeDecodeError):
            before = error.object[: error.start].decode(self._encoding, "ignore")
            line += before.count("\n")
        return f"{self._source}, line {line}: is not valid {self._encoding}; give another encoding"


def utf_16_hint(head: bytes, *, has_option: bool) -> str:
    """The remedy for a file that begins as UTF-16 does; empty for any other."""
    name = "utf-16"
    if head[:2] not in _UTF_16:
        # Without a mark: every other byte of ASCII is 0.
        zeros = [byte == 0 for byte in head[:4]]
        if zeros not in ([False, True] * 2, [True, False] * 2):
            return ""
        name = "utf-16-be" if zeros[0] else "utf-16-le"
    return _remedy(name, has_option, "")


def encoding_hint(content: bytes, *, has_option: bool) -> str:
    """The remedy for text that is not UTF-8."""
    for begin, suffix in _COMPRESSED.items():
        if content.startswith(begin):
            return f". It is compressed: give it as a file whose name ends in {suffix}"
    if content[:2] in _UTF_16:
        return _remedy("utf-16", has_option, "")
    # Control characters in Latin-1, which texts do not have; dashes and quotes on Windows.
    if any(0x80 <= byte < 0xA0 for byte in content):
        return _remedy("cp1252", has_option, "if the file is from Windows, ")
    return _remedy("latin-1", has_option, "if the file is in Latin-1, ")


def _remedy(name: str, has_option: bool, when: str) -> str:
    if has_option:
        how = f'{when}read it with --encoding {name} (in Python: encoding="{name}")'
        return f". {how[0].upper()}{how[1:]}"
    return ". Save it in UTF-8"
