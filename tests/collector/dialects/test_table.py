"""The table of dialects: complete, ordered, and what has to be decoded for it."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

from collector import dialects
from collector.dialects import ATTRIBUTES, DIALECTS, LOG_MARKERS, MARKERS, SCOPES
from collector.model.dialect import Dialect
from collector.model.genai_span import IGNORED, Role
from collector.otlp import lazy
from collector.otlp.structure import Envelope
from tests import otlp_data as data
from tests.builders import agent_span, span, tool_span
from tests.operations import calls

MODULES = sorted(module.name for module in pkgutil.iter_modules(dialects.__path__))


def test_every_dialect_is_in_the_table_once() -> None:
    found = [importlib.import_module(f"collector.dialects.{name}").DIALECT for name in MODULES]
    assert sorted(dialect.name for dialect in DIALECTS) == MODULES
    assert {id(dialect) for dialect in DIALECTS} == {id(dialect) for dialect in found}


def test_the_conventions_come_after_the_dialects_that_depart_from_them_and_the_fallback_last() -> None:
    assert [dialect.name for dialect in DIALECTS[-2:]] == ["otel_genai", "generic"]
    assert DIALECTS[0].name == "openinference"


ORDINARY: dict[str, dict[str, Any]] = {
    "GET /orders/{id}": {
        "http.request.method": "GET", "url.full": "https://shop.example/orders/7?expand=items", "server.port": 443,
        "user_agent.original": "Mozilla/5.0 (X11; Linux x86_64) python-httpx/0.28.1", "error.type": "timeout",
        "code.function.name": "shop.orders.get", "network.protocol.version": "1.1", "http.response.status_code": 200,
    },
    "SELECT orders": {
        "db.system.name": "postgresql", "db.query.text": "SELECT * FROM orders WHERE id = $1", "db.operation.name": "SELECT",
        "db.namespace": "shop", "db.response.status_code": "08P01", "peer.service": "orders-db",
    },
    "orders process": {
        "messaging.system": "kafka", "messaging.destination.name": "orders", "messaging.operation.type": "process",
        "messaging.consumer.group.name": "billing", "messaging.kafka.message.key": "7", "span.kind": "consumer",
    },
    "shop.Orders/Get": {"rpc.system": "grpc", "rpc.service": "shop.Orders", "rpc.method": "Get", "thread.name": "main"},
}  # fmt: skip
"""Spans as the instrumentations of HTTP, databases, queues and RPC write them."""


def test_what_finds_spans_of_agents_finds_their_log_records() -> None:
    assert [log for log in LOG_MARKERS if not any(marker in log for marker in MARKERS)] == []


def test_no_marker_is_in_an_ordinary_span() -> None:
    found = lazy.SpanFilter(MARKERS, SCOPES)
    spans = [
        data.span(number, 1, name, **attributes).SerializeToString()
        for number, (name, attributes) in enumerate(ORDINARY.items(), 2)
    ]
    assert list(found.find(Envelope(b"", b""), data.items(*spans), range(len(spans)))) == []


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("tool:x", {}), ("CallTool", {}), ("step", {"span_type": "agent"}), ("step", {"acme.kind": "TOOL"}),
        ("step", {"acme.llm.model": "m"}), ("x", {"toolName": "x"}), ("x", {"function_call.name": "x"}),
        ("act", {"action.payload": "{}"}), ("seats", {"args.row": "F"}), ("Werkzeug: zahlen", {}),
        ("x", {"function.params": "{}"}),
        ("iter-1", {"raw": "Action: pay\nAction Input: {}"}),
    ],
)  # fmt: skip
def test_markers_find_spans_in_the_words_of_unknown_tracers(name: str, attributes: dict[str, Any]) -> None:
    raw = data.span(2, 1, name, **attributes).SerializeToString()
    assert list(lazy.SpanFilter(MARKERS).find(Envelope(b"", b""), data.items(raw), [0])) == [0]


def test_searching_for_all_markers_takes_no_more_searches_than_for_one() -> None:
    spans = [data.span(number, 1, "GET", **ORDINARY["GET /orders/{id}"]) for number in range(2, 502)]
    raws = [span.SerializeToString() for span in spans]

    def searches(found: lazy.SpanFilter) -> int:
        items = data.items(*raws)
        return calls(lambda: found.find(Envelope(b"", b""), items, range(len(raws))))

    assert searches(lazy.SpanFilter(MARKERS)) == searches(lazy.SpanFilter((b"openinference.span.kind",)))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_span_of_a_dialect_is_found_by_a_marker_or_by_its_scope(dialect: Dialect) -> None:
    for key in dialect.keys:
        assert (
            any(marker in key.encode() for marker in MARKERS)
            or key
            in (
                "crewai.crew.tasks_output",
                "operation.name",  # of the Vercel AI SDK before 3.3, whose spans have `ai.result.` or `tool` in other keys
                "gcp.vertex.agent.invocation_id",  # of ADK for Rust, whose spans have `gen_ai.conversation.id` as well
                "genkit:type",
                "koog.node.id",  # and the next: of Koog, whose spans have `gen_ai.conversation.id` as well
                "koog.strategy.name",
                "koog.subgraph.id",
                "langsmith.span.kind",
                "mastra.span.type",
                "target",  # of Swiftide, whose spans have the marker in its value
                "componentName",  # of Mastra 0.18, whose spans have `mastra.operationId` or the name of a method in other keys
            )
        )
    assert set(dialect.whole_scopes) <= SCOPES
    assert set(dialect.keys) <= ATTRIBUTES


def test_attributes_of_events_are_decoded_too() -> None:
    assert {"content", "message", "event.name", "exception.type", "exception.message"} <= ATTRIBUTES


def test_a_root_is_context_whatever_it_is() -> None:
    for root in (
        span("GET /", 1),
        span("embed", 1, attributes={"gen_ai.operation.name": "embeddings"}),
        span("?", 1, attributes={"gen_ai.x": 1}),
    ):
        genai_span = dialects.read_span(root)
        assert genai_span is not None
        assert genai_span is not IGNORED
        assert genai_span.role is Role.OTHER


def test_a_server_span_with_a_route_is_context() -> None:
    genai_span = dialects.read_span(span("POST", 2, 1, kind=2, attributes={"http.route": "/chat"}))
    assert genai_span is not None
    assert (genai_span.role, genai_span.attributes) == (Role.OTHER, {"http.route": "/chat"})


def test_a_span_called_from_another_process_is_context() -> None:
    genai_span = dialects.read_span(span("Agent/Run", 2, 1, kind=2, remote=None, attributes={"rpc.system": "grpc"}))
    assert genai_span is not None
    assert (genai_span.role, genai_span.remote_parent) == (Role.OTHER, True)


def test_a_span_with_a_marker_that_no_dialect_understands_is_none() -> None:
    assert dialects.read_span(span("x", 2, 1, attributes={"gen_ai.system": "openai"})) is None


def test_two_dialects_on_one_span_make_one_genai_span() -> None:
    both = tool_span(
        "pay", call_id="c1", attributes={"openinference.span.kind": "TOOL", "tool.name": "pay", "input.value": "{}"}
    )
    genai_span = dialects.read_span(both)
    assert genai_span is not None
    assert (genai_span.dialect, genai_span.call_id, genai_span.arguments) == ("openinference", "c1", "{}")


def test_dialects_that_disagree_on_a_spans_role_are_not_mixed() -> None:
    chain = agent_span(number=2, parent=1, attributes={"openinference.span.kind": "LLM", "session.id": "s"})
    genai_span = dialects.read_span(chain)
    assert genai_span is not None
    assert (genai_span.role, genai_span.name) == (Role.MODEL, None)
