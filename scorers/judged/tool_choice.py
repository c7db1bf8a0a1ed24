"""``tool_choice``: did the agent call the right tools, by the judgement of a model that sees what it called them with.

The model is shown the user's request, the tools, every call with arguments and outcome, the agent's answer and the rule's
``rubric``. It answers by a schema made for the run: a verdict on each call, tools that were missing, and whether it was
right to ask the user back. The score is computed here::

    value = (appropriate + wrong_arguments / 2 + right question) / (calls + missing tools + question)

where a question is the agent asking the user to clarify, which counts like a call: 1 where it was right, 0 where the
request could have been acted on. Nothing called, nothing missing, nothing asked is 1. Every call counts, also one that
failed or that nothing ran, since the agent chose it.

Unlike `scorers.systems.mastra_llm`: arguments and outcomes are seen, missing tools count beside calls too, and an answer
that does not judge every call exactly once is an error, not a 1.

What the run says is data (see `scorers.quoting`): whoever writes into it can at most talk the model into another verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints

from scorers.call_scorer import Options, read_options
from scorers.judged.judge import JudgedRun, JudgeRequests, ToolDefinition, parse_answer
from scorers.judged.tool_choice_prompt import MAX_DEFINITION, MAX_NAME, MAX_TOOLS, is_recorded, question
from scorers.quoting import printable
from scorers.score import Outcome, Score
from scorers.trajectory import ToolCall

NAME: Final = "tool_choice"
VERSION: Final = "tool_choice@1"

MAX_CALLS: Final = 100
"""Calls of a run that is judged; a longer one is not judged at all rather than in part."""
MAX_RUBRIC: Final = 4_000
MAX_REASON: Final = 300

_POINTS: Final[Mapping[str, float]] = {
    "appropriate": 1.0,
    "wrong_arguments": 0.5,
    "wrong_tool": 0.0,
    "unnecessary": 0.0,
}
_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "appropriate": "matched",
    "wrong_arguments": "wrong_arguments",
    "wrong_tool": "extra",
    "unnecessary": "extra",
}
_SHOWN: Final = 12

_Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]


class AvailableTool(Options):
    """A tool the agent can call, for instrumentations that do not record which there are."""

    name: _Name
    description: Annotated[str, StringConstraints(max_length=MAX_DEFINITION)] = ""
    parameters: dict[str, Any] | None = None


class ToolChoiceOptions(Options):
    """What a rule says to it. ``available_tools`` stand where the traces do not say which tools there were.

    ``rubric`` is what the owner of the agent adds to the instructions: it is trusted, unlike anything in a trace.
    """

    rubric: Annotated[str, StringConstraints(max_length=MAX_RUBRIC)] = ""
    available_tools: list[AvailableTool] = Field(default=[], max_length=MAX_TOOLS)


class ToolChoice:
    """Judges runs with one question each."""

    def __init__(self, options: ToolChoiceOptions) -> None:
        self._rubric = options.rubric
        self._tools = [ToolDefinition(tool.name, tool.description, tool.parameters) for tool in options.available_tools]

    def judge(self, run: JudgedRun) -> JudgeRequests:
        """One question, then the score. Raises `ValueError` for a run nobody can judge and an answer without sense."""
        calls = run.trajectory.calls
        if not run.user_input:
            raise ValueError("nobody recorded what the user asked for, so no choice of tools can be judged")
        if len(calls) > MAX_CALLS:
            raise ValueError(f"the run has {len(calls)} calls; at most {MAX_CALLS} are judged")
        tools = self._known(run.tools)
        request = question(run, tools, self._rubric)
        answer = yield request
        return score_answer(parse_answer(answer, request.schema or {}), calls)

    def _known(self, captured: Sequence[ToolDefinition] | None) -> list[ToolDefinition] | None:
        """The tools captured, else the rule's; a captured name without more is told by the rule's definition of it."""
        if captured is None:
            return self._tools or None
        told = {tool.name: tool for tool in self._tools}
        return [
            tool if tool.description or tool.parameters else told.get(tool.name, tool) for tool in captured[:MAX_TOOLS]
        ]


def create_judge(**options: Any) -> ToolChoice:
    """A scorer that asks. Raises `ValueError` for bad options."""
    return ToolChoice(read_options(NAME, ToolChoiceOptions, options))


def score_answer(answer: Mapping[str, Any], calls: Sequence[ToolCall]) -> Score:
    """The score of an answer that fits the schema. Raises `ValueError` where it contradicts itself or the run."""
    judged: list[Mapping[str, Any]] = sorted(answer.get("calls", ()), key=lambda one: int(one["call"]))
    missing = list(dict.fromkeys(answer["missing_tools"]))
    clarification = answer["clarification"]
    _check(judged, calls)
    if clarification == "right" and missing:
        raise ValueError("the judge says that asking the user was right, and that tools were missing")
    verdicts = [one["verdict"] for one in judged]
    chances = len(calls) + len(missing) + (clarification != "not_asked")
    points = sum(_POINTS[verdict] for verdict in verdicts) + (clarification == "right")
    value = points / chances if chances else 1.0
    details = {
        "calls": [
            {"call": number, "tool": call.name, "verdict": one["verdict"], "reason": _cut(one["reason"])}
            for number, (one, call) in enumerate(zip(judged, calls, strict=True), 1)
        ],
        "clarification": clarification,
        "reason": _cut(answer["reason"]),
    }
    explanation = _explain(value, verdicts, calls, missing, clarification)
    outcomes = tuple(_OUTCOMES[verdict] for verdict in verdicts)
    return Score(value, "pass" if value == 1.0 else "fail", explanation, outcomes, missing, details)


def _check(judged: Sequence[Mapping[str, Any]], calls: Sequence[ToolCall]) -> None:
    numbers = [one["call"] for one in judged]
    if numbers != list(range(1, len(calls) + 1)):
        raise ValueError(f"the judge must judge each of {len(calls)} calls once, it judged {numbers}")
    for number, (one, call) in enumerate(zip(judged, calls, strict=True), 1):
        if one["verdict"] == "wrong_arguments" and not is_recorded(call):
            raise ValueError(f"the judge calls arguments wrong that nobody recorded, those of call {number}")


def _cut(reason: str) -> str:
    """A model's words, short and fit for UTF-8."""
    return reason[:MAX_REASON].encode(errors="replace").decode()


