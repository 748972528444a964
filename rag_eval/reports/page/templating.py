"""The templates of the page, with all data escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from rag_eval.errors import MissingExtraError
from rag_eval.reports import figures
from rag_eval.reports.page.visible_text import cut, short, visible, visible_plain

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from rag_eval.reports.page.nearest import Piece
    from rag_eval.results.row import MetricResult

_PACKAGE: Final = "rag_eval.reports.page"
_NEEDS_ESCAPE: Final = re.compile("[&<>'\"]").search
_SIGNS: Final = {True: ("✓ ", "good"), False: ("✗ ", "bad"), None: ("", "plain")}


@cache
def environment() -> Environment:
    """The template environment: undefined names are errors, and every value is escaped.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError(
            "an HTML report needs jinja2: pip install 'rag-eval-native[report]'"
        ) from None
    found = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: asset(f"templates/{name}")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        optimized=False,  # no template has constants to fold, and looking for them takes time
    )
    found.filters.update(
        visible=visible,
        plain=visible_plain,
        clip=clip,
        line=lambda text, limit: visible(short(text, limit)),
        plain_line=lambda text, limit: visible_plain(short(text, limit)),
        breakable=breakable,
        shown_name=figures.shown_name,
        reason_head=reason_head,
        marked=marked,
        time=lambda moment: visible(short(figures.time_text(moment), 60)),
        score=figures.score_text,
        gap=lambda found: figures.gap_text(found.n, found.n_rows),
        signed=figures.signed_text,
        share=whole_share,
        limit=figures.limit_text,
        interval=figures.interval_text,
        mean_interval=figures.mean_interval_text,
        p_value=figures.p_value_text,
        count=lambda number: f"{number:,}",
    )
    return found


def whole_share(value: float | None) -> str:
    """A percentage that no line breaks."""
    return figures.share_text(value).replace(" ", "\u00a0")


@cache
def asset(name: str) -> str:
    """A file of the package: a template, the style or the script."""
    return files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")


def rendered(template: str, /, **values: Any) -> Markup:
    """A template with its values, as markup: all values were escaped."""
    from markupsafe import Markup

    return Markup(environment().get_template(template).render(values))


def rendered_parts(template: str, /, **values: Any) -> Iterator[str]:
    """As :func:`rendered`, part by part."""
    return environment().get_template(template).generate(values)


def script(*, has_rows: bool) -> str:
    """The script of a page."""
    return '"use strict";\n' + (asset("rows.js") if has_rows else "") + asset("script.js")


def trusted(text: str) -> Markup:
    """The style or the script of the package, unescaped."""
    from markupsafe import Markup

    return Markup(text)


def clip(text: str, limit: int) -> Markup | str:
    """A text cut at ``limit`` characters, with the number of those that follow."""
    shown, n_more = cut(text, limit)
    return visible(f"{shown}… {n_more:,} more characters" if n_more else shown)


def marked(pieces: Iterable[Piece]) -> Markup:
    """Pieces of a text with their marks."""
    from markupsafe import Markup, escape

    parts = []
    for piece in pieces:
        shown = visible(piece.text)
        # Most are single words; markup is made in several times what it takes to look for a need.
        if _NEEDS_ESCAPE(shown) is not None:
            shown = escape(shown)
        parts.append(f'<mark class="{piece.mark}">{shown}</mark>' if piece.mark else shown)
    return Markup("".join(parts))


def reason_head(found: MetricResult, null_text: str, old: float | None) -> Markup:
    """The name of a metric, its score, once, and its threshold."""
    from markupsafe import Markup, escape

    sign, colour = _SIGNS[found.passed]
    score = escape(null_text) if found.score is None else figures.score_text(found.score)
    notes = [
        None if old is None else f"baseline {figures.score_text(old)}",
        None if found.threshold is None else f"threshold {figures.limit_text(found.threshold)}",
        None
        if found.probability is None
        else f"probability of good {whole_share(found.probability)}",
        None if found.mode == "heuristic" else escape(visible(found.mode)),
    ]
    small = "".join(f" <small>{note}</small>" for note in notes if note is not None)
    name = escape(visible(figures.shown_name(found.metric_id)))
    shown = f'<span class="{colour}">{sign}{score}</span>'
    return Markup(f'<p class="reason-head"><b>{name}</b> {shown}{small}</p>')


def breakable(name: str) -> Markup:
    """A name that may wrap after underscores and dots."""
    from markupsafe import Markup, escape

    shown = visible(name)
    if isinstance(shown, Markup):
        return shown
    return escape(shown).replace("_", Markup("_<wbr>")).replace(".", Markup(".<wbr>"))
