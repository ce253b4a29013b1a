"""Scores written to Parquet, whole or not at all; and the one warning about them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset, feather
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from eigenveil import DPPCA
from eigenveil.errors import InvalidInputError, PrivacyWarning
from eigenveil.estimators.scores import files as score_files
from eigenveil.estimators.scores.files import WrittenScores, warn_once_of_scores
from eigenveil.sources import CsvFiles

NAMES = list("abcd")


def rows(n=5000):
    return np.random.default_rng(0).normal(size=(n, 4)) * [5, 3, 1, 1]


@pytest.fixture
def pca():
    return DPPCA(2, algorithm="dp-gauss-1", random_state=0).fit(rows())


@pytest.mark.parametrize("kind", ["array", "blocks", "generator", "parquet", "none"])
def test_parquet_holds_the_scores(pca, kind, tmp_path):
    X = rows() if kind != "none" else rows()[:0]
    data = X
    if kind == "blocks":
        data = [X[:3], X[3:]]
    elif kind == "generator":
        data = (X[i : i + 999] for i in range(0, len(X), 999))
    elif kind == "parquet":
        data = pd.DataFrame(X, columns=NAMES)
        data.to_parquet(tmp_path / "rows.parquet")
        pca, data = pca.fit(data), str(tmp_path / "rows.parquet")
    path = tmp_path / "scores.parquet"
    assert pca.transform_to(data, path) == WrittenScores(len(X), 0)
    table = pq.read_table(path)
    assert table.column_names == list(pca.get_feature_names_out()) == ["pc1", "pc2"]
    held = table.to_pandas().to_numpy()
    expected = pca.transform(X if kind != "parquet" else pd.DataFrame(X, columns=NAMES))
    np.testing.assert_allclose(held, expected, atol=1e-12)
    assert not [file for file in tmp_path.iterdir() if "part" in file.name]


def test_it_reads_block_by_block(pca, tmp_path):
    alive = []

    def blocks():
        for _ in range(50):
            alive.append(len(alive))
            yield rows(1000)

    pca.transform_to(blocks(), tmp_path / "scores.parquet")
    assert pq.ParquetFile(tmp_path / "scores.parquet").num_row_groups >= 50
    assert len(alive) == 50


def test_an_interrupted_write_leaves_the_old_file(pca, tmp_path):
    path = tmp_path / "scores.parquet"
    pca.transform_to(rows(10), path)
    before = path.read_bytes()

    def broken():
        yield rows(10)
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        pca.transform_to(broken(), path, overwrite=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["scores.parquet"]


@pytest.mark.parametrize("given", ["path", "list", "glob", "folder", "csv"])
@pytest.mark.parametrize("name", ["itself", "link", "hard link", "dots"])
def test_rows_are_not_replaced_by_their_scores(pca, tmp_path, given, name):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / ("data.csv" if given == "csv" else "data.parquet")
    table = pa.table(dict(zip(NAMES, rows(100).T, strict=True)))
    (pc.write_csv if given == "csv" else pq.write_table)(table, path)
    pq.write_table(table, tmp_path / "other.parquet")
    before = path.read_bytes()
    out = {"itself": path, "dots": tmp_path / "in" / ".." / "in" / path.name}.get(name, tmp_path / path.name)
    if "link" in name:
        getattr(out, "symlink_to" if name == "link" else "hardlink_to")(path)
    data = {
        "list": lambda: [str(tmp_path / "other.parquet"), path],
        "glob": lambda: str(path.parent / "*.parquet"),
        "folder": lambda: path.parent,
        "csv": lambda: CsvFiles(str(path)),
    }.get(given, lambda: str(path))()
    for overwrite, words in ((False, "already exists"), (True, "is one of the files to read")):
        with pytest.raises(InvalidInputError, match=words):
            pca.fit(rows(100)).transform_to(data, out, overwrite=overwrite)
    assert path.read_bytes() == before
    assert out.is_symlink() == (name == "link")
    pca.fit(table).transform_to(data, tmp_path / "scores.parquet")
    with pytest.raises(InvalidInputError, match="already exists"):
        pca.transform_to(data, tmp_path / "scores.parquet")
    pca.transform_to(data, tmp_path / "scores.parquet", overwrite=True)  # as the hint says


OPENED = {
    "dataset": lambda folder: dataset.dataset(folder / "d.parquet"),
    "reader": lambda folder: dataset.dataset(folder / "d.parquet").scanner().to_reader(),
    "polars scan": lambda folder: pl.scan_parquet(folder / "d.parquet"),
    "mapped table": lambda folder: feather.read_table(folder / "d.feather", memory_map=True),
    "mapped array": lambda folder: np.load(folder / "d.npy", mmap_mode="r").view(np.ndarray),
    "generator": lambda _: (rows(50) for _ in range(2)),
}


@pytest.mark.parametrize("given", OPENED)
def test_no_existing_file_is_replaced_unless_asked(pca, tmp_path, given):
    """mutant: only files that are known to be read are refused. Lazy tables and views do not tell their files."""
    table = pa.table(dict(zip(NAMES, rows(100).T, strict=True)))
    pq.write_table(table, tmp_path / "d.parquet")
    feather.write_feather(table, tmp_path / "d.feather", compression="uncompressed")
    np.save(tmp_path / "d.npy", rows(100))
    (tmp_path / "ledger.json").write_text("my ledger")
    (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.exists()}
    if given not in ("mapped array", "generator"):
        pca = pca.fit(table)
    for name in (*before, "link.csv"):
        with pytest.raises(InvalidInputError, match="already exists"):
            pca.transform_to(OPENED[given](tmp_path), tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.exists()} == before
    assert pca.transform_to(OPENED[given](tmp_path), tmp_path / "ledger.json", overwrite=True).rows == 100


def test_a_file_that_appears_meanwhile_is_not_replaced(pca, tmp_path):
    def blocks():
        yield rows(10)
        (tmp_path / "scores.csv").write_text("of another process")

    with pytest.raises(InvalidInputError, match="already exists"):
        pca.transform_to(blocks(), tmp_path / "scores.csv")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("scores.csv", "of another process")]


def spoilt_table():
    table = pd.DataFrame(rows(100), columns=NAMES).assign(who=[f"p {i:03}" for i in range(100)], day=range(100))
    table.loc[[3, 50], "b"] = np.nan
    table.loc[60, "c"] = np.inf
    return table


@pytest.mark.parametrize("kind", ["frame", "arrow", "parquet", "feather", "csv"])
@pytest.mark.parametrize("out", ["scores.parquet", "scores.csv"])
def test_ids_stay_beside_scores_and_missing_ones_are_empty(kind, out, tmp_path):
    table = spoilt_table()
    pca = DPPCA(2, algorithm="dp-gauss-1", random_state=0).fit(table.drop(columns="day"), units="who")
    data = {"frame": table, "arrow": pa.Table.from_pandas(table)}.get(kind, str(tmp_path / f"in.{kind}"))
    if kind in ("parquet", "feather"):
        getattr(table, f"to_{kind}")(data)
    elif kind == "csv":
        table.to_csv(data, index=False)
    given = table.drop(columns="day") if kind == "frame" else data
    keep = ["who"] if kind == "frame" else ["day", "wh*"]
    assert pca.transform_to(given, tmp_path / out, keep=keep) == WrittenScores(100, 3)
    held = pd.read_csv(tmp_path / out) if out.endswith("csv") else pq.read_table(tmp_path / out).to_pandas()
    assert list(held.columns) == [*(keep if kind == "frame" else ["day", "who"]), "pc1", "pc2"]
    assert held["who"].tolist() == table["who"].tolist()
    assert held.index[held[["pc1", "pc2"]].isna().all(axis=1)].tolist() == [3, 50, 60]
    fine = table.drop(columns=["who", "day"]).drop(index=[3, 50, 60])
    np.testing.assert_allclose(held[["pc1", "pc2"]].drop(index=[3, 50, 60]), pca.transform(fine), atol=1e-9)
    if out.endswith("csv"):
        line = (tmp_path / out).read_text().splitlines()[4]
        assert line.endswith('"p 003",,')
    else:
        assert pq.read_table(tmp_path / out)["pc1"].null_count == 3


def test_what_cannot_be_kept_is_refused_before_anything_is_written(pca, tmp_path):
    path = tmp_path / "scores.parquet"
    with pytest.raises(InvalidInputError, match="have no names"):
        pca.transform_to(rows(5), path, keep=["who"])
    table = pd.DataFrame(rows(5), columns=NAMES)
    pca.fit(table)
    with pytest.raises(InvalidInputError, match=r"no column 'whom'"):
        pca.transform_to(table, path, keep="whom")
    with pytest.raises(InvalidInputError, match="the name of a score"):
        pca.fit(table.rename(columns={"d": "pc2"})).transform_to(
            table.rename(columns={"d": "pc2"}), path, keep="pc2"
        )
    assert not list(tmp_path.iterdir())


def test_it_must_be_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        DPPCA().transform_to(rows(), tmp_path / "scores.parquet")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def told():
    """As in a fresh process."""
    warn_once_of_scores.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield lambda: [one for one in caught if "scores of the training rows" in str(one.message)]


def test_fit_transform_warns_once(told):
    first = DPPCA(2).fit_transform(rows())
    assert first.shape == (5000, 2)
    (warning,) = told()
    assert warning.category is PrivacyWarning
    assert warning.filename == __file__
    assert "private_scores" in str(warning.message)
    DPPCA(2).fit_transform(rows())
    make_pipeline(DPPCA(2), LogisticRegression()).fit(rows(), rows()[:, 0] > 0)
    assert len(told()) == 1


def test_nothing_else_warns(told):
    pca = DPPCA(2).fit(rows())
    pca.transform(rows())
    DPPCA(2, random_state=0).fit_transform(rows())
    assert not told()


def test_fit_transform_passes_units_and_output_on(told):
    table = pd.DataFrame(rows(), columns=NAMES).assign(who=np.arange(5000) % 2500)
    pca = DPPCA(2).set_output(transform="pandas")
    scores = pca.fit_transform(table, units="who")
    assert isinstance(scores, pd.DataFrame)
    assert len(told()) == 1
    assert pca.n_features_in_ == 4
    assert score_files.warn_once_of_scores is warn_once_of_scores
