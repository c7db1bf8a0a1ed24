"""The pure half of judging by a language model: the requests, and the parsing of answers. It does no I/O.

A scorer that asks a model is a generator of `JudgeRequest`s. The caller sends each of them to the model and the answer back
into the generator, which yields the next request or returns the Score.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from scorers.score import Score
from scorers.trajectory import Trajectory
from scorers.unicode import JSONDecoder

MAX_ANSWER_LENGTH = 262_144
"""Characters of an answer. Longer answers are refused."""

_CHANNEL = "<|message|>"
_FENCE = re.compile(r"\A\s*```json\b\s*")
# To the end of the answer where it never ends, so that no part of it is read twice.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
_CONTROLS = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class AnswerError(ValueError):
    """The model's answer is not the JSON that was requested."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One request to a model: system prompt, user prompt, and the JSON Schema of the answer (None: free text)."""

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
    """What a judge may see of one run. All of it is untrusted text; None means that it was not recorded."""

    trajectory: Trajectory
    user_input: str | None = None
    response: str | None = None
    """The agent's final answer."""
    tools: Sequence[ToolDefinition] | None = None


JudgeRequests = Generator[JudgeRequest, Any, Score]
"""Yields requests and receives their answers: an object that fits the request's schema, or text if it has none."""


class JudgeScorer(Protocol):
    """A scorer that asks a model."""

    def judge(self, run: JudgedRun) -> JudgeRequests:
        """Judge one run. Raises ValueError if the run cannot be judged, or if an answer is unusable."""


def parse_answer(answer: str | Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the object in a model's answer, validated against ``schema``. Raises `AnswerError`.

    Models wrap JSON in prose, fences and channel markers, and write line breaks into strings: all this is tolerated.
    Truncated JSON is refused.
    """
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - costs 0.1 s, and few processes need it

    # Validated here as well: not every endpoint keeps to the schema that it was asked for.
    found = dict(answer) if isinstance(answer, Mapping) else _parse(answer)
    # Sorted, so that the same answer has the same message. It names the place and never quotes the answer.
    problems = sorted(Draft202012Validator(schema).iter_errors(found), key=lambda problem: list(map(str, problem.path)))
    if problems:
        place = "/".join(map(str, problems[0].path)) or "the answer"
        raise AnswerError(f"the judge's answer does not fit its schema: {place}: {problems[0].validator} fails")
    return found


def _parse(answer: str) -> dict[str, Any]:
    if len(answer) > MAX_ANSWER_LENGTH:
        raise AnswerError(f"the judge's answer is longer than {MAX_ANSWER_LENGTH} characters")
    # Only inside strings: between values a line break is valid as it is.
    text = _STRING.sub(_escape_controls, _json_text(answer))
    try:
        found, _ = JSONDecoder(parse_constant=_refuse_constant).raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        raise AnswerError("the judge's answer is not JSON") from None
    if not isinstance(found, dict):
        raise AnswerError("the judge's answer is not a JSON object")
    return found


def _json_text(answer: str) -> str:
    """The JSON after a channel marker or an opening fence, otherwise the last balanced object in the prose."""
    text = _FENCE.sub("", answer.partition(_CHANNEL)[2] or answer)
    return text if text.lstrip().startswith(("{", "[")) else _last_object(text) or text


def _last_object(text: str) -> str:
    """The last balanced ``{...}`` outside quotes; empty if there is none."""
    found, start, depth = "", 0, 0
    # One pass, whose tokens cannot overlap: linear for any answer, unlike trying to parse from each brace.
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
