"""What LangChain tells its callbacks about a run and its tools, in texts that tracers record as they are."""

from __future__ import annotations

import re
from typing import Final

AGENT: Final = re.compile(r'"lc_agent_name":\s*"([^"\\]+)"')
NODE: Final = re.compile(r'"langgraph_node":\s*"([^"\\]+)"')
INTEGRATION: Final = re.compile(r'"ls_integration":\s*"([^"\\]+)"')
THREAD: Final = re.compile(r'"thread_id":\s*"([^"\\]+)"')
CALL_ID: Final = re.compile(r'"tool_call_id":\s*"([^"\\]+)"')
"""In the message that a tool's result becomes."""
