"""What one dialect reads of a span fills in what another lacks."""

from __future__ import annotations

from collector.model.from_span import genai_span_of
from collector.model.genai_span import Role
from collector.model.span_copies import fill_missing
from tests.builders import span


def test_only_missing_fields_are_filled() -> None:
    mine, other = (genai_span_of(span(number=2, parent=1), Role.TOOL, name) for name in ("mine", "other"))
    mine.name, other.name, other.call_id, other.status = "a", "b", "c1", "error"
    fill_missing(mine, other)
    assert (mine.name, mine.call_id, mine.status, mine.dialect) == ("a", "c1", "error", "mine")


def test_what_may_have_failed_is_no_success_for_the_status_of_its_span() -> None:
    mine, other = (genai_span_of(span(number=2, parent=1), Role.TOOL, name) for name in ("mine", "other"))
    other.status, other.name = "ok", "a"
    mine.note(outcome="told")
    fill_missing(mine, other)
    assert (mine.name, mine.status) == ("a", "unset")
