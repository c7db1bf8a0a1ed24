"""Sentry for JavaScript (@sentry/node 10.78) with LangChain's agents (1.5): requests alone, and words without ids or flags."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span

BOOM = {"name": "boom", "args": {"n": 1}, "type": "tool_call", "id": "call_100000000"}
PAY = {"name": "pay", "args": {"n": 1}, "type": "tool_call", "id": "call_100000000"}
MAIL = {"name": "mail", "args": {"n": 2}, "type": "tool_call", "id": "call_200000000"}


def request(number: int, at: float, *calls: Any, told: tuple[str, ...] = (), agent: str | None = "shop") -> Span:
    messages = [{"role": "user", "content": "go"}]
    if told:
        messages += [{"role": "assistant", "content": ""}, *({"role": "tool", "content": words} for words in told)]
    reason = "tool_calls" if calls else "stop"
    attributes: dict[str, Any] = {
        "sentry.op": "gen_ai.chat",
        "sentry.origin": "auto.ai.langchain",
        "gen_ai.system": "openai",
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.response.finish_reasons": json.dumps([reason]),
        "gen_ai.response.text": '[""]' if calls else '["done"]',
        "gen_ai.response.id": f"chatcmpl-{number}",
    }
    if agent is not None:
        attributes["gen_ai.agent.name"] = agent
    if calls:
        attributes["gen_ai.response.tool_calls"] = json.dumps(calls)
    return span("chat gpt-4o", number, 1, at, 5, attributes=attributes, scope="@sentry/node")


ROOT = span("POST /chat", 1, lasting=100)
CREATED = {"sentry.origin": "auto.ai.langgraph", "gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "shop"}
AGENT = span("create_agent shop", 9, 1, 0, 1, attributes=CREATED, scope="@sentry/node")
OPEN = ["uncertain_execution", "unobserved_results"]


@pytest.mark.parametrize("words", ["sorry card declined", "Tool 'boom' failed after 3 attempts with Error"])
def test_middleware_may_say_in_any_words_that_a_tool_failed(words: str) -> None:
    run = run_of(ROOT, AGENT, request(2, 1, BOOM), request(3, 20, told=(words,)))
    assert (called(run), run.trajectory.calls[0].status, doubts(run)) == (["boom"], "unset", OPEN)


def test_middleware_may_have_answered_in_place_of_a_tool() -> None:
    run = run_of(ROOT, AGENT, request(2, 1, PAY, MAIL), request(3, 20, told=("cached", "ok 2")))
    assert (called(run), {*doubts(run)}) == (["pay", "mail"], {*OPEN})


def test_results_may_be_in_another_order_than_their_calls() -> None:
    """A limit refuses calls before the others run: of these three the first ran."""
    refusal = "Tool call limit exceeded. Do not call 'pay' again."
    calls = [{**PAY, "id": f"call_{number}00000000", "args": {"n": number}} for number in (1, 2, 3)]
    run = run_of(ROOT, AGENT, request(2, 1, *calls), request(3, 20, told=(refusal, refusal, "ok 1")))
    assert "uncertain_execution" in doubts(run)


def test_a_call_that_was_asked_for_last_may_wait_for_a_human() -> None:
    assert {*doubts(run_of(ROOT, AGENT, request(2, 1, PAY, MAIL)))} == {*OPEN}


def test_in_a_loop_of_ones_own_the_words_leave_open_whether_a_call_failed() -> None:
    run = run_of(ROOT, request(2, 1, BOOM, agent=None), request(3, 20, told=("declined by the bank",), agent=None))
    assert (called(run), doubts(run)) == (["boom"], ["unobserved_results"])
