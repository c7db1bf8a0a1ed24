"""The context of a run: route, intent, tenant, agent, conversation, user input.

Taken from the anchor, else from a span above it (an HTTP server span has the route, a workflow the intent), else from the
resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collector.model import semconv
from collector.model.genai_span import AGENT, Content, GenAISpan
from collector.model.span import Resource
from collector.payloads.user_input import user_text
from collector.payloads.values import name_of
from collector.reconstruction.drafts import RunSpans
from scorers.rules.selection import attribute_key


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """From which attributes a run's context is taken, and how much of it is needed. Names are tried in order."""

    route: Sequence[str] = (semconv.RIGHTCALL_ROUTE, semconv.HTTP_ROUTE)
    intent: Sequence[str] = (semconv.RIGHTCALL_INTENT, semconv.WORKFLOW_NAME)
    skew_ns: int = 10_000_000
    """How far the clocks of two hosts may differ."""
    user_input: bool = True
    """Whether the user's text is needed: extracting it costs as much as the rest of the run."""
    content: bool = False
    """Whether the agent's outputs and tool definitions are needed."""
    dimensions: Sequence[str] = ()
    """Attributes that are taken from a run's model requests where neither its anchor nor its resource has them."""
    unread: frozenset[str] = frozenset()
    """Attributes that rules match and that were not read of the spans of a trace, but for those in ``read_anew``."""
    read_anew: frozenset[bytes] = frozenset()
    needs_intent: bool = False
    """Whether a span that may carry a run's intent is waited for, as one that may carry its route always is."""


@dataclass(slots=True, init=False)
class RunContext:
    """The context of one run; None means that it was not recorded."""

    route: str | None
    intent: str | None
    agent: str | None
    conversation_id: str | None
    response_id: str | None
    user_input: str | None
    service: str | None
    dialect: str
    attributes: Mapping[str, Any]
    """Short attributes that rules may match: the resource's, overridden by the tenant above the run and by the anchor's."""
    contents: Sequence[Content]
    unread: frozenset[str]
    """Keys of what rules match that the spans may have: they were read before there were such rules."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that is known
        self,
        route: str | None,
        intent: str | None,
        agent: str | None,
        conversation_id: str | None,
        response_id: str | None,
        user_input: str | None,
        service: str | None,
        dialect: str,
        attributes: Mapping[str, Any],
        contents: Sequence[Content],
        unread: frozenset[str],
    ) -> None:
        self.route, self.intent, self.agent, self.conversation_id = route, intent, agent, conversation_id
        self.response_id, self.user_input, self.service, self.dialect = response_id, user_input, service, dialect
        self.attributes, self.contents, self.unread = attributes, contents, unread


def context_of(run: RunSpans, above: Sequence[GenAISpan], settings: ContextSettings) -> RunContext:
    """Returns the context of ``run``, with the GenAI spans ``above`` its anchor, nearest first."""
    anchor = run.anchor
    own = run.wrappers if anchor is None else [anchor, *run.wrappers]
    around = [*own, *above] if above else own
    is_agent = anchor is not None and anchor.role is AGENT
    members = [spans[0] for spans in run.executions]
    members += run.models
    # A root that stands in for the agent is often in no dialect, and may be a span of another service.
    source = anchor if anchor is not None and is_agent else (members or own)[0]
    attributes = [span.attributes for span in around]
    attributes.append(source.resource.attributes)
    return RunContext(
        _first_text(attributes, settings.route),
        _first_text(attributes, settings.intent),
        (_first_known([span.name for span in own]) if is_agent else None)
        or _first_known([span.agent for span in own + members]),
        _first_known([span.conversation_id for span in around]) or _common_conversation(members),
        # From the last request backwards: its response is the one that the run ended with.
        _first_known([span.response_id for span in (own + run.models[::-1] if run.models else own)]),
        _user_input(own, run, above) if settings.user_input else None,
        source.resource.service,
        source.dialect or _first_known([span.dialect for span in members]) or "",
        _merged_attributes(source.resource, above, own, run.models, settings.dimensions),
        _contents(own, run, above) if settings.content else (),
        _unread(own, source, settings) if settings.unread else settings.unread,
    )


def _unread(own: Sequence[GenAISpan], source: GenAISpan, settings: ContextSettings) -> frozenset[str]:
    """Returns the keys of attributes that were not read of a span, unless the nearest one is known to have them."""
    if all(span.span_id in settings.read_anew for span in (*own, source)):
        return frozenset()
    nearest = own[0].attributes if own and own[0].span_id in settings.read_anew else ()
    return frozenset(map(attribute_key, settings.unread.difference(nearest)))


def _contents(own: Iterable[GenAISpan], run: RunSpans, above: Iterable[GenAISpan]) -> list[Content]:
    latest_first = sorted(run.models, key=lambda model: model.start_ns, reverse=True)
    # Above an inner run is the run that started it, whose words are not its own.
    spans = (*own, *latest_first, *(above if run.parent is None else ()))
    return [span.content for span in spans if span.content is not None]


def _first_known(values: list[str | None]) -> str | None:
    for value in values:
        if value:
            return value
    return None


def _first_text(sources: list[Mapping[str, Any]], names: Sequence[str]) -> str | None:
    # Names before spans: the configured order of attributes outranks which span is nearer.
    for name in names:
        for source in sources:
            if name in source:
                text = name_of(source[name])
                if text is not None:
                    return text
    return None


def _common_conversation(members: Iterable[GenAISpan]) -> str | None:
    """Returns the conversation if all members name the same one: some frameworks record a response id, which varies."""
    ids = {span.conversation_id for span in members if span.conversation_id}
    return ids.pop() if len(ids) == 1 else None


def _user_input(own: Iterable[GenAISpan], run: RunSpans, above: Iterable[GenAISpan]) -> str | None:
    models = sorted(run.models, key=lambda model: model.start_ns) if run.models else ()
    for span in (*own, *models, *(above if run.parent is None else ())):
        if span.user_input is not None:
            text = user_text(span.user_input)
            if text is not None:
                return text
    return None


def _merged_attributes(
    resource: Resource,
    above: Sequence[GenAISpan],
    own: Sequence[GenAISpan],
    models: Sequence[GenAISpan],
    dimensions: Sequence[str],
) -> Mapping[str, Any]:
    merged = dict(resource.attributes)
    # Reversed: the nearest comes first, and its attributes override those of the others.
    for span in reversed(above):
        for name in semconv.TENANT_NAMES:
            if name in span.attributes:
                merged[name] = span.attributes[name]
    for span in reversed(own):
        merged.update(span.attributes)
    for name in dimensions:
        if name not in merged:
            # Reversed as well: of several requests the first one's value stays.
            merged.update((name, model.attributes[name]) for model in reversed(models) if name in model.attributes)
    return merged
