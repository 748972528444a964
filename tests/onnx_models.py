"""Tiny verifiers of claims as ONNX files, written as protobuf by hand.

The model is no stand-in for real weights, but its verdicts are right by its own rule: a text
supports a claim if it has all words of the claim. A window that lacks one of them does not.

::

    folder = write_verifier(tmp_path / "model", "alice won the race", supported=1)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
Shape = Literal["labels", "tokens", "single", "flat", "scalar", "refusing"]

_FLOAT, _INT64 = 1, 7
_STEEP = 4.0  # logit of a text that has all words, and its negative per word that is missing


def write_verifier(
    folder: Path, words: str, *, output: Shape = "labels", weights_at: str = "", **settings: Any
) -> Path:
    """A folder with a model that knows these words, its tokenizer, and settings.

    ``weights_at`` puts the model's weights into another file, by its place in the model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = [*SPECIAL, *dict.fromkeys(words.split())]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(vocabulary)))
    model, weights = overlap_model(len(vocabulary), output, weights_at)
    (folder / "model.onnx").write_bytes(model)
    if weights_at and weights_at == Path(weights_at).name:
        (folder / weights_at).write_bytes(weights)
    if settings:
        lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        (folder / "verifier.toml").write_text("\n".join(lines))
    return folder


def tokenizer(vocabulary: Sequence[str]) -> dict[str, Any]:
    """Words in lower case by their place in the vocabulary; marks are words of their own."""
    special = {name: {"id": name, "ids": [i], "tokens": [name]} for i, name in enumerate(SPECIAL)}

    def token(name: str, segment: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": name, "type_id": segment}}

    def text(name: str, segment: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": segment}}

    first = [token("[CLS]", 0), text("A", 0), token("[SEP]", 0)]
    return {
        "version": "1.0",
        # As it is often shipped; a verifier must not be cut by it.
        "truncation": {
            "direction": "Right",
            "max_length": 8,
            "strategy": "LongestFirst",
            "stride": 0,
        },
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": first,
            "pair": [*first, text("B", 1), token("[SEP]", 1)],
            "special_tokens": special,
        },
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(vocabulary)},
            "unk_token": "[UNK]",
        },
    }


def overlap_model(n_words: int, output: Shape, weights_at: str = "") -> tuple[bytes, bytes]:
    """The model as bytes, and its weights, which are in it unless they are at another place."""
    one_hot = np.eye(n_words, dtype=np.float32)
    one_hot[:3] = 0.0  # padding and marks are no words
    labels = np.array([[_STEEP, -_STEEP]], np.float32)
    bias = np.array([-_STEEP / 2, _STEEP / 2], np.float32)
    if output in ("single", "flat"):
        labels, bias = labels[:, 1:], bias[1:]
    nodes = [
        node("Cast", ["token_type_ids"], "is_claim", to=_FLOAT),
        node("Cast", ["attention_mask"], "is_there", to=_FLOAT),
        node("Sub", ["is_there", "is_claim"], "is_premise"),
        node("Gather", ["words", "input_ids"], "found"),
        node("Unsqueeze", ["is_claim", "last"], "claim_mask"),
        node("Unsqueeze", ["is_premise", "last"], "premise_mask"),
        node("Mul", ["found", "claim_mask"], "claim_words"),
        node("Mul", ["found", "premise_mask"], "premise_words"),
        node("ReduceMax", ["premise_words"], "premise", axes=[1], keepdims=1),
        node("Sub", ["claim_words", "premise"], "lacking"),
        node("Relu", ["lacking"], "missing"),
    ]
    if output == "tokens":
        nodes += [node("ReduceSum", ["missing", "last"], "counted", keepdims=1)]
    else:
        nodes += [node("ReduceSum", ["missing", "both"], "counted", keepdims=0)]
        nodes += [node("Unsqueeze", ["counted", "last"], "column")]
    nodes += [
        node("MatMul", ["counted" if output == "tokens" else "column", "labels"], "steep"),
        node("Add", ["steep", "bias"], "logits"),
    ]
    last = "logits"
    if output == "flat":
        nodes += [node("Squeeze", ["logits", "last"], "flat")]
        last = "flat"
    elif output == "scalar":
        nodes += [node("ReduceSum", ["logits"], "whole", keepdims=0)]
        last = "whole"
    elif output == "refusing":
        nodes += [node("NoSuchOperator", ["logits"], "odd", domain="of.others")]
        last = "odd"
    constants = [
        tensor("words", one_hot, weights_at),
        tensor("labels", labels),
        tensor("bias", bias),
        tensor("last", np.array([-1], np.int64)),
        tensor("both", np.array([1, 2], np.int64)),
    ]
    inputs = [value_info(name) for name in ("input_ids", "attention_mask", "token_type_ids")]
    graph = b"".join(
        [
            *(field(1, one) for one in nodes),
            field(2, b"overlap"),
            *(field(5, one) for one in constants),
            *(field(11, one) for one in inputs),
            field(12, value_info(last, _FLOAT, None)),
        ]
    )
    domains = field(8, field(1, b"") + number(2, 13))
    if output == "refusing":
        domains += field(8, field(1, b"of.others") + number(2, 1))
    return number(1, 8) + domains + field(7, graph), one_hot.tobytes()


# ------------------------------------------------------------------------------- protobuf


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(place: int, content: bytes) -> bytes:
    """A field with a length: a text, bytes or a message."""
    return varint(place << 3 | 2) + varint(len(content)) + content


def number(place: int, value: int) -> bytes:
    return varint(place << 3) + varint(value)


def node(operator: str, inputs: Sequence[str], output: str, **more: Any) -> bytes:
    found = [field(1, name.encode()) for name in inputs]
    found += [field(2, output.encode()), field(4, operator.encode())]
    if "domain" in more:
        found.append(field(7, more.pop("domain").encode()))
    for name, value in more.items():
        listed = isinstance(value, list)
        values = b"".join(number(8, one) for one in value) if listed else number(3, value)
        found.append(field(5, field(1, name.encode()) + values + number(20, 7 if listed else 2)))
    return b"".join(found)


def tensor(name: str, values: np.ndarray[Any, Any], at: str = "") -> bytes:
    kind = _FLOAT if values.dtype == np.float32 else _INT64
    found = b"".join(number(1, size) for size in values.shape) + number(2, kind)
    found += field(8, name.encode())
    if not at:
        return found + field(9, values.tobytes())
    return found + external({"location": at}) + number(14, 1)


def external(entries: Mapping[str, str]) -> bytes:
    """The entries that say where the data of a tensor is."""
    return b"".join(
        field(13, field(1, key.encode()) + field(2, value.encode()))
        for key, value in entries.items()
    )


def value_info(name: str, kind: int = _INT64, shape: Sequence[str] | None = ("n", "t")) -> bytes:
    dimensions = b"" if shape is None else b"".join(field(1, field(2, d.encode())) for d in shape)
    typed = number(1, kind) + (b"" if shape is None else field(2, dimensions))
    return field(1, name.encode()) + field(2, field(1, typed))
