"""The one place where profiles part: options to settings, and a batch with settings to scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rag_eval.errors import InputError, suggestion
from rag_eval.kernels.grounded_settings import GroundedSettings
from rag_eval.kernels.overlap_settings import OverlapSettings
from rag_eval.samples import PROFILES, Profile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from rag_eval.kernels.columns import SampleBatch

Settings: TypeAlias = OverlapSettings | GroundedSettings

COMPOSITE_THRESHOLDS: Final[dict[Profile, float]] = {"overlap": 0.6, "grounded": 0.5}
"""Composite score from which a sample passes, by profile."""

# Options that one profile has, and why the other refuses them.
_GROUNDED_ONLY: Final = {
    "language": "the overlap profile reads every language alike",
    "stemmer": "the overlap profile does not stem",
}


def settings_of(options: Mapping[str, Any]) -> Settings:
    """The settings of a call from its normalized options.

    Raises
    ------
    InputError
        For an unknown profile, or an option that the profile does not have.
    """
    profile = options.get("profile")
    profile = "overlap" if profile is None else profile
    if profile not in PROFILES:
        hint = suggestion(profile, PROFILES)
        raise InputError(f"profile must be 'overlap' or 'grounded', got {profile!r}{hint}")
    if profile == "overlap":
        for name, reason in _GROUNDED_ONLY.items():
            if options.get(name) is not None:
                raise InputError(f"{name} needs profile='grounded': {reason}")
        return OverlapSettings.from_options(options.get("heuristic") or {})
    given = [name for name, value in (options.get("heuristic") or {}).items() if value is not None]
    if given:
        raise InputError(
            f"heuristic option {given[0]} belongs to profile='overlap': the formulas of the "
            "grounded profile have fixed weights and cuts"
        )
    return GroundedSettings.from_options(options)


def score_batch(
    batch: SampleBatch, settings: Settings, metrics: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """Scores and null reasons of a batch; both of shape (R, M)."""
    from rag_eval.kernels import scoring as kernels

    if isinstance(settings, OverlapSettings):
        return kernels.score_overlap(batch, settings, metrics)
    from rag_eval.kernels.snowball import snowball_stems

    return kernels.score_grounded(batch, settings, metrics, snowball_stems(batch, settings))
