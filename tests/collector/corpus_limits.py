"""Recorded runs that cannot be reconstructed exactly: what is lost, and why. Nothing else may differ."""

from __future__ import annotations

_ALL = ("names", "arguments", "errors", "order")

_NO_CALLS = "the instrumentation records neither tool spans nor tool calls in messages"
_MESSAGES_APART = "arguments are only in messages of the runtime, each of which is a trace of its own"
_NO_ARGUMENTS = "no span and no message holds arguments"
_NO_INPUT = "no span holds the user's text"
_NO_INNER_AGENT = "the inner agent has no span that distinguishes it from a step"
_APART = "two instrumentations record the run as two traces, and nothing connects them"
_DENIED = "the run after the approval left no span, only the one before it"

LIMITS: dict[str, tuple[frozenset[str], str]] = {
    name: (frozenset(what), why)
    for name, what, why in (
        (
            "java-springai-1.1.0-nocontent",
            ("errors",),
            "the span of a failed call is a success, and its result is not captured",
        ),
        ("js-langchain-traceloop-fail", _ALL, "every span is a trace of its own, a failed tool has no name"),
        (
            "js-mastra0-otelexp-badcall",
            ("user_input",),
            "the run died: two pieces of a stream are all that was exported",
        ),
        ("js-mcp-traceloop-badcall", ("user_input",), _NO_INPUT),
        ("js-mcp-traceloop-fail", ("user_input",), _NO_INPUT),
        (
            "py-anthropic-sdk-official-fail",
            ("errors",),
            "the error flag of a result is not recorded, its text names no error",
        ),
        ("py-autogen-native-fail", ("arguments", "user_input"), _MESSAGES_APART),
        ("py-autogen-native-multi", ("arguments", "user_input"), _MESSAGES_APART),
        ("py-decorators-langsmith-nested", ("nesting",), "the inner agent is a plain traced function"),
        ("py-decorators-logfire-fail", ("user_input",), _NO_INPUT),
        ("py-decorators-logfire-multi", ("user_input",), _NO_INPUT),
        ("py-decorators-openlit-fail", ("arguments",), "a function that raised leaves a span without attributes"),
        ("py-decorators-utilgenai-fail", ("user_input",), _NO_INPUT),
        ("py-decorators-utilgenai-nested", ("user_input",), _NO_INPUT),
        (
            "py-google-genai-official-multi",
            ("steps",),
            "one span for all turns of the automatic calling, so turns are lost",
        ),
        (
            "py-google-genai-officialold-multi",
            ("arguments", "steps", "user_input"),
            "content is not captured, nor turns",
        ),
        (
            "py-langchain-apart-openinference+official-fail",
            (*_ALL, "runs"),
            _APART,
        ),
        (
            "py-langchain-apart-openinference+official-multi",
            (*_ALL, "runs"),
            _APART,
        ),
        ("py-langgraph-legacy-tl-nested", ("nesting",), _NO_INNER_AGENT),
        ("py-langgraph-loong-nested", ("nesting",), _NO_INNER_AGENT),
        ("py-langgraph-splunk-nested", ("nesting",), _NO_INNER_AGENT),
        ("py-llama-index-tl-nested", ("nesting",), _NO_INNER_AGENT),
        ("py-mcp-fastmcp-fail", ("arguments",), _NO_ARGUMENTS),
        ("py-mcp-native-fail", ("arguments",), _NO_ARGUMENTS),
        ("py-mcp-oi-multi", _ALL, "the instrumentation propagates context and records no span"),
        (
            "py-openai-agents-apart-openinference+openllmetry-fail",
            (*_ALL, "runs"),
            _APART,
        ),
        (
            "py-openai-agents-apart-openinference+openllmetry-multi",
            (*_ALL, "runs"),
            _APART,
        ),
        ("py-openai-agents-openinference-approval", _ALL, _DENIED),
        ("py-openai-sdk-legacy-tl-responses-fail", ("errors",), "tool results are not recorded"),
        ("py-openai-sdk-officialnocontent-chat-nested", ("names", "errors", "order"), _NO_CALLS),
        ("py-smolagents-official-multi", _ALL, _NO_CALLS),
        ("py-smolagents-official-nested", (*_ALL, "user_input"), _NO_CALLS),
    )
}
