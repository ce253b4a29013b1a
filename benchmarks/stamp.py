"""A short name for the code that a table was made by, and a mark on tables that older code made.

    python benchmarks/stamp.py           # lists the tables of older code
    python benchmarks/stamp.py --mark    # writes it into them, and takes it out of those that are made anew

A stamp is a hash of what the code does. Docstrings, comments, `import` statements and `__all__` do not count, nor
does where a file is, so that editing text or moving modules leaves every stamp as it is. For this reason a stamp
does not change either when a name is imported from another module that has one of the same name.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import pathlib
import re
from collections.abc import Callable, Iterable
from typing import Any

import eigenveil

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "results"
TESTS = HERE.parent / "tests"
PACKAGE = pathlib.Path(eigenveil.__file__).parent
DATA = ("cells.py", "real_data.py", "real-data.txt")
"""The files of this folder that data depend on."""
METHODS = ("algorithms", "oracles", "algorithms")
"""Packages that hold algorithms, by their names before and after they are merged."""
PACKAGES = (
    *("privacy", "datasets", "data", "sources", "operators", "compute", "engines", "kernels"),
    *("mechanisms", "units", *METHODS),
)
"""What a release of an algorithm depends on. Packages that do not exist are passed over."""
SAME_RELEASES: dict[str, tuple[str, ...]] = {}
"""Stamps of earlier code whose releases are those of the code with the stamp in front, to the bit.

`PYTHONPATH=tests python -m golden.run` shows it: none of the 101 kept releases differs. Since that code, these
have changed: who may charge a ledger, when a ledger file is written (`privacy/ledger.py`, `privacy/ownership.py`),
and the error for a damaged file that asks for impossible memory (`sources/guard.py`). Tables keep the stamp of the
code that made them. With any other change of the code this line does not hold.
"""
OLDER = "Older code than this tree: "
STAMP = re.compile(r"Code: [0-9a-f]{12}(?:, [a-z-]+ [0-9a-f]{12})*")
COMMENT = re.compile(r'("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')|/\*.*?\*/|//[^\n]*', re.DOTALL)


# -- what a file does ----------------------------------------------------------------------------------


def essence(text: str, kind: str, *, imports: bool = False) -> str:
    """What a file does, without prose: of Python its syntax tree, of C and others the lines without comments."""
    if kind == ".py":
        tree = _shape(ast.parse(text), imports=imports)
        return "" if tree == "Module()" else tree
    if kind in (".c", ".h"):
        text = COMMENT.sub(lambda found: found[1] or " ", text)
    else:
        text = re.sub(r"^#.*", "", text, flags=re.MULTILINE)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _shape(node: Any, *, imports: bool) -> str:
    """A syntax tree as text, the same in all versions of Python: unlike `ast.dump`, empty fields are left out."""
    if isinstance(node, list):
        return f"[{','.join(_shape(one, imports=imports) for one in node if not _is_prose(one, imports=imports))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, _shape(value, imports=imports)) for name, value in ast.iter_fields(node) if name != "kind"]
    told = [f"{name}={value}" for name, value in fields if value not in ("None", "[]")]
    return f"{type(node).__name__}({','.join(told)})"


def _is_prose(node: Any, *, imports: bool) -> bool:
    """Whether a statement is a docstring, a string below a name, `__all__`, or an import."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    if isinstance(node, ast.Assign):
        return any(isinstance(name, ast.Name) and name.id == "__all__" for name in node.targets)
    return isinstance(node, ast.Import | ast.ImportFrom) and not imports


def digest(files: Iterable[pathlib.Path], *, imports: bool = False) -> str:
    """The first digits of a hash of what these files do, in any order; files that do nothing do not count."""
    found = [essence(file.read_text("utf-8"), file.suffix, imports=imports) for file in files]
    hashes = sorted(hashlib.sha256(one.encode()).hexdigest() for one in found if one)
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:12]


def sources(*packages: str) -> list[pathlib.Path]:
    """Python and C of some packages (or modules) of eigenveil, those that exist."""
    files = [file for file in PACKAGE.rglob("*.*") if file.suffix in (".py", ".c", ".h")]
    return [file for file in files if file.relative_to(PACKAGE).parts[0].removesuffix(".py") in packages]


# -- stamps --------------------------------------------------------------------------------------------


