"""Stack traces of what was raised inside the span of a call: by a hook before its tool began, or later.

They name functions of the frameworks around hooks and tools: Python's the outermost first, those of Java and JavaScript the
innermost.
"""

from __future__ import annotations

import re
from typing import Final

from collector.payloads.refusals import BEGAN, Refusal

_MAX_TRACE: Final = 16_384
"""How much of a stack trace is searched."""
_AGNO_HOOKS: Final = ", in _safe_hook_call"
_AGNO_TOOL: Final = re.compile(r", in execute_entrypoint(?:_async)?\n")
_FIRST: Final = re.compile(
    # Agno (2 and 3): the hook before the tool, that after it, the hooks around it, and the tool
    r"(?P<before>, in _handle_pre_hook(?:_async)?\n)|(?P<after>, in _handle_post_hook(?:_async)?\n)"
    rf"|(?P<around>{_AGNO_HOOKS}(?:_async)?\n)|(?P<tool>\bself\.function\.entrypoint\()"
    # Google's ADK for Python (1 and 2): plugins and callbacks, whose answers have two names
    r"|(?P<plugin>, in run_before_tool_callback\n)|(?P<plugin_after>, in run_(?:after_tool|on_tool_error)_callback\n)"
    r"|(?P<callback>\n +function_response = (?:await )?(?:_run_callbacks|callback)\()"
    r"|(?P<callback_after>\n +altered_function_response = )"
    # Semantic Kernel (1.45): the filters of a function, and inside them the function
    r"|(?P<filter>, in invoke\n +await stack\(function_context\)\n)"
    # AG2 (1.2): what passes through its tracer's middleware; what a tool raised is caught before that, but for a few errors
    r"|(?P<middleware>, in on_tool_execution\n +result = await call_next\(event, context\)\n)"
    # TanStack AI (0.58), where such hooks run beside its tracer's
    r"|(?P<tanstack>\n    at (?:async )?MiddlewareRunner\.runOnBeforeToolCall \()"
    r"|(?P<tanstack_after>\n    at (?:async )?MiddlewareRunner\.runOnAfterToolCall \()"
    # Google's ADK for Java (1.6)
    r"|(?P<java>\tat com\.google\.adk\.(?:flows\.llmflows\.Functions\.lambda\$maybeInvokeBeforeToolCall"
    r"|plugins\.PluginManager\.lambda\$beforeToolCallback)\$)"
    r"|(?P<java_later>\tat com\.google\.adk\.(?:flows\.llmflows\.Functions\.(?:callTool\("
    r"|lambda\$(?:maybeInvokeAfterToolCall|handleOnToolErrorCallback)\$)"
    r"|plugins\.PluginManager\.lambda\$(?:afterToolCallback|onToolErrorCallback)\$))"
)
_CALLED: Final = {"filter": ", in _invoke_internal\n", "middleware": "await self.model.asolve("}
"""What is in the traces of those if the tool was called."""
_BEFORE: Final = ("before", "plugin", "callback", "tanstack", "java")
_BEGINNING: Final = "Traceback (most recent call last):\n"
_WRAPPED: Final = re.compile(r"\n +(?:return|tool_result =) await cap\.wrap_tool_execute\(")
_INSIDE: Final = re.compile(
    r", in lifecycle\n +args = await cap\.(?P<before>before)_tool_execute\(|, in (?:lifecycle|do_execute|_raw_execute)\n"
)
"""In Pydantic AI (2.62): the hooks before the tool, or what else those around it call."""


def refusal_in_stack(trace: object) -> Refusal | None:
    """Returns what the stack trace of a call that failed says of whether its tool began; None if it says nothing.

    Of Agno's hooks around a tool nothing tells whether one raised before or after it, unless the tool is in the trace.
    """
    if type(trace) is not str:
        return None
    first = _FIRST.search(trace, 0, _MAX_TRACE)
    if first is None:
        return None
    if first.lastgroup in _BEFORE:
        return Refusal()
    if (called := _CALLED.get(first.lastgroup or "")) is not None:  # else it was before the tool, or after it
        return None if trace.find(called, first.end(), _MAX_TRACE) >= 0 else Refusal(is_sure=False)
    if first.lastgroup == "around" and _AGNO_TOOL.search(trace, first.end(), _MAX_TRACE) is None:
        return Refusal(is_sure=False)
    return BEGAN


def refusal_by_hook_of_pydantic_ai(trace: object) -> Refusal | None:
    """Returns what a stack trace says of a hook that raised in place of a tool; None if the tool was called, or nothing tells.

    Of hooks around the tool nothing tells whether one raised before or after it. What was raised is in the last part of the
    trace, after its causes: an agent inside the tool may have hooks as well.
    """
    if type(trace) is not str:
        return None
    beginning = max(trace.rfind(_BEGINNING), 0)
    end = beginning + _MAX_TRACE
    if (wrapped := _WRAPPED.search(trace, beginning, end)) is None:
        return None
    inside = _INSIDE.search(trace, wrapped.end(), end)
    if inside is None:
        return Refusal(is_sure=False)
    return Refusal() if inside["before"] else None
