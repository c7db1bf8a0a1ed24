"""What a recorded agent is asked, what its scripted model answers, and the tools it has. Standard library only.

Imported on both sides: by the model server, and inside a framework's own environment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

MODEL = "gpt-4o"
AGENT = "travel_agent"
INSTRUCTIONS = "You help travellers. Use the tools."

_WORK_SECONDS = 0.05
"""How long a tool works, so that calls a framework runs at once do overlap."""


class CardDeclinedError(Exception):
    """What the card tool raises the first time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A tool call that the model asks for."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the model: calls, or words that end the run."""

    calls: Sequence[Asked] = ()
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """One conversation turn of a user, from question to last answer."""

    user_input: str
    answers: Sequence[Answer]
    tools: Sequence[Callable[..., str]] = field(repr=False)


def get_weather(city: str, unit: str = "celsius") -> str:
    """Tell the weather in a city."""
    time.sleep(_WORK_SECONDS)
    return f"{city}: 18 degrees {unit}"


def book_flight(flight_id: str, passenger: str, price: float, tags: list[str]) -> str:
    """Book a flight for a passenger."""
    time.sleep(_WORK_SECONDS)
    return f"{flight_id} is booked for {passenger} at {price}, {', '.join(tags)}"


def card_of_two_tries() -> Callable[[int, float], str]:
    """A tool that fails when it is first called, and then no more."""
    tries = iter((False, True))

    def charge_card(order_id: int, amount: float) -> str:
        """Charge the card of an order."""
        time.sleep(_WORK_SECONDS)
        if not next(tries, True):
            raise CardDeclinedError("card declined: try again")
        return f"charged {amount} EUR for order {order_id}"

    return charge_card


_FLIGHT = {"flight_id": "AF123", "passenger": "Ada Lovelace", "price": 199.5, "tags": ["window", "végétarien"]}
_CHARGE = {"order_id": 42, "amount": 10.5}


def scenarios() -> dict[str, Scenario]:
    """All scenarios by name, with tools that have not been called yet."""
    return {
        "multi": Scenario(
            "What is the weather in Paris and London? Then book flight AF123 for Ada Lovelace.",
            (
                Answer((
                    Asked("call_w1", "get_weather", {"city": "Paris"}),
                    Asked("call_w2", "get_weather", {"city": "London", "unit": "fahrenheit"}),
                )),
                Answer((Asked("call_b1", "book_flight", _FLIGHT),), "Mild in both; booking now."),
                Answer(text="Done, AF123 is booked."),
            ),
            (get_weather, book_flight),
        ),
        "fail": Scenario(
            "Charge the card for order 42, 10.50 EUR. Retry once if it fails.",
            (
                Answer((Asked("call_c1", "charge_card", _CHARGE),)),
                Answer((Asked("call_c2", "charge_card", _CHARGE),)),
                Answer(text="Charged after one retry."),
            ),
            (card_of_two_tries(),),
        ),
    }  # fmt: skip
