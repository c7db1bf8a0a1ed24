"""What must not leave: configuration ``redact``, applied to spans, events and logs on their way out.

Scoring comes first: rules may look at arguments that nobody downstream shall see. So the spool holds spans as they came;
it is readable for its own user only. Resources and scopes, the names of spans and attributes, and trace state are not looked
at.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from collector.config.model import RedactionConfig
from collector.config.patterns import compile_glob, compile_pattern
from collector.model.genai_span import Told
from collector.otlp.redact import MASK, MAX_WORK, Redactor

_MASK = MASK.decode()
_MAX_KNOWN, _MAX_KEY = 4096, 256  # keys come from senders, so how many are remembered, and how long, is bounded


class Redaction:
    """Redacts by ``config``. Patterns are matched in linear time, whatever is sent."""

    def __init__(self, config: RedactionConfig) -> None:
        keys = [compile_glob(glob) for glob in config.attributes]
        patterns = [compile_pattern(pattern) for pattern in config.patterns]
        self.pass_through = config.pass_through and bool(keys or patterns)
        self.active = bool(keys or patterns)
        self.hides_attributes, self._has_patterns = bool(keys), bool(patterns)
        self._known: dict[bytes, bool] = {}

        def hides(key: bytes) -> bool:
            known = self._known.get(key)
            if known is None:
                known = any(expression.match(_valid(key)) for expression in keys)
                if len(self._known) < _MAX_KNOWN and len(key) <= _MAX_KEY:
                    self._known[key] = known
            return known

        def masked(text: bytes, most: int) -> tuple[bytes, int]:
            changed, total = _valid(text), 0
            for expression in patterns:
                changed, count = expression.subn(MASK, changed, most)
                total += count
            return (_valid(changed) if total else text), total  # `\C` takes a byte of a character

        self._masked, self._hides = masked, hides
        self._redactor = Redactor(hides, masked)

    def span(self, raw: bytes) -> bytes:
        """A span as it may leave."""
        return self._redactor.span(raw) if self.active else raw

    def log_record(self, raw: bytes) -> bytes:
        """A log record, or an evaluation event, as it may leave."""
        return self._redactor.log_record(raw) if self.active else raw

    def hides(self, attribute: str) -> bool:
        """Whether the values of this attribute must not leave."""
        return self._hides(attribute.encode())

    def decoded(self, value: Any) -> Any:
        """Decoded data as it leaves but for patterns: in maps, at any depth, the values of hidden attributes are masked."""
        if isinstance(value, Mapping):
            return {key: _MASK if self.hides(key) else self.decoded(inner) for key, inner in value.items()}
        return [self.decoded(inner) for inner in value] if isinstance(value, list) else value

    def may_quote(self, hidden: Collection[Told]) -> bool:
        """Whether sentences may quote arguments of a run of which this is ``hidden``.

        A value that is shortened for a sentence may no longer be what a pattern would mask.
        """
        return not self._has_patterns and "arguments" not in hidden

    def text(self, text: str) -> str:
        """A text for people, such as what a user said, as it may be shown."""
        if not self.active:
            return text
        masked, count = self._masked(text.encode("utf-8", "replace"), MAX_WORK)
        # With as many matches as are masked at most, there may be more behind them.
        return (masked if count < MAX_WORK else MASK).decode("utf-8", "replace")


def _valid(text: bytes) -> bytes:
    """Returns a text that is UTF-8: no pattern matches what is not, which must not hide anything."""
    if text.isascii():
        return text
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace").encode()
    return text
