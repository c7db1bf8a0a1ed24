"""The ancestors of each span in a trace: nearest agent, nearest tool, and whether every parent was received.

Every span is visited once, without recursion, so a trace of 100,000 spans in one line, or in a cycle, stays linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from collector.model.genai_span import AGENT, GROUP, MODEL, TOOL, GenAISpan

MAX_CONTEXT_STEPS = 256
"""How many ancestors of an anchor are searched for its context."""


class Ancestors:
    """What encloses a span."""

    def __init__(
        self, agent: GenAISpan | None, tool: GenAISpan | None, missing: bytes = b"", unseen_caller: bytes = b""
    ) -> None:
        self.agent, self.tool = agent, tool
        """The agent, and the nearest tool execution, or group of them, between the span and that agent."""
        self.missing = missing
        """The ancestor that was not received and should be, since it ran in this process; b"" if there is none."""
        self.unseen_caller = unseen_caller
        """The ancestor that was not received and ran in another process, which may never report here; b"" if there is none."""


_NONE = Ancestors(None, None)
_NO_PARENT = frozenset({b""})


def without_nodes(spans: dict[bytes, GenAISpan], parents: Mapping[bytes, bytes]) -> dict[bytes, GenAISpan]:
    """Returns ``spans`` without agents that are nodes of a graph and steps of the agent around them.

    A node that only asks the model is one: its tools run in another node. So is one that only runs tools, where the agent
    around it asks the model itself or in a step.
    """
    nodes = [span.span_id for span in spans.values() if span.role is AGENT and span.tracing.identity == "node"]
    if not nodes:
        return spans
    above: dict[bytes, bytes] = {}
    acting = {_agent_above(span, spans, parents, above) for span in spans.values() if span.role is TOOL}
    # What a tool asks a model is not its node's.
    outside: dict[bytes, bytes] = {span.span_id: b"" for span in spans.values() if span.role is TOOL}
    asking = {_agent_above(span, spans, parents, outside) for span in spans.values() if span.role is MODEL}
    steps: set[bytes] = set()
    only_acting: dict[bytes, list[bytes]] = {}
    nodes.reverse()  # what is inside a node starts later
    for node in nodes:
        around = _agent_above(spans[node], spans, parents, above)
        if node in asking and node in only_acting:
            steps.update(only_acting.pop(node))
            acting.add(node)
        if node not in acting:
            steps.add(node)
            if node in asking:
                asking.add(around)
        elif node not in asking:
            only_acting.setdefault(around, []).append(node)
    for agent, inside in only_acting.items():
        if agent and agent in asking:
            steps.update(inside)
    return {span_id: span for span_id, span in spans.items() if span_id not in steps}


def _agent_above(
    span: GenAISpan, spans: Mapping[bytes, GenAISpan], parents: Mapping[bytes, bytes], known: dict[bytes, bytes]
) -> bytes:
    """Returns the id of the nearest agent above the span, or b"". ``known`` are those from a parent on, itself included."""
    path: list[bytes] = []
    at = span.parent_span_id
    while at and at not in known:
        above = spans.get(at)
        # If parents form a cycle, there is none.
        known[at] = at if above is not None and above.role is AGENT else b""
        path.append(at)
        if known[at]:
            break
        at = parents.get(at, b"")
    found = known.get(at, b"")
    for visited in path:
        known[visited] = found
    return found


class Ancestry:
    """The parent links of one trace, and the GenAI spans among its spans."""

    def __init__(self, spans: dict[bytes, GenAISpan], parents: dict[bytes, bytes]) -> None:
        self._spans = spans
        self._parents = parents
        # By parent, not by span: siblings have the same ancestors.
        self._of_children: dict[bytes, Ancestors] = {}
        # The parents that no span has: b"", which is that of roots, and spans that were not received.
        self._unseen_parents = {parent for parent in set(parents.values()) if parent not in parents}

    def ancestors_of(self, span_id: bytes) -> Ancestors:
        """Returns the ancestors of ``span_id``, cached for its siblings and for every span on the way to the root."""
        span = self._spans.get(span_id)
        parent = span.parent_span_id if span is not None else self._parents.get(span_id, b"")
        known = self._of_children.get(parent)
        return known if known is not None else self._walk_to_root(span_id, parent)

    def _walk_to_root(self, span_id: bytes, parent: bytes) -> Ancestors:
        of_children = self._of_children
        path: list[bytes] = []
        child = span_id
        while (ancestors := of_children.get(parent)) is None:
            if not parent:
                ancestors = _NONE
                break
            if parent not in self._parents and parent not in self._spans:
                # A caller in another process may never report here, so it is not awaited. Not cached for `parent`:
                # another child of it may run in the same process, and lack it.
                span = self._spans.get(child)
                is_remote = span is not None and span.remote_parent
                ancestors = Ancestors(None, None, b"", parent) if is_remote else Ancestors(None, None, parent)
                break
            of_children[parent] = _NONE  # until the walk ends, and permanently if parents form a cycle
            path.append(parent)
            child, parent = parent, self._parent(parent)
        for visited in reversed(path):
            ancestors = of_children[visited] = self._with_parent(visited, ancestors)
        return ancestors

    def _with_parent(self, parent: bytes, ancestors: Ancestors) -> Ancestors:
        """Returns the ancestors of the children of ``parent``, given its own."""
        span = self._spans.get(parent)
        if span is not None:
            if span.role is AGENT:
                # The tool above an agent started that agent. It encloses none of the agent's own calls.
                return Ancestors(span, None, ancestors.missing, ancestors.unseen_caller)
            if span.role is TOOL or span.role is GROUP:
                return Ancestors(ancestors.agent, span, ancestors.missing, ancestors.unseen_caller)
        return ancestors

    def _parent(self, span_id: bytes) -> bytes:
        span = self._spans.get(span_id)
        return span.parent_span_id if span is not None else self._parents.get(span_id, b"")

    def has_unseen_caller(self, span: GenAISpan) -> bool:
        """Whether the span was called from another process, and no span of its caller was received."""
        parent = span.parent_span_id
        return span.remote_parent and parent not in self._parents and parent not in self._spans

    def missing_parents(self) -> set[bytes]:
        """Returns the parents that spans of the trace name, that ran in the same process and were not received."""
        if self._unseen_parents <= _NO_PARENT:  # nearly always
            return set()
        return {
            parent
            for span_id, parent in self._topmost()
            if parent and parent not in self._spans
            and not ((span := self._spans.get(span_id)) is not None and span.remote_parent)
        }  # fmt: skip

    def _topmost(self) -> list[tuple[bytes, bytes]]:
        """Returns the links that lead out of what was received."""
        return [link for link in self._parents.items() if link[1] in self._unseen_parents]

    def iter_ancestors(self, span_id: bytes) -> Iterator[GenAISpan]:
        """Yields the GenAI spans above ``span_id``, nearest first, up to MAX_CONTEXT_STEPS parents away."""
        for _ in range(MAX_CONTEXT_STEPS):
            span_id = self._parent(span_id)
            if not span_id:
                return
            span = self._spans.get(span_id)
            if span is not None:
                yield span

    def root(self) -> bytes | None:
        """Returns the root of the spans received, the earliest if there are several; None if every span has a parent."""
        roots = [span_id for span_id, parent in self._topmost() if not parent]
        if not roots:
            # Where the caller never reports, the entry span of this process stands in for the root.
            roots = [
                span.span_id
                for span in self._spans.values()
                if span.remote_parent and span.parent_span_id not in self._parents
            ]
        return min(roots, key=self._start) if roots else None

    def _start(self, span_id: bytes) -> tuple[int, bytes]:
        span = self._spans.get(span_id)
        return (span.start_ns, span_id) if span is not None else (0, span_id)
