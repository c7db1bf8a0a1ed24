"""What of a trace's finished runs a run that comes later could depend on."""

from __future__ import annotations

from typing import NamedTuple


class Past(NamedTuple):
    """The runs of a trace that have their verdict, as far as a later run looks at them.

    There is one only of runs that are below agents, of one instrumentation, and of which no messages had to be compared with
    those of another run.
    """

    unseen: frozenset[bytes]
    """The parents that were not received."""
    missing: frozenset[bytes]
    """Those of them that should be, since they ran in this process."""
    instrumentation: tuple[str, str]
    latest_start: int
    """Of its agents."""
    has_user_input: bool
    """A later run without one takes that of the run before it."""
    has_told_calls: bool
    """A call is known by its result alone, in the messages of a later request."""
    spans: int = 0
    """The spans of its trace, when it was made."""
    links: int = 0
    """The bytes of its parent links, likewise."""
    size: int = 0
    """The bytes that it took, likewise."""
    rules_version: int = 0
    """Of those that scored it."""
