"""Text from outside is valid Unicode once it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorers.unicode import JSONDecoder, valid_unicode
from tests.strategies import hostile_text

values = st.recursive(
    st.none() | st.booleans() | st.integers() | hostile_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(hostile_text, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_what_json_says_can_always_be_encoded(value: Any) -> None:
    assert json.dumps(JSONDecoder().decode(json.dumps(value)), ensure_ascii=False).encode()


@given(
    st.recursive(
        st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
    )
)
def test_valid_text_is_what_the_standard_library_reads(value: Any) -> None:
    written = json.dumps(value)
    assert JSONDecoder().decode(written) == json.loads(written)
    assert valid_unicode(value) == value


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r'"delete_\ud800"', "delete_\ufffd"),
        (r'"\uDFFF"', "\ufffd"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\ude00\ud83d"', "\ufffd\ufffd"),
        (r'"\\ud83d\ude00"', "\\ud83d\ufffd"),  # not a pair: the first is no escape
        (r'"\ud83dx\ude00"', "\ufffdx\ufffd"),
        (r'"\\ud800"', r"\ud800"),
    ],
)
def test_half_of_a_pair_is_replaced(written: str, text: str) -> None:
    assert JSONDecoder().decode(written) == text
    assert JSONDecoder().decode(f"[{{{written}: {written}}}]") == [{text: text}]


def test_every_container_of_a_python_literal_is_searched() -> None:
    assert valid_unicode(("\ud800", {"\ud800"}, {("\ud800", 1): b"x"})) == ("\ufffd", {"\ufffd"}, {("\ufffd", 1): b"x"})
