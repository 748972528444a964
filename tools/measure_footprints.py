"""What each extra costs: packages and megabytes in a new environment, and the time of its import.

    python tools/measure_footprints.py WHEEL [EXTRA ...]

Prints the table of benchmarks/FOOTPRINTS.md, which docs/installation.md repeats. A time is the
processor time of an import in a new interpreter, the least of several.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# What the first use of an extra imports.
IMPORTS = {
    "": "rag_eval",
    "anthropic": "anthropic, stamina",
    "arrow": "pyarrow, pyarrow.parquet",
    "calibrate": "sklearn.linear_model",
    "dask": "dask.dataframe",
    "judge": "stamina",
    "lang": "Stemmer",
    "lemmas": "lemminflect",
    "markdown": "markdown_it",
    "openai": "openai, stamina",
    "pandas": "pandas",
    "plot": "matplotlib.pyplot",
    "ray": "ray.data",
    "report": "jinja2",
    "safe-regex": "re2",
    "schema": "jsonschema_rs",
    "spark": "pyspark.sql, pandas, pyarrow",
    "excel": "openpyxl",
    "verifier": "onnxruntime, tokenizers",
    "yaml": "yaml",
    "zstd": "backports.zstd",
}
ROUNDS = 7
TIMED = "import time; began = time.process_time(); import {}; print(time.process_time() - began)"


def output_of(python: Path, script: str) -> str:
    """What a script prints that imports nothing from the current folder."""
    done = subprocess.run([python, "-I", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout


def import_seconds(python: Path, modules: str) -> float:
    """Processor time of an import, from the byte code that pip wrote."""
    return min(float(output_of(python, TIMED.format(modules))) for _ in range(ROUNDS))


def installed(python: Path) -> dict[str, int]:
    """Bytes of the packages of an environment, byte code left out."""
    script = (
        "from importlib.metadata import distributions\n"
        "for one in distributions():\n"
        "    files = [f.locate() for f in one.files or [] if f.suffix != '.pyc']\n"
        "    print(one.name, sum(f.stat().st_size for f in files if f.exists()))"
    )
    lines = output_of(python, script).splitlines()
    return {name: int(size) for name, size in map(str.split, lines)}


def measure(wheel: Path, extra: str) -> tuple[int, float, float]:
    """Packages, megabytes and seconds of the import, with one extra or with none."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False)
        python = Path(folder) / "bin" / "python"
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", wanted], check=True)
        packages = installed(python)
        return len(packages), sum(packages.values()) / 1e6, import_seconds(python, IMPORTS[extra])


def main(wheel: str, *extras: str) -> None:
    """Print the table, the base first."""
    n_base, base, seconds = measure(Path(wheel).resolve(), "")
    print("| extra | packages | MB | import | ms |\n|---|---:|---:|---|---:|")
    print(f"| none | {n_base} | {base:.0f} | `{IMPORTS['']}` | {1000 * seconds:.0f} |", flush=True)
    for extra in extras or sorted(filter(None, IMPORTS)):
        n_packages, megabytes, seconds = measure(Path(wheel).resolve(), extra)
        names = re.sub(r"[\w.]+", r"`\g<0>`", IMPORTS[extra])
        more = f"+{n_packages - n_base} | +{megabytes - base:.1f}"
        print(f"| `{extra}` | {more} | {names} | {1000 * seconds:.0f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python tools/measure_footprints.py WHEEL [EXTRA ...]")
    main(*sys.argv[1:])
