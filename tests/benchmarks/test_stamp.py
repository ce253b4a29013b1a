"""A stamp changes with what the code does, and with nothing else."""

import shutil
from pathlib import Path

import pytest

from support.benchmarks import load

stamp = load("stamp")
SOURCE = '"""A module."""\nimport math\n\nRADIUS = 2.0\n\n\ndef area():\n    return math.pi * RADIUS**2\n'


def essence(text, kind=".py", **options):
    return stamp.essence(text, kind, **options)


@pytest.mark.parametrize(
    "other",
    [
        SOURCE.replace("A module.", "The same module, described better."),
        SOURCE.replace("RADIUS = 2.0", 'RADIUS = 2.0  # of a circle\n"""In metres."""'),
        SOURCE.replace("import math", "from eigenveil.elsewhere import math"),
        SOURCE.replace("RADIUS = 2.0", '__all__ = ["area"]\nRADIUS = 2.0'),
        SOURCE.replace("    return", '    """Of a circle."""\n\n    return'),
        SOURCE.replace("2.0\n", "(\n    2.0\n)\n"),
    ],
    ids=["docstring", "comment and string", "import", "__all__", "docstring of a function", "layout"],
)
def test_prose_imports_and_layout_do_not_count(other):
    assert other != SOURCE
    assert essence(other) == essence(SOURCE)


@pytest.mark.parametrize(
    "other",
    [
        SOURCE.replace("2.0", "3.0"),
        SOURCE.replace("2.0", "2"),
        SOURCE.replace("**2", "**2 if RADIUS else None"),
        SOURCE.replace("def area()", "def area(unit=None)"),
        SOURCE.replace("def area", "async def area"),
        SOURCE.replace("    return", "    print('a message')\n    return"),
    ],
    ids=["constant", "type of a constant", "branch", "argument", "async", "message"],
)
def test_code_counts(other):
    assert other != SOURCE
    assert essence(other) != essence(SOURCE)


def test_imports_count_where_they_are_what_is_measured():
    other = SOURCE.replace("import math", "import cmath as math")
    assert essence(other, imports=True) != essence(SOURCE, imports=True)


def test_a_module_that_only_imports_does_nothing():
    assert essence('"""Names."""\n\nfrom a import b\n\n__all__ = ["b"]\n') == ""


def test_comments_of_c_do_not_count():
    code = 'int f(void) {\n  puts("/* no // comment */");\n  return 1;\n}\n'
    commented = "/* what\n it does */\n" + code.replace("return 1;", "return 1;  // one")
    assert essence(commented, ".c") == essence(code, ".c")
    assert essence(code.replace("no //", "a //"), ".c") != essence(code, ".c")
    assert essence(code.replace("return 1", "return 2"), ".h") != essence(code, ".h")


def moved(tree, stamp):
    """Move packages into others, and streams into a package of their own."""
    for name in stamp.PACKAGES:
        into = tree / ("algorithms" if name in stamp.METHODS else "compute")
        if name != "datasets" and (tree / name).is_dir() and tree / name != into:
            into.mkdir(exist_ok=True)
            (into / "__init__.py").touch()
            shutil.move(tree / name, into / name)
    for file in [*(tree / "algorithms").rglob("*stream*.py")]:
        (tree / "algorithms" / "stream").mkdir(exist_ok=True)
        file.rename(tree / "algorithms" / "stream" / file.name.replace("stream", "of"))


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the package, which stamps are taken of."""
    tree = tmp_path / "eigenveil"
    shutil.copytree(stamp.PACKAGE, tree, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    another = load("stamp")
    monkeypatch.setattr(another, "PACKAGE", tree)
    return another, tree


def test_moving_modules_changes_no_stamp(copy):
    another, tree = copy
    moved(tree, another)
    assert (tree / "compute" / "kernels").exists()
    assert (another.code(), another.streams(), another.data()) == (stamp.code(), stamp.streams(), stamp.data())


@pytest.mark.parametrize("kind", ["py", "c", "h"])
def test_a_change_of_the_package_is_seen(copy, kind):
    another, tree = copy
    file = next(file for file in sorted(tree.rglob(f"*.{kind}")) if file.relative_to(tree).parts[0] == "kernels")
    file.write_text(file.read_text("utf-8") + ("\nCHANGED = 1\n" if kind == "py" else "\nint changed;\n"), "utf-8")
    assert another.code() != stamp.code()
    assert another.data() == stamp.data()


def test_every_kind_of_source_is_stamped():
    files = {file.relative_to(stamp.PACKAGE).as_posix() for file in stamp.sources(*stamp.PACKAGES)}
    assert {Path(file).suffix for file in files} == {".py", ".c", ".h"}
    assert any(file.startswith(stamp.METHODS) for file in files)
