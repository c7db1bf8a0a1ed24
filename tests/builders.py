"""Builds realistic spans and log records in one line each, and the runs that the collector reconstructs from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from collector import dialects
from collector.config.loading import load_config
from collector.config.model import Config
from collector.model.genai_span import IGNORED, GenAISpan
from collector.model.span import LogRecord, Resource, Scope, Span, SpanEvent
from collector.reconstruction.context import ContextSettings
from collector.reconstruction.plain_runs import plain_run
from collector.reconstruction.reconstruct import rebuild
from collector.reconstruction.run import Run
from collector.scoring.rule_files import LoadedRules
from scorers import RuleSet

TRACE = bytes(range(16))
MS = 1_000_000
"""Nanoseconds in a millisecond. Times in tests are milliseconds after this many nanoseconds:"""
EPOCH = 1_700_000_000_000_000_001
RESOURCE = Resource({"service.name": "shop"})


def span_id(number: int) -> bytes:
    """A span id; 0 is "no parent"."""
    return number.to_bytes(8, "big") if number else b""


def span(
    name: str = "step",
    number: int = 1,
    parent: int = 0,
    at: float = 0,
    lasting: float = 10,
    *,
    attributes: Mapping[str, Any] | None = None,
    events: Iterable[tuple[str, Mapping[str, Any]]] = (),
    scope: str = "test",
    kind: int = 1,
    status: int = 0,
    message: str = "",
    remote: bool | None = False,
    resource: Resource = RESOURCE,
    trace_id: bytes = TRACE,
) -> Span:
    """Any span. ``at`` and ``lasting`` in milliseconds."""
    start = EPOCH + int(at * MS)
    return Span(
        trace_id, span_id(number), span_id(parent), name, kind, start, start + int(lasting * MS), status, message, remote,
        dict(attributes or {}), [SpanEvent(event, start, dict(values)) for event, values in events], resource,
        Scope(scope, "1"),
    )  # fmt: skip


def span_of_kind(
    key: str,
    kind: str,
    name: str,
    number: int,
    parent: int = 0,
    at: float = 0,
    lasting: float = 10,
    *,
    attributes: Mapping[str, Any] | None = None,
    **more: Any,
) -> Span:
    """A span of an instrumentation that says in the attribute ``key`` what kind of span it is."""
    return span(name, number, parent, at, lasting, attributes={key: kind, **(attributes or {})}, **more)


def tool_span(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    number: int = 2,
    parent: int = 1,
    *,
    call_id: str = "",
    **more: Any,
) -> Span:
    """One execution of a tool in the GenAI conventions; ``more`` as for ``span``."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **more.pop("attributes", {})}
    if arguments is not None:
        attributes["gen_ai.tool.call.arguments"] = json.dumps(arguments)
    if call_id:
        attributes["gen_ai.tool.call.id"] = call_id
    return span(f"execute_tool {name}", number, parent, attributes=attributes, **more)


def agent_span(name: str = "helper", number: int = 1, parent: int = 0, **more: Any) -> Span:
    """One agent run in the GenAI conventions, long enough for the spans that tests put inside."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more.pop("attributes", {})}
    return span(f"invoke_agent {name}", number, parent, attributes=attributes, **{"lasting": 1000, **more})


def model_span(
    calls: Sequence[tuple[str | None, str, Any]] = (),
    number: int = 3,
    parent: int = 1,
    *,
    input_messages: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> Span:
    """One model request in the GenAI conventions whose response is ``calls``: id, name, arguments."""
    attributes = {"gen_ai.operation.name": "chat", **more.pop("attributes", {})}
    if calls:
        attributes["gen_ai.output.messages"] = json.dumps([asked(*calls)])
    if input_messages:
        attributes["gen_ai.input.messages"] = json.dumps(list(input_messages))
    return span("chat", number, parent, attributes=attributes, **more)


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def asked(*calls: tuple[str | None, str, Any]) -> dict[str, Any]:
    """A message of a model that asks for calls: id, name, arguments."""
    parts = [{"type": "tool_call", "id": call_id, "name": name, "arguments": args} for call_id, name, args in calls]
    return {"role": "assistant", "parts": parts}


def result(call_id: str, response: Any) -> dict[str, Any]:
    """A message that holds a tool's result."""
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}


def log(
    event: str,
    number: int,
    body: Any = None,
    attributes: Mapping[str, Any] | None = None,
    at: float = 0,
    *,
    scope: str = "test",
) -> LogRecord:
    """A log event about the span ``number``."""
    return LogRecord(
        TRACE, span_id(number), event, EPOCH + int(at * MS), attributes or {}, body, RESOURCE, Scope(scope, "1")
    )


def genai_spans(items: Iterable[Span | LogRecord]) -> list[GenAISpan]:
    """The GenAI spans that the dialects read from spans and log records, without ignored ones."""
    found = [dialects.read_span(item) if isinstance(item, Span) else dialects.read_log(item) for item in items]
    return [genai_span for genai_span in found if genai_span is not None and genai_span is not IGNORED]


def runs_of(*items: Span | LogRecord, settings: ContextSettings | None = None) -> list[Run]:
    """The runs of one trace of these spans and log records."""
    parents = {item.span_id: item.parent_span_id for item in items if isinstance(item, Span)}
    return reconstruct(genai_spans(items), parents, settings)


def reconstruct(
    spans: Sequence[GenAISpan], parents: Mapping[bytes, bytes], settings: ContextSettings | None = None
) -> list[Run]:
    """The runs of one trace, as the collector finds them."""
    settings = settings or ContextSettings()
    plain = plain_run(TRACE, spans, links_of(parents), settings)
    return [plain] if plain is not None else rebuild(TRACE, spans, dict(parents), settings).runs


def links_of(parents: Mapping[bytes, bytes]) -> bytes:
    """The ids of spans and parents, as an open trace keeps them."""
    return b"".join([one[:8].ljust(8, b"\0") for link in parents.items() for one in link])


def run_of(*items: Span | LogRecord, settings: ContextSettings | None = None) -> Run:
    """The only run."""
    (run,) = runs_of(*items, settings=settings)
    return run


def called(run: Run) -> list[str]:
    """The names of a run's calls in order, in parentheses if not executed."""
    return [call.name if call.executed else f"({call.name})" for call in run.trajectory.calls]


def calls_of(*spans: Span) -> list[tuple[str, Any, str]]:
    """Name, arguments and status of each call that an agent executed, in whose run the spans are."""
    run = run_of(agent_span(), *spans)
    return [(call.name, call.arguments, call.status) for call in run.trajectory.calls if call.executed]


def doubts(run: Run) -> list[str]:
    """The names of what is in doubt about a run."""
    return [doubt.name for doubt in run.trajectory.doubts]


def other_doubts(run: Run) -> list[str]:
    """The names of what is in doubt about a run, besides that nothing bears out what was read by shape."""
    return [name for name in doubts(run) if name != "unconfirmed_reading"]


def steps(run: Run) -> list[int]:
    """The steps of a run's calls."""
    return [call.step for call in run.trajectory.calls]


def read_tool(tool: Span) -> tuple[str | None, str | None, Any, str]:
    """Name, id, arguments and status of the call reconstructed from a tool span."""
    (call,) = run_of(agent_span(), tool).trajectory.calls
    return call.name, call.id, call.arguments, call.status


def load(folder: Path, text: str) -> Config:
    """A configuration file's content, loaded."""
    path = folder / "collector.yaml"
    path.write_text(text)
    return load_config(path)


def no_rules() -> LoadedRules:
    """What a collector without rule files has: runs are reconstructed and nothing is scored."""
    return LoadedRules(RuleSet())