def _is_apart(file: pathlib.Path) -> bool:
    """Whether a file is about streams, or about what follows a release: it does not change a release."""
    parts = file.relative_to(PACKAGE).parts
    return parts[0] in METHODS and (any("stream" in part for part in parts) or file.name == "uncertainty.py")


@functools.cache
def code() -> str:
    """Of all that algorithms are made of, and what data depend on."""
    files = [file for file in sources(*PACKAGES) if not _is_apart(file)]
    return digest([*files, *(HERE / name for name in DATA)])


@functools.cache
def streams() -> str:
    """Of what streams are made of, besides."""
    return digest([*sources(*METHODS), HERE / "stream.py"])


@functools.cache
def data() -> str:
    """Of what data, and a rival that uses nothing of the package, depend on."""
    return digest([*sources("datasets"), *(HERE / name for name in (*DATA, "gauss_1_for_free.py"))])


@functools.cache
def startup() -> str:
    """Of what is loaded before a command runs. Imports are what takes the time, so here they count."""
    files = [PACKAGE / "__init__.py", *(PACKAGE / "cli").glob("*.py"), HERE / "startup.py"]
    return digest(files, imports=True)


PARTS: dict[str, Callable[[], str]] = {
    "streams": streams,
    "start-up": startup,
    "estimators": lambda: digest(sources("estimators")),
    "planner": lambda: digest(sources("planner")),
    "audit": lambda: digest(sources("audit")),
    "experiments": lambda: digest(sources("experiments")),
    "rivals": lambda: digest([HERE / "rival_fit.py", HERE / "rival_covariances.py"]),
    "pictures": lambda: digest(sources("estimators", "plots", "report", "app")),
    "package": lambda: digest(file for file in PACKAGE.rglob("*.*") if file.suffix in (".py", ".c", ".h")),
    "uncertainty": lambda: digest(file for file in sources(*METHODS) if file.name == "uncertainty.py"),
}
"""What a table may measure besides algorithms, each with a stamp of its own."""


def stamp(*parts: str, of: str = "") -> str:
    """The stamp of the code as it is now, or of other algorithms, with those of some of `PARTS`."""
    return f"Code: {of or code()}" + "".join(f", {part} {PARTS[part]()}" for part in parts)


def line(*parts: str) -> str:
    """The line of a table that says which code made it. Take it before a run: files may change meanwhile."""
    return f"{stamp(*parts)} (eigenveil {eigenveil.__version__}; `benchmarks/stamp.py`)."


# -- marks ---------------------------------------------------------------------------------------------


def pages() -> list[pathlib.Path]:
    """All pages with a stamp: results of benchmarks, and tables of faults, hostile inputs, fuzzing and mutants."""
    return [*sorted(RESULTS.glob("*.md")), *sorted(TESTS.glob("*/results.md"))]


def is_current(stamped: str) -> bool:
    """Whether a stamp is that of the code as it is now, or of code with the same releases."""
    parts = [pair.split()[0] for pair in stamped.split(", ")[1:]]
    same = ("", *SAME_RELEASES.get(code(), ()))
    return all(part in PARTS for part in parts) and stamped in {stamp(*parts, of=one) for one in same}


def marked(text: str) -> str:
    """A page as it has to be: a mark below its stamp, or below its title, unless the present code made it."""
    lines = [line for line in text.split("\n") if not line.startswith(OLDER)]
    stamps = [(place, found[0]) for place, line in enumerate(lines) if (found := STAMP.search(line))]
    if not stamps:
        lines.insert(1, f"{OLDER}not stamped.")
    elif not is_current(stamps[0][1]):
        place, stamped = stamps[0]
        lines.insert(place + 1, f"{OLDER}{stamped.removeprefix('Code: ')}.")
    return "\n".join(lines)


def main() -> None:
    """List the tables of older code, and mark them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mark", action="store_true", help="write it into the tables")
    options = parser.parse_args()
    print(line())
    for page in pages():
        text = marked(before := page.read_text("utf-8"))
        if options.mark and text != before:
            page.write_text(text, "utf-8")
        told = [one for one in text.split("\n") if one.startswith(OLDER)]
        print(f"{page.relative_to(HERE.parent)}: {told[0] if told else 'this code.'}")


if __name__ == "__main__":
    main()
