"""What a dialect is: the conventions by which one family of instrumentations writes agent runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from collector.model.genai_span import CopiedField, GenAISpan, Role
from collector.model.span import LogRecord, Span


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect, in one file of ``collector.dialects``.

    A span is in this dialect if it has one of the attributes ``keys`` or one of the instrumentation scopes ``scopes``, or
    one of the names ``span_names`` where no dialect reads it.
    """

    name: str
    read_span: Callable[[Span], GenAISpan | None]
    """Returns None for a span that is in this dialect and not understood."""
    keys: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    span_names: tuple[str, ...] = ()
    """Names of spans that may have no attributes."""
    markers: tuple[bytes, ...] = ()
    """Byte strings, one of which every relevant span of this dialect contains, unless it contains one of ``otel_genai``'s.
    All traffic is searched for each of them, so they are few, and long, which makes the search faster."""
    attributes: frozenset[str] = frozenset()
    """Attributes that ``read_span`` uses, beyond ``keys``."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of further attributes that ``read_span`` uses."""
    whole_scopes: tuple[str, ...] = ()
    """Scopes of which every span is relevant, with every attribute: some spans there have no marker or known name."""
    read_log: Callable[[LogRecord], GenAISpan | None] | None = None
    """Returns None for a record that may be in another dialect, ``IGNORED`` for one that no run needs."""
    log_markers: tuple[bytes, ...] = ()
    """Byte strings, one of which every log record that ``read_log`` understands contains."""
    output_attributes: tuple[str, ...] = ()
    """Attributes that hold an agent's or model's output, decoded only if a judge may need it, the most specific first.
    A name that ends with a dot is a prefix."""
    tool_definition_attributes: tuple[str, ...] = ()
    """Attributes that hold the definitions of the tools offered to the agent or model, likewise."""
    request_attributes: tuple[str, ...] = ()
    """Attributes that hold a complete request to a model, tool definitions included."""


class Reading(NamedTuple):
    """What is the same in what is read of spans that differ in ids, times and a few values alone."""

    is_plain: Callable[[Span, GenAISpan], bool]
    """Whether what was read of a span depends on the values under ``fields_of`` only by being a copy of them."""
    fields_of: Mapping[Role, Mapping[str, CopiedField]]
    """By the role of a span: the keys of these values, and the fields that copy them."""
    is_copied: Callable[[CopiedField, str], bool]
    """Whether a text is copied, and tells nothing else."""
