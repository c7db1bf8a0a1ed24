"""What a run of Agno (2 and 3) returns that pauses: for a human, or for a tool that the application runs."""

from __future__ import annotations

from typing import Final, Literal

PAUSED: Final = ("I have tools to execute, but ", "Team run paused.")
"""How it begins."""
_EXTERNAL: Final = "external execution"
"""Is in it where the application runs a tool."""


def outcome_of_pause(returned: str) -> Literal["told", "open"]:
    """Returns what is known of the calls for which it waits, as the outcome of an AGENT."""
    return "told" if _EXTERNAL in returned else "open"
