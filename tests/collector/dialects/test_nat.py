"""The traces of NVIDIA's NeMo Agent Toolkit."""

from __future__ import annotations

from typing import Any

from collector.model.span import Span
from tests.builders import called, doubts, run_of, span


def nat(name: str, number: int, parent: int, at: float, kind: str, above: str, **attributes: Any) -> Span:
    own = {
        "nat.span.kind": kind, "nat.function.name": name, "nat.function.parent_name": above, "nat.framework": "unknown",
        "openinference.span.kind": "CHAIN",
    }  # fmt: skip
    return span(name, number, parent, at, attributes={**own, **attributes}, scope="nat", status=1)


INPUT = {"input.value": '{"order_id": 42}'}
WORKFLOW = (
    nat("<workflow>", 1, 0, 0, "WORKFLOW", "unknown", **{"input.value": "go"}),
    nat("<workflow>", 2, 1, 1, "FUNCTION", "root", **{"input.value": "go"}),
)


def test_functions_of_the_workflow_may_be_its_tools() -> None:
    failed = nat("charge_card", 3, 2, 2, "FUNCTION", "<workflow>", **INPUT)
    charged = nat("charge_card", 4, 2, 20, "FUNCTION", "<workflow>", **INPUT, **{"output.value": "charged"})
    run = run_of(*WORKFLOW, failed, charged)
    found = [(one.name, one.arguments, one.status) for one in run.trajectory.calls]
    assert found == [("charge_card", {"order_id": 42}, "unset"), ("charge_card", {"order_id": 42}, "ok")]
    assert doubts(run) == ["uncertain_execution"] * 2


def test_steps_of_a_graph_are_no_tools() -> None:
    graph = nat("<workflow>", 3, 2, 2, "FUNCTION", "<workflow>", **{"nat.framework": "langchain", **INPUT})
    model = span(
        "gpt-4o", 4, 3, 3, scope="nat",
        attributes={"openinference.span.kind": "LLM", "output.value": "\n\nTool calls: [{'name': 'pay', 'args': {}}]"},
    )  # fmt: skip
    run = run_of(*WORKFLOW, graph, model)
    assert (called(run), doubts(run)) == ([], ["unrecorded_calls"])
