"""Who wrote a message."""

from __future__ import annotations

import pytest

from collector.payloads.roles import MODEL_ROLES, OTHER_ROLES, USER_ROLES, plain_role, role_of


@pytest.mark.parametrize(
    ("role", "plain"),
    [
        ("user", "user"),
        ("User", "user"),
        ("MessageRole.ASSISTANT", "assistant"),
        ("", ""),
        (None, None),
        (["user"], None),
    ],
)
def test_a_role_in_any_spelling(role: object, plain: str | None) -> None:
    assert plain_role(role) == plain


def test_nobody_is_the_model_and_another() -> None:
    assert not MODEL_ROLES & OTHER_ROLES
    assert USER_ROLES <= OTHER_ROLES


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"role": "User", "content": "hi"}, "user"),
        ({"type": "ai", "content": "hi"}, "ai"),
        ({"type": "text", "content": "hi"}, None),
        (("human", "hi"), "human"),
        ({"message": {"role": "model"}}, "model"),
        ({"lc": 1, "id": ["langchain", "schema", "HumanMessage"], "kwargs": {}}, "humanmessage"),
        ("hi", None),
    ],
)
def test_the_role_of_a_message(message: object, role: str | None) -> None:
    assert role_of(message) == role
