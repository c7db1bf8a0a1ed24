"""A real browser, and a collector with a history for it to look at."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.collector_process import CollectorProcess
from tests.console import seed
from tests.console.given import AT_ONCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync"]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser of Playwright's that shows nothing on a screen."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an optional part

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_QUIET)
        yield browser
        browser.close()


@contextmanager
def collector(**sections: Any) -> Iterator[CollectorProcess]:
    """A collector whose store has the runs of a day, with a release in the middle of it."""
    with tempfile.TemporaryDirectory(prefix="rightcall-runs-") as folder:
        seed.fill(Path(folder), int(time.time()))
        with CollectorProcess(seed.RULES, None, traces=AT_ONCE, runs={"path": folder}, **sections) as process:
            yield process
