"""Embeddings have the published similarities, and find the intents in the user input of recorded runs."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from operator import mul
from pathlib import Path

import pytest

from collector.scoring.embeddings import Embeddings, installed
from scorers import Intent
from scorers.rules.intents import build_classifier
from tests import recorded

needs_model = pytest.mark.skipif(installed() is None, reason="the extra `semantic` or its model is not installed")


def similarity(embed: Embeddings, one: str, other: str) -> float:
    return float(sum(map(mul, embed(one), embed(other))))


@pytest.fixture(scope="module")
def embed() -> Embeddings:
    found = installed()
    assert found is not None
    return found


@needs_model
@pytest.mark.parametrize(
    ("other", "published"),
    [
        ("That is a happy dog", 0.695),
        ("That is a very happy person", 0.943),
        ("Today is a sunny day", 0.257),
    ],
)
def test_similarities_are_those_published_with_the_model(embed: Embeddings, other: str, published: float) -> None:
    assert similarity(embed, "That is a happy person", other) == pytest.approx(published, abs=0.001)


@needs_model
@pytest.mark.parametrize("text", ["refund", "", "\ud800", "word " * 20_000, "\x00", "退款"])
def test_any_text_is_a_unit_vector(embed: Embeddings, text: str) -> None:
    vector = embed(text)
    assert len(vector) == 384
    assert sum(map(mul, vector, vector)) == pytest.approx(1.0)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="the extra `semantic` is not installed")
    with pytest.raises(
        FileNotFoundError, match=r"model.safetensors: missing; embeddings are not installed; in a checkout: pip"
    ):
        Embeddings(tmp_path)("text")


# --- the user input of recorded runs ---------------------------------------------------------------------------------

INTENTS = {
    "What is the weather in Paris and London? Then book flight AF123 for Ada Lovelace (36).": "travel",
    "Find a flight from Paris to Rome on 2026-03-01, book the cheapest one for Ada and mail the receipt.": "travel",
    "Ask the policy specialist about refunds for order 42, then mail the answer to ada@example.com.": "refund",
    "I want to know the refund policy.": "refund",
    "My order 17 has not arrived, I want a refund.": "refund",
    "Charge the card for order 42, 10.50 EUR. Retry once if it fails.": "payment",
    "Charge 42.50 EUR to my card and mail the receipt.": "payment",
    "Now charge the card for order 42, 10.50 EUR.": "payment",
    "Compare the weather in Paris and Rome, tell me the time in Rome, then mail me a summary.": "weather",
    "What is the weather in Oslo?": "weather",
    "What is the weather in Paris?": "weather",
    "Say hello.": None,
    "What is the weather in Paris and London? Then book flight AF123 for Ada Lovelace.": "travel",
    "Book flight AF123 for Ada Lovelace.": "travel",
    "Ask the policy agent about refunds, then mail the answer to ada@example.com.": "refund",
    "Refund order 42, 10.50 EUR, and delete the account u-7.": "refund",
    "Roll two dice at once, then another.": None,
    "Weather in Paris and London, then charge order 42.": "weather",
    "Weather in Paris and London, then read the file": "weather",
}

BY_KEYWORD = [
    Intent(name="travel", keywords=["flight", "hotel"], regex=r"(?i)\bbook(ed|ing)? "),
    Intent(name="refund", keywords=["refund", "refunds", "money back"]),
    Intent(name="payment", regex=r"(?i)\b(charge|pay)\b.*\b(card|eur|usd)\b"),
    Intent(name="weather", keywords=["weather", "forecast"]),
]
BY_EXAMPLE = [  # none is worded like the user input
    Intent(name="travel", examples=["I need plane tickets to Berlin for my wife", "reserve me a seat to Madrid"]),
    Intent(name="refund", examples=["give me my money back", "can I return this purchase?"]),
    Intent(name="payment", examples=["take the payment from my credit card", "bill my Visa for 20 dollars"]),
    Intent(name="weather", examples=["will it rain in Berlin today?", "how hot is it in Madrid?"]),
]
TWO_REQUESTS = {  # a flight, and before it the weather
    "What is the weather in Paris and London? Then book flight AF123 for Ada Lovelace (36).",
    "What is the weather in Paris and London? Then book flight AF123 for Ada Lovelace.",
}


FOREIGN = [
    "Summarise this PDF",
    "What is the capital of France?",
    "Reset my password",
    "Translate this to German",
    "Who are you?",
    "Delete my account",
    "Where is my parcel?",
    "What are your opening hours?",
    "My laptop does not start",
    "Give me a recipe for pancakes",
    "Cancel my subscription",
    "Schedule a meeting with Bob tomorrow",
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """Returns each user input in the recorded runs, and in how many runs it occurs."""
    folder = tmp_path_factory.mktemp("recorded")
    recorded.unpack(folder)
    truths = [recorded.truth(folder / name) for name in recorded.names()]
    parts = [[*(truth.get("per_agent") or {}).values(), *(truth.get("turns") or ())] or [truth] for truth in truths]
    return Counter(words for part in chain.from_iterable(parts) if (words := part["user_input"]))


def misclassified(
    intents: list[Intent], inputs: Counter[str], embed: Embeddings | None = None
) -> dict[str, str | None]:
    """Returns the inputs whose intent is not found, with what was found instead."""
    classify = build_classifier(intents, embed)
    return {words: found for words in inputs if (found := classify(words).name) != INTENTS[words]}


def test_keywords_and_regexes_find_the_intents(inputs: Counter[str]) -> None:
    assert set(inputs) == set(INTENTS)
    assert misclassified(BY_KEYWORD, inputs) == {}


@needs_model
def test_examples_find_most_intents_and_no_wrong_ones(inputs: Counter[str], embed: Embeddings) -> None:
    wrong = misclassified(BY_EXAMPLE, inputs, embed)
    assert len(wrong) == 8  # of 19 sentences
    assert set(wrong.values()) == {None}  # too far from every example; never another intent


@needs_model
def test_a_lower_threshold_finds_all_but_two_requests_in_one(inputs: Counter[str], embed: Embeddings) -> None:
    lower = [intent.model_copy(update={"threshold": 0.3}) for intent in BY_EXAMPLE]
    assert misclassified(lower, inputs, embed) == dict.fromkeys(TWO_REQUESTS, "weather")
    assert sum(inputs[words] for words in TWO_REQUESTS) / inputs.total() == pytest.approx(0.25, abs=0.01)


@needs_model
def test_unrelated_inputs_have_no_intent(embed: Embeddings) -> None:
    classify = build_classifier(BY_EXAMPLE, embed)
    assert [classify(words).name for words in FOREIGN] == [None] * len(FOREIGN)
