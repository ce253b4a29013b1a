"""The wheel in a clean virtual environment: the core alone, then the command line and its demo."""

import os
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIT = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from eigenveil import DPPCA
from eigenveil.kernels import loops
X = np.random.default_rng(0).normal(size=(5000, 4)) * [5, 3, 1, 1]
pq.write_table(pa.table(dict(zip("abcd", X.T))), "rows.parquet")
print(DPPCA(2).fit("rows.parquet").components_.shape, loops.compiled())
"""


def run(*command, folder, code=0):
    """Run a command without this process's packages; return what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHONPATH")}
    done = subprocess.run(  # noqa: S603
        [str(word) for word in command],
        capture_output=True, text=True, timeout=600, cwd=folder, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment(tmp_path):
    venv.create(tmp_path / "clean", with_pip=True)
    programs = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin")
    pip = [programs / "python", "-m", "pip", "--disable-pip-version-check"]
    reached = subprocess.run(  # noqa: S603
        [*map(str, pip), "download", "--quiet", "--no-deps", "--dest", str(tmp_path / "reached"), "hatchling"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if reached.returncode:
        pytest.skip("pip cannot reach a package index")
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT, folder=tmp_path)
    (wheel,) = tmp_path.glob("eigenveil-*.whl")
    assert "-py3-none-" in wheel.name
    constrained = ["--quiet", "--constraint", ROOT / "constraints.txt"]

    run(*pip, "install", *constrained, wheel, folder=tmp_path)
    installed = run(*pip, "list", folder=tmp_path)
    assert not [name for name in ("matplotlib", "duckdb", "typer", "rich", "pandas") if f"\n{name} " in installed]
    assert "(2, 4) True" in run(programs / "python", "-c", FIT, folder=tmp_path)
    assert "eigenveil[cli]" in run(programs / "eigenveil", "demo", folder=tmp_path, code=1)

    run(*pip, "install", *constrained, f"{wheel}[cli]", folder=tmp_path)
    assert "eigenveil" in run(programs / "eigenveil", "demo", "--out", "demo", folder=tmp_path)
    assert (tmp_path / "demo" / "report.html").stat().st_size > 50_000
    run(programs / "eigenveil", "example", "visits.parquet", folder=tmp_path)
    fit = ("fit", "visits.parquet", "-k", 2, "--units", "person_id", "--columns", "lab_*", "--out", "model")
    run(programs / "eigenveil", *fit, folder=tmp_path)
    assert "lab_crp" in run(programs / "eigenveil", "inspect", "model", folder=tmp_path)
