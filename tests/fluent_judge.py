"""A scripted judge that understands every prompt of the library and replies in the wanted form.

::

    judge = FluentJudge()                   # verdicts by the words judged, the same in every run
    judge = FluentJudge(lambda text: 1.0)   # all is well; 0.0: nothing is
    judge(prompt)                           # the reply; also a script of tests.judge_servers
    read_prompt(prompt)                     # its step, the texts in its fences, its mark

How good a text is, from 0 to 1, is asked of one function; it becomes the label or the rating that a
step wants. Steps of scorers of other tools are answered as they are imagined.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final, TypeAlias

import msgspec

from rag_eval.judge.steps import Step, Template, load_template
from tests.judging import mark_of

Goodness: TypeAlias = Callable[[str], float]

_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]*")
_SUPPORT: Final = ("contradicted", "unsupported", "partial", "supported")
_MATCH: Final = ("contradicted", "no", "yes")
_FACTUAL: Final = ("contradicted", "unverifiable", "supported")
_ANSWERING: Final = ("no", "partly", "yes")
_YES_NO: Final = ("no", "yes")
_N_RATINGS: Final = 5


def by_words(text: str) -> float:
    """A goodness that looks arbitrary and depends on nothing but the text."""
    return hashlib.blake2b(text.encode(), digest_size=1).digest()[0] / 255


@dataclass(frozen=True)
class ReadPrompt:
    """What a prompt asks; ``key`` is the same for the same question under another mark."""

    step: str
    fields: dict[str, Any]
    mark: str

    @property
    def key(self) -> str:
        return json.dumps([self.step, self.fields], sort_keys=True)

    def texts(self, name: str) -> list[str]:
        found = self.fields[name]
        return [found] if isinstance(found, str) else list(found)


def read_prompt(prompt: str) -> ReadPrompt:
    """A prompt of the library, taken apart."""
    mark = mark_of(prompt)
    for template, pattern in _patterns():
        if template.reply_form not in prompt:
            continue
        match = pattern.match(prompt)
        if match:
            fields = {name: _unfenced(text, mark) for name, text in match.groupdict().items()}
            return ReadPrompt(template.name, fields, mark)
    raise AssertionError(f"no template of the library begins like this: {prompt[:80]!r}")


@cache
def _patterns() -> list[tuple[Template, re.Pattern[str]]]:
    return [(template, _pattern(template)) for template in _templates()]


def _templates() -> list[Template]:
    folder = resources.files("rag_eval.judge") / "prompts"
    names = [file.name for file in folder.iterdir() if file.name.endswith(".md")]
    for inner in ("rating", "omk", "mastra", "regtrace"):
        names += [f"{inner}/{file.name}" for file in (folder / inner).iterdir()]
    return [load_template(name.removesuffix(".md")) for name in sorted(names)]


def _pattern(template: Template) -> re.Pattern[str]:
    """The body with a group for each variable; one that comes twice is read the first time."""
    parts, seen = [re.escape(load_template("shared/material").body + "\n\n")], set()
    for text, name in template.pieces:
        parts.append(re.escape(text))
        if name:
            parts.append("(?:.*?)" if name in seen else f"(?P<{name}>.*?)")
            seen.add(name)
    return re.compile(
        "".join(parts) + r"\n\n(?:Length is no merit|The reply has this form)", re.DOTALL
    )


def _unfenced(text: str, mark: str) -> str | list[str] | int | float:
    """The texts between fences: one, a list of numbered ones, or a number without any."""
    if text.startswith("[[no "):
        return []
    fence = rf"\[\[begin ([a-z ]+?)( \d+)? {mark}\]\]\n(.*?)\n(?=\[\[[a-z 0-9]+ {mark}\]\])"
    found = re.findall(fence, text, re.DOTALL)
    if not found:
        return json.loads(text)  # type: ignore[no-any-return]
    texts = [one[2] for one in found]
    return texts if found[0][1] else texts[0]


@dataclass
class FluentJudge:
    """A judge of any thread; ``steps`` counts what it was asked."""

    goodness: Goodness = by_words
    judge_name: str = "fluent"
    steps: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def n_calls(self) -> int:
        return sum(self.steps.values())

    def __call__(self, prompt: str) -> str:
        asked = read_prompt(prompt)
        with self._lock:
            self.steps[asked.step] += 1
        return json.dumps({"mark": asked.mark, **self.reply(asked)})

    def reply(self, asked: ReadPrompt) -> dict[str, Any]:
        """The keys of a reply, without the mark."""
        if asked.step.startswith("mastra/"):
            value = _imagined_steps()[asked.step].imagine(asked.fields)
            return dict(msgspec.to_builtins(value))
        if asked.step.startswith(("rating/", "omk/")):
            answer = " ".join(asked.texts(next(reversed(asked.fields))))
            return {"reason": "it is so", "rating": 1 + self._level(answer, _N_RATINGS)}
        replies = {
            "regtrace/factuality_claims": self._claims_of_answer,
            "regtrace/factuality_verdicts": self._factual,
            "regtrace/tone": self._toned,
            "extract_claims": self._claims,
            "verify_claims": self._support,
            "answer_statements": self._statements,
            "useful_chunks": self._chunks,
            "relevant_chunks": self._chunks,
            "match_claims": self._matches,
        }
        return replies[asked.step](asked)

    def _claims(self, asked: ReadPrompt) -> dict[str, Any]:
        return {"claims": sentences_in(" ".join(asked.texts("text")))}

    def _claims_of_answer(self, asked: ReadPrompt) -> dict[str, Any]:
        return {"claims": sentences_in(" ".join(asked.texts("answer")))}

    def _factual(self, asked: ReadPrompt) -> dict[str, Any]:
        verdicts = [
            {"claim": n, "reason": "so", "verdict": self._label(text, _FACTUAL)}
            for n, text in enumerate(asked.texts("claim"))
        ]
        return {"verdicts": verdicts, "confidence": 0.75}

    def _toned(self, asked: ReadPrompt) -> dict[str, Any]:
        rating = 1 + self._level(" ".join(asked.texts("answer")), _N_RATINGS)
        ratings = [
            {"dimension": n, "reason": "so", "rating": rating}
            for n, _ in enumerate(asked.texts("dimension"))
        ]
        return {"ratings": ratings, "confidence": 0.75}

    def _support(self, asked: ReadPrompt) -> dict[str, Any]:
        return {
            "verdicts": [
                {"claim": n, "reason": "so", "chunk": 0, "verdict": self._label(text, _SUPPORT)}
                for n, text in enumerate(asked.texts("claim"))
            ]
        }

    def _statements(self, asked: ReadPrompt) -> dict[str, Any]:
        return {
            "refusal": False,
            "statements": [
                {"statement": text, "reason": "so", "verdict": self._label(text, _ANSWERING)}
                for text in sentences_in(" ".join(asked.texts("answer")))
            ],
        }

    def _chunks(self, asked: ReadPrompt) -> dict[str, Any]:
        return {
            "verdicts": [
                {"chunk": n, "reason": "so", "verdict": self._label(text, _YES_NO)}
                for n, text in enumerate(asked.texts("chunk"))
            ]
        }

    def _matches(self, asked: ReadPrompt) -> dict[str, Any]:
        def verdicts(name: str, labels: tuple[str, ...]) -> list[dict[str, Any]]:
            return [
                {"claim": n, "reason": "so", "verdict": self._label(text, labels)}
                for n, text in enumerate(asked.texts(name))
            ]

        return {
            "answer_claims": verdicts("answer_claim", _MATCH),
            "ground_truth_claims": verdicts("ground_truth_claim", _YES_NO),
        }

    def _label(self, text: str, labels: tuple[str, ...]) -> str:
        """One of the labels, which stand from the worst to the best."""
        return labels[self._level(text, len(labels))]

    def _level(self, text: str, n_levels: int) -> int:
        return min(int(self.goodness(text) * n_levels), n_levels - 1)


def sentences_in(text: str) -> list[str]:
    """The sentences of a text."""
    return [found.strip() for found in _SENTENCE.findall(text) if re.search(r"\w", found)]


@cache
def _imagined_steps() -> dict[str, Step[Any]]:
    from rag_eval.scorers.mastra import MASTRA_SCORERS

    return {step.name: step for spec in MASTRA_SCORERS.values() for step in spec.steps}
