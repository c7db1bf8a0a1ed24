"""The memory that a process may use: limits of cgroups of both versions, wherever they are set."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.config.machine import memory_bytes

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
