"""Samples for the grounded profile's tests: texts that it has a rule about, as bytes choose them.

A sample is read off a string of bytes, each choice off the next two; past the end every choice is
the first. Hypothesis draws such a string at one go, and makes it smaller byte by byte; a seed gives
a corpus of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from rag_eval.kernels.languages import LISTED
from tests.oracle.grounded_characters import normalize
from tests.oracle.grounded_lists import MULTIPLIERS, ORDINALS, ROLES
from tests.oracle.grounded_numbers import UNITS as NUMBER_UNITS
from tests.strategies import texts

Sample = dict[str, Any]
_Item = TypeVar("_Item")


def _words(text: str) -> list[str]:
    return text.split()


def _either(text: str) -> list[str]:
    """What slashes part; a line's end parts nothing."""
    lines = [line.removeprefix("    ") for line in text.splitlines()]
    return "".join(lines).split("/")


PROSE = _words(
    """
    the a an of and is was in to it that this with for on not no did does have I you who
    what when found gave ran running runs studies studied classes bus buses basis happily
    stopped easing foxes boxes tries falling missed buzzing lying water market village
    harbour comet trial tablet nurse two three seven ten twelve twenty dozen half hundred
    million one none many much year city century
    """
)
NAMES = _words(
    """
    Ana Ortiz Marsh NASA IBM U.S. O'Neil Jean-Luc McKay iPhone Norwick Yahoo! X Å Émile
    Ångström Łódź Ωρίων Ελένη Москва Ёлка Երևան ǅemal ϓ Dr. Mr. No. no. No e.g. i.e. Fig.
    Sept. vs. J. P. etc. St. The THE Two TWO May Monday WHO don DON iOS macOS v2 H₂O
    """
)
NUMBERS = _words(
    """
    0 1 2 3 5 7 12 42 007 1999 2044 1,234 1,2345 1,234,567 12,34 3.14 v2.0.1 2.0b 5th 21st
    4ths 1st ½ ² ³ Ⅳ ① ㊷ ٣٤ ४२ ５６ 一二 1/2 50% $5 1e9 1.234.567 1,234.5 .5 5. 10,000, ៤២
    ๔๒ 𝟙𝟚 1٬234 1，234
    """
)
CONTRACTIONS = _words(
    """
    don't can't won't shan't isn't n't it's James's James' 'tis rock'n'roll DON'T Don'T
    didn't've t's I'm you're ca't wo't ñ't 'S 't s' t' n'ts don't- (don't) o'clock 1990's
    """
)
APOSTROPHES = "'\u2018\u2019\u02bc\uff07`\u02bb"
GLUED = _words(
    """
    日本語 東京タワー の を。 中文 北京。 他说 三百 〇 々 ー ｶﾞ か\u3099 ガ 漢\ufe0f字
    สวัสดี ไทย ที่นี่ กำ ກຂ ຊື່ မြန်မာ ភាសា ꧠ 𠀀𠀁 漢1 1漢 a漢 漢a 漢' 'n漢
    """
)
SCRIPTS = _words(
    """
    café naïve Straße STRASSE ÉCOLE ﬁne ﬂow ﬀ ﬅ ſt ı I İstanbul İ ΣΊΣΥΦΟΣ Σ ς ὈΔΥΣΣΕΎΣ ᾳ ǅ ß
    ẞ ŉ ＡＢＣ ａｂ 한국어 각 가 각각 \u1100\u1161\u11a8 \u1112\u1161 \u11a8 \ua960\u1161
    हिन्दी नहीं है क्\u200dष עברית שלום שָׁלוֹם العَرَبِيّة كـتاب لا\u0655 Привет ёлка й
    россия україни ქართული ᲥᲐᲠᲗ አማርኛ ಕನ್ನಡ తెలుగు தமிழ் വന്ന് සිංහල Angstrom\u030a
    a\u0301\u0327 q\u0307\u0323 \u0344 \u0958 \u2126 \u212b \ufb4f \u1e9b\u0323 𐐀𐐨 𞤀𞤢 𝐀𝐛 Ⓐ ª
    º
    """
)
STOPPED = _words(
    """
    der die das und nicht eine la les est une el los del que não uma het een och att det som
    jest nie się ve bir için yang dan và là của không на не и что і та в от и за του και هذا
    من في که است اور ہے של את है के और आहे এবং একটি եւ է
    """
)
REFUSED = _words(
    """
    sorry cannot unable able answer know do does information mentioned provided contain
    enough sure am
    """
)
MARKUP = _words(
    """
    **bold** *it* _em_ `code` ~~gone~~ ~x~ ~~~ *** __ snake_case a_b_c 2*3 x**2 *a b* _ * `
    [1] [2,3] [1-3] [^2] [4,5;6–7] [0] [1234] [a] 【1†source】 【3:0†x】 【12】 【a】 (2)
    (2). (1,2). (3)! (0). (123). (two). .¹² ?³ ,⁴ x² ] [ ( ) 【 】 # ## > - + • – — 1. 2. 3.
    4) (5) a) iv) 。 ！ ？ । ॥ ؟ ۔ ։ ။ ። ។ ｡ … ... ?! .) .” ." !' ?» ।) ; : “ ” « » | / \\ <
    = & % $ + ± € →
    """
)
WORDS = [
    *PROSE * 3,
    *NAMES * 3,
    *NUMBERS * 2,
    *CONTRACTIONS,
    # The first apostrophe of each replaced by one of the others.
    *(word.replace("'", sign, 1) for word in CONTRACTIONS[:16] for sign in APOSTROPHES[1:]),
    *GLUED,
    *SCRIPTS,
    *(normalize("NFD", word) for word in SCRIPTS),
    *STOPPED,
    *REFUSED,
    *MARKUP * 2,
]
JOINTS = [
    *[" "] * 60,
    *(". ", ". ", "! ", "? ", "… ", " . ", '." ', ".) ", "。", ", ", " , ", ",", "; ", ": ", "."),
    *("  ", "\t", "\u00a0", "\u3000", "\u200a", "\ufeff", "\x85", "\u200b", "\x1c", "\x00"),
    *("\n", "\n\n", "\r\n", "\r", "\u2028", "\u2029", "\v", "\f"),
    *("\n- ", "\n* ", "\n+ ", "\n• ", "\n– ", "\n-", "\n1. ", "\n2. ", "\n3) ", "\n(4) ", "\n0. "),
    *("\n7) ", "\n12. ", "\n99) ", "\n100. ", "\na) ", "\nZ) ", "\nab) ", "\n> ", "\n>> > "),
    *("\n## ", "\n> # - 5. ", "\n####### ", "\n>>>>>>>>> ", "\n\u00a0- ", "\n·\u3000", "\n(6. "),
    *("", "", "", "-", "_", "'", "’", "/", "\u00ad", "\u200d", "\u0301", "\u0308", "\u0327\u0301"),
    *("\u0640", "\ufe0f", "\u034f", "\u0345", "\u05b0", "\u3099", "\u094d", "\u20dd", "\n8."),
]
# Side by side without a blank: every rule that looks at its neighbours.
DENSE = [
    *"anNtTsS'’ʼ1,.*_`~½²¹日本กAB!?…)\"”é İ。#>-([가 \n\u00a0\u3000\x1f",
    *"\u0301\u00ad\ufe0f\u11a8\u1161",
    *("23", "234", "~~", "[1]", "[2,3]", "(1)", "(2)", "Mr", "Mr.", "no", "No.", "1.", "2)", "one"),
    *(
        "three",
        "\u1100",
        "e.g",
        "J.",
        "【1†x】",
        "[^",
        "]",
        " , ",
        "  ",
        " ",
        " ",
        " ",
        "n't",
        "\r",
    ),
]
FILLS = ["ab ", "Ab. ", "the of ", "x", "1 ", "é ", "日", "a_b ", "don't ", "(2) ", "a, "]
LONG_WORDS = [letter * n for letter in "xé" for n in (15, 16, 17, 33, 63, 64, 65, 130, 600)]
QUESTIONS = _either(
    """
    How/how many/How much/how old/What year/What percent/what city/What country/what date/
    what time/When/when did/which year/Which/Who/whom/Whose/Where/what/what is the/
    Who knows how far/"When", who/Quand/Wer/誰が
    """
)
REFUSALS = _either(
    """
    I do not know. /Sorry, it is not mentioned. /I'm not sure. /I’m unable to say. /I cannot tell. /
    I can't say. /Ana did. I do not know. /The text does not contain it. /NO INFORMATION. /
    not provided /Es tut mir leid. /- I do not know.
    """
)
SILENT = _either(
    """
    The passages do not say. /There is no information about it. /It is not stated in the text. /
    No mention of it, but Ana did. /I don't have enough context. /[2] I am unable to find it. /
    While the text does not say, Ana did. /Sorry. /Unfortunately, the article contains no mention. /
    Yes, /yes /No, /No one /no 5 /No two /nope /True: /Incorrect. /no longer /
    """
)
COUNTED = _words("beds bed wards ward people euros metres Ana Ortiz Marsh the in first zz 7 40")
COUNTS = [
    *_words("7 40 50 2.3 2,300,000 2.30 98 235 000 1999 5 05 123456789012345 1234567890123456 ½"),
    *(f"{n}{unit}" for n in ("5", "2.5") for unit in NUMBER_UNITS),
    *MULTIPLIERS,
    *ORDINALS,
]
LABELS = ["[1] ", "[2]", " [^3] ", "\n[4]", "[0] ", "[1234] ", "[5", "x [1] ", "[6]."]
# Tags that a sample may carry: with a list of words, without one, with region and script.
TAGS = [*LISTED, "is", "am", "ga", "en-US", "de_AT.UTF-8", "pt-BR", "zh-Hans", "nb", "ENG", ""]


