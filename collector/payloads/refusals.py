"""The messages with which frameworks and people refuse a tool call: unknown tool, wrong arguments, no permission.

Some record such a call like one that ran and failed. Only the message distinguishes the two: it is about the call, names
its tool, and nothing else. "Tool chest not found in warehouse 3" is the answer of a tool that ran, unless that is called
``chest``. The sentences are listed here with their authors; a framework that changes its own adds a line.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from collector.payloads.tool_arguments import fits_parameters, is_name_of, is_schema

MAX_CHARS: Final = 2_000
"""How much of a message is searched."""
MAX_DENIAL: Final = 400
"""Longest message that may be a person's denial; a tool's own text about denials is longer."""


class Refusal(NamedTuple):
    """What a message says of a call that did not run."""

    tool: str | None = None
    """The tool that it names."""
    is_sure: bool = True
    """It cannot be the answer of a tool that ran."""
    is_likely: bool = False
    """It is not sure, and more likely than not."""
    is_of_arguments: bool = False
    """It is not sure, and the arguments tell: it is one if they do not fit the tool's parameters."""
    is_ruled_out: bool = False
    """They fit it, so the call ran."""
    is_bare: bool = False
    """It says no more than that there is no such tool: a tool that looks for tools may answer so."""
    is_untold: bool = False
    """No words were read: the call failed, and why is not known."""
    is_of_approval: bool = False
    """It is not sure, but where the messages say that somebody was asked whether the call may run."""
    is_of_rest: bool = False
    """It is of a run, which made none of the calls of its model's last answer but those with spans."""


DENIED_BY_TOOL: Final = Refusal(is_of_approval=True, is_ruled_out=True)
"""Of a call whose tool returned what reads like somebody's denial of it."""
BEGAN: Final = Refusal(is_ruled_out=True)
"""Of a call whose own span shows that it began, whatever that around it leaves open."""
UNTOLD: Final = Refusal(is_sure=False, is_untold=True)
"""Of a failed call whose record holds no words, or those of a tracer that nobody has seen."""

