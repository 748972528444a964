"""Metrics that no row has the fields for: an error, or left out of tables and decisions.

In: a plan, why scores are null, and where the fields of the data are.  Out: what to tell the user.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, NotMeasuredError
from rag_eval.inputs.schemas.fields import listed
from rag_eval.inputs.schemas.maps import TEXT_FIELDS, FieldMap
from rag_eval.inputs.schemas.synonyms import meaning_of, spelled, sure_names
from rag_eval.metrics.contract import Metric
from rag_eval.metrics.registry import to_metric_id
from rag_eval.options.plan import Plan
from rag_eval.plumbing.spelling import camel_case, counted
from rag_eval.samples import MetricId, NullReason

_MISSING: Final = int(NullReason.MISSING_FIELD)
_TRUTH: Final = "ground_truth"
# Names that are nearer than this are one name, misspelt: "anwser". Other tools have columns named
# much like the ground truth, which many data sets do without: "ground_truth_contexts".
_NEAR: Final = 0.8
_NEAR_TRUTH: Final = 0.85
_MOST_COLUMNS: Final = 1000
_LONGEST_NAME: Final = 64


class Measurability:
    """Which metrics of a run have been null for want of a field in every row so far.

    Parameters
    ----------
    plan : Plan
    metrics : iterable of str or None
        What the caller asked for by name; None for the default seven.
    options : mapping
        Normalized options: a limit on a mean asks for its metric by name, and ``allow_missing``
        takes what cannot be measured for no error.
    in_memory : bool
        Messages name arguments in place of flags.
    """

    def __init__(
        self,
        plan: Plan,
        metrics: Iterable[str] | None,
        options: Mapping[str, Any],
        *,
        in_memory: bool = False,
    ) -> None:
        self._plan = plan
        limits = (options.get(name) or {} for name in ("min_mean", "max_mean"))
        bounded = {to_metric_id(metric) for limit in limits for metric in limit}
        self._named = bounded if metrics is None else set(plan.columns)
        self._allowed = bool(options.get("allow_missing"))
        self._in_memory = in_memory
        self._null = np.ones(len(plan.columns), np.bool_)
        self._has_rows = False

    # ------------------------------------------------------------------------------- what is null

    def add(self, null_reasons: npt.NDArray[np.uint8]) -> None:
        """Look at the rows of a block."""
        if len(null_reasons):
            self._has_rows = True
            if self._null.any():
                self._null &= (null_reasons == _MISSING).all(axis=0)

    def add_scores(self, scores: npt.NDArray[np.float64]) -> None:
        """Look at rows of an earlier run, whose reasons are not known."""
        self._null &= np.isnan(scores).all(axis=0)

    @property
    def metrics(self) -> tuple[MetricId, ...]:
        """The metrics that are null in every row for want of a field."""
        if not self._has_rows:
            return ()
        columns = zip(self._plan.columns, self._null, strict=True)
        return tuple(metric for metric, is_null in columns if is_null)

    @property
    def left_out(self) -> tuple[MetricId, ...]:
        """Those of them that lack a ground truth, and that nobody asked for by name."""
        return tuple(metric for metric in self.metrics if self._is_left_out(metric))

    def not_measured(self, found: Sequence[FieldMap] = ()) -> dict[MetricId, str]:
        """Those metrics with what they lack: ``no ground truth``."""
        reasons = {}
        for metric in self.metrics:
            needed = needed_fields(self._plan.specs[metric])
            why = [_TRUTH] if self._is_left_out(metric) else _absent_in_all(needed, found) or needed
            reasons[metric] = f"no {' or '.join(name.replace('_', ' ') for name in why)}"
        return reasons

    def _is_left_out(self, metric: MetricId) -> bool:
        """Whether a metric of the default ones lacks the ground truth, which few data sets have."""
        return metric not in self._named and _TRUTH in needed_fields(self._plan.specs[metric])

    # -------------------------------------------------------------------------------- what is wrong

    def check_first(
        self, null_reasons: npt.NDArray[np.uint8], found: Sequence[tuple[str, FieldMap]]
    ) -> None:
        """Raise an InputError for metrics that the first rows, and the columns, do not allow."""
        if self._allowed or not found or not len(null_reasons):
            return
        source, fields = found[0]
        columns = self._plan.computed_columns
        null = (null_reasons == _MISSING).all(axis=0)
        lacking: dict[str, None] = {}
        for metric in (name for name, is_null in zip(columns, null, strict=True) if is_null):
            absent = _absent(needed_fields(self._plan.specs[metric]), fields)
            if self._is_left_out(metric):
                absent = [name for name in absent if name == _TRUTH and near_column(name, fields)]
            lacking |= dict.fromkeys(absent)
        if lacking:
            scored = [name for name, is_null in zip(columns, null, strict=True) if not is_null]
            raise InputError(self._lacks(source, list(lacking), fields, scored, can_allow=True))

    def check_fields(self, found: Sequence[tuple[str, FieldMap]]) -> None:
        """Raise an InputError for fields that no row can do without, where no row can be scored."""
        if not found:
            return
        source, fields = found[0]
        specs = [self._plan.specs[metric] for metric in self._plan.native_columns]
        needed = dict.fromkeys(name for spec in specs for name in spec.fields if name != _TRUTH)
        lacking = _absent(needed, fields)
        if lacking:
            scored = [spec.id for spec in specs if not _absent(needed_fields(spec), fields)]
            raise InputError(self._lacks(source, lacking, fields, scored, can_allow=False))

    @property
    def wrong(self) -> list[MetricId]:
        """The metrics of which it is an error that no row could be measured."""
        if self._allowed:
            return []
        return [metric for metric in self.metrics if not self._is_left_out(metric)]

    def check_end(self, source: str, found: Sequence[FieldMap], report: Any) -> None:
        """Raise a NotMeasuredError for metrics that no row of the data allowed, with the report."""
        wrong = self.wrong
        if not wrong:
            return
        needed = dict.fromkeys(n for name in wrong for n in needed_fields(self._plan.specs[name]))
        lacking = _absent_in_all(needed, found)
        scored = [metric for metric in self._plan.columns if metric not in self.metrics]
        if lacking:
            raise NotMeasuredError(
                self._lacks(source, lacking, found[0], scored, can_allow=True), report
            )
        where = f"{source}: " if source else ""
        names = " or ".join(needed) or "what it reads"
        raise NotMeasuredError(
            f"{where}{', '.join(wrong)}: null in every row, for want of {names}"
            + _sentence(self._without(scored, can_allow=True)),
            report,
        )

    def _lacks(
        self,
        source: str,
        lacking: Sequence[str],
        fields: FieldMap,
        scored: Sequence[MetricId],
        *,
        can_allow: bool,
    ) -> str:
        unused = fields.unused
        lacking = sorted(lacking, key=_place)
        text = f"{source}: " if source else ""
        text += f"{', '.join(lacking)}: no such field{'s' if len(lacking) > 1 else ''}; "
        text += counted(len(unused), "unused column") + (f": {listed(unused)}" if unused else "")
        near = {name: column for name in lacking if (column := near_column(name, fields))}
        if near:
            return f"{text} (did you mean {self._mapped(near)}?)"
        ways = [f"to say which one it is: {self._mapped({lacking[0]: 'COLUMN'})}"] if unused else []
        ways += self._without(scored, can_allow=can_allow)
        return text + _sentence(ways)

    def _mapped(self, places: Mapping[str, str]) -> str:
        if self._in_memory:
            return f"mapping={dict(places)!r}"
        return " ".join(f"--map {shlex.quote(f'{name}={path}')}" for name, path in places.items())

    def _without(self, scored: Sequence[MetricId], *, can_allow: bool) -> list[str]:
        """How to score what can be scored."""
        ways = []
        if scored:
            given = f"metrics={list(scored)!r}", f"--metrics {','.join(scored)}"
            ways.append(given[not self._in_memory])
        if can_allow:
            ways.append("allow_missing=True" if self._in_memory else "--allow-missing")
        return [f"to score without it: {' or '.join(ways)}"] if ways else []


def _sentence(ways: Sequence[str]) -> str:
    text = "; ".join(ways)
    return f". {text[0].upper()}{text[1:]}" if text else ""


def needed_fields(spec: Metric) -> tuple[str, ...]:
    """The fields without which a metric is null; it may read others, which it can do without."""
    named = tuple(name for name in spec.fields if name.replace("_", " ") in spec.null_when)
    return named or spec.fields


def _place(field: str) -> int:
    """Our fields in their order, then those of scorers."""
    return TEXT_FIELDS.index(field) if field in TEXT_FIELDS else len(TEXT_FIELDS)


def _absent(names: Iterable[str], fields: FieldMap) -> list[str]:
    """Those fields that are in no column, under the names that scorers know."""
    there = {*fields.paths, *fields.unused}
    return [name for name in names if name not in there and camel_case(name) not in there]


def _absent_in_all(names: Iterable[str], found: Sequence[FieldMap]) -> list[str]:
    """Those fields that no file has; none where it is not known what files have."""
    return [name for name in names if found and all(_absent([name], one) for one in found)]


def near_column(name: str, fields: FieldMap) -> str | None:
    """The unused column whose name is nearly that of a field; None where there is none."""
    if name not in TEXT_FIELDS:
        return None
    known = [name, *sure_names(name)]
    cutoff = _NEAR_TRUTH if name == _TRUTH else _NEAR
    best: tuple[float, str] | None = None
    for column in fields.unused[:_MOST_COLUMNS]:
        if len(column) > _LONGEST_NAME or meaning_of(column) is not None:
            continue
        written = spelled(column)
        for near in difflib.get_close_matches(written, known, 1, cutoff):
            likeness = difflib.SequenceMatcher(None, near, written).ratio()
            if best is None or likeness > best[0]:
                best = likeness, column
    return None if best is None else best[1]
