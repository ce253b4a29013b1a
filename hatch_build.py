"""Compile the inner loops when the package is built; without a C compiler the numpy twins serve."""

from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = pathlib.Path("src/eigenveil/kernels")
FLAGS = "-O3 -std=gnu11 -ffp-contract=off -fno-math-errno -Wno-psabi -fPIC -shared"


class KernelBuildHook(BuildHookInterface[Any]):
    """Puts ``_loops.so`` beside loops.c and into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile; a failure is told and is not fatal."""
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
        build_data["infer_tag"] = True
        build_data["force_include"][str(library)] = f"eigenveil/kernels/{library.name}"
