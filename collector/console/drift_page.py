"""Where the paths of runs changed, and what is watched."""

from __future__ import annotations

from collector.console.context import Context
from collector.console.rendering import page
from collector.console.request import Reply


def drift_page(context: Context) -> Reply:
    """Returns the page."""
    return page("drift.html", **context.common("Drift"), watched=context.drift)
