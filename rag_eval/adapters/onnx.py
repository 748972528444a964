"""Verifiers from ONNX models of your own, run by ONNX Runtime on the processor."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from rag_eval.adapters.onnx_files import ModelFolder, read_folder
from rag_eval.adapters.onnx_loading import (
    INPUT_TYPES,
    checked_output,
    first_line,
    loaded_session,
    loaded_tokenizer,
    padding_of,
)
from rag_eval.adapters.onnx_settings import checked_settings, signed_settings
from rag_eval.errors import InputError, glance
from rag_eval.judge.failures import JudgeFailure
from rag_eval.judge.metrics.judgements import has_word
from rag_eval.judge.replies import JudgeIdentity
from rag_eval.judge.verifiers import Verifier, Window
from rag_eval.plumbing.extras import package

_PURPOSE: Final = "a verifier from an ONNX model"
# Of the tokens that a model reads, the share that is always there for the context.
_PREMISE_SHARE: Final = 4
# Bounds the memory of one claim: half a million tokens of contexts.
_MOST_WINDOWS: Final = 1024
_Floats = npt.NDArray[np.float64]
_Ids = npt.NDArray[np.int32]


class _Tokens(NamedTuple):
    """What a model reads: ids, the segment of each, and which of them are the claim's."""

    ids: _Ids
    types: _Ids
    is_claim: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the output of a model is read; as :func:`create_onnx_verifier` takes it."""

    supported: int
    output: str
    tokens: str


def create_onnx_verifier(folder: str | PathLike[str], **settings: Any) -> OnnxVerifier:
    """A verifier that runs the ONNX model in a folder.

    The folder holds ``model.onnx``, which takes ``input_ids`` and gives a classification of pairs
    of context and claim, and ``tokenizer.json``. Settings come from ``verifier.toml`` in it, and
    from the keywords here, which win. Every context that is longer than the model reads is cut into
    windows that overlap; the probability of the window that supports a claim most counts.

    Parameters
    ----------
    folder : path
    supported : int
        The index of the label that means "supported" in the model's output. It has no default:
        look it up in ``id2label`` of the model's ``config.json``.
    output : {"logits", "probabilities"}, default "logits"
        Of logits, several become probabilities by softmax, and one by the logistic function.
    tokens : {"claim", "first"}, default "claim"
        For models that label each token: a claim is supported as far as its least supported token
        is, or as the first token of all is.
    prompt : str, optional
        For models that read one text: with ``$premise`` and ``$claim`` in this order.
    max_tokens : int, default 512
        What the model reads at a time: context, claim and special tokens.
    overlap : int, default 64
        Tokens that neighbouring windows share.
    batch_size : int, default 8
        Windows per call of the model.
    threads : int, optional
        Threads of the model; by default, the cores this process may use.
    threshold, cost_per_claim, version
        As for :class:`rag_eval.judge.Verifier`.
    name : str, optional
        By default that of the folder.

    Raises
    ------
    InputError
        If files are missing or damaged, a setting is wrong, or the model's inputs or outputs are
        not as above.
    MissingExtraError
        Without the extra ``verifier``.
    """
    return OnnxVerifier(read_folder(Path(folder)), settings)


class OnnxVerifier(Verifier):
    """A verifier that runs an ONNX model; made by :func:`create_onnx_verifier`."""

    is_native = True

    def __init__(self, folder: ModelFolder, given: Mapping[str, Any]) -> None:
        runtime = package("onnxruntime", _PURPOSE, "verifier")
        tokenizers = package("tokenizers", _PURPOSE, "verifier")
        settings = checked_settings(folder, given)
        super().__init__(
            self._probabilities,
            name=settings["name"],
            version=settings["version"],
            threshold=settings["threshold"],
            cost_per_claim=settings["cost_per_claim"],
            batch_size=settings["batch_size"],
        )
        self._reading = _Reading(*(settings[name] for name in ("supported", "output", "tokens")))
        self._max_tokens: int = settings["max_tokens"]
        self._overlap: int = settings["overlap"]
        self._where = folder.model
        self._tokenizer = loaded_tokenizer(tokenizers, folder, settings["prompt"])
        self._n_special: int = self._tokenizer.num_special_tokens_to_add(is_pair=True)
        self._padding = padding_of(self._tokenizer)
        self._run_options = runtime.RunOptions
        self._running: dict[int, Any] = {}
        self._session = loaded_session(runtime, folder, settings["threads"])
        self._inputs = {one.name: INPUT_TYPES.get(one.type) for one in self._session.get_inputs()}
        self._output = checked_output(self._session, folder)
        self.identity = JudgeIdentity(
            "onnx", settings["name"], None, signed_settings(folder, settings)
        )
        self._try_once()

    def windows(self, premises: Sequence[str], claim: str) -> list[Window]:
        """See :meth:`rag_eval.judge.Verifier.windows`."""
        claim_tokens = self._encoded(claim)
        room = self._max_tokens - self._n_special - len(claim_tokens.ids)
        least = self._max_tokens // _PREMISE_SHARE
        if room < least:
            most = self._max_tokens - self._n_special - least
            raise JudgeFailure(
                "failed",
                f"the claim {glance(claim)} has {len(claim_tokens.ids):,} tokens, and the verifier "
                f"reads at most {most:,} of its {self._max_tokens:,} for a claim",
            )
        found = [
            window
            for chunk, premise in enumerate(premises)
            if has_word(premise)
            for window in self._windows_of(premise, chunk, claim, claim_tokens, room)
        ]
        if not found:
            raise JudgeFailure("failed", "the verifier's tokenizer finds no token in the contexts")
        if len(found) > _MOST_WINDOWS:
            raise JudgeFailure(
                "failed",
                f"the contexts have {len(found):,} windows of {self._max_tokens:,} tokens; the "
                f"verifier reads at most {_MOST_WINDOWS:,}",
            )
        return found

    def _windows_of(
        self, premise: str, chunk: int, claim: str, claim_tokens: Any, room: int
    ) -> list[Window]:
        encoded = self._encoded(premise)
        if not encoded.ids:
            return []
        # Cut here and not by the tokenizer: some of its versions lose what comes after the cut.
        encoded.truncate(room, stride=min(self._overlap, room // 2))
        pieces = [encoded, *encoded.overflowing]
        whole = self._tokenizer.post_process(encoded, claim_tokens)
        found = []
        for piece, one in zip(pieces, [whole, *whole.overflowing], strict=True):
            tokens = _Tokens(
                np.array(one.ids, np.int32),
                np.array(one.type_ids, np.int32),
                np.array([place == 1 for place in one.sequence_ids], np.bool_),
            )
            span = None if len(pieces) == 1 else (piece.offsets[0][0], piece.offsets[-1][1])
            found.append(Window((), claim, chunk, span, tokens))
        return found

    def _encoded(self, text: str) -> Any:
        # A lone surrogate, which the tokenizer does not take, becomes a question mark.
        clean = text.encode("utf-8", "replace").decode("utf-8")
        return self._tokenizer.encode(clean, add_special_tokens=False)

    def ask(self, windows: Sequence[Window]) -> list[float]:
        """See :meth:`rag_eval.judge.Verifier.ask`; the interpreter is free while the model runs."""
        return self._probabilities(windows)

    def _probabilities(self, windows: Sequence[Window]) -> list[float]:
        tokens = [window.tokens for window in windows]
        # Padding that no mask covers would be read.
        step = len(tokens) if "attention_mask" in self._inputs else 1
        found = [
            self._of_batch(tokens[first : first + step]) for first in range(0, len(tokens), step)
        ]
        return list(itertools.chain.from_iterable(found))

    def _of_batch(self, tokens: Sequence[_Tokens]) -> list[float]:
        shape = len(tokens), max(len(one.ids) for one in tokens)
        filled = {
            "input_ids": np.full(shape, self._padding, np.int32),
            "attention_mask": np.zeros(shape, np.int32),
            "token_type_ids": np.zeros(shape, np.int32),
        }
        for row, one in enumerate(tokens):
            size = len(one.ids)
            filled["input_ids"][row, :size] = one.ids
            filled["attention_mask"][row, :size] = 1
            filled["token_type_ids"][row, :size] = one.types
        inputs = {name: filled[name].astype(kind) for name, kind in self._inputs.items()}
        (output,) = self._run(inputs)
        return self._read_output(np.asarray(output, np.float64), tokens)

    def _run(self, inputs: Mapping[str, Any]) -> Any:
        thread, options = threading.get_ident(), self._run_options()
        self._running[thread] = options
        try:
            return self._session.run([self._output], inputs, options)
        finally:
            del self._running[thread]

    def cancel(self, thread: int) -> None:
        """See :meth:`rag_eval.judge.Verifier.cancel`."""
        options = self._running.get(thread)
        if options is not None:
            options.terminate = True

    def _read_output(self, output: _Floats, tokens: Sequence[_Tokens]) -> list[float]:
        reading, n_rows = self._reading, len(tokens)
        if output.ndim == 1:
            output = output[:, np.newaxis]
        if output.ndim not in (2, 3) or len(output) != n_rows:
            raise InputError(
                f"the output of {self._where} has the shape {list(output.shape)} for {n_rows} "
                "pairs; expected a row of labels for each pair, or for each of its tokens"
            )
        n_labels = output.shape[-1]
        if reading.supported >= n_labels:
            raise InputError(
                f"supported is {reading.supported}, but {self._where} has {n_labels} "
                f"{'label' if n_labels == 1 else 'labels'}, counted from 0. The index of "
                '"supported" is in id2label of the config.json of the model'
            )
        probabilities = _probabilities_of(output, reading)
        if probabilities.ndim == 1:
            return cast("list[float]", probabilities.tolist())
        if reading.tokens == "first":
            return cast("list[float]", probabilities[:, 0].tolist())
        return [
            float(row[: len(one.ids)][one.is_claim].min())
            for row, one in zip(probabilities, tokens, strict=True)
        ]

    def _try_once(self) -> None:
        """Run the model on one pair, which shows whether its output can be read."""
        try:
            self.read(self.ask(self.windows(["The sky is blue."], "It is blue.")), 1)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"{self._where} cannot be run on a pair of texts: {first_line(error)}"
            ) from None


def _probabilities_of(output: _Floats, reading: _Reading) -> _Floats:
    """The probability of the supported label, of the last axis."""
    if reading.output == "logits":
        if output.shape[-1] == 1:
            output = np.exp(-np.logaddexp(0.0, -output))
        else:
            output = np.exp(output - output.max(axis=-1, keepdims=True))
            output /= output.sum(axis=-1, keepdims=True)
    return output[..., reading.supported]
