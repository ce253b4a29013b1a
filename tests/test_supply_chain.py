"""No code is loaded from data, nothing talks to a network, and what is installed is pinned."""

import ast
import errno
import functools
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eigenveil"
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml"}
"""Modules that run code from data when they load it."""
NETWORK = {"socket", "ssl", "urllib", "http", "ftplib", "smtplib", "requests", "httpx", "aiohttp", "urllib3"}
CALLS = {"eval", "exec", "compile", "__import__"}
BETWEEN_WORKERS = {
    "engines/dask_engine.py": "queries, which this process pickled for its own workers",
    "engines/spark_engine.py": "queries and integer sums between this process and its own workers",
}
"""Files that may use pickle, and for what. Neither reads a file that was pickled."""
OWN_SERVER = {"app"}
"""Packages that serve pages to the same machine: `eigenveil app` listens on 127.0.0.1 and connects to nothing."""


def _imported(node):
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and not node.level:
        return {(node.module or "").split(".")[0]}
    return set()


def _called(node):
    """Name of what is called, where it is a name or an attribute."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _is_pickle(node):
    """Whether a call allows pickled objects in arrays or tables, or cannot be seen to forbid them."""
    if any(word.arg == "allow_pickle" for word in getattr(node, "keywords", ())):
        (value,) = [word.value for word in node.keywords if word.arg == "allow_pickle"]
        return not (isinstance(value, ast.Constant) and value.value is False)
    return _called(node) in {"read_pickle", "to_pickle"}


def dangers(source):
    """What a module uses that can run code from data or reach a network."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        found |= _imported(node) & (MODULES | NETWORK)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            found.add(node.func.id)
        if _is_pickle(node):
            found.add("pickle in arrays")
    return found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import pickle", {"pickle"}),
        ("from joblib import load", {"joblib"}),
        ("def f():\n    import urllib.request as u", {"urllib"}),
        ("eval('1')", {"eval"}),
        ("exec(open('x').read())", {"exec"}),
        ("np.load(path, allow_pickle=True)", {"pickle in arrays"}),
        ("np.load(path, allow_pickle=may)", {"pickle in arrays"}),
        ("pd.read_pickle(path)", {"pickle in arrays"}),
        ("np.load(path, allow_pickle=False); re.compile('x'); ast.literal_eval('1'); model.eval()", set()),
    ],
)
def test_planted_dangers_are_found(source, found):
    assert dangers(source) == found


