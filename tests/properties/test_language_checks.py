"""Thirty small checks in each of ten languages: what the grounded profile can and cannot do there.

No labelled rows are at hand in other languages than English. These show that its rules hold there,
not how far its scores agree with people.
"""

from __future__ import annotations

import os
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import rag_eval
from tests.docs_pages import ROOT
from tests.oracle.grounded_characters import fold
from tests.tables import every_row

FILE = Path(__file__).parents[1] / "fixtures" / "language_checks.toml"
PAGE = ROOT / "docs" / "meaning.md"
LANGUAGES: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text("utf-8"))

IDENTITY = ("faithfulness", "hallucination_rate", "context_recall", "answer_correctness")
PASSES = 0.60
CORRECT = 0.40


class Check(NamedTuple):
    tag: str
    kind: str
    given: Any


def checks_of(tag: str) -> Iterator[Check]:
    """The checks of a language; sentences that are named come as they are."""
    told = LANGUAGES[tag]
    plain: dict[str, str] = told["plain"]
    whole = " ".join(plain.values())
    for text in (plain["hours"], f"{plain['beds']} {plain['founder']}", whole):
        yield Check(tag, "identity", text)
    for kind in ("number", "counted", "names"):
        for name, *rest in told[kind]:
            yield Check(tag, kind, (plain[name], *rest))
    for kind in ("same", "unread", "negated"):
        for given in told[kind]:
            yield Check(tag, kind, given)
    for kind in ("refusals", "unrelated"):
        for answer in [told[kind]] if isinstance(told[kind], str) else told[kind]:
            yield Check(tag, kind, (answer, whole))
    for kind in ("yes_no", "opener", "sentences"):
        yield Check(tag, kind, told[kind])
    yield Check(tag, "heading", (*told["heading"], plain["hours"]))
    yield Check(tag, "lead_in", (told["lead_in"], plain["hours"]))
    yield Check(tag, "cited", plain["hours"])
    yield Check(tag, "listed", (plain["hours"], plain["beds"]))
    yield Check(tag, "language", whole)


CHECKS = [check for tag in LANGUAGES for check in checks_of(tag)]


# --------------------------------------------------------------------------------------- scoring


def claimed(tag: str, answer: str, chunk: str) -> rag_eval.MetricResult:
    """Faithfulness of an answer to one chunk."""
    sample = {"answer": answer, "contexts": [chunk], "language": tag}
    return rag_eval.evaluate(sample, ["faithfulness"], profile="grounded").metrics.faithfulness


def score_of(tag: str, answer: str, chunk: str) -> float:
    score = claimed(tag, answer, chunk).score
    assert score is not None
    return score


def changed(sentence: str, old: str, new: str) -> str:
    assert sentence.count(old) == 1, f"{old!r} is not once in {sentence!r}"
    return sentence.replace(old, new)


def ascii_digits(number: str) -> str:
    return "".join(str(unicodedata.decimal(digit)) for digit in number)


def listed(result: rag_eval.MetricResult, field: str) -> list[Any]:
    """What the evidence of all sentences lists."""
    return [one for sentence in result.evidence or () for one in getattr(sentence, field)]


# ---------------------------------------------------------------------------------------- checks


def identity(tag: str, text: str) -> None:
    sample = {"answer": text, "contexts": [text], "ground_truth": text, "language": tag}
    found = rag_eval.evaluate(sample, IDENTITY, profile="grounded").metrics
    assert [found[metric].score for metric in IDENTITY] == [1.0] * len(IDENTITY)


def number(tag: str, given: tuple[str, str, str]) -> None:
    """A wrong number lowers the score and is listed, in the digits of its language."""
    sentence, right, wrong = given
    found = claimed(tag, changed(sentence, right, wrong), sentence)
    assert found.score is not None
    assert found.score < score_of(tag, sentence, sentence) == 1.0
    assert listed(found, "missing_numbers") == [ascii_digits(wrong)]


def counted(tag: str, given: tuple[str, str, str]) -> None:
    """... and the number that stands in its place is shown."""
    number(tag, given)
    sentence, right, wrong = given
    (found,) = claimed(tag, changed(sentence, right, wrong), sentence).evidence or ()
    assert found.contradiction == (ascii_digits(wrong), ascii_digits(right))


def same(tag: str, given: tuple[str, str]) -> None:
    for answer, chunk in (given, given[::-1]):
        assert listed(claimed(tag, answer, chunk), "missing_numbers") == []


def unread(tag: str, given: tuple[str, str]) -> None:
    answer, chunk = given
    assert listed(claimed(tag, answer, chunk), "missing_numbers") != []


def names(tag: str, given: tuple[str, str, str, str]) -> None:
    """A wrong name lowers the score. Only letters with capitals show that it is a name."""
    sentence, right, wrong, name = given
    found = claimed(tag, changed(sentence, right, wrong), sentence)
    assert found.score is not None
    assert found.score < 1.0
    assert listed(found, "missing_names") == ([name] if name else [])


def negated(tag: str, given: tuple[str, str, float]) -> None:
    """A dropped negation costs what its words cost, and the row may pass."""
    text, answer, score = given
    assert round(score_of(tag, answer, text), 2) == score <= 1.0


