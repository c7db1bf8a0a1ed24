"""The pure half of judging by a language model: what to ask, and how to read the answer. It asks nobody itself.

A scorer with a judge is a generator of `JudgeRequest`s: whoever may use the network asks each of them, sends the answer
into the generator, and gets the next question or, as its return value, the Score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from scorers.score import Score
from scorers.trajectory import Trajectory

ANSWER_LIMIT = 262_144
"""Characters of an answer that are read; longer ones are refused."""

_CHANNEL = "<|message|>"
_FENCE = re.compile(r"\A\s*```json\b\s*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CONTROLS = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class AnswerError(ValueError):
    """The model's answer is not the JSON that was asked for."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One question to a model: instructions, the question, and the JSON Schema of the answer (None: free text)."""

    system: str
    user: str
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool the agent could have called; ``parameters`` is the JSON Schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """What a judge may be told of one run. All of it was written by strangers; None is "nobody recorded it"."""

    trajectory: Trajectory
    user_input: str | None = None
    response: str | None = None
    """What the agent answered in the end."""
    tools: Sequence[ToolDefinition] | None = None


JudgeRequests = Generator[JudgeRequest, Any, Score]
"""Yields questions and is sent their answers: an object that fits the question's schema, text where it has none."""


class JudgeScorer(Protocol):
    """A scorer that asks a model."""

    def judge(self, run: JudgedRun) -> JudgeRequests:
        """Judge one run. Raises ValueError where the run cannot be judged, or an answer makes no sense."""


def parse_answer(answer: str | Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The object in a model's answer, checked against ``schema``. Raises `AnswerError`.

    Models wrap JSON in prose, fences and channel markers, and write line breaks into strings: all that is read over.
    JSON that ends early is refused.
    """
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - a tenth of a second that most processes never need

    found = dict(answer) if isinstance(answer, Mapping) else _parse(answer)
    problems = sorted(Draft202012Validator(schema).iter_errors(found), key=lambda problem: list(map(str, problem.path)))
    if problems:
        place = "/".join(map(str, problems[0].path)) or "the answer"
        raise AnswerError(f"the judge's answer does not fit its schema: {place}: {problems[0].validator} fails")
    return found


def _parse(answer: str) -> dict[str, Any]:
    if len(answer) > ANSWER_LIMIT:
        raise AnswerError(f"the judge's answer is longer than {ANSWER_LIMIT} characters")
    text = _STRING.sub(_escape_controls, _json_text(answer))
    try:
        found, _ = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        raise AnswerError("the judge's answer is not JSON") from None
    if not isinstance(found, dict):
        raise AnswerError("the judge's answer is not a JSON object")
    return found


def _json_text(answer: str) -> str:
    """Where the JSON starts: behind a channel marker or an opening fence, else the last balanced object in the prose."""
    text = _FENCE.sub("", answer.partition(_CHANNEL)[2] or answer)
    return text if text.lstrip().startswith(("{", "[")) else _last_object(text) or text


def _last_object(text: str) -> str:
    """The last balanced ``{...}`` outside quotes; empty where there is none."""
    found, start, depth = "", 0, 0
    for token in re.finditer(r'\\.|"(?:[^"\\]|\\.)*(?:"|\Z)|[{}]', text, re.DOTALL):
        if token[0] == "{":
            start = start if depth else token.start()
            depth += 1
        elif token[0] == "}" and depth:
            depth -= 1
            found = found if depth else text[start : token.end()]
    return found


def _escape_controls(string: re.Match[str]) -> str:
    return re.sub(r"[\n\r\t]", lambda control: _CONTROLS[control[0]], string[0])


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
