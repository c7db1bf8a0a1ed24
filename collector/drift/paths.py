"""What is counted of a run: yes-or-no facts about the path it took, each a sentence that people read.

One kind of fact covers sets of tools, transitions, lengths, failures and retries, so one test of two shares is enough for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final

from collector.reconstruction.run import Run
from scorers.quoting import printable

Path = tuple[tuple[str, bool, int], ...]
"""The calls of a run: name, whether it failed, and its step."""
MAX_CALLS: Final = 50
"""Calls of a run that are looked at."""
MAX_NAME: Final = 60
"""Characters of the name of a tool."""
_KEPT: Final = MAX_NAME + 1
_LENGTHS: Final = (2, 4, 8, 16, 32)
_NAMED: Final = 5


def path_of(run: Run) -> Path:
    """Returns the path of a run. This runs for each run; all that follows from it, for each path."""
    calls = run.trajectory.calls[:MAX_CALLS]
    # One character more than is shown: it tells that the name was longer. A path waits, and senders choose the names.
    return tuple([(call.name[:_KEPT], call.status == "error" or not call.executed, call.step) for call in calls])


def facts_of(path: Path) -> frozenset[str]:
    """Returns what can be said of a run that took this path, each in a sentence without its subject."""
    if not path:
        return frozenset(["calls no tool"])
    named = [(_shown(name), failed, step) for name, failed, step in path]
    steps = [[name for name, _, _ in calls] for _, calls in groupby(named, itemgetter(2))]
    times = Counter(name for name, _, _ in named)
    facts = {f"calls {name}" for name in times} | {f"calls {name} twice or more" for name in times if times[name] > 1}
    facts |= {
        f"calls {b} right after {a}" for before, after in pairwise(steps) for a in before for b in after if a != b
    }
    facts |= {f"begins with {name}" for name in steps[0]} | {f"ends with {name}" for name in steps[-1]}
    facts |= {f"makes {length} calls or more" for length in _LENGTHS if len(path) >= length}
    facts |= _failures(named)
    facts.add(f"calls only {_listed(sorted(times))}")
    return frozenset(facts)


def _failures(named: Sequence[tuple[str, bool, int]]) -> set[str]:
    facts, failed = set[str](), dict[str, int]()
    for name, fails, step in named:
        # A call of the same step was made before the failure was known.
        if failed.get(name, step) < step:
            facts |= {f"calls {name} again after it failed", "retries a failed call"}
        if fails:
            failed.setdefault(name, step)
            facts |= {f"has a call of {name} that fails", "has a call that fails"}
    return facts


def _listed(names: Sequence[str]) -> str:
    others = len(names) - _NAMED
    listed = ", ".join(names[:_NAMED])
    return f"{listed} and {others} other tools" if others > 1 else ", ".join(names)


def _shown(name: str) -> str:
    return printable(name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…")
