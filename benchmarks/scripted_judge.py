"""A judge that knows the labels: a prompt for a rating in, the highest or the lowest rating out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from rag_eval.judge.fencing import neutral

Texts: TypeAlias = frozenset[tuple[str, str]]
"""The texts of a sample as a judge reads them, each under the label of its fence."""

_MARK: Final = re.compile(r'"mark" with the value "(\w+)"')
_FENCED: Final = r"\[\[begin ([a-z 0-9]+) {mark}\]\]\n(.*?)\n(?=\[\[[a-z 0-9]+ {mark}\]\])"


class ScriptedJudge:
    """Says what people said of a sample, in a given share of the samples, and else the opposite.

    Which samples these are is drawn by their numbers: a judge that is right more often is right
    wherever one that is right less often is. Its replies are those of ``judge_style="rating"``.

    Parameters
    ----------
    samples : sequence of dict
        No two with the same texts.
    good : sequence of bool
        What people said of each.
    right : float
        Probability that the judge says the same.
    seed : int

    Attributes
    ----------
    verdicts : bool, shape (samples,)
        What it says of each sample when it is asked.
    asked : set of int
        The samples it was asked about.
    """

    def __init__(
        self, samples: Sequence[Mapping[str, Any]], good: Sequence[bool], right: float, seed: int
    ) -> None:
        self.judge_name = f"right in {right:.0%}"
        labels = np.asarray(good, bool)
        is_right = np.random.default_rng(seed).random(len(labels)) < right
        self.verdicts = np.where(is_right, labels, ~labels)
        self.asked: set[int] = set()
        self._numbers = {texts_of(sample): number for number, sample in enumerate(samples)}
        if len(self._numbers) < len(samples):
            raise ValueError("two samples have the same texts: the judge could not tell them apart")

    async def __call__(self, prompt: str) -> str:
        mark = _MARK.findall(prompt)[-1]
        number = self._numbers[_read(re.findall(_FENCED.format(mark=mark), prompt, re.DOTALL))]
        self.asked.add(number)
        rating = 5 if self.verdicts[number] else 1
        return json.dumps({"mark": mark, "reason": "People said so.", "rating": rating})


def texts_of(sample: Mapping[str, Any]) -> Texts:
    """What a judge of faithfulness or of correctness reads of a sample."""
    lists = (("chunk", sample.get("contexts")), ("ground truth", sample.get("ground_truth")))
    texts = [(name, str(sample.get(name) or "")) for name in ("question", "answer")]
    for label, found in lists:
        texts += [(f"{label} {number}", text) for number, text in enumerate(found or ())]
    return _read((label, neutral(text)) for label, text in texts)


def _read(texts: Iterable[tuple[str, str]]) -> Texts:
    # A text without a word is no text to some metrics, and is left out of their prompts.
    return frozenset((label, text) for label, text in texts if any(map(str.isalnum, text)))
