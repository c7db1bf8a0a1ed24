"""The pages of the console from a real collector: what they show, and that nothing received can do anything in them."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urlsplit

import httpx
import pytest
import yaml

from collector.console.live import MAX_STREAMS
from collector.runs.queries import FILTERS
from scorers import parse_rules
from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.console.given import AT_ONCE
from tests.waiting import wait_for

RULES = """
rules:
  - name: weather
    match: {agent: "helper*"}
    expect: {sequence: [{tool: get_weather, arguments: {city: {regex: "^[A-Z]"}}}, send_email], forbid: ["delete_*"]}
    pass: 0.9
  - {name: never, match: {route: /nowhere}, expect: {sequence: [x]}}
  - {name: shadowed, match: {}, expect: {sequence: [get_weather]}, shadow: true}
"""
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e\x00{{7*7}}"
TRACES = RIGHT, WRONG, HUGE, NASTY, NAMELESS = [bytes([number]) * 16 for number in (0x1A, 0x2B, 0x3C, 0x4D, 0x5E)]
PAGES = ["/console", "/console/", "/console/runs", "/console/rules", "/console/compare", "/console/config", "/console/drift",
         "/console/compare?over=agent&by=rule", "/console?range=30d",
         *(f"/console/runs/{trace.hex()}" for trace in TRACES)]  # fmt: skip


@pytest.fixture(scope="module")
def collector() -> Iterator[CollectorProcess]:
    links = {"trace_url": "https://tempo.example/{trace_id}", "public_url": "https://rightcall.example"}
    with CollectorProcess(RULES, None, traces=AT_ONCE, console=links) as process:
        weather = data.tool(2, 1, "get_weather", trace_id=RIGHT, gen_ai__tool__call__arguments='{"city": "Rome"}')
        send(process, weather, data.tool(3, 1, "send_email", at=0.2, trace_id=RIGHT), data.agent(1, trace_id=RIGHT))
        given = json.dumps({"city": HOSTILE, "long": "x" * 100_000})
        weather = data.tool(2, 1, "get_weather", trace_id=WRONG, gen_ai__tool__call__arguments=given)
        send(process, weather, data.tool(3, 1, "delete_all", at=0.1, trace_id=WRONG), data.agent(1, trace_id=WRONG))
        calls = [data.tool(number, 1, f"tool {number}", trace_id=HUGE) for number in range(2, 10_000)]
        send(process, *calls, data.agent(1, trace_id=HUGE))
        send(process, data.tool(2, 1, HOSTILE, trace_id=NASTY), data.agent(1, name="helper" + HOSTILE, trace_id=NASTY))
        send(process, data.tool(2, 9, "get_weather", trace_id=NAMELESS))  # of no known agent, route or conversation
        wait_for(lambda: {run["trace_id"] for run in runs(process)} == {one.hex() for one in TRACES})
        yield process


def runs(process: CollectorProcess) -> list[dict[str, str]]:
    return list(json.loads(process.get("/runs", process.admin))["runs"])


def get(process: CollectorProcess, path: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{process.admin}{path}", trust_env=False, timeout=60)


class _Parsed(HTMLParser):
    """The elements of a page, and what its links and assets name."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_answered_and_runs_nothing_that_was_received(collector: CollectorProcess, path: str) -> None:
    answer = get(collector, path)
    assert answer.status_code == 200, answer.text
    page = _Parsed(answer.text)
    assert page.tags.count("script") == 1
    assert not {"img", "iframe", "style", "object"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "style"]
    assert all(character not in answer.text for character in ("\x00", "\u202e"))
    links = [value for name, value in page.attributes if name in ("href", "src", "action")]
    assert {urlsplit(link).netloc for link in links} <= {"", "tempo.example"}


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_the_frame_that_leads_to_the_others(collector: CollectorProcess, path: str) -> None:
    page = get(collector, path).text
    assert page.startswith("<!doctype html>")
    assert page.count("<h1") == 1
    assert 'lang="en"' in page
    assert 'href="/console/compare"' in page
    assert ("data-live" in page) == ("data-pause" in page), "what changes by itself can be stopped"


def test_the_overview_counts_what_happened(collector: CollectorProcess) -> None:
    page = get(collector, "/console?range=24h").text
    assert "33.3 %" in page, "of three that were decided one passed"
    assert "forbidden delete_all" in page
    assert 'href="/console/runs?rule=weather&amp;range=24h"' in page


@pytest.mark.parametrize("path", ["/console", "/console/compare", "/console/runs", "/runs"])
def test_every_page_takes_every_filter(collector: CollectorProcess, path: str) -> None:
    assert {name: get(collector, f"{path}?{name}=x").status_code for name in FILTERS} == dict.fromkeys(FILTERS, 200)


def test_a_run_says_why(collector: CollectorProcess) -> None:
    page = get(collector, f"/console/runs/{WRONG.hex()[:8]}").text
    for text in ("forbidden", "delete_all", "does not match ^[A-Z]", "To pass</summary>", "send_email",
                 "do not call delete_all", "https://tempo.example/" + WRONG.hex(), "weather", "its span"):  # fmt: skip
        assert text in page, text
    assert len(page) < 200_000


