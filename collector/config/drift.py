"""The configuration of drift: what agents do, compared with what they did before."""

from __future__ import annotations

from typing import Annotated

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
