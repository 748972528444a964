"""Claims of an answer, JSON leaves, and the scores they make."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_eval.errors import InputError
from rag_eval.metrics.contract import Scored
from rag_eval.samples import NullReason
from rag_eval.scorers.regtrace.claim_support import ClaimRow, Verdict, claims_of
from rag_eval.scorers.regtrace.clauses import ClausedText, is_negated, numbers_of
from rag_eval.scorers.regtrace.details import MOST_FINDINGS
from rag_eval.scorers.regtrace.factuality import (
    FactualitySettings,
    factuality,
    factuality_column,
    json_structural,
)
from rag_eval.scorers.regtrace.formulas import MODES
from rag_eval.scorers.regtrace.json_structure import (
    Comparison,
    compact,
    compare_json,
    compare_json_as_code,
    n_leaves,
)
from rag_eval.scorers.regtrace.specs import MEANING_METRICS as METRICS
from tests.tables import every_row

PARIS = "Paris is the capital of France."
SHIPS = "The warehouse in Rotterdam ships 240 pallets every Tuesday."


def verdicts(answer: str, expected: str, **more: Any) -> list[Verdict]:
    (claims,) = claims_of([ClaimRow(answer, [expected], **more)])
    assert claims is not None
    return [claim.verdict for claim in claims]


def scored(answer: str, truth: Any = None, **more: Any) -> Scored:
    settings = {name: more.pop(name) for name in list(more) if name in SETTINGS}
    fields = {"answer": answer, "ground_truth": truth, **more}
    given_fields = {name: value for name, value in fields.items() if value is not None}
    return factuality(given_fields, FactualitySettings(**settings))


SETTINGS = ("mode", "claim_extraction_depth", "rag_faithfulness_only")


# ------------------------------------------------------------------------------------------ claims


@every_row(
    ("answer", "expected"),
    [
        (PARIS, PARIS),
        ("Paris.", PARIS),
        ("The capital of France is Paris.", PARIS),
        ("The price is 1,000 dollars.", "The price is 1000 dollars."),
        ("3.50", "The price is 3.5 euros."),
        ("It ships on Monday.", "It ships on Monday, but not on Tuesday."),
        ("This is not only cheap but also fast.", "This is cheap and fast."),
        ("No. 5 is open.", "Number 5 is open."),
        ("巴黎是法国的首都。", "巴黎是法国的首都。"),
        ("Москва является столицей России.", "Москва является столицей России."),
    ],
)
def test_what_is_said_is_supported(answer: str, expected: str) -> None:
    assert verdicts(answer, expected) == ["supported"]


@every_row(
    ("answer", "expected"),
    [
        # Another number.
        ("The warehouse in Rotterdam ships 250 pallets every Tuesday.", SHIPS),
        ("On 3 May 2021 Anna Smith left.", "Anna Smith left on 4 May 2021."),
        ("Refunds take five days.", "Refunds take seven days."),
        ("Rotterdam ships 300 pallets.", "Rotterdam ships 240 pallets. Hamburg ships 300 pallets."),
        ("42", "43"),
        ("42", "The answer is 43."),
        # Another name.
        ("The capital of France is London.", PARIS),
        ("London is the capital of France.", PARIS),
        ("John Smith runs it.", "John Miller runs it."),
        ("Rome", "Paris"),
        # A denial.
        ("Paris is not the capital of France.", PARIS),
        ("It does not ship on Monday.", "It ships on Monday."),
        ("It ships on Monday.", "It doesn't ship on Monday."),
        ("It ships on Tuesday.", "It ships on Monday, but not on Tuesday."),
        ("The drug cures cancer.", "The drug, which was approved in 2019, does not cure cancer."),
        ("Yes.", "No."),
        ("Er ist nicht krank.", "Er ist krank."),
        ("Le chat n'est pas noir.", "Le chat est noir."),
        ("Москва не является столицей России.", "Москва является столицей России."),
        ("巴黎不是法国的首都。", "巴黎是法国的首都。"),
    ],
)
def test_what_is_said_otherwise_is_contradicted(answer: str, expected: str) -> None:
    assert verdicts(answer, expected) == ["contradicted"]


@every_row(
    ("answer", "expected"),
    [
        ("The moon is made of cheese.", PARIS),
        # A number where the expected output has none says more, not something else.
        ("The warehouse ships 250 pallets.", "The warehouse ships pallets."),
        ("In 2020 the warehouse shipped 250 pallets.", "In 2020 the warehouse shipped pallets."),
        # Two plurals may be two words for the same people.
        ("Workers are paid monthly.", "Employees are paid monthly."),
        ("日本的首都是东京。", PARIS),
    ],
)
def test_what_is_not_said_is_unverifiable(answer: str, expected: str) -> None:
    assert verdicts(answer, expected) == ["unverifiable"]


def test_an_answer_that_repeats_a_text_with_a_denial_is_supported() -> None:
    both = "It is open. The rest of the building is closed today. It is not open."
    assert verdicts(both, both) == ["supported"] * 3


def test_a_number_of_the_question_is_no_new_number() -> None:
    question = "How many of the 250 pallets were shipped?"
    answer = "Of the 250 pallets the warehouse in Rotterdam ships 240."
    assert verdicts(answer, SHIPS, question=question) == ["supported"]


def test_contexts_do_not_make_a_short_answer_another_value() -> None:
    assert verdicts("Rome", "Paris", is_expected=False) == ["unverifiable"]


def test_a_claim_has_its_place_and_what_comes_nearest() -> None:
    answer = f"Well! {PARIS}"
    (claims,) = claims_of([ClaimRow(answer, [f"Look: {PARIS}"])])
    assert claims is not None
    assert [answer[slice(*claim.span)] for claim in claims] == [claim.text for claim in claims]
    assert claims[-1].text == PARIS
    assert claims[-1].evidence == "Paris is the capital of France"


def test_rows_have_the_claims_they_have_alone() -> None:
    rows = [ClaimRow(f"It ships {n} pallets.", [SHIPS, PARIS], False) for n in range(230, 900)]
    together = list(claims_of(rows))
    assert together == [next(claims_of([row])) for row in rows]
    assert len(together) == len(rows)


WORDS = st.sampled_from(["Anna", "not", "never", "ships", "240", "Paris", "open", "no", "the", "7"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=8), min_size=1, max_size=6).map(
    lambda sentences: " ".join(" ".join(words) + "." for words in sentences)
)


@given(TEXTS)
def test_a_text_supports_itself(text: str) -> None:
    assert set(verdicts(text, text)) <= {"supported"}
    assert scored(text, text).score in (1.0, None)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_have_a_score_or_a_reason(answer: str, expected: str) -> None:
    for mode in ("strict", "lenient"):
        found = scored(answer, expected, mode=mode)
        if found.score is None:
            assert found.null_reason == NullReason.NOTHING_TO_MEASURE
            assert found.explanation
        else:
            assert 0 <= found.score <= 1


@given(TEXTS, TEXTS)
def test_strict_is_never_above_lenient(answer: str, expected: str) -> None:
    strict, lenient = (scored(answer, expected, mode=mode).score for mode in ("strict", "lenient"))
    assert (strict is None) == (lenient is None)
    assert strict is None or lenient is None or strict <= lenient


# ---------------------------------------------------------------------------------------- negation


@every_row(
    ("text", "language", "expected"),
    [
        ("it does not ship", "en", True),
        ("it doesn't ship", "en", True),
        ("neither Anna nor Bob", "en", True),
        ("not without reason", "en", False),
        ("not only that", "en", False),
        ("no doubt it ships", "en", False),
        ("no 5", "en", False),
        ("nunca dice nada", "es", True),
        ("он никогда не спит", "ru", True),
        ("он не спит", "und", True),
        ("彼は来ない", "und", True),
        ("no comment", "und", False),
    ],
)
def test_a_clause_denies_or_does_not(text: str, language: str, expected: bool) -> None:
    assert is_negated(text.split(), text, language) is expected


def test_numbers_are_values_and_no_spellings() -> None:
    assert numbers_of("3.50 and 1,000 and 7") == numbers_of("3.5, 1000, 7.0")
    assert numbers_of("3.5") != numbers_of("3.51")
    assert numbers_of("1.2.3") == numbers_of("3 2 1")


def test_commas_in_numbers_cut_no_clause() -> None:
    cut = ClausedText("In May, 1,000 left, but no one came. It rained", "en").clauses(9)
    assert [clause.key for clause in cut] == [
        "in may,",
        "1,000 left, but",
        "no one came.",
        "it rained",
    ]


# ----------------------------------------------------------------------------------------- scoring


def test_strict_counts_supported_and_lenient_what_is_not_contradicted() -> None:
    answer = f"{PARIS} The moon is made of cheese. The warehouse in Rotterdam ships 9 pallets."
    expected = f"{PARIS} {SHIPS}"
    assert scored(answer, expected).score == pytest.approx(1 / 3)
    assert scored(answer, expected, mode="lenient").score == pytest.approx(2 / 3)


def test_each_claim_is_a_detail() -> None:
    found = scored(f"{PARIS} The moon is made of cheese.", PARIS)
    assert [(one["check"], one["passed"]) for one in found.details] == [
        ("factuality.claim[0]", True),
        ("factuality.claim[1]", False),
    ]
    assert found.details[1]["actual"] == "The moon is made of cheese."
    assert found.details[1]["message"].startswith("unverifiable: ")
    assert found.explanation == "2 claims: 1 supported, 1 unverifiable."
    lenient = scored(f"{PARIS} The moon is made of cheese.", PARIS, mode="lenient")
    assert [one["passed"] for one in lenient.details] == [True, True]


def test_values_in_details_are_short() -> None:
    found = scored(f"{'very ' * 100}long.", PARIS)
    assert all(len(str(one[side])) <= 80 for one in found.details for side in ("actual",))


def test_the_best_of_several_expected_outputs_counts() -> None:
    assert scored(PARIS, ["Rome is far away.", PARIS, SHIPS]).score == 1.0


def test_contexts_stand_in_where_nothing_is_expected() -> None:
    assert scored(PARIS, contexts=["Nothing.", PARIS]).score == 1.0
    assert scored(PARIS, "Rome is far away.", contexts=[PARIS]).score == 0.0


def test_faithfulness_is_held_against_the_contexts_alone() -> None:
    fields = {"contexts": ["Rome is the capital of Italy."], "rag_faithfulness_only": True}
    assert scored(PARIS, PARIS, **fields).score == 0.0
    nothing = scored(PARIS, PARIS, rag_faithfulness_only=True)
    assert (nothing.score, nothing.null_reason) == (None, NullReason.NOTHING_TO_MEASURE)


@every_row(
    ("answer", "truth"),
    [("", PARIS), ("!!!", PARIS), (PARIS, None), (PARIS, "  "), (PARIS, "!!!"), (PARIS, [])],
)
def test_there_can_be_nothing_to_measure(answer: str, truth: Any) -> None:
    found = scored(answer, truth)
    assert (found.score, found.null_reason) == (None, NullReason.NOTHING_TO_MEASURE)
    assert found.explanation


def test_texts_in_other_scripts_are_compared() -> None:
    assert scored("巴黎是法国的首都。", "东京是日本的城市。").score == 0.0


def test_a_score_that_stands_in_for_a_judge_says_so() -> None:
    found = scored(PARIS, PARIS, claim_extraction_depth="deep")
    assert found.score == 1.0
    assert found.details[-1] == {"evaluationType": "deterministic", "confidence": 0.5}


def test_a_column_has_the_scores_of_its_rows() -> None:
    rows: list[dict[str, Any]] = [
        {"answer": PARIS, "ground_truth": PARIS},
        {"answer": '{"a": 1}', "ground_truth": '{"a": 1, "b": 2}'},
        {"answer": PARIS},
        {"answer": f"{PARIS} {SHIPS}", "ground_truth": ["Rome.", PARIS]},
        {"answer": "", "ground_truth": PARIS},
        {"answer": "The moon is made of cheese.", "contexts": [PARIS]},
    ] * 100
    for mode in MODES:
        settings = FactualitySettings(mode=mode)
        scores, reasons = factuality_column(rows, settings)
        alone = [factuality(row, settings) for row in rows]
        assert [None if math.isnan(score) else score for score in scores.tolist()] == [
            one.score for one in alone
        ]
        assert reasons.tolist() == [
            0 if one.score is not None else one.null_reason for one in alone
        ]


@every_row(
    ("settings", "said"),
    [
        ({"mode": "strikt"}, "did you mean 'strict'"),
        ({"mode": None}, "got None"),
        ({"claim_extraction_depth": "medium"}, "must be shallow or deep"),
        ({"rag_faithfulness_only": "yes"}, "must be true or false, got 'yes'"),
    ],
)
def test_a_setting_that_cannot_be_is_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        FactualitySettings(**settings)


def test_an_unknown_language_is_an_input_error() -> None:
    with pytest.raises(InputError, match="unknown language"):
        scored(PARIS, PARIS, language="klingon")


# -------------------------------------------------------------------------------------------- JSON


@every_row("mode", ["strict", "lenient", "json_structural"])
def test_json_is_compared_as_json_in_every_mode(mode: str) -> None:
    found = scored('```json\n{"amount": 1.5, "b": 2}\n```\n', '{"amount": 2.5, "b": 2}', mode=mode)
    assert found.score == 0.5
    assert list(found.details) == [
        {
            "check": "json_path.$.amount",
            "passed": False,
            "expected": "2.5",
            "actual": "1.5",
            "message": "$.amount: another value",
        }
    ]


@every_row(
    ("expected", "actual"),
    [(1, 1.01), (0.5, 0.51), (2, 1.99), (100, 100.01), (431.2, 431.21), (0, 0.01), (-1, -1.01)],
)
def test_a_hundredth_is_a_hundredth(expected: float, actual: float) -> None:
    assert compare_json(expected, actual).score == 1.0
    assert compare_json([expected], [actual]).score == 1.0
    assert compare_json(actual, expected).score == 1.0


@every_row(
    ("expected", "actual"),
    [
        (1, 1.0101),
        (0.3, 0.3100000001),
        (1, 3),
        (10**20, 10**20 + 1),
        (1, True),
        (0, None),
        (1, "1"),
        ("a", "a "),
        ({}, []),
        ({}, {"a": 1}),
        ([], [1]),
        (None, {}),
        (math.inf, 1),
    ],
)
def test_other_values_differ(expected: Any, actual: Any) -> None:
    found = compare_json(expected, actual)
    assert found.score == 0.0
    assert found.n_mismatches >= 1


def test_lists_of_plain_values_are_sets() -> None:
    assert compare_json([1, "b", None, True], [True, None, "b", 1, 1.0]).score == 1.0
    found = compare_json([1, "1"], ["1", 5])
    assert (found.matched, found.expected, found.extra) == (1, 2, 1)
    assert [one.kind for one in found.mismatches] == ["extra", "missing"]


def test_lists_with_objects_go_place_by_place() -> None:
    found = compare_json([{"a": 1}, 2], [2, {"a": 1}])
    assert found.matched == 0
    assert [one.path for one in found.mismatches] == ["$[0]", "$[1]"]
    longer = compare_json([{"a": 1}], [{"a": 1}, {"b": [1, 2]}])
    assert (longer.matched, longer.expected, longer.extra) == (1, 1, 2)


def test_a_missing_part_counts_its_leaves() -> None:
    found = compare_json({"a": 1, "b": {"c": [1, 2, 3], "d": {}}}, {"a": 1})
    assert (found.matched, found.expected, found.n_mismatches) == (1, 5, 1)
    by_code = compare_json_as_code({"a": 1, "b": {"c": [1, 2, 3], "d": {}}}, {"a": 1})
    assert (by_code.matched, by_code.expected) == (1, 2)


@every_row("compare", [compare_json, compare_json_as_code])
def test_integers_as_keys_come_first_as_in_javascript(
    compare: Callable[[Any, Any], Comparison],
) -> None:
    found = compare({"z": 0, "7": 0, "0": 0}, {"b": 1, "10": 5, "2": {"1": 0, "0": 1}, "01": 6})
    paths = [mismatch.path for mismatch in found.mismatches]
    assert paths == ["$.2", "$.10", "$.b", "$.01", "$.0", "$.7", "$.z"]
    assert compact(found.mismatches[0].actual) == '{"0":1,"1":0}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "1"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "0", "1"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
def test_a_value_is_like_itself(value: Any) -> None:
    assert compare_json(value, value).score == 1.0
    assert compare_json_as_code(value, value).score == 1.0
    found = scored(json.dumps(value), json.dumps(value))
    assert (found.score, list(found.details)) == (1.0, [])


@given(JSON, JSON)
def test_leaves_are_counted_once(expected: Any, actual: Any) -> None:
    found = compare_json(expected, actual)
    assert 0 <= found.matched <= found.expected
    assert found.expected <= n_leaves(expected)
    assert (found.score == 1) == (found.n_mismatches == 0 and found.matched == found.expected)
    other = compare_json(actual, expected)
    assert (found.score == 1) == (other.score == 1)


@every_row("bad", ["not json", "NaN", '{"a": 1e400}', "[" * 10_000 + "]" * 10_000])
def test_json_structural_says_what_is_no_json(bad: str) -> None:
    with pytest.raises(InputError, match="json_structural: expected: "):
        json_structural("1", bad)
    with pytest.raises(InputError, match="json_structural: actual: "):
        json_structural(bad, "1")


def test_an_answer_that_is_no_json_fails_where_json_is_asked_for() -> None:
    found = scored("Sorry, I cannot.", '{"a": 1}', mode="json_structural")
    assert found.score == 0.0
    (detail,) = found.details
    assert (detail["check"], detail["passed"]) == ("json_path.$", False)
    assert "not JSON" in detail["message"]


def test_an_expected_output_that_is_no_json_is_no_fault_of_the_answer() -> None:
    found = scored('{"a": 1}', "a is one", mode="json_structural")
    assert (found.score, found.null_reason) == (None, NullReason.NOTHING_TO_MEASURE)
    assert "not JSON" in found.explanation


def test_json_beside_prose_is_read_as_text() -> None:
    assert scored("The total is 7.", '{"total": 7}').details[0]["check"] == "factuality.claim[0]"


# ----------------------------------------------------------------------------------------- hostile


N_CLAIMS = 1500


@pytest.mark.timeout(200)
@every_row(
    "text",
    [
        "." * 100_000 + "x",
        "no " * 10_000,
        "It is not 5. " * N_CLAIMS,
        "x" * 100_000,
        "不" * 10_000,
        "1," * 10_000,
        "\ud800 \udfff. " * N_CLAIMS,
        "a, " * 20_000,
        "\n" * 100_000,
        "[" * 100_000,
    ],
    ids=["dots", "no", "claims", "word", "han", "commas", "surrogates", "clauses", "lines", "open"],
)
def test_long_texts_take_bounded_time(text: str) -> None:
    found = scored(text, text)
    other = scored(text, "It is 6. " + text[:-7])
    for score in (found.score, other.score):
        assert score is None or 0 <= score <= 1
    assert len(found.details) <= MOST_FINDINGS + 1


@pytest.mark.timeout(200)
def test_large_json_takes_bounded_time() -> None:
    wanted = json.dumps({str(n): [n, {"deep": [n]}] for n in range(20_000)})
    found = scored(wanted.replace("7", "8"), wanted)
    assert found.score is not None
    assert 0 < found.score < 1
    assert len(found.details) == MOST_FINDINGS + 1
    assert found.details[-1]["message"].startswith("+ ")
    deep = "[" * 499 + "1" + "]" * 499
    assert scored(deep, deep.replace("1", "2")).score == 0.0


# ------------------------------------------------------------------------------------------- specs


def test_contracts_make_scorers_that_score() -> None:
    fields = {"answer": PARIS, "ground_truth": PARIS}
    for spec in METRICS:
        assert spec.threshold == 0.7
        scorer = spec.create()
        found = scorer.score(fields)
        if spec.id == "regtrace.json_structure":
            assert found.score is None
        elif spec.id == "regtrace.tone_heuristic":
            assert found.score == pytest.approx(0.7)  # no formal word, no word of certainty
        else:
            assert found.score == 1.0
        assert set(spec.options) == set(spec.options) - set(spec.required_options)
        assert {"answer"} <= set(spec.fields)


def test_the_rules_of_the_code_take_the_best_expected_output() -> None:
    by_id = {spec.id: spec for spec in METRICS}
    ngrams = by_id["regtrace.ngram_factuality"].create(mode="lenient")
    assert ngrams.score({"answer": "a b", "ground_truth": ["c", "a b"]}).score == 1.0
    structure = by_id["regtrace.json_structure"].create()
    found = structure.score({"answer": "[1]", "ground_truth": ["x", '["1"]']})
    assert found.score == 1.0
    differing = structure.score({"answer": '{"a": 1}', "ground_truth": '{"a": 2}'})
    assert [one["check"] for one in differing.details] == ["json_path.$.a"]
