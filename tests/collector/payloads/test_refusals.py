"""The messages with which frameworks and people refuse a call."""

from __future__ import annotations

import pytest

from collector.payloads.refusals import MAX_CHARS, MAX_DENIAL, Refusal, find_refusal, is_refusal, refuses
from tests.operations import within


@pytest.mark.parametrize(
    "message",
    [
        "MCP error -32602: Tool drop_all not found",
        "Tool 'drop_all' not found in registry",
        "An error occurred while running the tool. Please try again. Error: Invalid JSON input for tool drop_all",
        "Error: drop_all is not a valid tool, try one of [get_weather].",
        "Error: Invalid parameters for tool 'drop_all': all should be boolean",
        "Error: Received tool input did not match expected schema",
        'ToolInputValidationError: The received tool input does not match the expected schema.\nInput Schema: "{}"',
        "Error repairing tool call: no tool is like it",
        "Unknown tool name: 'drop_all'. Available tools: 'get_weather'",
        "Model tried to call unavailable tool 'drop_all'.",
        "Tool drop_all not found in agent travel_agent",
        "Function drop_all not found",
        "Function not found: drop_all. There are others: get_weather.",
        "Tool drop_all does not exist.",
        "Tool with name 'drop_all' not found in the tool registry. Use one of the available tools.",
        "The tool named drop_all is not available",
        "The function `drop_all` is not currently available.",
        "Missing required argument(s) for 'drop_all': all. This usually means the model's response was truncated",
        "<system-reminder>Error: When decoding your tool arguments from JSON format to a Python dictionary, a JSONDecodeError",
        "No such tool: drop_all",
        'Invalid tool_call: "drop_all". Available options are: "get_weather". Please try again',
        "There is no tool named `drop_all` here",
        "Error: no tool drop_all",
        "Invoking `drop_all()` failed as no tool with that name is available. The tools you can call are: get_weather.",
        "Invalid tool name: drop_all",
        "could not find a function called drop_all",
        '[\n  {\n    "expected": "string",\n    "code": "invalid_type",\n    "path": ["city"]\n  }\n]',
        'Error in tool \'drop_all\': [\n {\n "code": "invalid_type" }]',
        "Tool execution was not approved.",
        "[Delegation Rejected] not allowed",
        "Tool call limit exceeded. Do not call 'drop_all' again.",
        "Tool call limit exceeded. Do not make additional tool calls.",
        "Execution stopped before this tool call could run because another tool call in the same batch exceeded the limit.",
        "The tool call `drop_all` was blocked because it was classified as risky (probability: 0.90).",
        "Tool call limit reached. Tool call drop_all not executed. Don't try to execute it again.",
        "This tool call requires confirmation, please approve or reject.",
        'refused: tool "drop_all" not registered',
        "Tool call denied by user",
        "Tool call not executed: interrupted",
        "The user doesn't want to proceed with this tool use.",
        "Permission to use drop_all has been denied.",
        "PreToolUse:drop_all hook error: over the budget of today",
        "Cannot call drop_all while in plan mode.",
        "<tool_use_error>Error: No such tool available: drop_all</tool_use_error>",
        "<tool_use_error>InputValidationError: drop_all failed due to the following issues:\nThe required parameter `all` is",
        "Permission denied because no interactive user response was available. Retry in an interactive session",
        "USER INTERRUPTED",
        "User rejected the tool call for `drop_all` with id c1",
        "1 validation error for drop_all\nall\n  Field required [type=missing, input_value={}, input_type=dict]",
        "Error executing tool drop_all: 2 validation errors for drop_allArguments\nall\n  Field required",
        "1 validation error for call[drop_all]\nall\n  Missing required argument",
        "2 validation errors for Warehouse.drop_all\nall\n  Missing required argument [type=missing_argument]",  # Agno 3.1
        "2 validation errors for tools_of.<locals>.drop_all\nall\n  Missing required argument [type=missing_argument]",
        "ValidationError: 1 validation error for drop_all_args\nall\n  Field required",
        "1 validation error for DropAllArgs\nall\n  Field required",
        "Error parsing arguments for `drop_all`: all is no number",
        "Invoking `drop_all()` failed as the following mandatory input parameters are not present:\nall",
        "Error: Validation failed for input parameters: 1 validation error for Drop_allTool\nall\n  Field required",
        'error tool "drop_all" requires confirmation, please approve or reject',
        'error tool "drop_all" call is rejected',
        "missing required argument 'request' for agent drop_all",
        "Error: The requested tool does not exist or is not available.",
        "Error: Argument parsing failed.",
        "An error occurred while parsing tool arguments. Please try again with valid JSON.",
        "Missing required argument(s): ['all']. Please revise the arguments to match the function signature.",
        "The tool call arguments are malformed. Arguments must be in JSON format. Please try again.",
        "Failed to parse parameter all for function drop_all from function call part because function call argument value 5",
        "ValueError('Invalid arguments for function drop_all')",
        "The tool call with name `drop_all` is not part of the provided tools, please try again with a supplied tool call",
        'validating "arguments": validating root: required: missing properties: ["all"]',
        "[LocalFunc] failed to unmarshal arguments in json, toolName=drop_all, err=unexpected end",
        'Validation failed for tool "drop_all":\n  - all: must be boolean',
        "Tool (drop_all) input validation failed: Validation failed: JSON schema validation errors: [/all: boolean expected]",
        "I encountered an error: Action 'drop_all' don't exist, these are the only available Actions:",
        "You tried to use the tool drop_all, but it doesn't exist. You must use one of the following tools",
        "Tool validation failed for drop_all. Please fix the following errors and try again:\n- all: Required",
        "I tried reusing the same input, I must stop using this action input. I'll try something else instead.",
        "Error: Failed to parse tool arguments as JSON: Expecting value: line 1 column 1 (char 0). Please provide valid JSON",
        "Tool execution blocked by hook. Tool: drop_all",
        "Tool 'drop_all' has reached its usage limit of 1 times and cannot be used anymore.",
        "Tool 'drop_all' has reached its maximum usage limit of 1. You should not use the drop_all tool again.",
        "Function 'drop_all' has reached its maximum invocation limit, you can no longer use this tool.",
        "Function 'drop_all' has reached its maximum exception limit, you tried to use this tool too many times",
        'Error running tool: {"tool_name":"drop_all","error":"ToolInputGuardrailTripwireTriggered: Tool input guardrail"}',
    ],
)
def test_refusals(message: str) -> None:
    assert is_refusal(message, "drop_all")