def test_no_module_loads_code_from_data_or_uses_the_network():
    found = {str(path.relative_to(PACKAGE)): dangers(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    assert len(found) > 200
    allowed = {name: {"pickle"} for name in BETWEEN_WORKERS}
    rest = {name: what - allowed.get(name, set()) for name, what in found.items()}
    rest = {name: what - (NETWORK if Path(name).parts[0] in OWN_SERVER else set()) for name, what in rest.items()}
    assert {name: what for name, what in rest.items() if what} == {}
    assert all("pickle" in found[name] for name in BETWEEN_WORKERS), "an exception that is no longer needed"


def test_arrays_are_loaded_without_pickle():
    """`numpy.load` refuses pickled objects by default; the call says so all the same."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if _called(node) == "load" and ast.unparse(node.func) in ("np.load", "numpy.load"):
                assert "allow_pickle" in {word.arg for word in node.keywords}, path.name


def test_a_pickled_object_in_an_array_file_is_not_loaded(tmp_path):
    from eigenveil import DPPCA

    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    np.save(tmp_path / "rows.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    with pytest.raises(Exception, match=r"rows\.npy"):
        DPPCA(1).fit(tmp_path / "rows.npy")
    assert not (tmp_path / "sprung").exists()


# -- no network ----------------------------------------------------------------------------------

DENY = """
import sys

def deny(event, args):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        raise RuntimeError(f"network: {event} {args}")
    if event in ("socket.connect", "socket.bind") and not isinstance(args[1], (str, bytes)):
        raise RuntimeError(f"network: {event} {args[1]}")

sys.addaudithook(deny)
"""
"""An audit hook cannot be removed: every socket of Python code, except local ones with a file name, fails."""


@functools.cache
def no_interface():
    """A command before another one that gives it a network of its own without an interface, where this is allowed.

    So compiled libraries reach nothing either, which the hook does not see.
    """
    before = (shutil.which("unshare"), "--map-root-user", "--net")
    allowed = before[0] and subprocess.run([*before, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603
    return before if allowed else ()


def offline(folder, *command):
    """A command in a process, and in its children, that cannot reach a network."""
    (folder / "sitecustomize.py").write_text(DENY)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    return subprocess.run(  # noqa: S603
        [*no_interface(), sys.executable, *map(str, command)],
        cwd=folder,
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(not no_interface(), reason="unshare is not there or not allowed")
def test_compiled_code_reaches_no_network(tmp_path):
    """A connection of C, which no hook sees, finds no network. With one, a closed port would refuse it."""
    lines = (
        "import ctypes",
        "libc = ctypes.CDLL(None, use_errno=True)",
        "address = bytes([2, 0, 0, 9, 127, 0, 0, 1]) + bytes(8)",
        "print(libc.connect(libc.socket(2, 1, 0), address, 16), ctypes.get_errno())",
    )
    assert offline(tmp_path, "-c", "; ".join(lines)).stdout.strip() == f"-1 {errno.ENETUNREACH}"


@pytest.mark.parametrize("call", ["connect(('127.0.0.1', 9))", "bind(('127.0.0.1', 0))"])
def test_a_socket_is_noticed(tmp_path, call):
    done = offline(tmp_path, "-c", f"import socket; socket.socket().{call}")
    assert "network: socket." in done.stderr


def test_a_fit_and_a_report_need_no_network(tmp_path):
    rows = np.random.default_rng(0).normal(size=(2000, 4)) * [4, 2, 1, 1]
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="a,b,c,d", comments="")
    table = pa.table({"id": np.arange(2000) // 2, **{name: rows[:, i] for i, name in enumerate("abcd")}})
    pq.write_table(table, tmp_path / "people.parquet")
    fit = ("fit", "rows.csv", "-k", 1, "--algorithm", "dp-gauss-1", "--out", "model", "--ledger", "ledger.json")
    people = ("fit", "people.parquet", "-k", 1, "--units", "id", "--out", "people")
    for command in (fit, people, ("report", "model", "--out", "report.html")):
        done = offline(tmp_path, "-m", "eigenveil.cli", *command)
        assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text("utf-8")
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)[^"']*""", page), "a report loads nothing from elsewhere"
    assert not re.findall(r"url\((?!['\"]?(?:data:|#))", page)


@pytest.mark.slow
def test_a_figure_and_the_demo_need_no_network(tmp_path):
    figure = ("reproduce", "learning-rate", "--quick", "--trials", 1, "--workers", 1, "--out", "figures")
    for command in (figure, ("demo", "--out", "demo-output")):
        done = offline(tmp_path, "-m", "eigenveil.cli", *command)
        assert done.returncode == 0, done.stderr


# -- pins ----------------------------------------------------------------------------------------

PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([0-9][A-Za-z0-9.!+]*)( *;.*)?")


def _canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins(name):
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-oldest.txt"])
def test_constraints_are_exact_versions_and_nothing_else(name):
    """No ranges, no addresses of hosts, no options of pip, no package twice."""
    lines = _pins(name)
    assert [line for line in lines if not PIN.fullmatch(line)] == []
    names = [_canonical(PIN.fullmatch(line)[1]) for line in lines]
    assert len(set(names)) == len(names)


def _needed(extras):
    """Every distribution that an installation with these extras brings, from the metadata of what is installed."""
    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    declared = project["project"]["optional-dependencies"]
    todo = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    todo += [line for extra in extras for line in declared[extra]]
    seen = set()
    while todo:
        wanted = Requirement(todo.pop())
        if _canonical(wanted.name) == "eigenveil":
            todo += [line for extra in wanted.extras for line in declared[extra]]
            continue
        for extra in wanted.extras or {""}:
            key = _canonical(wanted.name), extra
            if key in seen:
                continue
            seen.add(key)
            try:
                lines = importlib.metadata.requires(wanted.name) or []
            except importlib.metadata.PackageNotFoundError:
                continue
            for line in lines:
                marker = Requirement(line).marker
                if marker is None or marker.evaluate({"extra": extra}) or marker.evaluate({"extra": ""}):
                    todo.append(line)
    return {name for name, _ in seen}


def test_everything_that_is_installed_is_pinned():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    installed = re.findall(r"-c constraints\.txt -e '\.\[([a-z,]+)\]'", makefile)
    needed = _needed(",".join(installed).split(","))
    assert len(needed) > 50
    pinned = {_canonical(PIN.fullmatch(line)[1]) for line in _pins("constraints.txt")}
    assert needed - pinned == set()
