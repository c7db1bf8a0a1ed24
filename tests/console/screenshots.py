"""Pictures of the console: ``python -m tests.console.screenshots [FOLDER]``; without a folder, the one in the README."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.console.browser import chromium, collector

README = Path(__file__).parents[2] / "deploy" / "console.png"
"""The picture that the README shows."""
_PAGES = {
    "overview": "/console?range=24h",
    "runs": "/console/runs?label=wrong",
    "rules": "/console/rules?range=24h",
    "compare": "/console/compare?range=24h",
}


def main(folder: Path | None) -> None:
    """Take them, in each page's light and dark form and on a phone, or only the README's."""
    with collector() as process, chromium() as browser:
        base = f"http://127.0.0.1:{process.admin}"
        if folder is None:
            page = browser.new_page(viewport={"width": 1180, "height": 800}, color_scheme="light")
            page.goto(base + _PAGES["overview"])
            page.screenshot(path=README)
            return
        folder.mkdir(exist_ok=True)
        for name, path in _PAGES.items():
            for form, width, scheme in (("light", 1180, "light"), ("dark", 1180, "dark"), ("phone", 390, "light")):
                page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
                page.goto(base + path)
                page.screenshot(path=folder / f"{name}-{form}.png", full_page=True)
                page.close()
        page = browser.new_page(viewport={"width": 1180, "height": 800})
        page.goto(base + _PAGES["runs"])
        page.locator("a.id").first.click()
        page.screenshot(path=folder / "run-light.png", full_page=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