class Choices:
    """Choices read off a string of bytes."""

    def __init__(self, blob: bytes) -> None:
        self._blob = blob
        self._at = 0

    def below(self, n: int) -> int:
        chosen = int.from_bytes(self._blob[self._at : self._at + 2], "big") % n
        self._at += 2
        return chosen

    def between(self, first: int, last: int) -> int:
        return first + self.below(last - first + 1)

    def one_in(self, n: int) -> bool:
        return self.below(n) == n - 1

    def of(self, items: Sequence[_Item]) -> _Item:
        return items[self.below(len(items))]

    def some(self, items: Sequence[_Item], first: int, last: int) -> list[_Item]:
        return [self.of(items) for _ in range(self.between(first, last))]


# ------------------------------------------------------------------------------------------ texts


def prose(choices: Choices) -> str:
    """Sentences of plain words that come back often, with names and numbers among them."""
    common = [*PROSE, *NAMES[:14], *NUMBERS[:24]]
    sentences = []
    for _ in range(choices.between(1, 4)):
        opening = choices.of(["", "The ", "She ", "In 1999 ", "- ", "Both Ana and "])
        words = " ".join(choices.some(common, 1, 9))
        sentences.append(opening + words + choices.of([*"....!?", " [1].", " (2).", "", "\n"]))
    return " ".join(sentences)


