"""Version, extras, tags and lists of files that pyproject.toml and its companions state."""

import importlib.util
import re
import sys
import sysconfig
import tomllib
import types
from pathlib import Path

import pytest
import yaml

from eigenveil import _extras

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]


def names(requirements):
    """Names of the required packages; extras of eigenveil itself are looked up."""
    found = set()
    for one in requirements:
        name, _, inner = re.match(r"([\w.-]+)(\[([\w,]+)\])?", one).groups()
        found |= (
            set().union(*(names(EXTRAS[extra]) for extra in inner.split(","))) if name == "eigenveil" else {name}
        )
    return found


def test_one_version_everywhere():
    version = PYPROJECT["project"]["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert str(yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"]) == version
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
    assert headings[0] == version


def test_the_citation_has_what_the_format_requires():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == PYPROJECT["project"]["license"]
    assert citation["authors"] == PYPROJECT["project"]["authors"]


def test_the_core_needs_nothing_that_an_extra_installs():
    core = names(PYPROJECT["project"]["dependencies"])
    assert core == {"numpy", "scipy", "narwhals", "pyarrow", "scikit-learn", "threadpoolctl", "safetensors"}
    assert not core & {"matplotlib", "jinja2", "duckdb", "typer", "rich"}


@pytest.mark.parametrize("name", _extras._EXTRA_OF)
def test_an_error_names_the_extra_that_installs_the_package(name):
    extra = _extras._EXTRA_OF[name]
    assert name.partition("_")[0] in names(EXTRAS[extra])
    assert extra in _extras._NEEDED_BY


def test_extras_contain_each_other():
    assert names(EXTRAS["plots"]) | names(EXTRAS["people"]) < names(EXTRAS["cli"])
    assert names(EXTRAS["cli"]) | names(EXTRAS["poisson"]) < names(EXTRAS["test"])
    users = set(EXTRAS) - {"test", "lint", "docs", "browser", "fuzz"}
    assert set().union(*(names(EXTRAS[extra]) for extra in users)) == names(EXTRAS["all"])


def test_the_sdist_has_every_file_that_building_and_testing_need():
    listed = PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"/src", "/tests", "/docs", "/hatch_build.py", "/constraints.txt", "/CITATION.cff"} <= set(listed)
    assert [name for name in listed if not (ROOT / name.lstrip("/")).exists()] == []


@pytest.fixture
def hook(monkeypatch):
    """The build hook, with a stand-in for hatchling, which is installed only where wheels are built."""
    interface = types.ModuleType("interface")
    interface.BuildHookInterface = list
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", interface)
    for name in ("hatchling", "hatchling.builders", "hatchling.builders.hooks", "hatchling.builders.hooks.plugin"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    found = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("system", "machine", "tag"),
    [
        ("linux-x86_64", "x86_64", "py3-none-linux_x86_64"),
        ("macosx-11.0-universal2", "arm64", "py3-none-macosx_11_0_arm64"),
        ("win-amd64", "AMD64", "py3-none-win_amd64"),
    ],
)
def test_one_wheel_per_platform_serves_every_python(hook, system, machine, tag):
    assert hook.wheel_tag(system, machine) == tag


def built(hook, root, compiler, monkeypatch):
    """What the hook adds to a wheel."""
    monkeypatch.setenv("CC", compiler)
    kernels = root / hook.FOLDER
    kernels.mkdir(parents=True)
    (kernels / "loops.c").write_text("int loops_version(void) { return 0; }\n", "utf-8")
    one, data = hook.KernelBuildHook(), {"force_include": {}}
    one.root = root
    one.initialize("standard", data)
    return data


def test_the_hook_adds_the_library_and_the_tag(hook, tmp_path, monkeypatch):
    data = built(hook, tmp_path, "cc", monkeypatch)
    ((library, place),) = data["force_include"].items()
    assert Path(library).exists()
    assert place == "eigenveil/kernels/_loops.so"
    assert data["tag"].startswith("py3-none-" + sysconfig.get_platform().partition("-")[0])


def test_without_a_compiler_the_wheel_is_pure_and_says_so(hook, tmp_path, monkeypatch, capsys):
    assert built(hook, tmp_path, "no-such-compiler", monkeypatch) == {"force_include": {}}
    assert "no compiled kernels" in capsys.readouterr().err


def test_the_loops_run_on_every_machine_of_a_platform():
    flags = re.search(r'^FLAGS = "(.*)"', (ROOT / "hatch_build.py").read_text("utf-8"), flags=re.MULTILINE)
    assert not re.search("-march|-mtune|-ffast-math|-Ofast", flags[1])
