"""Searches for inputs that reach new code of the fuzz targets, with atheris (libFuzzer): ``make fuzz``.

``python -m tests.fuzz_coverage [SECONDS] [TARGET ...]`` fuzzes each target for so long, starting from the known seeds and,
for ``wire`` and ``json``, the recorded requests. What reached new code becomes a seed. An input that raises ends the run
and is left in the working directory: mend what it shows, and add it to the seeds.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz import corpus
from tests.fuzz_targets import SEEDS, TARGETS, seeds

_LARGEST = 3_000  # bytes of an input
_MOST = 300  # seeds kept of a target: the shortest
_LIMITS = [f"-max_len={_LARGEST}", "-timeout=10", "-rss_limit_mb=3000", "-verbosity=0", "-print_final_stats=1"]


def _recorded(target: str) -> set[bytes]:
    """The recorded requests that the target takes: inputs to start from, beside the seeds."""
    if target not in ("wire", "json"):
        return set()
    with tempfile.TemporaryDirectory() as folder:
        requests = corpus(Path(folder))
    return {body for _, body, as_json in requests if as_json == (target == "json") and len(body) <= _LARGEST}


def search(target: str, seconds: int) -> None:
    """Fuzz one target and write its seeds."""
    given = _recorded(target)
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate([*seeds(target), *given]):
            (Path(folder) / str(number)).write_bytes(seed)
        subprocess.run(
            [sys.executable, "-m", "tests.fuzz_atheris", target, folder, f"-max_total_time={seconds}", *_LIMITS],
            check=True,
        )
        found = {path.read_bytes() for path in Path(folder).iterdir()}.difference(given)
    kept = sorted(found, key=lambda seed: (len(seed), seed))[:_MOST]
    (SEEDS / f"{target}.txt").write_text("".join(base64.b64encode(seed).decode() + "\n" for seed in kept))
    print(f"{target}: {len(kept)} seeds of {len(found)}")


def main() -> None:
    """Run from the command line."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    for target in sys.argv[2:] or TARGETS:
        search(target, seconds)


if __name__ == "__main__":
    main()
