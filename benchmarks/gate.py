"""The release gate: instructions per byte of input, their growth, times plain Python.

Counts instructions of the kernels by callgrind and compares them with ``floors.toml``; a
kernel that needs 3 % more than its floor fails, and so does one above its bar whatever its floor.
It counts them for the costly rows of ``growth.py``, too, where nothing may be quadratic.
Then it times ``evaluate_batch`` on one thread: the overlap profile in turns with the plain Python
baseline, and the grounded profile in turns with overlap. Last comes what everybody pays who
installs the package: how many others it brings, their size, and instructions of the import.

    python -m benchmarks.gate [--update] [--allow-missing-valgrind]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks import corpora, growth, kernel_workload, pure_python_baseline
from benchmarks.timing import Spread, in_turns, ratios

HERE: Final = Path(__file__).resolve().parent
FLOORS: Final = HERE / "floors.toml"
TOLERANCE: Final = 0.03
PROFILES: Final = ("overlap", "grounded")
# What is counted of each workload: the ``def`` wrapper of its kernel.
_FUNCTIONS: Final = {
    **{profile: f"{profile}_block*score_block" for profile in PROFILES},
    "dice": "string_similarity*dice_similarities",
    "lcs": "string_similarity*align",
    "rankings": "rankings*score_rankings",
}
# The kernels that the calls of ``growth.py`` end in.
_GROWING: Final = (
    ("overlap_block", "score_block"),
    ("grounded_block", "score_block"),
    ("text_kernels", "paired_overlaps"),
    ("rankings", "score_rankings"),
)
# Instructions per byte. Texts that are not Latin are folded letter by letter, and those without
# spaces give a word per letter.
_BARS: Final = {
    "overlap": 40.0,
    "grounded": 120.0,
    "grounded.nonlatin": 280.0,
    "dice": 52.0,
    "lcs": 70.0,
    "rankings": 6.5,
}
# Times plain Python. The bar is 20, and the benchmarks assert it; here a quarter is left for the
# noise of a shared machine, where medians of the same build were seen from 17.9 to 21.8. What this
# floor catches is what instruction counts cannot see: stalls, page faults, work outside the kernel.
RATIO_FLOOR: Final = 15.0
RATIO_ROWS: Final = 2000
RETRY_ROUNDS: Final = 3
GROUNDED_LIMIT: Final = 3.0  # times the time of overlap
# What everybody gets who installs without extras. The import was 1.02 times that of msgspec when
# its limit was set; one module of the standard library such as asyncio is above it.
IMPORT_LIMIT: Final = 1.2
PACKAGES_LIMIT: Final = 10
MEGABYTES_LIMIT: Final = 210  # 186 then; numpy and scipy are 172 of them

# Two numbers of rows per corpus: what a call costs once cancels out in the slope between them.
_CORPUS_SIZES: Final[dict[str, tuple[int, int]]] = {
    "typical": (100, 300),
    "long": (4, 12),
    "nonlatin": (100, 300),
}
# What is counted: a corpus under a profile, or read by another kernel.
SIZES: Final = {
    **{
        f"{profile}.{corpus}": size
        for profile in PROFILES
        for corpus, size in _CORPUS_SIZES.items()
    },
    "dice.typical": (100, 300),
    "lcs.typical": (100, 300),
    "rankings.hundred": (100, 300),
}


def bar_of(name: str) -> float:
    """Instructions per byte that a corpus under a profile may take at most."""
    return _BARS.get(name, _BARS[name.partition(".")[0]])


# Valgrind shows every processor with AVX2 as one and the same, so the kernel's choice of code and
# glibc's are the same on all of them. It counts each step of a `rep stos` or `rep movs` as one
# instruction, though, and glibc's limits for using those follow the caches of the real processor:
# they are set out of reach. Dynamic linking happens before the count begins.
_TUNABLES: Final = ":".join(
    f"glibc.cpu.x86_{name}_threshold={1 << 40}"
    for name in ("rep_stosb", "rep_movsb", "non_temporal")
)
_ENVIRONMENT: Final = {
    "PYTHONHASHSEED": "0",
    "GLIBC_TUNABLES": _TUNABLES,
    "LD_BIND_NOW": "1",
    "LC_ALL": "C.UTF-8",
}


class GateError(Exception):
    """Something could not be measured."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Instructions of two runs of one corpus."""

    corpus: str
    n_bytes: tuple[int, int]
    instructions: tuple[int, int]

    @property
    def per_byte(self) -> float:
        """The slope between the two runs."""
        if min(self.instructions) <= 0:
            raise GateError(
                f"{self.corpus}: callgrind collected no instruction inside its kernel; the "
                "function was not found, or its symbols were stripped"
            )
        return (self.instructions[1] - self.instructions[0]) / (self.n_bytes[1] - self.n_bytes[0])