_UNNAMED: Final = re.compile(
    "|".join((
        r"MCP error -32602\b",  # MCP SDKs: unknown tool, invalid arguments
        r"Input validation error: ",  # MCP servers
        r"Tool input validation failed",  # Mastra
        r"(?:^|^\{\"text\":\")\[Delegation Rejected\] ",  # of a call of another agent
        r"Received tool input did not match expected schema",  # LangChain JS
        r"^ToolInputValidationError: The received tool input does not match the expected schema\.",  # BeeAI for JavaScript
        r"^Tool input validation error$",  # LangChain, with handle_validation_error
        # LangChain's middleware
        r"^Tool call limit exceeded\. Do not make additional tool calls\.$",
        r"^Execution stopped before this tool call could run because another tool call in the same batch exceeded the limit\.$",
        r"Invalid input for tool |^(?:AI_ToolCallRepairError: )?Error repairing tool call: ",  # Vercel AI SDK
        # AgentScope, and for arguments that are no JSON:
        r"^Input validation failed for tool |^(?:Error: )?Parameter validation failed for tool ",
        r"^(?:<system-reminder>)?Error: When decoding your tool arguments from JSON format ",
        r"^Permission denied because no interactive user response was available",  # Copilot CLI
        r"^USER INTERRUPTED$",  # AG2: a human answered in place of the tool
        r"Multiple handoffs detected, ignoring this one",  # OpenAI Agents: only the first is followed
        # OpenAI Agents; a guardrail of the output lets the tool run, and what a tool that is an agent is told begins otherwise
        r"(?:^|'error': '|\"error\":\")Tool input guardrail \w{1,256} triggered tripwire\b",
        r"\b[Ii]nvalid (?:arguments|parameters) for tool\b",  # MCP SDKs, and hand-written agent loops
        r"^Error: Argument parsing failed\.",  # Microsoft's Agent Framework
        r"argument\(s\): [^\n]{1,400} Please revise the arguments to match the function signature\.$",  # Semantic Kernel
        r"^The tool call arguments are malformed\. Arguments must be in JSON format\.",  # Semantic Kernel
        r"^(?:Error: )?The requested tool does not exist or is not available\b",  # Agno
        r"^validating \"arguments\": ",  # MCP's Go SDK
        r"^(?:tool execution error: )?executeToolCall: Error: tool not found\b",  # tRPC-Agent-Go
        r"^failed to parse (?:agent )?tool arguments: ",  # rig
        r"^Tool not executed because another tool call in the same assistant turn was invalid\.$",
        r"\bInvalidToolInputError: Invalid JSON input for tool\b",  # OpenAI Agents for JavaScript, if they do not fit either
        r"^An error occurred while parsing tool arguments\. Please try again with valid JSON\.$",  # there, if they are no JSON
        r"(?:^|\")ToolInputGuardrailTripwireTriggered: ",  # there, too: for a call inside, other words come first
        r"\bValueError: Parameters must be formatted as a valid JSON!\n",  # Qwen-Agent
        r"^\s*I tried reusing the same input, I must stop using this action input\b",  # CrewAI
        r"^Error: the Action Input is not a valid key, value dictionary\.",
        r"^(?:Error: )?Failed to parse tool arguments as JSON: ",
        r"^\[\w{0,20}Local(?:Stream)?Func\] failed to unmarshal arguments\b",  # Eino
        # DSPy, which compares the arguments with the tool's before it calls it; the model is told with a traceback
        r"(?:^|\bValueError: )Arg \S{1,256} is not in the tool's args\.\s*$",
        r"(?:^|\bValueError: )Arg \S{1,256} is invalid: [^\n]{1,1000} is not (?:of type '|one of \[|valid under )",
        # LlamaIndex: a tool that waits for a human ends with this, and runs once more when there is an answer
        r"^(?:WaitingForEvent: )?Waiting for event <class '",
        # Strands and Google ADK for JS: Zod's issues
        r"(?:^|: )\s*\[\s*\{[^\]]{0,300}?\"code\": \"(?:invalid_|unrecognized_|too_)",
    ))
)  # fmt: skip
_QUALIFIER: Final = r"(?:[\w.<>]{1,256}\.)?"
_OF_SCHEMA: Final = "(?:args|arguments|params|parameters|input|schema)"
_NAME: Final = r"[`'\"]?([^\s`'\",;()]{1,256})"
_ABSENT: Final = (
    r"(?:(?:is )?not found|(?:not |un)registered|does(?: not|n't) exist"
    r"|is (?:not (?:currently )?|un)(?:available|known|defined|supported))"
)
_NAMED: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^The LLM is trying to execute the {_NAME}[`'\"]? tool, but no such tool exists\.",  # LangChain4j
        # Strands, OpenAI Agents, Mastra 0.x, Haystack, Agno, Google ADK, Koog, Pipecat
        rf"\b(?:tool|function) (?:(?:with (?:the )?name|named|called) )?{_NAME}[`'\"]? {_ABSENT}",
        rf"\b(?:tool|function) not found: {_NAME}",  # Ax
        rf"^Tool with name {_NAME}[`'\"]? failed to parse arguments due to the error: ",  # Koog
        rf"^Validation failed for tool {_NAME}",  # pi
        rf"\btool \({_NAME}\) input validation failed: ",  # MCP's Java SDK: a server compares arguments with the schema
        # Mastra 0.x
        rf"^Tool validation failed for {_NAME}[`'\"]? Please fix the following errors and try again:",
        # CrewAI
        rf"^(?:I encountered an error: )?(?:Action|You tried to use the tool) {_NAME}[`'\"]?,? (?:but it doesn|don)'t exist\b",
        # CrewAI: a hook that blocks the call, and a tool's limit of calls
        r"^Tool execution blocked by hook\. Tool: (\S[^\n]{0,255})$",
        r"^Tool '([^'\n]{1,256})' has reached its (?:maximum )?usage limit\b",
        # Microsoft's Agent Framework: a function's limit of calls, or of failures
        r"^Function '([^'\n]{1,256})' has reached its maximum (?:invocation|exception) limit\b",
        # LangChain's middleware: a limit of calls, and a model that judges them
        rf"^Tool call limit exceeded\. Do not call {_NAME}[`'\"]? again\.$",
        rf"^The tool call {_NAME}[`'\"]? was blocked because it was classified as risky\b",
        rf"^Tool call limit reached\. Tool call {_NAME} not executed\. ",  # Agno
        rf"^Tool execution for {_NAME}[`'\"]? was rejected by the user\b",  # Haystack's human in the loop
        r"^Tool \[([^\s\]]{1,256})\] was not exposed in this turn\b",  # LazyLLM
        rf"^The tool call with name {_NAME}[`'\"]? is not part of the provided tools\b",  # Semantic Kernel
        # LangGraph. From where a word begins: else each of its characters might begin the name.
        rf"(?<![^\s`'\",;()]){_NAME}[`'\"]? is not a valid tool\b",
        r"^(?:<tool_use_error>)?(?:Error: )?No such tool available: ([^\s<]{1,256})",  # Claude Code
        # Pydantic AI, Vercel AI SDK, smolagents, and hand-written agent loops
        rf"\b(?:unknown|invalid|unavailable|no such|unrecognized) (?:tool|function)(?:[ _](?:name|call))?:? {_NAME}",
        # google-genai, which converts arguments to the types that a function names
        rf"^Failed to parse parameter \S{{1,256}} for function {_NAME} from function call part because function call argument ",
        # Anthropic's tool runner
        rf"^ValueError\(['\"]Invalid arguments for function {_NAME}\b",
        # LangChain's agents, for arguments that are no JSON
        rf"^Tool call {_NAME} with id \S{{1,256}} could not be executed - arguments were malformed or truncated\.$",
        # Google ADK
        rf"\binvoking {_NAME}\(\)[`'\"]? failed as (?:no tool with that name is available|the following mandatory)",
        rf"\bfind (?:an?|the) (?:tool|function) (?:named|called) {_NAME}",
        rf"^Qwen Code requires permission to use {_NAME}[`'\"]?, but that permission was declined\b",
        rf"^FunctionInactiveError: The function {_NAME}[`'\"]? is in the inactive group ",  # AgentScope
        rf"\berror parsing arguments for {_NAME}",  # LiveKit
        rf"\binvalid JSON input for tool {_NAME}",  # OpenAI Agents, if they do not fit either
        rf"^The arguments for tool {_NAME}[`'\"]? are not a JSON object: ",  # rig, which records those that it made of them
        # Genkit for Go, before the call has a span; what a tool returns that does not fit reads otherwise
        (
            r"^tool \"([^\"\n]{1,256})\" failed: error calling tool \S{1,256}: "
            r"(?:invalid input to action \"/tool(?:\.v2)?/\1\": )?data did not match expected schema:\n"
        ),
        # Google ADK for Go
        rf"^error tool {_NAME}[`'\"]? (?:requires confirmation, please approve or reject|call is rejected)$",
        # Dapr Agents
        rf"^Error executing tool '[^\n]{{1,600}}? of tool '[^'\n]{{1,256}}': Validation error in tool {_NAME}[`'\"]?: ",
        rf"^missing required argument\(s\) for {_NAME}[`'\"]?: ",  # Upsonic
        rf"^missing required argument '[^']{{1,256}}' for agent {_NAME}$",
        # Claude Code: of a human or a mode, of a hook, of its own tools' arguments
        rf"^permission to (?:use|call|run) {_NAME}[`'\"]? (?:has been|was|is) denied",
        r"^PreToolUse:(\S{1,256}) hook error: ",
        rf"^Cannot call {_NAME}[`'\"]? while in plan mode\b",
        rf"^(?:<tool_use_error>)?InputValidationError: {_NAME} failed due to the following issue",
        rf"\b(?:rejected|denied|declined) the (?:tool|function) call for {_NAME}",  # LangChain's human in the loop
        # Pydantic: the model that a framework derives from the tool's parameters is named after the tool, or it is the tool,
        # perhaps a method or inside another function (Agno)
        rf"\bvalidation errors? for (?:call\[)?{_QUALIFIER}([\w-]{{1,256}}?)_?{_OF_SCHEMA}?\]?\s*\n",
        # Hand-written agent loops. Last, since any word may follow: "no tool is free" names a tool that nobody called.
        rf"\bno (?:tool|function) (?:(?:named|called) )?{_NAME}",
    )
)
_DENIAL: Final = re.compile(
    # OpenAI Agents, Vercel AI SDK, LangChain; Claude Code. Google ADK for JavaScript: a call that waits for an answer.
    r"^\W*(?:error: )?(?:the |this |your )?(?:tool|function) (?:call|execution|use|invocation)s? [^.:\n]{0,20}?"
    r"(?:not approved|denied|rejected|refused|declined|cancell?ed|not executed|interrupted(?! before a result)"
    r"|requires (?:confirmation|approval))"
    r"|^the user does(?:n't| not) want to proceed"
    r"|^tool cancelled by (?:user|hook)$",  # Strands 1.x, of a hook that gives no reason
    re.IGNORECASE,
)
# A loop that looks tools up by name and calls what it finds: nothing was there. A tool may fail with the same words.
_LOOKUP: Final = re.compile(r"^(?:[\w ]{1,60}: ?){0,3}(?:KeyError\()?'([^'\s]{1,256})'\)?$")  # Python
_CALL_OF_LOOKUP: Final = re.compile(r"^(?:TypeError: )?[\w$.]{1,100}\[[^\]\n]{1,200}\] is not a function$")  # JS
# CrewAI, chatlas, and hand-written agent loops, some of which make a type of error of it: `unknown_tool`.
_BARE: Final = re.compile(
    r"^(?:error: )?(?:(?:tool|function)[ _]?(?:not[ _]?(?:found|registered|known|available)|unknown)"
    r"|not an? (?:allowed|known|available|registered|permitted|valid) (?:tool|function)"
    r"|(?:no[ _]?such|unknown|unrecognized|unavailable|unregistered)[ _]?(?:tool|function))(?:Error|Exception)?\W*$",
    re.IGNORECASE,
)
_LOOKS_FOR_TOOLS: Final = re.compile(r"(?i)tool|function|search|find|look|discover")
_POSSIBLE_DENIAL: Final = re.compile(
    r"\b(?:not approved|(?:denied|rejected|declined|cancell?ed|interrupted) by (?:the |a )?(?:user|human|operator))\b"
    r"|\b(?:user|human|customer|operator|approver|reviewer|supervisor|manager|admin) (?:has )?"
    r"(?:denied|rejected|declined|cancell?ed)\b"
    # AG2 without anybody to ask: whether the call may run, or what its tool wants to know
    r"|^(?:HumanInputNotProvidedError: )?Human input was requested but not provided\b"
    # OpenInference and LangSmith for Claude's Agent SDK: it was asked for, and then nothing was heard of it
    r"|^abandoned$|^Tool run not completed \(conversation ended\)$"
    r"|^The tool call was interrupted before a result was received\.",  # Claude Code, whatever became of it
    re.IGNORECASE,
)

