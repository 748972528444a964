"""Chat turns -> the question and the answer among them: the last turn of each side."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from rag_eval.inputs.schemas.maps import FirstRows
from rag_eval.inputs.schemas.paths import EACH, held_in, steps_of, value_at
from rag_eval.inputs.schemas.tools import Columns

#: What lists of turns are called.
LISTS: Final = (
    *("messages", "conversation", "conversations", "turns", "dialogue", "dialog", "chat"),
    *("chat_history", "history", "input", "user_input", "prompt", "inputs.messages"),
)
# OpenAI and most others, LangChain and ragas, ShareGPT, MT-RAG.
_ROLES: Final = ("role", "type", "from", "speaker")
_TEXTS: Final = ("content", "text", "value")
_ASKING: Final = ("user", "human")
_ANSWERING: Final = ("assistant", "ai", "gpt", "bot", "agent", "model")


def chat_paths(columns: Columns, first_rows: FirstRows) -> dict[str, str]:
    """Paths of the last question and, where the turns end with it, of the last answer."""
    for name in LISTS:
        found = turn_members(name, columns.paths)
        if found is None:
            continue
        by, text = found
        last = _last_roles(name, by, first_rows([name]))
        known = [found for turns in last for found in turns]
        asking = next((side for side in _ASKING if side in known), None)
        answering = next(
            (side for side in _ANSWERING if any(side in turns[-1:] for turns in last)), None
        )
        sides = {"question": asking, "answer": answering}
        return {
            field: f"{name}[{by}={side}][-1].{text}"
            for field, side in sides.items()
            if side is not None
        }
    return {}


def turn_members(name: str, paths: Collection[str]) -> tuple[str, str] | None:
    """The members of turns that say who speaks, and what; None if a list holds no turns."""
    role = next((role for role in _ROLES if f"{name}{EACH}.{role}" in paths), None)
    text = next((text for text in _TEXTS if f"{name}{EACH}.{text}" in paths), None)
    return None if role is None or text is None else (role, text)


def _last_roles(name: str, by: str, rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The roles of the turns of each row, in order."""
    steps = steps_of(name)
    found = []
    for row in rows:
        turns = value_at(row, steps)
        turns = held_in(turns) if isinstance(turns, str) else turns
        if isinstance(turns, (list, tuple)) and turns:
            found.append([str(turn.get(by)) for turn in turns if isinstance(turn, dict)])
    return found
