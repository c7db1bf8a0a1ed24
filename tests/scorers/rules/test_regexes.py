"""Regular expressions: linear time, clear refusals, any text."""

from __future__ import annotations

import pytest

from scorers.rules.regexes import compile_regex, escape, is_match


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