# The arguments may not have fitted the tool, or those of a call that it made.
_OF_ARGUMENTS: Final = re.compile(
    r"\bmissing a required (?:keyword-only )?argument: '|\bmissing \d{1,3} required (?:positional|keyword-only) arguments?: '"
    r"|\bgot an unexpected keyword argument '|\btakes \d{1,3} positional arguments? but \d"
    r"|^Error invoking tool '[^'\s]{1,256}' with kwargs \{"  # LangGraph
    r"|^An error occurred when calling tool `[^`\s]{1,256}`:\nValidationError: "  # Qwen-Agent
    # Semantic Kernel for Python, which converts arguments inside the span of the call
    r"|^(?:FunctionExecutionException: )?Parameter \S{1,256} is (?:expected to be parsed to [^\n]{1,400} but is not"
    r"|required but not provided in the arguments)\.$"
    # .NET: Microsoft.Extensions.AI, Semantic Kernel and the parser of JSON
    r"|^The arguments dictionary is missing a value for the required parameter '|^Missing argument for function parameter '"
    r"|^The JSON value could not be converted to "
    # Rust: serde
    r"|\bmissing field `\w{1,100}`|\binvalid type: [^\n]{1,200}?, expected "
    # Java: Jackson and the parsers of numbers
    r"|^Cannot (?:deserialize value|coerce \w{1,20} value|construct instance) |^For input string: \""
    r"|^Unexpected (?:character \('|end-of-input)|^Unrecognized token '"
    r"|^Character \S is neither a decimal digit number, decimal point, nor \"e\" notation exponential mark\.$"
    # Kotlin: its reflection and its parser of JSON
    r"|^No argument provided for a required parameter: |^Failed to parse literal '|^Encountered an unknown key '"
    r"|\brequired for type with serial name '"
    # Pydantic AI, of which a tool's own model may be the one that does not fit: the error, and what the model is told
    r"|\b\d{1,4} validation errors? for '[^'\s]{1,256}'\n"
    r"|^\d{1,4} validation errors?:\s{1,2}(?:```json\s)?\[\s*\{\s*\"type\": \""
    # JavaScript: Zod and Ajv
    r"|\b[Ee]xpected \w{1,20}, received \w{1,20}\b|\bmust have required property '"
    # Hand-written agent loops
    r"|^(?i:(?:[\w ]{1,40}: ?){0,2}(?:invalid|malformed|missing) (?:required |json )?"
    r"(?:arguments?|args|parameters?|params|input)\b)"
    # Go: a schema, which in Google ADK a result may not fit either, and the parser of JSON
    r"|^validating root: |\bjson: cannot unmarshal \w{1,20} into Go (?:struct field|value) "
    r"|\bcallable tool execution failed: (?:unexpected end of JSON input|invalid character ')"  # tRPC-Agent-Go
)
# OpenAI Agents 0.24 says so whatever went wrong, also where no content may be recorded, and so does Google ADK for Java.
_OF_ANY_FAILURE: Final = re.compile(
    r"^Error running tool \(non-fatal\)$|^An error occurred while running the tool\. Please try again\.$"
    r"|Tool execution failed\. Error details are redacted"
    r"|^An internal error occurred\.$"
)
_INTERRUPT: Final = re.compile(
    r"(?:langgraph\.errors\.)?GraphInterrupt(?:\(|: \[|$)|\(Interrupt\("
    r"|\[\n  \{\n    \"id\": \"[0-9a-f]{32}\""  # LangGraph for JavaScript: what the human is asked
    # Eino, 0.7 and before
    r"|(?:\[\w{1,40}\] failed to invoke tool, toolName=[^,\n]{1,256}, err=)?interrupt (?:signal: ID=|and rerun\b)"
    # Google ADK for Go
    r"|error tool \"[^\"\n]{1,256}\" requires confirmation, please approve or reject\b"
    r"|(?:WaitingForEvent: )?Waiting for event <class '"  # LlamaIndex
)
_OPENAI_AGENTS: Final = re.compile(r"openai[_-]agents")
"""In the names of all scopes of instrumentations of the OpenAI Agents SDK."""
_GUARDRAIL: Final = re.compile(
    r"(?i)\b(?:disallowed|forbidden|prohibited|guardrails?)\b|\bnot (?:be )?(?:allowed|authori[sz]ed|permitted)\b"
    # "The card is blocked" is what a tool may have done.
    r"|\bblocked(?: by\b|:)|\b(?:access|action|argument|call|execution|input|operation|request|tool|usage?)s? "
    r"(?:(?:is|are|was|were|(?:has|have) been) )?(?:blocked|denied|rejected)\b"
    r"|\b(?:against|breaks|by|violates) (?:our |the |this )?(?:\w+ )?polic(?:y|ies)\b|\bbefore calling (?:this|the) tool\b"
)

