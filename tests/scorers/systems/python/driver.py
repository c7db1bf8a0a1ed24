"""Runs the original scorers from PyPI: one JSON case a line in, one JSON answer a line out, as the driver for npm does."""

import json
import sys
from datetime import datetime, timedelta
from types import SimpleNamespace

from pydantic_evals import evaluators
from pydantic_evals.otel.span_tree import SpanNode, SpanTree
from toolscore import evaluate
from toolscore.adapters.base import ToolCall
from toolscore.metrics import trajectory
from toolscore.metrics.accuracy import calculate_invocation_accuracy, calculate_selection_accuracy
from toolscore.metrics.arguments import calculate_argument_f1
from toolscore.metrics.sequence import calculate_edit_distance
from toolscore.metrics.tool_correctness import (
    calculate_required_call_recall,
    calculate_tool_correctness,
    calculate_tool_correctness_with_args,
)


def span_tree(actual):
    tree = SpanTree()
    spans = []
    for index, call in enumerate(actual):
        start = datetime(2026, 1, 1) + timedelta(seconds=index)
        attributes = {"gen_ai.tool.name": call["tool"]}
        if "args" in call:
            attributes["gen_ai.tool.call.arguments"] = json.dumps(call["args"])
        spans.append(
            SpanNode(
                name=f"execute_tool {call['tool']}",
                trace_id=1,
                span_id=index + 1,
                parent_span_id=None,
                start_timestamp=start,
                end_timestamp=start,
                attributes=attributes,
                status="error" if call.get("isError") else "ok",
            )
        )
    tree.add_spans(spans)
    return tree


def pydantic_evals(case):
    options = dict(case["options"])
    kind = options.pop("evaluator")
    names = [call["tool"] for call in case["expected"]]
    if kind == "ToolCorrectness":
        options["expected_tools"] = names
    if kind == "TrajectoryMatch":
        options["expected_trajectory"] = names
    context = SimpleNamespace(span_tree=span_tree(case["actual"]))
    result = getattr(evaluators, kind)(**options).evaluate(context)
    return float(result.value), {"reason": result.reason}


def tool_scorer(case):
    options = dict(case["options"])
    metric = options.pop("metric", "score")
    actual = [{**call, "is_error": bool(call.get("isError"))} for call in case["actual"]]
    if metric == "score":
        result = evaluate(case["expected"], actual, **options)
        made = result.metrics
        detail = {
            "selection_accuracy": made["selection_accuracy"],
            **made["argument_metrics"],
            **made["sequence_metrics"],
            "required_call_recall": result.required_call_recall,
            "redundant_count": made["efficiency_metrics"]["redundant_count"],
            "redundant_rate": made["efficiency_metrics"]["redundant_rate"],
        }
        return result.score, detail
    gold = [ToolCall(call["tool"], call.get("args")) for call in case["expected"]]
    trace = [ToolCall(call["tool"], call.get("args"), metadata={"is_error": call["is_error"]}) for call in actual]
    measure, key, details = METRICS[metric]
    result = measure(gold, trace, **options)
    if key is None:
        return result, {metric: result}
    return result[key], {name: result[name] for name in (key, *details)}


METRICS = {
    "invocation_accuracy": (calculate_invocation_accuracy, None, ()),
    "selection_accuracy": (calculate_selection_accuracy, None, ()),
    "argument_f1": (calculate_argument_f1, "f1", ("precision", "recall")),
    "sequence_accuracy": (calculate_edit_distance, "sequence_accuracy", ("edit_distance", "normalized_distance")),
    "tool_correctness": (calculate_tool_correctness, "tool_correctness", ("correct_count", "total_expected")),
    "tool_correctness_args": (calculate_tool_correctness_with_args, "tool_correctness_strict", ()),
    "trajectory_accuracy": (
        trajectory.calculate_trajectory_accuracy,
        "trajectory_accuracy",
        ("step_match_rate", "path_efficiency", "correct_steps", "total_expected_steps"),
    ),
    "partial_trajectory": (
        trajectory.calculate_partial_trajectory_accuracy,
        "partial_trajectory_accuracy",
        (),
    ),
    "required_call_recall": (calculate_required_call_recall, None, ()),
}
SYSTEMS = {"pydantic_evals": pydantic_evals, "tool_scorer": tool_scorer}


def answer(case):
    try:
        score, detail = SYSTEMS[case["system"]](case)
    except Exception as error:  # noqa: BLE001 - whatever the originals raise is their answer
        return {"id": case["id"], "ok": False, "error": repr(error)}
    return {"id": case["id"], "ok": True, "score": score, "detail": detail}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
