"""What is taken for a mask that was recorded in the place of a value."""

from __future__ import annotations

from typing import Any

import pytest

from scorers.rules.masks import is_masked
from scorers.work import MAX_WORK, Work, WorkLimitError


@pytest.mark.parametrize(
    "value",
    [
        "[REDACTED]", "[redacted]", "<redacted>", "__REDACTED__", "[REDACTED_PERSON_1]", "***", "****", "**********",
        "card ****, two of them", "mail [redacted] to Ann", "[Scrubbed due to 'password']", "[Filtered]", "<masked>",
        "the first words ...[truncated]", "[truncated: 31 characters]", {"user": {"mails": ["x", "[REDACTED]"]}}, ["****"],
    ],
)  # fmt: skip
def test_masks(value: Any) -> None:
    assert is_masked(value, Work())


@pytest.mark.parametrize(
    "value",
    [
        "redacted", "the [redactedness]", "a ** b", "**bold** ***both***", "<EMAIL>", "{name}", "[1]", "REDACTED]", "[redacted",
        "[redacted" + "x" * 200 + "]", "__init__", "", 7, None, True, [], {}, {"[REDACTED]": 1}, object(),
    ],
)  # fmt: skip
def test_what_is_no_mask(value: Any) -> None:
    assert not is_masked(value, Work())


def test_what_is_looked_at_is_bounded_and_paid_for() -> None:
    assert not is_masked([*range(2_000), "****"], Work())
    assert not is_masked("x" * 20_000 + "****", Work())
    deep: Any = "****"
    for _ in range(5_000):
        deep = [deep]
    assert not is_masked(deep, Work())
    work = Work()
    is_masked("x" * 8_000, work)
    assert MAX_WORK - work.left == 32
    with pytest.raises(WorkLimitError, match="masks in arguments"):
        is_masked(["[" * 20_000] * 1_000, Work())
