"""Runs each integration against the real package, and records the versions.

    python tools/check_adapters.py [TOOL ...] [--keep]

Each tool has an environment of its own, ``.venv-adapters-TOOL``, which is removed afterwards
(``--keep`` keeps it, and what is there is used again). The versions that passed are written into
``docs/how-to/integrations.md``; rows of tools that were not run stay as they are.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "how-to" / "integrations.md"
OURS_FOR_TESTS = ("hypothesis>=6.100", "pytest>=8", "pytest-timeout>=2.3")
HEAD = "| tool | tested with | tests | Python | date |\n|---|---|---|---|---|\n"
# Nothing is sent anywhere, and plugins of tools stay out of pytest.
QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "RAGAS_DO_NOT_TRACK": "true",
}
# Event loops and sockets that tools leave open are not ours to close.
PYTEST = ("-p", "pytest_timeout", "-W", "ignore::pytest.PytestUnraisableExceptionWarning")


@dataclass(frozen=True, slots=True)
class Tool:
    """What is installed for a tool; ``alone`` without what it depends on."""

    packages: tuple[str, ...]
    shown: tuple[str, ...]
    alone: tuple[str, ...] = ()


TOOLS = {
    "datasets": Tool(("datasets",), ("datasets", "pyarrow")),
    "deepeval": Tool(("deepeval",), ("deepeval",)),
    "inspect_ai": Tool(("inspect-ai",), ("inspect-ai",)),
    "langchain": Tool(("langchain-classic",), ("langchain-classic", "langchain-core", "langsmith")),
    "langsmith": Tool(("langsmith",), ("langsmith",)),
    "llamaindex": Tool(("llama-index-core",), ("llama-index-core",)),
    "mlflow": Tool(("mlflow>=3.1",), ("mlflow",)),
    # All that it wants is a gigabyte, and does not let it be imported; its shapes want less.
    "ragas": Tool(
        ("datasets", "langchain-core", "pydantic", "tiktoken"), ("ragas",), alone=("ragas",)
    ),
}


def run(*command: str | Path, environment: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a command; its exit code and what it said."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def install(folder: Path, tool: Tool) -> Path:
    """The interpreter of an environment with the tool and with what we depend on.

    The package itself is that of the checkout, with kernels built for the same Python.
    """
    if not (folder / "bin" / "python").exists():
        venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = (
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-cache-dir",
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    steps = [(*pip, *tool.packages, *project["dependencies"], *OURS_FOR_TESTS)]
    if tool.alone:
        steps.append((*pip, "--no-deps", *tool.alone))
    for step in steps:
        code, said = run(*step)
        if code:
            sys.exit(f"{folder.name}: pip failed:\n{said}")
    return python


def check(name: str, tool: Tool, keep: bool) -> str | None:
    """The row of a tool in the table; None where a test failed."""
    folder = ROOT / f".venv-adapters-{name}"
    try:
        python = install(folder, tool)
        environment = {**os.environ, **QUIET, "HOME": str(folder)}
        tests = [f"tests/adapters/test_{name}.py", "tests/adapters/test_docs_page.py"]
        code, said = run(
            python, "-m", "pytest", *PYTEST, "-m", "adapters", *tests, environment=environment
        )
        passed = re.search(r"(\d+) passed", said)
        if code or passed is None or "failed" in said.splitlines()[-1]:
            print(f"{name}: failed\n{said}")
            return None
        shown = "import sys, importlib.metadata as m\nfor n in sys.argv[1:]: print(n, m.version(n))"
        versions = ", ".join(run(python, "-c", shown, *tool.shown)[1].splitlines())
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    date = datetime.datetime.now(datetime.UTC).date()
    print(f"{name}: {passed[0]} with {versions}")
    return f"| {name} | {versions} | {passed[0]} | {platform.python_version()} | {date} |"


def write(rows: dict[str, str]) -> None:
    """Put the rows into the page, in place of older ones of the same tools."""
    text = PAGE.read_text("utf-8")
    before, start, rest = text.partition("<!-- versions -->\n")
    table, end, after = rest.partition("<!-- /versions -->")
    if not end:
        sys.exit(f"{PAGE} has no place for versions")
    found = [line for line in table.splitlines() if line and line + "\n" not in HEAD]
    kept = {line.split("|")[1].strip(): line for line in found}
    lines = sorted(({**kept, **rows}).items())
    table = "\n" + HEAD + "".join(f"{row}\n" for _, row in lines) + "\n"
    PAGE.write_text(before + start + table + end + after, "utf-8")


def main(arguments: list[str]) -> None:
    """Check the tools that were named, or all of them."""
    names = [name for name in arguments if name != "--keep"] or list(TOOLS)
    unknown = set(names) - TOOLS.keys()
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))} (known are {', '.join(TOOLS)})")
    rows = {name: check(name, TOOLS[name], "--keep" in arguments) for name in names}
    write({name: row for name, row in rows.items() if row is not None})
    if None in rows.values():
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
