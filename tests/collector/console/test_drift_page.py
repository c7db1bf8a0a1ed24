"""The page about drift says what changed, of whom, and what is not known yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collector.config.model import ConsoleConfig
from collector.console.rendering import page
from collector.console.request import Request
from collector.drift.comparison import Change, Drift
from collector.drift.monitor import Watched


def shown(watched: Sequence[Watched] | None) -> str:
    frame: dict[str, Any] = {
        "title": "Drift",
        "request": Request("/console/drift"),
        "now": 0.0,
        "health": [],
        "links": ConsoleConfig(),
    }
    return page("drift.html", **frame, watched=watched).body.decode()


def test_what_changed_is_said_in_words() -> None:
    drift = Drift(1_765_238_400, 1, (Change("calls lookup_order twice or more", 0.31, 0.02),))
    text = shown([Watched("/refund", "support", True, drift), Watched("/book", "travel", True, None)])
    assert "calls lookup_order twice or more in <strong>31.0 %</strong> of runs (2.0 % before)" in text
    assert "2025-12-09T00:00:00Z" in text
    assert text.count("no more than chance explains") == 1


def test_a_version_that_differs_is_named_beside_the_one_before() -> None:
    change = (Change("calls no tool", 0.12, 0.02),)
    release, week = Drift(1_765_238_400, 1, change, ("2.4.0 & <b>", "2.3.1")), Drift(1_765_238_400, 24, change)
    text = shown([Watched("/refund", "support", False, None, release)])
    assert "service.version=2.4.0+%26+%3Cb%3E" in text
    assert 'differs from <span class="data">2.3.1</span>: calls no tool in <strong>12.0 %</strong>' in text
    assert shown([Watched("/refund", "support", True, week, release)]).count("calls no tool") == 2


def test_it_says_where_nothing_can_be_known() -> None:
    assert "there is no whole baseline yet" in shown([Watched("", "support", False, None)])
    assert "No run was seen yet" in shown([])
    assert "drift: off" in shown(None)


def test_names_of_strangers_are_text() -> None:
    drift = Drift(0, 1, (Change("calls <script>", 1.0, 0.0),))
    text = shown([Watched("<b>", '"><img src=x>', True, drift)])
    assert "<script>" not in text.replace('<script src="/console/static/live.js" defer>', "")
    assert "<img" not in text
