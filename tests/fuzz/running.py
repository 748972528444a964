"""Targets in, findings out: inputs by a seed, each kept in a file while it runs.

An input is a string of bytes that a target reads its choices off; the same bytes make the same
texts, tables and options again.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import random
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final, TypeAlias

from tests.grounded_samples import Choices

Target: TypeAlias = Callable[[Choices], None]

SIZES: Final = (40, 200, 1000, 1000, 4000)
"""Bytes of an input; past its end every choice is the first."""

MOST_CPU_S: Final = 120
"""An input that takes longer is a finding as well."""

MOST_FINDINGS: Final = 10
"""After so many a target has no more turns: they are likely to be one fault."""

_MINUTE: Final = 60.0


def blob_of(seed: int, target: str, number: int) -> bytes:
    """Input ``number`` of a target; it depends on nothing else."""
    chance = random.Random(f"{seed} {target} {number}")
    return chance.randbytes(chance.choice(SIZES))


def reproduction(target: str, path: Path) -> str:
    """The command that runs one input again, in the sanitized build."""
    return f"make fuzz FUZZ='--target {target} --reproduce {path.resolve()}'"


@dataclass
class Tally:
    """What was done for a target."""

    n_inputs: int = 0
    cpu_s: float = 0.0
    n_findings: int = 0


@dataclass
class Fuzzer:
    """Runs inputs of some targets, the one with the least time so far next.

    Attributes
    ----------
    crashes : Path
        Folder for inputs that failed, and the one that is running.
    """

    targets: Mapping[str, Target]
    seed: int
    crashes: Path
    tallies: dict[str, Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tallies = {name: Tally() for name in self.targets}
        self.crashes.mkdir(parents=True, exist_ok=True)
        self._current = self.crashes / "running"
        self._keep_what_was_running()

    def run_for(self, seconds: float) -> int:
        """Run inputs for so long; how many failed."""
        stop_slow_inputs()
        ends = monotonic() + seconds
        tells = monotonic() + _MINUTE
        while (now := monotonic()) < ends:
            if now > tells:
                print(self.summary(), flush=True)
                tells = now + _MINUTE
            left = [
                name for name, tally in self.tallies.items() if tally.n_findings < MOST_FINDINGS
            ]
            if not left:
                break
            self.run_next(min(left, key=lambda name: self.tallies[name].cpu_s))
        self._current.unlink(missing_ok=True)
        return sum(tally.n_findings for tally in self.tallies.values())

    def run_next(self, name: str) -> None:
        """Run one more input of a target."""
        tally = self.tallies[name]
        blob = blob_of(self.seed, name, tally.n_inputs)
        # A sanitizer ends the process at once: the input must be in a file before.
        self._current.write_bytes(name.encode() + b"\n" + blob)
        before = cpu_seconds()
        with slow_inputs_stopped():
            try:
                self.targets[name](Choices(blob))
            except Exception:
                tally.n_findings += 1
                self._tell(name, blob)
        tally.n_inputs += 1
        tally.cpu_s += cpu_seconds() - before

    def summary(self) -> str:
        """Inputs, seconds of CPU and findings, in all and of each target."""
        parts = [
            f"{name} {tally.n_inputs} inputs {tally.cpu_s:.0f} s"
            + (f" {tally.n_findings} FINDINGS" if tally.n_findings else "")
            for name, tally in self.tallies.items()
        ]
        n_inputs = sum(tally.n_inputs for tally in self.tallies.values())
        n_findings = sum(tally.n_findings for tally in self.tallies.values())
        return (
            f"{n_inputs} inputs, {cpu_seconds():.0f} s of CPU, {n_findings} findings "
            f"({'; '.join(parts)})"
        )

    def _tell(self, name: str, blob: bytes) -> None:
        path = self.crashes / f"{name}-{hashlib.sha256(blob).hexdigest()[:12]}.bin"
        path.write_bytes(blob)
        traceback.print_exc()
        print(f"{name} failed; to run this input again: {reproduction(name, path)}", flush=True)

    def _keep_what_was_running(self) -> None:
        """An input that ended the process of an earlier run becomes a finding of its own."""
        if not self._current.exists():
            return
        name, _, blob = self._current.read_bytes().partition(b"\n")
        path = self.crashes / f"{name.decode()}-{hashlib.sha256(blob).hexdigest()[:12]}.bin"
        self._current.replace(path)
        path.write_bytes(blob)
        command = reproduction(name.decode(), path)
        print(f"an earlier run ended within {name.decode()}; to run its input again: {command}")


def cpu_seconds() -> float:
    """Seconds of CPU that this process has taken, on all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def stop_slow_inputs() -> None:
    """Print a traceback and end the process when `slow_inputs_stopped` runs out of time."""
    faulthandler.register(signal.SIGPROF, file=sys.stderr, all_threads=True, chain=True)


@contextlib.contextmanager
def slow_inputs_stopped() -> Iterator[None]:
    """CPU time, so that a busy machine is no finding; code that holds the GIL is stopped, too."""
    signal.setitimer(signal.ITIMER_PROF, MOST_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
