"""A run in; one HTML file that needs no network and reads without scripts, out."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rag_eval._version import __version__
from rag_eval.plumbing.durable_files import atomic_file
from rag_eval.reports.page.row_list import anchors_by_id, row_list, value_text
from rag_eval.reports.page.sections import comparison_parts, metric_cards
from rag_eval.reports.page.templating import asset, rendered, trusted
from rag_eval.reports.page.visible_text import short
from rag_eval.results.batch import BatchEvalResult
from rag_eval.views.making import view_of_batch
from rag_eval.views.run_view import RunView

if TYPE_CHECKING:
    from markupsafe import Markup

_MOST_SLICES: Final = 300
_MOST_FAULTS: Final = 100
_TEXT_LIMIT: Final = 2_000


def page_html(view: RunView, *, title: str | None = None) -> str:
    """A run as a page: verdict, distributions, comparison, slices, rows, how to make it again.

    Parameters
    ----------
    view : RunView
    title : str, optional
        The heading; the name of the file of samples by default.

    Returns
    -------
    str
        HTML with its style and its script inside, below 20 MB whatever the run: of very many rows
        the best cannot be opened. Whatever comes from data stands in it as text.

    Raises
    ------
    MissingExtraError
        Without jinja2 (``pip install 'rag-eval-native[report]'``).
    """
    metrics = tuple(view.summary.shown_aggregates)
    listed = row_list(view.rows, metrics)
    comparison = None
    if view.comparison is not None:
        comparison = comparison_parts(view.comparison, anchors_by_id(listed.rows))
    return str(
        rendered(
            "page.html.j2",
            view=view,
            summary=view.summary,
            title=title or (f"RAG evaluation: {view.source}" if view.source else "RAG evaluation"),
            policy=policy(asset("script.js"), asset("style.css")),
            style=trusted("style.css"),
            script=trusted("script.js"),
            data=script_json(_data(view)),
            notes=(*view.summary.shown_notes, *view.notes),
            gates=sorted(view.gates, key=lambda gate: gate.held),
            cards=metric_cards(view),
            comparison=comparison,
            slices=view.slices[:_MOST_SLICES],
            n_more_slices=max(0, len(view.slices) - _MOST_SLICES),
            faults=view.faults[:_MOST_FAULTS],
            listed=listed,
            metrics=metrics,
            signature=_signature(view),
            version=__version__,
        )
    )


def write_page(view: RunView, path: str | Path, *, title: str | None = None) -> None:
    """Write :func:`page_html` to a file, which is there as a whole or not at all.

    Raises
    ------
    InputError
        When the folder cannot be written to.
    MissingExtraError
        Without jinja2.
    """
    page = page_html(view, title=title).encode()
    with atomic_file(path) as file:
        file.write(page)


def page_of_run(
    view: RunView, path: str | Path | None = None, *, title: str | None = None
) -> str | None:
    """The page of a run, written to a path or, where none is named, given as text."""
    if path is None:
        return page_html(view, title=title)
    write_page(view, path, title=title)
    return None


def page_of_batch(
    batch: BatchEvalResult,
    path: str | Path | None = None,
    *,
    title: str | None = None,
    baseline: Any = None,
    slice_by: Sequence[str] = (),
) -> str | None:
    """The page of a batch; see :meth:`rag_eval.BatchEvalResult.to_html`."""
    view = view_of_batch(batch, baseline=baseline, slice_by=slice_by)
    return page_of_run(view, path, title=title)


def _data(view: RunView) -> dict[str, Any]:
    """What programs read of the page: all but the rows."""
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
    """``value`` with null in the place of NaN and infinities, and its texts cut."""
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
    """Names and values, options by themselves."""
    signature = view.summary.signature
    if signature is None:
        return []
    found = signature.to_dict()
    options = found.pop("options")
    return [(str(name), value_text(value)) for name, value in {**found, **options}.items()]


# -------------------------------------------------------------------------------------- security


def policy(script: str, style: str) -> str:
    """A Content-Security-Policy under which this script and this style work, and nothing else."""
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
    """``value`` as JSON that can stand in a script element: nothing in it ends the element.

    Raises
    ------
    ValueError
        For NaN and infinities.
    """
    from markupsafe import Markup

    # Beyond ASCII all is escaped, U+2028, U+2029 and lone surrogates among it.
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