def refusals(tag: str, given: tuple[str, str]) -> None:
    """Patterns of refusals are English: these are claims that nothing supports."""
    answer, chunk = given
    sample = {"answer": answer, "contexts": [chunk], "language": tag}
    found = rag_eval.evaluate(sample, ["faithfulness"], profile="grounded")
    assert found.refusal is None
    assert score_of(tag, answer, chunk) < PASSES


def unrelated(tag: str, given: tuple[str, str]) -> None:
    assert score_of(tag, *given) < PASSES


def yes_no(tag: str, given: tuple[str, str]) -> None:
    """A no in place of a yes counts in English alone: here the answer passes."""
    truth, answer = given
    sample = {"answer": answer, "ground_truth": truth, "language": tag}
    found = rag_eval.evaluate(sample, ["answer_correctness"], profile="grounded")
    score = found.metrics.answer_correctness.score
    assert score is not None
    assert CORRECT <= score < 1.0


def opener(tag: str, given: tuple[str, str, str]) -> None:
    """A capital after a colon may be that of any word; elsewhere it is a name's."""
    before, name, after = given
    found = claimed(tag, f"{before} {name}{after}", f"{before}{after}")
    assert listed(found, "missing_names") == []
    found = claimed(tag, f"{before.rstrip(' :：')} {name}{after}", f"{before}{after}")
    assert listed(found, "missing_names") == [name.lower()]


def sentences(tag: str, given: tuple[str, int]) -> None:
    text, n_sentences = given
    assert len(claimed(tag, text, text).evidence or ()) == n_sentences


def heading(tag: str, given: tuple[str, str, str]) -> None:
    """Its capitals are no names, but for those before a colon of another kind."""
    line, name, sentence = given
    found = listed(claimed(tag, f"- **{line}** {sentence}", sentence), "missing_names")
    assert found == ([name] if name else [])
    words = line.rstrip(" :：")
    found = listed(claimed(tag, f"{words} {sentence}", sentence), "missing_names")
    assert found[:1] == [fold(words.split()[-1])]


def lead_in(tag: str, given: tuple[str, str]) -> None:
    line, sentence = given
    found = claimed(tag, f"{line}\n{sentence}", sentence).evidence or ()
    assert [one.no_claim for one in found] == [True, False]


def cited(tag: str, sentence: str) -> None:
    """A label that the chunk begins with is kept, as a sentence that claims nothing."""
    found = claimed(tag, f"{sentence} [2]", f"[2] {sentence}")
    assert found.score == 1.0
    assert [one.no_claim for one in found.evidence or ()] == [False, True]
    assert score_of(tag, f"{sentence} [2]", sentence) == 1.0


def listed_lines(tag: str, given: tuple[str, str]) -> None:
    first, second = given
    assert score_of(tag, f"- **{first}**\n- {second}", f"{first} {second}") == 1.0


KINDS: dict[str, Callable[[str, Any], None]] = {
    one.__name__: one
    for one in (
        *(identity, number, counted, same, unread, names, negated, refusals, unrelated, yes_no),
        *(opener, heading, sentences, lead_in, cited),
    )
} | {"listed": listed_lines}


@every_row("check", CHECKS, ids=lambda check: f"{check.tag} {check.kind} {check.given!r:.70}")
def test_check(check: Check) -> None:
    if check.kind == "language":
        sample = {"answer": check.given, "contexts": [check.given]}
        found = rag_eval.evaluate(sample, ["faithfulness"], profile="grounded")
        assert found.language == LANGUAGES[check.tag].get("detected", check.tag)
    else:
        KINDS[check.kind](check.tag, check.given)


def test_there_are_thirty_checks_to_each_language() -> None:
    assert Counter(check.tag for check in CHECKS) == dict.fromkeys(LANGUAGES, 30)
    assert len(LANGUAGES) == 10
    assert len({(check.tag, check.kind, str(check.given)) for check in CHECKS}) == len(CHECKS)


# ------------------------------------------------------------------------------------------ page


def span(scores: list[float]) -> str:
    low, high = (f"{score:.2f}" for score in (min(scores), max(scores)))
    return low if low == high else f"{low} to {high}"


def table() -> str:
    """What the checks of each language show, scores anew."""
    rows = ["| language | a wrong number | a wrong name | listed as a name | a dropped negation |"]
    rows += ["|---|---|---|---|---|"]
    for tag, told in LANGUAGES.items():
        plain = told["plain"]
        numbers, wrong_names = (
            [
                claimed(tag, changed(plain[name], right, wrong), plain[name])
                for name, right, wrong, *_ in told[kind]
            ]
            for kind in ("number", "names")
        )
        shown = sum(bool(listed(found, "missing_names")) for found in wrong_names)
        scores = [
            span([found.score or 0.0 for found in results]) for results in (numbers, wrong_names)
        ]
        dropped = span([score_of(tag, answer, text) for text, answer, _ in told["negated"]])
        cells = [told["name"], *scores, f"{shown} of {len(wrong_names)}", dropped]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def test_the_page_says_what_other_languages_lack() -> None:
    marked = re.compile(r"(?<=<!-- languages -->\n).*?(?=<!-- /languages -->)", re.DOTALL)
    page = PAGE.read_text("utf-8")
    if os.environ.get("RAG_EVAL_UPDATE_DOCS"):
        PAGE.write_text(marked.sub(lambda _: table(), page), "utf-8")
        return
    assert marked.findall(page) == [table()], "run this test with RAG_EVAL_UPDATE_DOCS=1"
