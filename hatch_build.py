"""Compile the inner loops when a wheel is built; without a C compiler the numpy versions do the work."""

from __future__ import annotations

import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = pathlib.Path("src/eigenveil/kernels")
FLAGS = "-O3 -std=gnu11 -ffp-contract=off -fno-math-errno -Wno-psabi -fPIC -shared"


class KernelBuildHook(BuildHookInterface[Any]):
    """Puts ``_loops.so`` beside loops.c and into the wheel. ctypes loads it by this name on every system."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile. If that fails, say so and build a wheel without compiled loops."""
        folder = pathlib.Path(self.root) / FOLDER
        library = folder / "_loops.so"
        compiler = shlex.split(os.environ.get("CC") or ("cc" if shutil.which("cc") else "gcc"))
        with tempfile.TemporaryDirectory() as scratch:
            made = pathlib.Path(scratch) / library.name
            command = [*compiler, *FLAGS.split(), "-o", str(made), str(folder / "loops.c"), "-lm"]
            try:
                subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
            except (OSError, subprocess.CalledProcessError) as error:
                sys.stderr.write(f"eigenveil: no compiled kernels, numpy will do the work slowly ({error})\n")
                return
            beside = library.with_suffix(".new")  # processes that have the old one loaded keep it
            beside.write_bytes(made.read_bytes())
            beside.replace(library)
        build_data["pure_python"] = False
        build_data["tag"] = wheel_tag(sysconfig.get_platform(), platform.machine())
        build_data["force_include"][str(library)] = f"eigenveil/kernels/{library.name}"


def wheel_tag(system: str, machine: str) -> str:
    """Return the tag of a wheel for one platform and every Python 3: the library does not use Python's ABI.

    The compiler makes code for this machine only, also where Python itself is a universal binary of macOS.
    """
    return "py3-none-" + re.sub("[-.]", "_", system.replace("universal2", machine))
