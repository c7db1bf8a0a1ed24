"""The run of a trace of one agent whose tools and models are directly below it, without messages or anything unusual.

Content is not recorded by default (semantic conventions of GenAI), so most runs that go well look like that. `rebuild` asks of
each trace what may make it another: two instrumentations, agents inside tools, messages that contradict spans. Here is what
it then finds where all of that is absent, in half the instructions. What looks different in any way is left to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from collector.model.genai_span import AGENT, BY_SHAPE, MODEL, OTHER, TOOL, GenAISpan
from collector.model.tracing import USUAL
from collector.otlp.lazy import parent_links
from collector.otlp.span_fields import NO_PARENT
from collector.payloads.values import parse_arguments
from collector.reconstruction.ancestry import MAX_CONTEXT_STEPS
from collector.reconstruction.context import ContextSettings, context_of
from collector.reconstruction.doubts import UNREAD
from collector.reconstruction.drafts import RunSpans, by_start, latest_start
from collector.reconstruction.matching import PLACEHOLDERS
from collector.reconstruction.run import Run
from scorers.trajectory import ToolCall, Trajectory

MAX_SPANS: Final = 64
"""Of how many spans such a run may be: a larger trace is evaluated in slices, which this is not."""
_NO_LINKS: Final[Mapping[bytes, bytes]] = {}
_ID: Final = 8  # bytes of a span id
_MAX_ARGUMENTS: Final = 16_384
"""Characters of all arguments that were recorded as text: far fewer than may be parsed for a trace, so nobody has to count."""


def plain_run(trace_id: bytes, genai_spans: Sequence[GenAISpan], links: bytes, settings: ContextSettings) -> Run | None:
    """Returns the only run of such a trace, as `rebuild` would; None if it is not for sure that plain.

    ``links`` has the ids of every received span and of its parent, GenAI or not, one after the other.
    """
    if len(genai_spans) > MAX_SPANS:
        return None
    agent: GenAISpan | None = None
    tools: list[GenAISpan] = []
    models: list[GenAISpan] = []
    around: dict[bytes, GenAISpan] = {}
    ids = {b""}
    for span in genai_spans:
        if span.tracing is not USUAL or span.history is not None or span.content is not None or span.span_id in ids:
            return None
        ids.add(span.span_id)
        if span.role is TOOL:
            tools.append(span)
        elif span.role is MODEL:
            models.append(span)
        elif span.role is OTHER:
            around[span.span_id] = span
        elif span.role is AGENT and agent is None:
            agent = span
        else:
            return None
    if agent is None or not tools or agent.name is None or agent.output is not None or agent.dialect == BY_SHAPE:
        return None
    if not (_are_below(tools, agent) and _are_below(models, agent)) or _lacks_parents(links, agent.span_id):
        return None
    above = _above(agent, around, links)
    if above is None or len(above) < len(around):
        return None
    tools, models = _in_order(tools), _in_order(models)
    if not (_are_plain(tools) and (not models or _ask_in_turn(models, tools))):
        return None
    calls = _calls_of(tools)
    return None if calls is None else _run_of(trace_id, agent, above, tools, models, calls, settings)


def _lacks_parents(links: bytes, agent_id: bytes) -> bool:
    """Whether the parent of any span of the trace was not received; ``agent_id`` is one that was."""
    for at in range(_ID, len(links), 2 * _ID):
        parent = links[at : at + _ID]
        if parent != agent_id and parent != NO_PARENT:
            return _lacks_any_parent(links)
    return False  # nearly always


def _lacks_any_parent(links: bytes) -> bool:
    # Ids as integers: to slice and hash each of them as bytes takes twice as long.
    ids = memoryview(links).cast("Q").tolist()
    parents = set(ids[1::2])
    parents.discard(0)  # of a root
    return not parents.issubset(ids[::2])


def _above(agent: GenAISpan, around: Mapping[bytes, GenAISpan], links: bytes) -> list[GenAISpan] | None:
    """Returns the GenAI spans above ``agent``, the nearest first; None if they go round in a circle, or are too many."""
    found: list[GenAISpan] = []
    at = agent.parent_span_id
    parents = parent_links(links) if at else _NO_LINKS
    for _ in range(MAX_CONTEXT_STEPS):
        if not at:
            return found
        span = around.get(at)
        if span is not None:
            found.append(span)
            at = span.parent_span_id
        elif at == agent.span_id or at not in parents:
            return None
        else:
            at = parents[at]
    return None


def _are_below(spans: Sequence[GenAISpan], agent: GenAISpan) -> bool:
    """Whether they are directly below ``agent``, and of its process and library."""
    for span in spans:
        if (
            span.resource is not agent.resource
            or span.parent_span_id != agent.span_id
            or span.scope != agent.scope
            or span.dialect != agent.dialect
        ):
            return False
    return not (agent.remote_parent or agent.is_pending or agent.finish)


def _are_plain(tools: Sequence[GenAISpan]) -> bool:
    """Whether each of them tells all of a call of its own, which did not fail."""
    ids = set[str]()
    for tool in tools:
        if tool.status == "error" or tool.refusal is not None or tool.name is None or tool.name in PLACEHOLDERS:
            return False
        if tool.is_pending:
            return False
        if tool.call_id is not None:
            if tool.call_id in ids:
                return False
            ids.add(tool.call_id)
    return True


def _ask_in_turn(models: Sequence[GenAISpan], tools: Sequence[GenAISpan]) -> bool:
    """Whether each request but the last asked for one call, which ended before the next request, and the last for none.

    Of what the models said, or were told, nothing else may be recorded: `rebuild` would read it.
    """
    if len(models) != len(tools) + 1:
        return False
    ended = 0
    for at, model in enumerate(models):
        is_last = at == len(tools)
        if (
            not 0 < model.start_ns <= model.end_ns
            or model.start_ns <= ended
            or model.finish != ("other" if is_last else "tool_calls")
            or model.output is not None
            or model.has_output
            or model.tool_results is not None
            or model.is_pending
            or model.tracing.extent
            or (not is_last and tools[at].start_ns < model.end_ns)
        ):
            return False
        if not is_last:
            ended = tools[at].end_ns
    return True


def _in_order(spans: list[GenAISpan]) -> list[GenAISpan]:
    """Returns the spans in order of start, in which they mostly arrive."""
    begun = 0
    for span in spans:
        if span.start_ns <= begun:
            return sorted(spans, key=by_start)
        begun = span.start_ns
    return spans


def _calls_of(tools: Iterable[GenAISpan]) -> list[ToolCall] | None:
    """Returns the calls of tools in order of start; None if the clock does not order them, or arguments are not readable."""
    calls: list[ToolCall] = []
    begun = step_end = 0
    step, left = -1, _MAX_ARGUMENTS
    for tool in tools:
        start, end, name, recorded = tool.start_ns, tool.end_ns, tool.name, tool.arguments
        left -= len(recorded) if type(recorded) is str else 0
        if start <= begun or end < start or left < 0:
            return None
        arguments, text = parse_arguments(recorded)
        if text is not None or name is None:
            return None
        if latest_start(start) >= step_end:
            step, step_end = step + 1, 0
        begun, step_end = start, max(step_end, end)
        calls.append(ToolCall(
            name.strip() or name, arguments, tool.call_id, tool.status, tool.error_type, start, end, tool.span_id.hex(),
            True, step, None, "span",
        ))  # fmt: skip
    return calls


def _run_of(
    trace_id: bytes,
    agent: GenAISpan,
    above: Sequence[GenAISpan],
    tools: Sequence[GenAISpan],
    models: list[GenAISpan],
    calls: list[ToolCall],
    settings: ContextSettings,
) -> Run:
    spans = RunSpans(agent, agent.span_id)
    spans.executions, spans.models = [[tool] for tool in tools], models
    context = context_of(spans, above, settings)
    doubts = [UNREAD] if context.unread else []
    user_input = context.user_input or None
    return Run(
        trace_id, agent.span_id, None, context.agent, context.conversation_id, context.route, context.intent, user_input,
        context.response_id, context.service, context.dialect, context.attributes, Trajectory(calls, user_input, doubts),
        tuple([tool.span_id for tool in tools]), None, agent.start_ns, None, context.contents,
        tuple([tool.resource for tool in tools]), scope=agent.scope,
        unread=context.unread,
    )  # fmt: skip
