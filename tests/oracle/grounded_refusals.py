"""English texts that say nothing in the `grounded` profile: the source is silent, nobody knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.oracle.grounded_lists import ROLES
from tests.oracle.grounded_words import Reading

CLAIM, NOTHING, APOLOGY = "claim", "nothing", "apology"

LONGEST_APOLOGY = 5  # words
PHRASE_BEGINS = 12  # a phrase about oneself begins among so many first words

# Who cannot.
UNABLE = tuple(
    tuple(phrase.split())
    for phrase in (
        "i can not",
        "i cannot",
        "i could not",
        *(f"i {am} {able} to" for am in ("am", "m", "was") for able in ("unable", "not able")),
    )
)


def only_refuses(text: Reading) -> bool:
    """No sentence claims anything, and one says nothing; labels of citations aside."""
    if text.language != "en":
        return False
    kinds = [
        kind_of(text.norms[sentence.first : sentence.last])
        for sentence in text.text.sentences
        if not sentence.is_label
    ]
    return NOTHING in kinds and CLAIM not in kinds


def declines(text: Reading) -> bool:
    """It only refuses, or its first sentence does."""
    if text.language != "en" or not text.text.sentences:
        return False
    first = text.text.sentences[0]
    return kind_of(text.norms[first.first : first.last]) == NOTHING or only_refuses(text)


def kind_of(words: Sequence[str]) -> str:
    """What a sentence does; a clause that does neither of the others makes it a claim."""
    if is_a(words[0], "concedes"):
        return CLAIM
    kinds = [_kind_of_clause(clause) for clause in _clauses(words)]
    if CLAIM in kinds:
        return CLAIM
    return NOTHING if NOTHING in kinds else APOLOGY


def _clauses(words: Sequence[str]) -> Iterator[list[str]]:
    clause: list[str] = []
    for word in words:
        if not is_a(word, "turns"):
            clause.append(word)
        elif clause:
            yield clause
            clause = []
    if clause:
        yield clause


def _kind_of_clause(clause: list[str]) -> str:
    if says_nothing(clause):
        return NOTHING
    sorry = len(clause) <= LONGEST_APOLOGY and any_is(clause, "apology")
    return APOLOGY if sorry else CLAIM


def is_a(word: str, *roles: str) -> bool:
    return any(word in ROLES[role] for role in roles)


def any_is(words: Sequence[str], *roles: str) -> bool:
    return any(is_a(word, *roles) for word in words)


def says_nothing(clause: Sequence[str]) -> bool:
    negations = [
        i
        for i, word in enumerate(clause)
        if is_a(word, "not") and not (word == "not" and clause[i + 1 : i + 2] == ["to"])
    ]
    rules = (_source_is_silent, _no_information, _no_mention, _not_told_in_source)
    return any(rule(clause, i) for i in negations for rule in rules) or _does_not_know(clause)


def _sources(clause: Sequence[str], negation: int) -> list[int]:
    """Words for the source among the four before a negation."""
    around = range(max(0, negation - 4), negation)
    return [i for i in around if is_a(clause[i], "retrieved", "source")]


def _source_is_silent(clause: Sequence[str], negation: int) -> bool:
    """ "The passages do not say", "the text does not contain this information"."""
    for source in _sources(clause, negation):
        beside = [*clause[max(0, source - 1) : source], *clause[source + 1 : source + 2]]
        sure = is_a(clause[source], "retrieved", "information") or any_is(beside, "given")
        for verb in range(negation + 1, min(negation + 4, len(clause))):
            if is_a(clause[verb], "tells"):
                return True
            of_things = sure or any_is(clause[verb + 1 : verb + 5], "things")
            if is_a(clause[verb], "holds") and of_things:
                return True
    return False


def _is_held(clause: Sequence[str], negation: int) -> bool:
    """ "There is no", "the passages contain no"."""
    before = clause[negation - 1] if negation else ""
    return is_a(before, "exists") or (is_a(before, "offers") and _sources(clause, negation) != [])


def _no_information(clause: Sequence[str], negation: int) -> bool:
    """ "There is no information about it", "no information is given"."""
    held = _is_held(clause, negation) or (negation == 0 and clause[0] == "no")
    for at in range(negation + 1, min(negation + 5, len(clause))):
        if clause[at] != "information":
            continue
        if not held and not any_is(clause[negation + 1 : at], "exists"):
            continue
        after = clause[at + 1 : at + 3]
        if not after or is_a(after[0], "after_information"):
            return True
        if after[0] in ("is", "was") and any_is(after[1:], "tells", "holds"):
            return True
    return False


def _no_mention(clause: Sequence[str], negation: int) -> bool:
    """ "There is no mention of it"."""
    return _is_held(clause, negation) and "mention" in clause[negation + 1 : negation + 3]


def _not_told_in_source(clause: Sequence[str], negation: int) -> bool:
    """ "It is not stated in the text"."""
    told = any_is(clause[negation + 1 : negation + 2], "tells", "handed")
    return told and any_is(clause[negation + 2 : negation + 8], "retrieved", "source")


def _does_not_know(clause: Sequence[str]) -> bool:
    """ "I don't know", "I cannot find it"; also where a few words come first."""
    if _after(clause, ("i", "do", "not", "know")) or _after(clause, ("unable", "to", "answer")):
        return True
    have_not = _after(clause, ("i", "do", "not", "have"))
    if have_not and any_is(clause[have_not : have_not + 4], "knowledge"):
        return True
    cannot = [_after(clause, phrase) for phrase in UNABLE]
    return any(at and any_is(clause[at : at + 2], "act") for at in cannot)


def _after(clause: Sequence[str], phrase: tuple[str, ...]) -> int:
    """Past the first place of a phrase; 0 where it is not."""
    for at in range(PHRASE_BEGINS):
        if tuple(clause[at : at + len(phrase)]) == phrase:
            return at + len(phrase)
    return 0
