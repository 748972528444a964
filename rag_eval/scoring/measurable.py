"""Metrics that no row has the fields for: an error, or left out of tables and decisions.

In: a plan, why scores are null, and where the fields of the data are.  Out: what to tell the user.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from rag_eval.errors import InputError, NotMeasuredError
from rag_eval.inputs.samples import TEXT_FIELDS
from rag_eval.inputs.schemas.maps import FieldMap, FoundFields, listed
from rag_eval.inputs.schemas.synonyms import meaning_of, spelled, sure_names
from rag_eval.metrics.registry import to_metric_id
from rag_eval.metrics.seven import needed_fields
from rag_eval.options.plan import Plan
from rag_eval.plumbing.spelling import camel_case, counted
from rag_eval.results.batch import not_measured_text
from rag_eval.samples import MetricId, NullReason

if TYPE_CHECKING:
    from rag_eval.inputs.blocks import SampleBlock
    from rag_eval.inputs.opened import Input

_MISSING: Final = int(NullReason.MISSING_FIELD)
_TRUTH: Final = "ground_truth"
# Names that are nearer than this are one name, misspelt: "anwser". Other tools have columns named
# much like the ground truth, which many datasets do without: "ground_truth_contexts".
_NEAR: Final = 0.8
_NEAR_TRUTH: Final = 0.85
_MOST_COLUMNS: Final = 1000
_LONGEST_NAME: Final = 64
_MOST_FILES: Final = 5

# Fields of result and score files that samples do not have.
_RESULT: Final = "compositeScore"
_RESULT_COLUMNS: Final = {_RESULT, "composite_score"}


class Measurability:
    """Which metrics of a run have been null because a field is missing in every row so far.

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
        """Count the rows of a block."""
        if len(null_reasons):
            self._has_rows = True
            # The first row decides for most metrics, and the other rows need not be looked at.
            self._null &= null_reasons[0] == _MISSING
            if self._null.any():
                self._null &= (null_reasons == _MISSING).all(axis=0)

    def add_part(self, missing: Sequence[int]) -> None:
        """Count rows of an earlier run, by the columns that are null so in all of them."""
        self._has_rows = True
        self._null &= np.isin(np.arange(len(self._null)), missing)

    @property
    def metrics(self) -> tuple[MetricId, ...]:
        """The metrics that are null in every row because a field is missing."""
        if not self._has_rows:
            return ()
        return tuple(compress(self._plan.columns, self._null.tolist()))

    def left_out(self, found: Sequence[FieldMap] = ()) -> tuple[MetricId, ...]:
        """Those that were not requested by name and whose fields the data does not have."""
        null = self.metrics
        if len(null) == len(self._plan.columns):
            return tuple(metric for metric in null if self._lacks_truth(metric, found))
        return tuple(metric for metric in null if self._is_left_out(metric, found))

    def not_measured(self, found: Sequence[FieldMap] = ()) -> dict[MetricId, str]:
        """Those metrics with what they lack: ``no ground truth``."""
        return {metric: self._reason(metric, found) for metric in self.metrics}

    def known_text(self, found: FoundFields) -> str:
        """``not measured: …`` for metrics that no row has the fields for; or nothing."""
        if not found.names_all:
            return ""
        fields = [found.fields]
        null = [name for name in self._plan.columns if self._needs_absent(name, fields)]
        is_fine = all(self._is_left_out(name, fields) for name in null)
        if not self._allowed and (not is_fine or len(null) == len(self._plan.columns)):
            return ""  # the error says so
        return not_measured_text({metric: self._reason(metric, fields) for metric in null})

    def _reason(self, metric: MetricId, found: Sequence[FieldMap]) -> str:
        needed = needed_fields(self._plan.specs[metric])
        why = _absent_in_all(needed, found) or self._unseen(needed)
        if self._lacks_truth(metric, found):
            why = [_TRUTH]
        return f"no {' or '.join(name.replace('_', ' ') for name in why)}"

    def _unseen(self, needed: Iterable[str]) -> list[str]:
        """The fields that no measured metric reads; all fields if none was measured."""
        measured = (metric for metric in self._plan.columns if metric not in self.metrics)
        seen = {name for metric in measured for name in needed_fields(self._plan.specs[metric])}
        return [name for name in needed if name not in seen] or [*needed]

    def _needs_absent(self, metric: MetricId, found: Sequence[FieldMap]) -> list[str]:
        return _absent_in_all(needed_fields(self._plan.specs[metric]), found)

    def _is_left_out(self, metric: MetricId, found: Sequence[FieldMap]) -> bool:
        """Whether a default metric lacks a field that no column of the data can be.

        Few datasets have the ground truth, so that other columns do not matter to it.
        """
        if metric in self._named:
            return False
        is_absent = bool(self._needs_absent(metric, found))
        is_plain = is_absent and not any(fields.unused for fields in found)
        return is_plain or self._lacks_truth(metric, found)

    def _lacks_truth(self, metric: MetricId, found: Sequence[FieldMap]) -> bool:
        """Whether it is a default metric, and null because the ground truth is missing."""
        if metric in self._named or _TRUTH not in needed_fields(self._plan.specs[metric]):
            return False
        needed = needed_fields(self._plan.specs[metric])
        return _TRUTH in (self._needs_absent(metric, found) or self._unseen(needed))

    # -------------------------------------------------------------------------------- what is wrong

    def check_first(self, null_reasons: npt.NDArray[np.uint8], found: FoundFields) -> None:
        """Raise an InputError for metrics that the first rows of a file, and its columns, rule out.

        Where later rows may have other fields, only for a column whose name is nearly that of one.
        """
        if self._allowed or not len(null_reasons):
            return
        fields, columns = found.fields, self._plan.computed_columns
        null = (null_reasons == _MISSING).all(axis=0)
        scored = [name for name, is_null in zip(columns, null, strict=True) if not is_null]
        lacking: dict[str, None] = {}
        for metric in (name for name, is_null in zip(columns, null, strict=True) if is_null):
            absent = _absent(needed_fields(self._plan.specs[metric]), fields)
            is_wrong = not scored or not self._is_left_out(metric, [fields])
            lacking |= dict.fromkeys(
                name
                for name in absent
                if (is_wrong and found.names_all) or near_column(name, fields)
            )
        if lacking:
            raise InputError(
                self._lacks(found.source, list(lacking), [fields], scored, can_allow=True)
            )

    def absent(self, block: SampleBlock, found: Sequence[FoundFields]) -> frozenset[str]:
        """The fields that the rows of a block of a file may lack; see :meth:`absent_fields`."""
        source = None if block.origin is None else block.origin.source
        fields = next((one.fields for one in reversed(found) if one.source == source), None)
        return frozenset() if fields is None else self.absent_fields(fields)

    def absent_fields(self, fields: FieldMap) -> frozenset[str]:
        """Fields without a column, where the metrics that need them are null and not an error.

        Only the overlap profile has to be told: by itself it wants all fields but the ground truth
        in every row.
        """
        plan = self._plan
        if plan.settings.profile == "grounded" or plan.judging is not None:
            return frozenset()
        lacking = frozenset(_absent(self._wanted_fields(), fields))
        native = plan.native_columns
        null = [name for name in native if not lacking.isdisjoint(plan.specs[name].fields)]
        if not null or len(null) == len(native):
            return frozenset()
        is_fine = self._allowed or all(self._is_left_out(name, [fields]) for name in null)
        return lacking if is_fine else frozenset()

    def _wanted_fields(self) -> list[str]:
        """The fields that kernels read; the ground truth is never wanted of every row."""
        specs = [self._plan.specs[metric] for metric in self._plan.native_columns]
        return list(dict.fromkeys(n for spec in specs for n in spec.fields if n != _TRUTH))

    def check_fields(self, found: FoundFields) -> None:
        """Raise an InputError for required fields if no row can be scored without them."""
        lacking = _absent(self._wanted_fields(), found.fields)
        if lacking:
            specs = [self._plan.specs[metric] for metric in self._plan.native_columns]
            scored = [spec.id for spec in specs if not _absent(needed_fields(spec), found.fields)]
            raise InputError(
                self._lacks(found.source, lacking, [found.fields], scored, can_allow=bool(scored))
            )

    def wrong(self, found: Sequence[FieldMap]) -> list[MetricId]:
        """The metrics for which it is an error that no row was measured."""
        left_out = self.left_out(found)
        return [] if self._allowed else [name for name in self.metrics if name not in left_out]

    def check_end(self, source: str, found: Sequence[FieldMap], report: Any) -> None:
        """Raise a NotMeasuredError, with the report, for metrics without a score in any row."""
        wrong = self.wrong(found)
        if not wrong:
            return
        needed = dict.fromkeys(n for name in wrong for n in needed_fields(self._plan.specs[name]))
        lacking = _absent_in_all(needed, found)
        scored = [metric for metric in self._plan.columns if metric not in self.metrics]
        if lacking:
            raise NotMeasuredError(
                self._lacks(source, lacking, found, scored, can_allow=True), report
            )
        where = f"{source}: " if source else ""
        names = " or ".join(self._unseen(needed)) or "what it reads"
        raise NotMeasuredError(
            f"{where}{', '.join(wrong)}: null in every row, because no row has {names}"
            + _sentences(self._without(scored, can_allow=True)),
            report,
        )

    def _lacks(
        self,
        source: str,
        lacking: Sequence[str],
        found: Sequence[FieldMap],
        scored: Sequence[MetricId],
        *,
        can_allow: bool,
    ) -> str:
        unused = list(dict.fromkeys(column for fields in found for column in fields.unused))
        lacking = sorted(lacking, key=_place)
        has, pronoun = ("has", "it") if source else ("have", "they")
        one, which = ("field", "it") if len(lacking) == 1 else ("fields", "them")
        names = " and ".join(filter(None, [", ".join(map(repr, lacking[:-1])), repr(lacking[-1])]))
        text = f"{source or 'the samples'} {has} no {one} {names}"
        lacks = f"{source or 'the samples'} {has} no {names} {one}"
        if unused:
            columns = f"{counted(len(unused), 'unused column')}: {listed(unused)}"
            text += f". {pronoun.capitalize()} {has} {columns}"
        else:
            text += f", and no unused column that could be {which}"
        if _RESULT_COLUMNS & set(unused) and not self._in_memory:
            # Only results with their explanations can be shown.
            show = f"To look at them: rag-eval show {source}; to" if _RESULT in unused else "To"
            return (
                f"{source} holds results, not samples. {show} check them against a limit: rag-eval "
                f"gate {source} --min-mean faithfulness=0.7"
            )
        near = {
            name: column
            for name in lacking
            for fields in found
            if (column := near_column(name, fields))
        }
        if len(parts := _numbered(near.get("contexts", ""), unused)) > 1:
            mapped = self._mapped({"contexts": parts[0]})
            return (
                f"{text}. Put the contexts of each row into one column, as a list. To use only the "
                f"first: {mapped}"
            )
        if near:
            columns = " and ".join(map(repr, near.values()))
            them = "it" if len(near) == 1 else "them"
            how = f"Rename {them}, or pass {self._mapped(near)}"
            return f"{lacks}, but {pronoun} {has} {columns}. {how}"
        if not self._in_memory and len(lacking) > 1 and any(map(_is_sentence, unused)):
            return (
                f"{source} seems to have no header row: its first line is {listed(unused)!r}. Add "
                f"a line with column names above it, such as {','.join(lacking)}"
            )
        ways = []
        if unused:
            mapped = self._mapped({lacking[0]: "COLUMN"})
            more = ", and the same for the others" if len(lacking) > 1 else ""
            ways.append(f"to say which column holds {which}: {mapped}{more}")
        ways += self._without(scored, can_allow=can_allow and bool(scored), which=which)
        if not ways:
            ways.append(f"add {which} to the rows, or request other metrics")
        return text + _sentences(ways)

    def _mapped(self, places: Mapping[str, str]) -> str:
        if self._in_memory:
            return f"mapping={dict(places)!r}"
        return " ".join(f"--map {shlex.quote(f'{name}={path}')}" for name, path in places.items())

    def _without(
        self, scored: Sequence[MetricId], *, can_allow: bool, which: str = "it"
    ) -> list[str]:
        """Advice on how to score the rows that can be scored."""
        ways = []
        if scored:
            given = f"metrics={list(scored)!r}", f"--metrics {','.join(scored)}"
            ways.append(given[not self._in_memory])
        if can_allow:
            ways.append("allow_missing=True" if self._in_memory else "--allow-missing")
        return [f"to score without {which}: {' or '.join(ways)}"] if ways else []


