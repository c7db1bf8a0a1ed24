"""Compiles the hot modules with mypyc where ``RIGHTCALL_COMPILE=1``; otherwise the wheel is pure Python, of the same source.

Which modules are compiled is in ``pyproject.toml``. gcc compiles them twice: what `collector.demo.training` runs through in
the first result is what the second is made fast for. ``RIGHTCALL_COMPILE=once``, for tests, leaves out the second, and all
optimization: less than a quarter of the time. All that is built stays in a temporary folder until it is in the wheel:
the source tree, and with it an editable install, never has a compiled module beside its source.
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
TRANSLATE = """
import os, shutil, subprocess, sys, sysconfig
from mypyc.build import mypycify
from pathlib import Path
from setuptools import Distribution
out, *modules = sys.argv[1:]
# The rest of the source is only read, without the plugins it needs: `make lint` checks the types.
options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent", f"--cache-dir={out}/cache"]
extensions = mypycify([*options, *modules], group_name="rightcall", opt_level="2", debug_level="0", target_dir=f"{out}/c")
"""
"""Translates the modules named to it into C below its first argument: seconds, and where mypyc fails, it fails."""

_BUILD = """
# Warnings about generated code help nobody, and looking for them takes time.
settings = sysconfig.get_config_vars()
settings["CFLAGS"] = settings["CFLAGS"].replace("-Wall", "")

def build(extensions, *flags):
    for extension in extensions:
        extension.extra_compile_args, extension.extra_link_args = [*common, *flags], [*flags]
    command = Distribution({"name": "rightcall", "ext_modules": extensions}).get_command_obj("build_ext")
    command.build_lib, command.build_temp, command.parallel, command.force = f"{out}/lib", f"{out}/objects", True, True
    command.ensure_finalized()
    command.run()

code, *entries = extensions  # all of the code is in the first, which the others only make importable by name
# Nothing outside calls the compiled functions by name, so their calls of each other need not go through a table.
common = [*code.extra_compile_args, "-fvisibility=hidden", "-fno-plt", "-w"]
build(entries)
if os.environ["RIGHTCALL_COMPILE"] == "once":
    build([code], "-O0")
elif "Free Software Foundation" not in subprocess.run(["cc", "--version"], capture_output=True, text=True).stdout:
    build([code])
else:
    build([code], "-fprofile-generate", "-fprofile-update=atomic")
    for package in ("collector", "scorers"):
        shutil.copytree(package, f"{out}/trained/{package}")
    shutil.copytree(f"{out}/lib", f"{out}/trained", dirs_exist_ok=True)
    # The order of a set of strings goes by their hashes: with other ones each build would be another.
    subprocess.run([sys.executable, "-m", "collector.demo.training"], cwd=f"{out}/trained", check=True,
                   env={**os.environ, "PYTHONHASHSEED": "0"})
    if not list(Path(out, "objects").rglob("*.gcda")):
        sys.exit("the training did not run the compiled modules: there is no profile of it")
    # What the training does not reach, such as other frameworks' spans, is to be fast too: not small.
    build([code], "-fprofile-use", "-fprofile-partial-training")
"""


class CompileHook(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel."""

    def dependencies(self) -> list[str]:
        """What a build in an isolated environment installs first."""
        return ["mypy", "setuptools", *self.metadata.core.dependencies] if self._is_wanted("standard") else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before the wheel is written."""
        if not self._is_wanted(version):
            return
        self._out = TemporaryDirectory(prefix="rightcall-")
        command = [sys.executable, "-c", TRANSLATE + _BUILD, self._out.name, *self._modules()]
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
        return version == "standard" and os.environ.get("RIGHTCALL_COMPILE") in ("1", "once")

    def _modules(self) -> list[str]:
        root = Path(self.root)
        return sorted(str(path.relative_to(root)) for glob in self.config["compiled"] for path in root.glob(glob))
