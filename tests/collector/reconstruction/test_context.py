"""Route, intent, agent, conversation and user input of a run."""

from __future__ import annotations

from typing import Any

import pytest

from collector.model.span import Resource
from collector.reconstruction.context import ContextSettings
from collector.scoring.select_and_score import tenant_of
from tests.builders import agent_span, doubts, model_span, run_of, runs_of, span, tool_span, user


@pytest.mark.parametrize(
    "key", ["gen_ai.workflow.name", "gen_ai.agent.name"]
)  # the latter since 0.1 of the conventions
def test_route_and_intent_come_from_above_the_agent(key: str) -> None:
    run = run_of(
        span("POST /chat/{id}", 1, kind=2, attributes={"http.route": "/chat/{id}", "url.path": "/chat/7"}),
        span("invoke_workflow refund", 2, 1, attributes={"gen_ai.operation.name": "invoke_workflow", key: "refund"}),
        span("internal", 3, 2),
        agent_span("helper", 4, 3),
    )
    assert (run.route, run.intent, run.agent) == ("/chat/{id}", "refund", "helper")


def test_names_are_tried_in_their_order_and_the_nearest_span_wins() -> None:
    settings = ContextSettings(route=("app.route", "http.route"), intent=("app.intent",))
    run = run_of(
        span("POST", 1, attributes={"http.route": "/a", "app.route": "outer", "app.intent": "x"}),
        agent_span("helper", 2, 1, attributes={"app.route": "inner"}),
        settings=settings,
    )
    assert (run.route, run.intent) == ("inner", "x")


def test_the_resource_comes_last() -> None:
    resource = Resource({"service.name": "shop", "rightcall.route": "/everything"})
    run = run_of(agent_span(resource=resource))
    assert (run.route, run.service) == ("/everything", "shop")
    assert run.attributes["rightcall.route"] == "/everything"


@pytest.mark.parametrize(
    ("resource", "server", "agent", "tenant"),
    [
        (None, "acme", None, "acme"),
        ("all", "acme", None, "acme"),
        ("all", "acme", "inner", "inner"),
        ("all", None, None, "all"),
    ],
)
def test_the_tenant_comes_from_the_agent_else_from_above_it_else_from_the_resource(
    resource: str | None, server: str | None, agent: str | None, tenant: str
) -> None:
    def named(name: str | None) -> dict[str, Any]:
        return {} if name is None else {"tenant.id": name}

    of_service = Resource({"service.name": "shop", **named(resource)})
    (run,) = runs_of(
        span("GET /", 1, kind=2, attributes=named("front" if server else None), resource=of_service),
        span(
            "POST /chat", 2, 1, kind=2, remote=True, attributes={"tier": "gold", **named(server)}, resource=of_service
        ),
        agent_span("helper", 3, 2, attributes=named(agent), resource=of_service),
    )
    assert (tenant_of(run), "tier" in run.attributes) == (tenant, False)


def test_only_text_is_a_route() -> None:
    assert run_of(agent_span(attributes={"http.route": 7})).route is None


def test_a_server_span_below_a_client_of_another_service_has_the_route() -> None:
    run = run_of(
        span("POST /chat", 2, 9, kind=2, remote=True, attributes={"http.route": "/chat"}),
        agent_span("helper", 3, 2),
        tool_span("search", number=4, parent=3),
    )
    assert (run.route, doubts(run)) == ("/chat", [])


def test_attributes_for_rules_are_short_and_plain() -> None:
    run = run_of(
        agent_span(
            attributes={"tier": "gold", "n": 7, "long": "x" * 5_000, "list": ["a"], "gen_ai.input.messages": "m" * 900}
        )
    )
    assert run.attributes["tier"] == "gold"
    assert run.attributes["n"] == 7
    assert not {"long", "list", "gen_ai.input.messages"} & set(run.attributes)


def test_the_conversation_is_the_anchors_or_the_one_that_all_spans_name() -> None:
    named = {"gen_ai.conversation.id": "c-1"}
    assert run_of(agent_span(attributes=named)).conversation_id == "c-1"
    assert run_of(agent_span(), tool_span("a", attributes=named)).conversation_id == "c-1"
    changing = [model_span(number=n, attributes={"gen_ai.conversation.id": f"resp-{n}"}) for n in (3, 4)]
    assert run_of(agent_span(), *changing).conversation_id is None


def test_a_missing_agent_is_named_by_its_spans() -> None:
    run = run_of(tool_span("a", parent=9, attributes={"gen_ai.agent.name": "helper"}))
    assert (run.agent, run.dialect) == ("helper", "otel_genai")


def test_the_users_text_is_the_agents_input() -> None:
    agent = agent_span(attributes={"gen_ai.input.messages": [user("refund order 42")]})
    assert run_of(agent).user_input == "refund order 42"
    assert run_of(agent, settings=ContextSettings(user_input=False)).user_input is None


def test_without_an_agents_input_the_first_requests_newest_message_counts() -> None:
    history = [user("hello"), {"role": "assistant", "parts": []}, user("refund order 42")]
    run = run_of(
        agent_span(),
        model_span(number=4, at=20, input_messages=[*history, {"role": "assistant", "parts": []}, user("no, 43")]),
        model_span(number=3, at=1, input_messages=history),
    )
    assert run.user_input == "refund order 42"
    assert run.trajectory.user_input == "refund order 42"


def test_after_a_handoff_the_next_agent_has_the_same_input() -> None:
    first, second = runs_of(
        agent_span("a", 1, attributes={"gen_ai.input.messages": [user("refund")]}, lasting=10),
        model_span(number=2, parent=1),
        agent_span("b", 3, at=20),
        model_span(number=4, parent=3, at=21, input_messages=[user("refund"), {"role": "assistant"}, {"role": "tool"}]),
    )
    assert (first.user_input, second.user_input) == ("refund", "refund")


def test_a_nested_agent_does_not_inherit_the_users_text() -> None:
    outer, inner = runs_of(
        agent_span("a", 1, attributes={"gen_ai.input.messages": [user("refund")]}),
        tool_span("ask", number=2, at=1, lasting=50),
        agent_span("b", 3, 2, at=2),
        tool_span("look", number=4, parent=3, at=3),
    )
    assert (outer.user_input, inner.user_input) == ("refund", None)


def test_the_response_is_the_last_known() -> None:
    models = [model_span(number=n, at=n, attributes={"gen_ai.response.id": f"r{n}"}) for n in (3, 4)]
    assert run_of(agent_span(), *models).response_id == "r4"
