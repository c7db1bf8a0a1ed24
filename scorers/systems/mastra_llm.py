"""Mastra's ``createToolCallAccuracyScorerLLM`` (npm @mastra/evals 1.10.2), the pure half: prompts and scoring.

The original asks a model twice: to judge every call (`analysis_request`), and to explain the result in one sentence
(`reason_request`). In between, code computes the score from the first answer::

    no evaluations   0 if missingTools is not empty, else 1
    else             the share of evaluations with wasAppropriate, two decimals, halves up (1/8 gives 0.13)

If an answer is not the JSON requested, the original asks once more and then throws. This scorer raises.

The documentation and the code differ:

- Evaluations are used as given, whatever their number and names: if calls were made but none evaluated, the score is 1.
- "Detects missing tools": they count only if nothing was evaluated.
- Documented examples give 0.5 and 0.3 for one inappropriate call; one evaluation can only give 0 or 1.
- The documentation describes a tool as ``{name, description}``; the code prints its ``id``, so that the judge reads
  ``undefined: ...``. Use ``{id, description}``.

The model sees names only, no arguments or results. The content of the prompts is the original's, the wording is ours. Text
from runs and tools is shortened and quoted as JSON, so that no text begins a line of its own. The original also repairs
truncated JSON, unless the model reports that it ran out of tokens; here it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import Field

from scorers.call_scorer import OriginalError, Scorer, labelled_score, make_scorer
from scorers.calls import Call
from scorers.judged.judge import AnswerError, JudgedRun, JudgeRequest, JudgeRequests, ToolDefinition, parse_answer
from scorers.options import Options, parse_options
from scorers.quoting import quote, truncate
from scorers.score import Score
from scorers.systems.formulas import round_to_cents

NAME = "mastra_llm"
VERSION = "@mastra/evals@1.10.2"

MAX_TEXT = 8_192
"""Characters of the user's request, of the agent's response, and of the names called."""
MAX_EVALUATIONS = 16_384
MAX_TOOLS, MAX_NAME, MAX_DESCRIPTION = 128, 128, 1_000

ANALYSIS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "evaluations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "toolCalled": {"type": "string"},
                    "wasAppropriate": {"type": "boolean"},
                    "reasoning": {"type": "string"},
                },
                "required": ["toolCalled", "wasAppropriate", "reasoning"],
            },
        },
        "missingTools": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["evaluations"],
}

INSTRUCTIONS = """\
You judge how an AI agent chose its tools. Be precise and literal: a tool is right only where it directly serves what \
the user explicitly asked for. A tool that is merely helpful, or from the same field, is not. Say for every judgement \
why, name tools that were needed and not called, judge alike in every case, and answer with exactly the JSON asked for."""

ANALYSIS_PROMPT = """\
Did the agent choose its tools well for this request?

USER REQUEST: {user_input}
AGENT RESPONSE: {agent_response}
TOOLS ACTUALLY CALLED: {called}

TOOL REFERENCE:
{reference}

RULES
1. No tool was called: judge the request and the response together. Was the request specific enough to act on, and did \
the agent ask for what was missing? A question back on a vague request is right, and missingTools stays empty. A \
general answer where a tool would have served, or a clear request ignored, is wrong.
2. Tools were called: judge each call against the explicit request.

