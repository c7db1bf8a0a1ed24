"""Logs what really happened in a recorded run, from inside the tools. Standard library only."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

from tests.record.scenarios import AGENT, Answer, RequestedCall, Scenario


class TruthLog:
    """Wraps tools to log every call, with its arguments and times."""

    def __init__(self, tool_prefix: str = "") -> None:
        self._prefix = tool_prefix
        self._calls: list[dict[str, Any]] = []

    def watch(self, tool: Callable[..., str]) -> Callable[..., str]:
        """Returns a wrapper that logs calls and has the signature of the tool."""
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
        """Returns the truth in the format of ``tests/corpus``: calls by start time, which ran in parallel, what was requested.

        ``runs`` is the number of agent runs. It is left out if a human denied a call: whether a run that waits for approval
        and continues is one run or two is a matter of definition.
        """
        calls = sorted(self._calls, key=lambda call: int(call["start_ns"]))
        turns: dict[str, list[dict[str, Any]]] = {}
        for answer in scenario.answers:
            calls_of_turn = [{"name": c.name, "arguments": c.arguments, "id": c.id} for c in answer.calls]
            turn = {"text": answer.text, "calls": calls_of_turn}
            turns.setdefault("main" if answer.agent == AGENT else answer.agent, []).append(turn)
        requested = [call for answer in scenario.answers for call in answer.calls]
        for seq, call in enumerate(calls):
            call |= {"seq": seq, **_request_of(call, requested)}
        rejected = [
            {"name": call.name, "arguments": call.arguments, "call_id": call.id, "why": scenario.why_rejected}
            for call in requested
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


def _request_of(call: Mapping[str, Any], requested: list[RequestedCall]) -> dict[str, Any]:
    """Returns what the model requested with this call, and removes it from ``requested``; empty if nothing matches."""
    for index, request in enumerate(requested):
        if (
            request.name == call.get("reported_name", call["name"])
            and request.arguments.items() <= call["arguments"].items()
        ):
            del requested[index]
            return {"model_arguments": request.arguments, "call_id": request.id}
    return {}


def parallel_groups(calls: Sequence[Mapping[str, Any]], answers: Sequence[Answer]) -> list[list[int]]:
    """Returns the indexes of calls that were requested in one answer and did run in parallel."""
    groups = []
    for answer in answers:
        ids = {call.id for call in answer.calls}
        members = [index for index, call in enumerate(calls) if call.get("call_id") in ids]
        latest_start = max((calls[index]["start_ns"] for index in members), default=0)
        if len(members) > 1 and all(calls[index]["end_ns"] > latest_start for index in members):
            groups.append(members)
    return groups
