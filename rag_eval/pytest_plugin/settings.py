"""The settings of a session from the command line and the ini file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from rag_eval.plumbing.durable_files import followed
from rag_eval.samples import POLICIES, PROFILES, Policy

# Each option's metavar and help.
_OF_SESSION: Final = {
    "baseline": (
        "FILE",
        "compare the scores of this session with this run, written by --rag-eval-save or by "
        "rag-eval run, score or baseline; a regression exits with status 1",
    ),
    "policy": ("NAME", f"policy of the gate: {', '.join(POLICIES)} (default: no-regression)"),
    "alpha": ("X", "accepted probability of a false alarm (default: 0.05)"),
    "margin": ("X", "accepted loss of a mean (default: 0); required by non-inferior"),
    "tolerance": ("X", "drop of a mean that passes although a test shows it (default: 0.005)"),
    "max_null_rise": ("X", "accepted rise of a metric's share of null scores (default: 0.02)"),
    "max_missing_rows": (
        "X",
        "accepted share of the baseline's rows that are missing (default: 0.01)",
    ),
    "profile": (
        "NAME",
        f"default profile for tests that name none: {' or '.join(PROFILES)}",
    ),
}
# Limits that a policy has defaults for, each with its largest value.
_LIMITS: Final = {
    "margin": float("inf"),
    "tolerance": float("inf"),
    "max_null_rise": 1.0,
    "max_missing_rows": 1.0,
}
_Name = TypeVar("_Name", bound=str)
_OPTIONS: Final = pytest.StashKey[Mapping[str, Any]]()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """The settings of a session.

    Attributes
    ----------
    baseline, save : Path or None
    asked : bool
        Whether the baseline was named on the command line, so that a session without scores
        fails.
    in_part : bool
        Whether files or tests were named while the baseline is that of the ini file, so that rows
        of other files are not missing.
    policy : str
    alpha : float
    margin, tolerance, max_null_rise, max_missing_rows : float or None
    is_collecting : bool
        Whether tests are only collected.
    """

    baseline: Path | None = None
    save: Path | None = None
    asked: bool = False
    in_part: bool = False
    policy: Policy = "no-regression"
    alpha: float = 0.05
    margin: float | None = None
    tolerance: float | None = None
    max_null_rise: float | None = None
    max_missing_rows: float | None = None
    is_collecting: bool = False

    @property
    def is_new_baseline(self) -> bool:
        """Whether the session is to replace its own baseline."""
        if self.baseline is None or self.save is None:
            return False
        return followed(self.baseline) == followed(self.save)


def add_options(parser: pytest.Parser) -> None:
    """Add each option with its ini setting, except for the file to save."""
    group = parser.getgroup("rag_eval", "scores of retrieval-augmented generation")
    for name, (metavar, text) in _OF_SESSION.items():
        flag = _flag(name)
        group.addoption(flag, dest=f"rag_eval_{name}", metavar=metavar, help=text)
        parser.addini(f"rag_eval_{name}", text)
    group.addoption(
        "--rag-eval-save",
        dest="rag_eval_save",
        metavar="FILE",
        help="write the scores of this session to a .json file that can be committed as a baseline",
    )


def _flag(name: str) -> str:
    return f"--rag-eval-{name.replace('_', '-')}"


def default_options(config: pytest.Config) -> Mapping[str, Any]:
    """Default options for the evaluations of tests."""
    found = config.stash.get(_OPTIONS, None)
    if found is None:
        profile = _value(config, "profile")
        found = config.stash[_OPTIONS] = {} if profile is None else {"profile": profile}
    return found


def session_settings(config: pytest.Config) -> SessionSettings:
    """The checked settings of a session.

    Raises
    ------
    pytest.UsageError
        For an invalid value or a missing baseline.
    """
    _one_of(config, "profile", PROFILES)
    alpha = _number(config, "alpha")
    save = config.getoption("rag_eval_save")
    asked = config.getoption("rag_eval_baseline") is not None
    settings = SessionSettings(
        baseline=_baseline(config),
        save=None if save is None else config.invocation_params.dir / save,
        asked=asked,
        in_part=not asked and any(Path(name).suffix == ".py" for name in _named(config)),
        policy=_one_of(config, "policy", POLICIES) or "no-regression",
        alpha=0.05 if alpha is None else alpha,
        **{name: _number(config, name) for name in _LIMITS},
        is_collecting=any(config.getoption(name, False) for name in ("collectonly", "setuponly")),
    )
    _check(settings)
    return settings


def _named(config: pytest.Config) -> list[str]:
    """The files and folders on the command line."""
    given = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    return [name.partition("::")[0] for name in given]


def _check(settings: SessionSettings) -> None:
    if settings.save is not None:
        if not settings.save.name.endswith((".json", ".json.gz")):
            raise pytest.UsageError(f"--rag-eval-save must be a .json file, got {settings.save}")
        if not settings.save.parent.is_dir():
            raise pytest.UsageError(f"--rag-eval-save: there is no folder {settings.save.parent}")
    baseline = settings.baseline
    if baseline is not None and not settings.is_new_baseline and not baseline.is_file():
        raise pytest.UsageError(
            f"--rag-eval-baseline: there is no file {baseline}; write one with --rag-eval-save"
        )
    if settings.policy == "non-inferior" and not settings.margin:
        raise pytest.UsageError(
            "--rag-eval-policy non-inferior needs --rag-eval-margin, the accepted loss of a mean"
        )


def _value(config: pytest.Config, name: str) -> str | None:
    """The value from the command line, otherwise from the ini file."""
    given = config.getoption(f"rag_eval_{name}")
    return str(given) if given is not None else str(config.getini(f"rag_eval_{name}") or "") or None


def _one_of(config: pytest.Config, name: str, known: tuple[_Name, ...]) -> _Name | None:
    value = _value(config, name)
    found = next((one for one in known if one == value), None)
    if value is not None and found is None:
        raise pytest.UsageError(
            f"--rag-eval-{name} must be one of {', '.join(known)}, got {value!r}"
        )
    return found


def _number(config: pytest.Config, name: str) -> float | None:
    value = _value(config, name)
    most = _LIMITS.get(name, 0.5)
    try:
        found = None if value is None else float(value)
    except ValueError:
        found = -1.0
    if found is None:
        return None
    if name == "alpha":
        is_valid, wanted = 0 < found < most, "above 0 and below 0.5"
    else:
        is_valid = 0 <= found <= most and found < float("inf")
        wanted = "of at least 0" if most > 1 else "from 0 to 1"
    if not is_valid:
        raise pytest.UsageError(f"{_flag(name)} must be a number {wanted}, got {value!r}")
    return found


def _baseline(config: pytest.Config) -> Path | None:
    """Resolve a path from the start folder, or from the folder of the ini file."""
    given = config.getoption("rag_eval_baseline")
    if given is not None:
        return config.invocation_params.dir / str(given)
    named = _value(config, "baseline")
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    return None if named is None else folder / named
