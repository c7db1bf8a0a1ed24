"""Measure the collector: ``python -m tests.bench [PART ...]`` prints tables and writes .bench/results.json.

Without parts all are measured, which takes many minutes with the peers of ``make peers``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from tests import bench_scorers
from tests.bench import end_to_end, peers, stages
from tests.bench import kafka as from_kafka

_SPOOL: Final = {"path": "spool"}
_RESULTS: Final = Path(".bench/results.json")
_CONSOLE: Final = Console()


@cache
def _in_memory() -> dict[str, float]:
    return end_to_end.throughput()


@cache
def _spooled() -> dict[str, float]:
    return end_to_end.throughput(spool=_SPOOL)


def throughput() -> dict[str, Any]:
    """What one collector takes at full load, without a spool."""
    full = _in_memory()
    _print(
        "Full load, spool: memory",
        ("spans per CPU-second, gRPC in, scored, gRPC out", f"{full['spans_per_cpu_second']:,.0f}"),
        ("spans per second accepted", f"{full['spans_per_second']:,.0f}"),
        ("share delivered", f"{full['delivered_share']:.4f}"),
        ("RSS idle", f"{full['idle_rss_mib']:.0f} MiB"),
        ("RSS after the load", f"{full['loaded_rss_mib']:.0f} MiB"),
        ("ready after", f"{full['ready_seconds']:.2f} s"),
    )
    return {"end_to_end": full}


def store() -> dict[str, Any]:
    """What share of the CPU time the console's store of runs takes."""
    settings: tuple[Any, ...] = ("off", {})
    # Alternately, since other work on the machine comes and goes.
    pairs = [[end_to_end.throughput(8, runs=runs)["spans_per_cpu_second"] for runs in settings] for _ in range(4)]
    share = 1 - median(on / off for off, on in pairs)
    _print("The console's store of runs", ("share of the CPU time", f"{share:.1%}"))
    return {"store_of_runs": pairs}


def spool() -> dict[str, Any]:
    """What one collector takes at full load with a spool."""
    durable, unsynced = _spooled(), end_to_end.throughput(spool={**_SPOOL, "fsync": False})
    _print(
        "Full load, spool on disk",
        ("spans per CPU-second", f"{durable['spans_per_cpu_second']:,.0f}"),
        ("spans per second accepted", f"{durable['spans_per_second']:,.0f}"),
        ("spans per second accepted, fsync: false", f"{unsynced['spans_per_second']:,.0f}"),
        ("accepted relative to spool: memory", f"{durable['spans_per_second'] / _in_memory()['spans_per_second']:.0%}"),
    )
    return {"spool": durable, "spool_without_fsync": unsynced}


def latency() -> dict[str, Any]:
    """How long spans that are passed through take at half of the full load."""
    half, half_spooled = _in_memory()["spans_per_second"] / 2, _spooled()["spans_per_second"] / 2
    delay, spooled = end_to_end.latency(half), end_to_end.latency(half_spooled, spool=_SPOOL)
    _print(
        "Pass-through at half load",
        (f"spool: memory, {half:,.0f} spans per second, p50", f"{delay['p50_ms']:.2f} ms"),
        ("p99", f"{delay['p99_ms']:.2f} ms"),
        (f"spool on disk, {half_spooled:,.0f} spans per second, p50", f"{spooled['p50_ms']:.2f} ms"),
        ("p99", f"{spooled['p99_ms']:.2f} ms"),
    )
    return {"latency": delay, "latency_spool": spooled}


def compiled() -> dict[str, Any]:
    """Throughput and latency of the compiled build, which the image ships, if `make peers` has built it."""
    if not peers.COMPILED.exists():
        return {}
    build: dict[str, Any] = {"python": str(peers.COMPILED.absolute())}
    full, spooled = end_to_end.throughput(**build), end_to_end.throughput(spool=_SPOOL, **build)
    rates = full["spans_per_second"] / 2, spooled["spans_per_second"] / 2
    delays = end_to_end.latency(rates[0], **build), end_to_end.latency(rates[1], spool=_SPOOL, **build)
    _print(
        "The compiled build",
        *(
            row
            for where, figures, rate, delay in zip(("memory", "disk"), (full, spooled), rates, delays, strict=True)
            for row in (
                (f"spool: {where}, spans per CPU-second", f"{figures['spans_per_cpu_second']:,.0f}"),
                ("spans per second accepted", f"{figures['spans_per_second']:,.0f}"),
                (f"pass-through at {rate:,.0f} spans per second, p50", f"{delay['p50_ms']:.2f} ms"),
                ("p99", f"{delay['p99_ms']:.2f} ms"),
            )
        ),
    )
    return {"compiled": [full, spooled], "compiled_latency": delays}


