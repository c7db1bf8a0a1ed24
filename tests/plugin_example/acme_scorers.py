"""A scorer of what calls cost, and a matcher of account numbers: copy this folder to make your own."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from scorers import Call, MatcherPlugin, Options, Score, ScorerPlugin


class Budget(Options):
    """``{system: call_budget, budget: 3, prices: {web_search: 2}}`` in a rule."""

    budget: float = Field(gt=0, description="what the calls of a run may cost together")
    prices: dict[str, float] = Field(default_factory=dict)
    """Of a call of each tool, 1 where it is not named."""


def score(options: Budget, expected: list[Call], actual: list[Call]) -> Score:
    """Returns the share of the cost that the budget covers."""
    cost = sum(options.prices.get(call.tool, 1) for call in actual)
    value = min(1.0, options.budget / cost) if cost else 1.0
    return Score(
        value,
        "pass" if value == 1 else "fail",
        f"the calls cost {cost:g} of {options.budget:g}",
        details={"cost": cost},
    )


class Iban(Options):
    """``{iban: true}`` or ``{iban: {country: DE}}`` in a rule."""

    country: str | None = Field(default=None, pattern="^[A-Z]{2}$")


def matches(options: Iban, value: Any) -> bool:
    """Whether the value is an account number of that country with the right check digits."""
    if not isinstance(value, str) or not 15 <= len(value) <= 34 or not value.isalnum() or not value.isascii():
        return False
    in_order = value[4:] + value[:4]
    return value.startswith(options.country or "") and int("".join(str(int(c, 36)) for c in in_order)) % 97 == 1


CALL_BUDGET = ScorerPlugin(Budget, score, reads_expected=False)
IBAN = MatcherPlugin(Iban, matches)
