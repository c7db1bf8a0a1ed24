"""``make bench``: run everything, print a table, write .bench/results.json."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from tests import bench_scorers
from tests.bench import end_to_end, peers, stages

_SPOOL = {"path": "spool"}
_RESULTS = Path(".bench/results.json")


def main() -> None:
    """Run the benchmarks."""
    console = Console()
    through = end_to_end.throughput()
    # Alternately, since other work on the machine comes and goes.
    stores: tuple[Any, ...] = ("off", {})
    pairs = [[end_to_end.throughput(8, runs=runs)["spans_per_cpu_second"] for runs in stores] for _ in range(4)]
    store_share = 1 - median(on / off for off, on in pairs)
    durable = end_to_end.throughput(spool=_SPOOL)
    unsynced = end_to_end.throughput(spool={**_SPOOL, "fsync": False})
    half = through["spans_per_second"] / 2
    delay = end_to_end.latency(half)
    safe_delay = end_to_end.latency(durable["spans_per_second"] / 2, spool=_SPOOL)
    shares = stages.shares()
    table = Table("what", "figure", title="Reference mix: 13-span traces, 512 spans per request")
    for name, figure in (
        ("spans per CPU-second, gRPC in, scored, gRPC out", f"{through['spans_per_cpu_second']:,.0f}"),
        ("spans per second accepted at full load", f"{through['spans_per_second']:,.0f}"),
        ("share of the CPU time for the console's store of runs", f"{store_share:.1%}"),
        ("the same with a spool, spans per CPU-second", f"{durable['spans_per_cpu_second']:,.0f}"),
        ("spans per second accepted, spool", f"{durable['spans_per_second']:,.0f}"),
        ("spans per second accepted, spool without fsync", f"{unsynced['spans_per_second']:,.0f}"),
        (
            "throughput with a spool, relative to memory mode",
            f"{durable['spans_per_second'] / through['spans_per_second']:.0%}",
        ),
        ("share delivered", f"{through['delivered_share']:.4f}"),
        ("pipeline alone, µs per span", f"{stages.microseconds_per_span():.2f}"),
        (f"pass-through at half load ({half:,.0f}/s), p50", f"{delay['p50_ms']:.2f} ms"),
        ("pass-through at half load, p99", f"{delay['p99_ms']:.2f} ms"),
        ("with a spool at half its load, p50", f"{safe_delay['p50_ms']:.2f} ms"),
        ("with a spool at half its load, p99", f"{safe_delay['p99_ms']:.2f} ms"),
        ("bytes per open trace beyond held spans", f"{stages.bytes_per_open_trace():,.0f}"),
        ("RSS idle", f"{through['idle_rss_mib']:.0f} MiB"),
        ("RSS after the load", f"{through['loaded_rss_mib']:.0f} MiB"),
        ("ready after", f"{through['ready_seconds']:.2f} s"),
    ):
        table.add_row(name, figure)
    for name, share in sorted(shares.items(), key=lambda item: -item[1]):
        table.add_row(f"share of the pipeline: {name}", f"{share:.1%}")
    console.print(table)
    compared = list(peers.compare())
    table = Table(
        "system", "spans per CPU-second", "relative", "delivered", "MiB", title=f"Python {platform.python_version()}"
    )
    for name, rate, share, rss in compared:
        table.add_row(name, f"{rate:,.0f}", f"{rate / compared[0][1]:.2f}", f"{share:.4f}", f"{rss:.0f}")
    console.print(table)
    scored = bench_scorers.figures()
    console.print(
        "\nTrajectories scored per second on one core, by number of calls", bench_scorers.table(scored), sep="\n"
    )
    _RESULTS.parent.mkdir(exist_ok=True)
    _RESULTS.write_text(
        json.dumps(
            {
                "end_to_end": through,
                "store_of_runs": pairs,
                "spool": durable,
                "spool_without_fsync": unsynced,
                "latency": delay,
                "stages": shares,
                "scorers": scored,
                "peers": compared,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
