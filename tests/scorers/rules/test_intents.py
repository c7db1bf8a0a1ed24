"""Intents found by keyword, regex or example: their order, and the reason given."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.rules.intents import Expressions, build_classifier
from scorers.rules.model import Intent

INTENTS = [
    Intent(name="refund", keywords=["refund", "money back", "C++"], regex=r"\bcharge(d)? twice\b"),
    Intent(name="weather", keywords=["Weather"]),
    Intent(name="any", regex="."),
]


@pytest.mark.parametrize(
    ("words", "intent"),
    [
        ("I want a refund", "refund"),
        ("I want my MONEY BACK now", "refund"),
        ("you charged twice!", "refund"),
        ("no refunds here", "any"),
        ("learning C++ today", "refund"),
        ("weather and refund", "refund"),
        ("the weather", "weather"),
        ("", None),
        ("\ud800", "any"),
        ("x" * 30_000 + " refund", "any"),
    ],
)
def test_the_first_intent_that_matches(words: str, intent: str | None) -> None:
    assert build_classifier(INTENTS)(words).name == intent


@pytest.mark.parametrize(
    ("words", "by", "reason"),
    [
        ("my MONEY BACK", "keyword", "keyword 'money back'"),
        ("you charge twice", "regex", r"regex \bcharge(d)? twice\b"),
        ("", "none", "no keyword, regex or example of an intent matches the user's text"),
    ],
)
def test_the_reason_quotes_the_rule_file(words: str, by: str, reason: str) -> None:
    found = build_classifier(INTENTS)(words)
    assert (found.by, found.reason) == (by, reason)


MANY = [
    Intent(name=f"intent {at}", keywords=[f"keyword{at}", f"order number {at}", f"über{at}"]) for at in range(1_000)
]


@pytest.mark.parametrize("words", ["my Order Number 7, please", "KEYWORD7 now", "ÜBER7"])
def test_few_of_many_keywords_are_looked_for(words: str) -> None:
    expressions = Expressions(MANY)

    found = expressions.find(words)

    assert found is not None
    assert found.name == "intent 7"
    assert len(expressions.candidates(words)) <= 2
    assert expressions.candidates("none of these words " * 1_000) == []


@pytest.mark.parametrize(
    ("keyword", "text", "is_found"),
    [
        ("чат", "открой Чат, пожалуйста", True), ("чат", "печатать", False), ("счет", "расчет", False),
        ("été", "cet ÉTÉ-là", True), ("été", "répétée", False), ("gro", "groß", False), ("gross", "GROẞ", True),
        ("caf", "café", False), ("caf", "cafe\u0301", False), ("cafe", "cafe\u0301", False), ("नम", "नमस्ते", False),
        ("refund", "refund→now", True), ("sim", "SIMカード", True), ("返金", "返金する", True), ("환불", "환불을", True),
        ("คืน", "ขอคืนเงิน", True), ("c++", "c++é", True), ("a b", "xa ba b", False), ("a b", "xa b a b", True),
    ],
)  # fmt: skip
def test_keywords_are_whole_words_in_scripts_with_spaces_between_words(
    keyword: str, text: str, *, is_found: bool
) -> None:
    intents = [Intent(name="sought", keywords=[keyword])]
    assert (Expressions(intents).find(text) is not None) is is_found
    assert (Expressions([*intents, *MANY]).find(text) is not None) is is_found


words = st.text("aKksİé_1+ ß字\u0301", min_size=1, max_size=6).filter(str.strip)


@given(st.lists(words, max_size=4), words)
def test_the_same_keyword_is_found_as_by_looking_for_each(keywords: list[str], text: str) -> None:
    def is_in_text(keyword: str) -> bool:
        sought, folded = keyword.casefold(), text.casefold()
        places = [at for at in range(len(folded)) if folded.startswith(sought, at)]

        def is_end(at: int) -> bool:
            return at in {0, len(folded)} or not set(folded[at - 1 : at + 1]) <= set("aksié_1\u0301\u0307")

        return any(is_end(at) and is_end(at + len(sought)) for at in places)

    found = Expressions([Intent(name=keyword, keywords=[keyword]) for keyword in keywords]).find(text)

    assert (found.name if found else None) == next((one for one in keywords if is_in_text(one.strip())), None)


def test_letters_that_are_the_same_in_another_case_are_plain_ones() -> None:
    expressions = Expressions([Intent(name="book", keywords=["boo\N{KELVIN SIGN}ing\N{LATIN SMALL LETTER LONG S}"])])
    assert expressions.find("my bookings") is not None
    assert expressions.find("MY BOO\N{KELVIN SIGN}INGS") is not None


# --- examples: a stand-in for a model whose vectors are known -------------------------------------------------------

VECTORS = {
    "money": (1.0, 0.0),
    "rain": (0.0, 1.0),
    "mostly money": (0.8, 0.6),
    "unclear": (0.6, 0.8),
    "far": (-1.0, 0.0),
}
BY_EXAMPLE = [
    Intent(name="refund", examples=["money"]),
    Intent(name="weather", keywords=["sun"], examples=["rain"], threshold=0.9),
]


def embed(text: str) -> Sequence[float]:
    return VECTORS[text]


@pytest.mark.parametrize(
    ("words", "intent", "reason"),
    [
        ("mostly money", "refund", "example 'money', similarity 0.80"),
        ("rain", "weather", "example 'rain', similarity 1.00"),
        ("unclear", "refund", "example 'money', similarity 0.60"),  # nearer to rain, not near enough for weather
        ("far", None, "no keyword, regex or example of an intent matches the user's text"),
    ],
)
def test_the_most_similar_example_above_its_threshold(words: str, intent: str | None, reason: str) -> None:
    found = build_classifier(BY_EXAMPLE, embed)(words)
    assert (found.name, found.reason) == (intent, reason)


def test_a_text_with_a_keyword_is_not_embedded() -> None:
    assert build_classifier(BY_EXAMPLE, embed)("the sun, a text without vector").by == "keyword"


@pytest.mark.parametrize("words", ["", "  \n"])
def test_an_empty_text_is_similar_to_no_example(words: str) -> None:
    assert build_classifier(BY_EXAMPLE, embed)(words).by == "none"


def test_without_embeddings_examples_are_ignored() -> None:
    assert build_classifier(BY_EXAMPLE)("money").name is None


def test_an_example_that_cannot_be_embedded_raises_when_rules_are_loaded() -> None:
    with pytest.raises(KeyError, match="unknown"):
        build_classifier([Intent(name="refund", examples=["unknown"])], embed)
