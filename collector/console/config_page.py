"""The configuration in effect, without its secrets."""

from __future__ import annotations

import json

from collector.console.context import Context
from collector.console.rendering import page
from collector.console.request import Reply


def config_page(context: Context) -> Reply:
    """Returns the page."""
    sections = [(name, json.dumps(value, indent=2, ensure_ascii=False)) for name, value in context.shown_config.items()]
    return page(
        "config.html", **context.common("Configuration"), sections=sections, files=context.rules.files,
        remarks=[remark.text for remark in context.rules.remarks],
    )  # fmt: skip
