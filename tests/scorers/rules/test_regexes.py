"""Regular expressions: linear time, clear refusals, any text."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scorers.rules.regexes import common_beginning, common_part, compile_regex, compile_test, escape, is_match


@pytest.mark.parametrize(
    ("expression", "text", "expected"),
    [
        ("^ord_", "ord_7", True),
        ("^ord_", "my ord_7", False),
        ("ord_", "my ord_7", True),
        ("^.$", "\ud800", True),  # a lone surrogate is one character that UTF-8 cannot carry
        ("é", "café", True),
        ("^(a+)+$", "a" * 5_000 + "b", False),  # a backtracking engine would not come back
    ],
)
def test_matches(expression: str, text: str, *, expected: bool) -> None:
    assert is_match(compile_regex(expression), text) is expected


@pytest.mark.parametrize("expression", ["(?=a)", r"(a)\1", "(", "a{1000}{1000}", "(" * 2_000])
def test_expressions_that_need_more_than_linear_time_are_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="RE2"):
        compile_regex(expression)


@pytest.mark.parametrize("text", ["a.b", "C++", "[x]", "^$", "\\d", "é"])
def test_escaped_text_matches_itself(text: str) -> None:
    expression = compile_regex(f"^{escape(text)}$")

    assert is_match(expression, text)
    assert not is_match(expression, text + "x")


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("refund", "refund"),
        (r"^a+b\.c$", "b.c"),
        ("ab*cde?f", "cd"),
        ("x{2}yz{3,}", "y"),
        (r"\d+-orders[0-9]", "-orders"),
        (r"[]a]b[^]c\]d]", "b"),
        ("[[:alpha:]]shop", ""),
        ("a|b", ""),
        ("(?i)shop", ""),
        (r"\x{61}shop", ""),
        (r"\Qa*b\E", ""),
        ("", ""),
    ],
)
def test_what_every_match_contains(expression: str, part: str) -> None:
    assert common_part(expression) == part


parts = st.sampled_from(["a", "b", r"\.", r"\?", ".", "[ab]", "[^]a]", r"\d", "^", "$", "é"])
times = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,2}", "+?"])


@given(st.lists(st.tuples(parts, times), max_size=6), st.text("ab.?1é\ud800", max_size=8))
def test_whatever_matches_contains_it(drawn: list[tuple[str, str]], text: str) -> None:
    expression = "".join(part + ("" if part in {"^", "$"} else often) for part, often in drawn)

    if is_match(compile_regex(expression), text):
        assert common_part(expression) in text


@pytest.mark.parametrize(
    ("expression", "beginning"),
    [
        ("^/orders?$", "/order"),
        (r"\Aab+", "ab"),
        (r"^/orders?\b", ""),
        (r"^ab?\B", ""),
        ("^a|b", ""),
        ("^*a", ""),
        ("a", ""),
    ],
)
def test_what_every_match_begins_with(expression: str, beginning: str) -> None:
    assert common_beginning(expression) == beginning


optional_parts = st.sampled_from(["a", "b?", "(ab)?", "a+", "[ab]", r"\b", r"\B", "$", "é*", "a{1,2}"])


@given(st.lists(optional_parts, max_size=4), st.text("ab.é_\n", max_size=5))
def test_whatever_matches_begins_with_it(drawn: list[str], text: str) -> None:
    expression = "^" + "".join(drawn)

    if is_match(compile_regex(expression), text):
        assert text.startswith(common_beginning(expression))


literal_parts = st.sampled_from(["a", "b", r"\.", r"\?", r"\$", r"\^", r"\ ", r"\_", ".", "|", "é", "{", "-", "(?i)"])


@given(
    st.sampled_from(["", "^", r"\A"]), st.lists(literal_parts, max_size=4), st.sampled_from(["", "$", r"\z"]),
    st.text("aAb.?$^ _|é{-\n\ud800", max_size=6),
)  # fmt: skip
def test_a_literal_is_compared_as_the_engine_would(start: str, drawn: list[str], end: str, text: str) -> None:
    expression = start + "".join(drawn) + end
    try:
        compiled = compile_regex(expression)
    except ValueError:
        assume(condition=False)

    assert compile_test(expression)(text) == is_match(compiled, text)


@pytest.mark.parametrize("character", [chr(code) for code in range(32, 127) if not chr(code).isalnum()])
@pytest.mark.parametrize("others", [(), ("?", "_", "\ud800", "a")])
def test_an_escaped_character_is_compared_as_the_engine_would(character: str, others: tuple[str, ...]) -> None:
    expression = f"^\\{character}$"
    compiled = compile_regex(expression)

    assert [compile_test(expression)(text) for text in (character, *others)] == [
        is_match(compiled, text) for text in (character, *others)
    ]
