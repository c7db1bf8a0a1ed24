"""Finds the results of tool calls in the messages that a model is given, and what each says of its call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

import re2

from collector.payloads.messages import CALL_NAME_KEYS, CALL_TYPES, MAX_DEPTH, MAX_NODES, is_result
from collector.payloads.refusals import Refusal, find_refusal, refuses
from collector.payloads.roles import MODEL_ROLES, plain_role
from collector.payloads.text_calls import tells_failure
from collector.payloads.values import MAX_TEXT, first_value, name_of, parse_any

MAX_RESULT_DEPTH: Final = 5
"""How many levels of content parts around a result's text are unwrapped."""
MAX_PARTS: Final = 64
"""How many parts of a tool's message are examined."""
TAIL: Final = 16_384
"""How many characters at the end of a model's input are searched for the newest messages."""

RESULT_MARKERS: Final = (
    "ool_call_response", "tool_result", "tool-result", "oolResult", "function_call_output", "function_call_result",
    "shell_call_output", "apply_patch_call_output",
    "functionResponse", "function_response", "oolResponse", "tool_call_result", "tool_call_id", '"tool"', '"ToolMessage"',
    "TOOL: 'tool'",
)  # fmt: skip
"""Every message that holds results contains one of these."""
_TOLD: Final = "tool_result"
BY_PROVIDER: Final = "server_tool_call_response"
"""The conventions' part with what a tool of the provider returned, in the provider's own words."""
_PART: Final = '"tool-result"'
_APPROVAL: Final = "tool-approval-response"  # Vercel AI SDK
_ANSWERED: Final = "interruptResponse"  # Genkit
_DENIAL: Final = frozenset({"denied", "reason"})
"""All that Vercel AI SDK 7 tells of a denied call, after an approval of which it tells the type alone; a tool may answer so."""
_RESULT_WRAPPERS: Final = (
    "toolResult", "functionResponse", "function_response", "toolResponse", "tool_call_result", _TOLD, BY_PROVIDER,
)  # fmt: skip
_RESULT_ID_KEYS: Final = ("tool_call_id", "call_id", "callId", "toolCallId", "toolUseId", "tool_use_id", "id", "ref")
_RESULT_VALUE_KEYS: Final = ("response", "result", "output", "content", "parts", "value", "blocks")

_FAILED: Final = ("error", "ERROR")
"""The status of a call that failed, in a tuple: hostile senders may give one that has no hash. Google's documentation tells
tools to answer so."""
_REFLECTED: Final = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"
"""The type of what a plugin of Google's ADK answers for a tool that failed (`ReflectAndRetryToolPlugin`)."""
_FAILED_OR_ANSWERED: Final = ("failed", "FAILED")
"""The status of a call that failed, in a message; or of what a tool looked at, in its own answer: a payment, a check."""
_WELL: Final = ("success", "ok")
"""Flags with which a tool says in its own answer whether it did what it was asked; or whether what it looked at did well."""
_DENIED: Final = ("denied", "rejected", "declined", "refused")
"""The status of a call that somebody denied, of whom a loop that is written by hand tells its model so; or a tool's answer."""
_OF_DENIAL: Final = frozenset({"status", "reason", "message", "detail", "details", "feedback"})
"""All that is told beside such a status: a tool that answers so tells of what was rejected, too."""
_RUNNING: Final = "async_tool"
"""The type of what Pipecat tells of a call that goes on beside the conversation."""
_EXCEPTION: Final = frozenset({"type", "message", "traceback"})
"""All that Timbal tells of what a tool raised."""
_MESSAGE_KEYS: Final = ("tool_call_id", "call_id", "toolCallId", "toolUseId", "tool_use_id", "is_error", "isError")
"""Only a framework's message around a result has these."""

ResultStatus = Literal["ok", "error", "refused", "unclear", "open"]
"""What became of a call: "unclear" if the words of its result may be a tool's, or mean that none ran; "open" if it ran, and
its answer has a status that may be the call's or that of something else."""