def kafka() -> dict[str, Any]:
    """What one collector takes from Kafka, interpreted and compiled, where RIGHTCALL_TEST_KAFKA names a folder for it."""
    if "RIGHTCALL_TEST_KAFKA" not in os.environ:
        return {}
    builds = {"interpreted": sys.executable, "compiled": str(peers.COMPILED.absolute())}
    found = {name: from_kafka.throughput(python=python) for name, python in builds.items() if Path(python).exists()}
    table = Table(
        "build", "spans per CPU-second", "spans per second", "delivered", title="From Kafka, a trace a message"
    )
    for name, figures in found.items():
        rates = (f"{figures[what]:,.0f}" for what in ("spans_per_cpu_second", "spans_per_second"))
        table.add_row(name, *rates, f"{figures['delivered_share']:.4f}")
    _CONSOLE.print(table)
    return {"kafka": found}


def pipeline() -> dict[str, Any]:
    """What a span and an open trace cost in the pipeline alone, and which share each stage has."""
    shares = stages.shares()
    _print(
        "The pipeline alone",
        ("µs per span", f"{stages.microseconds_per_span():.2f}"),
        ("bytes per open trace beyond held spans", f"{stages.bytes_per_open_trace():,.0f}"),
        *((f"share: {name}", f"{share:.1%}") for name, share in sorted(shares.items(), key=lambda one: -one[1])),
    )
    return {"stages": shares}


def compared() -> dict[str, Any]:
    """The same load through this collector and others."""
    return {"peers": _compared(end_to_end.REFERENCE, "13-span traces")}


def content() -> dict[str, Any]:
    """The same with spans that have the messages of the model and the results of tools, 18 kB each."""
    return {"content": _compared(end_to_end.CONTENT, "traces with their messages")}


def _compared(mix: end_to_end.Mix, traffic: str) -> list[tuple[str, float, float, float]]:
    found = list(peers.compare(mix))
    columns = ("system", "spans per CPU-second", "relative", "delivered", "MiB")
    table = Table(*columns, title=f"Python {platform.python_version()}, {traffic}")
    for name, rate, share, rss in found:
        table.add_row(name, f"{rate:,.0f}", f"{rate / found[0][1]:.2f}", f"{share:.4f}", f"{rss:.0f}")
    _CONSOLE.print(table)
    return found


def scorers() -> dict[str, Any]:
    """How many trajectories each scorer scores per second on one core, by number of calls."""
    scored = bench_scorers.figures()
    _CONSOLE.print(bench_scorers.table(scored))
    return {"scorers": scored}


PARTS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "throughput": throughput,
    "store": store,
    "spool": spool,
    "latency": latency,
    "compiled": compiled,
    "kafka": kafka,
    "pipeline": pipeline,
    "peers": compared,
    "content": content,
    "scorers": scorers,
}


def _print(title: str, *rows: tuple[str, str]) -> None:
    table = Table("what", "figure", title=f"{title} (13-span traces, 512 spans per request)")
    for row in rows:
        table.add_row(*row)
    _CONSOLE.print(table)


def wanted(arguments: Sequence[str] | None = None) -> list[str]:
    """Returns the parts that the command line names, all if it names none. Raises SystemExit if there is no such part."""
    described = "\n".join(f"  {name:12}{part.__doc__}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=f"{__doc__}\n{described}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", nargs="*", default=list(PARTS), metavar="PART", help="one of the parts above")
    parts: list[str] = parser.parse_args(arguments).part
    for name in parts:
        if name not in PARTS:
            parser.error(f"no part {name!r}; the parts are {', '.join(PARTS)}")
    return parts


def main() -> None:
    """Run from the command line."""
    results: dict[str, Any] = {}
    for name in wanted():
        results |= PARTS[name]()
    _RESULTS.parent.mkdir(exist_ok=True)
    _RESULTS.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
