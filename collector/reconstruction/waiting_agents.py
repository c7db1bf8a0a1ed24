"""Agents that wait for a human, or for the application, between two runs: by what their runs begin and end.

All are instrumentation scopes but for the dialects of `END_WELL_TO_WAIT`.
"""

from __future__ import annotations

from typing import Final

PYDANTIC_AI: Final = "pydantic-ai"
AGNO: Final = "openlit.instrumentation.agno"
ADK_RUST: Final = "adk_rust"
CLOUDFLARE: Final = "agents/observability/ai"
"""Cloudflare's Agents: Vercel's AI SDK in spans of theirs, where that of an agent holds nothing that it was given."""
BEGIN_WITH_ANSWERS: Final = (
    PYDANTIC_AI, AGNO, CLOUDFLARE, "agent_framework", "strands.telemetry.tracer", "strands-agents",
    "amazon.opentelemetry.distro.instrumentation.langchain", "amazon.opentelemetry.distro.instrumentation.openai_agents",
)  # fmt: skip
"""They end to wait for answers, and begin anew with these."""
TOLD_OF_CALLS: Final = (
    "@arizeai/openinference-instrumentation-openai-agents", "@arizeai/openinference-instrumentation-langchain",
    "microsoft-otel-openai-agents", "microsoft-otel-langchain",
)  # fmt: skip
"""OpenAI Agents and LangChain for JavaScript: they begin with the calls that a human approved, and models are told of these."""
AI_SDK: Final = ("ai", "gen_ai")
"""Vercel's: 4 to 6, and 7 with LegacyOpenTelemetry; and 7. Their spans hold what an agent began with, results included."""
VERCEL: Final = (*AI_SDK, CLOUDFLARE)
"""All that run Vercel's AI SDK."""
GOOGLE_ADK: Final = "gcp.vertex.agent"
BEGIN_TOLD_OF_CALLS: Final = (*TOLD_OF_CALLS, GOOGLE_ADK, "agentscope")
"""Likewise Google's ADK and AgentScope: models are told of calls for which no answer of the run asked."""
BEGIN_WITH_CALLS: Final = (GOOGLE_ADK, "@voltagent/core", "swiftide", *AI_SDK, *TOLD_OF_CALLS)
"""Likewise Vercel's AI SDK, Google's ADK, VoltAgent and Swiftide. Without content, nothing says that a run ends to wait."""
END_WELL: Final = (
    "@arizeai/openinference-instrumentation-openai-agents", "microsoft-otel-openai-agents", *VERCEL,
)  # fmt: skip
"""OpenAI Agents for JavaScript, and Vercel's AI SDK: a run that ends well with calls that no span shows waits for a human, or
for the application to make them, or hands over."""
END_WELL_TO_WAIT: Final = (ADK_RUST, "pydantic_ai")
"""The dialects of runs that end well to wait for a human: nothing, or without content only the calls, is recorded of that."""
LANGCHAIN: Final = ("openinference.instrumentation.langchain", "opentelemetry.instrumentation.genai.langchain")
"""Its own agents, which the dialects know by middleware that may answer, ask a model before they call anything."""
WITHOUT_REQUESTS: Final = ("opentelemetry.instrumentation.genai.openai_agents",)
"""OpenTelemetry's instrumentation of OpenAI Agents (1.3b0) leaves requests to that of the client: calls alone may tell."""
