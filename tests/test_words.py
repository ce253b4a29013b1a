"""Words for people are not an API: outside of `privacy`, no program looks into `what` of an entry or a step."""

import ast
from pathlib import Path

import pytest

import eigenveil

ROOT = Path(eigenveil.__file__).parent
LOOKS = {"startswith", "endswith", "removeprefix", "removesuffix", "find", "index", "count", "split", "partition"}
MATCHERS = {"match", "search", "fullmatch", "findall", "finditer", "sub", "split"}


def _words(node, names):
    """Whether an expression is, or is made of, the words of an entry."""
    return any(
        (isinstance(part, ast.Attribute) and part.attr == "what")
        or (isinstance(part, ast.Name) and part.id in names)
        for part in ast.walk(node)
    )


def _text(node):
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))


def _names(function):
    """What a function calls such words: a parameter `what`, and variables made of words."""
    arguments = getattr(function, "args", None)
    named = [] if arguments is None else [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = {argument.arg for argument in named if argument.arg == "what"}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _words(node.value, set()) and not isinstance(node.value, ast.Call):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _looks(node, names):
    """Whether this very node compares, searches or matches words."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        others = any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
        return not others and any(_words(side, names) for side in sides)
    if isinstance(node, ast.Match):
        return _words(node.subject, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        called, on = node.func.attr, node.func.value
        if isinstance(on, ast.Name) and on.id == "re" and called in MATCHERS:
            return any(_words(argument, names) for argument in node.args)
        if called in MATCHERS and any(_words(argument, names) for argument in node.args):
            return True
        return called in LOOKS and _words(on, names)
    return False


def lines_that_look(source):
    """The lines of a module on which a program looks into words."""
    tree = ast.parse(source)
    scopes = [
        tree,
        *(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)),
    ]
    found = set()
    for scope in scopes:
        names = set() if scope is tree else _names(scope)
        found |= {node.lineno for node in ast.walk(scope) if _looks(node, names) and hasattr(node, "lineno")}
    return sorted(found)


@pytest.mark.parametrize(
    "planted",
    [
        'def f(entry): return entry.what == "mean"',
        'def f(entry): return "mean" != entry.what',
        'def f(entry): return "(last)" in entry.what',
        'def f(entry): return entry.what in ("a", "b")',
        'def f(step): return step.what.startswith("variances")',
        'def f(step): return step.what.lower().endswith(": radius")',
        'def f(entry): return re.match("mean.*", entry.what)',
        "def f(entry, pattern): return pattern.search(entry.what)",
        'def f(entry):\n    match entry.what:\n        case "mean":\n            return 1',
        'def f(ledger):\n    words = {entry.what for entry in ledger.entries}\n    return "mean" in words',
        'def f(entry):\n    what = entry.what\n    return what == "mean"',
        'def heard(what): return "(last)" in what',
        'def heard(*, what): return what.startswith("variances")',
        'f = lambda entry: entry.what == "mean"',
        'any(entry.what == "mean" for entry in entries)',
    ],
)
def test_planted_looks_are_seen(planted):
    assert lines_that_look(planted)


@pytest.mark.parametrize(
    "fine",
    [
        "def f(entry): return entry.what",
        'def f(entry): return f"{entry.what}: radius"',
        "def f(entry): return entry.purpose is Purpose.MEAN",
        'def f(what): return f"{what}: sum" if what is not None else "sum"',
        "def f(entries): return [entry.what for entry in entries if entry.kind == 'declared']",
    ],
)
def test_words_may_be_shown(fine):
    assert not lines_that_look(fine)


def test_no_module_looks_into_words():
    modules = [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] != "privacy"]
    assert len(modules) > 150
    found = {str(path.relative_to(ROOT)): lines_that_look(path.read_text()) for path in modules}
    looking = {name: lines for name, lines in found.items() if lines}
    assert looking == {}


PAYS = {
    *("gaussian", "laplace", "declare", "charge_gaussian", "charge_approximate", "charge_poisson"),
    *("radius_search", "noisy_clipped_sum", "noisy_truncated_sum", "clipped_mean", "propose_test_release"),
    "noisy_count_within",
    *("stability_histogram", "stability_histograms", "sampled_noise"),
}
WITHOUT_PURPOSE = {"privacy/ownership.py": 1, "algorithms/deflation/black_box_pca.py": 1}
"""An adopted copy, and an oracle whose guarantee its author declares."""


def _without_purpose(source):
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = [getattr(call.func, "attr", getattr(call.func, "id", "")) for call in calls]
    given = [{keyword.arg for keyword in call.keywords} for call in calls]
    noise = ("gaussian", "laplace")  # data sets have such names, too
    paying = [
        keywords
        for name, keywords in zip(names, given, strict=True)
        if name in PAYS and (name not in noise or "sensitivity" in keywords)
    ]
    return sum("purpose" not in keywords for keywords in paying), len(paying)


def test_every_charge_says_what_it_is_for():
    assert _without_purpose('veil.gaussian("x", sensitivity=1.0)\nradius_search(p, purpose=Purpose.MEAN)') == (
        1,
        2,
    )
    found = {str(path.relative_to(ROOT)): _without_purpose(path.read_text()) for path in ROOT.rglob("*.py")}
    assert {name: missing for name, (missing, _) in found.items() if missing} == WITHOUT_PURPOSE
    assert sum(paying for _, paying in found.values()) > 40
