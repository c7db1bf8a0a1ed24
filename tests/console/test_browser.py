"""The console in a real browser: what is seen, what the keyboard reaches, what works without scripts, what leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests import otlp_data as data
from tests.collector_process import CollectorProcess, send
from tests.console import seed
from tests.console.browser import CHROMIUM, chromium, collector

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect  # waits, as a click does not
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
AXE = Path(__file__).parent / "node" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = (
    "/console?range=24h", "/console/runs", "/console/rules", "/console/compare?range=24h", "/console/drift", "/console/config",
)  # fmt: skip


@pytest.fixture(scope="module")
def process() -> Iterator[CollectorProcess]:
    with collector() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture
def page(process: CollectorProcess, browser: Any) -> Iterator[Any]:
    """A page that knows the collector's address, and fails the test where something leaves or is refused."""
    context = browser.new_context(base_url=f"http://127.0.0.1:{process.admin}", viewport={"width": 1180, "height": 800})
    found, left, said = context.new_page(), list[str](), list[str]()
    found.on("request", lambda request: left.append(request.url))
    found.on("console", lambda message: said.append(message.text))
    found.on("pageerror", lambda error: said.append(str(error)))
    yield found
    context.close()
    assert {urlsplit(url).netloc for url in left} <= {f"127.0.0.1:{process.admin}"}
    assert said == []


def an_example(page: Any) -> None:
    page.goto("/console/runs?label=fail")
    page.locator("a.id").first.click()
    page.wait_for_selector("article.verdict")


def test_which_agent_got_worse_since_the_release_in_which_step_show_me_one(page: Any) -> None:
    began = time.monotonic()
    page.goto("/console")
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("link", name="24h").click()
    page.wait_for_url("**range=24h**")
    worst = page.locator("table").first.locator("tbody tr").nth(1)
    assert "support" in worst.inner_text()
    assert "▼" in worst.inner_text()
    step = page.locator("table").nth(1).locator("tbody tr").first
    assert "wrong arguments lookup_order.order_id" in step.inner_text()
    step.locator("a").last.click()
    expect(page.locator("article")).to_contain_text("does not match ^ord_")
    assert seed.WORSE in page.locator("article").inner_text()
    assert time.monotonic() - began < 60


def test_the_accuracy_of_each_rule_is_seen_against_its_objective(page: Any) -> None:
    for path in ("/console?range=24h", "/console/rules?range=24h"):
        page.goto(path)
        rules = page.get_by_role("region", name="Rules").locator("tbody tr")
        refund, booking = (
            rules.filter(has=page.get_by_role("link", name=name)).first for name in ("refund", "booking")
        )
        assert refund.locator(".objective").inner_text() == "▼ below"
        assert "95.0 %" in " ".join(refund.inner_text().split())
        assert booking.locator(".objective").inner_text() == "▲ above"
        assert page.locator(".meter .goal").count() == 2


def test_a_run_that_is_stored_appears_by_itself(process: CollectorProcess, page: Any) -> None:
    page.goto("/console/runs")
    trace = b"\x5a" * 16
    send(process, data.tool(2, 1, "lookup_order", trace_id=trace), data.agent(1, name="support", trace_id=trace))
    page.wait_for_selector(f"a.id[href$='{trace.hex()}']", timeout=60_000)


def test_updates_can_be_paused(process: CollectorProcess, page: Any) -> None:
    page.goto("/console/runs")
    page.get_by_role("button", name="Pause updates").click()
    page.evaluate(
        "new EventSource('/console/events').addEventListener('stored', () => { document.body.dataset.told = 1; })"
    )
    trace = b"\x5b" * 16
    send(process, data.tool(2, 1, "lookup_order", trace_id=trace), data.agent(1, name="support", trace_id=trace))
    page.wait_for_selector("body[data-told]", timeout=60_000)
    page.wait_for_timeout(2600)  # longer than a page waits between two updates
    assert page.locator(f"a.id[href$='{trace.hex()}']").count() == 0
    page.get_by_role("button", name="Resume updates").click()
    page.wait_for_selector(f"a.id[href$='{trace.hex()}']", timeout=60_000)


