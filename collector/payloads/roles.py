"""Who wrote a message of a conversation, in the words of every provider and framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

USER_ROLES: Final = frozenset({"user", "human", "humanmessage"})
MODEL_ROLES: Final = frozenset({"assistant", "model", "ai", "aimessage", "aimessagechunk"})
OTHER_ROLES: Final = USER_ROLES | {"tool", "function", "system", "developer"}
"""Roles of all others than the model."""
_KNOWN_ROLES: Final = MODEL_ROLES | OTHER_ROLES

_TYPES_OF_MESSAGES: Final = ("human", "ai", "system", "tool")
_SHORTHAND_ROLES: Final = ("user", "human", "system", "assistant", "ai")


def plain_role(role: object) -> str | None:
    """Returns a role in lower case and without its class, ``user`` for ``MessageRole.USER``; None if it is no text."""
    if not isinstance(role, str):
        return None
    return role if role in _KNOWN_ROLES else role.rpartition(".")[2].lower()


def role_of(item: object) -> str | None:
    """Returns the role of a message, lower case; None if ``item`` is no message (a content part, a plain text)."""
    if isinstance(item, (list, tuple)) and len(item) == 2 and item[0] in _SHORTHAND_ROLES:
        return str(item[0])  # LangChain's shorthand
    if not isinstance(item, Mapping):
        return None
    constructor = item.get("id")
    if "lc" in item and isinstance(constructor, list) and constructor:  # LangChain's serialized message
        return str(constructor[-1]).lower()
    inner = item.get("message")
    if isinstance(inner, Mapping) and "role" not in item:
        return role_of(inner)
    kind = item.get("type") if "content" in item and item.get("type") in _TYPES_OF_MESSAGES else None
    return plain_role(item.get("role", item.get("_role", kind)))
