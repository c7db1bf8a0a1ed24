"""Under which circumstances a run happened: route, intent, agent, conversation, the user's words.

The anchor says it, or a span above it (an HTTP server span has the route, a workflow the intent), or the resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collector.model import semconv
from collector.model.genai_span import Content, GenAISpan, Role
from collector.model.span import Resource
from collector.payloads.user_input import user_text
from collector.payloads.values import name_of
from collector.reconstruction.ancestry import Ancestry
from collector.reconstruction.drafts import RunSpans


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """What a run's context is read from. The names are tried in order."""

    route: Sequence[str] = (semconv.RIGHTCALL_ROUTE, semconv.HTTP_ROUTE)
    intent: Sequence[str] = (semconv.RIGHTCALL_INTENT, semconv.WORKFLOW_NAME)
    skew_ns: int = 10_000_000
    """How far the clocks of two hosts may be apart."""
    user_input: bool = True
    """Whether somebody wants the user's words: reading them costs as much as the rest of the run."""
    content: bool = False
    """Whether somebody wants what the agent answered, and what tools it was offered."""


@dataclass(slots=True)
class RunContext:
    """What ``describe`` found; None where nobody said it."""

    route: str | None
    intent: str | None
    agent: str | None
    conversation_id: str | None
    response_id: str | None
    user_input: str | None
    service: str | None
    dialect: str
    attributes: Mapping[str, Any]
    """The anchor's short attributes over those of its resource: what a rule may match on."""
    contents: Sequence[Content]


def describe(run: RunSpans, ancestry: Ancestry, settings: ContextSettings) -> RunContext:
    """The context of ``run``."""
    anchor = run.anchor
    own = run.wrappers if anchor is None else [anchor, *run.wrappers]
    above = list(ancestry.iter_ancestors(run.anchor_id))
    is_agent = anchor is not None and anchor.role is Role.AGENT
    witness = anchor if anchor is not None and is_agent else (_members(run) or own)[0]
    sources = [span.attributes for span in own + above]
    sources.append(witness.resource.attributes)
    return RunContext(
        _first_text(sources, settings.route),
        _first_text(sources, settings.intent),
        (_known("name", own) if is_agent else None) or _known("agent", own + _members(run)),
        _known("conversation_id", own + above) or _agreed(_members(run)),
        _known("response_id", own + run.models[::-1]),
        _user_input(own, run, above) if settings.user_input else None,
        witness.resource.service,
        witness.dialect or _known("dialect", _members(run)) or "",
        _merged(witness.resource, own),
        _contents(own, run, above) if settings.content else (),
    )


def _members(run: RunSpans) -> list[GenAISpan]:
    return [*[spans[0] for spans in run.executions], *run.models]


def _contents(own: Iterable[GenAISpan], run: RunSpans, above: Iterable[GenAISpan]) -> list[Content]:
    latest_first = sorted(run.models, key=lambda model: model.start_ns, reverse=True)
    told = (*own, *latest_first, *(above if run.parent is None else ()))
    return [span.content for span in told if span.content is not None]


def _known(field: str, spans: Iterable[GenAISpan]) -> str | None:
    """The first ``field`` that says something."""
    for span in spans:
        value: str | None = getattr(span, field)
        if value:
            return value
    return None


def _first_text(sources: Sequence[Mapping[str, Any]], names: Iterable[str]) -> str | None:
    for name in names:
        for source in sources:
            if name in source:
                text = name_of(source[name])
                if text is not None:
                    return text
    return None


def _agreed(members: Iterable[GenAISpan]) -> str | None:
    """The conversation all members name: some frameworks put a changing response id there."""
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


def _merged(resource: Resource, own: Sequence[GenAISpan]) -> Mapping[str, Any]:
    merged = dict(resource.attributes)
    for span in reversed(own):
        merged.update(span.attributes)
    return merged