def passage(choices: Choices) -> str:
    """Words and joints in turn."""
    return "".join(choices.of(WORDS) + choices.of(JOINTS) for _ in range(choices.between(1, 16)))


def decomposed(choices: Choices) -> str:
    return normalize("NFD", passage(choices))


def dense(choices: Choices) -> str:
    return "".join(choices.some(DENSE, 1, 40))


def across_blocks(choices: Choices) -> str:
    """A word at the edge of 64 bytes or of a multiple, in ASCII or not, and what follows it."""
    edge = choices.of([16, 64, 128, 192, 448, 512, 576]) - choices.below(9)
    word = choices.of([*WORDS, *LONG_WORDS])
    return (choices.of(FILLS) * edge)[:edge] + word + choices.of(JOINTS) + passage(choices)


def many_words(choices: Choices) -> str:
    """More words than are numbered at a time, most of them new or few of them."""
    begin, joint = choices.of(["w", "Wé", "n", "x" * 16, "12.", ""]), choices.of([" ", ". ", "\n"])
    stride, n = choices.of([1, 7, 100]), choices.between(200, 500)
    return joint.join(f"{begin}{i * stride % 997}" for i in range(n))


def any_characters(choices: Choices) -> str:
    """Of all planes, with letters and blanks between them."""
    points = [chr(choices.below(1 << 16) * 17 + choices.below(17)) for _ in range(choices.below(9))]
    return "".join(point + choices.of(["", " ", "a", "\u0301", "1"]) for point in points)


def counts(choices: Choices) -> str:
    """Numbers as they may be written, and what they count."""
    words = [choices.of([*COUNTS, *COUNTED, *COUNTED]) for _ in range(choices.between(2, 14))]
    return choices.of([" ", " ", " ", ". ", ", "]).join(words)


def silent(choices: Choices) -> str:
    """What says that nothing is said, or nearly."""
    roles = [choices.of(sorted(ROLES)) for _ in range(choices.between(1, 12))]
    words = " ".join(choices.of(sorted(ROLES[role])) for role in roles)
    return choices.of(SILENT) + words + choices.of([". ", ".", "", " [1]. [2]"])


