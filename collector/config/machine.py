"""How much memory this process may use, as the system says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_UNLIMITED = 1 << 60  # version 1 says "no limit" with a number above this


def memory_bytes(root: Path = Path("/")) -> int:
    """Returns the limit of this process's cgroup or of one around it, at most the memory of the machine."""
    limits = [limit for limit in _cgroup_limits(root) if limit < _UNLIMITED]
    return min([os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *limits])


def _cgroup_limits(root: Path) -> Iterator[int]:
    """Yield the limits of the cgroup and of all around it; in a container only the innermost may be visible, as the root."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return  # no Linux
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        inner = PurePosixPath(path.lstrip("/"))
        # All of them, since any group around this one may have the smallest limit.
        for part in (inner, *inner.parents):
            try:
                yield int((folder / part / name).read_text())
            except (OSError, ValueError):  # not mounted here, or "max"
                continue