def test_tabs_that_nobody_sees_keep_no_connection_and_are_updated_once_they_are_seen(
    process: CollectorProcess, browser: Any
) -> None:
    context = browser.new_context(base_url=f"http://127.0.0.1:{process.admin}")
    # Without a screen every tab of a browser counts as seen.
    context.add_init_script("Object.defineProperty(document, 'hidden', {get: () => window.isBehind ?? false})")
    tabs = [context.new_page() for _ in range(8)]  # a browser has six connections to a server
    for tab in tabs:
        tab.goto("/console/runs", timeout=30_000)
        put_behind(tab, True)
    trace = b"\x5c" * 16
    send(process, data.tool(2, 1, "lookup_order", trace_id=trace), data.agent(1, name="support", trace_id=trace))
    put_behind(tabs[0], False)
    tabs[0].wait_for_selector(f"a.id[href$='{trace.hex()}']", timeout=60_000)
    assert tabs[1].locator("[data-refreshed]").count() == 0
    context.close()


def put_behind(tab: Any, is_behind: bool) -> None:
    """Have a tab be covered by another one, or be seen."""
    tab.evaluate(
        "behind => { window.isBehind = behind; document.dispatchEvent(new Event('visibilitychange')); }", is_behind
    )


def test_a_page_for_which_there_was_no_room_asks_again(process: CollectorProcess, browser: Any) -> None:
    context = browser.new_context(base_url=f"http://127.0.0.1:{process.admin}")
    found = context.new_page()
    found.clock.install()
    found.route("**/console/events", lambda route: route.fulfill(status=503), times=1)
    with found.expect_response("**/console/events") as refused:
        found.goto("/console/runs")
    assert refused.value.status == 503
    with found.expect_request("**/console/events"):
        found.clock.fast_forward(30_000)
    context.close()


def test_every_filter_is_in_the_url_and_can_be_removed(page: Any) -> None:
    page.goto("/console/runs")
    for field, value in (
        ("label", "fail"),
        ("rule", "refund"),
        ("agent", "support"),
        ("route", "/chat/support"),
        ("range", "24h"),
    ):
        page.select_option(f"select[name={field}]", value)
    page.fill("input[name=q]", "lookup")
    page.get_by_text("More filters").click()
    for field, value in (("tool", "lookup_order"), ("outcome", "wrong_arguments"), ("service.version", seed.WORSE)):
        page.fill(f"input[name='{field}']", value)
    page.get_by_role("button", name="Filter").click()
    chips = page.locator(".chips li")
    expect(chips).to_have_count(10)
    assert "rule=refund" in page.url
    assert page.locator("tbody tr").count() > 3
    assert {" ".join(text.split()) for text in page.locator("tbody .mark").all_inner_texts()} == {"✕ fail"}
    page.locator(".chips a").first.click()
    expect(chips).to_have_count(9)
    page.goto("/console/runs?agent=nobody")
    assert "No stored run fits" in page.inner_text("main")


def test_the_keyboard_reaches_everything(page: Any) -> None:
    page.goto("/console/runs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator("a.id").nth(1).get_attribute("href")
    assert page.evaluate("document.activeElement.getAttribute('href')") == second
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{second}")


def test_the_script_runs_to_its_end_on_every_page(page: Any) -> None:
    for path in PAGES:
        page.goto(path)  # the fixture fails where it raised an error


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_anybody(process: CollectorProcess, browser: Any, scheme: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed (npm ci in tests/console/node)")
    context = browser.new_context(base_url=f"http://127.0.0.1:{process.admin}", color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    an_example(page)
    for path in (urlsplit(page.url).path, *PAGES):
        page.goto(path)
        page.add_script_tag(path=AXE)
        violations = page.evaluate("axe.run().then((found) => found.violations)")
        serious = [
            (one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], path
    context.close()


def test_dark_and_light_differ_and_a_phone_scrolls_in_one_direction(process: CollectorProcess, browser: Any) -> None:
    backgrounds = set()
    for scheme in ("light", "dark"):
        context = browser.new_context(
            base_url=f"http://127.0.0.1:{process.admin}", color_scheme=scheme, viewport={"width": 390, "height": 800}
        )
        page = context.new_page()
        an_example(page)
        for path in (urlsplit(page.url).path, *PAGES):
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            backgrounds.add(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        context.close()
    assert len(backgrounds) == 2


def test_all_but_the_live_part_works_without_scripts(process: CollectorProcess, browser: Any) -> None:
    context = browser.new_context(base_url=f"http://127.0.0.1:{process.admin}", java_script_enabled=False)
    page = context.new_page()
    an_example(page)
    page.get_by_text("Make this a rule test").click()
    assert "passes: false" in page.inner_text("main")
    page.get_by_role("link", name="Rules").click()
    page.fill("textarea", 'rules: [{name: lenient, match: {}, expect: {allow_extra: ["*"]}}]')
    page.get_by_role("button", name="Try on stored runs").click()
    expect(page.locator("main")).to_contain_text("stored runs change verdict")
    context.close()
