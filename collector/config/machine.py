"""How much memory this process may use, as the system says."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_UNLIMITED = 1 << 60  # version 1 says "no limit" with a number above this
_UNUSED = 1 << 30  # bytes of address space beside those resident: stacks of threads, libraries, pools of the allocator


def memory_bytes(root: Path = Path("/")) -> int:
    """Returns the limit of this process's cgroup or of one around it, at most the memory of the machine."""
    limits = [limit for limit in _cgroup_limits(root) if limit < _UNLIMITED]
    return min([os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *limits])


def address_space_bytes() -> int | None:
    """Returns the limit of this process's address space, as `ulimit -v` sets it; None where there is none."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def out_of_memory() -> str:
    """Returns what to tell whoever started a process that gets no more memory."""
    limit = address_space_bytes()
    if limit is None:
        return "the system gives this process no more memory"
    return f"no memory is left: the address space is limited to {limit >> 20} MiB (`ulimit -v`); raise that limit"


def doubt_about_address_space(resident: int) -> str:
    """Returns why a process that may have so many resident bytes can end before it has them; empty if it cannot."""
    limit = address_space_bytes()
    if limit is None or limit >= resident + _UNUSED:
        return ""
    return (
        f"the address space is limited to {limit >> 20} MiB (`ulimit -v`), and what is resident is only a part of it: the "
        f"process may end before memory_limiter.limit_mib ({resident >> 20}) refuses anything. Remove that limit, or make it "
        f"{_UNUSED >> 20} MiB larger than limit_mib"
    )


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
