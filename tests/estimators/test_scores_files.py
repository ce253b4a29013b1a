"""Scores written to Parquet, whole or not at all; and the one warning about them."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from eigenveil import DPPCA
from eigenveil.errors import PrivacyWarning
from eigenveil.estimators import score_files
from eigenveil.estimators.score_files import warn_once_of_scores

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
    assert pca.transform_to(data, path) is None
    table = pq.read_table(path)
    assert table.column_names == list(pca.get_feature_names_out()) == ["dppca0", "dppca1"]
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
        pca.transform_to(broken(), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["scores.parquet"]


def test_rows_may_be_replaced_by_their_scores(pca, tmp_path):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table(dict(zip(NAMES, rows(100).T, strict=True))), path)
    pca.fit(str(path)).transform_to(str(path), path)
    assert pq.read_table(path).column_names == ["dppca0", "dppca1"]


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
        yield lambda: [one for one in caught if "scores of the rows" in str(one.message)]


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
