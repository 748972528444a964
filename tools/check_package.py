"""Checks the package as users get it: sdist -> wheel -> a clean environment.

    python tools/check_package.py

The wheel is built from the sdist, so that a file the sdist lacks cannot hide; so is the sdist, once
more, and its bytes are the same under SOURCE_DATE_EPOCH. The wheel must hold no
source of a kernel and no debug information, and must score the example when installed alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNWANTED = (".c", ".pyx", ".pxd", ".h")
MAX_WHEEL_BYTES = 3_000_000


def run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run a command and give its output; its failure ends the check."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def build_sdist(source: Path, folder: Path) -> Path:
    """The sdist of a source tree, as of a fixed time."""
    epoch = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    # With the tools of this environment; the wheel is built in one of its own.
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation"]
    run(*command, "--outdir", folder, cwd=source, env=epoch)
    (sdist,) = folder.glob("*.tar.gz")
    return sdist


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel built from it in a folder of its own."""
    sdist = build_sdist(ROOT, folder)
    shutil.unpack_archive(sdist, folder / "source")
    (source,) = (folder / "source").iterdir()
    again = build_sdist(source, folder / "again")
    if again.read_bytes() != sdist.read_bytes():
        sys.exit("the sdist is not reproducible: built from itself, it has other bytes")
    # What the tree compiled from the same sources by the same flags is not compiled again.
    cache = {**os.environ, "RAG_EVAL_KERNEL_CACHE": str(ROOT / "build" / "kernels")}
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, cwd=source, env=cache)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def check_wheel(wheel: Path, folder: Path) -> None:
    """The wheel holds the kernels, stripped of sources and debug information, not of symbols."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(folder / "unpacked")
    unwanted = [name for name in names if name.endswith(UNWANTED)]
    if unwanted:
        sys.exit(f"the wheel holds sources: {unwanted}")
    if "rag_eval/py.typed" not in names or not any(name.endswith(".pyi") for name in names):
        sys.exit("the wheel holds no types")
    if wheel.stat().st_size > MAX_WHEEL_BYTES:
        sys.exit(f"the wheel has {wheel.stat().st_size:,} bytes")
    kernels = sorted((folder / "unpacked").glob("rag_eval/_native/*.so"))
    expected = {path.stem for path in (ROOT / "_native").glob("*.pyx")}
    if {path.name.split(".")[0] for path in kernels} != expected:
        sys.exit(f"kernels in the wheel: {[path.name for path in kernels]}")
    for kernel in kernels:
        sections = run("readelf", "--section-headers", "--wide", kernel)
        if ".debug_info" in sections or ".symtab" not in sections:
            sys.exit(f"{kernel.name}: debug information is in or the symbol table is out")


def install(python: Path, requirement: str | Path) -> None:
    """Install something for an interpreter that has no pip, by the pip of this one."""
    flags = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    run(sys.executable, "-m", "pip", "--python", python, "install", *flags, requirement)


def check_installed(wheel: Path, folder: Path) -> None:
    """The wheel works alone in a clean environment, from the command line and from Python."""
    venv.create(folder / "clean")
    python = folder / "clean" / "bin" / "python"
    install(python, wheel)
    check_plugin(python, folder)
    example = ROOT / "examples" / "handbook.jsonl"
    for profile in ("overlap", "grounded"):
        output = folder / f"{profile}.json"
        program = folder / "clean" / "bin" / "rag-eval"
        command: list[str | Path] = [program, "run", example, "--profile", profile]
        done = subprocess.run(
            [*command, "--output", output], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode or not output.exists():
            sys.exit(f"rag-eval run ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    check_prompts(folder / "clean" / "bin" / "rag-eval", example, folder)
    check_page(folder / "clean" / "bin", wheel, folder)
    script = "import rag_eval; print(rag_eval.token_f1('a b', 'a c'), rag_eval.__file__)"
    score, location = run(python, "-c", script, cwd=folder).split()
    if score != "0.5" or "clean" not in location:
        sys.exit(f"the installed package gave {score} from {location}")


def check_prompts(program: Path, example: Path, folder: Path) -> None:
    """Every prompt is in the wheel: a dry run renders them, without an SDK and without a key."""
    metrics = "faithfulness,context_recall,context_precision,mastra.bias,omk.faithfulness"
    for style in ("claims", "rating"):
        flags = ["--mode", "llm", "--judge-style", style, "--judge", "openai:any", "--dry-run"]
        shown = run(program, "run", example, "--metrics", metrics, *flags, cwd=folder)
        if "no calls were made" not in shown:
            sys.exit(f"the dry run of a judge printed:\n{shown}")


def check_plugin(python: Path, folder: Path) -> None:
    """pytest finds the plugin, and what it names can be imported without any extra."""
    script = (
        "from importlib.metadata import entry_points; "
        "print(*[entry.value for entry in entry_points(group='pytest11')])"
    )
    if run(python, "-c", script, cwd=folder).split() != ["rag_eval.pytest_plugin"]:
        sys.exit("the wheel has no entry point for pytest, or others beside it")


def check_page(programs: Path, wheel: Path, folder: Path) -> None:
    """Templates, style and script of the page are in the wheel; its extra is all it takes."""
    install(programs / "python", f"{wheel}[report]")
    page = folder / "page.html"
    result = folder / "grounded.json"
    run(programs / "rag-eval", "report", result, "--html", page, cwd=folder)
    if "<svg" not in page.read_text(encoding="utf-8"):
        sys.exit(f"the page has no chart:\n{page.read_text(encoding='utf-8'):.2000}")


def main() -> None:
    """Build, look inside, install, score."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist, wheel = build(folder)
        check_wheel(wheel, folder)
        check_installed(wheel, folder)
        print(f"{sdist.name} -> {wheel.name} ({wheel.stat().st_size:,} bytes): installed, scored")


if __name__ == "__main__":
    main()
