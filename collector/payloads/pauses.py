"""What runs return that pause, for a human or for a tool that the application runs: of Agno (2 and 3), and of Google's ADK."""

from __future__ import annotations

from typing import Final, Literal

PAUSED: Final = ("I have tools to execute, but ", "Team run paused.")
"""How it begins."""
_EXTERNAL: Final = "external execution"
"""Is in it where the application runs a tool."""
_MAX_ANSWER: Final = 800
"""How much of an answer of a tool is searched."""
_UNCONFIRMED: Final = "This tool call requires confirmation, please approve or reject"
LONG_RUNNING: Final = "LongRunningFunctionTool"
"""Google's ADK: the type of tools, `adk_request_input` among them, after which it ends the run unless they return something:
another goes on with the answer."""

ENDS_RUN_OF_ADK: Final = ("exit_loop", "transfer_to_agent", "set_model_response")
"""ADK's own functions, after which it may not ask the model again."""


def outcome_of_pause(returned: str) -> Literal["told", "open"]:
    """Returns what is known of the calls for which it waits, as the outcome of an AGENT."""
    return "told" if _EXTERNAL in returned else "open"


def waits_for_confirmation(answer: object) -> bool:
    """Whether it is what Google's ADK answers in place of a tool whose call a human has to confirm first."""
    return type(answer) is str and _UNCONFIRMED in answer[:_MAX_ANSWER]
