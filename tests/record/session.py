"""Runs in the interpreter of the framework, once for each scenario. Imports the standard library and OTLP only.

The script of a framework calls `record` with two functions: one enables its instrumentation, the other runs an agent.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.record.recordings import RECORDINGS, package_name
from tests.record.scenarios import AGENT, INNER_AGENT, scenarios
from tests.record.truth import TruthLog

Tools = Sequence[Callable[..., str]]
Ask = Callable[[str, str, Tools], str]
"""Runs the agent with this name, user input and tools. Returns its final answer."""


def own_provider(service: str) -> TracerProvider:
    """Returns the tracer provider of an application that exports over OTLP/HTTP."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider


def record(
    instrument: Callable[[TracerProvider], None],
    ask: Ask,
    *,
    has_agents: bool = True,
    make_provider: Callable[[str], TracerProvider] = own_provider,
) -> None:
    """Run the scenario named on the command line and write ``truth.json``. Exits with an error if the agent ends differently.

    The command line is NAME SCENARIO FOLDER; addresses come from the standard variables of the SDKs.
    """
    name, scenario_name, folder = sys.argv[1:]
    recording = RECORDINGS[name]
    scenario, log = scenarios(recording.tool_prefix)[scenario_name], TruthLog(recording.tool_prefix)
    provider = make_provider(name)
    instrument(provider)
    runs = 0

    def run(agent: str, user_input: str, tools: Tools) -> str:
        nonlocal runs
        runs += 1
        return ask(agent, user_input, [log.watch(tool) for tool in tools])

    def ask_policy_agent(question: str) -> str:
        """Ask the agent that knows the policies."""
        return run(INNER_AGENT, question, scenario.inner_tools)

    tools = [*([ask_policy_agent] if scenario.inner_tools else []), *scenario.tools]
    with _web_request(provider) if recording.behind_route else nullcontext():
        answer = run(AGENT, scenario.user_input, tools)
    provider.shutdown()
    packages = [package_name(requirement) for requirement in recording.requirements]
    described = {
        "framework": packages[0],
        "instrumentation": " + ".join(map(package_name, recording.instrumentations)),
        "scenario": scenario_name,
        "protocol": os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "agent_names": list(dict.fromkeys(answer.agent for answer in scenario.answers)) if has_agents else [],
    }
    truth = log.truth(scenario, described, packages, runs)
    (Path(folder) / "truth.json").write_text(json.dumps(truth, indent=1, ensure_ascii=False) + "\n")
    if not answer.endswith(scenario.answers[-1].text or ""):  # some put the text between turns before it
        raise SystemExit(f"the agent ended with {answer!r}")


def _web_request(provider: TracerProvider) -> AbstractContextManager[trace.Span]:
    attributes = {"http.request.method": "POST", "http.route": "/chat"}
    tracer = provider.get_tracer("shop")
    return tracer.start_as_current_span("POST /chat", kind=trace.SpanKind.SERVER, attributes=attributes)
