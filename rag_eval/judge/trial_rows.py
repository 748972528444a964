"""A dozen rows whose verdicts are known, to try a judge with: half of the answers are supported."""

from __future__ import annotations

from typing import Final, NamedTuple


class TrialRow(NamedTuple):
    """One question with two answers of the same truth, a short one and a long one.

    Attributes
    ----------
    name, question, answer : str
    long_answer : str
        Says the same at greater length.
    contexts : tuple of str
        Three; one of them decides.
    is_supported : bool
        Whether the contexts support the answers.
    """

    name: str
    question: str
    answer: str
    long_answer: str
    contexts: tuple[str, str, str]
    is_supported: bool

    def sample(self, *, reverse: bool = False, long: bool = False) -> dict[str, object]:
        """The row as a sample."""
        return {
            "id": self.name,
            "question": self.question,
            "answer": self.long_answer if long else self.answer,
            "contexts": list(self.contexts[::-1] if reverse else self.contexts),
        }


_LIGHTHOUSE: Final = (
    "The Orlan lighthouse was lit for the first time on 3 May 1911.",
    "The harbour of Orlan has two piers, which were built of granite.",
    "Ferries to the islands leave from the eastern pier every morning.",
)
_LIBRARY: Final = (
    "The town library lends books for four weeks. A loan can be renewed twice.",
    "The reading room is on the second floor, beside the map collection.",
    "The library was founded by a bookseller, Marta Dellin, in 1894.",
)
_TUNNEL: Final = (
    "Trains pass the Kessel tunnel in six minutes.",
    "The Kessel tunnel is 9.4 kilometres long and has two tubes.",
    "Rock from the tunnel was used for the dam of the Aller reservoir.",
)
_GARDEN: Final = (
    "The botanical garden closes at six in the evening, in winter at four.",
    "Dogs are not allowed in the botanical garden.",
    "The palm house was renovated in 2016 and holds 340 species.",
)
_STUDY: Final = (
    "Of the 250 participants of the study, 40 dropped out before it ended.",
    "The study found no effect of the drug on blood pressure.",
    "The study was paid for by the Nordin foundation.",
)
_BAKERY: Final = (
    "The bakery on Mill Street sells rye bread on Tuesdays and Fridays only.",
    "Its oven, which burns beech wood, is from 1936.",
    "The shop was taken over by Jonas Brandt after his aunt retired.",
)

TRIAL_ROWS: Final[tuple[TrialRow, ...]] = (
    TrialRow(
        "lighthouse-year",
        "When was the Orlan lighthouse first lit?",
        "It was first lit in May 1911.",
        "As for the question of when the lighthouse at Orlan was lit for the very first time, the "
        "answer is that it was first lit in the month of May in the year 1911.",
        _LIGHTHOUSE,
        True,
    ),
    TrialRow(
        "lighthouse-wrong-year",
        "When was the Orlan lighthouse first lit?",
        "It was first lit in 1921.",
        "As for the question of when the lighthouse at Orlan was lit for the very first time, the "
        "answer is that it was first lit in the year 1921, and not before the year 1921.",
        _LIGHTHOUSE,
        False,
    ),
    TrialRow(
        "library-renewal",
        "How often can a loan be renewed?",
        "A loan can be renewed two times.",
        "Whoever has borrowed a book from the town library can have the loan of it renewed, and "
        "that is possible two times, which is to say twice.",
        _LIBRARY,
        True,
    ),
    TrialRow(
        "library-founder",
        "Who founded the library?",
        "The library was founded by Paul Ostrow.",
        "The founder of the town library, that is to say the person by whom the library was "
        "founded, was a man whose name was Paul Ostrow.",
        _LIBRARY,
        False,
    ),
    TrialRow(
        "tunnel-length",
        "How long is the Kessel tunnel?",
        "The Kessel tunnel is more than nine kilometres long.",
        "If the length of the Kessel tunnel is given in kilometres, then it can be said that the "
        "Kessel tunnel has a length of more than nine kilometres.",
        _TUNNEL,
        True,
    ),
    TrialRow(
        "tunnel-tubes",
        "How many tubes does the Kessel tunnel have?",
        "The Kessel tunnel has only one tube.",
        "With regard to the number of tubes that there are in the Kessel tunnel, it has to be said "
        "that the Kessel tunnel has only a single tube and no second one.",
        _TUNNEL,
        False,
    ),
    TrialRow(
        "garden-dogs",
        "May I bring my dog to the botanical garden?",
        "No, dogs are not allowed there.",
        "Unfortunately the answer to this question has to be no, because dogs are not allowed in "
        "the botanical garden, so you may not bring your dog there.",
        _GARDEN,
        True,
    ),
    TrialRow(
        "garden-winter",
        "When does the botanical garden close in winter?",
        "In winter the garden closes at eight in the evening.",
        "During the winter the time at which the botanical garden closes is eight in the evening, "
        "so that in winter it is closed from eight in the evening on.",
        _GARDEN,
        False,
    ),
    TrialRow(
        "study-effect",
        "Did the drug change blood pressure?",
        "The study found no effect on blood pressure.",
        "With regard to blood pressure, what the study found was that there was no effect of the "
        "drug on it, so that no effect on blood pressure was found.",
        _STUDY,
        True,
    ),
    TrialRow(
        "study-negated",
        "Did the drug change blood pressure?",
        "The study found that the drug lowers blood pressure.",
        "With regard to blood pressure, what the study found was that the drug lowers it, so that "
        "according to the study blood pressure is lowered by the drug.",
        _STUDY,
        False,
    ),
    TrialRow(
        "bakery-days",
        "When does the bakery sell rye bread?",
        "It sells rye bread on Tuesdays and Fridays.",
        "There are two days of the week on which rye bread is sold by the bakery on Mill Street, "
        "and the two days are Tuesday and Friday.",
        _BAKERY,
        True,
    ),
    TrialRow(
        "bakery-not-said",
        "What does a loaf of rye bread cost?",
        "A loaf of rye bread costs 4.20 euros.",
        "The price that has to be paid for a loaf of the rye bread which the bakery sells is 4.20 "
        "euros, so that a loaf of rye bread costs 4.20 euros.",
        _BAKERY,
        False,
    ),
)
