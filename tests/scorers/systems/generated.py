"""Seeded random cases for the original packages. Most are near misses, since that is where scorers go wrong."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.scorers.systems.cases import Call

TOOLS = ("a", "b", "search", "Search", "a ", "caf\u00e9", "cafe\u0301", "ツール")
KEYS = ("x", "y", "0", "10", "2", "", "__proto__", "città", "constructor", "length")
SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 1.0, 0.1, 1e-9, 1e300, -0.0, 2**53, 2**53 + 1, 10**30, 10**400),
    *("", "1", "true", "null", "Paris", "caf\u00e9", "cafe\u0301", "\u2028", "\U0001f600", "\ud800"),
)
STATES = ("call", "result", "output-error", "partial-call", "odd")


def value(random: Random, depth: int = 2) -> Any:
    """A JSON value, nested to ``depth``."""
    roll = random.random()
    if depth == 0 or roll < 0.7:
        return random.choice(SCALARS)
    if roll < 0.85:
        return [value(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(KEYS): value(random, depth - 1) for _ in range(random.randrange(4))}


def call(random: Random, tools: tuple[str, ...]) -> Call:
    """A call; sometimes without arguments, sometimes with what is no object."""
    made: Call = {"tool": random.choice(tools)}
    roll = random.random()
    if roll < 0.65:
        made["args"] = {random.choice(KEYS): value(random) for _ in range(random.randrange(4))}
    elif roll < 0.75:
        made["args"] = value(random)
    return made


def near(random: Random, given: Call) -> Call:
    """The same call, another order of its keys, or a small change."""
    arguments = given.get("args")
    if not isinstance(arguments, dict) or random.random() < 0.4:
        return given
    items = list(arguments.items())
    random.shuffle(items)
    if items and random.random() < 0.5:
        items[0] = (items[0][0], _near_value(random, items[0][1]))
    elif random.random() < 0.2:
        items.append((random.choice(KEYS), value(random)))
    return {**given, "args": dict(items)}


def _near_value(random: Random, given: Any) -> Any:
    if isinstance(given, list):
        return {str(index): item for index, item in enumerate(given)} if random.random() < 0.3 else given[::-1]
    if isinstance(given, bool):
        return int(given)
    if isinstance(given, int) and abs(given) < 2**60:
        return random.choice([given + 1, float(given), str(given), bool(given)])
    return random.choice(SCALARS)


def both_sides(random: Random) -> tuple[list[Call], list[Call]]:
    """Expected calls and what became of them: changed, dropped, shuffled, with others between."""
    tools = TOOLS[: random.choice([1, 2, 3, len(TOOLS)])]
    expected = [call(random, tools) for _ in range(random.randrange(6))]
    expected += [random.choice(expected) for _ in range(random.randrange(2)) if expected]
    actual = [near(random, one) for one in expected if random.random() < 0.85]
    for _ in range(random.randrange(3)):
        actual.insert(random.randrange(len(actual) + 1), call(random, tools))
    if random.random() < 0.3:
        random.shuffle(actual)
    return expected, actual


def evalite_case(random: Random) -> dict[str, Any]:
    """Both modes, an unknown one, and weights of all sizes."""
    options: dict[str, Any] = {}
    if random.random() < 0.9:
        options["mode"] = random.choice(["exact", "flexible", "flexible", "exact", "flexible", "Exact"])
    if random.random() < 0.4:
        weights = ("exact", "nameOnly", "extraPenalty", "wrongPenalty")
        options["weights"] = {
            name: random.choice([0, 0.1, 0.5, 1, 2.5, -0.5]) for name in weights if random.random() < 0.5
        }
    return options


def mastra_code_case(random: Random) -> dict[str, Any]:
    """One tool, an order, both or neither, in each layout of messages."""
    options: dict[str, Any] = {}
    if random.random() < 0.6:
        options["expectedTool"] = random.choice([*TOOLS[:4], ""])
    if random.random() < 0.7:
        options["expectedToolOrder"] = [random.choice(TOOLS[:4]) for _ in range(random.randrange(4))]
    if random.random() < 0.5:
        options["strictMode"] = random.random() < 0.5
    if random.random() < 0.6:
        options["layout"] = random.choice(["parts", "per_message"])
    return options


def mastra_trajectory_case(random: Random) -> dict[str, Any]:
    """Both scorers, every order, budgets, forbidden calls and weights."""
    options: dict[str, Any] = {}
    if random.random() < 0.4:
        options["scorer"] = "accuracy"
    else:
        optional = {
            "maxSteps": random.choice([0, 1, 2, 3, 4, 2.5]),
            "noRedundantCalls": random.random() < 0.7,
            "maxRetriesPerTool": random.choice([0, 1, 2, 0.5]),
            "blacklistedTools": [random.choice(TOOLS) for _ in range(random.randrange(3))],
            "blacklistedSequences": [[random.choice(TOOLS[:3]) for _ in range(random.randrange(4))]],
            "weights": {
                name: random.choice([0, 0.1, 0.5, 2, -1])
                for name in ("accuracy", "efficiency", "toolFailures", "blacklist")
                if random.random() < 0.5
            },
        }
        options |= {name: value for name, value in optional.items() if random.random() < 0.4}
    if random.random() < 0.8:
        options["ordering"] = random.choice(["strict", "relaxed", "unordered"])
    if random.random() < 0.5:
        options["allowRepeatedSteps"] = random.random() < 0.5
    return options | {"typed": random.random() < 0.7}


def mastra_checks_case(random: Random) -> dict[str, Any]:
    """Every check, in each layout of messages."""
    check = random.choice(["calledTool", "didNotCall", "toolOrder", "maxToolCalls", "usedNoTools", "noToolErrors"])
    options: dict[str, Any] = {"check": check}
    if check in {"calledTool", "didNotCall"}:
        options["arg"] = random.choice(TOOLS[:4])
    elif check == "toolOrder":
        options["arg"] = [random.choice(TOOLS[:4]) for _ in range(random.randrange(4))]
    elif check == "maxToolCalls":
        options["arg"] = random.choice([0, 1, 2, 3, 2.5])
    if check == "calledTool" and random.random() < 0.5:
        options["times"] = random.choice([0, 1, 2, 1.5])
    if random.random() < 0.6:
        options["layout"] = random.choice(["parts", "per_message"])
    return options


def with_failures(random: Random, given: Call) -> Call:
    """The call with what tells whether it failed."""
    fields: dict[str, Any] = {}
    if random.random() < 0.4:
        fields["success"] = random.random() < 0.4
    if random.random() < 0.2:
        fields["isError"] = random.random() < 0.7
    if random.random() < 0.2:
        fields["result"] = random.choice([None, "error", {"error": random.choice([None, "", "x", 0, [], {}, False])}])
    return {**given, **fields}


def pydantic_evals_case(random: Random) -> dict[str, Any]:
    """Every evaluator with its own options."""
    evaluator = random.choice(
        ["ToolCorrectness", "TrajectoryMatch", "TrajectoryMatch", "ArgumentCorrectness", "MaxToolCalls"]
    )
    options: dict[str, Any] = {"evaluator": evaluator}
    if evaluator == "ToolCorrectness" and random.random() < 0.5:
        options["allow_extra"] = random.random() < 0.7
    if evaluator == "TrajectoryMatch" and random.random() < 0.8:
        options["order"] = random.choice(["exact", "in_order", "any_order"])
    if evaluator == "ArgumentCorrectness":
        options |= {"tool_name": random.choice(TOOLS[:3]), "expected_arguments": {}}
        if random.random() < 0.6:
            options["match_mode"] = random.choice(["exact", "subset"])
        if random.random() < 0.6:
            options["occurrence"] = random.choice(["first", "last", 0, 1, 2, -1])
    if evaluator == "MaxToolCalls":
        options["max_calls"] = random.randrange(-1, 6)
    if random.random() < 0.4:
        options["include_failed"] = random.random() < 0.5
    return options


def expected_arguments_of(random: Random, expected: list[Call], options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the arguments of an expected call of the tool, if there is one, as those to be found."""
    given = [
        one["args"] for one in expected if one["tool"] == options.get("tool_name") and isinstance(one.get("args"), dict)
    ]
    if "expected_arguments" not in options or not given:
        return options
    arguments = random.choice(given)
    return options | {"expected_arguments": {key: arguments[key] for key in arguments if random.random() < 0.8}}


