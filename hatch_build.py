"""Compiles the hot modules with mypyc where ``RIGHTCALL_COMPILE=1``; otherwise the wheel is pure Python, of the same source.

Which modules are compiled is in ``pyproject.toml``. All that is built stays in a temporary folder until it is in the wheel: the
source tree, and with it an editable install, never has a compiled module beside its source.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# In a process of its own: mypyc looks for modules in, and names them from, the working directory.
_BUILD = """
import sys
from mypyc.build import mypycify
from setuptools import Distribution
out, *modules = sys.argv[1:]
# The rest of the source is only read, without the plugins it needs: `make lint` checks the types.
options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent", f"--cache-dir={out}/cache"]
extensions = mypycify([*options, *modules], group_name="rightcall", opt_level="2", debug_level="0", target_dir=f"{out}/c")
# Nothing outside calls the compiled functions by name, so their calls of each other need not go through a table.
for extension in extensions:
    extension.extra_compile_args += ["-fvisibility=hidden", "-fno-plt"]
command = Distribution({"name": "rightcall", "ext_modules": extensions}).get_command_obj("build_ext")
command.build_lib, command.build_temp = f"{out}/lib", f"{out}/objects"
command.ensure_finalized()
command.run()
"""


class CompileHook(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel."""

    def dependencies(self) -> list[str]:
        """What a build in an isolated environment installs first."""
        return ["mypy", "setuptools"] if self._is_wanted("standard") else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before the wheel is written."""
        if not self._is_wanted(version):
            return
        self._out = TemporaryDirectory(prefix="rightcall-")
        command = [sys.executable, "-c", _BUILD, self._out.name, *self._modules()]
        subprocess.run(command, cwd=self.root, check=True, stdout=sys.stderr)  # noqa: S603 - this very interpreter
        library = Path(self._out.name, "lib")
        for module in library.rglob("*"):
            if module.is_file():
                build_data["force_include"][str(module)] = str(module.relative_to(library))
        build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if self._is_wanted(version):
            self._out.cleanup()

    def _is_wanted(self, version: str) -> bool:
        return version == "standard" and os.environ.get("RIGHTCALL_COMPILE") == "1"

    def _modules(self) -> list[str]:
        root = Path(self.root)
        return sorted(str(path.relative_to(root)) for glob in self.config["compiled"] for path in root.glob(glob))
