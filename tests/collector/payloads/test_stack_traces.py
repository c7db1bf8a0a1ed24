"""What a stack trace tells of whether a tool began: frames as Agno (3) and Google's ADK for Python (2) leave them."""

from __future__ import annotations

import pytest

from collector.payloads.refusals import BEGAN, Refusal
from collector.payloads.stack_traces import refusal_in_stack

BEGINNING = "Traceback (most recent call last):\n"


def frame(function: str, line: str) -> str:
    return f'  File "/app/lib.py", line 7, in {function}\n    {line}\n'


AROUND = frame("_safe_hook_call", "return hook(**arguments)")
TOOL = frame("execute", "result = self.function.entrypoint(**arguments)")
INNERMOST = frame("execute_entrypoint", "return self.function.entrypoint(**arguments)")


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        (frame("_handle_pre_hook", "self.function.pre_hook(**arguments)"), Refusal()),
        (frame("_handle_post_hook", "self.function.post_hook(**arguments)"), BEGAN),
        (TOOL, BEGAN),
        (AROUND, Refusal(is_sure=False)),
        (AROUND + INNERMOST, BEGAN),
        (frame("run_before_tool_callback", "return await plugin.before_tool_callback()"), Refusal()),
        (frame("run_after_tool_callback", "return await plugin.after_tool_callback()"), BEGAN),
        (frame("_execute", "function_response = callback(tool=tool)"), Refusal()),
        (frame("_execute", "altered_function_response = callback(tool=tool)"), BEGAN),
        (frame("charge", "raise PermissionError"), None),
    ],
)
def test_the_outermost_frame_tells_a_hook_from_the_tool(frames: str, told: Refusal | None) -> None:
    inner = frame("charge", "raise ValueError")
    assert refusal_in_stack(f"{BEGINNING}{frames}{inner}ValueError\n") == told


@pytest.mark.parametrize("trace", [None, 7, "", BEGINNING + frame("main", "run()") * 1000 + TOOL])
def test_what_is_no_trace_or_beyond_its_limit_tells_nothing(trace: object) -> None:
    assert refusal_in_stack(trace) is None
