"""``tool_choice``: did the agent call the right tools? A model judges each call, with its arguments and outcome.

The model sees the user's request, the tools, every call with its arguments and outcome, the agent's answer and the rule's
``rubric``. It answers in a schema made for the run: a verdict on each call, the tools that were missing, and whether it was
right to ask the user for clarification. The score is computed here::

    value = (appropriate + wrong_arguments / 2 + right question) / (calls + missing tools + question)

A question is the agent asking the user for clarification. It counts like a call: 1 if it was right, 0 if the request could
have been acted on. Nothing called, nothing missing and nothing asked is 1. Every call counts, including one that failed or
never ran, since the agent chose it.

Unlike `scorers.systems.mastra_llm`: the model sees arguments and outcomes, missing tools count in addition to calls, and an
answer that does not judge every call exactly once is an error, not a 1.

The text of a run is data (see `scorers.quoting`): whoever writes into it can at most persuade the model to give another
verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints

from scorers.judged.judge import JudgedRun, JudgeRequests, ToolDefinition, parse_answer
from scorers.judged.tool_choice_prompt import MAX_DEFINITION, MAX_NAME, MAX_TOOLS, build_request, is_recorded
from scorers.options import Options, parse_options
from scorers.quoting import shorten
from scorers.score import Outcome, Score
from scorers.trajectory import ToolCall

NAME: Final = "tool_choice"
VERSION: Final = "tool_choice@1"

MAX_CALLS: Final = 100
"""Calls of a run that is judged. A longer run is not judged at all, rather than in part."""
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
_MAX_LISTED: Final = 12
"""Flaws listed in an explanation."""

_Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]


class AvailableTool(Options):
    """A tool the agent can call, for instrumentations that do not record the available tools."""

    name: _Name
    description: Annotated[str, StringConstraints(max_length=MAX_DEFINITION)] = ""
    parameters: dict[str, Any] | None = None


class ToolChoiceOptions(Options):
    """The options in a rule. ``available_tools`` are used if the traces do not record which tools there were.

    ``rubric`` is added to the instructions by the owner of the agent: it is trusted, unlike anything in a trace.
    """

    rubric: Annotated[str, StringConstraints(max_length=MAX_RUBRIC)] = ""
    available_tools: list[AvailableTool] = Field(default=[], max_length=MAX_TOOLS)


class ToolChoice:
    """Judges runs with one request each."""

    def __init__(self, options: ToolChoiceOptions) -> None:
        self._rubric = options.rubric
        self._tools = [ToolDefinition(tool.name, tool.description, tool.parameters) for tool in options.available_tools]

    def judge(self, run: JudgedRun) -> JudgeRequests:
        """One request, then the score. Raises `ValueError` for a run that cannot be judged or an inconsistent answer."""
        calls = run.trajectory.calls
        if not run.user_input:
            raise ValueError("the user's request was not recorded, so the choice of tools cannot be judged")
        if len(calls) > MAX_CALLS:
            raise ValueError(f"the run has {len(calls)} calls; at most {MAX_CALLS} are judged")
        request = build_request(run, self._available(run.tools), self._rubric)
        answer = yield request
        return score_answer(parse_answer(answer, request.schema or {}), calls)

    def _available(self, captured: Sequence[ToolDefinition] | None) -> list[ToolDefinition] | None:
        """The captured tools, otherwise the rule's. The rule also defines captured tools of which only the name is known."""
        if captured is None:
            return self._tools or None
        defined = {tool.name: tool for tool in self._tools}
        return [
            tool if tool.description or tool.parameters else defined.get(tool.name, tool)
            for tool in captured[:MAX_TOOLS]
        ]


def create_judge(**options: Any) -> ToolChoice:
    """Returns the judge. Raises `ValueError` for invalid options."""
    return ToolChoice(parse_options(NAME, ToolChoiceOptions, options))


def score_answer(answer: Mapping[str, Any], calls: Sequence[ToolCall]) -> Score:
    """Returns the score of an answer that fits the schema. Raises `ValueError` if it contradicts itself or the run."""
    judged: list[Mapping[str, Any]] = sorted(answer.get("calls", ()), key=lambda one: int(one["call"]))
    missing = list(dict.fromkeys(answer["missing_tools"]))
    clarification = answer["clarification"]
    _check_consistency(judged, calls)
    # An answer that contradicts itself is an error: to prefer one half of it would be a guess.
    if clarification == "right" and missing:
        raise ValueError("the judge answered both that asking the user was right and that tools were missing")
    verdicts = [one["verdict"] for one in judged]
    chances = len(calls) + len(missing) + (clarification != "not_asked")
    points = sum(_POINTS[verdict] for verdict in verdicts) + (clarification == "right")
    value = points / chances if chances else 1.0
    details = {
        "calls": [
            {"call": number, "tool": call.name, "verdict": one["verdict"], "reason": _shorten(one["reason"])}
            for number, (one, call) in enumerate(zip(judged, calls, strict=True), 1)
        ],
        "clarification": clarification,
        "reason": _shorten(answer["reason"]),
    }
    explanation = _explain(value, verdicts, calls, missing, clarification)
    outcomes = tuple(_OUTCOMES[verdict] for verdict in verdicts)
    return Score(value, "pass" if value == 1.0 else "fail", explanation, outcomes, missing, details)


def _check_consistency(judged: Sequence[Mapping[str, Any]], calls: Sequence[ToolCall]) -> None:
    numbers = [one["call"] for one in judged]
    # The schema fixes how many verdicts there are, not that they are about different calls.
    if numbers != list(range(1, len(calls) + 1)):
        raise ValueError(f"the judge must judge each of {len(calls)} calls exactly once; it judged {numbers}")
    for number, (one, call) in enumerate(zip(judged, calls, strict=True), 1):
        if one["verdict"] == "wrong_arguments" and not is_recorded(call):
            raise ValueError(f"the judge found wrong arguments in call {number}, whose arguments were not recorded")


def _shorten(reason: str) -> str:
    """A reason given by the model, shortened and valid UTF-8."""
    return reason[:MAX_REASON].encode(errors="replace").decode()


def _explain(
    value: float, verdicts: Sequence[str], calls: Sequence[ToolCall], missing: Sequence[str], clarification: str
) -> str:
    """``score 0.500 = (1 + 1/2 + 0)/(2 + 1 + 0): wrong arguments get_weather (call 2), missing get_time; 1 appropriate``.

    The numerator adds the appropriate calls, half of those with wrong arguments, and a right question; the denominator adds
    the calls, the missing tools and the question.
    """
    right, half = verdicts.count("appropriate"), verdicts.count("wrong_arguments")
    asked, asked_rightly = int(clarification != "not_asked"), int(clarification == "right")
    if not calls and not missing and not asked:
        return f"score {value:.3f}: nothing called, nothing missing"
    flaws = [
        f"{verdict.replace('_', ' ')} {shorten(call.name)} (call {number})"
        for number, (verdict, call) in enumerate(zip(verdicts, calls, strict=True), 1)
        if verdict != "appropriate"
    ]
    flaws += [f"missing {shorten(name)}" for name in missing]
    flaws += [f"asked the user, which was {clarification}"] if asked else []
    shown = [*flaws[:_MAX_LISTED], *([f"{len(flaws) - _MAX_LISTED} more"] if len(flaws) > _MAX_LISTED else [])]
    formula = f"score {value:.3f} = ({right} + {half}/2 + {asked_rightly})/({len(calls)} + {len(missing)} + {asked})"
    return f"{formula}: {'; '.join(filter(None, [', '.join(shown), f'{right} appropriate']))}"
