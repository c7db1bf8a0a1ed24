"""What frameworks are known to do that none of their spans tells: by instrumentation scope, where nothing else is said."""

from __future__ import annotations

from typing import Final

from collector.model.from_span import AI_SDK, OPENLIT_GRAPHS, OPENLIT_GRAPHS_JS

# --- agents that wait for a human, or for the application, between two runs: by what their runs begin and end --------------

PYDANTIC_AI: Final = "pydantic-ai"
AGNO: Final = "openlit.instrumentation.agno"
ADK_RUST: Final = "adk_rust"
CLOUDFLARE: Final = "agents/observability/ai"
"""Cloudflare's Agents: Vercel's AI SDK in spans of theirs, where that of an agent holds nothing that it was given."""
EINO: Final = "github.com/cloudwego/eino-ext/callbacks/apmplus"
"""A graph that goes on is given what it was given first, or anything else."""
AGENT_FRAMEWORK: Final = "agent_framework"
"""Microsoft's, which hands calls out to the application as well. With content its runs say whether they wait."""
BEGIN_WITH_ANSWERS: Final = (
    PYDANTIC_AI, AGNO, CLOUDFLARE, EINO, AGENT_FRAMEWORK, "strands.telemetry.tracer", "strands-agents",
    "amazon.opentelemetry.distro.instrumentation.langchain", "amazon.opentelemetry.distro.instrumentation.openai_agents",
)  # fmt: skip
"""They end to wait for answers, and begin anew with these."""
TOLD_OF_CALLS: Final = (
    "@arizeai/openinference-instrumentation-openai-agents", "@arizeai/openinference-instrumentation-langchain",
    "microsoft-otel-openai-agents", "microsoft-otel-langchain",
)  # fmt: skip
"""OpenAI Agents and LangChain for JavaScript: they begin with the calls that a human approved, and models are told of these."""
VERCEL: Final = (*AI_SDK, CLOUDFLARE)
"""All that run Vercel's AI SDK."""
GOOGLE_ADK: Final = "gcp.vertex.agent"
LANGFUSE: Final = "langfuse-sdk"
"""Records LangChain's agents, whose input is then the answer, and much else."""
BEGIN_TOLD_OF_CALLS: Final = (*TOLD_OF_CALLS, GOOGLE_ADK, "agentscope", LANGFUSE)
"""Likewise Google's ADK, AgentScope and Langfuse's records: models are told of calls for which no answer of the run asked."""
OPENAI_AGENTS: Final = (
    "opentelemetry.instrumentation.genai.openai_agents",
    "opentelemetry.instrumentation.openai_agents",
)
"""Of OpenTelemetry, 1.3b0; and OpenLLMetry's."""
BEGIN_WITH_CALLS: Final = (GOOGLE_ADK, "@voltagent/core", "swiftide", *OPENAI_AGENTS, *AI_SDK, *TOLD_OF_CALLS)
"""Likewise Vercel's AI SDK, Google's ADK, VoltAgent, Swiftide and OpenAI Agents. Without content, nothing says that a run ends
to wait.
"""
END_WELL: Final = (
    "@arizeai/openinference-instrumentation-openai-agents", "microsoft-otel-openai-agents", OPENLIT_GRAPHS_JS,
    "opentelemetry.instrumentation.agno", *VERCEL,
)  # fmt: skip
"""OpenAI Agents and LangGraph for JavaScript, Agno under OpenLLMetry, and Vercel's AI SDK: a run that ends well with calls that
no span shows waits for a human, or for the application to make them, or hands over."""
GENKIT: Final = "genkit"
END_WELL_TO_WAIT: Final = (ADK_RUST, "pydantic_ai", GENKIT)
"""The dialects of runs that end well to wait for a human: nothing, or without content only the calls, is recorded of that.
Genkit's also end for the application to make the calls."""
LANGCHAIN_OFFICIAL: Final = "opentelemetry.instrumentation.genai.langchain"
"""It writes what the model said last as the output of a graph (1.3b0), also where a tool ended it."""
LANGCHAIN: Final = (
    "openinference.instrumentation.langchain", LANGCHAIN_OFFICIAL,
    "opentelemetry.instrumentation.langchain", "langsmith",
)  # fmt: skip
"""Its own agents, which the dialects know by middleware that may answer, ask a model before they call anything."""
BEGIN_WITH_ASKED_CALLS: Final = (OPENLIT_GRAPHS, OPENLIT_GRAPHS_JS, LANGCHAIN_OFFICIAL, AGENT_FRAMEWORK)
"""Graphs, which may begin with a call of their own. One that has an id was asked for: elsewhere, if no request precedes it.
Agents, of which the instrumentation of a client alone may tell what was said."""
OPENLIT_AGENTS: Final = "openlit.instrumentation.openai_agents"
"""Its span of a run has no name. Only those of turns are around calls, unless a human approved these."""
WITHOUT_REQUESTS: Final = OPENAI_AGENTS[:1]
"""OpenTelemetry's instrumentation of OpenAI Agents (1.3b0) leaves requests to that of the client: calls alone may tell."""