_BLOCKED: Final = re.compile(
    r"(?i)\b(?:blocked|denied|disabled|forbidden|not (?:allowed|permitted)|prevented|rejected|stopped) "
    r"by (?:an? |the |our )?(?:\w+ ){0,2}(?:polic(?:y|ies)|guardrails?|(?:before_tool_)?callback|plugin)\b"
)


def may_be_blocked(answer: object) -> bool:
    """Whether what a tool answered may be a callback's words, which answers in its place: a tool may say so, too.

    The tool's span has them as its result in Google ADK, whose documentation has such words, and in tRPC-Agent-Go.
    """
    return type(answer) is str and _BLOCKED.search(answer, 0, MAX_DENIAL) is not None


def guardrail_refusal(scope: str, output: object) -> Refusal | None:
    """Returns that a call of the OpenAI Agents SDK may have been refused, if its output may be the words of a guardrail.

    One that rejects a call (``reject_content``, 0.4 and later) gives a text of its own in place of the result, and the span
    ends well: nothing else tells it from what the tool itself may have answered.
    """
    if type(output) is not str or len(output) > MAX_DENIAL or output[:1] in ("{", "["):
        return None
    is_open = _OPENAI_AGENTS.search(scope) is not None and _GUARDRAIL.search(output) is not None
    return Refusal(is_sure=False) if is_open else None


