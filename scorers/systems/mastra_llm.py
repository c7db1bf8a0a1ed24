"""Mastra's ``createToolCallAccuracyScorerLLM`` (npm @mastra/evals 1.10.2), the pure half: questions out, score in.

The original asks a model twice: to judge every call (`analysis_request`), and to put the result into one sentence
(`reason_request`). Between the two, code makes the score of the first answer::

    no evaluations   0 if missingTools is not empty, else 1
    else             the share of evaluations with wasAppropriate, two decimals, halves up (1/8 gives 0.13)

An answer that is not the JSON asked for is asked again once, then the original throws: here it raises.

Prose and code differ:

- Evaluations are taken as given, in number and name: calls were made but none evaluated scores 1.
- "Detects missing tools": they count only where nothing was evaluated.
- Documented examples give 0.5 and 0.3 for one inappropriate call; one evaluation can only give 0 or 1.
- The documentation describes a tool as ``{name, description}``; the code prints its ``id``, so that the judge reads
  ``undefined: ...``. Give ``{id, description}``.

The model sees names only, no arguments or results. The wording of the questions is ours, their content the original's,
but that what run and tools say is quoted and cut: it is as JSON would write it, so that no text begins a line of its own.
The original also mends JSON that ends early, unless the model says that it ran out of tokens; here it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from scorers.call_scorer import Options, OriginalError, Scorer, labelled_score, make_scorer, parse_options
from scorers.calls import Call
from scorers.judged.judge import AnswerError, JudgedRun, JudgeRequest, JudgeRequests, ToolDefinition, parse_answer
from scorers.quoting import quote, truncate
from scorers.score import Score
from scorers.systems.formulas import round_to_cents

NAME = "mastra_llm"
VERSION = "@mastra/evals@1.10.2"

MAX_WORDS = 8_192
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

ANALYSIS_QUESTION = """\
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

REASON_QUESTION = """\
Explain this judgement of an agent's tools in ONE SENTENCE.

User request: {user_input}
Score: {score:g}/1
Tools judged: {evaluations}
Missing tools: {missing}

Answer with that one sentence, saying why the score is what it is."""


class MastraLLMOptions(Options):
    """What the original takes from the run and the model.

    ``judge`` is the model's first answer, an object or text; ``reason`` its second, with the stand-in's word of the
    published test answers where it was not asked.
    """

    judge: str | dict[str, Any] | None = None
    reason: str = "because"
    available_tools: list[dict[str, Any]] = Field(default=[], alias="availableTools")
    user_input: str = Field(default="", alias="userInput")
    agent_response: str = Field(default="", alias="agentResponse")


class MastraLLMJudgeOptions(Options):
    """What a rule says to it: the tools, where no instrumentation recorded them."""

    available_tools: list[dict[str, Any]] = Field(default=[], alias="availableTools")


class MastraLLMJudge:
    """Judges runs by asking a model the original's two questions."""

    def __init__(self, options: MastraLLMJudgeOptions) -> None:
        self._tools = options.available_tools

    def judge(self, run: JudgedRun) -> JudgeRequests:
        """Two questions, then the score. Raises `OriginalError` for an answer that is unusable."""
        tools = [_as_tool(tool) for tool in run.tools] if run.tools is not None else self._tools
        called = [call.name for call in run.trajectory.calls]
        answer = yield analysis_request(run.user_input or "", run.response or "", called, tools)
        analysis = read_analysis(answer)
        reason = yield reason_request(run.user_input or "", analysis)
        return _verdict(analysis, reason)


def create_judge(**options: Any) -> MastraLLMJudge:
    """A scorer that asks. Raises `ValueError` for bad options."""
    return MastraLLMJudge(parse_options(NAME, MastraLLMJudgeOptions, options))


def create(**options: Any) -> Scorer:
    """A scorer of one judged run. Raises `ValueError` for bad options, the scorer for an answer that is unusable."""
    return make_scorer(parse_options(NAME, MastraLLMOptions, options), _score)


def analysis_request(
    user_input: str, agent_response: str, called: Sequence[str], available_tools: Sequence[Mapping[str, Any]]
) -> JudgeRequest:
    """The first question: a judgement of every call, by tool name."""
    reference = "\n".join(
        f"{_line(tool.get('id', 'undefined'), MAX_NAME)}: {_line(tool.get('description', 'undefined'), MAX_DESCRIPTION)}"
        for tool in available_tools[:MAX_TOOLS]
    )
    question = ANALYSIS_QUESTION.format(
        user_input=quote(truncate(user_input, MAX_WORDS)),
        agent_response=quote(truncate(agent_response, MAX_WORDS)),
        called=_line(", ".join(called), MAX_WORDS) or "None",
        reference=reference,
    )
    return JudgeRequest(INSTRUCTIONS, question, ANALYSIS_SCHEMA)


def reason_request(user_input: str, analysis: Mapping[str, Any]) -> JudgeRequest:
    """The second question: one sentence on the score of an analysis."""
    question = REASON_QUESTION.format(
        user_input=quote(truncate(user_input, MAX_WORDS)),
        score=analysis_score(analysis),
        evaluations=_compact(analysis["evaluations"]),
        missing=_compact(analysis.get("missingTools", [])),
    )
    return JudgeRequest(INSTRUCTIONS, question)


def read_analysis(answer: str | Mapping[str, Any]) -> dict[str, Any]:
    """The model's first answer as an object. Raises `OriginalError` where it is not the JSON asked for."""
    try:
        return parse_answer(answer, ANALYSIS_SCHEMA)
    except AnswerError as error:
        raise OriginalError(f"mastra_llm: {error}") from None


def analysis_score(analysis: Mapping[str, Any]) -> float:
    """The score of an analysis that `read_analysis` gave."""
    evaluations = analysis["evaluations"]
    if not evaluations:
        return 0.0 if analysis.get("missingTools") else 1.0
    return round_to_cents(_appropriate(analysis) / len(evaluations))


def _score(options: MastraLLMOptions, _expected: list[Call], _actual: list[Call]) -> Score:
    if options.judge is None:
        raise ValueError("mastra_llm needs the option judge: what the model answered to the analysis request")
    return _verdict(read_analysis(options.judge), options.reason)


def _verdict(analysis: Mapping[str, Any], reason: str) -> Score:
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
    """A text that stays on its line."""
    return quote(truncate(str(text), limit))[1:-1]


def _compact(value: object) -> str:
    return truncate(json.dumps(value, ensure_ascii=False, separators=(",", ":")), MAX_EVALUATIONS)


def _as_tool(tool: ToolDefinition) -> dict[str, str]:
    return {"id": tool.name, "description": tool.description}
