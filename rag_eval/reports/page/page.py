"""The HTML report of a run: one file that needs no network and is readable without scripts."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from rag_eval._version import __version__
from rag_eval.comparing.run_comparison import RunComparison
from rag_eval.metrics.ids import COMPOSITE
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.reports.page.row_detail import value_text
from rag_eval.reports.page.row_list import anchors_by_id, row_list
from rag_eval.reports.page.sections import comparison_parts, metric_cards, old_scores
from rag_eval.reports.page.templating import asset, rendered_parts, script, trusted
from rag_eval.reports.page.visible_text import short
from rag_eval.reports.report_files import check_ending
from rag_eval.results.batch import BatchEvalResult
from rag_eval.views.making import view_of_batch
from rag_eval.views.run_view import RunView

if TYPE_CHECKING:
    from markupsafe import Markup

_TEMPLATE: Final = "page.html.j2"
_MOST_SLICES: Final = 300
_MOST_FAULTS: Final = 100
_TEXT_LIMIT: Final = 2_000
Kind: TypeAlias = Literal["run", "compare", "gate"]
_SECTIONS: Final[dict[Kind, tuple[str, ...]]] = {
    "run": ("metrics", "comparison", "rows", "slices"),
    "compare": ("comparison", "rows", "differences", "metrics"),
    "gate": ("comparison", "rows", "differences", "metrics"),
}


def page_html(
    view: RunView,
    *,
    title: str | None = None,
    kind: Kind = "run",
    comparisons: Sequence[RunComparison] | None = None,
    status: str = "",
) -> str:
    """The HTML report: verdict, metrics, comparison, slices, rows, how to reproduce it.

    Parameters
    ----------
    view : RunView
    title : str, optional
        The heading; by default the name of the sample file.
    kind : {"run", "compare", "gate"}
        A page of a comparison or of a gate begins with what changed.
    comparisons : sequence of RunComparison, optional
        The first is that of the rows. Default: that of the view.
    status : str
        What a gate says in one word, to stand beside its verdict.

    Returns
    -------
    str
        HTML with its style and script inside. If there are very many rows, the best ones cannot be
        opened. All data in it is escaped.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed (``pip install 'rag-eval-native[report]'``).
    """
    values = _page_values(view, title=title, kind=kind, comparisons=comparisons, status=status)
    return "".join(rendered_parts(_TEMPLATE, **values))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heading:
    """The verdict: once, at the top.

    Attributes
    ----------
    badge : str
        Empty on a page that has none.
    text : str
    is_first_gate : bool
        The text is that of the only gate.
    has_thresholds : bool
        Rows can fail.
    """

    badge: str
    text: str
    is_first_gate: bool
    has_thresholds: bool


def _heading(
    view: RunView, kind: Kind, compared: Sequence[Mapping[str, Any]], status: str
) -> _Heading:
    badge = "NO VERDICT" if view.passed is None else "✓ PASS" if view.passed else "✗ FAIL"
    text, gates = view.reason, view.gates
    n_failed = sum(not gate.held for gate in gates)
    if kind == "compare":
        badge = ""
        text = compared[0]["told"] if compared else "nothing to compare"
    elif len(gates) > 1 and not view.interrupted:
        some = f"{n_failed} of {len(gates)} gates failed"
        text = some if n_failed else f"all {len(gates)} gates passed"
    is_first_gate = len(gates) == 1 and text == gates[0].message
    if status:
        text = f"{status}: {text}"
    has_thresholds = any(value is not None for value in view.thresholds.values())
    return _Heading(
        badge=badge,
        text=text,
        is_first_gate=is_first_gate,
        has_thresholds=has_thresholds or view.summary.n_passed < view.summary.n_rows,
    )


def _page_values(
    view: RunView,
    *,
    title: str | None = None,
    kind: Kind = "run",
    comparisons: Sequence[RunComparison] | None = None,
    status: str = "",
) -> dict[str, Any]:
    """What the template of the page puts in its places."""
    metrics = tuple(view.summary.shown_aggregates)
    if comparisons is None:
        comparisons = () if view.comparison is None else (view.comparison,)
    moved_first = kind != "run" and bool(comparisons)
    old = old_scores(comparisons[0] if comparisons else None)
    listed = row_list(view.rows, metrics, old=old, moved_first=moved_first)
    anchors = anchors_by_id(listed.rows)
    compared = [comparison_parts(one, anchors, n) for n, one in enumerate(comparisons)]
    sections = [name for name in _SECTIONS[kind] if name != "slices" or view.slices]
    absent = set() if compared else {"comparison"}
    if not any(one["movements"] for one in compared):
        absent.add("differences")
    links = [(name.title(), name) for name in sections if name not in absent]
    columns = ("number", "id", "question", *metrics, COMPOSITE)
    columns += (*(["change"] if listed.has_changes else []), "status")
    name = {"run": "RAG evaluation", "compare": "Comparison", "gate": "Gate"}[kind]
    return dict(
        view=view,
        summary=view.summary,
        kind=kind,
        skip="rows",
        verdict="" if view.passed is None else "PASS – " if view.passed else "FAIL – ",
        title=title or (f"{name}: {view.source}" if view.source else name),
        heading=_heading(view, kind, compared, status),
        **style_and_script(has_rows=bool(listed.rows)),
        data=script_json(_data(view)),
        sections=sections,
        links=[*links, ("Reproduce", "reproduce")],
        notes=(*view.summary.shown_notes, *view.notes),
        gates=sorted(view.gates, key=lambda gate: gate.held),
        cards=metric_cards(view),
        comparisons=compared,
        slices=view.slices[:_MOST_SLICES],
        n_more_slices=max(0, len(view.slices) - _MOST_SLICES),
        faults=view.faults[:_MOST_FAULTS],
        listed=listed,
        moved_first=moved_first,
        columns=columns,
        metrics=metrics,
        signature=_signature(view),
        version=__version__,
    )


def write_page(view: RunView, path: str | Path, **options: Any) -> None:
    """Write :func:`page_html` to a file atomically; ``options`` are those of it.

    Raises
    ------
    InputError
        If the folder cannot be written.
    MissingExtraError
        If jinja2 is not installed.
    """
    values = _page_values(view, **options)
    with atomic_file(path) as file:
        # Part by part: the whole page is many megabytes, and would be in memory three times.
        file.writelines(part.encode() for part in rendered_parts(_TEMPLATE, **values))


def page_of_run(
    view: RunView, path: str | Path | None = None, *, title: str | None = None
) -> str | None:
    """Write the page of a run to ``path``, or return it if ``path`` is None."""
    if path is None:
        return page_html(view, title=title)
    check_ending("html", Path(path), "to_html")
    write_page(view, path, title=title)
    return None


def page_of_batch(
    batch: BatchEvalResult,
    path: str | Path | None = None,
    *,
    title: str | None = None,
    baseline: Any = None,
    slice_by: Sequence[str] = (),
    cluster_by: str | None = None,
) -> str | None:
    """The HTML report of a batch; see :meth:`rag_eval.BatchEvalResult.to_html`."""
    view = view_of_batch(batch, baseline=baseline, slice_by=slice_by, cluster_by=cluster_by)
    return page_of_run(view, path, title=title)


def _data(view: RunView) -> dict[str, Any]:
    """The data of the page for programs: everything except the rows."""
    found: dict[str, Any] = {
        "source": view.source,
        "verdict": {
            "passed": view.passed,
            "reason": view.reason,
            "interrupted": view.interrupted,
            "gates": [gate.to_dict() for gate in view.gates],
        },
        "nRows": view.summary.n_rows,
        "nPassed": view.summary.n_passed,
        "nSkipped": view.n_skipped,
        "nListed": len(view.rows),
        "viewNotes": list(view.notes),
        **view.summary.summary_dict(),
    }
    return {name: _as_json(value) for name, value in found.items()}


def _as_json(value: Any) -> Any:
    """``value`` with NaN and infinities as null, and with long texts cut."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return short(value, _TEXT_LIMIT) if len(value) > _TEXT_LIMIT else value
    if isinstance(value, Mapping):
        return {_as_json(str(name)): _as_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    return value


def _signature(view: RunView) -> list[tuple[str, str]]:
    """Names and values, with the options flattened."""
    signature = view.summary.signature
    if signature is None:
        return []
    found = signature.to_dict()
    options = found.pop("options")
    return [(str(name), value_text(value)) for name, value in {**found, **options}.items()]


# -------------------------------------------------------------------------------------- security


def style_and_script(*, has_rows: bool = False) -> dict[str, Any]:
    """Style and script of a page, and the policy that allows no other."""
    style, code = asset("style.css"), script(has_rows=has_rows)
    return {"policy": policy(code, style), "style": trusted(style), "script": trusted(code)}


def policy(script: str, style: str) -> str:
    """A Content-Security-Policy that allows only this script and this style."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def script_json(value: Any) -> Markup:
    """``value`` as JSON that cannot end the script element it is in.

    Raises
    ------
    ValueError
        For NaN and infinities.
    """
    from markupsafe import Markup

    # Everything beyond ASCII is escaped, including U+2028, U+2029 and lone surrogates.
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