def _explain(
    value: float, verdicts: Sequence[str], calls: Sequence[ToolCall], missing: Sequence[str], clarification: str
) -> str:
    """``score 0.500 = (1 + 1/2 + 0)/(2 + 1 + 0): wrong arguments get_weather (call 2), missing get_time; 1 appropriate``.

    Above the line the appropriate calls, half of those with wrong arguments and a right question; below it the calls,
    the missing tools and the questions.
    """
    right, half = verdicts.count("appropriate"), verdicts.count("wrong_arguments")
    asked, asked_well = int(clarification != "not_asked"), int(clarification == "right")
    if not calls and not missing and not asked:
        return f"score {value:.3f}: nothing called, nothing missing"
    flaws = [
        f"{verdict.replace('_', ' ')} {printable(call.name)} (call {number})"
        for number, (verdict, call) in enumerate(zip(verdicts, calls, strict=True), 1)
        if verdict != "appropriate"
    ]
    flaws += [f"missing {printable(name)}" for name in missing]
    flaws += [f"asked the user, which was {clarification}"] if asked else []
    shown = [*flaws[:_SHOWN], *([f"{len(flaws) - _SHOWN} more"] if len(flaws) > _SHOWN else [])]
    formula = f"score {value:.3f} = ({right} + {half}/2 + {asked_well})/({len(calls)} + {len(missing)} + {asked})"
    return f"{formula}: {'; '.join(filter(None, [', '.join(shown), f'{right} appropriate']))}"
