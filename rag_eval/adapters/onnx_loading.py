"""The packages that run an ONNX verifier: a tokenizer and a session, loaded from its folder."""

from __future__ import annotations

from string import Template
from typing import Any, Final

from rag_eval.adapters.onnx_files import TOKENIZER, ModelFolder
from rag_eval.errors import InputError

INPUT_TYPES: Final = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
"""Types of NumPy by those that a model names."""

_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
_PADDING: Final = ("[PAD]", "<pad>")


def loaded_tokenizer(tokenizers: Any, folder: ModelFolder, prompt: str) -> Any:
    path = folder.model.with_name(TOKENIZER)
    try:
        found = tokenizers.Tokenizer.from_str(folder.tokenizer)
    except (KeyboardInterrupt, SystemExit):
        raise
    # What the package is written in reports some faults outside of Exception.
    except BaseException as error:
        raise InputError(f"{path} is no tokenizer: {first_line(error)}") from None
    found.no_truncation()
    found.no_padding()
    if prompt:
        found.post_processor = _prompt_around(tokenizers, found, prompt)
    return found


def _prompt_around(tokenizers: Any, tokenizer: Any, prompt: str) -> Any:
    """What puts the tokens of a prompt before, between and after context and claim."""
    wanted = ["premise", "claim"]
    pieces: list[str] = []
    names: list[str] = []
    at = 0
    for match in Template.pattern.finditer(prompt):
        names.append(match["named"] or match["braced"] or match[0])
        pieces.append(prompt[at : match.start()])
        at = match.end()
    pieces.append(prompt[at:])
    if names != wanted:
        raise InputError(
            f"prompt must have $premise and $claim, once each and in this order, got {prompt!r:.80}"
        )
    parts, special = [], []
    for number, text in enumerate(pieces):
        encoded = tokenizer.encode(text, add_special_tokens=False)
        if encoded.ids:
            name = f"<prompt-{number}>"
            parts.append(name)
            special.append({"id": name, "ids": encoded.ids, "tokens": encoded.tokens})
        parts += ["$A:0", "$B:0"][number : number + 1]
    return tokenizers.processors.TemplateProcessing(
        single="$A", pair=" ".join(parts), special_tokens=special
    )


def padding_of(tokenizer: Any) -> int:
    found = (tokenizer.token_to_id(name) for name in _PADDING)
    return next((number for number in found if number is not None), 0)


def loaded_session(runtime: Any, folder: ModelFolder, n_threads: int) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4
    # Threads that wait for the next batch leave their cores to others.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(
            str(folder.model), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise InputError(
            f"{folder.model} cannot be loaded: {first_line(error)} (operators of other libraries "
            "are not supported)"
        ) from None


def checked_output(session: Any, folder: ModelFolder) -> str:
    """The name of the output that is read: the one named logits, or else the first.

    Raises
    ------
    InputError
        If the model wants inputs that are not made here.
    """
    inputs = {one.name: one.type for one in session.get_inputs()}
    unknown = sorted(inputs.keys() - set(_INPUTS))
    if unknown or "input_ids" not in inputs:
        fault = f"wants the input {unknown[0]!r}" if unknown else "has no input 'input_ids'"
        raise InputError(
            f"{folder.model} {fault}; a verifier takes {', '.join(_INPUTS)}. Export the model for "
            "sequence or token classification"
        )
    for name, kind in inputs.items():
        if kind not in INPUT_TYPES:
            raise InputError(f"{folder.model}: the input {name!r} has the type {kind}, not int64")
    names = [one.name for one in session.get_outputs()]
    return "logits" if "logits" in names else str(names[0])


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
