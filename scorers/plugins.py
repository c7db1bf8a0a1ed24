"""Scorers and argument matchers of other packages: what such a package provides, and which are installed.

A package provides a `ScorerPlugin` under the entry point group ``rightcall.scorers``, a `MatcherPlugin` under
``rightcall.matchers``. Whoever loads rules finds them and puts them into `SCORERS` and `MATCHERS`, with a `Limit` of time for
their calls, since this package has neither I/O nor a clock. Each is imported when a rule first names it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Generic, Protocol, TypeVar, get_args

from scorers.calls import Call
from scorers.options import Options, OptionsT, check_options, parse_options
from scorers.quoting import shorten
from scorers.score import MAX_REASON, Outcome, Score
from scorers.work import Work, WorkLimitError

MAX_DETAILS: Final = 20_000
"""Characters of the details of a score, as JSON."""

_T = TypeVar("_T")


class PluginError(ValueError):
    """A plug-in cannot be used, or raised. The message names it, and the package that it is of."""


@dataclass(frozen=True, slots=True)
class ScorerPlugin(Generic[OptionsT]):
    """A scorer: its options, and a function from them, the expected calls and the calls made to a score.

    The function must not change what it is given. Where it raises, the evaluation is an ``error``. ``reads_expected`` is False
    if its options say all that it expects: a rule then needs no pattern for it, and the expected calls are empty.
    ``reads_arguments`` is False if it does not look at arguments: then it does not matter whether they were captured.
    """

    options: type[OptionsT]
    score: Callable[[OptionsT, list[Call], list[Call]], Score]
    reads_expected: bool = True
    reads_arguments: bool = True


@dataclass(frozen=True, slots=True)
class MatcherPlugin(Generic[OptionsT]):
    """A matcher of arguments: its options, and whether a value (any JSON value) is as they say."""

    options: type[OptionsT]
    matches: Callable[[OptionsT, Any], bool]


class Limit(Protocol):
    """Limits the time of calls."""

    def __call__(self, call: Callable[[], _T], work: Work, part: str) -> _T:
        """Returns what ``call`` returns; spends the work that it took on ``part``. Raises WorkLimitError, PluginError."""


PluginT = TypeVar("PluginT", ScorerPlugin[Any], MatcherPlugin[Any])


class Installed(Generic[PluginT]):
    """A plug-in of an installed package; ``load`` imports it, and may raise anything."""

    def __init__(self, name: str, package: str, kind: type[PluginT], load: Callable[[], object], limit: Limit) -> None:
        self.name, self.package = name, package
        """``package`` is its name and version: ``acme-scorers@1.2``."""
        self.title = f"{'scorer' if kind is ScorerPlugin else 'matcher'} {name} of {package}"
        self._kind: type[PluginT] = kind
        self._load, self._limit = load, limit

    @cached_property
    def plugin(self) -> PluginT:
        """What the package provides, imported when first needed. Raises PluginError."""
        try:
            loaded = self._load()
        except PluginError:
            raise
        # SystemExit is no Exception, and a module that calls sys.exit when it is imported would end the process.
        except (Exception, SystemExit) as error:  # it may raise anything
            raise PluginError(f"{self.title} cannot be loaded: {_reason(error)}") from error
        if not isinstance(loaded, self._kind):
            raise PluginError(f"{self.title} must be a {self._kind.__name__}, not {type(loaded).__name__}")
        if not (isinstance(loaded.options, type) and issubclass(loaded.options, Options)):
            raise PluginError(f"{self.title}: its options must be a subclass of scorers.Options")
        return loaded

    def parse(self, options: Mapping[str, Any]) -> Options:
        """Returns its options, as a rule gives them. Raises ValueError naming every mistake, PluginError."""
        model: type[Options] = self.plugin.options
        check_options(self.name, model, options)
        return parse_options(self.name, model, options)

    def call(self, function: Callable[[], _T], work: Work) -> _T:
        """Returns what a function of the plug-in returns. Raises PluginError where it raises, WorkLimitError."""
        try:
            return self._limit(function, work, f"the time of {self.title}")
        except (PluginError, WorkLimitError):
            raise
        except (Exception, SystemExit) as error:  # it may raise anything
            raise PluginError(f"{self.title} raised {_reason(error)}") from error


# Filled by whoever loads rules: finding installed packages is I/O, which this package does not do.
SCORERS: dict[str, Installed[ScorerPlugin[Any]]] = {}
MATCHERS: dict[str, Installed[MatcherPlugin[Any]]] = {}


def score_of(
    installed: Installed[ScorerPlugin[Any]], options: Options, calls: Sequence[list[Call]], work: Work
) -> Score:
    """Returns its score of the expected calls and those made. Raises PluginError, also for what is no score; WorkLimitError."""
    expected, made = calls

    # Checked inside the call: a mapping of the plug-in that raises or is slow is an error of the plug-in, too.
    def checked() -> Score:
        score = installed.plugin.score(options, expected, made)
        if (mistake := _mistake(score, len(made))) is not None:
            raise PluginError(f"{installed.title} {mistake}")
        value = None if score.value is None else float(score.value)
        # A plug-in may quote what an agent sent, so its text is cut and escaped as any other.
        return replace(score, value=value, explanation=shorten(score.explanation, MAX_REASON))

    return installed.call(checked, work)


def _mistake(score: object, calls: int) -> str | None:
    """What of a score others could not read; its value checks itself."""
    if not isinstance(score, Score):
        return f"returned {type(score).__name__}, not a scorers.Score"
    if score.label not in ("pass", "fail", "error"):
        return f"returned the label {score.label!r:.40}, not pass, fail or error"
    if len(score.outcomes) not in (0, calls) or not set(score.outcomes) <= set(get_args(Outcome)):
        return "returned outcomes that are not one known outcome for each call made"
    if not all(isinstance(text, str) for text in (score.explanation, *score.missing)):
        return "returned an explanation or names of missing tools that are not text"
    if not isinstance(score.details, Mapping) or len(json.dumps(dict(score.details), allow_nan=False)) > MAX_DETAILS:
        return f"returned details that are not a mapping of at most {MAX_DETAILS} characters as JSON"
    return None


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {shorten(str(error), MAX_REASON)}"
