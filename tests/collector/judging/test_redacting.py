"""What a judge may not see is in none of the texts of a run, at no depth."""

from __future__ import annotations

from typing import Any

import pytest

from collector.config.model import RedactionConfig
from collector.judging.redacting import MAX_DEPTH, JudgeRedaction
from collector.results.redaction import Redaction
from scorers.judged.judge import JudgedRun, JudgeRequest, ToolDefinition
from scorers.trajectory import ToolCall, Trajectory

SECRET = "s3cret"


def redaction(**config: Any) -> JudgeRedaction:
    return JudgeRedaction(Redaction(RedactionConfig.model_validate(config)))


def run(arguments: Any = None) -> JudgedRun:
    call = ToolCall(f"t_{SECRET}", {SECRET: [SECRET, 1, arguments]}, error_type=SECRET, arguments_text=SECRET)
    tool = ToolDefinition(SECRET, SECRET, {"enum": [SECRET]})
    return JudgedRun(Trajectory([call], user_input=SECRET), user_input=SECRET, response=SECRET, tools=[tool])


def test_patterns_are_replaced_everywhere() -> None:
    subject = redaction(patterns=[SECRET])
    assert SECRET in repr(run())
    assert SECRET not in repr(subject.run(run()))
    assert SECRET not in subject.request(JudgeRequest("s", f"a {SECRET}")).user


def test_without_configuration_a_run_is_left_as_it_is() -> None:
    original = run()
    assert redaction().run(original) is original


@pytest.mark.parametrize(
    ("attribute", "hidden"),
    [
        ("gen_ai.input.messages", "user_input"),
        ("gen_ai.output.messages", "response"),
        ("gen_ai.tool.call.arguments", "arguments"),
        ("gen_ai.tool.definitions", "tools"),
    ],
)
def test_a_hidden_attribute_hides_its_content(attribute: str, hidden: str) -> None:
    redacted = redaction(attributes=[attribute]).run(run())
    call = redacted.trajectory.calls[0]
    found = {
        "user_input": redacted.user_input,
        "response": redacted.response,
        "arguments": call.arguments or call.arguments_text,
        "tools": redacted.tools,
    }
    assert found[hidden] is None
    assert redacted.trajectory.user_input is None


@pytest.mark.parametrize(("depth", "kept"), [(MAX_DEPTH - 2, True), (MAX_DEPTH - 1, False)])
def test_values_nested_too_deeply_are_left_out(depth: int, kept: bool) -> None:
    nested: Any = "leaf"
    for _ in range(depth):
        nested = [nested]
    redacted = redaction(patterns=[SECRET]).run(run(nested))
    assert ("leaf" in repr(redacted.trajectory.calls[0].arguments)) is kept
