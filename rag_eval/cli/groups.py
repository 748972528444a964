"""Groups of commands: an unknown name is answered with a suggestion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
import rich_click

from rag_eval.errors import suggestion


class CommandGroup(rich_click.RichGroup):
    """A group of commands.

    Attributes
    ----------
    guessed : mapping
        What other tools call its commands, and what they are called here.
    """

    def __init__(self, *args: Any, guessed: Mapping[str, str] | None = None, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.guessed = guessed or {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with; an unknown name is an error with a suggestion.

        The lowest click suggests nothing.
        """
        name, is_asked = args[0], not ctx.resilient_parsing  # a shell that completes takes no error
        if is_asked and self.get_command(ctx, name) is None and not name.startswith("-"):
            if any(each.name == "store" for each in self.params) and Path(name).exists():
                raise click.UsageError(
                    f"{ctx.info_name} has no command {name!r}; to name a store: "
                    f"{ctx.command_path} --store {name}",
                    ctx,
                )
            meant = self.guessed.get(name.lower())
            near = [meant] if meant else self.list_commands(ctx)
            raise click.UsageError(f"No such command {name!r}{hint(meant or name, near)}", ctx)
        return super().resolve_command(ctx, args)


def hint(name: str, known: Iterable[str]) -> str:
    """``". Did you mean 'run'?"`` for the known name nearest to ``name``, else an empty string."""
    return suggestion(name, known).replace("; did", ". Did")
