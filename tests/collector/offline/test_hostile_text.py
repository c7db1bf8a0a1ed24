"""Whatever names and texts agents send, a report shows them, and remains what its format says."""

from __future__ import annotations

import json
from math import inf, nan
from typing import Any, NoReturn
from unicodedata import category
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from collector.offline import report
from collector.runs.rows import Row
from collector.runs.rows import row_of as row_of_verdict
from scorers import ToolCall, Trajectory
from scorers.quoting import printable
from tests.collector.verdicts import evaluation, verdict_of
from tests.strategies import hostile_text

ATTACKS = [
    "[/x]", "[red]a[/red]", "[link=http://evil]a[/link]", ":skull:", "\x1b]0;title\x07\x1b[2J", "\x9b2J", "a\x00b",
    "a\n| x | y |", "`a`<img src=x onerror=alert(1)>", "a|b\\|c\\", "**a** _b_ ~~c~~ $d$", "![a](http://evil)", "&lt;b&gt;",
    "<!-- a -->", "@everyone", "\ud800", "\u202eevil", "\ufffe", "]]>", "\u2028",
]  # fmt: skip
names = hostile_text | st.sampled_from(ATTACKS) | st.text("[]<>|\\`*_~&@!:/$w. ax", max_size=12)
odd_values = st.recursive(
    names
    | st.sampled_from([nan, inf, -inf, b"\xff", {1}, 2j, (1, "a"), {(1, 2): 3, None: inf}])
    | st.just(5_000).map(lambda digits: 10**digits),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)


def hidden(text: str) -> set[str]:
    """The characters that a terminal obeys, or shows as nothing."""
    return {one for one in text if category(one) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}} - {"\n"}


def row_of(name: str, arguments: Any = None) -> Row:
    """A row that has the name wherever a row has one."""
    run = dict.fromkeys(("agent", "conversation_id", "route", "intent", "user_input", "dialect", "service"), name)
    call = ToolCall(name or "x", arguments, id=name, error_type=name, arguments_text=name)
    why = evaluation("fail", 0.5, name=name, explanation=name, details={"value": arguments, name: name})
    verdict = verdict_of(
        rule=name or "rule", evaluations=[why], run={**run, "trajectory": Trajectory([call]), "call_span_ids": (None,)}
    )
    return row_of_verdict(verdict)


def refuse(constant: str) -> NoReturn:
    raise AssertionError(constant)


@given(names, st.dictionaries(names, odd_values, max_size=3))
def test_every_line_of_jsonl_is_strict_json(name: str, arguments: dict[str, Any]) -> None:
    text = "".join(report.jsonl([row_of(name, arguments)] * 2))
    assert text.encode()
    assert not hidden(text)
    first, second = (json.loads(line, parse_constant=refuse) for line in text.removesuffix("\n").split("\n"))
    assert first == second
    assert first["agent"] == "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in name)


@given(names)
def test_junit_is_xml_with_every_name_as_text(name: str) -> None:
    suite = ElementTree.fromstring("".join(report.junit([row_of(name)])).encode())
    case, gate = suite
    assert (case.get("classname"), gate.get("name")) == (printable(name or "agent"), "gate")
    assert [(one.tag, one.get("message")) for one in case] == [("properties", None), ("failure", printable(name))]
    assert not hidden("".join(suite.itertext()))


@given(names)
def test_markdown_shows_every_name_and_reads_nothing_in_it(name: str) -> None:
    text = "".join(report.markdown([row_of(name)]))
    assert not hidden(text)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inline = [token.children or [] for token in tokens if token.type == "inline"]
    assert {child.type for children in inline for child in children} <= {"text"}
    shown = ["".join(child.content for child in children).replace("\u200b", "").strip() for children in inline]
    wanted = (name, name or "rule", name or "x", name, "0.500", "fail", name)
    assert shown[9:16] == [printable(cell).strip() for cell in wanted]
    assert len(shown) == 18  # the heading, the row, the figures, the reason
    (block,) = [token for token in tokens if token.type == "fence"]
    assert block.content == f"    {printable(name)}\n"


@pytest.mark.parametrize("name", ["http://evil", "HTTPS://evil", "www.evil.org"])
def test_markdown_makes_no_links(name: str) -> None:
    text, _, block = "".join(report.markdown([row_of(name)])).partition("```text\n")  # where nothing is a link
    assert block.count("\n") == 2
    assert name not in text
    assert name in text.replace("\\", "")


@given(names)
def test_a_table_holds_nothing_that_a_terminal_obeys(name: str) -> None:
    assert not hidden("".join(report.table([row_of(name)])))


@pytest.mark.parametrize("name", ATTACKS)
def test_a_table_shows_markup_as_it_was_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    row = next(line for line in "".join(report.table([row_of(name)])).splitlines() if "0.500" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")][1:3] == [printable(name)] * 2
