"""What is left unread as a span of HTTP or of a database tells of no call, whatever words are in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector import dialects
from collector.dialects import generic
from collector.dialects.generic.other_spans import is_of_http_or_database
from collector.model.genai_span import IGNORED, Role
from tests.builders import called, doubts, run_of, span

WORDS = (
    "tool", "execute_tool", "search", "tools/call", "agent", "llm", "call_", "args.", "chat", "function", "skill", "input",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from((*WORDS, "/", " ", "=", ":", "(", ")", '"', "7")), max_size=6).map("".join)
"""Words of calls, put together as in URLs and statements."""
HOSTS = st.sampled_from(("tools", "llm-gateway", "agent.tools.svc", "skill-server", "function_call.example.com"))
VALUES = {
    "http.request.method": st.sampled_from(("GET", "POST")),
    "http.response.status_code": st.sampled_from((200, 404, 500)),
    "http.route": TEXTS.map("/v1/{{id}}/{}".format),
    "http.request.body": TEXTS.map("q={}".format),
    "http.response.body": TEXTS.map("ok: {}".format),
    "url.full": TEXTS.map("https://api.example.com/{}".format),
    "url.query": TEXTS.map("tool_call_id={}".format),
    "server.address": HOSTS,
    "client.address": HOSTS,
    "peer.service": HOSTS,
    "user_agent.original": TEXTS.map("agent/1.0 {}".format),
    "db.query.text": TEXTS.map("SELECT tool_name FROM calls WHERE {}".format),
    "db.query.parameter.arguments": TEXTS.map("v{}".format),
    "db.collection.name": st.sampled_from(("tool_calls", "agents")),
    "error.type": st.sampled_from(("500", "TimeoutError")),
    "thread.name": HOSTS,
}


@given(
    st.sampled_from(("GET", "POST", "HTTP", "SELECT", "DELETE")),
    TEXTS,
    st.fixed_dictionaries({}, optional=VALUES),
    st.sampled_from((0, 1)),
)
def test_nothing_is_lost_by_leaving_it_unread(
    method: str, target: str, attributes: dict[str, Any], parent: int
) -> None:
    read = span(f"{method} {target}", parent=parent, attributes=attributes)
    assert is_of_http_or_database(read)
    assert generic._read_span(read) in (None, IGNORED)


BODY = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"q": "cats"}}}'


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("POST /mcp", {"http.request.method": "POST", "http.request.body": BODY}),
        ("POST /tools", {"http.request.method": "POST", "tool.name": "search", "tool.input": "cats"}),
        ("execute_tool search", {"url.full": "http://tools/search"}),
    ],
    ids=["a call in the body", "a key of a tracer", "a name that tells"],
)
def test_a_span_that_tells_of_a_call_is_read(name: str, attributes: dict[str, Any]) -> None:
    read = span(name, parent=1, attributes=attributes)
    assert not is_of_http_or_database(read)
    call = dialects.read_span(read)
    assert call is not None
    assert call.role is Role.TOOL


def test_a_task_of_prefect_tells_of_a_call_the_types_of_its_parameters_alone() -> None:
    """Around the tool of an agent of Pydantic AI: its own span has the call."""
    task = {
        "prefect.run.name": "Call Tool: weather-4df",
        "prefect.run.type": "task",
        "prefect.run.id": "01a224d4-a121-7469-be1b-eeefc14160d2",
        "prefect.tags": [],
        "prefect.run.parameter.tool_name": "str",
        "prefect.run.parameter.tool_args": "dict",
        "prefect.run.parameter.ctx": "RunContext",
        "prefect.run.parameter.tool": "FunctionToolsetTool",
    }
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "trip", "final_result": "done"}
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "c1"}
    run = run_of(
        span("invoke_agent trip", 1, scope="pydantic-ai", lasting=50, attributes=agent),
        span("execute_tool weather", 2, 1, 5, 5, scope="pydantic-ai", attributes=call),
        span("Call Tool: weather-4df", 3, 2, 6, 2, scope="prefect", status=1, attributes=task),
    )
    assert (called(run), doubts(run)) == (["weather"], [])