class ToolResult(NamedTuple):
    """A tool result in a model's input."""

    call_id: str | None
    """The id of its call, if it names one."""
    failed: bool
    refusal: Refusal | None = None
    """What it says of a call that did not run, if it may say so."""
    name: str | None = None
    """The tool that it names."""
    is_open: bool = False
    """It has a status that may be its call's, or words that may tell of its failure."""
    arguments: Any = None
    """Those with which its call ran, if it repeats them: in Haystack a human may have changed them."""

    def settled(self) -> ToolResult:
        """Returns the result, which the messages have after an answer to who was asked whether calls may run."""
        is_denied = self.refusal is not None and self.refusal.is_of_approval
        return self._replace(refusal=Refusal()) if is_denied else self

    def status(self, tool_name: str | None) -> ResultStatus:
        """Returns what became of the call, which was one of this tool."""
        refused = refuses(self.refusal, tool_name)
        if refused == "no":
            return "error" if self.failed else "open" if self.is_open else "ok"
        return "refused" if refused == "yes" else "unclear"


_FAILURE: Final = re.compile(
    r"(?i)\W*(?:an (?=error occurred))?(?:\w+(?:Error|Exception)|error|exception|traceback)\b"
    r"|\W?I encountered an error\b"  # CrewAI
    r"|tool (?:execution )?(?:error|panic|failed): "  # tRPC-Agent-Go, of calls made at once; CAMEL; own handlers of errors
    r"|\W?The function `[^`\s]{1,120}` failed and returned no result\."  # Pipecat
)
_PERHAPS_FAILURE: Final = re.compile(
    r"(?i)\W*failed(?::| to\b)"
    r"|(?-i:CANCELLED|IN_PROGRESS)(?:\Z|: this tool call )"  # Pipecat, of a call
)
"""How the words begin with which a tool, or who answers in its place (ADK's callbacks), may tell of a failure."""
_HINTS: Final = re2.compile("|".join(map(re2.escape, (
    "rror", "xception", "raceback", "ailed", "FAILED", "rejected", "ot found", "nvalid", "nknown tool", "nknown function",
    "o such tool", "o such function", "o tool ", "o function ", "not exist", "n't exist", "navailable", "not available",
    "is not registered", "is not known", "is not defined", "is not supported", "is undefined", "is unsupported",
    "is unregistered", "is unknown", " tool named", " tool called", " function named", " function called", "not a valid tool",
    "enied", "eclined", "not approved", "anceled", "ancelled", "nterrupted", "not executed", "to proceed", "did not match",
    "nrecognized", "too_", "gnoring this", "is not a function", "ositional argument", "required argument", "keyword argument",
    "keyword-only argument", "alidating root: ", 'alidating "arguments": ', "annot unmarshal", "requires confirmation",
    "required for type", "required parameter", "issing argument for", "issing field `", "could not be converted to",
    "o argument provided", "required propert", "requires approval", ", received ", "alformed", "issing arg", "issing param",
    "issing input", "not registered", "bandoned", "annot deserialize", "annot coerce", "annot construct", "For input string",
    "not a JSON object", "xecution panic",
    "rgument parsing", "match the function signature", "re malformed", "part of the provided", "not currently",
    "not exposed", "hitl_", "Do not call ", "Do not make ", "reusing the same", "not a valid key",
    "blocked by hook", "usage limit", _ANSWERED, "tion limit", "USER INTERRUPTED", "n Rejected]", "CANCELLED",
    "IN_PROGRESS", _RUNNING,
))).encode() + rb"""|(?:uccess|[\\"']ok)[\\"']{1,8}: ?[fF]alse""")  # fmt: skip
"""Every failure and refusal, and every status that may be one, contains one of these. They are searched for at once: to look
for one after the other took a third of the time of a trace that has its messages."""


