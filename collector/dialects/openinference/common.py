"""What spans of all kinds have in common: keys of attributes, and scopes."""

from __future__ import annotations

import re
from typing import Final

NAME: Final = "openinference"
TOOL_NAME: Final = "tool.name"
INPUT: Final = "input.value"
OUTPUT: Final = "output.value"
HIDDEN: Final = "__REDACTED__"
"""In place of an input or an answer that is not to be recorded (`OPENINFERENCE_HIDE_INPUTS`, `OPENINFERENCE_HIDE_OUTPUTS`)."""
METADATA: Final = "metadata"  # JSON text: LangChain's run configuration

# `travel_agent.run`, `lookup.__call__`, `agent_run [travel_agent]`: how instrumentors name the span of a method.
METHOD: Final = re.compile(
    r"\.(?:run|arun|run_stream|_execute_core|kickoff|__call__|acall|call|invoke|ainvoke|on_messages(?:_stream)?)$"
)
LANGCHAIN_AGENT: Final = re.compile(r'"lc_agent_name":\s*"([^"\\]+)"')
NODE: Final = re.compile(r'"langgraph_node":\s*"([^"\\]+)"')
INTEGRATION: Final = re.compile(r'"ls_integration":\s*"([^"\\]+)"')
LANGCHAIN: Final = "openinference.instrumentation.langchain"
LANGCHAIN_JS: Final = "@arizeai/openinference-instrumentation-langchain"
CLAUDE: Final = "openinference.instrumentation.claude_agent_sdk"
"""It ends the span of a call that the application denied in its own words like one that failed with these."""
