"""What spans of all kinds have in common: keys of attributes, and scopes."""

from __future__ import annotations

import re
from typing import Final

NAME: Final = "openinference"
TOOL_NAME: Final = "tool.name"
HIDDEN: Final = "__REDACTED__"
"""In place of an input or an answer that is not to be recorded (`OPENINFERENCE_HIDE_INPUTS`, `OPENINFERENCE_HIDE_OUTPUTS`)."""
METADATA: Final = "metadata"  # JSON text: LangChain's run configuration

# `travel_agent.run`, `lookup.__call__`, `agent_run [travel_agent]`: how instrumentors name the span of a method.
METHOD: Final = re.compile(
    r"\.(?:run|arun|run_stream|_execute_core|kickoff|__call__|acall|call|invoke|ainvoke|on_messages(?:_stream)?)$"
)
LANGCHAIN: Final = "openinference.instrumentation.langchain"
LANGCHAIN_JS: Final = "@arizeai/openinference-instrumentation-langchain"
AGENTS_JS: Final = "@arizeai/openinference-instrumentation-openai-agents"
"""It has the status of an answer of the Responses API for its reason: `stop`, also where the answer asks for calls (0.2)."""
AGENT_FRAMEWORK: Final = "agent_framework"
"""Microsoft's: the processor for it (0.1.13) leaves the conventions' attributes, which tell more than its own."""
CLAUDE: Final = "openinference.instrumentation.claude_agent_sdk"
"""It ends the span of a call that the application denied in its own words like one that failed with these."""
CLAUDE_JS: Final = "@arizeai/openinference-instrumentation-claude-agent-sdk"
"""It records the calls of an agent that Claude's agent started as those of that one (0.3)."""
ADK: Final = "openinference.instrumentation.google_adk"
"""It ends the spans of tools well, also of one whose error a callback answered, or that answered with an error (1.0)."""
