"""All dialects, and the choice of the one that reads a span or log record.

A span may be in two dialects at once (an OpenInference processor over native spans): the first in the table classifies
it, the others only add what is missing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from collector.dialects import (
    adk_rust,
    ag2,
    agenta,
    agentops,
    agentscope,
    ai_sdk,
    autoagents,
    autogen,
    ax,
    braintrust,
    claude_code,
    codex,
    docker_agent,
    eino,
    embabel,
    gemini_cli,
    generic,
    genkit,
    google_adk,
    haystack,
    honeyhive,
    iqai_adk,
    koog,
    laminar,
    langfuse,
    langsmith,
    langwatch,
    lazyllm,
    litellm,
    livekit,
    llama_index,
    logfire,
    mastra,
    mcp,
    mlflow,
    monocle,
    nat,
    netra,
    opencode,
    openinference,
    openlit,
    openllmetry,
    openllmetry_go,
    otel_genai,
    pipecat,
    pydantic_ai,
    qwen_code,
    spring_ai,
    swiftide,
    timbal,
    trpc_agent,
    trulens,
    upsonic,
    voltagent,
)
from collector.dialects.generic import tool_call
from collector.model import semconv
from collector.model.dialect import Dialect, Reading
from collector.model.from_span import (
    compare_with_offered,
    context_attributes,
    doubt_answer,
    doubt_cut_result,
    genai_span_of,
    has_remote_parent,
    output_in_events,
)
from collector.model.genai_span import BY_SHAPE, CONVENTIONS, IGNORED, Content, CopiedField, GenAISpan, Role
from collector.model.span import LogRecord, Span
from collector.model.span_copies import fill_missing
from collector.payloads.cut_values import has_cut_result
from collector.payloads.flattened_attributes import first_attribute
from collector.payloads.refusals import Refusal
from collector.payloads.result_counts import count_results
from collector.payloads.stand_ins import refused_tool
from collector.payloads.values import MAX_TEXT

DIALECTS: Final[tuple[Dialect, ...]] = (
    openinference.DIALECT,  # its processors write to other dialects' spans, so it classifies them
    ai_sdk.DIALECT,
    mastra.DIALECT,
    genkit.DIALECT,
    langsmith.DIALECT,
    autoagents.DIALECT,  # it describes its spans in Langfuse's words as well
    langfuse.DIALECT,
    mlflow.DIALECT,
    monocle.DIALECT,
    haystack.DIALECT,
    netra.DIALECT,  # its requests look like OpenLLMetry's
    openllmetry.DIALECT,
    openllmetry_go.DIALECT,
    google_adk.DIALECT,
    iqai_adk.DIALECT,
    trpc_agent.DIALECT,
    adk_rust.DIALECT,
    swiftide.DIALECT,
    pydantic_ai.DIALECT,
    logfire.DIALECT,
    openlit.DIALECT,
    litellm.DIALECT,
    llama_index.DIALECT,
    claude_code.DIALECT,
    codex.DIALECT,
    gemini_cli.DIALECT,
    qwen_code.DIALECT,
    spring_ai.DIALECT,
    braintrust.DIALECT,
    laminar.DIALECT,
    langwatch.DIALECT,
    lazyllm.DIALECT,
    timbal.DIALECT,
    trulens.DIALECT,
    agenta.DIALECT,
    honeyhive.DIALECT,
    voltagent.DIALECT,
    ax.DIALECT,
    agentops.DIALECT,
    eino.DIALECT,
    docker_agent.DIALECT,
    upsonic.DIALECT,
    opencode.DIALECT,
    embabel.DIALECT,
    koog.DIALECT,
    agentscope.DIALECT,
    autogen.DIALECT,
    ag2.DIALECT,
    nat.DIALECT,
    pipecat.DIALECT,
    livekit.DIALECT,
    mcp.DIALECT,
    otel_genai.DIALECT,  # the others leave to it whatever follows the conventions
    generic.DIALECT,  # only if no other reads the span
)

_BY_SCOPE: Final = {scope: dialect for dialect in DIALECTS for scope in dialect.scopes}
_BY_NAME: Final = {name: dialect for dialect in DIALECTS for name in dialect.span_names}
_BY_KEY: Final = tuple((key, dialect) for dialect in DIALECTS for key in dialect.keys)
_OTHER_KEYS: Final = frozenset(key for key, dialect in _BY_KEY if dialect is not otel_genai.DIALECT)
# Without those of the fallback: words such as `tool` are in the keys of spans that are about something else.
_KEY_MARKERS: Final = tuple(m.decode() for dialect in DIALECTS[:-1] for m in dialect.markers)
_WITH_LOGS: Final = tuple(dialect.read_log for dialect in DIALECTS if dialect.read_log is not None)
_CONTEXT_ATTRIBUTES: Final = (semconv.HTTP_ROUTE, semconv.URL_PATH, semconv.RIGHTCALL_ROUTE, semconv.RIGHTCALL_INTENT)

LOG_MARKERS: Final[tuple[bytes, ...]] = tuple(marker for dialect in DIALECTS for marker in dialect.log_markers)
"""Every relevant log record contains one of these."""

MARKERS: Final[tuple[bytes, ...]] = (
    *dict.fromkeys(marker for dialect in DIALECTS for marker in dialect.markers),
    semconv.HTTP_ROUTE.encode(),
)
"""Every relevant span contains one of these, or has no parent in its process, or is in one of SCOPES."""

SHAPE_MARKERS: Final = generic.MARKERS
"""Every span that is read by its shape alone contains one of these."""

SCOPES: Final[frozenset[str]] = frozenset(scope for dialect in DIALECTS for scope in dialect.whole_scopes)
"""Scopes whose spans are all relevant, with all attributes: some have no marker, some have arbitrary attributes."""

TOOL_DEFINITIONS: Final[tuple[str, ...]] = tuple(
    dict.fromkeys(name for dialect in DIALECTS for name in dialect.tool_definition_attributes)
)
"""Attributes that hold the definitions of the offered tools; those that end with a dot are prefixes."""

_DEFINITION_PREFIXES: Final = tuple(name for name in TOOL_DEFINITIONS if name.endswith("."))

ATTRIBUTES: Final[frozenset[str]] = frozenset(semconv.EVENT_ATTRIBUTES).union(
    _CONTEXT_ATTRIBUTES,
    semconv.FINISH_REASONS,
    (name for name in TOOL_DEFINITIONS if not name.endswith(".")),
    *(dialect.attributes.union(dialect.keys) for dialect in DIALECTS),
)
"""The attributes of spans, events and log records that are decoded: those that some dialect uses."""

ATTRIBUTE_PREFIXES: Final[tuple[str, ...]] = tuple(
    dict.fromkeys(
        (
            *(prefix for dialect in DIALECTS for prefix in dialect.prefixes),
            *_DEFINITION_PREFIXES,
        )
    )
)


def read_span(span: Span) -> GenAISpan | None:
    """Returns what ``span`` is to an agent run.

    None if it has a marker and no dialect understands it, which is counted as unread; ``IGNORED`` if it is understood and
    not needed. A root, the first span of a process, or a server span with a route, is at least context.
    """
    attributes = span.attributes
    genai_span = otel_genai.read_span(span) if _is_conventional(span) else _read_mixed(span)
    if genai_span is None and span.name in _BY_NAME:
        genai_span = _BY_NAME[span.name].read_span(span)
    # The fallback looks at keys beyond the selected ones, so it waits until the span is decoded with all of them.
    if genai_span is None and span.is_whole:
        genai_span = generic.read_span(span)
        if genai_span is None and not _is_marked(span):
            genai_span = IGNORED  # the word was in a URL or a text
    elif genai_span is not None and genai_span.lacks_arguments and span.is_whole and genai_span.dialect != BY_SHAPE:
        unknown = _unknown_attributes(span, genai_span)
        if unknown or span.events:
            tool_call.complete(genai_span, span, unknown)
    if genai_span is not None and genai_span.arguments is not None:
        _read_stand_in(genai_span)
    if genai_span is not None and genai_span.output is not None:
        _compare_with_offered(genai_span, attributes)
    if genai_span is not None:
        _read_output(genai_span, span)
    if not span.parent_span_id or semconv.HTTP_ROUTE in attributes or has_remote_parent(span):
        if genai_span is None or genai_span is IGNORED:
            genai_span = genai_span_of(span, Role.OTHER, "")
        if not genai_span.attributes:
            genai_span.attributes = context_attributes(span)
    return genai_span


def _is_conventional(span: Span) -> bool:
    """Whether the span follows the conventions alone."""
    return span.scope.name not in _BY_SCOPE and not _has_other_keys(span.attributes)


def _is_plain(span: Span, genai_span: GenAISpan) -> bool:
    return genai_span.dialect == CONVENTIONS and _is_conventional(span)


def _is_copied(field: CopiedField, text: str) -> bool:
    return otel_genai.is_copied(field, text) and (field != "arguments" or refused_tool(text) is None)


_OF_OUTPUT: Final = ("utput", "ompletion", "all_messages")
"""In the keys of what an agent said last, which may be its whole conversation."""
_SHORTEST: Final = 64
"""Characters of a conversation with a result."""
_MAX_ANSWER: Final = 8_192
"""Characters of an agent's output that is kept."""
_WITH_ANSWERS: Final = (Role.MODEL, Role.EVENT)

