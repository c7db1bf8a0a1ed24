"""Trajectories scored per second on one core: every scorer, beside the original npm packages where they are installed.

A trajectory is a run of an expected sequence with one call missing, one wrong argument and one call too many; arguments
are compared as subsets where a scorer can. `figures` gives the numbers, ``python -m tests.bench_scorers`` a table.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from scorers import SCORERS, CompiledRule, Score, ToolCall, Trajectory, parse_rules
from tests.scorers.systems import originals

LENGTHS = (5, 20, 200)
FRESH_RUNS = 600
"""More shapes of runs than the native scorer remembers, so that every one of them is aligned anew."""

Call = dict[str, Any]
Figures = dict[str, dict[int, float]]


def expected_calls(length: int) -> list[Call]:
    """``length`` calls of seven tools with two arguments each."""
    return [{"tool": f"tool_{i % 7}", "args": {"query": f"value {i}", "limit": i}} for i in range(length)]


def actual_calls(expected: Sequence[Call], run: int) -> list[Call]:
    """What a run made of them; for every ``run`` it differs in other places."""
    made = [{"tool": call["tool"], "args": {**call["args"], "locale": "en"}} for call in expected]
    made[run % len(made)]["args"]["query"] = "something else"
    del made[(run + 1 + run // len(made)) % len(made)]
    made.insert(run % len(made), {"tool": f"surplus_{run}", "args": {}})
    return made


def options(system: str, expected: Sequence[Call]) -> dict[str, Any]:
    """Options with which each system does its usual work."""
    first, tools = expected[0]["tool"], list(dict.fromkeys(call["tool"] for call in expected))
    judged = [{"toolCalled": call["tool"], "wasAppropriate": True, "reasoning": "asked for"} for call in expected]
    usual: dict[str, dict[str, Any]] = {
        "adk": {"match_type": "IN_ORDER"},
        "agentevals_lc": {"trajectory_match_mode": "superset", "tool_args_match_mode": "superset"},
        "axion": {"check_parameters": True, "parameter_matching_strategy": "subset"},
        "azure_tne": {"matching_mode": "in_order_match", "with_params": True},
        "deepeval": {"check_args": True, "should_consider_ordering": True},
        "deepeval_permission": {"allowed_tools": tools},
        "mastra_checks": {"check": "calledTool", "arg": first},
        "mastra_code": {"expectedToolOrder": tools},
        "mastra_llm": {"judge": {"evaluations": judged}},
        "promptfoo": {"assertion": "tool-used", "value": first},
        "pydantic_evals": {"evaluator": "TrajectoryMatch"},
        "strands_scorers": {"scorer": "exact"},
        "vertex": {"metric": "in_order_match"},
    }
    return usual.get(system, {})


def figures(seconds: float = 0.5) -> Figures:
    """Trajectories per second by scorer and length, each measured for ``seconds``.

    ``trajectory`` is the native scorer on runs that are all different, ``trajectory (seen before)`` on runs of a shape
    it has met; ``<system> (original)`` is the npm package under node.
    """
    found: Figures = {}
    for length in LENGTHS:
        for name, score, runs in _measured(length):
            found.setdefault(name, {})[length] = _per_second(score, runs, seconds)
    return found | _originals(seconds)


def _measured(length: int) -> Iterable[tuple[str, Callable[[Any], Any], list[Any]]]:
    expected = expected_calls(length)
    native = _native(expected)
    fresh = [_trajectory(actual_calls(expected, run)) for run in range(FRESH_RUNS)]
    yield "trajectory", native.evaluate, fresh
    yield "trajectory (seen before)", native.evaluate, fresh[:1]
    runs = [actual_calls(expected, run) for run in range(10)]
    for system in sorted(SCORERS.keys() - {"trajectory"}):
        yield system, partial(_score, SCORERS[system](**options(system, expected)), expected), runs


def _score(scorer: Callable[..., Score], expected: Sequence[Call], actual: Sequence[Call]) -> Score:
    return scorer(expected=expected, actual=actual)


def _native(expected: Sequence[Call]) -> CompiledRule:
    tools = [{"tool": call["tool"], "arguments": call["args"], "arguments_mode": "subset"} for call in expected]
    expect = {"mode": "in_order", "tools": tools}
    return CompiledRule(parse_rules({"rules": [{"name": "bench", "expect": expect}]}).rules[0])


def _trajectory(calls: Sequence[Call]) -> Trajectory:
    return Trajectory([ToolCall(call["tool"], call["args"], step=step) for step, call in enumerate(calls)])


def _per_second(score: Callable[[Any], Any], runs: Sequence[Any], seconds: float) -> float:
    for run in runs[:20]:
        score(run)
    done, begun = 0, time.process_time()
    for run in itertools.cycle(runs):
        score(run)
        done += 1
        if (spent := time.process_time() - begun) >= seconds:
            break
    return done / spent


def _originals(seconds: float) -> Figures:
    """The npm packages on the first of our runs; nothing where they are not installed."""
    if originals.missing():
        return {}
    cases = [
        {"id": f"{system} {length}", "system": system, "options": options(system, expected_calls(length))}
        | {"expected": expected_calls(length), "actual": actual_calls(expected_calls(length), 0)}
        for system in originals.SYSTEMS
        for length in LENGTHS
    ]
    speeds = originals.ask(cases, "--bench", str(seconds))
    return {
        f"{system} (original)": {length: speeds[f"{system} {length}"]["per_second"] for length in LENGTHS}
        for system in originals.SYSTEMS
    }


def table(found: Figures) -> str:
    """The figures as text, one scorer a line."""
    head = f"{'trajectories scored per second':32}" + "".join(f"{f'{length} calls':>12}" for length in LENGTHS)
    lines = [f"{name:32}" + "".join(f"{speeds[length]:12,.0f}" for length in LENGTHS) for name, speeds in found.items()]
    return "\n".join([head, *lines])


if __name__ == "__main__":
    print(table(figures()))