_VOLTAGENT_TOOL: Final = "toolName"
_START_HOOKS: Final = "    at runToolStartHooks ("
MAX_STACK: Final = 10_000
"""How much of a stack is searched: it has ten lines, and what was thrown comes first."""


def is_mcp_failure(result: object) -> bool:
    """Whether a result is the whole answer of an MCP server whose tool failed: its client may hand it on as it came.

    Or what OpenAI, which called the server, says of the call (Vercel's AI SDK 7).
    """
    if type(result) is str and '"isError"' not in result and '"serverLabel"' not in result:
        return False
    value = parse_any(result)
    if not isinstance(value, Mapping):
        return False
    is_answer = value.get("isError") is True and isinstance(value.get("content"), (list, tuple))
    return is_answer or ("serverLabel" in value and value.get("type") == "call" and bool(value.get("error")))


def is_of_start_hook(stack: object, tool_name: object) -> bool:
    """Whether a hook of VoltAgent threw what stopped a call of this tool before it ran: the stack of what a tool threw tells
    of none, unless it handed on what stopped a call inside, which has the name of that tool."""
    if type(stack) is not str or _START_HOOKS not in stack[:MAX_STACK]:
        return False
    thrown = stack[:MAX_STACK].partition(":")[0]
    return thrown == tool_name or thrown.endswith("Error")


def is_denial(result: object) -> bool:
    """Whether a tool returned what Vercel AI SDK 7 tells of a call that was denied."""
    value = parse_any(result) if type(result) is not str or '"denied"' in result else None
    return isinstance(value, Mapping) and value.get("denied") is True and value.keys() <= _DENIAL


def result_status(result: object, tool_name: str | None = None) -> ResultStatus:
    """Returns the status of a tool result.

    Messages record no status. An error flag, a text that starts like an error or an object with an ``error`` is an error;
    the messages with which frameworks refuse a call are a refusal.
    """
    return tool_result(None, result).status(tool_name)


def tool_result(call_id: str | None, result: object, *, is_message: bool = False) -> ToolResult:
    """Returns what a result says of its call. Only the outermost levels of content around its text are unwrapped.

    ``is_message`` if it is a framework's message around what the tool returned.
    """
    value = parse_any(result)
    if type(value) is str and type(result) is str and len(value) < len(result):
        value = parse_any(value)  # JSON inside JSON
    failed, is_open, is_denied = False, False, False
    for depth in range(MAX_RESULT_DEPTH):  # content parts around the text
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, Mapping):
            failed = failed or value.get("is_error") is True or value.get("isError") is True
            failed = failed or value.get("status") in _FAILED or bool(value.get("error"))
            failed = failed or value.get("tool_call_error") is True  # Agno 2
            failed = failed or value.get("response_type") == _REFLECTED
            failed = failed or value.get("type") in ("error-text", "error-json")  # Vercel AI SDK
            failed = failed or value.keys() == _EXCEPTION
            if value.get("status") in _FAILED_OR_ANSWERED:
                is_told = (is_message and depth == 0) or any(key in value for key in _MESSAGE_KEYS)
                failed, is_open = failed or is_told, is_open or not is_told
            is_open = is_open or any(value.get(flag) is False for flag in _WELL)
            is_denied = is_denied or (value.get("status") in _DENIED and value.keys() <= _OF_DENIAL)
            is_open = is_open or (value.get("type") == _RUNNING and value.get("status") == "running")
            if value.get("type") == "execution-denied":  # Vercel AI SDK
                return ToolResult(call_id, True, Refusal())
            if _is_of_human(value.get("additional_kwargs")):
                return ToolResult(call_id, True, Refusal())
            if value.get("error") is True and is_of_start_hook(value.get("stack"), value.get(_VOLTAGENT_TOOL)):
                return ToolResult(call_id, True, Refusal())
            if is_denial(value):
                return ToolResult(call_id, True, Refusal(is_sure=False, is_of_approval=True))
            if value.get("type") == "document" and isinstance(value.get("document"), Mapping):  # Cohere
                value = parse_any(value["document"].get("data"))
                continue
            value = parse_any(first_value(value, ("text", *_RESULT_VALUE_KEYS, "message", "error")))
        else:
            break
    denial = Refusal(is_sure=False) if is_denied else None
    if not isinstance(value, str):
        return ToolResult(call_id, failed, denial, is_open=is_open)
    start = value[:200]
    is_open = is_open or _PERHAPS_FAILURE.match(start) is not None
    return ToolResult(
        call_id, failed or _FAILURE.match(start) is not None, find_refusal(value) or denial, None, is_open
    )


