"""The scenarios of recordings: user input, scripted answers of the model, and tools. Standard library only.

Imported on both sides: by the model server, and inside a framework's own environment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

MODEL = "gpt-4o"
AGENT, INNER_AGENT = "travel_agent", "policy_agent"
INSTRUCTIONS = "You help travellers. Use the tools."


class CardDeclinedError(Exception):
    """Raised by the card tool on its first call."""


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call that the model requests."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the model to an agent: calls, or text that ends the run."""

    calls: Sequence[RequestedCall] = ()
    text: str | None = None
    agent: str = AGENT


@dataclass(frozen=True, slots=True)
class Scenario:
    """One turn of a conversation, from user input to final answer."""

    user_input: str
    answers: Sequence[Answer]
    tools: Sequence[Callable[..., str]] = field(repr=False)
    inner_tools: Sequence[Callable[..., str]] = field(default=(), repr=False)
    """The tools of the inner agent, which the outer one runs with its tool ``ask_policy_agent``."""
    why_rejected: str = "a human denied it"
    """Why a requested call does not run, if one does not."""


def _work() -> None:
    """Take the time of a tool, so that calls which a framework runs at once overlap."""
    time.sleep(0.05)


def get_weather(city: str, unit: str = "celsius") -> str:
    """Tell the weather in a city."""
    _work()
    return f"{city}: 18 degrees {unit}"


def book_flight(flight_id: str, passenger: str, price: float, tags: list[str]) -> str:
    """Book a flight for a passenger."""
    _work()
    return f"{flight_id} is booked for {passenger} at {price}, {', '.join(tags)}"


def card_declined_once() -> Callable[[int, float], str]:
    """Returns a tool that fails on its first call only."""
    tries = iter((False, True))

    def charge_card(order_id: int, amount: float) -> str:
        """Charge the card of an order."""
        _work()
        if not next(tries, True):
            raise CardDeclinedError("card declined: try again")
        return f"charged {amount} EUR for order {order_id}"

    return charge_card


def dice() -> Callable[[int], str]:
    """Returns a tool whose equal calls have different results."""
    rolls = iter((3, 5, 3))

    def roll_dice(sides: int) -> str:
        """Roll a die."""
        _work()
        return f"rolled {next(rolls)} of {sides}"

    return roll_dice


def lookup_policy(topic: str) -> str:
    """Look up a policy."""
    _work()
    return f"The policy for {topic}: within 30 days."


def send_mail(to: str, body: str) -> str:
    """Send a mail."""
    _work()
    return f"sent to {to}"


def issue_refund(order_id: int, amount: float) -> str:
    """Refund an order."""
    _work()
    return f"refunded {amount} EUR for order {order_id}"


def delete_account(user_id: str) -> str:
    """Delete an account."""
    _work()
    return f"deleted {user_id}"


APPROVALS = {"issue_refund": True, "delete_account": False}
"""The tools that need human approval, and whether it is given."""

_FLIGHT = {"flight_id": "AF123", "passenger": "Ada Lovelace", "price": 199.5, "tags": ["window", "végétarien"]}
_CHARGE = {"order_id": 42, "amount": 10.5}


def scenarios(tool_prefix: str = "") -> dict[str, Scenario]:
    """Returns all scenarios by name, with tools not called yet; ``tool_prefix`` precedes tool names in the model's calls."""
    found = _scenarios()
    for name, scenario in found.items():
        answers = [
            replace(answer, calls=[replace(call, name=tool_prefix + call.name) for call in answer.calls])
            for answer in scenario.answers
        ]
        found[name] = replace(scenario, answers=answers)
    return found


def _corrected(arguments: dict[str, Any], why: str, name: str = "book_flight") -> Scenario:
    """A scenario in which the model requests a call that a framework may refuse, and then a proper one."""
    return Scenario(
        "Book flight AF123 for Ada Lovelace.",
        (
            Answer((RequestedCall("call_b1", name, arguments),)),
            Answer((RequestedCall("call_b2", "book_flight", _FLIGHT),)),
            Answer(text="Done, AF123 is booked."),
        ),
        (book_flight, get_weather),
        why_rejected=why,
    )


def _scenarios() -> dict[str, Scenario]:
    return {
        "multi": Scenario(
            "What is the weather in Paris and London? Then book flight AF123 for Ada Lovelace.",
            (
                Answer((
                    RequestedCall("call_w1", "get_weather", {"city": "Paris"}),
                    RequestedCall("call_w2", "get_weather", {"city": "London", "unit": "fahrenheit"}),
                )),
                Answer((RequestedCall("call_b1", "book_flight", _FLIGHT),), "Mild in both; booking now."),
                Answer(text="Done, AF123 is booked."),
            ),
            (get_weather, book_flight),
        ),
        "fail": Scenario(
            "Charge the card for order 42, 10.50 EUR. Retry once if it fails.",
            (
                Answer((RequestedCall("call_c1", "charge_card", _CHARGE),)),
                Answer((RequestedCall("call_c2", "charge_card", _CHARGE),)),
                Answer(text="Charged after one retry."),
            ),
            (card_declined_once(),),
        ),
        "equal": Scenario(
            "Roll two dice at once, then another.",
            (
                Answer([RequestedCall(name, "roll_dice", {"sides": 6}) for name in ("call_d1", "call_d2")]),
                Answer((RequestedCall("call_d3", "roll_dice", {"sides": 6}),)),
                Answer(text="The dice are rolled."),
            ),
            (dice(),),
        ),
        "nested": Scenario(
            "Ask the policy agent about refunds, then mail the answer to ada@example.com.",
            (
                Answer((RequestedCall("call_a1", "ask_policy_agent", {"question": "What is the policy for refunds?"}),)),
                Answer((RequestedCall("call_p1", "lookup_policy", {"topic": "refunds"}),), agent=INNER_AGENT),
                Answer(text="Refunds within 30 days.", agent=INNER_AGENT),
                Answer((RequestedCall("call_m1", "send_mail", {"to": "ada@example.com", "body": "Refunds within 30 days."}),)),
                Answer(text="The policy is mailed."),
            ),
            (send_mail,),
            (lookup_policy,),
        ),
        "approval": Scenario(
            "Refund order 42, 10.50 EUR, and delete the account u-7.",
            (
                Answer((
                    RequestedCall("call_r1", "issue_refund", _CHARGE),
                    RequestedCall("call_x1", "delete_account", {"user_id": "u-7"}),
                )),
                Answer(text="Refunded; the account stays."),
            ),
            (issue_refund, delete_account),
        ),
        "missing": _corrected({key: value for key, value in _FLIGHT.items() if key != "price"}, "the tool requires a price"),
        "mistyped": _corrected({**_FLIGHT, "price": "cheap"}, "its price is no number"),
        "unknown": _corrected(_FLIGHT, "there is no such tool", "reserve_flight"),
    }  # fmt: skip
