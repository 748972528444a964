"""Retrieved contexts in any of their shapes -> a list of texts, the same from every source."""

from __future__ import annotations

from operator import is_
from typing import Any, Final

import msgspec

from rag_eval.inputs.schemas.paths import Steps, held_in, steps_of, value_at

# Where a retrieved document, written as an object, has its text: LangChain, RAGChecker and most
# others, Haystack and MLflow, deepeval, LangChain's own serialisation, LlamaIndex, OpenInference,
# and names of home-made ones.
TEXT_PATHS: Final = (
    "page_content",
    "text",
    "content",
    "context",
    "kwargs.page_content",
    "node.text",
    "document.content",
    "document.page_content",
    "document.text",
    "document",
    "passage",
    "chunk",
    "chunk_text",
    "context_text",
    "snippet",
    "body",
)

_TEXT_STEPS: Final[tuple[tuple[str, Steps], ...]] = tuple(
    (path, steps_of(path)) for path in TEXT_PATHS
)
_decode_texts = msgspec.json.Decoder(list[str]).decode
_MAX_DEPTH: Final = 8
# What follows the bracket of a list, and of no sentence in brackets.
_LIST_STARTS: Final = ("'", '"', "[", "{")

UNREADABLE: Final = (
    'contexts must be a list of strings, got a text in brackets that is neither a JSON list (["a", '
    "\"b\"]) nor a list as Python prints it (['a', 'b']); where texts are joined by a separator in "
    "CSV, give it with --context-separator"
)


def context_texts(value: Any) -> Any:
    """Contexts as a list of texts.

    Parameters
    ----------
    value : object
        A text (one context; none when it is blank); a list as a text, as JSON or as Python prints
        it; a list of texts, of objects with a text, or of lists of them, which are taken one after
        the other; one object with a text. Pairs of a text and a number are taken as that text.

    Returns
    -------
    object
        The list; ``value`` itself when it is such a list already, and when it cannot be understood.
        Items that cannot be understood stay in the list as they are.
    """
    if isinstance(value, list):
        if set(map(type, value)) <= {str}:
            return value
        found = _flat(value, 0)
        unchanged = len(found) == len(value) and all(map(is_, found, value))
        return value if unchanged else found
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, dict):
        found = _text_of(value)
        return [found] if isinstance(found, str) else value
    if hasattr(value, "tolist"):
        return context_texts(value.tolist())
    return _flat(value, 0) if isinstance(value, tuple) else value


def truth_texts(value: Any) -> Any:
    """A ground truth; a text that is the print of a list of texts as that list.

    The acceptable answers of one question come so from cells of tables.
    """
    if type(value) is not str or not value.startswith("["):
        return value
    found = list_in(value)
    is_list = isinstance(found, list) and all(isinstance(text, str) for text in found)
    return found if is_list else value


def said_text(value: Any) -> Any:
    """What is said in a turn that is written in parts, ``[{"type": "text", "text": …}, …]``.

    Parts without a text, such as images, say nothing. Any other value as it is.
    """
    if not isinstance(value, list) or not value or set(map(type, value)) != {dict}:
        return value
    texts = [part["text"] for part in value if isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else value


def list_in(text: str) -> Any:
    """The list, or object with a text, that a text is the print of; None if it is neither."""
    found = held_in(text)
    return None if isinstance(found, dict) and not isinstance(_text_of(found), str) else found


WHOLE: Final = "one context per row"
"""The shape of texts that are neither lists nor split."""


def shape_of(value: Any) -> str:
    """What to say about the shape of contexts; empty for a plain list of texts."""
    if isinstance(value, str):
        if not value.strip():
            return ""
        found = list_in(value)
        if found is None:
            return WHOLE
        inner = shape_of(found)
        return f"list in a string, {inner}" if inner else "list in a string"
    if isinstance(value, dict):
        return "objects with text"
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, (list, tuple)) and not _is_scored(item):
                return "rounds, flattened"
            if isinstance(item, (dict, list, tuple)):
                return "objects with text"
    return ""


def _of_text(text: str) -> Any:
    if text.startswith('["') and text.endswith("]"):
        try:
            return _decode_texts(text)  # most cells, at once
        except (ValueError, RecursionError):
            pass  # a list of something else, as Python prints it, or no list
    if not text or text.isspace():
        return []
    found = list_in(text)
    if found is not None:
        return context_texts(found)
    return text if _looks_like_a_list(text.strip()) else [text]


def _looks_like_a_list(text: str) -> bool:
    """Whether a text that could not be read was meant to be a list."""
    if not (text.startswith("[") and text.endswith("]")):
        return False
    inner = text[1:].lstrip()
    if inner.startswith(_LIST_STARTS):
        return True
    # "[1] A text with notes [2]": the first bracket is closed before the end.
    first_end, next_start = text.find("]"), text.find("[", 1)
    return not first_end < len(text) - 1 or 0 < next_start < first_end


def _flat(items: Any, depth: int) -> list[Any]:
    texts: list[Any] = []
    for item in items:
        if isinstance(item, dict):
            texts.append(_text_of(item))
            continue
        found = item.tolist() if hasattr(item, "tolist") else item
        if not isinstance(found, (list, tuple)) or depth == _MAX_DEPTH:
            texts.append(item)
        elif _is_scored(found):
            texts += _flat(found[:1], depth + 1)
        else:
            texts += _flat(found, depth + 1)
    return texts


def _is_scored(pair: Any) -> bool:
    """Whether it is a context with its score, as similarity searches return them."""
    return (
        len(pair) == 2
        and isinstance(pair[0], (str, dict))
        and isinstance(pair[1], (int, float))
        and not isinstance(pair[1], bool)
    )


def _text_of(document: dict[str, Any]) -> Any:
    for path, steps in _TEXT_STEPS:
        text = document[path] if path in document else value_at(document, steps)
        if isinstance(text, str):
            return text
    return document
