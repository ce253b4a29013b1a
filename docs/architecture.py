"""Write the diagram and the tables of docs/architecture.md from the source tree.

Run it as ``python docs/architecture.py`` after a package was added, moved or renamed, after its docstring changed,
or when ``tests/docs/test_architecture.py`` fails. It reads the source with `ast` and imports nothing of eigenveil.
"""  # noqa: INP001  # a script

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAME = "eigenveil"
DOCS = Path(__file__).parent
SOURCE = DOCS.parent / "src" / NAME
PAGE = DOCS / "architecture.md"
BEGIN, END = "<!-- begin: written by docs/architecture.py -->", "<!-- end: written by docs/architecture.py -->"


@dataclass
class Part:
    """A package, or a single module at the top level, with the top-level parts it imports."""

    name: str
    """Path below ``src/eigenveil``, such as ``cli/implementations`` or ``errors.py``."""
    summary: str
    files: int = 0
    lines: int = 0
    imports: set[str] = field(default_factory=set)

    @property
    def top(self) -> str:
        """Name of the top-level part that this part belongs to."""
        return self.name.split("/")[0].removesuffix(".py")


def parts_of(source: Path) -> list[Part]:
    """Return all packages and top-level modules below a source folder, sorted by name."""
    packages = sorted(path.parent for path in source.rglob("__init__.py") if path.parent != source)
    modules = sorted(path for path in source.glob("*.py") if path.name != "__init__.py")
    return [_part(path, source) for path in [*packages, *modules]]


def _part(path: Path, source: Path) -> Part:
    own = sorted(path.glob("*.py")) if path.is_dir() else [path]
    head = path / "__init__.py" if path.is_dir() else path
    part = Part(path.relative_to(source).as_posix(), summary_of(head))
    for file in own:
        text = file.read_text(encoding="utf-8")
        part.files += 1
        part.lines += len(text.splitlines())
        part.imports |= set(imported(ast.parse(text), file, source)) - {part.top}
    return part


def summary_of(file: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    return docstring.splitlines()[0] if docstring else ""


def imported(tree: ast.Module, file: Path, source: Path) -> Iterator[str]:
    """Yield the top-level parts that a module imports, also inside functions."""
    here = (source.name, *file.relative_to(source).parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(here[: len(here) - node.level + 1]) if node.level else []
            base += (node.module or "").split(".") if node.module else []
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for path in names:
            if path[0] == source.name and len(path) > 1 and _exists(source / path[1]):
                yield path[1]


def _exists(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file()


def layers_of(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the parts in layers, top layer first: each part lies above everything that it imports."""
    height: dict[str, int] = {}

    def visit(name: str, path: tuple[str, ...]) -> int:
        if name in path:
            raise ValueError(f"expected imports without cycles, got {' -> '.join([*path, name])}")
        if name not in height:
            height[name] = 1 + max((visit(below, (*path, name)) for below in sorted(graph[name])), default=0)
        return height[name]

    for name in graph:
        visit(name, ())
    levels = sorted(set(height.values()), reverse=True)
    return [sorted(name for name in graph if height[name] == level) for level in levels]


def direct(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the edges of a graph without cycles that no longer path replaces (its transitive reduction)."""

    def reached(name: str) -> set[str]:
        return graph[name].union(*(reached(below) for below in graph[name]))

    below = {name: reached(name) for name in graph}
    return [
        (name, target)
        for name in sorted(graph)
        for target in sorted(graph[name])
        if not any(target in below[other] for other in graph[name])
    ]


def diagram(graph: dict[str, set[str]], layers: list[list[str]]) -> list[str]:
    """Return the lines of a Mermaid flowchart, in a fenced block."""
    lines = ["```mermaid", "flowchart TD"]
    for number, names in enumerate(layers, start=1):
        if not names:
            continue
        lines += [f'    subgraph layer{number}["{number}"]', "        direction LR"]
        lines += [f"        {name}" for name in names] + ["    end"]
    lines += [f"    {name} --> {target}" for name, target in direct(graph)]
    return [*lines, "```"]


def table(parts: list[Part], layers: list[list[str]]) -> list[str]:
    """Return the lines of the table of packages, in the order of the layers."""
    lines = ["| layer | package | what it holds | files | lines | imports |", "|---|---|---|---|---|---|"]
    for number, names in enumerate(layers, start=1):
        for part in (part for name in names for part in parts if part.top == name):
            label = part.name if part.name.endswith(".py") else f"{part.name}/"
            imports = ", ".join(f"`{name}`" for name in sorted(part.imports))
            lines.append(
                f"| {number} | `{label}` | {part.summary} | {part.files} | {_about(part.lines)} | {imports} |"
            )
    return lines


def _about(lines: int) -> str:
    """Lines rounded to a hundred, so that small changes of the code leave the page as it is."""
    return f"{round(lines, -2):,}" if lines >= 50 else "under 50"


def written(page: str, source: Path = SOURCE) -> str:
    """Return the page with everything between the markers replaced by what the source says."""
    parts = parts_of(source)
    graph: dict[str, set[str]] = {}
    for part in parts:
        graph.setdefault(part.top, set()).update(part.imports)
    layers = layers_of(graph)
    packages = {part.top for part in parts if not part.name.endswith(".py")}
    between = {name: graph[name] & packages for name in packages}
    drawn = [[name for name in names if name in packages] for names in layers]
    before, _, rest = page.partition(BEGIN)
    _, marker, after = rest.partition(END)
    if not marker:
        raise ValueError(f"expected the markers {BEGIN!r} and {END!r} in the page, in this order.")
    middle = [BEGIN, "", *diagram(between, drawn), "", *table(parts, layers), "", END]
    return before + "\n".join(middle) + after


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
