"""What the kind and the name of a span say: that it is a tool's call, an agent's run, or a step on the way to a call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Literal

from collector.payloads.attribute_shapes import MAX_KEY, MAX_LOOKED_AT, words_of
from collector.payloads.languages import tool_in_english

Role = Literal["tool", "agent", "model"]

_TOOL_KINDS: Final = frozenset({
    "tool", "tools", "tool_call", "tool_execute", "toolcall", "tool_calling", "tool_use", "tool_execution", "tool_invocation",
    "tool_run", "tool_invoke",
    "execute_tool", "call_tool", "run_tool", "invoke_tool", "use_tool", "function", "function_call", "function_tool",
    "mcp_tool", "mcp_tool_call", "tools_call", "mcp_tools_call", "mcp_call_tool", "agent_tool", "agent_tools", "ai_tool",
    "llm_tool", "model_tool", "tool_exec", "tool_step", "tool_task", "tool_node", "tool_port", "tool_handler",
})  # fmt: skip
_AGENT_KINDS: Final = frozenset({
    "agent", "invoke_agent", "agent_run", "run_agent", "agent_call", "agent_invocation", "agent_execution", "agent_turn",
    "agentic_invocation", "agent_invoke",
})  # fmt: skip
_MODEL_KINDS: Final = frozenset({
    "llm", "llm_call", "llm_request", "llm_completion", "llm_generation", "generation", "chat", "chat_completion",
    "chat_completions", "completion", "text_completion", "generate_content", "model", "model_call", "model_request",
    "model_inference", "inference", "inference_framework", "inference_modelapi", "chat_model", "language_model", "llm_chat",
    "llm_invoke", "model_invoke", "llm_generate", "llm_stream",
})  # fmt: skip
_TOOL_ENDS: Final = ("_tool_call", "_tool_invocation", "_tool_execution", "_tool_use", "_execute_tool", "_call_tool")


def role_of_kind(kind: object) -> Role | None:
    """Returns what a span of this kind is, in the words of any tracer; None if the words are others."""
    kind = kind.get("type") if isinstance(kind, Mapping) else kind
    if type(kind) is not str or len(kind) > MAX_KEY:
        return None
    words = words_of(kind)
    if words in _TOOL_KINDS or (words.endswith(_TOOL_ENDS) and _CHECK.search(words) is None):
        return "tool"
    if words in _AGENT_KINDS:
        return "agent"
    return "model" if words in _MODEL_KINDS else None


_KINDS: Final = frozenset({"type", "kind", "op", "category", "class", "group", "port", "layer", "component"})
"""Last words of keys under which tracers of one's own say of what sort a span is: `task.type`, `op`, `stage.group`."""
_PARTS: Final = re.compile(
    r"(?:^|_)(?:message|content|block|part|choice|tools?|function|result|input|output|response)_"
)
"""What may be of a sort inside a span."""
_IS_TOOL: Final = re.compile(r"(?:.*_)?is_tool(?:_call)?|tool")
"""The key of a flag which says so."""


def tells_tool(attributes: Mapping[str, Any]) -> bool:
    """Whether a word for the sort of a span, whatever it is a sort of, says that it is a tool's call.

    The convention's own word says so under any key, and is read where the tool may have no name.
    """
    for key, value in islice(attributes.items(), MAX_LOOKED_AT):
        if value is True and _IS_TOOL.fullmatch(words_of(key)) is not None:
            return True
        if type(value) is not str or len(value) > MAX_KEY or value == "execute_tool":
            continue
        if "tool" not in value.lower():
            continue
        words = words_of(key)
        if words.rpartition("_")[2] in _KINDS and _PARTS.search(words) is None and role_of_kind(value) == "tool":
            return True
    return False


_CHECK: Final = re.compile(
    r"(?:^|_)(?:validat|verif|check|approv|permission|authoriz|polic|guard|select|rout|plan|resolv|discover|pars|prepar|decid"
    r"|decision|confirm|review|queue|schedul|regist|lookup|request|pending|wait"
    r"|before|pre_?tool)"
)
_VERB: Final = re.compile(r"(?:^|_)(?:execute|execution|invoke|invocation|call)$")
_WORD_ENDS: Final = re.compile(r"[^A-Za-z0-9]\Z")
_TOOL_WORD: Final = re.compile(r"(?:^|_)(?:tools?|function|mcp)(?:_|$)")


def is_step_before(span_name: str, tool: str = "") -> bool:
    """Whether a span of this name is a step on the way to a call of ``tool``: a validation, an approval, a choice."""
    return _CHECK.search(words_of(span_name.replace(tool, "") if tool else span_name)) is not None


def is_execution(span_name: str) -> bool:
    """Whether the name of a span with a tool says that it was executed, as ``action.execute`` does."""
    return _VERB.search(words_of(span_name)) is not None and not is_step_before(span_name)


