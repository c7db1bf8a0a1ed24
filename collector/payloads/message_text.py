"""Finds the newest text of one speaker in recorded messages of any format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from collector.payloads.roles import role_of
from collector.payloads.values import name_of, parse_any

MAX_CHARS: Final = 8_192
"""Longest text that is returned."""
MAX_DEPTH: Final = 12
MAX_ITEMS: Final = 10_000
"""How many messages of a list are searched, the newest ones."""
MAX_PARTS: Final = 64
"""How many parts of one message are joined."""


class MessageText:
    """Searches strings, objects and lists for one speaker's text. A subclass names the speaker, keys and exceptions."""

    roles: frozenset[str]
    """Roles of the wanted speaker, lower case."""
    keys: tuple[str, ...]
    """Keys of an object that may hold the text, the most reliable first. Any other key holds something else."""
    skipped_types: frozenset[str]
    """Types of message parts that are not text."""

    def find(self, value: object) -> str | None:
        """Returns the newest text of the speaker, of at most MAX_CHARS; None if there is none or it is uncertain."""
        text = self.text(value, 0)
        return text[:MAX_CHARS] if text else None

    def is_message_repr(self, text: str) -> bool:
        """Whether ``text`` is the Python repr of a message, so that its text has to be extracted."""
        raise NotImplementedError

    def text_of_repr(self, text: str) -> str | None:
        """Returns the speaker's text in the Python repr of a message."""
        raise NotImplementedError

    def is_skipped(self, value: Mapping[Any, Any]) -> bool:
        """Whether an object, or a part of a message, holds no text of the speaker."""
        return name_of(value.get("type")) in self.skipped_types

    def text_of_field(self, key: str, value: object, depth: int) -> str | None:
        """Returns the text under one of ``keys``."""
        return self.text(value, depth)

    def text(self, value: object, depth: int) -> str | None:
        """Returns the newest text in ``value``, which is nested ``depth`` levels deep."""
        if depth > MAX_DEPTH:
            return None
        value = parse_any(value)
        if isinstance(value, str):
            return self.text_of_repr(value) if self.is_message_repr(value) else value.strip() or None
        if isinstance(value, Mapping):
            return self._text_of_object(value, depth)
        if isinstance(value, (list, tuple)):
            # From the end: the newest text is wanted, however long the history is.
            return self._text_of_list(value[-MAX_ITEMS:], depth)
        return None

    def _text_of_object(self, value: Mapping[Any, Any], depth: int) -> str | None:
        if self.is_skipped(value):
            return None
        for key in self.keys:
            inner = value.get(key)
            if inner:
                text = self.text_of_field(key, inner, depth + 1)
                if text is not None:
                    return text
        if len(value) == 1:  # a wrapper under a name of the user's choice
            (inner,) = value.values()
            return self.text(inner, depth + 1) if isinstance(inner, (Mapping, list)) else None
        return None

    def _text_of_list(self, items: Sequence[Any], depth: int) -> str | None:
        roles = [role_of(item) for item in items]
        # With roles these are messages, of which the newest counts. Without, they are the parts of one message.
        if any(role is not None for role in roles):
            own = (item for item, role in zip(reversed(items), reversed(roles), strict=True) if role in self.roles)
            return self._newest((item if isinstance(item, Mapping) else item[1] for item in own), depth)
        if any(isinstance(item, str) and self.is_message_repr(item) for item in items[:MAX_PARTS]):
            return self._newest(reversed(items), depth)
        texts = [text for item in items[:MAX_PARTS] if (text := self.text(item, depth + 1)) is not None]
        return "\n".join(texts) if texts else None

    def _newest(self, items: Iterable[Any], depth: int) -> str | None:
        return next((text for item in items if (text := self.text(item, depth + 1)) is not None), None)