READING: Final = Reading(_is_plain, otel_genai.FIELDS_OF, _is_copied)
"""What of a span in the conventions alone is the same for all spans of its form."""


def _read_stand_in(call: GenAISpan) -> None:
    """Take the call of a stand-in for what it tells: the refused call of another tool, whose arguments nothing holds."""
    refused = refused_tool(call.arguments)
    if refused is not None:
        call.name, call.arguments, call.status, call.refusal = refused, None, "error", Refusal()


def _read_output(genai_span: GenAISpan, span: Span) -> None:
    """Note what a span tells, or leaves out, of an answer beyond the calls that it asks for, or of what came of a call."""
    if genai_span.role is Role.TOOL and genai_span.status != "error" and has_cut_result(span.attributes):
        doubt_cut_result(genai_span)
    elif genai_span.role is Role.MODEL and _may_lack_answer(span, genai_span):
        doubt_answer(genai_span)
    elif genai_span.role is Role.AGENT:
        told, answer = _told_by_output(span)
        if told or answer:
            genai_span.content = replace(genai_span.content or Content(), told_results=told, answer=answer)


def _told_by_output(span: Span) -> tuple[int, str]:
    """Returns about how many results of calls an agent's output tells of, and the output itself if it tells of none."""
    told, answer = 0, output_in_events(span) if span.events else ""
    answer = answer if type(answer) is str and len(answer) <= _MAX_ANSWER else ""
    # Counted where the span is read, since a conversation is not kept: a trace would hold each of them twice.
    for key, value in span.attributes.items():
        if type(value) is str and _SHORTEST <= len(value) <= MAX_TEXT and any(word in key for word in _OF_OUTPUT):
            told = max(told, count_results(value))
            answer = value if len(value) <= _MAX_ANSWER else answer
    return told, "" if told else answer


