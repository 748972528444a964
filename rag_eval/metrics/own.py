"""A user's function -> a metric that can be requested by name like any other."""

from __future__ import annotations

import inspect
import math
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from rag_eval.errors import CustomMetricError, InputError, RagEvalError, glance
from rag_eval.metrics.contract import Column, Fields, Metric, Scored, Scorer
from rag_eval.metrics.findings_column import column_of_findings
from rag_eval.metrics.registry import metric_of, register, unregister
from rag_eval.plumbing.checked_values import number, whole_from_one
from rag_eval.plumbing.spelling import counted
from rag_eval.samples import NullReason

_Function = TypeVar("_Function", bound=Callable[..., Any])
_FIELD: Final = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


def metric(
    id: str,
    *,
    batch: bool = False,
    summary: str | None = None,
    threshold: float | None = None,
    higher_is_better: bool = True,
    range: tuple[float, float] = (0.0, 1.0),
    version: int = 1,
) -> Callable[[_Function], _Function]:
    """Register a function as a metric in this process.

    The function's parameters name the fields of a sample that it reads. A field without a default
    is required: the score is null if a sample lacks it. A field with a default is optional.
    Keyword-only parameters are options, which ``scorer_options`` sets.

    Parameters
    ----------
    id : str
        Its name: words of lower-case letters, digits and underscores, joined by dots. It must not
        be taken and must not begin with the prefix of a built-in tool, such as ``mastra.``. A
        function that is defined again, as in a notebook, replaces its earlier definition.
    batch : bool, default False
        The function gets a list of values per field, one per sample, with None if a sample lacks
        an optional one, and returns a score per sample.
    summary : str, optional
        The rule in one sentence; the first line of the docstring by default.
    threshold : float, optional
        Lowest score that passes, or the highest if lower is better.
    higher_is_better : bool, default True
    range : (float, float), default (0, 1)
        Lowest and highest possible score; a score outside is an error.
    version : int, default 1
        Raise it when scores change: it is part of the signature.

    Returns
    -------
    callable
        A decorator that returns the function unchanged.

    Notes
    -----
    A score is a number, a truth value (1 or 0), None if there is nothing to measure, or a
    :class:`rag_eval.metrics.Scored` with an explanation and findings. For a sample that it cannot
    read, the function raises :class:`rag_eval.errors.InputError`; ``skip_invalid`` skips such rows.
    Any other exception becomes the cause of a :class:`rag_eval.errors.CustomMetricError`.

    Examples
    --------
    >>> from rag_eval.own_metrics import metric
    >>> @metric("brevity", threshold=0.5)
    ... def brevity(answer, *, most_words=50):
    ...     "Share of the allowed words that an answer leaves."
    ...     return max(0.0, 1 - len(answer.split()) / most_words)
    """

    def registered(function: _Function) -> _Function:
        given = _Parameters(function, id)
        docstring = (inspect.getdoc(function) or "").partition("\n")[0]
        low, high = _checked_range(range)
        if _is_defined_anew(id, function):
            unregister(id)
        register(
            Metric(
                id=id,
                summary=summary or docstring or "Custom metric",
                create=_Maker(id, function, given, (low, high), is_batch=batch),
                fields=given.needed,
                optional=given.optional,
                options=given.options,
                required_options=given.required_options,
                threshold=None if threshold is None else number(threshold, "threshold"),
                higher_is_better=higher_is_better,
                range=(low, high),
                cost="python",
                source="the caller's",
                version=whole_from_one(version, "version"),
            )
        )
        return function

    return registered


def _is_defined_anew(id: str, function: Callable[..., Any]) -> bool:
    """Whether the metric of that id is this function of a module, from before it was run again."""
    spec = metric_of(id) if isinstance(id, str) else None
    if spec is None or not isinstance(spec.create, _Maker):
        return False
    name = getattr(function, "__qualname__", None)
    # Within a function many share a name.
    return name is not None and "<" not in name and spec.create.full_name == _full_name(function)


def _full_name(function: Callable[..., Any]) -> tuple[object, object]:
    return getattr(function, "__module__", None), getattr(function, "__qualname__", None)


def _checked_range(given: object) -> tuple[float, float]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InputError(f"range must be two numbers (low, high), got {glance(given)}")
    low, high = given
    for end in (low, high):
        if isinstance(end, bool) or not isinstance(end, (int, float)) or math.isnan(end):
            raise InputError(f"range must be two numbers (low, high), got {glance(given)}")
    if not low < high:
        raise InputError(f"range must be increasing, got {glance(given)}")
    return float(low), float(high)


