"""Reads a span that is like an earlier one but for ids, times and a few values, without decoding it.

An agent sends spans of few forms: the same name, keys and values, and only what identifies a call or a conversation differs.
What a dialect made of the first span of a form is copied for the others. A form is the bytes of a span with holes in it; a span
of that form has the same bytes around its holes. Whatever is not recognized is left to the decoder.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final

from collector.byte_cache import ByteCache
from collector.model.dialect import Reading
from collector.model.genai_span import AGENT, CopiedField, GenAISpan
from collector.model.span import Resource, Scope, Span
from collector.model.span_copies import like
from collector.otlp.span_fields import NO_PARENT, SpanFields, span_fields
from collector.otlp.tags import ATTRIBUTE, END, KEY, NAME, START, STRING, VALUE

_MAX_SIZE: Final = 16 << 10  # bytes of a span that is read here; lengths in it take up to two bytes
_MAX_LEARNED: Final = 4 << 10  # bytes of a span of which the form is kept
_MAX_FORMS: Final = 4  # of one name
_MAX_SCOPE: Final = 512  # characters of the name and version of a scope
_FORMS: Final = 4 << 20  # bytes of forms that are kept
_TRACE_ID: Final = b"\n\x10"  # tag and length
_SPAN_ID: Final = b"\x12\x08"
_PARENT: Final = b'"\x08'
_ROOT: Final = 28  # where the name of a span begins that has no parent, and of one that has
_CHILD: Final = 38
_times: Final = struct.Struct("<BQBQ").unpack_from
_TIMES: Final = 18  # bytes
_ONE_BYTE: Final = 128  # varints below this take one byte
_NO_RESOURCE: Final = Resource({})


class _Hole:
    """An attribute whose value differs: its key, encoded and as text, and the field that has its value; None for no field."""

    def __init__(self, head: bytes, key: str, field: CopiedField | None) -> None:
        self.head, self.key, self.field = head, key, field


class _Form:
    """The bytes of a span after its name, at ``start``: parts, with a hole between any two. ``model`` was read of it."""

    def __init__(
        self, scope: Scope, start: int, kind: bytes, parts: list[bytes], holes: list[_Hole], model: GenAISpan
    ) -> None:
        self.scope, self.start, self.kind, self.model = scope, start, kind, model
        self.parts, self.holes, self.has_attributes = parts, holes, bool(model.attributes)

    def values_in(self, raw: bytes, at: int) -> list[str] | None:
        """Returns the texts in the holes of a span whose attributes begin at ``at``; None if it is of another form."""
        values: list[str] = []
        try:
            for number, part in enumerate(self.parts):
                if number:
                    hole = self.holes[number - 1]
                    value, end = _value(raw, at, hole.head)
                    if not value:
                        return None
                    values.append("" if hole.field is None else _text(raw, value, end).decode())
                    at = end
                if part and raw[at : at + len(part)] != part:
                    return None
                at += len(part)
        except (IndexError, UnicodeDecodeError):  # cut off, no text, or one that has to be repaired
            return None
        return values if at == len(raw) else None


class _Known:
    """The forms of spans of one name, the newest last, and how many spans came since one had any of them."""

    def __init__(self) -> None:
        self.forms: list[_Form] = []
        self.missed = 0


class SpanForms:
    """The forms of the spans that were read lately, by their names."""

    def __init__(self, reading: Reading) -> None:
        self._reading, self._is_copied = reading, reading.is_copied
        self._known: ByteCache[bytes, _Known] = ByteCache(_FORMS)

    def read(self, raw: bytes, resource: Resource, scope: Scope) -> GenAISpan | None:
        """Returns what a dialect would make of a span; None if its form is not known."""
        start = _start_of_name(raw)
        if not start:
            return None
        at = start + 2 + raw[start + 1]
        known = self._known.get(raw[start:at])
        if known is None:
            return None
        for form in known.forms:
            times = at + len(form.kind)
            first = times + _TIMES
            if form.start != start or raw[at:times] != form.kind or len(raw) < first:
                continue
            # Identity first: to compare two that are equal takes longer than all else here.
            if form.scope is not scope and form.scope != scope:
                continue
            start_tag, start_ns, end_tag, end_ns = _times(raw, times)
            values = form.values_in(raw, first) if start_tag == START and end_tag == END else None
            if values is None:
                continue
            parent = raw[30:38] if start == _CHILD else b""
            read = like(form.model, raw[20:28], parent, start_ns, end_ns, resource)
            if self._fill(read, form, values):
                known.missed = 0
                return read
        return None

    def _fill(self, read: GenAISpan, form: _Form, values: list[str]) -> bool:
        """Put the values into the fields that copy them. Returns whether all are values that are copied."""
        for number, hole in enumerate(form.holes):
            field, value = hole.field, values[number]
            if field is None:
                continue
            if not self._is_copied(field, value):
                return False
            read.set_copied(field, value)
            if form.has_attributes and hole.key in read.attributes:
                read.attributes = {**read.attributes, hole.key: value}
        return True

    def learn(self, raw: bytes, span: Span, read: GenAISpan, is_selected: Callable[[bytes], bool]) -> None:
        """Remember the form of a span, given what was ``read`` of it, unless spans of its name repeat none.

        ``is_selected`` tells of each key whether its value may have told anything.
        """
        start = _start_of_name(raw)
        if not start or len(raw) > _MAX_LEARNED:
            return
        name = raw[start : start + 2 + raw[start + 1]]
        known = self._known.get(name)
        if known is None:
            known = self._known.keep(name, _Known(), _MAX_FORMS * 2 * len(raw))
        known.missed += 1
        # After 1, 2, 4, 8, ... misses: where each span has something of its own, a form of it would be of no use.
        if known.missed & (known.missed - 1):
            return
        fields = span_fields(raw)
        form = None if fields is None else self._form_of(raw, fields, span, read, is_selected)
        if form is not None:
            known.forms = [*known.forms[1 - _MAX_FORMS :], form]

    def _form_of(
        self, raw: bytes, fields: SpanFields, span: Span, read: GenAISpan, is_selected: Callable[[bytes], bool]
    ) -> _Form | None:
        if not _is_short(read, span.scope) or not self._reading.is_plain(span, read):
            return None
        first, last = fields[7], fields[8]
        copied: Mapping[str, CopiedField] = self._reading.fields_of.get(read.role, {})
        parts, holes, at, since = list[bytes](), list[_Hole](), first, first
        while at < last:
            begin, size = at, raw[at + 1]
            at += 2
            if size >= _ONE_BYTE:
                size += (raw[at] - 1) << 7
                at += 1
            attribute = raw[at : at + size]
            at += size
            if size < 2 or attribute[0] != KEY or attribute[1] >= _ONE_BYTE:
                return None
            head = attribute[: 2 + attribute[1]]
            key = head[2:].decode("utf-8", "replace")
            field = copied.get(key)
            if field is not None or not is_selected(head[2:]):
                parts.append(raw[since:begin])
                holes.append(_Hole(head, key, field))
                since = at
        parts.append(raw[since:])
        start = _start_of_name(raw)
        form = _Form(
            span.scope, start, raw[start + 2 + raw[start + 1] : first - _TIMES], parts, holes, _model(read, holes)
        )
        # The proof is the span itself: what is not copied, or not as it was read, has no form.
        values = form.values_in(raw, first)
        again = like(form.model, read.span_id, read.parent_span_id, read.start_ns, read.end_ns, read.resource)
        return form if values is not None and self._fill(again, form, values) and again == read else None


def _start_of_name(raw: bytes) -> int:
    """Returns where the name of a span begins; 0 if it is not where nearly all encoders put it, or is long."""
    if not _CHILD + 1 < len(raw) <= _MAX_SIZE or raw[:2] != _TRACE_ID or raw[18:20] != _SPAN_ID:
        return 0
    start = _CHILD if raw[28] == _PARENT[0] and raw[29] == _PARENT[1] else _ROOT
    if start == _CHILD and raw[30] == 0 and raw[30:_CHILD] == NO_PARENT:  # a root, which is read in another way
        return 0
    return start if raw[start] == NAME and raw[start + 1] < _ONE_BYTE else 0


def _model(read: GenAISpan, holes: list[_Hole]) -> GenAISpan:
    """Returns what spans of a form have in common: a copy, since a form keeps neither texts nor resources alive."""
    model = like(read, b"", b"", 0, 0, _NO_RESOURCE)
    for hole in holes:
        if hole.field is not None:
            model.set_copied(hole.field, "")
    return model


def _is_short(read: GenAISpan, scope: Scope) -> bool:
    """Whether it holds no content but arguments: what holds any is hardly repeated."""
    return (
        len(scope.name) + len(scope.version) <= _MAX_SCOPE
        and (read.role is AGENT or not read.attributes)
        and read.user_input is None
        and read.output is None
        and read.history is None
        and read.tool_results is None
        and read.content is None
    )


def _value(raw: bytes, at: int, head: bytes) -> tuple[int, int]:
    """Returns where the value of an attribute begins and ends; zeros if it is no attribute of that key. Raises IndexError."""
    if raw[at] != ATTRIBUTE:
        return 0, 0
    size = raw[at + 1]
    at += 2
    if size >= _ONE_BYTE:
        size += (raw[at] - 1) << 7
        at += 1
    value = at + len(head)
    return (value, at + size) if raw[at:value] == head else (0, 0)


def _text(raw: bytes, at: int, end: int) -> bytes:
    """Returns the string value that takes these bytes. Raises IndexError if they are another value, or none."""
    at = _inside(raw, _inside(raw, at, end, VALUE), end, STRING)
    return raw[at:end]


def _inside(raw: bytes, at: int, end: int, tag: int) -> int:
    """Returns where the content of a field begins that ends at ``end``. Raises IndexError if it is another field."""
    size = raw[at + 1]
    if raw[at] != tag:
        raise IndexError
    at += 2
    if size >= _ONE_BYTE:
        size += (raw[at] - 1) << 7
        at += 1
    if size != end - at:
        raise IndexError
    return at
