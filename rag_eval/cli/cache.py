"""``rag-eval cache``: show or delete cached replies of LLM judges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from rag_eval.cli.flags import format_flag
from rag_eval.cli.groups import CommandGroup
from rag_eval.cli.printing import print_json

if TYPE_CHECKING:
    from rag_eval.judge.cache_file import CacheInfo

cache_flag = click.option(
    "--cache-file",
    "file",
    metavar="FILE",
    help="Cache file. [default: $RAG_EVAL_CACHE, or judge.sqlite in ~/.cache/rag_eval]",
)


@click.group(
    "cache",
    cls=CommandGroup,
    guessed={"show": "info", "list": "info", "delete": "clear", "purge": "clear"},
)
def cache_command() -> None:
    """Show or delete cached replies of LLM judges.

    Replies are cached only by runs with --cache or --cache-file.

    \b
    Examples:
      rag-eval cache info
      rag-eval cache clear --cache-file runs/judge.sqlite
    """


@cache_command.command(
    "info", epilog="Exit codes: 0 printed · 2 FILE is not a cache, or cannot be read"
)
@cache_flag
@format_flag("table", "json")
def info_command(file: str | None, form: str) -> None:
    """Show the number, age and size of the cached replies.

    A cache that does not exist yet counts as empty; it is not created.

    \b
    Examples:
      rag-eval cache info
      rag-eval cache info --cache-file runs/judge.sqlite --format json
    """
    from rag_eval.judge.cache_file import CacheInfo, existing_cache, info_of

    path = _path(file)
    with existing_cache(path) as connection:
        found = CacheInfo(str(path)) if connection is None else info_of(connection, path)
    if form == "json":
        print_json(found.to_dict())
    else:
        _print_info(found)


@cache_command.command(
    "clear", epilog="Exit codes: 0 the cache is empty · 2 FILE is not a cache, or is in use"
)
@cache_flag
def clear_command(file: str | None) -> None:
    """Delete all replies; later runs call their judge again.

    Scores that were written stay as they are.

    \b
    Examples:
      rag-eval cache clear
      rag-eval cache clear --cache-file runs/judge.sqlite
    """
    from rag_eval.judge.cache_file import clear_rows, existing_cache
    from rag_eval.reports.plain_text import plain_text

    path = _path(file)
    with existing_cache(path) as connection:
        n_rows = 0 if connection is None else clear_rows(connection)
    print(f"deleted {n_rows:,} {_replies(n_rows)} in {plain_text(str(path))}")


def _path(file: str | None) -> Path:
    from rag_eval.judge.cache_file import default_cache_path

    return default_cache_path() if file is None else Path(file)


def _replies(count: int) -> str:
    return "reply" if count == 1 else "replies"


def _print_info(found: CacheInfo) -> None:
    from rag_eval.reports.plain_text import plain_text

    print(plain_text(found.path))
    print(f"{found.entries:,} {_replies(found.entries)}, {found.size_bytes / 1e6:,.1f} MB")
    times = found.to_dict()
    if found.entries:
        print(f"cached from {times['oldest']} to {times['newest']}")
