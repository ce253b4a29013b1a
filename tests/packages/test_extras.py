"""eigenveil without its extras: what works, and the errors that name the extra for what does not."""

import subprocess
import sys

import pytest

BLOCKED = (
    "matplotlib",
    "jinja2",
    "duckdb",
    "typer",
    "click",
    "rich",
    "dask",
    "distributed",
    "pyspark",
    "dp_accounting",
)
BLOCK = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""
DATA = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import eigenveil as ev
X = np.random.default_rng(0).normal(size=(3000, 4)) * [5, 3, 1, 1]
ids = np.arange(3000) % 1500
table = pa.table({"person_id": ids, **dict(zip("abcd", X.T))})
pq.write_table(table, "people.parquet")
pq.write_table(table.drop_columns(["person_id"]), "rows.parquet")
"""


def run(code, folder, *, block=BLOCK):
    """Run code in a process in which the packages of extras cannot be imported."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", block + code], capture_output=True, text=True, timeout=120, cwd=folder, check=False
    )


WORKS = """
for data, units in ((X, None), (X, ids), ("rows.parquet", None), (table, "person_id")):
    pca = ev.DPPCA(2).fit(data, units=units)
    assert pca.components_.shape == (2, 4)
ev.save(pca, "model")
assert (ev.load("model").components_ == pca.components_).all()
pca.transform_to("rows.parquet", "scores.csv")
ev.DPPCA(2).partial_fit(X)
ev.plan(3000, 4, 2, epsilon=1.0), ev.tracked_pca(X, 2, epsilon=1.0, delta=1e-6), dir(ev)
ev.datasets, ev.metrics, ev.schedules, ev.theory
print("done", *(set(sys.modules) & set(%r)))
"""


def test_fits_files_models_and_plans_need_no_extra(tmp_path):
    done = run(DATA + WORKS % (BLOCKED,), tmp_path)
    assert done.stdout == "done\n", done.stderr


def test_no_extra_is_imported_where_it_is_installed(tmp_path):
    """Except rich, which scikit-learn may import."""
    heavy = tuple(name for name in BLOCKED if name != "rich")
    done = run(DATA + WORKS % (heavy,), tmp_path, block="import sys\n")
    assert done.stdout == "done\n", done.stderr


MISSING = {
    "ev.plots": "plots",
    "from eigenveil.plots import ScreeDisplay": "plots",
    "ev.write_report": "plots",
    "import eigenveil.experiments": "plots",
    "fit('people.parquet', units='person_id')": "people",
    "fit('rows.parquet', units=ids)": "people",
    "fit(X, engine='dask')": "dask",
    "fit('people.parquet', units='person_id', engine='dask')": "dask",
    "poisson_epsilon(rate=0.5, rounds=1, noise_multiplier=1.0, delta=1e-6, relation='add-remove')": "poisson",
}
CATCH = """
from eigenveil.privacy.poisson import poisson_epsilon
ledger = ev.Ledger(ev.Budget.from_epsilon_delta(1.0, 1e-6))
def fit(X, *, units=None, engine="auto"):
    ev.DPPCA(2, engine=engine, ledger=ledger).fit(X, units=units)

for line in {lines}:
    try:
        exec(line)
    except ev.errors.MissingExtraError as error:
        assert not ledger.entries, line
        print(line, str(error).splitlines(), isinstance(error, ImportError), sep=" -> ")
    else:
        print(line)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    code = DATA + CATCH.format(lines=list(MISSING))
    done = run(code, tmp_path_factory.mktemp("missing"))
    assert done.returncode == 0, done.stderr
    return {line.partition(" -> ")[0]: line for line in done.stdout.splitlines()}


@pytest.mark.parametrize("line", MISSING)
def test_what_needs_an_extra_names_it_before_anything_is_charged(told, line):
    assert "not installed" in told[line]
    assert f"pip install 'eigenveil[{MISSING[line]}]'" in told[line]
    assert told[line].endswith("True")


@pytest.mark.parametrize("words", [[], ["--help"], ["fit", "rows.parquet"], ["demo"]], ids=" ".join)
def test_the_command_says_which_extra_it_needs(words, tmp_path):
    done = run(f"from eigenveil.cli import main\nsys.argv = ['eigenveil', *{words}]\nmain()", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the command eigenveil needs ")
    assert done.stderr.endswith("is not installed.\nHint: pip install 'eigenveil[cli]'\n")


def test_the_version_needs_no_extra(tmp_path):
    done = run("from eigenveil.cli import main\nsys.argv = ['eigenveil', '--version']\nmain()", tmp_path)
    assert done.stdout.startswith("eigenveil ")


def test_other_names_are_not_extras():
    from eigenveil import _extras

    with pytest.raises(AttributeError):
        _extras.numpy  # noqa: B018