def _compare_with_offered(model: GenAISpan, attributes: dict[str, Any]) -> None:
    """Note of each call in a model's output whether the tools that it was offered would take it."""
    if model.role not in _WITH_ANSWERS or not _has_definitions(attributes):
        return
    for name in TOOL_DEFINITIONS:
        definitions = first_attribute(attributes, (name,))
        if definitions is not None:
            compare_with_offered(model, definitions)
            # OpenInference's processor for Pydantic AI writes only the names beside what the framework wrote.
            if model.content is None or model.content.fits.strip("-"):
                return


def _may_lack_answer(span: Span, model: GenAISpan) -> bool:
    # Beside an answer, events that were dropped are the pieces of it that were streamed, or what the model was told.
    return span.lacks_attributes or (span.lacks_events and not model.has_output)


def _has_definitions(attributes: dict[str, Any]) -> bool:
    for key in attributes:  # noqa: SIM110 - one pass, where `first_attribute` takes one for each prefix; most spans have none
        if key in TOOL_DEFINITIONS or key.startswith(_DEFINITION_PREFIXES):
            return True
    return False


def _has_other_keys(attributes: dict[str, Any]) -> bool:
    for key in attributes:  # noqa: SIM110 - `isdisjoint` takes three times as long in the compiled build
        if key in _OTHER_KEYS:
            return True
    return False


def _unknown_attributes(span: Span, genai_span: GenAISpan) -> dict[str, Any]:
    """Returns the attributes that no dialect of the span knows: what its dialects leave out, they leave out on purpose."""
    present, names = span.attributes, [genai_span.dialect]
    if genai_span.dialect != CONVENTIONS or _has_other_keys(present):
        names += [dialect.name for key, dialect in _BY_KEY if key in present]
    known, prefixes = _known_to(tuple(names))
    return {key: value for key, value in present.items() if key not in known and not key.startswith(prefixes)}


_NOT_GIVEN: Final = ("gen_ai.skill.", "gen_ai.transfer.", "process.")
"""Begin what the conventions for GenAI (0.1) tell of a call beside what it was given: the skill that it loads, the agent that
it calls, the process that it starts."""


@lru_cache(maxsize=256)
def _known_to(names: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Returns the attributes that these dialects know, and the prefixes of further ones."""
    readers = [dialect for dialect in DIALECTS if dialect.name in names]
    known = frozenset[str]().union(*(reader.attributes.union(reader.keys) for reader in readers))
    return known, (*_NOT_GIVEN, *(prefix for reader in readers for prefix in reader.prefixes))


def _is_marked(span: Span) -> bool:
    """Whether the span belongs to a dialect, or has an attribute in the name of one."""
    return span.scope.name in _BY_SCOPE or any(map(_has_marker, span.attributes))


@lru_cache(maxsize=4096)
def _has_marker(key: str) -> bool:
    return any(marker in key for marker in _KEY_MARKERS)


def _read_mixed(span: Span) -> GenAISpan | None:
    dialect = _BY_SCOPE.get(span.scope.name)
    genai_span = None if dialect is None else dialect.read_span(span)
    if genai_span is IGNORED:
        return IGNORED
    for key, dialect in _BY_KEY:
        if key in span.attributes and (genai_span is None or genai_span.dialect != dialect.name):
            other = dialect.read_span(span)
            if genai_span is None or genai_span is IGNORED:
                genai_span = other or genai_span
            # Where two dialects disagree on the role, the fields of one mean nothing in the other.
            elif other is not None and other.role is genai_span.role:
                fill_missing(genai_span, other)
    return genai_span


def read_log(record: LogRecord) -> GenAISpan | None:
    """Returns what a log record holds of a model request; None if it is about anything else."""
    for read_record in _WITH_LOGS:
        genai_span = read_record(record)
        if genai_span is IGNORED:
            return None
        if genai_span is not None:
            if genai_span.output is not None:
                _compare_with_offered(genai_span, dict(record.attributes))
            return genai_span
    return None
