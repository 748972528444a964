"""Signatures: exactly the settings and table versions that could change a score."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from rag_eval.errors import InputError
from rag_eval.kernels.settings import FAITHFULNESS_WEIGHTS, GroundedSettings, OverlapSettings
from rag_eval.metrics.seven import PROFILE_METRICS
from rag_eval.options.plan import Plan
from rag_eval.samples import MetricId, Profile

SCORE_VERSIONS: Final[dict[Profile, int]] = {"overlap": 1, "grounded": 3}
"""Per profile; goes up with every change to any of its scores."""

UNICODE_VERSION: Final = "17.0.0"

SIGNATURE_KEY: Final = b"rag_eval.signature"
"""Under this name the schema of an Arrow table holds it."""

# The judge of a signature, and what else of judging could change a number.
_JUDGE_KEYS: Final = (
    "mode",
    "judged",
    "judges",
    "verifier",
    "judgeStyle",
    "judgeRepeat",
    "judgePrompts",
    "onJudgeFailure",
    "cascadeBand",
    "auditShare",
    "judgeSeed",
    "scorerOptions",
    "calibrations",
)
# Those of them that have a value per metric.
_PER_METRIC_KEYS: Final = frozenset(
    {"judgePrompts", "cascadeBand", "scorerOptions", "calibrations"}
)
# What an option means where a signature does not name it.
_UNNAMED: Final = {FAITHFULNESS_WEIGHTS: "shipped"}
_DIGEST_DIGITS: Final = 6
# Options are sorted, compared and written by functions that call themselves.
_MOST_DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class Signature:
    """Under what settings scores were made.

    Attributes
    ----------
    profile : str
    version : int
        Score version of the library that made them.
    unicode : str
        Version of the Unicode tables.
    options : dict
        The options that the run's metrics read, with their values.
    """

    profile: str
    version: int
    unicode: str
    options: dict[str, Any]

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(
        cls, metrics: tuple[MetricId, ...], settings: OverlapSettings | GroundedSettings
    ) -> Signature:
        """The signature of scores of these metrics under these settings."""
        profile = settings.profile
        return cls(
            profile,
            SCORE_VERSIONS[profile],
            UNICODE_VERSION,
            settings.only(_option_names(profile, metrics)),
        )

    @classmethod
    def from_dict(cls, value: object) -> Signature:
        """Read back what :meth:`to_dict` wrote."""
        from rag_eval.plumbing.json_text import is_deeper

        if not isinstance(value, Mapping) or not {"profile", "version", "unicode"} <= set(value):
            raise InputError(f"not a signature: {value!r:.80}")
        for name in ("profile", "unicode"):
            if not isinstance(value[name], str):
                raise InputError(f"not a signature: its {name} is {value[name]!r:.80}")
        if type(value["version"]) is not int:
            raise InputError(f"not a signature: its version is {value['version']!r:.80}")
        options = value.get("options") or {}
        if not isinstance(options, Mapping):
            raise InputError(f"not a signature: its options are {options!r:.80}")
        if is_deeper(dict(options), _MOST_DEPTH):
            raise InputError(f"not a signature: options nested more than {_MOST_DEPTH} deep")
        return cls(value["profile"], value["version"], value["unicode"], dict(options))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "profile": self.profile,
            "version": self.version,
            "unicode": self.unicode,
            "options": dict(self.options),
        }

    @property
    def short(self) -> str:
        """``grounded:3 1f0c9a``: profile, version, and a digest of everything."""
        import hashlib

        digest = hashlib.sha256(str(self).encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self.profile}:{self.version} {digest[:_DIGEST_DIGITS]}"

    def __str__(self) -> str:
        parts = [f"{self.profile}:{self.version}", f"unicode:{self.unicode}"]
        for name, value in sorted(self.options.items()):
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(f"{name}:{text}")
        return "|".join(parts)

    def differences(self, other: Signature, metrics: Iterable[MetricId]) -> list[str]:
        """What makes scores of these metrics incomparable: ``name: ours, not theirs``."""
        compared = list(metrics)
        pairs: list[tuple[str, Any, Any]] = [
            ("profile", self.profile, other.profile),
            ("unicode", self.unicode, other.unicode),
        ]
        names: list[str] = []
        # Another profile has another version and other options, which say nothing more.
        if self.profile == other.profile:
            pairs.insert(1, ("version", self.version, other.version))
            names = _option_names(self.profile, compared)
        pairs += [
            (name, self.options.get(name, default), other.options.get(name, default))
            for name, default in ((name, _UNNAMED.get(name)) for name in names)
        ]
        ours = {**_judging(self.options, compared), **_scorers(self.options, compared)}
        theirs = {**_judging(other.options, compared), **_scorers(other.options, compared)}
        pairs += [(name, ours.get(name), theirs.get(name)) for name in sorted({**ours, **theirs})]
        return [f"{name}: {left}, not {right}" for name, left, right in pairs if left != right]


def _judging(options: Mapping[str, Any], metrics: Iterable[MetricId]) -> dict[str, Any]:
    """What of judging some metrics depend on; nothing where a judge scores none of them."""
    listed = options.get("judged") or ()
    judged = [metric for metric in metrics if metric in listed]
    if not judged:
        return {}
    found = {name: options[name] for name in _JUDGE_KEYS if name in options}
    for name in _PER_METRIC_KEYS & found.keys():
        if isinstance(found[name], Mapping):
            found[name] = {key: value for key, value in found[name].items() if key in judged}
    found["judged"] = sorted(judged)
    # Who else is judged, which is all that hybrid says, changes no score of these.
    found["mode"] = "llm" if found.get("mode") == "hybrid" else found.get("mode")
    return {name: value for name, value in found.items() if value != {}}


def _scorers(options: Mapping[str, Any], metrics: Iterable[MetricId]) -> dict[str, Any]:
    """Versions and options of the scorers among some metrics."""
    listed = options.get("scorers")
    if not isinstance(listed, Mapping):
        return {}
    return {metric: listed[metric] for metric in metrics if metric in listed}


def _option_names(profile: str, metrics: Iterable[MetricId]) -> list[str]:
    """The options that some metrics of a profile read."""
    specs = next((specs for name, specs in PROFILE_METRICS.items() if name == profile), {})
    return sorted(
        {name for metric in metrics if metric in specs for name in specs[metric].settings}
    )


def signature_of(plan: Plan) -> Signature:
    """Everything that could change a number of the plan's columns."""
    native = Signature.of(plan.native_columns, plan.settings)
    if plan.judging is None and not plan.scorers:
        return native
    options = dict(native.options)
    if plan.scorers:
        options["scorers"] = {name: found.signature() for name, found in plan.scorers.items()}
    if plan.judging is not None:
        options |= plan.judging.signature_options(plan.calibrations)
    return replace(native, options=options)
