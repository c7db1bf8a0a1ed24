"""What really happened in a recorded run, written down inside the tools. Standard library only."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

from tests.record.scenarios import AGENT, Answer, Asked, Scenario


class TruthLog:
    """Wraps tools so that every call of theirs is noted, with what the function received and when it ran."""

    def __init__(self, tool_prefix: str = "") -> None:
        self._prefix = tool_prefix
        self._calls: list[dict[str, Any]] = []

    def watch(self, tool: Callable[..., str]) -> Callable[..., str]:
        """The tool, noting its calls; it looks like the tool to whoever inspects it."""
        signature = inspect.signature(tool)

        @functools.wraps(tool)
        def watched(*args: Any, **kwargs: Any) -> str:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            call = {
                "name": tool.__name__,
                **({"reported_name": self._prefix + tool.__name__} if self._prefix else {}),
                "arguments": dict(bound.arguments),
                "error": False,
                "start_ns": time.time_ns(),
            }
            self._calls.append(call)
            try:
                call["result"] = result = tool(*args, **kwargs)
                return result
            except Exception as error:
                call |= {"error": True, "error_message": str(error)}
                raise
            finally:
                call["end_ns"] = time.time_ns()

        return watched

    def truth(
        self, scenario: Scenario, described: Mapping[str, Any], packages: Sequence[str], runs: int = 1
    ) -> dict[str, Any]:
        """The shape of ``tests/corpus``: calls in order of start, which ran at once, and what the model asked for.

        ``runs`` is how often an agent was asked. It is left out where a human denied a call: whether a run that waits for him
        and goes on is one run or two is a matter of definition.
        """
        calls = sorted(self._calls, key=lambda call: int(call["start_ns"]))
        turns: dict[str, list[dict[str, Any]]] = {}
        for answer in scenario.answers:
            calls_of_turn = [{"name": c.name, "arguments": c.arguments, "id": c.id} for c in answer.calls]
            turn = {"text": answer.text, "calls": calls_of_turn}
            turns.setdefault("main" if answer.agent == AGENT else answer.agent, []).append(turn)
        asked = [call for answer in scenario.answers for call in answer.calls]
        for seq, call in enumerate(calls):
            call |= {"seq": seq, **_request_of(call, asked)}
        rejected = [
            {"name": call.name, "arguments": call.arguments, "call_id": call.id, "why": "a human denied it"}
            for call in asked
        ]
        groups = parallel_groups(calls, scenario.answers)
        return {
            **described,
            "versions": {name: metadata.version(name) for name in packages},
            "user_input": scenario.user_input,
            "tool_calls": calls,
            "parallel_groups": groups,
            "model_turns": turns,
            **({"rejected_calls": rejected} if rejected else {"runs": runs}),
            "final_output": scenario.answers[-1].text,
        }


def _request_of(call: Mapping[str, Any], asked: list[Asked]) -> dict[str, Any]:
    """What the model asked for in this call; taken from ``asked``. Empty where it asked for nothing like it."""
    for at, request in enumerate(asked):
        if (
            request.name == call.get("reported_name", call["name"])
            and request.arguments.items() <= call["arguments"].items()
        ):
            del asked[at]
            return {"model_arguments": request.arguments, "call_id": request.id}
    return {}


def parallel_groups(calls: Sequence[Mapping[str, Any]], answers: Sequence[Answer]) -> list[list[int]]:
    """Places of calls that one answer asked for and that did run at the same time."""
    groups = []
    for answer in answers:
        wanted = {call.id for call in answer.calls}
        members = [at for at, call in enumerate(calls) if call.get("call_id") in wanted]
        latest_start = max((calls[at]["start_ns"] for at in members), default=0)
        if len(members) > 1 and all(calls[at]["end_ns"] > latest_start for at in members):
            groups.append(members)
    return groups
