"""Keeps README.md true: runs what it shows and puts the real output back.

    python tools/update_readme.py [--check]

A ``console`` block holds commands after ``$`` and what they print on standard output; the metric
table of each profile stands between its two marks. ``--check`` changes nothing and exits 1 where
the README is out of date.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rag_eval.metrics.registry import PROFILE_METRICS
from rag_eval.samples import Profile, camel_case

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
_BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)
_TABLES = {
    profile: re.compile(rf"(?<=<!-- {profile} -->\n)(.*?)(?=<!-- /{profile} -->)", re.DOTALL)
    for profile in PROFILE_METRICS
}


def run(command: str) -> str:
    """What a command of the README prints, in the repository, at 100 columns."""
    words = shlex.split(command)
    if words[0] == "rag-eval":
        words = [sys.executable, "-m", "rag_eval", *words[1:]]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command} ended with {done.returncode}")
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def console_block(text: str) -> str:
    """The block with each command's output as it is now; ``make`` and ``pip`` are left alone."""
    parts = []
    for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        parts.append(f"$ {command}\n")
        if command.split()[0] in ("rag-eval", "cat", "head"):
            parts.append(run(command))
    return "".join(parts)


def metric_table(profile: Profile) -> str:
    """One row per metric of a profile: what it measures, reads, needs."""
    rows = [
        "| metric | algorithm | reads | threshold | null when |",
        "|---|---|---|---|---|",
    ]
    for spec in PROFILE_METRICS[profile].values():
        fields = ", ".join(f"`{name}`" for name in spec.fields)
        threshold = "–" if spec.threshold is None else spec.threshold
        lower = "" if spec.higher_is_better else "; lower is better"
        rows.append(
            f"| `{spec.id}` (`{camel_case(spec.id)}`) | {spec.summary}{lower} | {fields} "
            f"| {threshold} | {spec.null_when} |".replace(f" (`{spec.id}`)", "")
        )
    return "\n".join(rows) + "\n"


def updated(text: str) -> str:
    """The README with its outputs and its tables as they are now."""
    text = _BLOCK.sub(lambda match: console_block(match[1]), text)
    for profile, table in _TABLES.items():
        text = table.sub(lambda _, profile=profile: metric_table(profile), text)  # type: ignore[misc]
    return text


def main() -> int:
    """Update, or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    check = parser.parse_args().check
    before = README.read_text("utf-8")
    after = updated(before)
    if check:
        return int(before != after)
    README.write_text(after, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