class FoundLines:
    """Remarks about files: each line once, as soon as it is known.

    Parameters
    ----------
    source : Input
    measured : Measurability
    tell : callable or None
        Called with the lines; None if they are not wanted.
    """

    def __init__(
        self, source: Input, measured: Measurability, tell: Callable[[str], object] | None
    ) -> None:
        self._source = source
        self._measured = measured
        self._tell = tell
        self._n_found = self._n_remarks = 0
        self._texts: dict[str, None] = {}

    def tell(self) -> None:
        """Report what became known with the last block."""
        found, remarks = self._source.found, self._source.remarks
        if self._tell is None or (self._n_found, self._n_remarks) == (len(found), len(remarks)):
            return
        lines: list[str] = []
        if not self._n_found and found and len(self._source.paths) == 1:
            lines.append(self._measured.known_text(found[0]))
        lines += remarks[self._n_remarks :]
        for one in found[self._n_found :]:
            if str(one) not in self._texts:
                lines.append(self._fields_line(one))
                self._texts[str(one)] = None
        self._n_found, self._n_remarks = len(found), len(remarks)
        for line in filter(None, lines):
            self._tell(line)

    def _fields_line(self, found: FoundFields) -> str:
        """The fields line of a file, if no earlier file had the same."""
        if not self._texts:
            return f"fields: {found}" if str(found) else ""
        if len(self._texts) < _MOST_FILES:
            return f"fields of {found.source}: {found}"
        return "fields of more files are not shown" if len(self._texts) == _MOST_FILES else ""