def is_interrupt(error: str) -> bool:
    """Whether it is the error with which a framework ends a call to wait for a human: it runs anew with the answer."""
    return _INTERRUPT.match(error) is not None


def find_refusal(message: str) -> Refusal | None:
    """Returns what a tool span's error or a tool result says of a call that did not run; None if it says nothing of it."""
    # Sure signs first. Words that the answer of a tool may hold as well come last, and are not sure.
    if _UNNAMED.search(message, 0, MAX_CHARS) is not None:
        return Refusal()
    if len(message) <= MAX_DENIAL and _DENIAL.search(message) is not None:
        return Refusal()
    for pattern in _NAMED:
        match = pattern.search(message, 0, MAX_CHARS)
        if match is not None and (name := match[1].rstrip(".:!?")):  # `unknown tool: ???` names none
            return Refusal(name)
    if any(pattern.search(message, 0, MAX_CHARS) is not None for pattern in (_OF_ARGUMENTS, _OF_ANY_FAILURE)):
        return Refusal(None, is_sure=False, is_of_arguments=True)
    if len(message) > MAX_DENIAL:
        return None
    if _BARE.match(message) is not None:
        return Refusal(is_bare=True)
    lookup = _LOOKUP.match(message)
    if lookup is not None:
        return Refusal(lookup[1], is_sure=False)
    if any(pattern.search(message) is not None for pattern in (_CALL_OF_LOOKUP, _POSSIBLE_DENIAL)):
        return Refusal(None, is_sure=False)
    return None


