"""Intents found by keyword, regex or example: their order, and the reason given."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from scorers.rules.intents import build_classifier
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