def tool_scorer_case(random: Random) -> dict[str, Any]:
    """Every metric with its own options; weights of all sizes, for once of sum 0."""
    metric = random.choice(
        [
            *("score", "score", "argument_f1", "argument_f1", "invocation_accuracy", "selection_accuracy"),
            *("sequence_accuracy", "tool_correctness", "tool_correctness_args", "trajectory_accuracy"),
            *("partial_trajectory", "required_call_recall"),
        ]
    )
    options: dict[str, Any] = {"metric": metric}
    names = ("selection_accuracy", "argument_f1", "sequence_accuracy", "redundant_rate", "required_call_recall")
    if metric == "score" and random.random() < 0.5:
        options["weights"] = {name: random.choice([0, 0, 0.1, 2]) for name in names if random.random() < 0.8}
    for option, metrics in (
        ("strict", ("score", "argument_f1")),
        ("strict_order", ("tool_correctness",)),
        ("allow_tool_name_variations", ("partial_trajectory",)),
    ):
        if metric in metrics and random.random() < 0.5:
            options[option] = random.random() < 0.8
    return options


def with_plain_arguments(given: Call) -> Call:
    """The call without arguments that are no object."""
    return given if isinstance(given.get("args", {}), dict) else {"tool": given["tool"]}


GLOBS = (
    "*",
    "?",
    "S*",
    "search",
    "SEARCH",
    "[a]",
    "caf?",
    "caf??",
    "a\u200b",
    "execute_tool *",
    "execute_tool a",
    "b|a",
    "*e*r*",
)


