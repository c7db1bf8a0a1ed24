"""Made sections of Markdown: only what is between the marks is replaced."""

from __future__ import annotations

import pytest

from tests import marked

TEXT = "a\n<!-- one: by hand -->\nold\n<!-- end of one -->\nb\n<!-- two: too -->\n<!-- end of two -->\n"


def test_what_stands_between_the_marks_is_replaced() -> None:
    assert marked.replaced(TEXT, "one", "new\n") == TEXT.replace("old", "new")
    assert marked.replaced(TEXT, "two", "x\n") == TEXT.replace("too -->\n", "too -->\nx\n")


@pytest.mark.parametrize("text", ["", "<!-- one: by hand -->\n", "<!-- one: by hand\n<!-- end of one -->"])
def test_a_missing_mark_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no section marked one"):
        marked.replaced(text, "one", "new")