def response_told(messages: object) -> object:
    """Returns the result in the output of a call that is one message of the tool, which is a part of it; else None."""
    parsed = parse_any(messages) if messages else None
    message = parsed[0] if isinstance(parsed, list) and len(parsed) == 1 else None
    parts = message.get("parts") if isinstance(message, Mapping) else None
    part = parts[0] if isinstance(parts, (list, tuple)) and len(parts) == 1 else None
    return part.get("response") if isinstance(part, Mapping) else None


def _is_of_human(extra: object) -> bool:
    """Whether LangChain's human in the loop (1.3) made the message of a result: the call did not run, whatever the words."""
    return isinstance(extra, Mapping) and extra.get("lc_source") == "hitl_interrupt_decision"


def may_contain_results(messages: object) -> bool:
    """Whether parsing a model's input could find the result of a tool call."""
    return type(messages) is not str or any(marker in messages for marker in RESULT_MARKERS)


MODEL_MARKERS: Final = (
    '"assistant"', '"Assistant"', '"AIMessage"', '"function_call"', "ASSISTANT: 'assistant'", "MessageRole.ASSISTANT",
)  # fmt: skip


def newest_tool_results(messages: object) -> tuple[ToolResult, ...] | None:
    """Returns the tool results after the model's last message, in order; none if none of them failed, the usual case.

    None if nothing says that there are any.
    """
    if type(messages) is str:
        tail = messages[-TAIL:]
        last_output = 0
        for word in MODEL_MARKERS:  # each from where the last one was found: nearly all texts have but the first
            last_output = max(last_output, tail.rfind(word, last_output))
        if len(messages) > MAX_TEXT:
            return None
        if not _has_hint(tail[last_output:]):
            return () if any(tail.find(marker, last_output) >= 0 for marker in RESULT_MARKERS) else None
    results = results_told(messages)
    if not results:
        return None
    return tuple(results) if any(result.failed or result.refusal or result.is_open for result in results) else ()


def _has_hint(text: str) -> bool:
    return _HINTS.search(text.encode("utf-8", "surrogatepass")) is not None


def results_told(messages: object) -> list[ToolResult]:
    """Returns the tool results after the model's last message, in order, whether they failed or not."""
    results: list[ToolResult] = []
    stack: list[tuple[object, int]] = [(parse_any(messages), 0)]
    is_decided = False
    for _ in range(MAX_NODES):
        if not stack:
            break
        node, depth = stack.pop()
        if isinstance(node, Mapping):
            is_decided = is_decided or is_decision(node)
            if plain_role(node.get("role")) in MODEL_ROLES or name_of(node.get("type")) in CALL_TYPES:
                results.clear()
                is_decided = False
                continue
            result = result_in(node)
            if result is not None:
                results.append(result.settled() if is_decided else result)
            elif depth < MAX_DEPTH:
                children: list[object] = list(node.values())
                stack.extend((child, depth + 1) for child in reversed(children) if _may_contain_results(child))
        elif isinstance(node, list) and depth < MAX_DEPTH:
            stack.extend((child, depth + 1) for child in reversed(node) if _may_contain_results(child))
        elif isinstance(node, str) and _holds_parts(node):
            stack.append((parse_any(node), depth + 1))
        elif isinstance(node, str) and tells_failure(node):
            results.append(ToolResult(None, failed=True))
    return results