def _sentences(ways: Sequence[str]) -> str:
    return "".join(f". {way[0].upper()}{way[1:]}" for way in ways)


def _place(field: str) -> int:
    """Our fields in their order, then those of scorers."""
    return TEXT_FIELDS.index(field) if field in TEXT_FIELDS else len(TEXT_FIELDS)


def _absent(names: Iterable[str], fields: FieldMap) -> list[str]:
    """Those fields that are in no column, under the names that scorers know."""
    there = {*fields.paths, *fields.unused}
    return [name for name in names if name not in there and camel_case(name) not in there]


def _absent_in_all(names: Iterable[str], found: Sequence[FieldMap]) -> list[str]:
    """Those fields that no file has; empty if the fields of files are unknown."""
    return [name for name in names if found and all(_absent([name], one) for one in found)]


def _is_sentence(column: str) -> bool:
    """Whether the name of a column reads like a question, an answer or a list of contexts."""
    return column.endswith(("?", ".", "!", "]")) and (" " in column or column.startswith("["))


def _numbered(column: str, unused: Iterable[str]) -> list[str]:
    """The columns that differ from one by a number at the end: ``Context 1``, ``Context 2``."""
    stem = column.rstrip("0123456789")
    return [one for one in unused if one != stem and one.rstrip("0123456789") == stem]


def near_column(name: str, fields: FieldMap) -> str | None:
    """The unused column whose name is nearly that of a field; None if there is none."""
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
