"""Chat turns -> the question and the answer among them: the last turn of each side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rag_eval.inputs.schemas.maps import FirstRows
from rag_eval.inputs.schemas.paths import EACH, steps_of, value_at
from rag_eval.inputs.schemas.tools import Columns

_LISTS: Final = (
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
    for name in _LISTS:
        roles = [f"{name}{EACH}.{role}" for role in _ROLES]
        role = next((path for path in roles if path in columns.paths), None)
        texts = [text for text in _TEXTS if f"{name}{EACH}.{text}" in columns.paths]
        if role is None or not texts:
            continue
        by = role.rpartition(".")[2]
        last = _last_roles(name, by, first_rows([name]))
        known = [found for turns in last for found in turns]
        asking = next((side for side in _ASKING if side in known), None)
        answering = next(
            (side for side in _ANSWERING if any(side in turns[-1:] for turns in last)), None
        )
        sides = {"question": asking, "answer": answering}
        return {
            field: f"{name}[{by}={side}][-1].{texts[0]}"
            for field, side in sides.items()
            if side is not None
        }
    return {}


def _last_roles(name: str, by: str, rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The roles of the turns of each row, in order."""
    steps = steps_of(name)
    found = []
    for row in rows:
        turns = value_at(row, steps)
        if isinstance(turns, (list, tuple)) and turns:
            found.append([str(turn.get(by)) for turn in turns if isinstance(turn, dict)])
    return found
