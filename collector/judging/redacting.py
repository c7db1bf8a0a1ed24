"""Redaction of what a judge sees, by the configuration ``redact`` that applies to all exports.

Its patterns are applied to every text of a run, and again to the question made from them. Of what a dialect read from an
attribute that one of its globs hides, the user input, the response, the arguments or the tools, the judge gets none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from collector.model.genai_span import Told
from collector.results.redaction import Redaction
from scorers.judged.judge import JudgedRun, JudgeRequest, ToolDefinition
from scorers.trajectory import ToolCall

MAX_DEPTH = 32
"""Values nested more deeply are left out of what a judge sees."""


class JudgeRedaction:
    """Redacts runs and questions before they are sent to a judge."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction

    def run(self, run: JudgedRun, hidden: frozenset[Told]) -> JudgedRun:
        """Returns the run, redacted, without what of it is ``hidden``."""
        if not self._redaction.active:
            return run
        trajectory = run.trajectory
        calls = [self._call(call, has_arguments="arguments" not in hidden) for call in trajectory.calls]
        user_input = None if "input" in hidden else self._text(run.user_input)
        tools = None if "tools" in hidden or run.tools is None else self._tools(run.tools)
        return replace(
            run,
            trajectory=replace(trajectory, calls=calls, user_input=None),
            user_input=user_input,
            response=None if "response" in hidden else self._text(run.response),
            tools=tools,
        )

    def request(self, request: JudgeRequest) -> JudgeRequest:
        """Returns the question, redacted as a whole: patterns may match across the texts it was made from."""
        if not self._redaction.active:
            return request
        return replace(request, user=self._redaction.text(request.user))

    def _call(self, call: ToolCall, *, has_arguments: bool) -> ToolCall:
        arguments = self._plain(call.arguments, 0) if has_arguments else None
        text = self._text(call.arguments_text) if has_arguments else None
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
