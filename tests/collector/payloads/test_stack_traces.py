"""What a stack trace tells of whether a tool began: frames of Agno (3), Google's ADK for Python (2) and Java (1.6),
Pydantic AI (2.62), Semantic Kernel (1.45), AG2 (1.2), TanStack AI (0.58).
"""

from __future__ import annotations

import pytest

from collector.payloads.refusals import BEGAN, Refusal
from collector.payloads.stack_traces import refusal_by_hook_of_pydantic_ai, refusal_in_stack

BEGINNING = "Traceback (most recent call last):\n"


def frame(function: str, line: str) -> str:
    return f'  File "/app/lib.py", line 7, in {function}\n    {line}\n'


AROUND = frame("_safe_hook_call", "return hook(**arguments)")
TOOL = frame("execute", "result = self.function.entrypoint(**arguments)")
TRACER = frame("on_tool_execution", "result = await call_next(event, context)")
FILTERS = frame("invoke", "await stack(function_context)")
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
        (FILTERS, Refusal(is_sure=False)),
        (TRACER, Refusal(is_sure=False)),
        (TRACER + frame("__call__", "result = await self.model.asolve("), None),
        (FILTERS + frame("log", "await next(context)") + frame("_invoke_internal", "result = self.method()"), None),
        (frame("charge", "raise PermissionError"), None),
    ],
)
def test_the_outermost_frame_tells_a_hook_from_the_tool(frames: str, told: Refusal | None) -> None:
    inner = frame("charge", "raise ValueError")
    assert refusal_in_stack(f"{BEGINNING}{frames}{inner}ValueError\n") == told


FLOW = "com.google.adk.flows.llmflows.Functions"
PLUGINS = "com.google.adk.plugins.PluginManager"


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        ((f"{FLOW}.lambda$maybeInvokeBeforeToolCall$20(Functions.java:618)",), Refusal()),
        (
            (
                "com.google.adk.agents.LlmAgent$Builder.lambda$beforeToolCallbackSync$13(LlmAgent.java:454)",
                f"{FLOW}.lambda$maybeInvokeBeforeToolCall$20(Functions.java:618)",
            ),
            Refusal(),
        ),
        (
            (
                f"{PLUGINS}.lambda$beforeToolCallback$14(PluginManager.java:205)",
                f"{PLUGINS}.lambda$runMaybeCallbacks$19(PluginManager.java:241)",
            ),
            Refusal(),
        ),
        ((f"{FLOW}.lambda$maybeInvokeAfterToolCall$24(Functions.java:692)",), BEGAN),
        ((f"{FLOW}.lambda$handleOnToolErrorCallback$22(Functions.java:659)",), BEGAN),
        ((f"{PLUGINS}.lambda$afterToolCallback$15(PluginManager.java:215)",), BEGAN),
        ((f"{PLUGINS}.lambda$onToolErrorCallback$16(PluginManager.java:223)",), BEGAN),
        ((f"{FLOW}.callTool(Functions.java:707)", f"{FLOW}.lambda$maybeInvokeBeforeToolCall$20(F.java:618)"), BEGAN),
        (("io.reactivex.rxjava3.core.Flowable.subscribe(Flowable.java:15917)",), None),
    ],
)
def test_the_innermost_frame_of_java_tells_a_callback_from_the_tool(
    frames: tuple[str, ...], told: Refusal | None
) -> None:
    lines = ("x.App.lambda$main$0(App.java:76)", *frames, "io.reactivex.rxjava3.core.Maybe.subscribe(Maybe.java:5377)")
    assert refusal_in_stack("\n\tat ".join(("java.lang.IllegalStateException: not today", *lines))) == told


@pytest.mark.parametrize(
    ("frame_of_tanstack", "told"),
    [
        ("MiddlewareRunner.runOnBeforeToolCall (file:///app/node_modules/@tanstack/ai/compose.js:347:30)", Refusal()),
        ("async MiddlewareRunner.runOnBeforeToolCall (file:///app/node_modules/ai/compose.js:347:30)", Refusal()),
        ("MiddlewareRunner.runOnAfterToolCall (file:///app/node_modules/@tanstack/ai/compose.js:373:13)", BEGAN),
        ("executeServerTool (file:///app/node_modules/@tanstack/ai/tool-calls.js:331:20)", None),
    ],
)
def test_a_frame_of_tanstack_ai_tells_a_hook_from_the_tool(frame_of_tanstack: str, told: Refusal | None) -> None:
    frames = ("Object.hook (file:///app/main.mjs:14:130)", frame_of_tanstack, "node:internal/process/task_queues:95:5")
    assert refusal_in_stack("\n    at ".join(("Error: not today", *frames))) == told


@pytest.mark.parametrize("trace", [None, 7, "", BEGINNING + frame("main", "run()") * 1000 + TOOL])
def test_what_is_no_trace_or_beyond_its_limit_tells_nothing(trace: object) -> None:
    assert refusal_in_stack(trace) is None


WRAPPED = frame("wrapped", "return await cap.wrap_tool_execute(") + frame(
    "wrap_tool_execute", "return await handler(args)"
)
BEFORE = frame("lifecycle", "args = await cap.before_tool_execute(ctx, call=call, args=args)")
AFTER = frame("lifecycle", "return await cap.after_tool_execute(ctx, call=call, result=tool_result)")
HANDLED = frame("lifecycle", "tool_result = await cap.on_tool_execute_error(ctx, call=call, error=e)")
CALLED = frame("lifecycle", "tool_result = await do_execute(args)") + frame("_raw_execute", "return await call_tool(")
NO_HOOKS = frame("do_execute", "return await self._raw_execute(") + frame("_raw_execute", "return await call_tool(")


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        (WRAPPED + BEFORE, Refusal()),
        (WRAPPED + WRAPPED + frame("guard", "raise PermissionError"), Refusal(is_sure=False)),
        (WRAPPED + AFTER, None),
        (WRAPPED + HANDLED + CALLED, None),
        (WRAPPED + CALLED, None),
        (WRAPPED + NO_HOOKS, None),
        # Inside the tool, an agent whose hook blocks a tool of its own.
        (WRAPPED + CALLED + WRAPPED + BEFORE, None),
        (frame("charge", "raise PermissionError"), None),
        (frame("main", "run()") * 1000 + WRAPPED + BEFORE, None),
    ],
)
def test_the_hooks_of_pydantic_ai_are_told_from_the_tool(frames: str, told: Refusal | None) -> None:
    assert refusal_by_hook_of_pydantic_ai(f"{BEGINNING}{frames}ValueError\n") == told


def test_what_was_raised_is_in_the_last_part_of_a_trace() -> None:
    """A tool that asks to be called again: its exception is the cause of that which the framework makes of it."""
    cause = f"{BEGINNING}{frame('_raw_execute', 'return await call_tool(')}ModelRetry\n\nThe above exception was...\n\n"
    assert refusal_by_hook_of_pydantic_ai(f"{cause}{BEGINNING}{WRAPPED}{CALLED}ToolRetryError\n") is None
    assert refusal_by_hook_of_pydantic_ai(f"{cause}{BEGINNING}{WRAPPED}{BEFORE}ModelRetry\n") == Refusal()


def test_what_is_no_trace_tells_nothing_of_hooks() -> None:
    assert refusal_by_hook_of_pydantic_ai(None) is None
