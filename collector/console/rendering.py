"""Templates, and how numbers, times and received texts appear in them: all of it escaped and visible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from collector import figures
from collector.console.request import Reply
from scorers.quoting import MAX_PRINTED_NAME, json_line, printable, shorten

LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "pass": ("✓", "pass"),
    "fail": ("✕", "fail"),
    "incomplete": ("◐", "incomplete"),
    "ambiguous": ("⇄", "ambiguous"),
    "error": ("!", "error"),
    "no_rule": ("○", "no rule"),
}
"""Each label with its symbol and its word: a colour alone says it to nobody who cannot see it."""
OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    "matched": ("=", "matched"),
    "wrong_arguments": ("~", "wrong arguments"),
    "out_of_order": ("↕", "out of order"),
    "missing": ("\N{MINUS SIGN}", "missing"),
    "extra": ("+", "extra"),
    "forbidden": ("✕", "forbidden"),
    "broken": ("✕", "broken"),
    "unscored": ("·", "not scored"),
}
"""The same for the outcomes of calls."""
STATIC: Final = {
    "console.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""Files served as they are, and their types."""


def asset(name: str) -> Reply:
    """Returns one of the files of `STATIC`."""
    content = (files("collector.console") / "static" / name).read_bytes()
    return Reply(200, content, STATIC[name])


def page(template: str, status: int = 200, **values: Any) -> Reply:
    """Returns a page made from a template."""
    return Reply(status, _environment.get_template(template).render(values).encode())


def _finalized(value: Any) -> Any:
    """What is written where a template names a value: of received text every character can be seen."""
    # Escaping makes markup harmless, and leaves what reverses or hides text: `printable` shows it.
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return "" if value is None else value


def percent(value: float | None, digits: int = 1) -> str:
    """A share for people; 100 % only where nothing is missing, and 0 % only where nothing is there."""
    return "\N{EN DASH}" if value is None else f"{figures.percent(value, digits)} %"


def points(value: float) -> str:
    """A difference of shares in percentage points."""
    return f"{'' if value < 0 else '+'}{figures.percent(value)} pp".replace("-", "\N{MINUS SIGN}")


def count(value: float) -> str:
    """A number of runs."""
    return f"{value:,.0f}"


def ago(moment: float, now: float) -> str:
    """How long ago something was."""
    seconds = max(0, int(now - moment))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def timestamp(moment: float) -> str:
    """A time in RFC 3339, in UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration(nanoseconds: int) -> str:
    """A duration for people."""
    for size, unit in ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")):
        if nanoseconds >= size:
            value = nanoseconds / size
            return f"{value:.3g} {unit}" if value < 999.5 else f"{value:,.0f} {unit}"
    return f"{nanoseconds} ns"


def lines(text: str) -> Markup:
    """Several lines for people, each printable."""
    return Markup("\n").join(escape(printable(line)) for line in text.split("\n"))


def arguments(call: Mapping[str, Any], limit: int = 12) -> Sequence[tuple[str, str]]:
    """The arguments of a call, key by key, each as shortened JSON."""
    given = list((call.get("arguments") or {}).items())
    shown = [(shorten(str(key)), shorten(json_line(value), 240)) for key, value in given[:limit]]
    return shown if len(given) <= limit else [*shown, ("…", f"{len(given) - limit} more")]


def shortened(text: str | None, limit: int = MAX_PRINTED_NAME) -> str:
    """Returns what is shown of a text, as `shorten` does; nothing of one that a run does not have, such as its agent's name."""
    return shorten(text or "", limit)


def _environment_of() -> Environment:
    environment = Environment(
        loader=PackageLoader("collector.console"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_finalized,
    )  # fmt: skip
    for function in (percent, points, count, timestamp, duration, lines, arguments, ago):
        environment.filters[function.__name__] = function
    environment.filters["shorten"] = shortened
    environment.globals.update(LABELS=LABELS, OUTCOMES=OUTCOMES)
    return environment


# Made once: it keeps the compiled templates.
_environment = _environment_of()
