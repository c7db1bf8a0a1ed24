"""What the log says at the start: the addresses, the rules, the backends; and what to do where no span comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from collector.config.endpoints import shown_endpoint
from collector.config.exporters import ExportersConfig
from collector.scoring.rule_files import LoadedRules
from collector.telemetry.metrics import Telemetry
from scorers.wording import quantity

FIRST_SPAN_WITHIN = 60.0
"""Seconds after which the log says how to send spans, if none has come."""


def announcement(addresses: Sequence[str], rules: LoadedRules, exporters: ExportersConfig) -> str:
    """Returns one line."""
    return f"ready: {', '.join(addresses)}; {in_force(rules)}; {_backends(exporters)}"


def in_force(rules: LoadedRules) -> str:
    """Returns how many rules there are, and from where."""
    count, names = len(rules.set.rules), [name for name, _ in rules.files]
    if not names:
        return "no rules, so no run gets a score (rules: [rules/])"
    files = ", ".join(names[:5]) + (f" and {quantity(len(names) - 5, 'more file')}" if len(names) > 5 else "")
    return f"{quantity(count, 'rule')} from {files}" if count else f"no rules in {files}, so no run gets a score"


def _backends(exporters: ExportersConfig) -> str:
    parts = [f"{', '.join(to.signals)} to {shown_endpoint(to.backend.endpoint)}" for to in exporters.destinations()]
    if exporters.otlp is not None and exporters.otlp.off:
        parts.append(f"{', '.join(exporters.otlp.off)} off")
    if (kafka := exporters.kafka) is not None:
        topics = [f"{signal} to topic {getattr(kafka, signal).topic}" for signal in kafka.signals()]
        parts.append(f"{', '.join(topics)} at {', '.join(kafka.brokers)}")
    if exporters.file is not None:
        parts.append(f"everything to {exporters.file.path}")
    if exporters.debug is not None:
        parts.append("everything to this log")
    return "; ".join(parts) or "no backend, so results are in the metrics only (exporters.otlp)"


async def hint_without_spans(telemetry: Telemetry, addresses: Sequence[str], seconds: float = FIRST_SPAN_WITHIN) -> str:
    """Wait. Returns what to do if no span has come, "" if one has."""
    await asyncio.sleep(seconds)
    refused = _total(telemetry, "receiver_refused_spans")
    if _total(telemetry, "receiver_accepted_spans"):
        return ""
    if refused:
        return f"no span in {seconds:g} s, and {refused:g} requests were refused: see rightcall_receiver_refused_spans_total"
    settings = _settings_of_agents(addresses)
    if not settings:
        return f"no span in {seconds:g} s from {', '.join(address for address in addresses if address.startswith('topic'))}"
    return f"no span in {seconds:g} s. In the agent's environment set {settings}; listeners: {', '.join(addresses)}"


def _settings_of_agents(addresses: Sequence[str]) -> str:
    """Returns the variables by which an SDK sends here, "" where there is no listener for OTLP."""
    for sign, scheme, protocol in (("OTLP/HTTP", "", "http/protobuf"), ("OTLP/gRPC", "http://", "grpc")):
        for address in addresses:
            if address.startswith(sign):
                url = scheme + address.rpartition(" ")[2]
                return f"OTEL_EXPORTER_OTLP_ENDPOINT={url} and OTEL_EXPORTER_OTLP_PROTOCOL={protocol}"
    return ""


def _total(telemetry: Telemetry, name: str) -> float:
    families = [family for family in telemetry.registry.collect() if family.name == f"rightcall_{name}"]
    return sum(sample.value for family in families for sample in family.samples if sample.name.endswith("_total"))