def promptfoo_case(random: Random, expected: list[Call]) -> dict[str, Any]:
    """Every assertion in each form of its value, with and without ``not``."""
    assertion = random.choice(["tool-used", "tool-sequence", "tool-args-match", "step-count"])
    tools = [one["tool"] for one in expected] + [random.choice(GLOBS)]
    bounds = {name: random.randrange(5) for name in ("min", "max") if random.random() < 0.6}
    value: Any = {random.choice(["name", "pattern"]): random.choice(tools)}
    if assertion == "tool-used":
        value = random.choice(
            [random.choice(tools), [random.choice(tools) for _ in range(random.randrange(1, 4))], value | bounds]
        )
    elif assertion == "tool-sequence":
        steps = random.choice([tools, tools[:-1] or tools, [{"name": tool} for tool in tools]])
        value = random.choice([steps, {"steps": steps, "mode": random.choice(["exact", "in_order"])}])
    elif assertion == "step-count":
        types = random.choice(["tool", "command", ["tool", "command"]])
        value = random.choice([{}, value]) | {"type": types} | (bounds or {"min": 1})
    else:
        one = random.choice([one for one in expected if "args" in one] or [{"tool": "a", "args": {}}])
        value = {"name": one["tool"], random.choice(["args", "arguments"]): one["args"]}
        if random.random() < 0.6:
            value["mode"] = random.choice(["exact", "partial"])
        if random.random() < 0.4:
            value["ignore"] = random.choice(["x", "?", "*", ["y", "1*"], ["0"]])
        if random.random() < 0.4:
            value["defaults"] = {random.choice(KEYS): random.choice(SCALARS) for _ in range(2)}
    return {"assertion": assertion, "value": value, "not": random.random() < 0.4}


def as_shell(random: Random, given: Call) -> Call:
    """The call, or one of a shell."""
    if random.random() < 0.85:
        return given
    command: Any = random.choice(["ls -l", " ", ["ls", " -l "], [], 1, None])
    return {
        "tool": random.choice(["shell", "Exec_Command "]),
        "args": {random.choice(["cmd", "command", "commands"]): command},
    }


def mastra_llm_case(random: Random) -> dict[str, Any]:
    """Judgements good and bad, as objects and wrapped as models wrap them."""
    evaluations = [
        {"toolCalled": random.choice(TOOLS), "wasAppropriate": random.random() < 0.5, "reasoning": 'so\n"so"'}
        for _ in range(random.choice([0, 0, 1, 2, 3, 7, 8]))
    ]
    judgement: dict[str, Any] = {"evaluations": evaluations}
    if random.random() < 0.5:
        judgement["missingTools"] = [random.choice(TOOLS) for _ in range(random.randrange(3))]
    if random.random() < 0.2:
        judgement["missingTools"] = random.choice([None, "a", [1], {}])
    if evaluations and random.random() < 0.2:
        evaluations[-1][random.choice(list(evaluations[-1]))] = random.choice([None, 1, "true", True])
    if random.random() < 0.1:
        judgement.pop("evaluations")
    judgement["note"] = "extra keys are fine"
    return {"judge": judgement, "userInput": "find it", "agentResponse": "found"}


WRAPPINGS = (
    "```json\n{}\n```",
    "```\n{}\n```",
    "Here you are: {} - anything else?",
    "{} and that is all",
    "<|message|>{}",
    'an "open quote {}',
    "first {{}} then {}",
    "[{}]",
    "null",
    "I think it is fine",
)
"""Around the JSON text of a judgement; ``{{`` and ``}}`` are braces."""
