"""What everybody pays who installs the package without extras.

In: the installed packages. Out: how many there are, their size, and instructions of the import.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.callgrind import ROOT, read_total, run_callgrind

# The import was 1.02 times that of msgspec when
# its limit was set; one module of the standard library such as asyncio is above it.
IMPORT_LIMIT: Final = 1.2
PACKAGES_LIMIT: Final = 10
MEGABYTES_LIMIT: Final = 210  # 186 then; numpy and scipy are 172 of them


def base_packages() -> dict[str, int]:
    """Bytes of ``rag_eval`` and of each package that its dependencies bring without extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = {project["name"]: bytes_of((ROOT / "rag_eval").rglob("*"))}
    waiting = [Requirement(line).name for line in project["dependencies"]]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in found:
            package = distribution(name)
            found[name] = bytes_of(Path(str(file.locate())) for file in package.files or [])
            wanted = [Requirement(line) for line in package.requires or []]
            waiting += [
                one.name for one in wanted if not one.marker or one.marker.evaluate({"extra": ""})
            ]
    return found


def bytes_of(paths: Iterable[Path]) -> int:
    """Bytes of some files less what the interpreter caches."""
    kept = (path for path in paths if path.suffix != ".pyc" and path.is_file())
    return sum(path.stat().st_size for path in kept)


def footprint_complaints(packages: Mapping[str, int], import_times: float | None) -> list[str]:
    """Why an installation without extras is too large, or its import too slow."""
    megabytes = sum(packages.values()) / 1e6
    complaints = []
    if len(packages) > PACKAGES_LIMIT:
        names = ", ".join(sorted(packages))
        complaints.append(f"packages: {len(packages)}, the limit is {PACKAGES_LIMIT}: {names}")
    if megabytes > MEGABYTES_LIMIT:
        complaints.append(f"packages: {megabytes:.0f} MB, the limit is {MEGABYTES_LIMIT}")
    if import_times is not None and import_times > IMPORT_LIMIT:
        complaints.append(
            f"import rag_eval: {import_times:.2f} times the instructions of import msgspec, "
            f"the limit is {IMPORT_LIMIT:g}"
        )
    return complaints


def count_import(statement: str) -> int:
    """Instructions of an interpreter that runs one statement."""
    program = ["-c", statement]
    subprocess.run([sys.executable, *program], cwd=ROOT, check=True)  # writes the byte code
    with tempfile.TemporaryDirectory() as folder:
        out_file = Path(folder) / "import.out"
        run_callgrind([], out_file, program)
        return read_total(out_file)


def import_ratio() -> float:
    """Instructions of ``import rag_eval`` over those of ``import msgspec``."""
    with ThreadPoolExecutor() as pool:
        statements = ("pass", "import msgspec", "import rag_eval")
        start, msgspec, own = pool.map(count_import, statements)
    return (own - start) / (msgspec - start)


def gate_footprint() -> list[str]:
    """Measure and print the footprint; why it does not pass."""
    packages = base_packages()
    print(f"packages without extras: {len(packages)}, {sum(packages.values()) / 1e6:.0f} MB")
    # Where valgrind is missing, the gate of costs has said so.
    times = import_ratio() if shutil.which("valgrind") else None
    if times is not None:
        print(f"import rag_eval: {times:.2f} times the instructions of import msgspec")
    return footprint_complaints(packages, times)
