"""Options of the command line and the ini file in; what a session is asked for, out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from rag_eval.plumbing.durable_files import followed
from rag_eval.samples import POLICIES, PROFILES, Policy

# By its name what stands for a value of each, and its help.
_OF_SESSION: Final = {
    "baseline": (
        "FILE",
        "hold the scores of this session against this run: a file of --rag-eval-save, or "
        "of rag-eval run, score or baseline; worse is exit status 1",
    ),
    "policy": ("NAME", f"by which rule: {', '.join(POLICIES)} (no-regression)"),
    "alpha": ("X", "chance of a false alarm that is accepted (0.05)"),
    "margin": ("X", "a loss of a mean that is accepted (0); non-inferior needs one"),
    "profile": (
        "NAME",
        f"how samples are scored where a test does not say: {' or '.join(PROFILES)}",
    ),
}
_Name = TypeVar("_Name", bound=str)
_OPTIONS: Final = pytest.StashKey[Mapping[str, Any]]()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """What a session is asked for.

    Attributes
    ----------
    baseline, save : Path or None
    asked : bool
        The baseline was named on the command line: a session without scores cannot pass.
    policy : str
    alpha : float
    margin : float or None
    is_collecting : bool
        No test will run.
    """

    baseline: Path | None = None
    save: Path | None = None
    asked: bool = False
    policy: Policy = "no-regression"
    alpha: float = 0.05
    margin: float | None = None
    is_collecting: bool = False

    @property
    def is_new_baseline(self) -> bool:
        """The session is to become the run that it would be held against."""
        if self.baseline is None or self.save is None:
            return False
        return followed(self.baseline) == followed(self.save)


def add_options(parser: pytest.Parser) -> None:
    """Each option of a session with its twin in the ini file; where to save is no setting."""
    group = parser.getgroup("rag_eval", "scores of retrieval-augmented generation")
    for name, (metavar, text) in _OF_SESSION.items():
        group.addoption(f"--rag-eval-{name}", dest=f"rag_eval_{name}", metavar=metavar, help=text)
        parser.addini(f"rag_eval_{name}", text)
    group.addoption(
        "--rag-eval-save",
        dest="rag_eval_save",
        metavar="FILE",
        help="write the scores of this session to a .json file that can be committed as a baseline",
    )


def default_options(config: pytest.Config) -> Mapping[str, Any]:
    """Options of evaluations where a test gives none."""
    found = config.stash.get(_OPTIONS, None)
    if found is None:
        profile = _value(config, "profile")
        found = config.stash[_OPTIONS] = {} if profile is None else {"profile": profile}
    return found


def session_settings(config: pytest.Config) -> SessionSettings:
    """The settings of a session, checked.

    Raises
    ------
    pytest.UsageError
        For a value that is none, and a baseline that is not there.
    """
    _one_of(config, "profile", PROFILES)
    alpha, margin = _number(config, "alpha"), _number(config, "margin")
    save = config.getoption("rag_eval_save")
    settings = SessionSettings(
        baseline=_baseline(config),
        save=None if save is None else config.invocation_params.dir / save,
        asked=config.getoption("rag_eval_baseline") is not None,
        policy=_one_of(config, "policy", POLICIES) or "no-regression",
        alpha=0.05 if alpha is None else alpha,
        margin=margin,
        is_collecting=any(config.getoption(name, False) for name in ("collectonly", "setuponly")),
    )
    _check(settings)
    return settings


def _check(settings: SessionSettings) -> None:
    if settings.save is not None:
        if not settings.save.name.endswith((".json", ".json.gz")):
            raise pytest.UsageError(f"--rag-eval-save: wanted a .json file, got {settings.save}")
        if not settings.save.parent.is_dir():
            raise pytest.UsageError(f"--rag-eval-save: there is no folder {settings.save.parent}")
    baseline = settings.baseline
    if baseline is not None and not settings.is_new_baseline and not baseline.is_file():
        raise pytest.UsageError(
            f"--rag-eval-baseline: there is no file {baseline}; "
            "a session writes one with --rag-eval-save"
        )
    if settings.policy == "non-inferior" and not settings.margin:
        raise pytest.UsageError(
            "--rag-eval-policy non-inferior needs --rag-eval-margin: a loss that would not matter"
        )


def _value(config: pytest.Config, name: str) -> str | None:
    """Of the command line, else of the ini file."""
    given = config.getoption(f"rag_eval_{name}")
    return str(given) if given is not None else str(config.getini(f"rag_eval_{name}") or "") or None


def _one_of(config: pytest.Config, name: str, known: tuple[_Name, ...]) -> _Name | None:
    value = _value(config, name)
    found = next((one for one in known if one == value), None)
    if value is not None and found is None:
        raise pytest.UsageError(
            f"--rag-eval-{name}: wanted one of {', '.join(known)}, got {value!r}"
        )
    return found


def _number(config: pytest.Config, name: str) -> float | None:
    value = _value(config, name)
    most = 0.5 if name == "alpha" else float("inf")
    try:
        found = None if value is None else float(value)
    except ValueError:
        found = -1.0
    if found is not None and not (0 < found < most or (found == 0 and name == "margin")):
        wanted = "above 0 and below 0.5" if name == "alpha" else "from 0 on"
        raise pytest.UsageError(f"--rag-eval-{name}: wanted a number {wanted}, got {value!r}")
    return found


def _baseline(config: pytest.Config) -> Path | None:
    """From where pytest was called, or in an ini file from its folder."""
    given = config.getoption("rag_eval_baseline")
    if given is not None:
        return config.invocation_params.dir / str(given)
    named = _value(config, "baseline")
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    return None if named is None else folder / named