class _Parameters:
    """What a function reads, by its parameters."""

    def __init__(self, function: Callable[..., Any], owner: str) -> None:
        needed: list[str] = []
        optional: list[str] = []
        required: list[str] = []
        options: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            name, default = parameter.name, parameter.default
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise InputError(f"metric {owner!r}: parameters must name fields, got {parameter}")
            if parameter.kind is parameter.KEYWORD_ONLY:
                if default is parameter.empty:
                    required.append(name)
                else:
                    options[name] = default
            elif not _FIELD.fullmatch(name):
                raise InputError(f"metric {owner!r}: {name!r} cannot be a field of a sample")
            else:
                (needed if default is parameter.empty else optional).append(name)
        if not needed and not optional:
            raise InputError(
                f"metric {owner!r} has no parameters: name at least one field of the sample"
            )
        self.needed, self.optional = tuple(needed), tuple(optional)
        self.options = options
        self.required_options = tuple(required)

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields."""
        return (*self.needed, *self.optional)


class _Maker:
    """Makes the scorer of a function with its options."""

    def __init__(
        self,
        owner: str,
        function: Callable[..., Any],
        parameters: _Parameters,
        bounds: tuple[float, float],
        *,
        is_batch: bool,
    ) -> None:
        self._owner = owner
        self._function = function
        self._parameters = parameters
        self._bounds = bounds
        self._is_batch = is_batch

    @property
    def full_name(self) -> tuple[object, object]:
        """Module and name of the function."""
        return _full_name(self._function)

    def __call__(self, **options: Any) -> Scorer:
        """The scorer."""

        def score(fields: Fields) -> Scored:
            if self._is_batch:
                return self._rows([fields], options)[0]
            return self._scored(self._call(fields, options))

        def column(rows: Sequence[Fields]) -> Column:
            return column_of_findings(self._rows(rows, options))

        return Scorer(score, column if self._is_batch else None)

    def _call(self, fields: Fields, options: Mapping[str, Any]) -> object:
        given = {name: fields[name] for name in self._parameters.fields if name in fields}
        return self._called(given, options)

    def _called(self, fields: Mapping[str, Any], options: Mapping[str, Any]) -> object:
        try:
            return self._function(**fields, **options)
        except RagEvalError:
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {error}".removesuffix(": ")
            where = _where(error, self._function)
            raise CustomMetricError(f"metric {self._owner!r} raised {text}{where}") from error

    def _rows(self, rows: Sequence[Fields], options: Mapping[str, Any]) -> list[Scored]:
        columns = {name: [row.get(name) for row in rows] for name in self._parameters.fields}
        found = self._called(columns, options)
        if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
            raise CustomMetricError(
                f"metric {self._owner!r} must return one score per sample, got "
                f"{type(found).__name__}"
            )
        scores = [self._scored(one) for one in found]
        if len(scores) != len(rows):
            raise CustomMetricError(
                f"metric {self._owner!r} must return one score per sample, got "
                f"{counted(len(scores), 'score')} for {counted(len(rows), 'sample')}"
            )
        return scores

    def _scored(self, found: object) -> Scored:
        if isinstance(found, Scored):
            if found.score is None:
                return found
            return Scored(
                self._number(found.score), NullReason.MEASURED, found.explanation, found.details
            )
        if found is None or found != found:
            return Scored.nothing("The metric found nothing to measure.")
        value = self._number(found)
        return Scored(value, explanation=f"{self._owner} is {value:.4g}.")

    def _number(self, found: Any) -> float:
        # Numbers of numpy are numbers, too.
        value = float(found) if hasattr(found, "__float__") else math.nan
        low, high = self._bounds
        if not low <= value <= high:
            raise CustomMetricError(
                f"metric {self._owner!r} must return numbers from {low:g} to {high:g}, or None, "
                f"got {glance(found)}"
            )
        return value


def _where(error: Exception, function: Callable[..., Any]) -> str:
    """The line of the function's file that an error came through last, else the last line."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is the call, above
    code = getattr(inspect.unwrap(function), "__code__", None)
    own = [frame for frame in frames if code and frame.filename == code.co_filename]
    if not frames:
        return ""
    frame = (own or frames)[-1]
    path = Path(frame.filename)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f" at {shown}:{frame.lineno}"
