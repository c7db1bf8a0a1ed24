"""What a run was offered, by the definitions in its trace, and what it called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.scoring import declared_tools
from tests import otlp_data as data
from tests.harness import Bench

RULES = "rules: [{name: contracts, match: {}, schema: declared}]"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "name": "get_weather", "parameters": CITY}, {"name": "log"}]


def chat(number: int, tools: Any) -> Span:
    said: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__response__finish_reasons": ["stop"]}
    return data.span(number, 1, "chat", 0.01 * number, gen_ai__tool__definitions=json.dumps(tools), **said)


def call(number: int, name: str, arguments: Any = None) -> Span:
    said: dict[str, Any] = {} if arguments is None else {"gen_ai__tool__call__arguments": json.dumps(arguments)}
    return data.tool(number, 1, name, at=0.01 * number, **said)


def scored(folder: Path, *spans: Span, rules: str = RULES) -> tuple[Bench, list[tuple[str, str]]]:
    bench = Bench(folder, rules)
    bench.send(*spans, data.agent(1))
    bench.wait(60.0)
    (verdict,) = bench.verdicts
    return bench, [(evaluation.name, evaluation.score.label) for evaluation in verdict.evaluations]


@pytest.mark.parametrize(
    ("arguments", "label"), [({"city": "Rome"}, "pass"), ({"town": "Rome"}, "fail"), (None, "incomplete")]
)
def test_arguments_are_held_against_the_definition_in_the_trace(tmp_path: Path, arguments: Any, label: str) -> None:
    bench, found = scored(tmp_path, chat(2, TOOLS), call(3, "get_weather", arguments), call(4, "log", {"any": 1}))
    assert found == [("trajectory", "pass"), ("declared_schema", label)]
    labels = {"rule": "contracts", "route": "", "intent": "", "scorer": "declared_schema", "label": label}
    assert bench.value("evaluations_total", **labels) == 1
    assert bench.value("unoffered_tool_calls_total", tool="get_weather") == 0


def test_calls_of_tools_that_were_never_offered_are_counted(tmp_path: Path) -> None:
    bench, found = scored(tmp_path, chat(2, TOOLS), call(3, "rm", {}), call(4, "rm", {}), call(5, "log", {}))
    assert found[1] == ("declared_schema", "incomplete")
    assert [bench.value("unoffered_tool_calls_total", tool=tool) for tool in ("rm", "log")] == [2, 0]


def test_a_tool_of_a_server_is_offered_by_either_of_its_names(tmp_path: Path) -> None:
    tools = [{"name": "travel__get_weather", "parameters": CITY}]
    bench, found = scored(tmp_path, chat(2, tools), call(3, "get_weather", {"town": "Rome"}))
    assert found[1] == ("declared_schema", "fail")
    assert bench.value("unoffered_tool_calls_total", tool="get_weather") == 0


def test_a_tool_that_any_request_of_the_run_was_offered_is_one(tmp_path: Path) -> None:
    later = chat(4, [{"name": "pay"}])
    bench, found = scored(tmp_path, chat(2, TOOLS), call(3, "get_weather", {"city": "Rome"}), later, call(5, "pay", {}))
    assert found[1] == ("declared_schema", "pass")
    assert bench.value("unoffered_tool_calls_total", tool="pay") == 0


@pytest.mark.parametrize(
    "requests",
    [
        [[]],
        [[{"name": f"tool_{number}"} for number in range(300)]],
        [[{"name": f"tool_{number}"}] for number in range(declared_tools.MAX_LISTS + 1)],
    ],
    ids=["none", "too many", "too many lists"],
)
def test_where_the_offered_tools_are_not_known_nothing_is_said_of_others(tmp_path: Path, requests: list[Any]) -> None:
    chats = [chat(number, tools) for number, tools in enumerate(requests, 10)]
    bench, found = scored(tmp_path, *chats, call(3, "rm", {}))
    assert found[1] == ("declared_schema", "incomplete")
    assert bench.value("unoffered_tool_calls_total", tool="rm") == 0


def test_without_such_a_rule_definitions_are_not_read(tmp_path: Path) -> None:
    rules = 'rules: [{name: any, match: {}, expect: {allow_extra: ["*"]}}]'
    bench, _ = scored(tmp_path, chat(2, TOOLS), call(3, "rm", {}), rules=rules)
    assert bench.verdicts[0].run.contents == ()
    assert bench.value("unoffered_tool_calls_total", tool="rm") == 0