def test_raw_spans_are_shown_and_given_as_otlp(collector: CollectorProcess) -> None:
    document = get(collector, f"/runs/{RIGHT.hex()[:9]}/spans").json()
    spans = [span for scope in document["resourceSpans"][0]["scopeSpans"] for span in scope["spans"]]
    assert {span["spanId"][-1] for span in spans} == {"1", "2", "3"}
    assert "rightcall.outcome" in json.dumps(spans)
    assert "execute_tool get_weather" in get(collector, f"/console/runs/{RIGHT.hex()}").text
    assert "has more than is shown here" in get(collector, f"/console/runs/{HUGE.hex()}").text
    assert get(collector, "/runs/ffffffff/spans").status_code == 404


def test_huge_and_hostile_runs_are_shown_fast(collector: CollectorProcess) -> None:
    for trace in (HUGE, NASTY, WRONG):
        began = time.monotonic()
        page = get(collector, f"/console/runs/{trace.hex()}").text
        assert time.monotonic() - began < 5
        assert len(page) < 500_000
    assert "more calls are in the JSON" in get(collector, f"/console/runs/{HUGE.hex()}").text
    assert "\\u202e" in get(collector, f"/console/runs/{NASTY.hex()}").text


def test_runs_become_tests_that_the_rules_agree_with(collector: CollectorProcess) -> None:
    exported = get(collector, "/console/tests?q=" + RIGHT.hex()).text
    tests = yaml.safe_load(exported)
    rules = yaml.safe_load(RULES)
    file = parse_rules({**rules, **tests})
    assert [(test.rule, test.passes) for test in file.tests] == [("shadowed", False), ("weather", True)]
    nasty = yaml.safe_load(get(collector, "/console/tests?q=" + NASTY.hex()).text)
    assert parse_rules({**rules, **nasty}).tests


def test_drift_is_watched_from_the_first_run_on(collector: CollectorProcess) -> None:
    wait_for(lambda: "there is no whole baseline yet" in get(collector, "/console/drift").text)
    assert re.search(r'^rightcall_path_drift\{.*"helper".*\} 0.0$', collector.get("/metrics"), re.MULTILINE)


def test_rules_say_what_they_matched(collector: CollectorProcess) -> None:
    page = get(collector, "/console/rules").text
    assert page.count("matched no run") == 1
    assert "shadow" in page


def pad(process: CollectorProcess, rules: str, **headers: str) -> httpx.Response:
    url = f"http://127.0.0.1:{process.admin}/console/rules"
    return httpx.post(url, data={"rules": rules}, headers=headers, trust_env=False, timeout=60)


def test_other_rules_are_tried_on_stored_runs_and_nothing_is_saved(collector: CollectorProcess) -> None:
    page = pad(collector, 'rules: [{name: lenient, match: {}, expect: {allow_extra: ["*"]}}]').text
    assert "<strong>3</strong> of 4 stored runs change verdict" in page, page[-3000:]
    assert "lenient" not in get(collector, "/console/rules").text


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("rules: [{nam: x}]", "rules.yaml:1"), ("rules: [", "not YAML"), ("<script>", "rules"),
        ("rules: []  # " + "x" * 70_000, "more than 65536 bytes"), ("a: &a [*a]", "rules.yaml"),
    ],
)  # fmt: skip
def test_rules_that_are_none_are_refused_with_the_line(collector: CollectorProcess, rules: str, told: str) -> None:
    answer = pad(collector, rules)
    assert (answer.status_code, told in answer.text) == (200, True), answer.text[-2000:]
    assert "<script>" not in answer.text.replace('<script src="/console/static/live.js" defer></script>', "")


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"origin": "http://["}, {"sec-fetch-site": "cross-site"}]
)
def test_a_form_of_another_site_is_refused(collector: CollectorProcess, headers: dict[str, str]) -> None:
    assert pad(collector, "rules: []", **headers).status_code == 403


def test_a_form_without_end_is_refused(collector: CollectorProcess) -> None:
    assert pad(collector, "x" * 300_000).status_code == 400


def test_only_so_many_pages_are_updated_live(collector: CollectorProcess) -> None:
    url = f"http://127.0.0.1:{collector.admin}/console/events"
    with httpx.Client(trust_env=False, timeout=60) as client:
        with contextlib.ExitStack() as pages:
            for _ in range(MAX_STREAMS):
                assert pages.enter_context(client.stream("GET", url)).status_code == 200
            refused = client.get(url)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        wait_for(lambda: is_open(client, url))  # once another page is closed


def is_open(client: httpx.Client, url: str) -> bool:
    with client.stream("GET", url) as stream:
        return stream.status_code == 200


def test_open_pages_are_told_what_was_stored(collector: CollectorProcess) -> None:
    url = f"http://127.0.0.1:{collector.admin}/console/events"
    with httpx.Client(trust_env=False, timeout=60) as client, client.stream("GET", url) as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        send(collector, data.tool(2, 1, "get_weather", trace_id=b"\x77" * 16), data.agent(1, trace_id=b"\x77" * 16))
        assert any(line == "event: stored" for line in stream.iter_lines())


def test_a_collector_stops_while_pages_are_open() -> None:
    with (
        CollectorProcess(RULES, None, traces=AT_ONCE) as process,
        httpx.Client(trust_env=False, timeout=60) as client,
        client.stream("GET", f"http://127.0.0.1:{process.admin}/console/events"),
    ):
        began = time.monotonic()
        assert process.stop() == 0
        assert time.monotonic() - began < 4.5, "it did not wait for the streams"
