"""Sessions: traces that go on for hours, in turns that are agent runs below one span."""

from __future__ import annotations

from typing import Final

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests import otlp_data as data
from tests.harness import Driver

REMOTE: Final = 0x300
"""Flags of a span whose parent is in another process, and may never be received."""
LOCAL: Final = 0x100
"""Flags of a span whose parent is in this process, and is sent when it ends."""
SESSION: Final = 1
"""Number of the span around all turns."""


class Session:
    """Sends turns of two calls each, seven seconds apart."""

    def __init__(self, driver: Driver, flags: int) -> None:
        self.driver, self.flags, self.number = driver, flags, 0

    def spans(self, parent: int = SESSION) -> list[Span]:
        """The spans of the next turn."""
        self.number += 1
        first = 10 * self.number
        agent = data.agent(first, parent, at=self.number)
        agent.flags = self.flags
        names = ("get_weather", "send_email")
        tools = [data.tool(first + at, first, name, at=self.number + at / 10) for at, name in enumerate(names, 1)]
        return [*tools, agent]

    def turn(self) -> None:
        """Send the next turn, and wait until it has been quiet for a while."""
        self.driver.send(*self.spans())
        self.driver.wait(7)
