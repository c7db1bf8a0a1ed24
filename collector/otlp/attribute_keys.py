"""Which attributes are decoded, by their keys as they are encoded; and the short ones that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from collector.model.semconv import OWN_PREFIXES
from collector.otlp.tags import KEY, STRING
from collector.payloads.attribute_shapes import MAX_LOOKED_AT, Tells, may_tell_of_call

_MAX_VALUES: Final = 256  # cached per key; one with more holds ids or texts, which do not repeat
_MAX_CACHED: Final = 4096  # keys come from senders, so the caches are bounded
_SCALAR_TAGS: Final = (0x10, 0x18, 0x21)  # of AnyValue.bool_value, int_value and double_value
ONE_BYTE: Final = 128  # lengths below this take one byte


class AttributeKey:
    """What is known of a key of attributes, and which attributes of it are cached: names and kinds repeat."""

    __slots__ = ("cached", "is_selected", "name")

    def __init__(self, name: str, *, is_selected: bool = True) -> None:
        self.name, self.is_selected = name, is_selected
        self.cached: list[bytes] | None = None


_NOT_SELECTED: Final = AttributeKey("", is_selected=False)


class AttributeKeys:
    """Which keys are selected: exact ones, and those with certain prefixes.

    Rightcall's own keys are selected as exact ones alone: what an earlier collector wrote on a span is no evidence of the run.
    """

    def __init__(self, attributes: Iterable[str], prefixes: Iterable[str]) -> None:
        self._exact, self._prefixes = frozenset(attributes), tuple(prefixes)
        self.by_bytes: dict[bytes, AttributeKey] = {}
        """What is known of keys, as they are encoded: a bounded cache."""
        self.strings: dict[bytes, tuple[str, str]] = {}
        """Key and value of short attributes that are selected and repeat, as they are encoded: a bounded cache."""
        self._tells: dict[bytes, Tells] = {}

    def look_up(self, key: bytes) -> AttributeKey:
        """Returns what is known of a key that is not cached."""
        text = key.decode("utf-8", "replace")
        is_selected = text in self._exact or (text.startswith(self._prefixes) and not text.startswith(OWN_PREFIXES))
        known = AttributeKey(text) if is_selected else _NOT_SELECTED
        if len(self.by_bytes) < _MAX_CACHED and len(key) < ONE_BYTE:
            self.by_bytes[key] = known
            if is_selected:
                known.cached = []
        return known

    def is_selected(self, key: bytes) -> bool:
        """Whether values under this key are decoded."""
        return (self.by_bytes.get(key) or self.look_up(key)).is_selected

    def text(self, key: AttributeKey, attribute: bytes, start: int) -> str:
        """Returns the string that begins there and ends an attribute. Raises UnicodeDecodeError."""
        text = attribute[start:].decode()
        cached = key.cached
        if cached is not None and len(attribute) < ONE_BYTE and attribute not in self.strings:
            if len(cached) == _MAX_VALUES:
                for each in cached:
                    del self.strings[each]
                key.cached = None
            elif len(self.strings) < _MAX_CACHED:
                self.strings[attribute] = key.name, text
                cached.append(attribute)
        return text

    def _tell(self, key: bytes) -> Tells:
        """Returns which values under this key may be of a call, and are not decoded."""
        # Not for each key that is looked up: its words take longer to look at than all else of an attribute.
        if (self.by_bytes.get(key) or self.look_up(key)).is_selected:
            return "never"
        text = key.decode("utf-8", "replace")
        tells: Tells = "never" if text.startswith(OWN_PREFIXES) else may_tell_of_call(text)
        if len(self._tells) < _MAX_CACHED and len(key) < ONE_BYTE:
            self._tells[key] = tells
        return tells

    def hides_call(self, attributes: Sequence[bytes]) -> bool:
        """Whether one of the encoded attributes is not selected and may be a tool's name or a part of its input."""
        if len(attributes) > MAX_LOOKED_AT:
            return True
        for attribute in attributes:  # noqa: SIM110 - a generator or `map` takes longer in the compiled build
            if self._is_of_call(attribute):
                return True
        return False

    def _is_of_call(self, attribute: bytes) -> bool:
        try:
            if attribute[0] != KEY or attribute[1] >= ONE_BYTE:  # protobuf would have to read it, too
                return True
            end = attribute[1] + 2
            name = attribute[2:end]
            tells = self._tells.get(name) or self._tell(name)
            if tells != "object":
                return tells == "always"
            # 12 <length> 0a <length> <text>, or another kind of value.
            kind = attribute[end + 2]
            if kind == STRING and attribute[end + 1] < ONE_BYTE:
                return attribute[end + 4 : end + 5] == b"{"
            return attribute[end + 1] >= ONE_BYTE or kind not in _SCALAR_TAGS
        except IndexError:
            return True
