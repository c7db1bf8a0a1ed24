"""What is read from a hidden attribute is told nowhere, whatever the attribute is called; all else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.config.model import RedactionConfig
from collector.judging.redacting import JudgeRedaction
from collector.model.genai_span import Told
from collector.reconstruction.judged_run import judged_run
from collector.results.redaction import Redaction
from collector.runs.record import Recorder, Submitted, bounded
from tests import otlp_data as data
from tests.harness import Bench

CARD = "4111111111111111"
ARGUMENTS = f'{{"card": "{CARD}"}}'
PAY = """
rules:
  - {name: pay, match: {}, expect: {sequence: [{tool: pay, arguments: {card: {regex: '^5'}}}]}}
"""
JUDGED = """
rules:
  - {name: pay, match: {}, expect: {sequence: [pay]}, scorers: [trajectory, mastra_llm]}
"""
TALK = """
rules:
  - {name: talk, scope: conversation, match: {}, expect: {sequence: [{tool: pay, arguments: {card: {regex: '^5'}}}]}}
"""


def said(number: int, parent: int, name: str, **values: Any) -> Span:
    span = data.span(number, parent, name)
    span.attributes.extend(data.attributes({key.replace("__", "."): value for key, value in values.items()}))
    return span


AGENT = data.agent(1, url__full=f"https://shop/{CARD}")
TOOL = data.tool(2, 1, "pay", gen_ai__tool__call__arguments=ARGUMENTS, url__full=f"https://shop/{CARD}")
SPRING = {"spring__ai__kind": "tool_call", "spring__ai__tool__definition__name": "pay"}
CLAUDE = {"span__type": "tool", "tool_name": "pay", "tool_use_id": "c", "user__email": "ada@shop"}
OPENINFERENCE = {"openinference__span__kind": "TOOL", "tool__name": "pay", "input__mime_type": "application/json"}
ACME = {"acme__kind": "tool", "acme__tool__name": "pay", "acme__tool__call__id": "c"}
SPANS: dict[str, tuple[str, Span, Span]] = {
    "otel_genai": ("agents", AGENT, TOOL),
    "openinference": (
        "agents",
        said(1, 0, "agent", openinference__span__kind="AGENT"),
        said(2, 1, "pay", **OPENINFERENCE, input__value=ARGUMENTS),
    ),
    "spring_ai": (
        "agents",
        said(1, 0, "chat_client", spring__ai__kind="chat_client"),
        said(2, 1, "tool_call pay", **SPRING, spring__ai__tool__call__arguments=ARGUMENTS),
    ),
    "mcp": (
        "agents",
        AGENT,
        said(2, 1, "tools/call pay", mcp__method__name="tools/call", gen_ai__tool__name="pay", mcp__tool__arguments=ARGUMENTS),
    ),
    "claude_code": (
        "com.anthropic.claude_code.tracing",
        said(1, 0, "claude_code.interaction", span__type="interaction"),
        said(2, 1, "claude_code.tool", **CLAUDE, tool_input=ARGUMENTS),
    ),
    "generic": (
        "acme",
        said(1, 0, "run", acme__kind="agent", acme__agent__name="helper"),
        said(2, 1, "run", **ACME, acme__tool__arguments=ARGUMENTS),
    ),
}  # fmt: skip
"""By dialect: the scope of an agent's span and a tool's, and both."""


def told(folder: Path, dialect: str, *hidden: str, **redact: Any) -> list[bool]:
    """Whether the card is in the event, the row of the store, and what a judge is told of a run."""
    config = {"attributes": hidden, **redact}
    bench = Bench(folder, PAY, redact=config, explain={"values": True})
    scope, agent, tool = SPANS[dialect]
    bench.pipeline.receive("traces", data.traces(tool, agent, scope=scope).SerializeToString(), "grpc")
    bench.wait(40)
    (verdict,) = bench.verdicts
    assert verdict.run.trajectory.calls[0].arguments == {"card": CARD}, "rules see all"
    redaction = Redaction(RedactionConfig.model_validate(config))
    kept, cut = bounded(verdict)
    row = Recorder(redaction).row(
        Submitted(kept, 0.0, 1.0, cut), [verdict.compiled_rule] if verdict.compiled_rule else []
    )
    judged = JudgeRedaction(redaction).run(judged_run(verdict.run), verdict.run.hidden)
    return [CARD in text for text in (str(bench.out("logs")), json.dumps(row, default=str), repr(judged))]


@pytest.mark.parametrize(
    ("dialect", "hidden"),
    [
        ("otel_genai", "gen_ai.tool.call.arguments"),
        ("openinference", "input.value"),
        ("spring_ai", "spring.ai.tool.call.*"),
        ("mcp", "mcp.tool.arguments"),
        ("claude_code", "tool_input"),
        ("generic", "acme.tool.arguments"),
        ("generic", "acme.*"),
    ],
)
def test_hidden_arguments_are_in_no_event_in_no_row_and_told_to_no_judge(
    tmp_path: Path, dialect: str, hidden: str
) -> None:
    assert told(tmp_path, dialect, hidden) == [False, False, False]


@pytest.mark.parametrize(
    ("dialect", "hidden"),
    [("otel_genai", "url.full"), ("claude_code", "user.*"), ("generic", "*.password"), ("spring_ai", "input.value")],
)
def test_arguments_are_told_where_what_is_hidden_holds_none(tmp_path: Path, dialect: str, hidden: str) -> None:
    assert told(tmp_path, dialect, hidden) == [True, True, True]


def test_no_value_is_quoted_shortened_where_a_pattern_may_mean_the_whole(tmp_path: Path) -> None:
    token = "sk-" + "a1B2" * 30
    bench = Bench(tmp_path, PAY, redact={"patterns": ["sk-[A-Za-z0-9]{100,}"]}, explain={"values": True})
    bench.send(data.tool(2, 1, "pay", gen_ai__tool__call__arguments=f'{{"card": "{token}"}}'), data.agent(1))
    bench.wait(40)
    assert token[:8] not in str(bench.out("logs"))
    assert "pay.card does not match" in str(bench.out("logs"))


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [
        ("gen_ai.input.messages", {"input"}),
        ("gen_ai.output.messages", {"response"}),
        ("gen_ai.tool.definitions", {"tools"}),
        ("gen_ai.tool.call.arguments", {"arguments"}),
        ("gen_ai.conversation.id", set()),
    ],
)
def test_only_what_was_read_from_it_is_hidden(tmp_path: Path, hidden: str, expected: set[Told]) -> None:
    words = [{"role": "user", "parts": [{"type": "text", "content": "pay"}]}]
    agent = data.agent(
        1,
        gen_ai__conversation__id="c-1",
        gen_ai__input__messages=json.dumps(words),
        gen_ai__output__messages=json.dumps([{**words[0], "role": "assistant"}]),
        gen_ai__tool__definitions=json.dumps([{"type": "function", "name": "pay"}]),
    )
    bench = Bench(tmp_path, JUDGED, redact={"attributes": [hidden]})
    for number in (1, 2):  # the second trace is of spans whose form is known
        trace_id = bytes([number]) * 16
        spans = [Span.FromString(span.SerializeToString()) for span in (TOOL, agent)]
        for span in spans:
            span.trace_id = trace_id
        bench.send(*spans)
        bench.wait(40)
    assert [verdict.run.hidden for verdict in bench.verdicts] == [expected, expected]


def test_what_a_log_record_told_is_hidden_by_a_key_of_its_body(tmp_path: Path) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": ARGUMENTS}}
    record = LogRecord(
        trace_id=data.TRACE, span_id=data.span_id(2), event_name="gen_ai.choice",
        body=data.any_value({"message": {"tool_calls": [call]}}),
    )  # fmt: skip
    bench = Bench(tmp_path, redact={"attributes": ["arguments"]})
    bench.pipeline.receive("logs", data.logs(record).SerializeToString(), "http")
    bench.send(data.span(2, 1, "chat", gen_ai__operation__name="chat"), data.agent(1))
    bench.wait(40)
    assert "arguments" in bench.verdicts[0].run.hidden
    assert CARD not in str(bench.out("logs"))


@pytest.mark.parametrize(("hidden", "is_told"), [("gen_ai.tool.call.arguments", False), ("url.full", True)])
def test_what_one_run_hides_its_conversation_hides(tmp_path: Path, hidden: str, is_told: bool) -> None:
    bench = Bench(tmp_path, TALK, redact={"attributes": [hidden]}, explain={"values": True})
    spoken: dict[str, Any] = {"gen_ai__conversation__id": "c-1"}
    bench.send(data.agent(1, trace_id=bytes([9]) * 16, **spoken))
    bench.send(TOOL, data.agent(1, at=1.0, **spoken))
    bench.wait(600)
    assert (CARD in str(bench.out("logs"))) is is_told
