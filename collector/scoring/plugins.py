"""Finds the scorers and argument matchers of installed packages, by their entry points, once for each process.

Nothing is imported before a rule names it. A plug-in whose name cannot be used is left out, and listed by `check --systems`;
one that cannot be imported is an error where a rule names it, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, TypeVar

from collector.scoring.time_limit import TimeLimit
from scorers.plugins import MATCHERS, SCORERS, Installed, MatcherPlugin, PluginError, ScorerPlugin
from scorers.registry import OPTIONS
from scorers.rules.matchers import MATCHER_MODELS

SCORER_GROUP: Final = "rightcall.scorers"
MATCHER_GROUP: Final = "rightcall.matchers"
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")

_MATCHER_KEYS: Final = {
    field.alias or key for model in MATCHER_MODELS.values() for key, field in model.model_fields.items()
}

_PluginT = TypeVar("_PluginT", ScorerPlugin[Any], MatcherPlugin[Any])


@cache
def find_plugins() -> tuple[str, ...]:
    """Make the plug-ins of installed packages known to the rules. Returns why those that were left out cannot be used."""
    return (
        *_find(SCORER_GROUP, ScorerPlugin, SCORERS, OPTIONS),
        *_find(MATCHER_GROUP, MatcherPlugin, MATCHERS, _MATCHER_KEYS),
    )


def lines() -> Iterator[str]:
    """Yield a line for each plug-in, with its package, and for each that cannot be used the reason."""
    unusable = find_plugins()
    yield from (_line(SCORER_GROUP, one) for _, one in sorted(SCORERS.items()))
    yield from (_line(MATCHER_GROUP, one) for _, one in sorted(MATCHERS.items()))
    yield from unusable


def _line(group: str, installed: Installed[Any]) -> str:
    shown = f"{installed.name}  {installed.package} ({group})"
    try:
        options = installed.plugin.options.model_fields.items()
    except PluginError as error:
        return f"{shown}: cannot be used: {error}"
    return f"{shown}: {', '.join(field.alias or key for key, field in options) or 'no options'}"


def _find(
    group: str, kind: type[_PluginT], known: dict[str, Installed[_PluginT]], taken: Collection[str]
) -> Iterator[str]:
    by_name: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=group):
        by_name.setdefault(entry.name, []).append(entry)
    for name, entries in by_name.items():
        packages = " and ".join(map(_package, entries))
        if name in taken or not _NAME.fullmatch(name):
            reason = (
                "a built-in one has this name" if name in taken else "letters, digits, `_`, `.` and `-` make a name"
            )
            yield f"{name!r:.100}  {packages} ({group}): cannot be used: {reason}"
        else:
            known[name] = Installed(name, packages, kind, _Load(entries), TimeLimit())


class _Load:
    """Imports what an entry point names."""

    def __init__(self, entries: list[EntryPoint]) -> None:
        self._entries = entries

    def __call__(self) -> object:
        if len(self._entries) > 1:
            raise ImportError("more than one package provides it: uninstall all but one")
        return self._entries[0].load()


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name}@{entry.dist.version}" if entry.dist else entry.value
