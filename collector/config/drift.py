"""The configuration of drift: what agents do, compared with what they did before."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from collector.config.fields import Duration, Section


def _weeks(seconds: float) -> float:
    if seconds % 604_800:
        raise ValueError("the baseline is whole weeks, such as 168h or 336h: other days of the week are no measure")
    return seconds


class DriftConfig(Section):
    """Tells where the runs of a route and agent take other paths than in the same hours of the weeks before."""

    baseline: Annotated[Duration, AfterValidator(_weeks)] = Field(
        604_800.0, ge=604_800, le=2_419_200, description="whole weeks that the present is compared with"
    )


def or_off(value: Any) -> Any:
    """Returns None for ``off``. Raises ValueError for what is no section."""
    if value is False or value == "off":  # YAML reads off as false
        return None
    if not isinstance(value, (dict, DriftConfig)):
        raise ValueError(f"{value!r} is no such setting: use off or {{baseline: 168h}}")
    return value
