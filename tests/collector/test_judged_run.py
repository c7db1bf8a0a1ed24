"""What a judge is told of a run."""

from __future__ import annotations

from collector.judged_run import judged_run
from tests.builders import agent_span, run_of, tool_span, user


def test_calls_and_the_users_words() -> None:
    run = run_of(
        agent_span(attributes={"gen_ai.input.messages": [user("Rome?")]}), tool_span("weather", {"city": "Rome"})
    )
    judged = judged_run(run)
    assert judged.trajectory is run.trajectory
    assert judged.user_input == "Rome?"


def test_what_nobody_recorded_is_none() -> None:
    judged = judged_run(run_of(agent_span(), tool_span("weather")))
    assert (judged.user_input, judged.response, judged.tools) == (None, None, None)
