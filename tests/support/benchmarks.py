"""Modules of the folder benchmarks, which is no package."""

import importlib
import importlib.util
import os
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def load(name):
    """A module of its own, each time."""
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", BENCHMARKS / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_script(name):
    """A module that imports others of the folder, and sets the number of threads of its process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        patch.setattr(os, "environ", dict(os.environ))
        return importlib.import_module(name)
