"""The pictures of README and docs that are drawn from fits, all of one code.

    python benchmarks/pictures.py            # docs/pictures, and results/pictures.md, which has the stamp
    python benchmarks/pictures.py --quick    # the same in a temporary folder; writes nothing

audit.py draws audit.svg, and figures.py the figures of the paper. Pictures of pages need Chromium and
eigenveil[app,browser], and are left out where these are missing.
"""

from __future__ import annotations

import importlib.util
import pathlib
import shutil
import sys
import tempfile
import warnings

import real_data
import stamp
from harness import HERE, parser, say, table, write

PICTURES = HERE.parent / "docs" / "pictures"
SCRIPTS = {
    HERE / "picture_of_a_run.py": "three runs of tracked PCA, data seed 1001, noise seed 1",
    HERE / "picture_of_a_table.py": "a raw table before and after a fit; noise has no seed",
    PICTURES / "digits.py": "digits, plain and private; noise has no seed",
    PICTURES / "report.py": "the report of `eigenveil demo`; noise has no seed",
    PICTURES / "app.py": "the plan in `eigenveil app`, seed 0",
}
OF_PAGES = ("report.py", "app.py")


def made(script: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Let a script make its pictures in a folder; their names."""
    spec = importlib.util.spec_from_file_location(f"picture_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [path.name for path in module.make(folder)]


def main() -> None:
    """Make all pictures."""
    options = parser(__doc__)
    options.add_argument("--quick", action="store_true", help="nothing is written")
    quick = options.parse_args().quick
    stamped = stamp.line("pictures")
    warnings.simplefilter("ignore")
    has_browser = shutil.which("chromium") is not None and importlib.util.find_spec("playwright") is not None
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) if quick else PICTURES
        for script, about in SCRIPTS.items():
            if script.name in OF_PAGES and not has_browser:
                say(f"{script.name} is left out: it needs Chromium and eigenveil[app,browser]")
                continue
            try:
                names = made(script, folder)
            except real_data.UnavailableError as error:
                say(f"{script.name} is left out: {error}")
                continue
            rows.append((", ".join(names), f"`{script.relative_to(HERE.parent)}`", about))
            say(rows[-1])
    write(
        "pictures",
        title="Pictures",
        about="The pictures of README and docs that are drawn from fits, and the seeds of each.",
        stamp=stamped,
        command="python benchmarks/pictures.py",
        body=table(("picture", "script", "what it shows"), rows),
        keep=not quick and len(rows) == len(SCRIPTS),
    )


if __name__ == "__main__":
    main()
