"""Attribute and event names that several parts of the collector use.

Standard names are those of the OpenTelemetry semantic conventions 1.41.1, the last release that defines ``gen_ai.*`` and
``mcp.*``; of the conventions for GenAI 0.1, which are released by themselves since; and of older releases where noted. They
are spelled out here because every published constant for them is marked deprecated. Names that only one instrumentation
writes are in the file of its dialect.
"""

from __future__ import annotations

from typing import Final

# --- gen_ai spans
OPERATION_NAME: Final = "gen_ai.operation.name"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
RESPONSE_ID: Final = "gen_ai.response.id"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_NAMES: Final = (TOOL_NAME, "tool.name")  # also as OpenInference and tracers of one's own write it
WORKFLOW_NAME: Final = "gen_ai.workflow.name"  # `AGENT_NAME` of a workflow's span in 0.1 of the conventions for GenAI

# --- gen_ai events: one per inference since 1.37, one per message before, two of a span until 1.27
EVENT_PROMPT: Final = "gen_ai.content.prompt"
EVENT_COMPLETION: Final = "gen_ai.content.completion"
PROMPT: Final = "gen_ai.prompt"
COMPLETION: Final = "gen_ai.completion"
EVENT_INFERENCE_DETAILS: Final = "gen_ai.client.inference.operation.details"
EVENT_ASSISTANT_MESSAGE: Final = "gen_ai.assistant.message"
EVENT_CHOICE: Final = "gen_ai.choice"
EVENT_TOOL_MESSAGE: Final = "gen_ai.tool.message"
EVENT_USER_MESSAGE: Final = "gen_ai.user.message"
EVENT_CONTENT: Final = "content"
EVENT_MESSAGE: Final = "message"
EVENT_NAME: Final = "event.name"
"""Log attribute that names an event, for senders that do not set ``LogRecord.event_name`` (OTLP 1.5)."""

EVENT_BODY: Final = "gen_ai.event.content"  # Azure's SDKs and Semantic Kernel: the event's whole body as JSON
EVENT_TOOL_CALLS: Final = "tool_calls"
EVENT_ID: Final = "id"
EVENT_ATTRIBUTES: Final = (
    EVENT_NAME, EVENT_CONTENT, EVENT_MESSAGE, EVENT_BODY, EVENT_TOOL_CALLS, EVENT_ID, PROMPT, COMPLETION, "exception.type",
    "exception.message", "exception.stacktrace",
)  # fmt: skip
"""Attributes of events and log records that are decoded, beyond those of spans."""

# --- OpenInference, as other instrumentations write it too
OPENINFERENCE_KIND: Final = "openinference.span.kind"
INPUT_VALUE: Final = "input.value"
OUTPUT_VALUE: Final = "output.value"

# --- mcp
MCP_METHOD_NAME: Final = "mcp.method.name"

# --- general
ERROR_TYPE: Final = "error.type"
ERROR_MESSAGE: Final = "error.message"
EVENT_EXCEPTION: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACK_TRACE: Final = "exception.stacktrace"
HTTP_ROUTE: Final = "http.route"
URL_PATH: Final = "url.path"
SERVICE_NAMESPACE: Final = "service.namespace"
TELEMETRY_SDK_LANGUAGE: Final = "telemetry.sdk.language"
SESSION_ID: Final = "session.id"

FINISH_REASONS: Final = (
    "gen_ai.response.finish_reasons",
    "gen_ai.response.finish_reason",
    "ai.response.finishReason",
    "gen_ai.completion.0.finish_reason",
    "llm.output_messages.0.message.finish_reason",
    "llm.finish_reason",
    "anthropic.message.stop_reason",
    "cloudflare.agents.response.finish_reason",
)
"""Attributes in which instrumentations say why a model stopped."""
HOST_NAMES: Final = ("k8s.node.name", "host.id", "host.name", "service.instance.id", "service.name")
"""Resource attributes that identify the clock that stamped a span, the most specific first."""
PROCESS_NAMES: Final = ("k8s.pod.uid", "k8s.pod.name", "container.id")
"""Resource attributes that all tracers of one process have alike, if they have them: not its ``service.instance.id``."""

# --- Rightcall's own
OWN_PREFIXES: Final = ("rightcall.", "gen_ai.evaluation.")
"""How the names of all attributes begin that Rightcall writes."""
TENANT_NAMES: Final = ("rightcall.tenant", "tenant.id")
"""Attributes in which senders name the tenant, tried in this order."""
RIGHTCALL_INTENT: Final = "rightcall.intent"
RIGHTCALL_INTENT_REASON: Final = "rightcall.intent.reason"
RIGHTCALL_ROUTE: Final = "rightcall.route"
RIGHTCALL_COMPLETE: Final = "rightcall.complete"
RIGHTCALL_DOUBTS: Final = "rightcall.doubts"
RIGHTCALL_UNSCORED_REASON: Final = "rightcall.unscored_reason"
RIGHTCALL_CLOSEST_RULE: Final = "rightcall.closest_rule"
RIGHTCALL_CLOSEST_RULE_MISMATCHES: Final = "rightcall.closest_rule.mismatches"
RIGHTCALL_CALLS_WITHOUT_SPAN: Final = "rightcall.calls_without_span"
RIGHTCALL_RUN_URL: Final = "rightcall.run.url"
RIGHTCALL_RULE: Final = "rightcall.rule"
RIGHTCALL_RULE_DIGEST: Final = "rightcall.rule.digest"
RIGHTCALL_MISSING_TOOLS: Final = "rightcall.missing_tools"
RIGHTCALL_EXTRA_TOOLS: Final = "rightcall.extra_tools"
RIGHTCALL_OUTCOME: Final = "rightcall.outcome"
RIGHTCALL_SCORER_VERSION: Final = "rightcall.scorer.version"
RIGHTCALL_REVISION: Final = "rightcall.revision"
RIGHTCALL_SCOPE: Final = "rightcall.scope"

# --- standard names of what Rightcall writes
EVENT_EVALUATION_RESULT: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE_VALUE: Final = "gen_ai.evaluation.score.value"
EVALUATION_SCORE_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
LOG_RECORD_UID: Final = "log.record.uid"
