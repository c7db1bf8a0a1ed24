"""What is unusual about how a span tells of a run: by its dialect, and asked for when runs are reconstructed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

Outcome = Literal["", "told", "begun", "words", "asked", "open", "text", "converted", "lossy", "hooked", "unasked"]
"""What is known of how calls ended, where that is more, or less, than their status and the messages say.

TOOL   told       another span or messages tell whether it failed; of AGENT, another process runs calls for which it waits
       begun      likewise: its span ended before it did, and all that it did is elsewhere
       words      likewise, and the model is told the bare words of what it raised: what reads like no failure may be one
       asked      it was asked for, and holds no result as one that ran does
       open       it holds no result, and it waits if the agent's span does not say that the run ended; of AGENT, its run
                  waits when it ends
       text       nothing but its result says that it failed: a text, where the framework converts results to JSON, as a tool
                  may itself, or that it was cancelled, as a function in a thread cannot be
       converted  its result was converted to JSON
MODEL  lossy      its messages leave out which results are failures; of AGENT, the spans of calls inside
       hooked     a result may be that of a hook, which answers in place of a tool, in whatever words; of AGENT and OTHER
                  likewise, of all results inside
       unasked    none of its answers asked for a call: an earlier run asked for those that it tells of
"""
Identity = Literal["", "guessed", "node", "graph", "result"]
"""What the span is, where its role says too much or too little.

AGENT  guessed  only its name says that it is an agent's
       node     it is a node of a graph, and perhaps a step of the agent around it
OTHER  graph    it is an agent's graph, which may call functions
TOOL   guessed  only attributes say that it is a tool's, which a step on the way to the tool may carry as well
       result   it tells only what came of the call before it
MODEL  guessed  only its answer says that it is a request
       node     it is of a node of a graph, whose tools others call, perhaps when a human agreed
"""
Extent = Literal[
    "", "apart", "resumed", "fresh", "served", "nested", "asks", "starts", "memory", "loop", "part", "turns", "some",
    "automatic", "around", "unsaid", "step", "inner", "beside", "hosted", "left",
    "alone", "code",
]  # fmt: skip
"""How much of a run, of a call or of requests it covers.

AGENT  apart    the run goes on in other traces; of OTHER likewise, of the runs inside
       resumed  the run waited for a human in an earlier trace, and goes on
       fresh    the run answers no question that an earlier one asked: what its models were told of since the user's is its own
       beside   what it does while it streams is beside it: it ends when the stream begins
       around   likewise, and it ends with the stream
       unsaid   nothing says whether its run waits: it does if it ends well, and no span shows a call that was asked for last;
                of OTHER likewise
OTHER  alone    it begins its trace, and nothing but one request to a model is inside
TOOL   resumed  it waited for a human, and is made now
       apart    if no model is asked again, the run waits for what comes of it, and goes on in another trace; where the call
                waits for a human, also if one is
       served   a server's span begins the trace: whoever called has its own
       nested   an agent that it asks has no span of its own, and is named by those of its models
       asks     likewise, and nothing names it: what begins meanwhile may be its own
       starts   likewise, and it goes on when the call has ended
MODEL  resumed  it was told last what a human answered to the one before
       memory   it is no request, but stores the conversation so far, or holds all turns of a run
       loop     likewise, and it made all the calls that it tells of; of GROUP likewise
       part     it is a piece of an answer, which another may hold whole
       turns    it is perhaps several requests
       some     its answer may lack calls; of AGENT likewise, what it holds of the conversation
       automatic  an answer may lack calls unless the application makes them: its client may make them, and ask again inside
       nested   it offered tools. If it asked for calls, it may hold the request that tells their results; else that is
                beside it, as are the calls, and in a trace of its own where no span is around all of them
       step     it begins its trace, and the framework asks again, in another: what came of the call, or for another answer;
                or what it was told was cut, so that it may itself be one of several
       code     its answer is code, which may call tools: some instrumentations have spans of these, others of clients alone
       unsaid   no answer holds the calls that it asks for: inputs tell of them one by one, also of those of one answer
       around   it lasts until the calls have ended that its answer asked for, and no others are inside
       left     its client made the calls inside, and none of those for which its answer asks
       hosted   its answer may lack calls that the provider ran, of which nothing else tells
       inner    its parent is a span of the same request, which is never sent
"""
WAITS: Final = ("told", "open")
"""Outcomes of an AGENT whose run waits when it ends."""
MAY_LACK_CALLS: Final = ("some", "automatic")
"""Extents of a MODEL whose answer may lack calls."""
TracedCalls = Literal["", "all", "tools", "named", "succeeded", "own"]
"""Which calls leave spans, of those that run inside an AGENT or OTHER, or that the answer of a MODEL asked for.

all        each of them
tools      AGENT: each of a tool, and not what hands over to another agent
named      each of them, and one that fails a nameless one
succeeded  TOOL: each that succeeds, and none that fails
own        TOOL: each that this program makes, and none of others that an agent asks for which the provider runs
"""


@dataclass(slots=True, init=False, eq=False)
class Tracing:
    """What was noted of a span, "" for what is usual. Shared by all spans of which the same was: never changed."""

    outcome: Outcome
    identity: Identity
    extent: Extent
    traced_calls: TracedCalls

    # Written out: that of a dataclass stays interpreted in the compiled build.
    def __init__(self, outcome: Outcome, identity: Identity, extent: Extent, traced_calls: TracedCalls) -> None:
        self.outcome, self.identity, self.extent, self.traced_calls = outcome, identity, extent, traced_calls


@lru_cache(maxsize=256)
def tracing_of(outcome: Outcome, identity: Identity, extent: Extent, traced_calls: TracedCalls) -> Tracing:
    """Returns the one of these values."""
    return Tracing(outcome, identity, extent, traced_calls)


USUAL: Final = tracing_of("", "", "", "")
"""Of a span of which nothing was noted."""