def is_named_after(span_name: str, tool: str) -> bool:
    """Whether a span has the name of its tool: alone, or behind words of which one is `tool`, as in ``tool-search``."""
    if words_of(span_name) == words_of(tool):
        return True
    before = span_name[: -len(tool)]
    # The name is a word of its own, and no end of a longer one.
    is_last = span_name.endswith(tool) and _WORD_ENDS.search(before) is not None
    return is_last and _TOOL_WORD.search(words_of(before)) is not None and not is_step_before(before)


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


_NAME: Final = r"[`'\"]?([^\s`'\"()\[\]]{1,256})[`'\"]?"
_PATH: Final = r"(?:[\w-]{1,64}[./]){0,8}"
_TOOL_SPANS: Final = _compiled(
    # `execute_tool x`, `call_tool: x`, `Running tool x`, `agent.run_tool x`
    rf"^{_PATH}(?:exec(?:ut(?:e|ing))?|call(?:ing)?|run(?:ning)?|invok(?:e|ing)|us(?:e|ing))[ _.-]?tool\s*[:/ ]\s*{_NAME}$",
    # `tool:x`, `tool.execution:x`, `Tool call: x`, `mcp.tools/call x`, `acme.tool/x`
    rf"^{_PATH}(?:tool(?:[ _./-]?(?:call|execution|execute|exec|use|run|invocation|invoke))?|tools/call)\s*[:/ ]\s*{_NAME}$",
    rf"^(?:function|mcp)[ _.]?(?:call)?:\s*{_NAME}$",
    rf"^skills?[:/]\s*{_NAME}$",
    r"^([\w-]{1,256})\.tool$",
    r"^tool \[([^\]\s]{1,256})\]$",
    rf"^{_PATH}tools?[./]([\w-]{{1,256}})$",
    # `tool.call.x`, `execute_tool.x`, `tool.x.execute`
    rf"^{_PATH}tool[ _.-]?(?:call|execution|execute|invocation|invoke|run)\.([\w-]{{1,256}})$",
    rf"^{_PATH}(?:execute|call|run|invoke)[ _.-]?tool\.([\w-]{{1,256}})$",
    rf"^{_PATH}tools?\.([\w-]{{1,256}})\.(?:execute|call|run|invoke)$",
    # `shop.agent_tools.pay`, `graphql.resolve tools.pay`
    rf"^{_PATH}(?:agent|ai|llm|model|assistant|bot|chat)_tools?[./]([\w-]{{1,256}})$",
    r"^(?!(?:get|post|put|patch|delete|head|options|select|insert|update)\b)[\w.-]{1,64} tools\.([\w-]{1,256})$",
    rf"^{_PATH}(?:execut(?:e|ing)|call(?:ing)?|run(?:ning)?|invok(?:e|ing)|us(?:e|ing))[ _.-]?skill\s*[:/ ]\s*{_NAME}$",
)
# What follows the word `tool` in names of steps around a call: `tools/list`, `tool.execution_loop`.
_NOT_NAMES: Final = frozenset({
    "call", "calls", "list", "execution", "execute", "use", "run", "invoke", "invocation", "result", "results", "error",
    "request", "response", "loop", "router", "dispatch", "dispatcher", "selection", "registry", "start", "end",
    "execution_loop", "started", "finished", "completed", "failed", "begin", "ended", "retry", "attempt", "validate",
    "assistant", "helper", "bot", "copilot", "chat", "session", "service", "app", "ai", "step", "turn", "worker", "workflow",
    "validation", "parse", "approval", "queue", "queued", "batch", "stream", "agent", "agents", "mcp", "llm",
})  # fmt: skip
_NAMELESS: Final = re.compile(
    rf"^{_PATH}(?:tools/call|mcp[ _.-]call|(?:exec|execute|call|run|invoke)[ _.-]?(?:tool|skill)|dispatch[ _.-]tool[ _.-]call"
    r"|(?:handle|process|perform|do|on|make|execute|run|invoke|dispatch)[ _.-]?tool[ _.-]?(?:call|use|invocation)"
    r"|dispatch[ _.-]?tool"
    r"|(?:tool|skill)[ _.-]?(?:call|execution|invocation|invoke|execute|exec|use)|tool)$",
    re.IGNORECASE,
)
_FUNCTION_CALL: Final = re.compile(
    rf"^{_PATH}(?:function[ _.-]?call|(?:exec|execute|call|run|invoke|remote)[ _.-]?function)$", re.IGNORECASE
)
_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][\w.]{0,63})(?:![rsa])?\}")
_ATTEMPT: Final = re.compile(r"(?<=\w)#\d{1,3}$")
"""The number of an attempt, behind the name of the tool."""
_METHOD: Final = re.compile(r"(?:[\w-]{1,64}\.){0,8}Tools?\.[a-z][\w-]{0,255}$")
_AGENT: Final = r"(?:sub[ _-]?)?agent"
_AGENT_NAME: Final = r"(\S.{0,255}?)\s*"
_AGENT_SPANS: Final = _compiled(
    # `invoke_agent x`, `Running agent: x`, `agent.run`, `Agent Run: x`
    rf"^{_PATH}(?:invoke|invoking|run|running|call|calling|execute|executing)[ _.-]?{_AGENT}(?:\s*[:/ ]\s*{_AGENT_NAME})?$",
    rf"^{_PATH}{_AGENT}[ _.-](?:run|invoke|invocation|execution|execute)(?:\s*[:/ ]\s*{_AGENT_NAME})?$",
    # `agent:x`, `Subagent: x`
    rf"^{_PATH}{_AGENT}\s*:\s*{_AGENT_NAME}$",
)
_NOT_AGENTS: Final = re.compile(
    r"(?:^|_)(?:steps?|turns?|loop|iteration|tools?|llm|model|call|chat|init|start|end|stop|create|setup|load|plan|memory|think"
    r"|request|response|message|output|input|result|error|node|config|list)(?:_|$)"
)