def headed(choices: Choices) -> str:
    """Headings, lead-ins and clauses, with names where any word is capitalised."""
    words = choices.some([*_words("Less Flexible Hours of the for Ana Marsh NASA É"), "the"], 1, 9)
    joint = choices.of([":", ": ", ":\n", ": “", "; ", " — (", "：", " • ", ".", " | "])
    return " ".join(words) + joint + prose(choices) + choices.of(["", ":", ':")', "[1]", " [2][3]"])


TEXTS: list[Callable[[Choices], str]] = [
    *[prose] * 6,
    *[passage] * 8,
    *[counts] * 4,
    *[silent, headed] * 2,
    *[decomposed, dense, dense, across_blocks, any_characters],
]


def text(choices: Choices) -> str:
    return many_words(choices) if choices.one_in(60) else choices.of(TEXTS)(choices)


# ---------------------------------------------------------------------------------------- samples


def read_sample(choices: Choices, more: Sequence[str] = ()) -> Sample:
    """A sample whose fields share texts; each field may be missing, None or without a word."""
    shared = [prose(choices), *more, *(text(choices) for _ in range(choices.between(1, 4)))]

    def field() -> str:
        if choices.one_in(24):
            return choices.of(["", "?", " \n", "'s", "[1]"])
        pieces = [*shared, *shared, " Ana saw 12. ", "\n- ", " [1]", ".", " The "]
        return choices.of(["", "", "[1] ", "- "]) + " ".join(choices.some(pieces, 1, 5))

    sample: Sample = {
        "question": field(),
        "answer": field(),
        "contexts": [field() for _ in range(choices.between(1, 4))],
        "ground_truth": field(),
    }
    if choices.below(3):
        sample["question"] = choices.of(QUESTIONS) + " " + sample["question"]
    if choices.one_in(12):
        sample["answer"] = choices.of(REFUSALS) + sample["answer"]
    for name in ("answer", "ground_truth"):
        if choices.one_in(8):
            kept = choices.of(["", sample[name]])
            sample[name] = choices.of([*SILENT, silent(choices), silent(choices)]) + kept
    if choices.below(2):
        sample["ground_truth"] = [field() for _ in range(choices.between(1, 3))]
    if choices.below(2):
        sample["language"] = choices.of(["en", "en", "en", choices.of(TAGS)])
    _make_odd(choices, sample)
    return sample


def _make_odd(choices: Choices, sample: Sample) -> None:
    """Take a field away or empty it, now and then."""
    name = choices.of([*sample])
    if choices.one_in(6):
        sample[name] = None
    elif choices.one_in(12):
        del sample[name]
    if sample.get("contexts") and choices.one_in(8):
        sample["contexts"] = choices.of([[], ["", "?"], [None], [None, *sample["contexts"]]])
    if sample.get("contexts") and choices.one_in(6):
        at = choices.below(len(sample["contexts"]))
        sample["contexts"][at] = choices.of(LABELS) + (sample["contexts"][at] or "")
    if isinstance(sample.get("ground_truth"), list) and choices.one_in(8):
        sample["ground_truth"].insert(choices.below(2), choices.of([None, "", "?"]))


def read_corpus(n_rows: int, seed: int) -> list[Sample]:
    """Rows that depend on nothing but the seed."""
    chosen = random.Random(seed)
    return [read_sample(Choices(chosen.randbytes(1200))) for _ in range(n_rows)]


# --------------------------------------------------------------------------- plain English samples

