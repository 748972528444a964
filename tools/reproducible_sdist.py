"""The source distribution as an archive without traces of the machine that built it.

pyproject.toml names the command. With SOURCE_DATE_EPOCH the same files give the same bytes.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import time
from pathlib import Path
from typing import Any

from setuptools.command.sdist import sdist


class ReproducibleSdist(sdist):  # type: ignore[misc]  # without types
    """Packs without owners, with two kinds of modes, and with one time for all."""

    def make_archive(
        self, base_name: str, format: str, root_dir: Any = None, base_dir: Any = None, **owner: Any
    ) -> str:
        """Pack the tree of the release; the name of the archive."""
        if format != "gztar":
            return str(super().make_archive(base_name, format, root_dir, base_dir, **owner))
        target = Path(f"{base_name}.tar.gz")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_archive(target, Path(base_dir), int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
        return str(target)


def write_archive(target: Path, folder: Path, seconds: int) -> None:
    """Pack a folder, with all files of this time."""

    def neutral(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = seconds
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    with (
        target.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=seconds) as packed,
        tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as archive,
    ):
        archive.add(folder, folder.name, filter=neutral)  # tarfile sorts the names
