"""Redaction of what a judge sees, by the configuration ``redact`` that applies to all exports.

Its patterns are applied to every text of a run, and again to the question made from them. If one of its globs hides an
attribute in which a dialect finds the user input, the response, the arguments or the tools, the judge gets none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from collector.results.redaction import Redaction
from scorers.judged.judge import JudgedRun, JudgeRequest, ToolDefinition
from scorers.trajectory import ToolCall

MAX_DEPTH = 32
"""Values nested more deeply are left out of what a judge sees."""
# Where dialects find each of these. A glob that hides one name hides the content, whichever attribute recorded it.
INPUTS = (
    "gen_ai.input.messages", "gen_ai.prompt", "gen_ai.prompt.0.content", "gen_ai.event.content", "input.value", "input",
    "llm.input_messages", "llm.input_messages.0.message.content", "traceloop.entity.input", "ai.prompt",
    "ai.prompt.messages", "mlflow.spanInputs", "langfuse.observation.input", "lmnr.span.input", "genkit:input",
    "haystack.agent.input", "mastra.agent_run.input", "gcp.vertex.agent.llm_request", "pydantic_ai.all_messages",
    "all_messages_events", "llm.openai.messages", "content", "message", "raw_input",
)  # fmt: skip
_RESPONSES = (
    "gen_ai.output.messages", "gen_ai.completion", "gen_ai.completion.0.content", "output.value", "output", "response",
    "llm.output_messages", "llm.output_messages.0.message.content", "traceloop.entity.output", "ai.response.text",
    "mlflow.spanOutputs", "langfuse.observation.output", "lmnr.span.output", "genkit:output", "mastra.model_step.output",
    "gcp.vertex.agent.llm_response", "pydantic_ai.all_messages", "all_messages_events", "llm.openai.choices",
    "final_result", "content", "message",
)  # fmt: skip
ARGUMENTS = (
    "gen_ai.tool.call.arguments", "gen_ai.tool.input", "gen_ai.output.messages", "input.value", "traceloop.entity.input",
    "ai.toolCall.args", "ai.response.toolCalls", "tool_arguments", "tool.arguments", "tool.input", "tool.parameters",
    "arguments", "function.args", "function.kwargs", "gcp.vertex.agent.tool_call_args", "mlflow.spanInputs",
    "langfuse.observation.input", "lmnr.span.input", "genkit:input", "haystack.agent.step.tool.input", "raw_input",
)  # fmt: skip
_TOOLS = (
    "gen_ai.tool.definitions", "llm.tools", "ai.prompt.tools", "gen_ai.request.tools", "gen_ai.request.tool.definitions",
)  # fmt: skip


class JudgeRedaction:
    """Redacts runs and questions before they are sent to a judge."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._no_input, self._no_response, self._no_arguments, self._no_tools = (
            any(redaction.hides(name) for name in names) for names in (INPUTS, _RESPONSES, ARGUMENTS, _TOOLS)
        )

    def run(self, run: JudgedRun) -> JudgedRun:
        """Returns the run, redacted."""
        if not self._redaction.active:
            return run
        trajectory = run.trajectory
        calls = [self._call(call) for call in trajectory.calls]
        user_input = None if self._no_input else self._text(run.user_input)
        tools = None if self._no_tools or run.tools is None else self._tools(run.tools)
        return replace(
            run,
            trajectory=replace(trajectory, calls=calls, user_input=None),
            user_input=user_input,
            response=None if self._no_response else self._text(run.response),
            tools=tools,
        )

    def request(self, request: JudgeRequest) -> JudgeRequest:
        """Returns the question, redacted as a whole: patterns may match across the texts it was made from."""
        if not self._redaction.active:
            return request
        return replace(request, user=self._redaction.text(request.user))

    def _call(self, call: ToolCall) -> ToolCall:
        arguments = None if self._no_arguments or call.arguments is None else self._plain(call.arguments, 0)
        text = None if self._no_arguments else self._text(call.arguments_text)
        name, error_type = self._redaction.text(call.name), self._text(call.error_type)
        return replace(call, name=name, arguments=arguments, arguments_text=text, error_type=error_type)

    def _tools(self, tools: Iterable[ToolDefinition]) -> list[ToolDefinition]:
        text = self._redaction.text
        return [
            ToolDefinition(text(tool.name), text(tool.description), self._plain(tool.parameters, 0)) for tool in tools
        ]

    def _text(self, text: str | None) -> str | None:
        return None if text is None else self._redaction.text(text)

    def _plain(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._redaction.text(value)
        if depth >= MAX_DEPTH:
            return None
        if isinstance(value, Mapping):
            return {self._redaction.text(str(key)): self._plain(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._plain(inner, depth + 1) for inner in value]
        return value
