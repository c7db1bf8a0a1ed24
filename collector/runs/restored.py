"""A stored run as the run that it was, to be scored again: without what was redacted or never stored."""

from __future__ import annotations

from collector.reconstruction.run import Run
from collector.runs.rows import Row
from scorers.trajectory import Doubt, ToolCall, Trajectory


def run_of(row: Row) -> Run:
    """Returns the run of an explained verdict."""
    calls = [
        ToolCall(
            call["name"], call["arguments"], call["id"], call["status"], call["error_type"], call["start_ns"], call["end_ns"],
            call["span_id"], call["executed"], call["step"], call.get("arguments_text"), call["known_by"],
        )
        for call in row["tool_calls"]
    ]  # fmt: skip
    # Without the orders of a doubt, which are not stored.
    doubts = [Doubt(one["name"], tuple(one["calls"]), one["sentence"]) for one in row["settled_by"]]
    return Run(
        bytes.fromhex(row["trace_id"]), bytes.fromhex(row["span_id"]), None, row["agent"], row["conversation_id"],
        row["route"], row["intent"], row["user_input"], None, row["service"], row["dialect"], row["attributes"],
        Trajectory(calls, row["user_input"], doubts), (None,) * len(calls), None,
    )  # fmt: skip
