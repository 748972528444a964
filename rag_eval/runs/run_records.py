"""The record of a stored run without its rows, to the columns of a store and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from rag_eval._version import __version__
from rag_eval.errors import InputError
from rag_eval.options.signature import Signature
from rag_eval.options.verdict_settings import VerdictSettings
from rag_eval.plumbing import json_text
from rag_eval.plumbing.json_fields import Fields
from rag_eval.results.aggregates import MetricAggregate, aggregate_metric
from rag_eval.runs.git_state import GitState
from rag_eval.runs.scored_run import ScoredRun
from rag_eval.samples import MetricId

Status: TypeAlias = Literal["guards held", "passed", "failed"]
"""What a run was found to be; only one that a gate passed becomes a baseline."""

GUARDS_HELD: Final = "guards held"
UNGATED: Final = "ungated"

_SECRET: Final = re.compile(
    r"(^|_|-)(key|token|secret|secrets|password|passwd|authorization|credentials?|cookies?|headers)$",
    re.IGNORECASE,
)
# Name and password in an address, and its query, which may hold a key.
_USER: Final = re.compile(r"(?<=://)[^/?#\s@]*@")
_QUERY: Final = re.compile(r"(?<=[^\s])\?[^\s]*")
_MOST_DEPTH: Final = 20
_JSON_COLUMNS: Final = (
    *("metrics", "lower_is_better", "signature", "settings", "aggregates", "config"),
)

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run in a store, without its rows.

    Attributes
    ----------
    run_id : str
        ``run-20261122-143001-8f3a2c``: the time it was added, in UTC, and six random digits.
    created_at : str
        The same time in ISO 8601, to the millisecond.
    status : {"guards held", "passed", "failed"} or None
        Whether a gate passed, or only guards were checked and held; None if nothing was checked.
    dataset_hash, git_commit, branch : str or None
    dirty : bool or None
        Whether files were changed since the commit.
    library_version : str
    n_rows : int
    metrics : tuple of MetricId
    lower_is_better : frozenset of MetricId
        The lower-is-better metrics that the run declares.
    aggregates : mapping of mapping
        Statistics per metric, as result files have them.
    config : mapping
        Options of the run as JSON values, without keys and passwords.
    signature : Signature or None
    settings : VerdictSettings or None
    n_judgements, n_failed_judgements : int
    gate_number : int or None
        Which gate of its release line its gate was, if the line shares one significance level.
    pins : tuple of str
        The names under which it is pinned.
    """

    run_id: str
    created_at: str
    status: Status | None
    dataset_hash: str | None
    git_commit: str | None
    branch: str | None
    dirty: bool | None
    library_version: str
    n_rows: int
    metrics: tuple[MetricId, ...]
    lower_is_better: frozenset[MetricId] = frozenset()
    aggregates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    config: Mapping[str, Any] = field(default_factory=dict, repr=False)
    signature: Signature | None = field(default=None, repr=False)
    settings: VerdictSettings | None = field(default=None, repr=False)
    n_judgements: int = 0
    n_failed_judgements: int = 0
    gate_number: int | None = None
    pins: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """The status as a word: ``ungated`` for None."""
        return self.status or UNGATED

    @property
    def means(self) -> dict[MetricId, float | None]:
        """The mean of each metric; None if no row has a score or a mean is meaningless."""
        return {
            metric: self.aggregates[metric].get("mean") if self._is_measured(metric) else None
            for metric in self.metrics
        }

    def _is_measured(self, metric: MetricId) -> bool:
        # Result files write 0 for statistics without scores.
        found = self.aggregates.get(metric)
        return found is not None and found.get("nullRate") != 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "runId": self.run_id,
            "createdAt": self.created_at,
            "status": self.state,
            "datasetHash": self.dataset_hash,
            "gitCommit": self.git_commit,
            "branch": self.branch,
            "dirty": self.dirty,
            "libraryVersion": self.library_version,
            "nRows": self.n_rows,
            "metrics": list(self.metrics),
            "lowerIsBetter": sorted(self.lower_is_better),
            "means": self.means,
            "aggregates": {name: dict(found) for name, found in self.aggregates.items()},
            "config": dict(self.config),
            "signature": None if self.signature is None else self.signature.to_dict(),
            "settings": None if self.settings is None else self.settings.to_dict(),
            "nJudgements": self.n_judgements,
            "nFailedJudgements": self.n_failed_judgements,
            "gateNumber": self.gate_number,
            "pins": list(self.pins),
        }