_FUNCTION_PATH: Final = re.compile(r"(?:(?:[A-Za-z_]\w{0,63}|<locals>)\.){1,8}([A-Za-z_]\w{0,127})")
ERROR_SUFFIX: Final = "_error"
"""Ends the name of a span that tells of a call's failure, after the tool's."""


def agent_in_span_name(name: str) -> tuple[bool, str | None]:
    """Returns whether a span of this name records the run of an agent, and the agent that it names, if it does."""
    for pattern in _AGENT_SPANS if len(name) <= 2 * MAX_KEY else ():
        match = pattern.match(name)
        if match is not None and (match[1] is None or _NOT_AGENTS.search(words_of(match[1])) is None):
            return True, match[1]
    return False, None


def tool_in_span_name(name: str) -> tuple[bool, str | None]:
    """Returns whether a span of this name records a tool's call, and the tool that it names, if it does."""
    # Bounded: these patterns are not RE2's, and senders choose the names.
    if len(name) > 2 * MAX_KEY:
        return _NAMELESS.match(tool_in_english(name)) is not None, None
    return _tool_in_span_name(name)


# The name of a span is looked at for several things, and is one of few.
@lru_cache(maxsize=4096)
def _tool_in_span_name(name: str) -> tuple[bool, str | None]:
    name = tool_in_english(name)
    for pattern in _TOOL_SPANS:
        match = pattern.match(name)
        if match is not None and words_of(match[1]) not in _NOT_NAMES:
            return True, _ATTEMPT.sub("", match[1])
    return _NAMELESS.match(name) is not None, None


def filled_in(name: str, attributes: Mapping[str, Any]) -> str:
    """Returns the name with the attributes whose keys it has in braces: Logfire's ``tool {name}`` is a template."""
    if "{" not in name or len(name) > 2 * MAX_KEY:
        return name

    def fill(match: re.Match[str]) -> str:
        value = attributes.get(match[1])
        return value if type(value) is str and len(value) <= MAX_KEY and "{" not in value else match[0]

    return _PLACEHOLDER.sub(fill, name)


def is_named_tool_of(name: str) -> bool:
    """Whether a span is named `x.tool`: after its tool, or after the agent whose tool it is."""
    return name.endswith(".tool")


def is_method(name: str) -> bool:
    """Whether a span has the name of a method of a class, `Tool.checkPath`: that of a tool, or of what all tools share."""
    return _METHOD.match(name) is not None


def is_turn_of_agent(name: str) -> bool:
    """Whether a span of this name records one turn of an agent's run, as ``run_single_turn`` does."""
    return words_of(name).endswith("_single_turn")


def function_in_path(name: str) -> str:
    """Returns the function in a name such as ``shop.tools.pay``, and any other name as it is: a model's tools have no dots."""
    match = _FUNCTION_PATH.fullmatch(name) if len(name) <= 2 * MAX_KEY else None
    return name if match is None or words_of(match[1]) in _NOT_NAMES else match[1]


def is_function(name: str) -> bool:
    """Whether a span has no name but that of its kind, a function: that of a call, as in the OpenAI Agents SDK's data."""
    return name in ("function", "Function")


def is_function_call(name: str) -> bool:
    """Whether a span has a name that says that a function was called, which may be one of an application's own."""
    return len(name) <= MAX_KEY and _FUNCTION_CALL.match(name) is not None


def is_handoff(name: str) -> bool:
    """Whether a span of this name records that an agent handed over to the next, as the OpenAI Agents SDK names it."""
    return name.startswith("handoff to ")