PEOPLE = _either(
    "Ellen Marsh/Dr. Ana Ortiz/J. P. Velling/Mr. O'Neil/Queen Maude II/Prof. Jean-Luc Rey/É. Zölle"
)
PLACES = _either("Norwick/Port Tessaly/the U.S./St. Elm/Łódź/Old Market/Lake Orrin/NASA's base")
THINGS = _either("harbour/comet/trial/bridge/dose/night bus/river gauge/tax office/walnut tree")
DONE = _either("built/discovered/measured/closed/funded/repaired/described/studied/abandoned")
UNITS = _either("km/patients/euros/tonnes/visitors/years/mg/houses/species")
MONTHS = _either("January/Feb./May/June/Sept./December")
FACTS = _either(
    """
    {person} {done} the {thing} of {place} in {year}./
    The {thing} of {place} was {done} on {day} {month} {year} by {person}./
    About {count} {unit} were counted there, e.g. {small} in the {thing} alone./
    It isn't known who {done} the {thing}, but {person} wasn't asked./
    According to {person}, the {thing} costs {count} {unit} a year (see Fig. {small})./
    "We didn't expect {small} {unit}," {person} said!/
    {place} has {small} harbours; its {thing} is {decimal} km long./
    Was the {thing} {done} before {year}? Nobody knows./
    In {month} {year} about {decimal}% of all {unit} were {done}./
    {person}'s {thing} can't hold more than {count} {unit}…
    """
)
ASKED = _either(
    """
    Who {done} the {thing} of {place}?/When was the {thing} {done}?/How many {unit} were counted?/
    What year was the {thing} {done} in?/What city has a {thing}?/Where is the {thing}?/
    Why is the {thing} of {place} closed?/Is the {thing} {decimal} km long?
    """
)


def _filled(choices: Choices, template: str) -> str:
    return template.format(
        person=choices.of(PEOPLE),
        place=choices.of(PLACES),
        thing=choices.of(THINGS),
        done=choices.of(DONE),
        unit=choices.of(UNITS),
        month=choices.of(MONTHS),
        day=choices.between(1, 28),
        year=choices.between(1600, 2020),
        count=f"{choices.between(2, 30000):,}",
        small=choices.of(["two", "twelve", "3", "7", "40", "thirty"]),
        decimal=f"{choices.between(1, 999) / 10}",
    )


def _retold(choices: Choices, fact: str) -> str:
    """A fact as an answer has it: as it is, with another figure or name, or in other words."""
    words = fact.split(" ")
    at = choices.below(len(words))
    words[at] = choices.of([words[at], words[at], choices.of(PEOPLE), f"{choices.below(3000):,}"])
    if choices.one_in(4):
        words = words[: max(2, len(words) - choices.below(6))]
    told = " ".join(words)
    told = choices.of([told, told, told.lower(), told.upper(), told.replace("'", "’")])
    cited = f"{told[:-1]} [2]{told[-1]}"
    return choices.of([told, told, told, f"**{told}**", cited, f"{told} (3)"])


def plain_sample(choices: Choices) -> Sample:
    """Facts in chunks, some of them told again in an answer and in ground truths."""
    facts = [_filled(choices, choices.of(FACTS)) for _ in range(choices.between(4, 14))]
    invented = _filled(choices, choices.of(FACTS))
    tellable = [*facts, *([invented] * (len(facts) // 3))]
    told = [_retold(choices, choices.of(tellable)) for _ in range(choices.between(1, 5))]
    cuts = sorted(choices.below(len(facts)) for _ in range(choices.between(1, 3)))
    label = choices.of(["", "", "", "[1] ", "# "])
    answer = choices.of([" ", " ", "\n- ", "\n\n", "\n2. "]).join(told)
    truth = choices.some([*facts, *told], 1, 3)
    return {
        "question": _filled(choices, choices.of(ASKED)),
        "answer": choices.of(["", "- ", "1. "]) + answer,
        "contexts": [
            label + " ".join(facts[begin:end])
            for begin, end in zip([0, *cuts], [*cuts, len(facts)], strict=True)
        ],
        "ground_truth": truth if choices.below(2) else " ".join(truth),
    }


def plain_corpus(n_rows: int, seed: int) -> list[Sample]:
    """Samples as they come in practice, by a seed."""
    chosen = random.Random(seed)
    return [plain_sample(Choices(chosen.randbytes(600))) for _ in range(n_rows)]


# ------------------------------------------------------------------------------------- strategies


def _choices() -> st.SearchStrategy[Choices]:
    return st.binary(min_size=1200, max_size=1200).map(Choices)


def grounded_texts() -> st.SearchStrategy[str]:
    """Anything that the profile has a rule about, and anything else."""
    own = _choices().map(lambda choices: text(choices) + " " + text(choices))
    return st.one_of(own, own, own, texts(max_parts=3))


def grounded_samples() -> st.SearchStrategy[Sample]:
    """Samples of `read_sample`; one in four has a text of the other profile's strategies."""
    own = _choices().map(read_sample)
    mixed = st.builds(
        lambda choices, other: read_sample(choices, [other, other]), _choices(), texts(max_parts=3)
    )
    return st.one_of(own, own, own, mixed)