def _may_contain_results(value: object) -> bool:
    if isinstance(value, str):
        return _holds_parts(value) or tells_failure(value)
    return isinstance(value, (Mapping, list))


def _holds_parts(text: str) -> bool:
    """Whether a text is the parts of a message of Vercel's AI SDK as JSON: OpenLLMetry for JavaScript gives them so."""
    return text[:2] == "[{" and _PART in text


def result_in(node: Mapping[Any, Any]) -> ToolResult | None:
    """Returns the result that an object of a message is; None if it is none."""
    inner = next((node[key] for key in _RESULT_WRAPPERS if isinstance(node.get(key), Mapping)), None)
    if inner is None:
        is_told = is_result(node) or (node.get("tool_call_id") is not None and "content" in node)
        if not is_told and (plain_role(node.get("role")) != "tool" or _is_other_message_of_tool(node)):
            return None
        inner = node
    # Where the id of the call is not beside the result: Haystack, LlamaIndex.
    nested = [inner[key] for key in ("origin", "additional_kwargs") if isinstance(inner.get(key), Mapping)]
    sources = (*nested, inner, node)
    call_id = next((found for source in sources if (found := name_of(first_value(source, _RESULT_ID_KEYS)))), None)
    origin = inner.get("origin")
    told = tool_result(call_id, inner, is_message=True)
    return told._replace(
        refusal=told.refusal or _in_place(node.get("metadata")),
        name=name_of(first_value(inner, CALL_NAME_KEYS)),
        arguments=origin.get("arguments") if isinstance(origin, Mapping) else None,
    )


def _in_place(metadata: object) -> Refusal | None:
    """Returns that a call of Genkit did not run whose result is a human's answer."""
    return Refusal() if isinstance(metadata, Mapping) and metadata.get(_ANSWERED) is True else None


def _is_other_message_of_tool(message: Mapping[Any, Any]) -> bool:
    """Whether a tool's message is no result: it holds several, an approval, or a tool that Langfuse's callback for LangChain
    tells that the model was offered.
    """
    content = message.get("content")
    is_offer = isinstance(content, Mapping) and content.get("type") == "function" and "function" in content
    return is_offer or contains_results(message) or _is_approval(message)


def contains_results(message: Mapping[Any, Any]) -> bool:
    """Whether a tool's message is a list of results, not one result."""
    parts = parse_any(first_value(message, ("parts", "content")))
    return isinstance(parts, list) and any(
        isinstance(part, Mapping) and (result_in(part) is not None or _tells_result(part)) for part in parts[:MAX_PARTS]
    )


def _is_approval(message: Mapping[Any, Any]) -> bool:
    """Whether a tool's message says what a human decided about calls: none of them has run by then."""
    parts = parse_any(first_value(message, ("parts", "content")))
    return isinstance(parts, list) and any(
        isinstance(part, Mapping) and is_decision(part) for part in parts[:MAX_PARTS]
    )


def is_decision(part: Mapping[Any, Any]) -> bool:
    """Whether an object of a message is what somebody, or a rule, answered to whether a call may run."""
    return part.get("type") == _APPROVAL


def _tells_result(part: Mapping[Any, Any]) -> bool:
    """Whether a text is the result of a call as JSON, with the call's id or tool: Koog tells its model so, as the user."""
    text = first_value(part, ("text", "content"))
    if type(text) is str and _holds_parts(text):
        told = parse_any(text)
        return isinstance(told, list) and any(isinstance(one, Mapping) and result_in(one) for one in told[:MAX_PARTS])
    if type(text) is not str or text[:1] != "{" or _TOLD not in text:
        return False
    told = parse_any(text)
    result = result_in(told) if isinstance(told, Mapping) else None
    return result is not None and (result.call_id is not None or result.name is not None)