# ------------------------------------------------------------------------------------ counting


def run_callgrind(
    flags: Sequence[str], out_file: Path, program: Sequence[str], stdin: IO[bytes] | None = None
) -> str:
    """Run Python and write its counts; its output. The environment is always the same."""
    valgrind = ["valgrind", "--tool=callgrind", *flags, f"--callgrind-out-file={out_file}"]
    command = [*valgrind, sys.executable, *program]
    done = subprocess.run(
        command,
        cwd=HERE.parent,
        env={"PATH": os.environ.get("PATH", ""), **_ENVIRONMENT},
        stdin=stdin,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise GateError(f"valgrind ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def read_total(out_file: Path) -> int:
    """Instructions collected, from callgrind's output file; 0 when there is no total."""
    if not out_file.exists():
        raise GateError(f"callgrind did not write {out_file.name}")
    found = re.search(r"^(?:summary|totals): (\d+)", out_file.read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def count_instructions(
    profile: str, rows: Sequence[Mapping[str, Any]], folder: Path, name: str
) -> int:
    """Instructions of one call of a profile's kernel on some rows."""
    rows_file, out_file = folder / f"{name}.json", folder / f"{name}.out"
    rows_file.write_text(json.dumps(rows))
    # The pattern names the ``def`` wrapper alone: one that met the wrapper and a function inside it
    # would switch collection off again there.
    flags = ["--collect-atstart=no", f"--toggle-collect=__pyx_pw_*{_FUNCTIONS[profile]}"]
    # Rows come by stdin: a path of another length, or a pipe read in other pieces, moves the heap,
    # and with it a few instructions of realloc.
    with rows_file.open("rb") as stdin:
        run_callgrind(flags, out_file, ["-m", "benchmarks.kernel_workload", profile], stdin)
    return read_total(out_file)


def wrapper_of(kernel: str, function: str) -> str:
    """The full name of a ``def`` wrapper: callgrind finds one pattern, but not one of several."""
    module = importlib.import_module(f"rag_eval._native.{kernel}")
    content = Path(str(module.__file__)).read_bytes()
    found = re.search(rf"\0(__pyx_pw_\w+_\d+{function})\0".encode(), content)
    if found is None:
        raise GateError(f"{kernel} has no symbol of {function}; it was stripped")
    return found[1].decode()


def growth_complaints() -> list[str]:
    """What grows too much, by one process with a child for each call."""
    flags = ["--collect-atstart=no"]
    flags += [f"--toggle-collect={wrapper_of(*kernel)}" for kernel in _GROWING]
    pairs = growth.costly_pairs()
    calls = growth.calls_of(pairs.values())
    with tempfile.TemporaryDirectory() as folder:
        out_files = Path(folder) / "growth.%p"
        children = run_callgrind(flags, out_files, ["-m", "benchmarks.growth"]).split()
        inherited, *totals = (read_total(out_files.with_suffix(f".{child}")) for child in children)
    counts = [total - inherited for total in totals]
    if min(counts) <= 0:
        raise GateError("growth: callgrind collected no instruction inside a kernel")
    print(f"growth: {len(pairs)} costly rows")
    return growth.complaints(pairs, dict(zip(calls, counts, strict=True)))


def count_import(statement: str) -> int:
    """Instructions of an interpreter that runs one statement."""
    program = ["-c", statement]
    subprocess.run([sys.executable, *program], cwd=HERE.parent, check=True)  # writes the byte code
    with tempfile.TemporaryDirectory() as folder:
        out_file = Path(folder) / "import.out"
        run_callgrind([], out_file, program)
        return read_total(out_file)


def import_ratio() -> float:
    """Instructions of ``import rag_eval`` over those of ``import msgspec``, which it includes."""
    start, msgspec, own = map(count_import, ("pass", "import msgspec", "import rag_eval"))
    return (own - start) / (msgspec - start)


def measure_cost(name: str, folder: Path) -> Cost:
    """Instructions at both sizes; fewer rows are the beginning of more."""
    few, many = SIZES[name]
    profile, corpus = name.split(".")
    rows = corpora.rankings(many) if profile == "rankings" else corpora.generate(corpus, many)
    size = kernel_workload.SIZES_IN_BYTES.get(profile, corpora.text_bytes)
    return Cost(
        name,
        (size(rows[:few]), size(rows)),
        (
            count_instructions(profile, rows[:few], folder, f"{name}-{few}"),
            count_instructions(profile, rows, folder, f"{name}-{many}"),
        ),
    )


def measure_costs() -> list[Cost]:
    """The cost of every corpus; counts do not mind a busy machine, so all cores count."""
    if shutil.which("valgrind") is None:
        raise FileNotFoundError("valgrind")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda name: measure_cost(name, Path(folder)), SIZES))


# ---------------------------------------------------------------------------------- comparing


def processor_class() -> str:
    """Which of the kernel's block classifiers runs here: counts differ between them."""
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text() if cpuinfo.exists() else ""
    return "avx2" if re.search(r"\bavx2\b", flags) else "portable"


def compiler() -> str:
    """The compiler that the kernel was built with, as it says itself."""
    from rag_eval._native import overlap_block

    content = Path(str(overlap_block.__file__)).read_bytes()
    found = re.search(rb"(GCC: \([^)]*\)|clang version) [\d.]+", content)
    return found[0].decode() if found else "unknown compiler"


def read_floors(path: Path = FLOORS) -> dict[str, Any]:
    """The floors file; empty tables when there is none."""
    return tomllib.loads(path.read_text()) if path.exists() else {}


def floors_text(floors: Mapping[str, float], compiler_name: str, processor: str) -> str:
    """What goes into the floors file."""
    lines = [
        "# Instructions per byte of input, by python -m benchmarks.gate --update. They depend on",
        "# the compiler and the class of the processor, not on the speed of the machine.",
        f'compiler = "{compiler_name}"',
        "",
        f"[{processor}]",
        *(f'"{name}" = {floor:.3f}' for name, floor in floors.items()),
    ]
    return "\n".join(lines) + "\n"


def cost_complaints(per_byte: Mapping[str, float], floors: Mapping[str, float]) -> list[str]:
    """Why costs do not pass: one line per corpus that is too dear or has no floor."""
    complaints = []
    for corpus, cost in per_byte.items():
        floor = floors.get(corpus)
        bar = bar_of(corpus)
        if cost > bar:
            complaints.append(f"{corpus}: {cost:.2f} instructions per byte, the bar is {bar:g}")
        if floor is None:
            complaints.append(f"{corpus}: no floor for this processor class; take one by --update")
        elif cost > floor * (1 + TOLERANCE):
            complaints.append(
                f"{corpus}: {cost:.2f} instructions per byte, {cost / floor - 1:+.1%} of the floor "
                f"{floor:.2f}; {TOLERANCE:.0%} is allowed"
            )
    return complaints


def ratio_complaints(medians: Sequence[float], floor: float = RATIO_FLOOR) -> list[str]:
    """Why the speed does not pass; one try above the floor is enough."""
    if max(medians) >= floor:
        return []
    tried = ", ".join(f"{median:.1f}" for median in medians)
    return [f"typical: {tried} times plain Python, the floor is {floor:g}"]


# -------------------------------------------------------------------------------------- timing


def measure_ratio(rows: Sequence[corpora.Sample], rounds: int) -> Spread:
    """Times plain Python, one thread, in turns; in seconds of this process alone."""
    from rag_eval import evaluate_batch

    seconds = in_turns(
        {
            "baseline": lambda: [pure_python_baseline.score(row) for row in rows],
            "library": lambda: evaluate_batch(rows, threads=1).scores,
        },
        rounds,
        time.process_time,
    )
    return ratios(seconds["baseline"], seconds["library"])


def try_ratio(rows: Sequence[corpora.Sample]) -> list[float]:
    """Medians of the ratio: one, or two when a noisy machine may have spoilt the first."""
    medians = [measure_ratio(rows, 5).median]
    if ratio_complaints(medians):
        medians.append(measure_ratio(rows, RETRY_ROUNDS).median)
    return medians


def measure_grounded(rows: Sequence[corpora.Sample], rounds: int) -> Spread:
    """The grounded profile's time over that of overlap, one thread, in turns."""
    from rag_eval import evaluate_batch

    seconds = in_turns(
        {
            "overlap": lambda: evaluate_batch(rows, threads=1).scores,
            "grounded": lambda: evaluate_batch(rows, threads=1, profile="grounded").scores,
        },
        rounds,
        time.process_time,
    )
    return ratios(seconds["grounded"], seconds["overlap"])


def grounded_complaints(medians: Sequence[float]) -> list[str]:
    """Why grounded is too slow; one try below the limit is enough."""
    if min(medians) <= GROUNDED_LIMIT:
        return []
    tried = ", ".join(f"{median:.2f}" for median in medians)
    return [f"grounded: {tried} times the time of overlap, the limit is {GROUNDED_LIMIT:g}"]


# ---------------------------------------------------------------------------------- footprint


def base_packages() -> dict[str, int]:
    """Bytes of ``rag_eval`` and of each package that its dependencies bring without extras."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    found = {project["name"]: bytes_of((HERE.parent / "rag_eval").rglob("*"))}
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


# ------------------------------------------------------------------------------------- command


def _gate_costs(options: argparse.Namespace) -> list[str]:
    try:
        per_byte = {cost.corpus: cost.per_byte for cost in measure_costs()}
        grown = growth_complaints()
    except FileNotFoundError:
        message = "valgrind is not installed (apt-get install valgrind): no instruction was counted"
        print(message)
        return [] if options.allow_missing_valgrind else [message]
    except GateError as error:
        return [str(error)]
    processor, built_by = processor_class(), compiler()
    if options.update:
        FLOORS.write_text(floors_text(per_byte, built_by, processor))
    content = read_floors()
    floors = content.get(processor, {})
    if content.get("compiler") != built_by:
        print(f"note: floors are of {content.get('compiler')}, this build is by {built_by}")
    for corpus, cost in per_byte.items():
        print(f"{corpus}: {cost:.3f} instructions per byte (floor {floors.get(corpus)})")
    return cost_complaints(per_byte, floors) + grown


def _gate_ratio() -> list[str]:
    rows, source = corpora.benchmark_set("typical")
    medians = try_ratio(rows[:RATIO_ROWS])
    print(f"typical: {medians[-1]:.1f} times plain Python ({RATIO_ROWS} of {source})")
    return ratio_complaints(medians)


def _gate_grounded() -> list[str]:
    rows, source = corpora.benchmark_set("typical")
    medians = [measure_grounded(rows[:RATIO_ROWS], 7).median]
    if grounded_complaints(medians):
        medians.append(measure_grounded(rows[:RATIO_ROWS], 7).median)
    print(f"grounded: {medians[-1]:.2f} times the time of overlap ({RATIO_ROWS} of {source})")
    return grounded_complaints(medians)


def _gate_footprint() -> list[str]:
    packages = base_packages()
    print(f"packages without extras: {len(packages)}, {sum(packages.values()) / 1e6:.0f} MB")
    # Where valgrind is missing, the gate of costs has said so.
    times = import_ratio() if shutil.which("valgrind") else None
    if times is not None:
        print(f"import rag_eval: {times:.2f} times the instructions of import msgspec")
    return footprint_complaints(packages, times)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gate; 0 when it passes, 1 when it does not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the counts as the new floors")
    parser.add_argument(
        "--allow-missing-valgrind", action="store_true", help="pass without instruction counts"
    )
    options = parser.parse_args(arguments)
    complaints = _gate_costs(options) + _gate_ratio() + _gate_grounded()
    complaints += _gate_footprint()
    for complaint in complaints:
        print(f"FAILED {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
