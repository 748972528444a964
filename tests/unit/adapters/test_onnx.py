"""Verifiers from ONNX models: what they read, what they say, and what is refused."""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import rag_eval
from rag_eval.adapters import create_onnx_verifier
from rag_eval.adapters.onnx_files import read_folder
from rag_eval.errors import InputError, MissingExtraError
from rag_eval.judge.failures import JudgeFailure
from rag_eval.samples import NullReason
from tests.onnx_models import external, field, node, number, tensor, write_verifier
from tests.tables import every_row

FILLER = [f"w{n}" for n in range(60)]
WORDS = " ".join([*FILLER, "alice bob won lost the race . it is blue sky"])
SMALL = {"supported": 1, "max_tokens": 24, "overlap": 6, "threads": 1}


def made(folder: Path, **settings: Any) -> Path:
    return write_verifier(folder / "model", WORDS, **{**SMALL, **settings})


def probabilities(folder: Path, premises: list[str], claim: str, **settings: Any) -> list[float]:
    verifier = create_onnx_verifier(folder, **settings)
    return verifier.ask(verifier.windows(premises, claim))


# ------------------------------------------------------------------------------------- outputs


@every_row(("output", "supported"), [("labels", 1), ("tokens", 1), ("single", 0), ("flat", 0)])
def test_outputs_of_all_forms_are_read(output: Any, supported: int, tmp_path: Path) -> None:
    folder = made(tmp_path, output=output, supported=supported)
    texts = ["Bob lost.", "Alice won the race."]
    right, wrong = [probabilities(folder, texts, c) for c in ("alice won", "bob won")]
    assert (right[0] < 0.2, right[1] > 0.8) == (True, True)
    assert max(wrong) < 0.2
    if output in ("labels", "tokens"):
        (other,) = probabilities(folder, ["alice won"], "alice won", supported=0)
        assert other < 0.2


def test_logits_become_probabilities_by_the_formulas(tmp_path: Path) -> None:
    # Its logits are -2 and 2 where no word is missing.
    folder = made(tmp_path)
    (found,) = probabilities(folder, ["alice won"], "alice won")
    assert found == pytest.approx(1 / (1 + np.exp(-4.0)), abs=1e-6)
    single = write_verifier(tmp_path / "one", WORDS, output="single", **{**SMALL, "supported": 0})
    (found,) = probabilities(single, ["alice won"], "alice won")
    assert found == pytest.approx(1 / (1 + np.exp(-2.0)), abs=1e-6)


def test_probabilities_of_the_model_are_taken_as_they_are_and_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be run .* returned .*; expected a probability"):
        create_onnx_verifier(made(tmp_path), output="probabilities")


# ------------------------------------------------------------------------------------- windows


def test_a_long_context_is_read_in_windows_that_overlap_and_leave_nothing_out(
    tmp_path: Path,
) -> None:
    verifier = create_onnx_verifier(made(tmp_path))
    long = " ".join([*FILLER, "alice won", *FILLER[:9]])
    windows = verifier.windows(["the sky", long], "alice won")
    assert [window.chunk for window in windows] == [0] + [1] * (len(windows) - 1)
    assert windows[0].span is None
    spans = [window.span for window in windows[1:]]
    texts = [long[begin:end].split() for begin, end in spans]
    assert texts[0][0] == "w0"
    assert texts[-1][-1] == "w8"
    for left, right in itertools.pairwise(texts):
        assert left[-6:] == right[:6]
    # Context, claim and three marks fill what the model reads.
    assert {len(words) for words in texts[:-1]} == {24 - 3 - 2}
    assert max(len(window.tokens.ids) for window in windows) == 24
    found = verifier.ask(windows)
    assert [place for place, one in enumerate(found) if one > 0.5] == [
        place + 1 for place, words in enumerate(texts) if {"alice", "won"} <= set(words)
    ]


def test_the_window_that_supports_a_claim_most_is_the_rows_evidence(tmp_path: Path) -> None:
    long = " ".join([*FILLER, "alice won .", *FILLER[:9]])
    sample = {"answer": "Alice won. Bob won.", "contexts": ["The sky is blue.", long]}
    result = rag_eval.evaluate(sample, ["faithfulness"], mode="llm", verifier=made(tmp_path))
    found = result.metrics.faithfulness
    assert (found.score, found.mode) == (0.5, "verifier")
    assert found.judged is not None
    supported, unsupported = found.judged.details
    begin, end = supported["window"]
    assert "alice won ." in long[begin:end]
    assert (supported["chunk"], supported["verdict"]) == (1, "supported")
    assert unsupported["verdict"] == "unsupported"
    judges = result.signature.options["verifier"]
    assert judges["provider"] == "onnx"
    assert judges["parameters"].keys() >= {"digest", "supported", "max_tokens", "overlap"}


