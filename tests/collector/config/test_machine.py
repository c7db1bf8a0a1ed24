"""The memory that a process may use: limits of cgroups of both versions, wherever they are set."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.config.machine import doubt_about_address_space, memory_bytes

MIB = 1 << 20
NONE = memory_bytes(Path("/nowhere"))

MACHINES: dict[str, tuple[str, dict[str, str], int]] = {
    "no cgroup": ("", {}, NONE),
    "v2, in a container": ("0::/\n", {"memory.max": str(100 * MIB)}, 100 * MIB),
    "v2, around it": ("0::/a.slice/b.scope\n", {"a.slice/memory.max": f"{70 * MIB}\n"}, 70 * MIB),
    "v2, the smaller one": (
        "0::/a/b\n", {"a/memory.max": str(70 * MIB), "a/b/memory.max": str(90 * MIB)}, 70 * MIB,
    ),
    "v2, none": ("0::/a\n", {"a/memory.max": "max\n"}, NONE),
    "v1": ("4:cpu,memory:/pod\n0::/\n", {"memory/pod/memory.limit_in_bytes": str(80 * MIB)}, 80 * MIB),
    "v1, in a container": ("4:memory:/host/pod\n", {"memory/memory.limit_in_bytes": str(60 * MIB)}, 60 * MIB),
    "v1, none": ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712"}, NONE),
    "more than there is": ("0::/\n", {"memory.max": str(1 << 59)}, NONE),
}  # fmt: skip


@pytest.mark.parametrize(("cgroups", "limits", "expected"), MACHINES.values(), ids=list(MACHINES))
def test_the_smallest_limit_counts(cgroups: str, limits: dict[str, str], expected: int, tmp_path: Path) -> None:
    for name, text in {"proc/self/cgroup": cgroups, **{f"sys/fs/cgroup/{k}": v for k, v in limits.items()}}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert memory_bytes(tmp_path) == expected


def test_this_machine_has_memory() -> None:
    assert 64 * MIB < NONE < 1 << 50


@pytest.fixture
def address_space() -> Iterator[int]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit = 1 << 45
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    yield limit
    resource.setrlimit(resource.RLIMIT_AS, before)


def test_an_address_space_that_ends_before_the_limit_of_memory_is_told(address_space: int) -> None:
    assert not doubt_about_address_space(address_space // 2)
    doubt = doubt_about_address_space(address_space)
    assert f"limited to {address_space // MIB} MiB (`ulimit -v`)" in doubt
    assert f"memory_limiter.limit_mib ({address_space // MIB})" in doubt


def test_without_a_limit_of_the_address_space_nothing_is_told() -> None:
    assert not doubt_about_address_space(1 << 50)


STARVED = """
import resource, sys
from collector.cli import main
assert main(["check", sys.argv[1]]) == 0  # by then all is imported
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
sys.exit(main(["check", sys.argv[2]]))
"""


def test_a_command_that_gets_no_more_memory_says_so_in_one_line(tmp_path: Path) -> None:
    small, large = tmp_path / "small.yaml", tmp_path / "large.yaml"
    small.write_text("rules: [{name: r, match: {}, expect: {sequence: [a]}}]\n")
    large.write_text("rules:\n" + "- {a: [b]}\n" * 100_000)
    done = subprocess.run(
        [sys.executable, "-c", STARVED, small, large], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("no memory is left: the address space is limited to ")
    assert done.stderr.count("\n") == 1