def settled_by_parameters(refusal: Refusal | None, arguments: object, parameters: object) -> Refusal | None:
    """Returns the refusal; one of arguments settled, where the tool's parameters, a JSON Schema, tell whether they fit."""
    if refusal is None or not refusal.is_of_arguments or not is_schema(parameters):
        return refusal
    fits = fits_parameters(arguments, parameters)
    return refusal if fits is None else Refusal(is_ruled_out=fits)


def refuses(refusal: Refusal | None, tool_name: str | None) -> Literal["yes", "no", "maybe"]:
    """Whether the call of this tool was refused; "maybe" if the message can be read in both ways."""
    if refusal is None or refusal.is_ruled_out:
        return "no"
    if refusal.tool is not None and tool_name is not None and not _is_same(refusal.tool, tool_name):
        return "no"
    may_be_answer = refusal.is_bare and (tool_name is None or _LOOKS_FOR_TOOLS.search(tool_name) is not None)
    return "yes" if refusal.is_sure and not may_be_answer else "maybe"


def _is_same(name: str, tool_name: str) -> bool:
    """Whether both name one tool: frameworks name a class after it."""
    # `ReserveItem` of `reserve_item`, and in Strands `Reserve_itemTool`.
    if name.lower() in (tool_name.lower().replace("_", ""), f"{tool_name.lower()}tool"):
        return True
    return is_name_of(name, tool_name)


def is_refusal(message: str, tool_name: str | None = None) -> bool:
    """Whether ``message`` means for sure that a call of this tool did not run."""
    return refuses(find_refusal(message), tool_name) == "yes"
