"""The inductive miner of pm4py (S. Leemans, 2013; with noise: IMf), as a learner to compare with.

pm4py is no dependency, also none of the tests: it is AGPL, and large. Where it is installed, ``python -m tests.learn`` has
columns for it. The miner looks at names in their order alone, so it learns neither arguments nor how often something may be
repeated.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from typing import Any

from collector.learning.rules import compile_rule
from scorers import RuleError, ToolCall
from tests.learn.hidden import KEY

NOISE = 0.2
"""Of pm4py's own examples: an order that is a fifth as frequent as the most frequent one, or less, is noise."""


def is_installed() -> bool:
    """Whether pm4py is."""
    return find_spec("pm4py") is not None


def inductive(runs: Sequence[Sequence[ToolCall]]) -> Mapping[str, Any] | None:
    """The process tree that the miner finds, as a pattern; None where there is nothing in it, or too much for a rule."""
    with redirect_stdout(io.StringIO()):  # it greets
        import pm4py  # noqa: PLC0415 - an optional part
        from pm4py.objects.log.obj import Event, EventLog, Trace  # noqa: PLC0415

        log = EventLog([Trace([Event({"concept:name": call.name}) for call in calls]) for calls in runs])
        pattern = pattern_of(pm4py.discover_process_tree_inductive(log, noise_threshold=NOISE))
    expect = {"sequence": [] if pattern is None else [pattern]} if not isinstance(pattern, dict) else pattern
    try:
        compile_rule(KEY, expect)
    except RuleError:
        return None
    return expect


def pattern_of(tree: Any) -> Any:
    """Returns a process tree as a pattern; None for the step that does nothing."""
    if tree.operator is None:
        return tree.label
    parts = [pattern_of(child) for child in tree.children]
    if tree.operator.name == "LOOP":
        return _loop(*parts[:2])
    some = [part for part in parts if part is not None]
    if not some:
        return None
    kind = {"SEQUENCE": "sequence", "XOR": "one_of"}.get(tree.operator.name, "any_order")
    whole = some[0] if len(some) == 1 else {kind: some}
    return {"optional": whole} if kind == "one_of" and len(some) < len(parts) else whole


def _loop(body: Any, again: Any) -> Any:
    """A body, and any number of times something and the body again."""
    if again is None:
        return None if body is None else {"repeat": body}
    if body is None:
        return {"optional": {"repeat": again}}
    return {"sequence": [body, {"optional": {"repeat": {"sequence": [again, body]}}}]}