EXAMPLES (an assistant of a law firm's clients)
- "I am looking for a firm", and the agent asks for field and place: right.
- "help with legal stuff", and the agent asks what about: right.
- "Draft an RFP for corporate litigation in New York", and the agent asks for more: wrong, a needless delay.
- "I need prices for litigation", and the agent answers in general terms: wrong, a tool was missed.

STRICTLY
- Asked for A, only tools that deliver A are appropriate.
- Calls nobody asked for are inappropriate, however useful.
- Weigh acting at once against asking first: which gives the user the better result?

Judge every tool called, or, where none was, whether that was the right decision."""

REASON_PROMPT = """\
Explain this judgement of an agent's tools in ONE SENTENCE.

User request: {user_input}
Score: {score:g}/1
Tools judged: {evaluations}
Missing tools: {missing}

Answer with that one sentence, saying why the score is what it is."""


class MastraLLMOptions(Options):
    """What the original takes from the run and the model.

    ``judge`` is the model's first answer, an object or text; ``reason`` is its second, by default the one of the stub model
    that produced the published test answers.
    """

    judge: str | dict[str, Any] | None = None
    reason: str = "because"
    available_tools: list[dict[str, Any]] = Field(default=[], alias="availableTools")
    user_input: str = Field(default="", alias="userInput")
    agent_response: str = Field(default="", alias="agentResponse")


class MastraLLMJudgeOptions(Options):
    """The options in a rule: the tools, if the instrumentation does not record them."""

    available_tools: list[dict[str, Any]] = Field(default=[], alias="availableTools")


class MastraLLMJudge:
    """Judges runs with the original's two requests."""

    def __init__(self, options: MastraLLMJudgeOptions) -> None:
        self._tools = options.available_tools

    def judge(self, run: JudgedRun) -> JudgeRequests:
        """Two requests, then the score. Raises `OriginalError` for an unusable answer."""
        tools = [_as_tool(tool) for tool in run.tools] if run.tools is not None else self._tools
        called = [call.name for call in run.trajectory.calls]
        answer = yield analysis_request(run.user_input or "", run.response or "", called, tools)
        analysis = parse_analysis(answer)
        reason = yield reason_request(run.user_input or "", analysis)
        return _score_analysis(analysis, reason)


def create_judge(**options: Any) -> MastraLLMJudge:
    """Returns the judge. Raises `ValueError` for invalid options."""
    return MastraLLMJudge(parse_options(NAME, MastraLLMJudgeOptions, options))


OPTIONS: Final = MastraLLMOptions


def create(**options: Any) -> Scorer:
    """Returns a scorer of one judged run. Raises `ValueError` for invalid options; the scorer, for an unusable answer."""
    return make_scorer(parse_options(NAME, MastraLLMOptions, options), _score)


def analysis_request(
    user_input: str, agent_response: str, called: Sequence[str], available_tools: Sequence[Mapping[str, Any]]
) -> JudgeRequest:
    """Returns the first request: a judgement of every call, by tool name."""
    reference = "\n".join(
        f"{_line(tool.get('id', 'undefined'), MAX_NAME)}: {_line(tool.get('description', 'undefined'), MAX_DESCRIPTION)}"
        for tool in available_tools[:MAX_TOOLS]
    )
    # Braces in a text are safe here: `format` reads those of the template alone.
    prompt = ANALYSIS_PROMPT.format(
        user_input=quote(truncate(user_input, MAX_TEXT)),
        agent_response=quote(truncate(agent_response, MAX_TEXT)),
        called=_line(", ".join(called), MAX_TEXT) or "None",
        reference=reference,
    )
    return JudgeRequest(INSTRUCTIONS, prompt, ANALYSIS_SCHEMA)


def reason_request(user_input: str, analysis: Mapping[str, Any]) -> JudgeRequest:
    """Returns the second request: one sentence on the score of an analysis."""
    prompt = REASON_PROMPT.format(
        user_input=quote(truncate(user_input, MAX_TEXT)),
        score=analysis_score(analysis),
        evaluations=_compact(analysis["evaluations"]),
        missing=_compact(analysis.get("missingTools", [])),
    )
    return JudgeRequest(INSTRUCTIONS, prompt)


def parse_analysis(answer: str | Mapping[str, Any]) -> dict[str, Any]:
    """Returns the model's first answer as an object. Raises `OriginalError` if it is not the JSON requested."""
    try:
        return parse_answer(answer, ANALYSIS_SCHEMA)
    except AnswerError as error:
        raise OriginalError(f"mastra_llm: {error}") from None


def analysis_score(analysis: Mapping[str, Any]) -> float:
    """Returns the score of a parsed analysis."""
    evaluations = analysis["evaluations"]
    if not evaluations:
        return 0.0 if analysis.get("missingTools") else 1.0
    return round_to_cents(_appropriate(analysis) / len(evaluations))


def _score(options: MastraLLMOptions, _expected: list[Call], _actual: list[Call]) -> Score:
    if options.judge is None:
        raise ValueError("mastra_llm needs the option judge: the model's answer to the analysis request")
    return _score_analysis(parse_analysis(options.judge), options.reason)


def _score_analysis(analysis: Mapping[str, Any], reason: str) -> Score:
    evaluations, missing = analysis["evaluations"], analysis.get("missingTools", [])
    return labelled_score(
        analysis_score(analysis),
        f"{_appropriate(analysis)} of {len(evaluations)} evaluated calls were appropriate, {len(missing)} tools missing",
        {"reason": reason, "judgeCalls": 2, "analyze": analysis},
        missing=missing,
    )


def _appropriate(analysis: Mapping[str, Any]) -> int:
    return sum(one["wasAppropriate"] for one in analysis["evaluations"])


def _line(text: object, limit: int) -> str:
    """The text, quoted so that it stays on one line."""
    # Without the quotation marks that the original's prompt has not; the escapes inside stay.
    return quote(truncate(str(text), limit))[1:-1]


def _compact(value: object) -> str:
    return truncate(json.dumps(value, ensure_ascii=False, separators=(",", ":")), MAX_EVALUATIONS)


def _as_tool(tool: ToolDefinition) -> dict[str, str]:
    return {"id": tool.name, "description": tool.description}