@pytest.mark.parametrize(
    "message",
    [
        "",
        "card declined",
        "Order 42 not found",
        "the tool was not found",
        "Tool hammer not found on shelf 3",
        "Function hall not found on 3 May",
        "unknown tool maker: Acme",
        "Tool validation failed for order. The blade is blunt.",
        "no tool is free before 3 May",
        "x" * (MAX_CHARS + 1) + "MCP error -32602: no",
        '[{"code": "AF12"}]',
        "Tool call denied by user" + "." * MAX_DENIAL,
        "Error: Tool execution failed: card declined",
        "1 validation error for Shipment\nweight\n  Field required [type=missing]",
        "1 validation error for orderOutput\nresult\n  Input should be a valid string",
        'Error running tool: {"tool_name":"order","error":"ToolOutputGuardrailTripwireTriggered: Tool output guardrail"}',
        "ToolCallError: Failed to run function tools: ToolInputGuardrailTripwireTriggered: Tool input guardrail triggered: g",
    ],
)
def test_failures_of_a_tool_that_ran(message: str) -> None:
    assert refuses(find_refusal(message), "order") == "no"


@pytest.mark.parametrize(
    "message",
    [
        "The transfer was rejected by the user",
        "Not approved by the board: not approved",
        "Abandoned",
        "Tool run not completed (conversation ended)",
        "The tool call was interrupted before a result was received. It may or may not have completed on the server",
        "The customer declined this.",
    ],
)
def test_an_answer_that_may_be_a_persons_denial_or_the_tools_own(message: str) -> None:
    assert refuses(find_refusal(message), "transfer") == "maybe"


@pytest.mark.parametrize(
    "message",
    [
        "Tool not found",
        "unknown tool",
        "Error: no such tool.",
        "unknown_tool",
        "UnknownTool",
        "ToolNotFoundError",
        "not a known tool",
    ],
)
@pytest.mark.parametrize(("tool", "refused"), [("transfer", "yes"), ("find_tool", "maybe")])
def test_only_a_tool_that_looks_for_tools_answers_that_there_is_none(message: str, tool: str, refused: str) -> None:
    assert refuses(find_refusal(message), tool) == refused


@pytest.mark.parametrize("message", ["Unknown tool: ???", "Error: unknown tool ...", "no such tool: !"])
def test_a_refusal_may_name_nothing(message: str) -> None:
    assert find_refusal(message) == Refusal(is_bare=True)
    assert is_refusal(message, "transfer")
    assert find_refusal(f"There is no tool ... for that, {'which is no error. ' * 20}") is None


