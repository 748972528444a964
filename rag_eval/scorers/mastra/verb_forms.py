"""English verbs.  In: a word in lower case.  Out: the infinitive it is a form of, or itself.

The lists are our own. Which endings of stems get an e, and which verbs are exceptions from that,
was counted on the dictionary of lemminflect 0.2.3: MIT licence, copyright (c) 2019 Brad Jascob.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from rag_eval.plumbing.extras import package

Lemmas: TypeAlias = Literal["own", "lemminflect"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Infinitive: its irregular forms. -s and -ing forms are irregular where they are listed.
_IRREGULAR: Final = """
be: am is are was were been being isn aren; have: has had having; do: does did done doing
go: goes went gone; say: said; make: made; know: knew known; take: took taken; see: saw seen
come: came; think: thought; give: gave given; find: found; tell: told; become: became
leave: left leaves; feel: felt; bring: brought; begin: began begun beginning; keep: kept
hold: held; write: wrote written; stand: stood; hear: heard; mean: meant; meet: met; run: ran
pay: paid; sit: sat; speak: spoke spoken; lead: led; grow: grew grown; lose: lost; fall: fell fallen
send: sent; build: built; understand: understood; draw: drew drawn; break: broke broken
spend: spent; rise: rose risen; drive: drove driven; buy: bought; wear: wore worn
choose: chose chosen; sell: sold; win: won; eat: ate eaten; teach: taught; catch: caught
fight: fought; throw: threw thrown; deal: dealt; seek: sought; sleep: slept; fly: flew flown flies
forget: forgot forgotten forgetting; lie: lying; die: dying; tie: tying; shake: shook shaken
sing: sang sung; sink: sank sunk; swim: swam swum; drink: drank drunk; ring: rang rung
spring: sprang sprung; hide: hid hidden; ride: rode ridden; bite: bit bitten; freeze: froze frozen
steal: stole stolen; tear: tore torn; swear: swore sworn; wake: woke woken; bend: bent; lend: lent
shoot: shot; stick: stuck; strike: struck stricken; swing: swung; hang: hung; dig: dug; feed: fed
bleed: bled; breed: bred; flee: fled; speed: sped; lay: laid; bind: bound
wind: wound; grind: ground
forgive: forgave forgiven; forbid: forbade forbidden; blow: blew blown; show: shown
withdraw: withdrew withdrawn; overcome: overcame; undergo: underwent undergone undergoes
undertake: undertook undertaken; mistake: mistook mistaken; undo: undid undone undoes
redo: redid redone redoes; rewrite: rewrote rewritten; rebuild: rebuilt
override: overrode overridden
overwrite: overwrote overwritten; overtake: overtook overtaken; foresee: foresaw foreseen
light: lit; shine: shone; sweep: swept; weep: wept; creep: crept; dwell: dwelt; spin: spun
arise: arose arisen; weave: wove woven; stride: strode; cling: clung; sting: stung; fling: flung
shrink: shrank shrunk; stink: stank stunk; slide: slid; spit: spat; withhold: withheld
uphold: upheld
withstand: withstood; oversee: oversaw overseen; mislead: misled; behold: beheld
strive: strove striven
prove: proven; sew: sewn; sow: sown; saw: sawn; swell: swollen; mow: mown; input: inputting
panic: panicked panicking; mimic: mimicked mimicking; traffic: trafficked trafficking
agree: agreed; disagree: disagreed; free: freed; guarantee: guaranteed; decree: decreed
focus: focused focusing; program: programmed programming; bus: busing
get: got gotten getting; let: letting; set: setting; put: putting; cut: cutting; hit: hitting
shut: shutting; quit: quitting; split: splitting; spread: spreading; occur: occurred occurring
prefer: preferred preferring; refer: referred referring; infer: inferred inferring
defer: deferred deferring; transfer: transferred transferring; confer: conferred conferring
commit: committed committing; submit: submitted submitting; permit: permitted permitting
admit: admitted admitting; omit: omitted omitting; emit: emitted emitting
transmit: transmitted transmitting; control: controlled controlling; propel: propelled propelling
compel: compelled compelling; expel: expelled expelling; cancel: cancelled cancelling
label: labelled labelling; model: modelled modelling; travel: travelled travelling
signal: signalled signalling; enrol: enrolled enrolling; fulfil: fulfilled fulfilling
plan: planned planning; scan: scanned scanning; age: aging ageing; singe: singeing; see: seeing
"""
# Ends in -ing or -ed and is no form of a verb.
_NO_VERBS: Final = _set(
    "morning evening during nothing something anything everything ceiling sibling herring pudding"
    " shilling building need seed feed speed breed indeed hundred sacred naked wicked kindred"
    " hatred greed weed reed creed exceed proceed succeed embed shed sled bleed aged beloved"
    " rugged"
)
# Forms in -s are taken for plurals of nouns, but these are verbs far more often.
_USUAL_VERBS: Final = """
accept achieve acquire adapt add adjust admit adopt affect agree aim allow analyze announce appear
apply argue arrive assume attempt avoid become begin believe belong bring carry cause choose close
combine come compare complete comprise compute concern confirm connect consider consist contain
continue contribute convert create decide define deliver deny depend derive describe destroy
detect determine develop differ disappear discuss display eat eliminate emerge emit employ enable
encourage enhance ensure enter establish evaluate examine exist expect explain explore extract
facilitate fail feel follow generate get give go grow happen have hear help hold identify ignore
illustrate implement imply improve include incorporate indicate inform inspire install integrate
introduce invoke involve keep know lack lead learn let live lose maintain make mean measure meet
modify move need obtain occur open operate perform persist pertain possess prefer prepare present
preserve prevent produce promote protect prove provide publish raise reach read receive recognize
reduce refer reflect refuse reject relate remain remove render replace represent require resolve
rest retain reveal run say seek seem select send serve sit solve specify speak stand start
stay strengthen strive succeed suggest supply support swim take teach tell tend think throw
transform translate travel treat try undergo understand utilize vary verify warn write
cost open eat take leave
"""
_HUSHING: Final = ("sses", "shes", "ches", "xes", "zzes", "oes")
# What is left of a form without its ending gets an e or not by the longest of these ends that it
# has; counted on the 6,600 verbs of lemminflect's dictionary, of which they get 96 % right.
_WITH_E: Final = _set(
    "c g l s u v z at ib id ir th tr ud um un ur ut yp cad ced com cop fil fin lin min mot nad nit"
    " not pil rad tak tin vad vok cret plet plor writ"
)
_WITHOUT_E: Final = _set(
    "al el il ol rl tz wl ss zz ff aid air aud aul eat ing ang ong ung oat oud our out rth"
)
_LONGEST_END: Final = 4
_E_LOST: Final = _set(
    "compar prepar declar imagin combin compet creat delet invit excit ignor restor cach tast wast"
    " past encod decod erod explod escap renam machin inhal quot shar squar rout devot awak adher"
    " coher recit interfer persever requir squeez brows"
)
_E_NEVER: Final = _set("focus hang avoid mouth smooth vacuum bias void combat tar bus")
# One syllable with a short vowel would have doubled its consonant: hop, hopping; hope, hoping.
_HAS_LOST_E: Final = re.compile(r"(?:[^aeiouy]|qu)*[aeiouy][^aeiouwxy]")
_HAS_VOWEL: Final = re.compile(r"[aeiouy]")
# A longer word is no verb, and reading it would take long.
_LONGEST_WORD: Final = 40


def infinitive(word: str, lemmas: Lemmas = "own") -> str:
    """The infinitive of a form of a verb; any other word as it is.

    Parameters
    ----------
    word : str
        In lower case.
    lemmas : {"own", "lemminflect"}, default "own"
        Irregular forms and endings that are known here, or the dictionary of lemminflect.

    Notes
    -----
    No context is read: a word that can be a form of a verb is taken for one, but for plurals of
    nouns.

    Raises
    ------
    MissingExtraError
        lemminflect was asked for and is not installed.
    """
    if len(word) > _LONGEST_WORD:
        return word
    return _looked_up(word) if lemmas == "lemminflect" else _reckoned(word)


@functools.cache
def _irregular() -> Mapping[str, str]:
    found = {}
    for entry in _IRREGULAR.replace("\n", ";").split(";"):
        verb, _, forms = entry.partition(":")
        found.update(dict.fromkeys(forms.split(), verb.strip()))
    return found


@functools.cache
def _verbs_in_s() -> Mapping[str, str]:
    return {_with_s(verb): verb for verb in _USUAL_VERBS.split()}


def _with_s(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if (verb + "es").endswith(_HUSHING) else "s")


@functools.lru_cache(maxsize=1 << 16)
def _reckoned(word: str) -> str:
    found = _irregular().get(word)
    if found is not None:
        return found
    if word in _NO_VERBS or len(word) < 4:
        return word
    if word.endswith("s"):
        return _verbs_in_s().get(word, word)
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-3] + "y"
    if word.endswith("ing"):
        return _whole_verb(word[:-3], word)
    if word.endswith("ed") and not word.endswith("eed"):
        return _whole_verb(word[:-2], word)
    return word


def _whole_verb(stem: str, word: str) -> str:
    """The infinitive of a form that lost its ending."""
    if len(stem) < 2 or not _HAS_VOWEL.search(stem):
        return word
    if stem[-1] == stem[-2] and stem[-1] not in "aeiou":
        return stem if stem[-1] in "lsfz" else stem[:-1]
    if stem in _E_NEVER:
        return stem
    if stem in _E_LOST or _HAS_LOST_E.fullmatch(stem):
        return stem + "e"
    for size in range(_LONGEST_END, 0, -1):
        end = stem[-size:]
        if end in _WITH_E:
            return stem + "e"
        if end in _WITHOUT_E:
            return stem
    return stem


@functools.lru_cache(maxsize=1 << 16)
def _looked_up(word: str) -> str:
    # These are plurals of nouns as well, seldom: leaves, costs, does.
    usual = _verbs_in_s().get(word) or _irregular().get(word)
    if usual is not None:
        return usual
    found: Mapping[str, tuple[str, ...]] = lemminflect_package().getAllLemmas(word)
    is_plural = word.endswith("s") and word not in found.get("NOUN", (word,))
    verbs = found.get("VERB") or found.get("AUX")
    return word if is_plural or not verbs else verbs[0]


def lemminflect_package() -> Any:
    """The package, or a MissingExtraError that names the extra which brings it."""
    return package("lemminflect", "lemmas='lemminflect'", "lemmas")