def test_a_claim_is_never_cut(tmp_path: Path) -> None:
    verifier = create_onnx_verifier(made(tmp_path))
    most = 24 - 3 - 24 // 4
    verifier.windows(["w1"], " ".join(FILLER[:most]))
    with pytest.raises(JudgeFailure, match=rf"has {most + 1} tokens, .* at most {most} of its 24"):
        verifier.windows(["w1"], " ".join(FILLER[: most + 1]))
    sample = {"answer": " ".join(FILLER), "contexts": ["w1 w2"]}
    result = rag_eval.evaluate(sample, ["faithfulness"], mode="llm", judge=verifier)
    assert result.metrics.faithfulness.null_reason == NullReason.JUDGE_FAILED
    assert "has 60 tokens" in result.metrics.faithfulness.explanation


def test_contexts_without_end_are_a_null(tmp_path: Path) -> None:
    verifier = create_onnx_verifier(made(tmp_path))
    with pytest.raises(JudgeFailure, match=r"windows of 24 tokens; the verifier reads .* 1,024"):
        verifier.windows(["w1 " * 14_000], "alice won")


def test_lone_surrogates_and_empty_contexts_are_read(tmp_path: Path) -> None:
    found = probabilities(made(tmp_path), ["", " ", "alice \ud800 won"], "alice won")
    assert [one > 0.5 for one in found] == [True]


def test_a_batch_gives_what_each_pair_gives_alone(tmp_path: Path) -> None:
    verifier = create_onnx_verifier(made(tmp_path))
    pairs = [("alice won the race .", "alice won"), ("w1", "bob lost the race"), ("it is", "sky")]
    windows = [window for text, claim in pairs for window in verifier.windows([text], claim)]
    alone = [verifier.ask([window])[0] for window in windows]
    np.testing.assert_allclose(verifier.ask(windows), alone, atol=1e-6)


def test_padding_is_marked_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = create_onnx_verifier(made(tmp_path))
    given: list[dict[str, Any]] = []

    class Session:
        """The model, and what it is given."""

        run_model = verifier._session.run

        def run(self, outputs: list[str], inputs: dict[str, Any], options: Any) -> Any:
            given.append(inputs)
            return type(self).run_model(outputs, inputs, options)

    monkeypatch.setattr(verifier, "_session", Session())
    verifier.ask([*verifier.windows(["w1 w2 w3"], "w4 w5"), *verifier.windows(["w1"], "w2")])
    (inputs,) = given
    assert {str(values.dtype) for values in inputs.values()} == {"int64"}
    assert inputs["attention_mask"].tolist() == [[1] * 8, [1] * 5 + [0] * 3]
    assert inputs["token_type_ids"].tolist() == [[0] * 5 + [1] * 3, [0] * 3 + [1] * 2 + [0] * 3]
    assert inputs["input_ids"][1, 5:].tolist() == [0] * 3


