"""One trace from its first GenAI span until it is evicted from memory: what is kept of it, and its states.

There may be a hundred thousand of these: what most of them never have takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from collector.assembly.conversations import ConversationRun
from collector.assembly.seen_from import SeenFrom
from collector.assembly.sizes import KNOWN_SPAN, PAST, TRACE, VERDICT
from collector.assembly.trace_state import TRANSITIONS, TraceEvent, TraceState
from collector.model.genai_span import AGENT, GenAISpan
from collector.model.past import Past
from collector.model.span import Resource
from collector.otlp.handed_over import Handover
from collector.otlp.lazy import Envelope, parent_links
from collector.otlp.wire import size_of

_EMPTY: Final = cast("MutableMapping[Any, Any]", MappingProxyType({}))
"""What most traces never have: shared, and read-only for that reason."""


_WHOLE: Final = ("", "root")
_BEGINNING: Final = 512
"""Characters of a model's input by which conversations are found that may be one."""
_END: Final = 128
"""Characters at the end of an input that a longer one of the same conversation need not have: closing brackets."""
_STRUCTURED: Final = 0
"""In place of the hash of a beginning, for inputs that are no text."""
_MAX_ANCESTORS: Final = 64
"""How many parents of a late span are searched for a run with a verdict; a span further below is held like a new one."""
_CONVERSATIONS: Final = 8
"""How many conversations with the same beginning are told apart."""


@dataclass(slots=True, init=False)
class Given:
    """A verdict that was given: its revision, a fingerprint of the calls that were scored, and its label."""

    revision: int
    fingerprint: int
    label: str
    conversation: int
    """A hash of the conversation in which the run was collected; 0 if it was in none."""
    known_forbidden: frozenset[str] | None
    """Tools of which forbidden calls are counted, by this verdict or an earlier one; None if that is not known."""

    def __init__(
        self,
        revision: int,
        fingerprint: int = 0,
        label: str = "",
        conversation: int = 0,
        known_forbidden: frozenset[str] | None = None,
    ) -> None:
        self.revision, self.fingerprint, self.label, self.conversation = revision, fingerprint, label, conversation
        self.known_forbidden = known_forbidden


