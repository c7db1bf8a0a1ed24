"""Generates the table in collector/dialects/README.md of what each framework's traces contain.

``python -m tests.collector.capture_table`` updates it from the recorded runs alone: a cell counts the runs of its row in
which the collector reads that facet correctly.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from collector.offline.score import score_files
from collector.reconstruction.judged_run import judged_run
from collector.reconstruction.run import Run
from collector.scoring.rule_files import LoadedRules
from scorers import load_rules
from tests import marked, recorded
from tests.collector.corpus_differences import NO_CONTENT, Truth, differences, executed
from tests.collector.corpus_limits import LIMITS

JUDGED = LoadedRules(load_rules({"rules": [{"name": "judged", "match": {}, "scorers": ["tool_choice"]}]}))
README = Path(__file__).parents[2] / "collector" / "dialects" / "README.md"
FACETS = (
    "names",
    "arguments",
    "errors",
    "order",
    "concurrency",
    "call ids",
    "nesting",
    "user input",
    "final response",
    "tools",
)

# Package names for instrumentations that recordings name differently.
_INSTRUMENTATIONS = {
    "mcp-traceloop": "@traceloop/instrumentation-mcp",
    "oaiagents-openlit": "openlit (npm)",
    "openai-elastic": "@elastic/opentelemetry-instrumentation-openai",
    "openai-oi": "@arizeai/openinference-instrumentation-openai",
    "openai-otel": "@opentelemetry/instrumentation-openai",
    "openai-agents-official": "opentelemetry-instrumentation-genai-openai-agents",
    "pydantic-ai-native-v5": "pydantic-ai native InstrumentationSettings(version=5 default)",
}


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One recorded run: for each facet whether it was read correctly; None if the run cannot show it."""

    name: str
    framework: str
    instrumentation: str
    has_content: bool
    exact: bool
    facets: dict[str, bool | None] = field(compare=False)

    @property
    def row(self) -> tuple[str, str, bool]:
        """The row of the table that it belongs to."""
        return self.framework, self.instrumentation, not self.has_content


def recorded_runs(folder: Path) -> Iterator[RecordedRun]:
    """Yields every recorded run in ``folder``, read by the collector and compared with its truth."""
    for name in recorded.names():
        truth = recorded.truth(folder / name)
        runs = [verdict.run for verdict in score_files([folder / name], JUDGED)]
        has_content = not any(word in name for word in NO_CONTENT)
        wrong = set(differences(truth, runs, has_content))
        facets = _facets(truth, runs, has_content, wrong)
        yield RecordedRun(name, _framework(truth), _instrumentation(truth), has_content, not wrong, facets)


def _facets(truth: Truth, runs: Sequence[Run], has_content: bool, wrong: set[str]) -> dict[str, bool | None]:
    calls = truth["tool_calls"]
    has_user_input = any(run.user_input is not None for run in runs)
    judged = [judged_run(run) for run in runs]
    has_response = any(run.response is not None for run in judged)
    offered = {tool.name for run in judged for tool in run.tools or ()}
    shown = {
        "names": bool(calls),
        "arguments": bool(calls) and has_content,
        "errors": any(call.get("error") for call in calls),
        "order": len(calls) > 1,
        "concurrency": bool(truth.get("parallel_groups")),
        "call ids": bool(calls),
        "nesting": len(truth.get("agent_names") or ()) > 1,
        "user input": has_content or has_user_input,
        "final response": has_content or has_response,
        "tools": bool(calls),
    }
    agrees = {facet: facet.replace(" ", "_") not in wrong for facet in FACETS}
    agrees["concurrency"] = not wrong & {"order", "steps"}
    agrees["final response"] = has_response
    agrees["tools"] = offered.issuperset(call.name for call, _ in executed(truth, runs))
    agrees["call ids"] = _has_ids(truth, runs)
    return {facet: agrees[facet] if shown[facet] else None for facet in FACETS}


def _has_ids(truth: Truth, runs: Sequence[Run]) -> bool:
    """Whether every call has its own id: the model's, or one that the framework generated."""
    found = [call.id for call, _ in executed(truth, runs)]
    return bool(found) and None not in found and len(set(found)) == len(found)


def _framework(truth: Truth) -> str:
    """Returns the framework's package and version, the first that a recording names."""
    if truth["framework"] == "plain python":
        return "plain Python"
    return next(f"{name} {version}" for name, version in truth["versions"].items() if name != "node" and version)


def _instrumentation(truth: Truth) -> str:
    name = re.sub(r" \((?:[a-z0-9]+-)*(?:chat|responses|stream|noparent|nocontent)\)$", "", truth["instrumentation"])
    name = _INSTRUMENTATIONS.get(name, name)
    return " + ".join(f"{part} {truth['versions'].get(part) or ''}".strip() for part in name.split(" + "))


# --- the table -------------------------------------------------------------------------------------------------------


def table(found: Iterable[RecordedRun]) -> str:
    """Returns the runs as Markdown: a summary, and a row per framework, instrumentation and setting of content capture."""
    found = sorted(found, key=lambda run: (*run.row, run.name))
    exact = sum(run.exact for run in found)
    lines = [
        f"{exact} of {len(found)} recorded runs are read exactly as they happened.",
        "",
        f"| framework | instrumentation | exact runs | {' | '.join(FACETS)} | limits |",
        "|---" * (len(FACETS) + 4) + "|",
    ]
    for (framework, instrumentation, silent), group in groupby(found, key=lambda run: run.row):
        runs = list(group)
        cells = [
            framework,
            instrumentation + (", content capture off" if silent else ""),
            f"{sum(run.exact for run in runs)} of {len(runs)}",
            *(_cell([run.facets[facet] for run in runs]) for facet in FACETS),
            _limits(run.name for run in runs if run.name in LIMITS),
        ]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _cell(facts: Sequence[bool | None]) -> str:
    known = [fact for fact in facts if fact is not None]
    if not known:
        return ""
    return "yes" if all(known) else f"{sum(known)} of {len(known)}" if any(known) else "no"


def _limits(names: Iterable[str]) -> str:
    """Returns the runs that are not exact, by reason."""
    of_reason: dict[str, list[str]] = {}
    for name in names:
        of_reason.setdefault(LIMITS[name][1], []).append(f"`{name}`")
    return "; ".join(f"{', '.join(listed)}: {reason}" for reason, listed in of_reason.items())


def readme() -> str:
    """Returns the README with an updated table."""
    with tempfile.TemporaryDirectory() as folder:
        recorded.unpack(Path(folder))
        return marked.replaced(README.read_text(), "captured", table(recorded_runs(Path(folder))))


if __name__ == "__main__":
    README.write_text(readme())