def test_a_call_that_nobody_waits_for_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ended while the model ran was aborted."""
    verifier = create_onnx_verifier(made(tmp_path))
    run_model = verifier._session.run

    class Session:
        def run(self, *arguments: Any) -> Any:
            verifier.cancel(threading.get_ident())
            return run_model(*arguments)

    windows = verifier.windows(["w1"], "w2")
    verifier.cancel(threading.get_ident())  # nothing runs yet
    before = verifier.ask(windows)
    with monkeypatch.context() as changed:
        changed.setattr(verifier, "_session", Session())
        with pytest.raises(Exception, match="terminate flag"):
            verifier.ask(windows)
    assert verifier.ask(windows) == before


def test_rows_share_batches_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = create_onnx_verifier(made(tmp_path), batch_size=4)
    sizes: list[int] = []
    ask = verifier.ask
    monkeypatch.setattr(verifier, "ask", lambda found: sizes.append(len(found)) or ask(found))
    rows = [
        {"answer": f"w{n} won.", "contexts": [f"w{n} won .", " ".join(FILLER)]} for n in range(12)
    ]
    batch = rag_eval.evaluate_batch(rows, ["faithfulness"], mode="llm", judge=verifier)
    assert batch.aggregates.faithfulness.mean == 1.0
    assert max(sizes) == 4
    assert sum(sizes) == 12 * 6
    assert len(sizes) <= 24


@every_row(
    ("prompt", "said"),
    [
        ("w1 $premise w2 $claim w3", None),
        ("$premise$claim", None),
        ("w1 ${premise} w2 ${claim}", None),
        ("$claim $premise", "once each and in this order"),
        ("$premise", "once each and in this order"),
        ("$premise $claim $claim", "once each and in this order"),
        ("$premise $claim $$", "once each and in this order"),
        ("$premise $other $claim", "once each and in this order"),
    ],
)
def test_a_prompt_stands_around_both_texts(prompt: str, said: str | None, tmp_path: Path) -> None:
    folder = made(tmp_path)
    if said is not None:
        with pytest.raises(InputError, match=said):
            create_onnx_verifier(folder, prompt=prompt)
        return
    verifier = create_onnx_verifier(folder, prompt=prompt)
    (window,) = verifier.windows(["alice won"], "bob")
    words = {number: word for word, number in _vocabulary(folder).items()}
    read = " ".join(words[number] for number in window.tokens.ids)
    filled = prompt.replace("{", "").replace("}", "")
    filled = filled.replace("$premise", " alice won ").replace("$claim", " bob ")
    assert read == " ".join(filled.split())
    assert [words[n] for n in window.tokens.ids[window.tokens.is_claim]] == ["bob"]


def _vocabulary(folder: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    return found


# ------------------------------------------------------------------------------------ identity


def test_the_identity_changes_with_whatever_can_change_a_probability(tmp_path: Path) -> None:
    folder = made(tmp_path, weights_at="weights.bin")
    whole = create_onnx_verifier(folder).identity

    def changed(change: Callable[[], object] = lambda: None, **settings: Any) -> bool:
        before = {path: path.read_bytes() for path in folder.iterdir()}
        change()
        found = create_onnx_verifier(folder, **settings).identity
        for path, content in before.items():
            path.write_bytes(content)
        return found != whole

    assert not changed()
    assert not changed(threads=2, batch_size=2, threshold=0.6, cost_per_claim=0.1)
    for settings in (
        {"supported": 0},
        {"max_tokens": 30},
        {"overlap": 3},
        {"tokens": "first"},
        {"prompt": "$premise $claim"},
        {"version": "2"},
    ):
        assert changed(**settings), settings
    weights = folder / "weights.bin"
    other = weights.read_bytes()[:-4] + b"\0\0\0\0"
    assert changed(lambda: weights.write_bytes(other))
    text = folder / "tokenizer.json"
    assert changed(lambda: text.write_text(text.read_text() + " "))


# ------------------------------------------------------------------------------- what is refused


@every_row(
    ("change", "settings", "said"),
    [
        (lambda f: (f / "model.onnx").unlink(), {}, r"has no model.onnx: export the model"),
        (lambda f: (f / "tokenizer.json").unlink(), {}, r"has no tokenizer.json: it comes with"),
        (lambda f: (f / "verifier.toml").unlink(), {}, r"the index of the label that means"),
        (lambda f: None, {"supported": 2}, r"supported is 2, but .* has 2 labels, counted from 0"),
        (lambda f: None, {"supported": "yes"}, "supported must be a whole number"),
        (lambda f: None, {"suported": 1}, r"no setting 'suported'.*supported"),
        (lambda f: None, {"max_tokens": 8}, "max_tokens must be from 16 to 32,768, got 8"),
        (lambda f: None, {"batch_size": 5000}, "batch_size must be from 1 to 1,024, got 5000"),
        (lambda f: None, {"output": "odds"}, "output"),
        (lambda f: None, {"tokens": "all"}, "tokens"),
        (lambda f: None, {"name": 5}, "name must be a string"),
        (lambda f: (f / "verifier.toml").write_text("a = "), {}, "verifier.toml is not TOML"),
        (lambda f: (f / "verifier.toml").write_text("speed = 1"), {}, "verifier.toml: a verifier"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), {}, "tokenizer.json is no tokenizer"),
        (lambda f: (f / "tokenizer.json").write_bytes(b"\xff"), {}, "tokenizer.json is not UTF-8"),
        (lambda f: (f / "model.onnx").write_bytes(b""), {}, "model.onnx is empty"),
        (
            lambda f: (f / "model.onnx").write_bytes(b"no model"),
            {},
            "is damaged, or not an",
        ),
        (
            lambda f: (f / "model.onnx").write_bytes(field(7, b"")),
            {},
            "cannot be loaded",
        ),
        (
            lambda f: write_verifier(f, WORDS, output="scalar"),
            {},
            r"the shape \[\] for 1 pairs",
        ),
        (lambda f: write_verifier(f, WORDS, output="refusing"), {}, "operators of other libraries"),
        (lambda f: os.truncate(f / "tokenizer.json", 1 << 28), {}, "is larger than 134,217,728"),
        (lambda f: os.truncate(f / "verifier.toml", 1 << 17), {}, "is larger than 65,536 bytes"),
    ],
)
def test_a_folder_that_cannot_be_used_says_why(
    change: Callable[[Path], object], settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    folder = made(tmp_path)
    change(folder)
    with pytest.raises(InputError, match=said):
        create_onnx_verifier(folder, **settings)


def test_a_model_of_other_inputs_is_refused(tmp_path: Path) -> None:
    folder = made(tmp_path)
    content = (folder / "model.onnx").read_bytes()
    for old, new, said in (
        (b"token_type_ids", b"decoder_inputs", "wants the input 'decoder_inputs'"),
        (b"input_ids", b"inputs_of", "wants the input 'inputs_of'"),
    ):
        (folder / "model.onnx").write_bytes(content.replace(old, new))
        with pytest.raises(InputError, match=f"{said}; a verifier takes input_ids"):
            create_onnx_verifier(folder)


def test_paths_that_are_no_folder_and_missing_packages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, said in ((tmp_path / "no", "does not exist"), (Path(__file__), "is a file")):
        with pytest.raises(InputError, match=f"{said}. Name a folder with model.onnx"):
            create_onnx_verifier(path)
    folder = made(tmp_path)
    for name in ("onnxruntime", "tokenizers"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, name, None)
            with pytest.raises(MissingExtraError, match=rf"{name}: pip install .*\[verifier\]"):
                create_onnx_verifier(folder)


@every_row(
    ("place", "said"),
    [
        ("/etc/passwd", "outside its folder"),
        ("../weights.bin", "outside its folder"),
        ("inner/../../weights.bin", "outside its folder"),
        ("link.bin", "outside its folder"),
        ("missing.bin", "which does not exist"),
        (".", "which does not exist"),
        ("*/_ORT_MEM_ADDR_/*", "which is no file"),
        ("", "which is no file"),
        ("a\0b", "which is no file"),
    ],
)
@pytest.mark.parametrize("nest", ["initializer", "attribute", "subgraph", "sparse", "function"])
def test_weights_are_read_from_inside_the_folder_alone(
    place: str, said: str, nest: str, tmp_path: Path
) -> None:
    folder = made(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"0" * 64)
    if not (folder / "link.bin").is_symlink():
        (folder / "link.bin").symlink_to(tmp_path / "weights.bin")
    weights = number(2, 1) + number(14, 1) + external({"length": "4", "location": place})
    held = {
        "initializer": field(7, field(5, weights)),
        "attribute": field(7, field(1, field(5, field(5, weights)))),
        "subgraph": field(7, field(1, field(5, field(6, field(5, weights))))),
        "sparse": field(7, field(15, field(1, weights))),
        "function": field(25, field(7, field(5, field(10, weights)))),
    }
    model = folder / "model.onnx"
    model.write_bytes(model.read_bytes() + held[nest])
    with pytest.raises(InputError, match=said):
        create_onnx_verifier(folder)


def test_a_model_that_is_a_link_has_its_weights_beside_what_it_leads_to(tmp_path: Path) -> None:
    """As in the caches of downloads, where every file is a link."""
    folder = made(tmp_path, weights_at="weights.bin")
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in ("model.onnx", "weights.bin"):
        (folder / name).rename(cache / name)
        (folder / name).symlink_to(cache / name)
    assert probabilities(folder, ["alice won"], "alice won")[0] > 0.5


def test_damage_of_any_kind_is_an_error_or_is_read(tmp_path: Path) -> None:
    folder = made(tmp_path, weights_at="weights.bin")
    whole, draw, n_refused = (folder / "model.onnx").read_bytes(), Random(5), 0
    for _ in range(400):
        content = bytearray(whole[: draw.randrange(1, len(whole) + 1)])
        for _ in range(draw.randrange(4)):
            content[draw.randrange(len(content))] = draw.randrange(256)
        (folder / "model.onnx").write_bytes(content)
        try:
            read_folder(folder)
        except InputError:
            n_refused += 1
    assert n_refused > 200


def test_messages_nested_without_end_are_refused(tmp_path: Path) -> None:
    folder = made(tmp_path)
    graph = field(5, tensor("a", np.zeros(1, np.float32)))
    for _ in range(60):
        graph = field(1, field(5, field(6, graph)) + node("If", [], "a"))
    (folder / "model.onnx").write_bytes(field(7, graph))
    with pytest.raises(InputError, match="damaged, or not an ONNX model"):
        create_onnx_verifier(folder)
