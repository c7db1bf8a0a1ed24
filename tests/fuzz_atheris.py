"""One run of libFuzzer: ``python -m tests.fuzz_atheris TARGET [OPTION ...]``. Ends the process."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["collector", "scorers"]):
    from tests.fuzz_targets import TARGETS

atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]])
atheris.Fuzz()