@dataclass(slots=True, eq=False, init=False)
class Trace:
    """One open or remembered trace. ``spans`` are keyed by span id, log records among them by a hash of the record."""

    trace_id: bytes
    opened: float
    touched: float
    links: bytearray
    """Span id and parent id of every span, GenAI or not, one after the other."""
    state: TraceState
    due: float
    waiting: Literal["", "incomplete", "confirm"]
    """What it waits for since it settled: spans that are missing, or spans that could change a fail. Cleared by new spans."""
    awaited: bytes
    """A span that was not received: until it is, what settles goes on waiting. b"" if nothing waits for one alone."""
    unconfirmed: Any
    """What it was scored as when it settled, while it waits for spans that could change that."""
    size: int
    """About how many bytes it takes, without the raw spans that are held."""
    resource: Resource | None
    """Of the span added last."""
    truncated: bool
    """A limit was reached, and something was not kept."""
    spans: dict[bytes | int, GenAISpan]
    has_agent: bool
    """Whether one of them is an agent's."""
    held: dict[bytes, bytes]
    """Raw spans that wait for the verdict, by span id."""
    envelope: Envelope | None
    """Of the first held span, and nearly always of all others."""
    other_envelopes: MutableMapping[bytes, Envelope]
    """Of the held spans with a different one, by span id."""
    verdicts: MutableMapping[bytes, Given]
    """By anchor of each scored run: revision, and fingerprint of what was scored."""
    seen: MutableMapping[bytes | int, bool]
    """Spans from before a restart, of which only the key is known, and whether they were held."""

    histories: MutableMapping[int, list[GenAISpan]]
    """The model request with the longest history of each conversation, by a hash of how that begins."""
    past: Past | None
    """Its runs that have their verdict, if it had one before and a later turn may be rebuilt without them."""
    known_parents: dict[bytes, bytes] | None
    links_read: int
    recent: dict[bytes, bytes] | None
    recent_read: int
    evaluating: bool
    """It is large: its verdict is being made in slices, or waits for that. It is not due meanwhile."""
    seen_from: SeenFrom | None
    """Tells what of it may have begun unseen; None if all of it is seen, as of recordings that are read."""
    reading: frozenset[str] | None
    """The attributes that were read of each of its spans; None for all."""
    known_since_ns: int
    """What was seen of it before, in wall time, was forgotten when it opened."""
    leaving: int
    """Its bytes, if it is evicted once that is done: it counts to no limit any more."""
    release: str
    """Why its latest verdict was given, as in `Verdict.release`; "" if it has none."""

    # Written out: that of a dataclass stays interpreted in the compiled build.
    def __init__(
        self,
        trace_id: bytes,
        opened: float,
        touched: float,
        links: bytearray,
        state: TraceState = TraceState.OPEN,
        *,
        size: int = 0,
        truncated: bool = False,
        seen: MutableMapping[bytes | int, bool] = _EMPTY,
    ) -> None:
        self.trace_id, self.opened, self.touched, self.links, self.state = trace_id, opened, touched, links, state
        self.size, self.truncated, self.seen = size, truncated, seen
        self.due, self.waiting, self.unconfirmed = 0.0, "", None
        self.evaluating, self.leaving, self.release = False, 0, ""
        self.spans, self.has_agent, self.resource, self.seen_from = {}, False, None, None
        self.held, self.envelope, self.past, self.awaited = {}, None, None, b""
        self.known_parents, self.links_read, self.recent, self.recent_read, self.known_since_ns = None, 0, None, 0, 0
        self.other_envelopes = self.verdicts = self.histories = _EMPTY
        self.reading = None

    def read_earlier(self, reading: frozenset[str] | None) -> None:
        """Note that some of its spans were read while no other attributes than these were."""
        if self.reading is not reading and reading is not None:
            self.reading = reading if self.reading is None else self.reading & reading

    def take_over(self, handover: Handover, opened_ns: int) -> None:
        """Note what the instance that handed spans over did not see; ``opened_ns`` is when it opened here, in wall time."""
        self.truncated |= handover.lacks_spans
        # What was open here before the other could see it was there only meanwhile.
        if self.seen_from is not None and self.seen_from.latest_ns < handover.seen_from_ns <= opened_ns:
            self.seen_from = self.seen_from.later(handover.seen_from_ns)

    @property
    def held_bytes(self) -> int:
        """Bytes of the raw spans that are held."""
        return size_of(list(self.held.values()))

    @property
    def total_size(self) -> int:
        """About how many bytes it takes, with the raw spans that are held."""
        return self.size + self.held_bytes

    def hold(self, span_id: bytes, raw: bytes, envelope: Envelope) -> None:
        """Keep a raw span until the verdict."""
        self.held[span_id] = raw
        if self.envelope is None:
            self.envelope = envelope
        # Identity first: the spans of one scope share one object, so equal bytes are rarely compared.
        elif envelope is not self.envelope and envelope != self.envelope:
            self.other_envelopes = self.other_envelopes or {}
            self.other_envelopes[span_id] = envelope

    def snapshot(self) -> Trace:
        """Returns the trace as it is now, for an evaluation in slices: spans that arrive meanwhile do not change it."""
        copied = Trace(self.trace_id, self.opened, self.touched, bytearray(self.links), self.state)
        for name in _KEPT:
            setattr(copied, name, getattr(self, name))
        # What the trace goes on changing in place is copied. Parents are read again from the links.
        copied.spans, copied.held = dict(self.spans), dict(self.held)
        copied.other_envelopes = dict(self.other_envelopes) if self.other_envelopes else _EMPTY
        copied.verdicts = dict(self.verdicts) if self.verdicts else _EMPTY
        copied.seen = dict(self.seen) if self.seen else _EMPTY
        return copied

    def give_up(self, key: bytes | int) -> int:
        """Forget a span, held or not. Returns by how many bytes what is kept changes."""
        del self.spans[key]
        change = self.set_past(None)  # it may be of a run that would not be rebuilt
        if type(key) is not bytes or key not in self.held:
            return change
        if self.other_envelopes:
            self.other_envelopes.pop(key, None)
        return change - len(self.held.pop(key))

    def drop_held(self) -> None:
        """Keep no raw span any more."""
        self.held, self.envelope, self.other_envelopes = {}, None, _EMPTY

    def envelope_of(self, span_id: bytes) -> Envelope | None:
        """The envelope of a held span; for a span that is not held that of the first one, None where none is held."""
        return self.other_envelopes.get(span_id, self.envelope)

    def held_spans(self) -> Iterator[tuple[bytes, bytes, Envelope]]:
        """The held spans: id, raw span, envelope."""
        usual, others = self.envelope, self.other_envelopes
        if usual is not None:
            for span_id, raw in self.held.items():
                yield span_id, raw, others.get(span_id, usual) if others else usual

    def keep_longest_history(self, model: GenAISpan) -> int:
        """Drop the input of every model request that a later one repeats: the longest has all that any has.

        Returns how many bytes that frees.
        """
        freed = 0
        self.histories = self.histories or {}
        # Frameworks send the whole conversation with each request: kept in full, inputs
        # grow with the square of its turns. What is no text, for its length, is compared with no other, nor is what a loop
        # made of calls: another one that reads the same made its own.
        is_text = type(model.history) is str and model.tracing.extent != "loop"
        beginning = hash(model.history[:_BEGINNING]) if is_text else _STRUCTURED
        others = self.histories.get(beginning, [])
        for at, known in enumerate(others):
            if not is_text or type(known.history) is not str:
                continue
            shorter, longer = sorted((known, model), key=lambda span: len(span.history))
            # Agents of one framework begin alike, so the newest words of the shorter one have to be in the longer, too.
            end = len(shorter.history) - _END
            start = max(_BEGINNING, end - _BEGINNING)
            if longer.history[start:end] == shorter.history[start:end]:
                freed = len(shorter.history)
                shorter.history = None
                others[at] = longer
                return freed
        self.histories[beginning] = [*others[1 - _CONVERSATIONS :], model]
        return freed

    def drop_histories(self) -> int:
        """Drop the inputs of all model requests. Returns how many bytes that frees."""
        self.histories, freed = _EMPTY, 0
        for span in self.spans.values():
            if span.history is not None:
                freed += len(span.history) if type(span.history) is str else 0
                span.history = None
        return freed

    def drop_spans(self) -> int:
        """Keep of a finished trace only which spans it has had. Returns by how many bytes its size changes."""
        # Which spans were held must stay known: only these were exported with a verdict, and may not leave again.
        if self.held or self.seen or not self.has_agent:
            self.seen = {**{key: self.was_held(key) for key in self.spans}, **self.seen}
        else:  # nearly always
            self.seen = {key: span.annotatable for key, span in self.spans.items()}
        self.spans, self.histories, self.resource, self.past = {}, _EMPTY, None, None
        before = self.size
        self.size = TRACE + len(self.links) + KNOWN_SPAN * len(self.seen) + VERDICT * len(self.verdicts)
        return self.size - before

    def record_verdict(self, anchor: bytes, given: Given) -> None:
        """Record that a run has its verdict."""
        self.verdicts = self.verdicts or {}
        self.verdicts[anchor] = given

    def record_collected(self, run: ConversationRun) -> None:
        """Record that a run, which has its verdict, was collected in a conversation in place of its parts."""
        at = len(self.trace_id)  # where the span id begins in an anchor
        self.verdicts[run.anchor[at:]].conversation = hash(run.key)
        for part in run.parts:
            self.verdicts[part[at:]].conversation = 0

    def verdict_before(self, anchor: bytes, parts: Sequence[bytes]) -> Given | None:
        """The verdict on the run with this anchor, else the latest on one of its ``parts``; None if there was none."""
        found = self.verdicts.get(anchor)
        if found is not None or not parts:  # nearly always
            return found
        of_parts = [self.verdicts[part] for part in parts]
        latest = max(of_parts, key=lambda given: given.revision)
        known: frozenset[str] | None = frozenset()
        for given in of_parts:
            known = None if known is None or given.known_forbidden is None else known | given.known_forbidden
        return Given(latest.revision, latest.fingerprint, latest.label, latest.conversation, known)

    def has_verdict_around(self, span: GenAISpan) -> bool:
        """Whether a run around a late span has its verdict. Walks known parents; unknown ones may belong to a new run."""
        recent, at = self.recent_parents(), span.parent_span_id
        for _ in range(_MAX_ANCESTORS):
            if not at:
                break
            if at in self.verdicts:
                return True
            # A nearer agent without a verdict: a new run in an old trace, such as the next turn of a session.
            if (known := self.spans.get(at)) is not None and known.role == AGENT:
                return False
            above = recent.get(at)
            # What came before is looked at last: a session of hours has many links.
            if above is None and self.past is not None:
                above = b"" if at in self.past.unseen else self.parents().get(at)
            at = above or b""
        # What has no parent belongs to the trace, which has its verdict; an agent there begins a run of its own.
        return span.role != AGENT and not span.parent_span_id

    def times_of(self, anchor: bytes) -> tuple[int, int]:
        """Start and end of the run with this anchor, in ns; of all spans where that is not among them."""
        known = self.spans.get(anchor)
        if known is not None:
            return known.start_ns, known.end_ns
        spans = self.spans.values()
        return min([span.start_ns for span in spans], default=0), max([span.end_ns for span in spans], default=0)

    def is_news(self, key: bytes | int, span: GenAISpan) -> bool:
        """Whether a span was not received before; or only as it was when it had not ended yet, or by an earlier end."""
        known = self.spans.get(key)
        return key not in self.seen if known is None else known.end_ns < span.end_ns

    def was_held(self, key: bytes | int) -> bool:
        """Whether a known span is held, or was."""
        if key in self.held or self.seen.get(key, False):
            return True
        span = self.spans.get(key)
        return span is not None and (span.annotatable or self.annotates_root(span))

    def annotates_root(self, span: GenAISpan) -> bool:
        """Whether it is a root that is annotated, as in a trace without an agent."""
        return not (span.parent_span_id or self.has_agent)

    @property
    def evicted(self) -> bool:
        """Whether its latest verdict was given because of a limit: what comes later of it is not worth another's place."""
        return self.release == "evicted"

    @property
    def unfinished(self) -> bool:
        """Whether its latest verdict was given while spans were missing: what comes later may be the rest of a run."""
        return self.release not in _WHOLE

    @property
    def received(self) -> int:
        """A number that grows with whatever arrives of it while it is open."""
        return len(self.spans) + len(self.seen) + len(self.links)

    def apply(self, event: TraceEvent) -> None:
        """Change state. Raises ValueError, and changes nothing, if the event cannot happen in this state."""
        try:
            self.state = TRANSITIONS[self.state][event]
        except KeyError:
            raise ValueError(f"{event.name} cannot happen to a trace that is {self.state.name}") from None

    def parents(self) -> dict[bytes, bytes]:
        """Span id to parent id of every span of the trace, GenAI or not."""
        # Not kept for an open trace, which needs them once or twice: there may be a hundred thousand.
        if self.state is not TraceState.REOPENED:
            return parent_links(bytes(self.links))
        if self.known_parents is None:
            self.known_parents = {}
        if len(self.links) > self.links_read:  # needed at each span of a long session: parse only what is new
            self.known_parents.update(parent_links(bytes(self.links[self.links_read :])))
            self.links_read = len(self.links)
        return self.known_parents

    def recent_parents(self) -> dict[bytes, bytes]:
        """Span id to parent id of the spans received since ``past``."""
        if self.recent is None:
            self.recent, self.recent_read = {}, 0 if self.past is None else self.past.links
        if len(self.links) > self.recent_read:
            self.recent.update(parent_links(bytes(self.links[self.recent_read :])))
            self.recent_read = len(self.links)
        return self.recent

    def recent_spans(self) -> list[GenAISpan]:
        """The spans received since ``past``, the latest first."""
        return list(islice(reversed(self.spans.values()), self.recent_count))

    @property
    def recent_count(self) -> int:
        """How many spans were received since ``past``."""
        return len(self.spans) if self.past is None else len(self.spans) - self.past.spans

    def set_past(self, past: Past | None) -> int:
        """Have a verdict on all that is known by now. Returns by how many bytes the size of the trace changes."""
        before, self.past = self.past, past
        self.known_parents, self.links_read, self.recent, self.recent_read = None, 0, None, 0
        size = PAST * ((past is not None) - (before is not None))
        self.size += size
        return size


_MADE_ANEW: Final = (
    "trace_id", "opened", "touched", "links", "state", "histories", "known_parents", "links_read", "recent", "recent_read",
)  # fmt: skip
_KEPT: Final = tuple(field.name for field in fields(Trace) if field.name not in _MADE_ANEW)
"""What a snapshot has of its trace, beside what it is made with and what it makes anew."""
