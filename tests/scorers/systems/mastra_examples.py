"""Every example Mastra gives for its judged scorer of tool calls, as a run and the answers of a model that agrees with it.

From the reference page shipped with npm @mastra/evals 1.10.2 (``dist/docs/references``), and the four short cases its
own question gives the model. The reference claims 0.5 and 0.3 where one inappropriate call can only score 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorers.judged.judge import JudgedRun
from scorers.trajectory import ToolCall, Trajectory

WEATHER = {"name": "weather-tool", "description": "Get current weather information for any location"}
CALENDAR = {"name": "calendar-tool", "description": "Check calendar events and scheduling"}
SEARCH = {"name": "search-tool", "description": "Search the web for general information"}
TOOLS = (WEATHER, CALENDAR, SEARCH)
LAW_FIRM = (
    {"id": "search_firms", "description": "Finds law firms by field and place"},
    {"id": "create_rfp", "description": "Drafts a request for proposals"},
    {"id": "get_pricing", "description": "Looks up prices of legal services"},
)


@dataclass(frozen=True)
class Example:
    """One example: the options of the scorer, what the agent did, what the judge answers, and what comes of it."""

    name: str
    available_tools: Sequence[Mapping[str, str]]
    run: JudgedRun
    analysis: Mapping[str, Any]
    """The model's answer to the first question."""
    reason: str
    """Its answer to the second."""
    score: float
    claim: float | None = None
    """What the reference says, where the code cannot give it."""

    @property
    def options(self) -> dict[str, Any]:
        """As a rule would give them."""
        return {"availableTools": [dict(tool) for tool in self.available_tools]}


def _called(user_input: str, response: str, tool: str, **arguments: str) -> JudgedRun:
    return JudgedRun(Trajectory([ToolCall(tool, arguments, status="ok")]), user_input, response)


def _answered(user_input: str, response: str) -> JudgedRun:
    return JudgedRun(Trajectory(), user_input, response)


def _evaluated(tool: str, appropriate: bool, why: str) -> dict[str, Any]:
    return {"evaluations": [{"toolCalled": tool, "wasAppropriate": appropriate, "reasoning": why}], "missingTools": []}


def _missing(*tools: str) -> dict[str, Any]:
    return {"evaluations": [], "missingTools": list(tools)}


EXAMPLES = (
    Example(
        "basic evaluation",
        TOOLS,
        _called(
            "What is the weather like in San Francisco today?",
            "Let me check the current weather for you.",
            "weather-tool",
            location="San Francisco",
            date="today",
        ),
        _evaluated("weather-tool", True, "The user asked for the weather."),
        "The weather tool gives what the user asked for.",
        1.0,
    ),
    Example(
        "inappropriate tool usage",
        TOOLS,
        _called(
            "What is the weather in Tokyo?", "Let me search for that information.", "search-tool", query="Tokyo weather"
        ),
        {**_evaluated("search-tool", False, "The weather tool answers this."), "missingTools": ["weather-tool"]},
        "A search was made where the weather tool answers directly.",
        0.0,
        claim=0.5,
    ),
    Example(
        "clarification request",
        TOOLS,
        _answered("I need help with something", "I'd be happy to help! Could you please say what you need help with?"),
        _missing(),
        "The request was too vague to act on, and the agent asked.",
        1.0,
    ),
    Example(
        "comparing both scorers",
        (
            {"name": "weather-tool", "description": "Get weather information"},
            {"name": "search-tool", "description": "Search the web"},
        ),
        _called("What is the weather?", "Let me find that information.", "search-tool", query="weather"),
        _evaluated("search-tool", False, "The weather tool answers this."),
        "The search was not what the request needed.",
        0.0,
        claim=0.3,
    ),
    Example(
        "asks for field and place",
        LAW_FIRM,
        _answered("I'm looking for a firm", "Which field of law, and where?"),
        _missing(),
        "Asking was right: the request names neither field nor place.",
        1.0,
    ),
    Example(
        "asks what it is about",
        LAW_FIRM,
        _answered("help with legal stuff", "What is it about?"),
        _missing(),
        "Asking was right: nothing can be done with this request.",
        1.0,
    ),
    Example(
        "delays a request that says everything",
        LAW_FIRM,
        _answered("Create RFP for corporate litigation in NY", "Could you tell me more about it?"),
        _missing("create_rfp"),
        "The request was specific enough to act on.",
        0.0,
    ),
    Example(
        "answers in general terms",
        LAW_FIRM,
        _answered("I need pricing for litigation", "Litigation can be expensive."),
        _missing("get_pricing"),
        "A tool would have given the prices.",
        0.0,
    ),
)