# --- what leaves spans, and what those that are there mean -----------------------------------------------------------------

TRACE_NO_REQUESTS: Final = (
    "autoagents", "codex", "docker_agent", "iqai_adk",
    "openinference.instrumentation.claude_agent_sdk", "@arizeai/openinference-instrumentation-claude-agent-sdk",
)  # fmt: skip
"""Dialects and scopes of agents whose requests to models leave no spans, or none that tells more: nothing is missing."""

GATEWAYS: Final = frozenset({"envoyproxy/ai-gateway"})
"""Proxies between agents and models. They see requests and no tools, and begin a trace for each request of an agent that
sends no context."""
HIDE_CALLS_OF_PROVIDER: Final = (AGENT_FRAMEWORK, "weave.openai_agents")
"""Of whose agents it is noted where answers may lack what the provider ran, for which there are no spans."""
LEAVE_OUT_HOSTED: Final = (
    "opentelemetry.instrumentation.anthropic", "opentelemetry.instrumentation.langchain", LANGCHAIN_OFFICIAL,
)  # fmt: skip
"""They leave out of an answer what the provider ran (0.62, 1.3b0)."""
SMOLAGENTS: Final = ("openinference.instrumentation.smolagents", "openlit.instrumentation.smolagents")
"""Its agents may write code, which calls tools and other agents one after the other."""
LANGCHAIN_OPENINFERENCE: Final = "openinference.instrumentation.langchain"
"""It calls functions of a graph agents where their names sound like one's."""
ADK_OPENINFERENCE: Final = "openinference.instrumentation.google_adk"
"""Each call leaves a span, and what many requests were told is on one: the last tells of calls of an earlier trace, too."""
FAIL_OR_WAIT: Final = (GOOGLE_ADK, ADK_OPENINFERENCE)
"""Google's ADK: what ended with an error, be it that of a tool, does not wait for a human."""
VOLTAGENT: Final = "voltagent"
"""The dialect whose run may end with the denial of a call, the span of which is that of one that failed."""
QWEN_CODE: Final = "qwen_code"
"""The dialect whose models may call a tool through another one: the span has the name of the tool that ran."""
AI_SDK_DIALECT: Final = "ai_sdk"
"""The dialect whose runs may begin with the answer of a human, which their spans hold, and leave no span of the call then."""
LITELLM: Final = "litellm"
"""Scope and dialect: it writes each request to its caller's span as well, over what is left there of those before."""
FORCING: Final = ("openai", "anthropic")
"""In the scopes of clients whose answers with calls end for another reason where the request names the function to be called:
often the form of an answer, and no tool."""
SPRING_OFFERED: Final = "spring.ai.chat.client.tool.names"
"""The attribute with the tools that a client of Spring AI offers. It runs what is asked for inside its span, unless the
application does: so do the agents of Spring AI Alibaba (1.1), which leave no spans of calls."""
