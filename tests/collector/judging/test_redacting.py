"""What a judge may not see is in none of the texts of a run, at no depth."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from collector.config.model import RedactionConfig
from collector.judging.redacting import MAX_DEPTH, JudgeRedaction
from collector.model.genai_span import NOTHING_HIDDEN, Told
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
    assert SECRET not in repr(subject.run(run(), NOTHING_HIDDEN))
    assert SECRET not in subject.request(JudgeRequest("s", f"a {SECRET}")).user


def test_without_configuration_a_run_is_left_as_it_is() -> None:
    original = run()
    assert redaction().run(original, NOTHING_HIDDEN) is original


@pytest.mark.parametrize("hidden", get_args(Told))
def test_what_is_hidden_is_left_out_and_nothing_else(hidden: Told) -> None:
    redacted = redaction(attributes=["any"]).run(run(), frozenset([hidden]))
    call = redacted.trajectory.calls[0]
    found: dict[Told, object] = {
        "input": redacted.user_input,
        "response": redacted.response,
        "arguments": call.arguments or call.arguments_text,
        "tools": redacted.tools,
    }
    assert [told for told, value in found.items() if value is None] == [hidden]
    assert redacted.trajectory.user_input is None


@pytest.mark.parametrize(("depth", "kept"), [(MAX_DEPTH - 2, True), (MAX_DEPTH - 1, False)])
def test_values_nested_too_deeply_are_left_out(depth: int, kept: bool) -> None:
    nested: Any = "leaf"
    for _ in range(depth):
        nested = [nested]
    redacted = redaction(patterns=[SECRET]).run(run(nested), NOTHING_HIDDEN)
    assert ("leaf" in repr(redacted.trajectory.calls[0].arguments)) is kept