class _Stored(msgspec.Struct):
    """The types of the stored columns; SQLite accepts any value in any column."""

    run_id: str
    created_at: str
    status: Literal["passed", "failed"] | None
    gated: Literal[0, 1]
    dataset_hash: str | None
    git_commit: str | None
    branch: str | None
    dirty: int | None
    library_version: str
    n_rows: _Count
    metrics: tuple[str, ...]
    lower_is_better: frozenset[str]
    signature: dict[str, Any] | None
    settings: dict[str, Any] | None
    aggregates: dict[str, dict[str, Any]]
    config: dict[str, Any]
    n_judgements: _Count
    n_failed_judgements: _Count
    gate_number: Annotated[int, msgspec.Meta(gt=0)] | None


def stored_record(columns: Mapping[str, Any], pins: Iterable[str]) -> RunRecord:
    """The record of a run from its columns in a store.

    Raises
    ------
    ValueError, TypeError, RecursionError
        For a value that no run can have.
    """
    decoded = {name: json_text.loads(columns[name] or "null") for name in _JSON_COLUMNS}
    found = msgspec.structs.asdict(msgspec.convert({**columns, **decoded}, _Stored))
    signature, dirty = found["signature"], found["dirty"]
    datetime.fromisoformat(found["created_at"])
    if not found.pop("gated") and found["status"] == "passed":
        found["status"] = GUARDS_HELD
    for name, values in found["aggregates"].items():
        Fields(values, f"aggregates.{name}").number_or_none("mean")
    found["signature"] = None if signature is None else Signature.from_dict(signature)
    settings = found["settings"]
    found["settings"] = None if settings is None else VerdictSettings.from_dict(settings)
    found["dirty"] = None if dirty is None else bool(dirty)
    return RunRecord(**found, pins=tuple(pins))


def status_columns(status: object) -> dict[str, Any]:
    """How a store keeps a status."""
    if status not in (None, GUARDS_HELD, "passed", "failed"):
        raise InputError(
            f"status must be 'guards held', 'passed', 'failed' or None, got {status!r:.80}"
        )
    held = status == GUARDS_HELD
    return {"status": "passed" if held else status, "gated": int(not held)}


def record_columns(
    run: ScoredRun,
    aggregates: Mapping[MetricId, MetricAggregate] | None,
    git: GitState | None,
    config: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What a store keeps of a run beside its rows, except id, time and status.

    Without ``aggregates`` they are computed from the scores.
    """
    aggregates = aggregates or _aggregates_of(run)
    state = GitState() if git is None else git
    signature = None if run.signature is None else run.signature.to_dict()
    return {
        "dataset_hash": None if run.dataset_hash is None else storable(run.dataset_hash),
        "git_commit": None if state.commit is None else storable(state.commit),
        "branch": None if state.branch is None else storable(state.branch),
        "dirty": state.dirty,
        "library_version": __version__,
        "n_rows": len(run),
        "metrics": _json(list(run.metrics)),
        "lower_is_better": _json(sorted(run.lower_is_better)),
        "signature": None if signature is None else _json(signature),
        "settings": None if run.settings is None else _json(run.settings.to_dict()),
        "aggregates": _json({name: found.to_dict() for name, found in aggregates.items()}),
        "config": _json(plain_config(config or {})),
        "n_judgements": run.n_judgements,
        "n_failed_judgements": run.n_failed_judgements,
    }


def _json(value: object) -> str:
    try:
        return json_text.dumps(value).decode()
    except (ValueError, TypeError) as error:
        raise InputError(f"apart from its rows, a saved run must be JSON: {error}") from None


def storable(text: str) -> str:
    """A text that can be encoded in UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _aggregates_of(run: ScoredRun) -> dict[MetricId, MetricAggregate]:
    return {
        metric: aggregate_metric(metric, run.scores[:, place], run.metric_passed[:, place] == 1)
        for place, metric in enumerate(run.metrics)
    }


def plain_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Options as JSON values, without possible secrets.

    Keys such as ``api_key``, ``token``, ``password`` and ``headers`` are left out at any depth, and
    user, password and query are removed from URLs.

    Raises
    ------
    InputError
        For a value that JSON cannot represent, such as a function; names the key.
    """
    found = _plain(config, "config", 0)
    assert isinstance(found, dict)
    return found


def _plain(value: Any, name: str, depth: int) -> Any:
    if depth > _MOST_DEPTH:
        raise InputError(f"{name} is nested too deeply to be saved")
    if isinstance(value, str):
        return _QUERY.sub("", _USER.sub("", value)) if "://" in value else value
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), -float("inf")):
            raise InputError(f"{name} must be a finite number, got {value}")
        return value
    if isinstance(value, Mapping):
        return {
            str(key): _plain(each, f"{name}[{key!r}]", depth + 1)
            for key, each in value.items()
            if not _SECRET.search(str(key))
        }
    if isinstance(value, (list, tuple)):
        return [_plain(each, f"{name}[{place}]", depth + 1) for place, each in enumerate(value)]
    raise InputError(f"{name} cannot be saved as JSON: {type(value).__name__}")