def test_an_mcp_tool_may_be_named_with_its_server() -> None:
    assert refuses(Refusal("github__search"), "mcp__github__search") == "yes"
    assert refuses(Refusal("search"), "mcp__github__search") == "yes"
    assert refuses(Refusal("search"), "research") == "no"


@pytest.mark.parametrize(
    "message",
    [
        "'drop_all'", "KeyError: 'drop_all'", "TOOLS[call.name] is not a function", "Error: 'drop_all'",
        "Error executing tool: KeyError: 'drop_all'", "Tool error: KeyError('drop_all')",
    ],
)  # fmt: skip
def test_a_tool_that_was_looked_up_and_not_found_may_be_what_a_tool_says_too(message: str) -> None:
    assert refuses(find_refusal(message), "drop_all") == "maybe"


@pytest.mark.parametrize(
    "message", ["'order_7'", "Error: 'order_7'", "Error: no 'drop_all'", "rows.map is not a function"]
)
def test_a_tool_that_looks_up_something_else_ran(message: str) -> None:
    assert refuses(find_refusal(message), "drop_all") == "no"


@pytest.mark.parametrize(
    "message",
    [
        "missing a required argument: 'all'",
        "Invalid arguments: all Invalid input: expected boolean, received undefined",
        'refused: missing required parameter "all"',
        "data must have required property 'all'",
        "Error invoking tool 'drop_all' with kwargs {'now': 1} with error:\n all: Field required",
        "TypeError: drop_all() missing 1 required positional argument: 'all'",
        "TypeError: drop_all() missing 2 required keyword-only arguments: 'all' and 'now'",
        "drop_all() got an unexpected keyword argument 'every'",
        "TypeError: drop_all() takes 1 positional argument but 2 were given",
        'validating root: required: missing properties: ["all"]',
        "Error: callable tool execution failed: json: cannot unmarshal string into Go struct field Drop.all of type bool",
        'Cannot deserialize value of type `java.lang.Double` from String "cheap": not a valid `Double` value',
        'For input string: "cheap"',
        "FunctionExecutionException: Parameter all is expected to be parsed to <class 'bool'> but is not.",
        "Parameter all is required but not provided in the arguments.",
        "The arguments dictionary is missing a value for the required parameter 'all'. (Parameter 'arguments')",
        "Missing argument for function parameter 'all'",
        "The JSON value could not be converted to System.Double. Path: $ | LineNumber: 0 | BytePositionInLine: 7.",
        "ToolCallError: JsonError: missing field `all` at line 1 column 13",
        'invalid type: string "cheap", expected f64 at line 1 column 30',
        "No argument provided for a required parameter: parameter #1 all of fun Tools.drop(kotlin.Boolean): kotlin.String!",
        "Failed to parse literal '\"cheap\"' as a double value at element: $.primitive",
        "Fields [all, now] are required for type with serial name 'DropAll', but they were missing",
        "2 validation errors for 'drop_all'\nall\n  Field required [type=missing, input_value={'every': 1}]",
        '1 validation errors: [\n  {\n    "type": "missing",\n    "loc": [\n      "all"\n    ]\n  }\n]\n\nFix the errors',
        '2 validation errors:\n```json\n[\n  {\n    "type": "missing"\n  }\n]\n```\n\nFix the errors and try again.',
        "Error: " + "x" * MAX_DENIAL + ": drop_all() got an unexpected keyword argument 'every'",
    ],
)
def test_arguments_may_not_have_fitted_the_tool_or_what_it_called(message: str) -> None:
    refusal = find_refusal(message)
    assert refusal is not None
    assert refusal.is_of_arguments
    assert (refuses(refusal, "drop_all"), refuses(Refusal(is_ruled_out=True), "drop_all")) == ("maybe", "no")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("An error occurred while running the tool. Please try again.", True),
        ("Error running tool (non-fatal): {'error': 'Tool execution failed. Error details are redacted.'}", True),
        ("Error running tool (non-fatal)", True),
        ("An internal error occurred.", True),
        ("An error occurred while running the tool. Please try again. Error: card declined", None),
    ],
)
def test_words_for_any_failure_leave_open_whether_the_arguments_fitted(message: str, *, expected: bool | None) -> None:
    refusal = find_refusal(message)
    assert (None if refusal is None else refusal.is_of_arguments) is expected
    assert refuses(refusal, "drop_all") == ("maybe" if expected else "no")


def test_a_text_of_one_long_word_takes_no_time() -> None:
    with within(1.5):
        assert not any(find_refusal("a" * MAX_CHARS) for _ in range(300))
