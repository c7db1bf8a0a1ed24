"""What texts have in common is an expression that matches them, says something, and comes of limited memory."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.learning.text_shapes import MAX_TEXT, TextShapes


def expression(texts: list[str], noise: float = 0.0) -> str | None:
    shapes = TextShapes()
    for text in texts:
        shapes.add(text)
    return shapes.expression(noise)


def numbered(pattern: str, count: int = 30) -> list[str]:
    return [pattern.format(number) for number in range(count)]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (numbered("ORD-{:04}"), r"^ORD\-[0-9]{4}$"),
        (numbered("ORD-{}"), r"^ORD\-[0-9]+$"),
        (numbered("ORD-{:04}", 19), r"^ORD\-[0-9]+$"),  # too few to believe the length
        (["paris", "rome", "oslo"], None),  # any word
        (["same"] * 5, "^same$"),
        (["a.b"] * 5, r"^a\.b$"),
        (["12", "7", "999"], None),  # any number
        (["x1", "y22", "z3"], "^[a-z]+[0-9]+$"),
        (["é-1", "é-2"], r"^é\-[0-9]+$"),
        (["https://a.example/1", "http://b.example/x?y"], "^https?://"),
        (["a@b.example", "c.d@e.example"], r"^[^@\s]+@[^@\s]+$"),
        (["two words", "and more of them"], None),
        (["", ""], None),
        ([], None),
    ],
)
def test_what_texts_have_in_common(texts: list[str], found: str | None) -> None:
    assert expression(texts) == found


def test_hexadecimal_ids_are_one_shape_although_their_letters_vary() -> None:
    ids = [f"req_{number * 2654435761 % 2**32:08x}" for number in range(40)]
    found = expression(ids, noise=0.1)
    assert found is not None
    assert sum(re.search(found, text) is not None for text in ids) >= 36
    assert not re.search(found, "ORD-1")
    assert found.startswith("^req_[")


@pytest.mark.parametrize(("odd", "found"), [(3, "^n[0-9]+$"), (4, None)])
def test_a_share_of_noise_may_be_otherwise(odd: int, found: str | None) -> None:
    assert expression([f"n{10**number}" for number in range(30 - odd)] + ["?!"] * odd, noise=0.1) == found


def test_a_literal_may_be_another_in_a_share_of_noise() -> None:
    assert expression(["EU-1"] * 19 + ["US-1"], noise=0.1) == r"^EU\-1$"
    assert expression(["EU-1"] * 19 + ["US-1"], noise=0.01) == r"^[A-Z]{2}\-1$"


def test_what_several_literals_leave_out_is_no_more_than_noise_together() -> None:
    texts = ["EU-1-a"] * 17 + ["US-1-a", "EU-2-a", "EU-1-b"]
    found = expression(texts, noise=0.1)
    assert found == r"^EU\-1\-[a-z]{1}$"
    assert sum(re.search(found, text) is not None for text in texts) == 18


@given(st.lists(st.from_regex(r"[AB][12]?-[xy]", fullmatch=True), min_size=1, max_size=30), st.floats(0, 0.5))
def test_an_expression_matches_all_texts_but_a_share_of_noise(texts: list[str], noise: float) -> None:
    found = expression(texts, noise)
    assert found is None or sum(re.search(found, text) is not None for text in texts) >= (1 - noise) * len(texts)


def test_prose_is_no_identifier() -> None:
    assert expression(["x" * MAX_TEXT] * 3) == f"^{'x' * MAX_TEXT}$"
    assert expression(["x" * (MAX_TEXT + 1)] * 3) is None
    assert expression(["a\u2003b"] * 3) is None


@given(
    st.lists(st.text(st.sampled_from("ab9Z-.é²$^\\\u0301[)"), max_size=8) | st.text(max_size=4), min_size=1, max_size=8)
)
def test_without_noise_the_expression_matches_every_text(texts: list[str]) -> None:
    found = expression(texts)
    assert found is None or all(re.search(found, text) for text in texts)


@given(st.permutations(["A-1", "A-22", "B-3", "c", "A-4", "D5", "A-6"]))
def test_the_order_of_texts_makes_no_difference(texts: list[str]) -> None:
    assert expression(texts, 0.3) == r"^[A-Z]+\-[0-9]+$"


def test_memory_is_limited_whatever_comes() -> None:
    shapes = TextShapes()
    for number in range(2_000):
        shapes.add("".join("a-1"[digit % 3] for digit in (number // 3**place for place in range(7))))
        shapes.add(f"{number}" * 30)
    assert len(shapes._shapes) <= 20
    assert all(len(token.texts) <= 8 for _, tokens in shapes._shapes.values() for token in tokens)
    assert shapes.expression(0.0) is None
