"""The source distribution: the same bytes whoever packs it, where and when."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest
from setuptools import Distribution

from tests.docs_pages import tool


def tree(folder: Path, names: list[str], seconds: int, mode: int) -> None:
    for name in names:
        path = folder / "p-1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        path.chmod(mode | (0o100 if name.endswith(".sh") else 0))
        os.utime(path, (seconds, seconds))
        if os.geteuid() == 0:
            os.chown(path, mode, mode)


def archive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.chdir(folder)
    command = tool("reproducible_sdist").ReproducibleSdist(
        Distribution({"name": "p", "version": "1"})
    )
    name = command.make_archive("dist/p-1", "gztar", base_dir="p-1", owner=None, group=None)
    return Path(folder, name).read_bytes()


def test_an_sdist_has_the_same_bytes_under_source_date_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    names = ["b.py", "a/c.py", "run.sh"]
    tree(tmp_path / "first", names, 1_600_000_000, 0o664)
    tree(tmp_path / "second", names[::-1], 1_650_000_000, 0o600)
    first, second = (archive(tmp_path / name, monkeypatch) for name in ("first", "second"))
    assert first == second
    with tarfile.open(tmp_path / "first" / "dist" / "p-1.tar.gz") as packed:
        found = {member.name: (member.mode, member.mtime) for member in packed}
    time = 1_700_000_000
    assert found == {
        "p-1": (0o755, time),
        "p-1/a": (0o755, time),
        "p-1/a/c.py": (0o644, time),
        "p-1/b.py": (0o644, time),
        "p-1/run.sh": (0o755, time),
    }
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000001")
    assert archive(tmp_path / "first", monkeypatch) != first
