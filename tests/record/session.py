"""The inside of a recording: run by the framework's own interpreter, once for each scenario. Standard library and OTLP only.

A framework's script calls `record` with two functions: one switches its instrumentation on, the other asks its agent.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.record.scenarios import AGENT, scenarios
from tests.record.truth import TruthLog

Tools = Sequence[Callable[..., str]]


def record(
    instrument: Callable[[TracerProvider], None], ask: Callable[[str, Tools], str], agents: Sequence[str] = (AGENT,)
) -> None:
    """Run the scenario named on the command line and write ``truth.json``. Fails where the agent ends otherwise.

    The command line is NAME SCENARIO FOLDER PACKAGE...; addresses come from the variables that SDKs know.
    """
    name, scenario_name, folder, *packages = sys.argv[1:]
    scenario, log = scenarios()[scenario_name], TruthLog()
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    instrument(provider)
    answer = ask(scenario.user_input, [log.watch(tool) for tool in scenario.tools])
    provider.shutdown()
    described = {
        "framework": packages[0],
        "instrumentation": packages[1] if len(packages) > 1 else "built-in",
        "scenario": scenario_name,
        "protocol": os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "agent_names": list(agents),
    }
    truth = log.truth(scenario, described, packages)
    (Path(folder) / "truth.json").write_text(json.dumps(truth, indent=1, ensure_ascii=False) + "\n")
    if not answer.endswith(scenario.answers[-1].text or ""):  # some put what was said between before it
        raise SystemExit(f"the agent ended with {answer!r}")
