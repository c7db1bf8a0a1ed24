"""Differences between reconstructed runs and the ground truth that the tools of a recording logged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from collector.reconstruction.run import Run
from scorers.trajectory import ToolCall

NO_CONTENT = ("nocontent", "noio")
Truth = Mapping[str, Any]


def differences(truth: Truth, runs: Sequence[Run], has_content: bool) -> Iterator[str]:
    """Yields in what ``runs`` differ from the truth: names, arguments, errors, order, steps, nesting, user_input, runs."""
    wanted = truth["tool_calls"]
    placed = list(executed(truth, runs))
    calls = [call for call, _ in placed]
    if Counter(map(name_in, wanted)) != Counter(call.name for call in calls):
        yield "names"
    # Some record arguments though they were told to record no content.
    if (has_content or any(call.arguments is not None for call in calls)) and not arguments_agree(wanted, calls):
        yield "arguments"
    failed = Counter((name_in(want), bool(want.get("error"))) for want in wanted)
    if failed != Counter((call.name, call.status == "error") for call in calls):
        yield "errors"
    if not order_agrees(truth, calls):
        yield "order"
    elif not steps_agree(truth, placed):
        yield "steps"
    if not nesting_agrees(truth, runs):
        yield "nesting"
    if not user_input_agrees(truth, runs, has_content):
        yield "user_input"
    if len(runs) != truth.get("runs", len(runs)):
        yield "runs"


def name_in(want: Mapping[str, Any]) -> str:
    return str(want.get("reported_name", want["name"]))


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def executed(truth: Truth, runs: Sequence[Run]) -> Iterator[tuple[ToolCall, Run]]:
    """Yields all executed calls in order, except a framework's own calls that the truth does not list."""
    wanted = {name_in(want) for want in truth["tool_calls"]}
    optional = {"final_answer", "finish"}
    for key in ("delegation_calls", "framework_final_calls", "handoffs"):
        optional |= {call["name"] for call in truth.get(key, ()) if isinstance(call, dict) and "name" in call}
    found = [(call, run) for run in runs for call in run.trajectory.calls if call.executed]
    for call, run in sorted(found, key=lambda item: (item[0].start_ns, item[0].step)):
        if call.name in wanted or call.name not in optional:
            yield call, run


def arguments_agree(wanted: Sequence[Mapping[str, Any]], calls: Sequence[ToolCall]) -> bool:
    left = Counter((call.name, canonical(call.arguments)) for call in calls)
    for want in wanted:
        forms = (want["arguments"], want.get("model_arguments", want["arguments"]))
        key = next((key for form in forms if left[key := (name_in(want), canonical(form))]), None)
        if key is None:
            return False
        left[key] -= 1
    return not +left


def blocks(truth: Truth) -> list[list[int]]:
    """Returns the indices of calls in order; those of one block ran concurrently."""
    together: dict[int, int] = {}
    for number, group in enumerate(truth.get("parallel_groups") or ()):
        together.update({member if isinstance(member, int) else member["seq"]: -1 - number for member in group})
    found: dict[int, list[int]] = {}
    for index in range(len(truth["tool_calls"])):
        found.setdefault(together.get(index, index), []).append(index)
    return list(found.values())


def order_agrees(truth: Truth, calls: Sequence[ToolCall]) -> bool:
    names = [call.name for call in calls]
    at = 0
    for block in blocks(truth):
        if Counter(names[at : at + len(block)]) != Counter(name_in(truth["tool_calls"][index]) for index in block):
            return False
        at += len(block)
    return at == len(names)


def steps_agree(truth: Truth, placed: Sequence[tuple[ToolCall, Run]]) -> bool:
    """Whether calls of a run share a step exactly if they ran concurrently or one model response requested them."""
    if truth.get("per_agent"):
        return True  # several agents at once: the truth has one clock for all and no groups within each
    index_of = identities(truth, [call for call, _ in placed])
    block_of = {index: number for number, block in enumerate(blocks(truth)) for index in block}
    turn_of = turns(truth)
    for (one, (call, run)), (other, (later, later_run)) in combinations(zip(index_of, placed, strict=True), 2):
        if run is not later_run:
            continue
        concurrent = block_of[one] == block_of[other]
        same_turn = one in turn_of and turn_of.get(one) == turn_of.get(other)
        if call.step != later.step if concurrent else call.step == later.step and not same_turn:
            return False
    return True


def identities(truth: Truth, calls: Sequence[ToolCall]) -> list[int]:
    """Returns for each call the index of the true call: by name and arguments, else by name alone."""
    left = dict(enumerate(truth["tool_calls"]))
    found: list[int] = []
    for call in calls:
        same = [index for index, want in left.items() if name_in(want) == call.name]
        form = canonical(call.arguments)
        exact = (
            i for i in same if form in (canonical(left[i]["arguments"]), canonical(left[i].get("model_arguments")))
        )
        found.append(next(exact, same[0]))
        del left[found[-1]]
    return found


def turns(truth: Truth) -> dict[int, tuple[str, int]]:
    """Returns for the index of a call the agent, and the number of its model response, that requested it."""
    requested = [
        ((agent, number), call)
        for agent, answers in (truth.get("model_turns") or {}).items()
        for number, answer in enumerate(answers)
        for call in answer["calls"]
    ]
    requested += [(("", call["turn"]), call) for call in truth.get("model_requested") or () if "turn" in call]
    found: dict[int, tuple[str, int]] = {}
    for index, want in enumerate(truth["tool_calls"]):
        form = canonical(want.get("model_arguments", want["arguments"]))
        for place, (turn, call) in enumerate(requested):
            if call["name"] in (want["name"], name_in(want)) and canonical(call["arguments"]) == form:
                found[index] = turn
                del requested[place]
                break
    return found


def nesting_agrees(truth: Truth, runs: Sequence[Run]) -> bool:
    """Whether calls of different agents are in different runs."""
    agents = [
        {call["name"] for answer in answers for call in answer["calls"]}
        for answers in (truth.get("model_turns") or {}).values()
    ]
    if len(truth.get("agent_names") or ()) < 2:
        return True
    shared = set.intersection(*agents) if len(agents) > 1 else set()
    return all(
        sum(bool({call.name for call in run.trajectory.calls} - shared & own) for own in agents) <= 1 for run in runs
    )


def user_input_agrees(truth: Truth, runs: Sequence[Run], has_content: bool) -> bool:
    found = {run.user_input for run in runs if run.parent_span_id is None}
    parts = [*(truth.get("per_agent") or {}).values(), *(truth.get("turns") or ())] or [truth]
    return {part["user_input"] for part in parts} <= found or (not has_content and found == {None})
