"""`private_scores`: what is counted, what it costs, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.errors import BudgetExceededError, InvalidInputError
from eigenveil.estimators.scores.score_map import nearest_histogram
from eigenveil.mechanisms.noise import veil as veils
from eigenveil.operators import samples
from eigenveil.privacy import Budget, Ledger
from support.fixed_noise import fix_noise

NAMES = list("abcde")
EXACT = {"epsilon": 200.0, "delta": 0.1}
"""So much that noise is a small part of 1."""
beyond = pytest.mark.ledger_beyond_recomputation


def rows(n=4000, *, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 5)) * [5, 3, 1, 1, 1] + np.arange(5)


def frame(n=4000):
    return pd.DataFrame(rows(n), columns=NAMES).assign(who=np.arange(n) % 900)


@pytest.fixture(scope="module")
def pca():
    return DPPCA(3, algorithm="dp-gauss-1", epsilon=20.0).fit(rows())


def counted(model, X, picture):
    i, j = picture.components
    scores = model.transform(X)
    return np.histogram2d(scores[:, i - 1], scores[:, j - 1], bins=picture.edges)[0]


def _kinds(X, folder):
    table = pd.DataFrame(X, columns=NAMES)
    pq.write_table(pa.Table.from_pandas(table), folder / "part-0.parquet")
    np.save(folder / "rows.npy", X)
    return {
        "array": X,
        "memmap": np.load(folder / "rows.npy", mmap_mode="r"),
        "sparse": sparse.csr_array(X),
        "list": X.tolist(),
        "blocks": [X[:100], X[100:]],
        "generator": (X[i : i + 1000] for i in range(0, len(X), 1000)),
        "path": str(folder / "rows.npy"),
        "pandas": table,
        "polars": pl.DataFrame(table),
        "lazy": pl.LazyFrame(table),
        "arrow": pa.Table.from_pandas(table),
        "parquet": str(folder / "*.parquet"),
        "samples": ev.samples.rows(X),
    }


NAMED = ["pandas", "polars", "lazy", "arrow", "parquet"]
KINDS = ["array", "memmap", "sparse", "list", "blocks", "generator", "path", "samples", *NAMED]


@beyond
@pytest.mark.parametrize("kind", KINDS)
def test_it_counts_scores_of_whatever_fit_takes(kind, tmp_path):
    X = rows()
    data = _kinds(X, tmp_path)[kind]
    named = kind in NAMED
    model = DPPCA(2, algorithm="dp-gauss-1", epsilon=20.0).fit(pd.DataFrame(X, columns=NAMES) if named else X)
    picture = model.private_scores(data, **EXACT, bins=(6, 9))
    assert picture.counts.shape == (6, 9)
    table = pd.DataFrame(X, columns=NAMES) if named else X
    np.testing.assert_allclose(picture.counts, counted(model, table, picture), atol=1.5)
    assert picture.private


@beyond
@pytest.mark.parametrize("options", [{"whiten": True}, {"scale": np.array([2.0, 1, 1, 1, 1])}, {"center": False}])
def test_it_follows_whitening_scales_and_mean(options):
    X = rows()
    model = DPPCA(2, algorithm="dp-gauss-1", epsilon=20.0, **options).fit(X)
    picture = model.private_scores(X, **EXACT, components=(2, 1))
    np.testing.assert_allclose(picture.counts, counted(model, X, picture), atol=1.5)
    assert picture.counts.sum() > 0.9 * len(X)
    if "whiten" in options:
        assert picture.edges[0][-1] == pytest.approx(3.5)


@beyond
def test_bounds_come_from_releases_or_the_caller(pca):
    picture = pca.private_scores(rows(), **EXACT, components=(1, 3))
    for edges, j in zip(picture.edges, (0, 2), strict=True):
        assert edges[-1] == -edges[0] == pytest.approx(3.5 * np.sqrt(pca.explained_variance_[j]))
    assert not any("bounds" in entry.what for entry in picture.ledger.entries)
    given = pca.private_scores(rows(), **EXACT, bounds=((0, 1), (-2, 3)))
    assert [edges[[0, -1]].tolist() for edges in given.edges] == [[0, 1], [-2, 3]]
    assert any("bounds" in entry.what and entry.kind == "declared" for entry in given.ledger.entries)
    assert given.outside + given.counts.sum() == pytest.approx(4000, abs=6)


@beyond
def test_people_count_once():
    table = frame()
    model = DPPCA(2, algorithm="dp-gauss-1", epsilon=20.0).fit(table, units="who")
    for picture in (
        model.private_scores(table, **EXACT),
        model.private_scores(table, **EXACT, units="who"),
        model.private_scores(table, **EXACT, units=table["who"].to_numpy()),
        model.private_scores(pl.LazyFrame(table), **EXACT, units="who"),
        model.private_scores(ev.samples.people(table[NAMES].to_numpy(), table["who"]), **EXACT),
    ):
        assert picture.counts.sum() + picture.outside == pytest.approx(900, abs=6)
    with pytest.warns(UserWarning, match="feature names"):
        picture = model.private_scores(rows(), **EXACT, units=table["who"])
    assert picture.counts.sum() + picture.outside == pytest.approx(900, abs=6)
    with pytest.warns(UserWarning, match="feature names"):
        assert np.array_equal(model.transform(rows()), model.transform(table))
    plain = DPPCA(2, algorithm="dp-gauss-1", epsilon=20.0).fit(rows())
    picture = plain.private_scores(rows(), **EXACT, units=np.arange(4000) % 100)
    assert picture.counts.sum() + picture.outside == pytest.approx(100, abs=6)


@beyond
@pytest.mark.parametrize("kind", ["array", "sparse", "blocks", "parquet", "people", "people in a frame"])
def test_groups(kind, tmp_path):
    X = rows()
    label = np.where(X[:, 0] > 0, "right", "left")
    label[:50] = "elsewhere"
    units, data = None, X
    if "frame" in kind:
        data, units = pd.DataFrame(X, columns=NAMES).assign(who=np.arange(4000)), "who"
        model = DPPCA(2, algorithm="dp-gauss-1", epsilon=20.0).fit(data, units="who")
    elif kind == "people":
        units = np.random.default_rng(0).permutation(4000)
        model = DPPCA(2, algorithm="dp-gauss-1", epsilon=20.0).fit(X)
    else:
        data = _kinds(X, tmp_path)[kind]
        model = DPPCA(2, algorithm="dp-gauss-1", epsilon=20.0).fit(data)
    picture = model.private_scores(data, **EXACT, units=units, groups=label, labels=["right", "nobody", "left"])
    assert picture.labels == ("right", "nobody", "left")
    assert picture.counts.shape == (3, 16, 16)
    assert picture.outside.shape == (3,)
    table = pd.DataFrame(X, columns=NAMES) if kind in ("parquet", "people in a frame") else X
    for group, name in enumerate(picture.labels):
        np.testing.assert_allclose(picture.counts[group], counted(model, table[label == name], picture), atol=1.5)
    assert len([entry for entry in picture.ledger.entries if entry.kind == "gaussian"]) == 1


@beyond
@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("ending", ["parquet", "feather", "csv"])
def test_groups_by_a_column_of_files(tmp_path, ending, people):
    table = frame().assign(site=lambda f: np.where(f.a > 0, 1, 2), age=7)
    table.loc[:49, "site"] = 3
    path = tmp_path / f"t.{ending}"
    {"parquet": table.to_parquet, "feather": table.to_feather}.get(
        ending, lambda to: table.to_csv(to, index=False)
    )(path)
    units = "who" if people else None
    data = table[[*NAMES, "who"]] if people else table[NAMES]
    model = DPPCA(2, algorithm="dp-gauss-1", epsilon=20.0).fit(data, units=units)
    labels = [2, 1, 9]
    picture = model.private_scores(str(path), **EXACT, groups="site", labels=labels, bins=5)
    same = model.private_scores(data, **EXACT, groups=table.site, labels=labels, bins=5)
    assert picture.labels == tuple(labels)
    np.testing.assert_allclose(picture.counts, same.counts, atol=2.5)
    assert picture.counts.sum() > (800 if people else 3800)
    assert any(entry.what == "the list of groups" for entry in picture.ledger.entries)


def test_groups_by_a_column_that_is_not_one_of_labels(tmp_path, pca):
    frame().to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", rows())
    model = DPPCA(2, algorithm="dp-gauss-1").fit(frame()[NAMES])
    for path, column, match in (("t.parquet", "a", "column of labels"), ("t.parquet", "sight", "sight")):
        with pytest.raises(InvalidInputError, match=match):
            model.private_scores(str(tmp_path / path), epsilon=1.0, groups=column, labels=["x"])
    with pytest.raises(InvalidInputError, match="files with named columns"):
        model.private_scores(str(tmp_path / "t.npy"), epsilon=1.0, groups="who", labels=["x"])
    with pytest.raises(InvalidInputError, match="cannot be found in files"):
        pca.private_scores(str(tmp_path / "t.parquet"), epsilon=1.0, groups="who", labels=["x"])


def test_it_costs_what_was_asked_and_nothing_of_the_fit(pca):
    before = pca.ledger_.to_json()
    picture = pca.private_scores(rows(), epsilon=0.5, delta=1e-7)
    assert picture.ledger.epsilon(1e-7) == pytest.approx(0.5, rel=1e-6)
    assert picture.ledger.epsilon(1e-7) <= 0.5
    assert pca.ledger_.to_json() == before
    assert (picture.private, picture.ledger.relation.value) == (True, "add-remove")
    entry = picture.ledger.entries[-1]
    assert (entry.sensitivity, entry.draws, entry.scale) == (1.0, 257, picture.noise)
    replaced = pca.private_scores(rows(), epsilon=0.5, delta=1e-7, relation="replace")
    assert replaced.noise == pytest.approx(picture.noise * 2**0.5)
    assert replaced.ledger.relation.value == "replace"


def test_a_shared_ledger_adds_up_and_refuses_before_drawing(pca, monkeypatch):
    ledger = Ledger(Budget.from_epsilon_delta(1.0, 1e-6))
    picture = pca.private_scores(rows(), epsilon=0.8, ledger=ledger)
    assert picture.ledger is ledger
    entries = len(ledger.entries)
    monkeypatch.setattr(veils, "system_bytes", lambda _: pytest.fail("something was drawn"))
    with pytest.raises(BudgetExceededError):
        pca.private_scores(rows(), epsilon=0.8, ledger=ledger)
    assert len(ledger.entries) == entries
    with pytest.raises(InvalidInputError, match="has the relation"):
        pca.private_scores(rows(), epsilon=0.1, ledger=ledger, relation="replace")


def test_components_are_counted_from_1_wherever_they_are_named(pca):
    picture = pca.private_scores(rows(), epsilon=0.5, components=(1, 3))
    assert picture.components == (1, 3)
    assert picture.ledger.entries[-1].what == "histogram of scores, components 1 and 3"
    assert "of components 1 and 3:" in repr(picture)


def test_on_the_ledger_of_the_fit_the_model_is_paid_for_and_not_declared(pca):
    words = "the model whose components are the axes"
    ledger = Ledger(Budget.from_epsilon_delta(25.0, 1e-6))
    both = DPPCA(2, algorithm="dp-gauss-1", epsilon=1.0, ledger=ledger).fit(rows())
    both.private_scores(rows(), epsilon=0.5, ledger=ledger)
    assert words not in [entry.what for entry in ledger.entries]
    pca.private_scores(rows(), epsilon=0.5, ledger=ledger)
    assert words in [entry.what for entry in ledger.entries]


def test_not_private_is_said():
    model = DPPCA(2, algorithm="dp-gauss-1", random_state=0).fit(rows())
    picture = model.private_scores(rows(), epsilon=1.0)
    assert not picture.private
    assert "the model is not private" in picture.ledger.reasons[0]
    assert "NOT PRIVATE" in repr(picture)
    private = DPPCA(2, algorithm="dp-gauss-1").fit(rows())
    seeded = private.private_scores(rows(), epsilon=1.0, random_state=3)
    assert "seeded" in seeded.ledger.reasons[0]
    again = private.private_scores(rows(), epsilon=1.0, random_state=3)
    assert np.array_equal(seeded.counts, again.counts)
    assert private.ledger_.private
    assert "NOT" not in repr(private.private_scores(rows(), epsilon=1.0))


def test_non_negative_keeps_the_total(pca):
    picture = pca.private_scores(rows(), epsilon=0.5, bins=32)
    assert picture.counts.min() < 0
    nearest = picture.non_negative()
    assert nearest.counts.min() >= 0
    assert nearest.outside >= 0
    assert nearest.counts.sum() + nearest.outside == pytest.approx(picture.counts.sum() + picture.outside)
    truth = counted(pca, rows(), picture)
    assert np.sum((nearest.counts - truth) ** 2) < np.sum((picture.counts - truth) ** 2)
    assert nearest.ledger is picture.ledger


@pytest.mark.parametrize(
    ("given", "wanted"),
    [([5.0, 1, -2], [4, 0, 0]), ([1.0, 2], [1, 2]), ([-1.0, -2], [0, 0]), ([1.0, -1], [0, 0]), ([], [])],
)
def test_nearest_histogram(given, wanted):
    assert nearest_histogram(np.array(given)).tolist() == wanted


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"components": (1, 1)}, "two different"),
        ({"components": (0, 1)}, "from 1 to 3"),
        ({"components": (1, 4)}, "from 1 to 3"),
        ({"components": (1,)}, "two different"),
        ({"bins": 0}, "bins"),
        ({"bins": (3, 4, 5)}, "bins"),
        ({"bins": 2.5}, "bins"),
        ({"bounds": ((0, 1), (1, 0))}, "bounds"),
        ({"bounds": ((0, 1), (0, np.inf))}, "bounds"),
        ({"bounds": 3}, "bounds"),
        ({"groups": ["a"] * 4000}, "labels"),
        ({"labels": ["a"]}, "no groups"),
        ({"groups": ["a"] * 4000, "labels": ["a", "a"]}, "once"),
        ({"groups": ["a"] * 4000, "labels": []}, "at least one"),
        ({"groups": ["a"] * 3999, "labels": ["a"]}, "one group per row"),
        ({"groups": ["a"] * 4001, "labels": ["a"]}, "one group per row"),
        ({"groups": ["a"] * 3999, "labels": ["a"], "units": np.arange(4000)}, "one group per row"),
        ({"groups": "sex", "labels": ["a"]}, "one label per row"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"relation": "swap"}, "relation"),
    ],
)
def test_what_is_refused(pca, options, match):
    with pytest.raises(InvalidInputError, match=match):
        pca.private_scores(rows(), **{"epsilon": 1.0, **options})


def test_columns_and_fit_are_asked_for(pca):
    with pytest.raises(NotFittedError):
        DPPCA().private_scores(rows(), epsilon=1.0)
    with pytest.raises(ValueError, match="features"):
        pca.private_scores(rows()[:, :4], epsilon=1.0)
    with pytest.raises(ValueError, match="features"):
        pca.private_scores(ev.samples.rows(rows()[:, :4]), epsilon=1.0)
    with pytest.raises(InvalidInputError, match="samples"):
        pca.private_scores(ev.samples.rows(rows()), epsilon=1.0, units=np.arange(4000))
    bare = DPPCA(2, algorithm="k-dp-ojas").fit(rows())
    with pytest.raises(InvalidInputError, match="needs bounds"):
        bare.private_scores(rows(), epsilon=1.0)
    assert bare.private_scores(rows(), epsilon=1.0, bounds=((-9, 9), (-9, 9))).counts.shape == (16, 16)


@beyond
def test_bad_rows_change_nothing_but_counts(pca):
    X = rows()
    X[3, 1], X[4] = np.nan, np.inf
    picture = pca.private_scores(X, **EXACT)
    assert picture.counts.sum() + picture.outside == pytest.approx(3998, abs=6)


def test_no_canary(monkeypatch):
    fix_noise(monkeypatch, "canary")  # real noise could look like one
    X = rows()
    X[17] = 7234.123456789
    model = DPPCA(2, algorithm="dp-gauss-1").fit(X)
    picture = model.private_scores(X, epsilon=1.0)
    for text in (repr(picture), str(picture.ledger), repr(vars(picture))):
        assert "7234.1" not in text


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_labels_that_lost_digits_are_refused(pca, kind):
    """One missing label makes floats of all, and different ones would be one group."""
    big = 2**53 if kind is np.float64 else 2**24
    labels = np.where(np.arange(4000) % 2, float(big), np.nan).astype(kind)
    with pytest.raises(InvalidInputError, match="expected exact labels"):
        pca.private_scores(rows(), epsilon=1.0, groups=labels, labels=[big, big + 1])


@pytest.mark.parametrize("kind", [np.float64, np.float32, list])
def test_one_label_that_lost_its_digits_is_in_no_group(pca, kind):
    """It once refused all groups."""
    big = 2**24 if kind is np.float32 else 2**53
    whole = [float(row % 2) for row in range(4000)]
    labels = [0, 1, big] if kind is list else [0, 1]

    def counts(first):
        groups = [first, *whole[1:]]
        groups = groups if kind is list else np.array(groups, kind)
        return pca.private_scores(rows(), **EXACT, groups=groups, labels=labels, random_state=0).counts

    assert np.array_equal(counts(float(big)), counts(float("nan")))
    assert not np.array_equal(counts(1.0), counts(float("nan")))


@pytest.mark.parametrize("label", ["1.2.3", ".", "north"])
def test_groups_of_floats_have_numbers_as_labels(pca, label):
    with pytest.raises(InvalidInputError, match="groups are numbers"):
        pca.private_scores(rows(), epsilon=1.0, groups=np.zeros(4000), labels=[0, label])


def test_a_label_that_cannot_be_compared_is_in_no_group(pca):
    labels = [["a"], "a"] + ["b"] * (4000 - 2)
    picture = pca.private_scores(rows(), **EXACT, groups=labels, labels=["a", "b"])
    assert picture.counts.shape[0] == 2


REORDERED = {
    "another order": lambda f: samples.rows(f[NAMES[::-1]]),
    "other names": lambda f: samples.rows(f[NAMES].set_axis(list("vwxyz"), axis=1)),
    "other columns": lambda f: samples.rows(f[NAMES].iloc[:, :4]),
    "people": lambda f: samples.people(f[["who", *NAMES[::-1]]], "who"),
    "another fill": lambda f: samples.rows(f[NAMES], fill=3.0),
    "encoded": lambda f: samples.rows(f[NAMES[:4]].assign(g="x"), encode={"g": ["x"]}),
}


@pytest.mark.parametrize("way", REORDERED)
def test_an_object_of_samples_must_have_the_columns_of_the_fit(way):
    """Found in a review: columns in another order were accepted, and the map cost its whole epsilon."""
    model = DPPCA(2, epsilon=20.0, ledger=None).fit(frame()[NAMES])
    with pytest.raises(InvalidInputError, match=r"columns differ|features|made with other"):
        model.private_scores(REORDERED[way](frame()), epsilon=1.0)
    model.private_scores(samples.rows(frame()[NAMES]), epsilon=1.0)
    model.private_scores(samples.people(frame(), "who"), epsilon=1.0)


def test_an_object_of_samples_must_read_the_columns_as_the_fit_did():
    X = rows()
    for how in ({"columns": [2, 1, 0, 3, 4]}, {"fill": 0.0}, {"fill": {1: 2.0}}):
        model = DPPCA(2, epsilon=20.0, **how).fit(X)
        with pytest.raises(InvalidInputError, match=f"made with other {next(iter(how))}"):
            model.private_scores(samples.rows(X), epsilon=1.0)
        model.private_scores(samples.rows(X, **how), epsilon=1.0)
        model.private_scores(X, epsilon=1.0)
    table = frame()[NAMES[:4]].assign(day="2020-01-31")
    model = DPPCA(2, epsilon=20.0, encode={"day": "days since 2020-01-01"}).fit(table)
    with pytest.raises(InvalidInputError, match="made with other encode"):
        model.private_scores(samples.rows(table, encode={"day": "days since 2000-01-01"}), epsilon=1.0)
    model.private_scores(samples.rows(table, encode={"day": "days since 2020-01-01"}), epsilon=1.0)


def test_groups_and_ids_in_another_order_than_the_rows_are_refused():
    """Found in a review: a map whose groups were noise, for the whole budget."""
    plain = frame()[NAMES]
    model = DPPCA(2, epsilon=20.0).fit(plain)
    X, names = plain.sample(frac=1, random_state=0), pd.Series(np.where(plain["a"] > 0, "hi", "lo"))
    ledger = Ledger(Budget.from_epsilon_delta(5.0, 1e-5))
    ask = {"epsilon": 1.0, "labels": ["hi", "lo"], "ledger": ledger, "bounds": ((-30, 30), (-30, 30)), "bins": 2}
    with pytest.raises(InvalidInputError, match="groups in the order of the rows") as refusal:
        model.private_scores(X, groups=names, **ask)
    assert "groups=groups.loc[X.index]" in refusal.value.hint
    with pytest.raises(InvalidInputError, match="units in the order of the rows"):
        model.private_scores(X, units=pd.Series(np.arange(4000)), epsilon=1.0, ledger=ledger)
    assert not ledger.entries
    found = model.private_scores(X, groups=names.loc[X.index], **ask)
    upper, lower = found.counts.sum(axis=(1, 2)) + found.outside
    assert abs(upper - (plain["a"] > 0).sum()) < 100 > abs(lower - (plain["a"] <= 0).sum())


def test_groups_of_rows_on_a_cluster_are_refused_before_they_are_charged():
    """They were charged, and then the cluster failed: it gives rows in no order of the caller."""
    dd = pytest.importorskip("dask.dataframe")
    model, ledger = DPPCA(2, epsilon=20.0).fit(frame()[NAMES]), Ledger(Budget.from_epsilon_delta(5.0, 1e-5))
    there = dd.from_pandas(frame()[NAMES], npartitions=3)
    with pytest.raises(InvalidInputError, match="groups need rows on this machine"):
        model.private_scores(there, groups=["x"] * 4000, labels=["x"], epsilon=1.0, ledger=ledger)
    assert not ledger.entries


@pytest.mark.parametrize("kind", ["array", "parquet", "path", "blocks", "ids beside a file"])
def test_another_number_of_groups_or_ids_is_refused_before_it_is_charged(kind, tmp_path):
    """Review finding: the whole budget was spent, and nothing returned."""
    data = _kinds(rows(), tmp_path)["parquet" if "ids" in kind else kind]
    model = DPPCA(2, algorithm="dp-gauss-1", epsilon=20.0).fit(data)
    for number in (3999, 4001):
        wrong = {"units": np.arange(number)} if "ids" in kind else {"groups": ["a"] * number, "labels": ["a"]}
        ledger = Ledger(Budget.from_epsilon_delta(5.0, 1e-5))
        with pytest.raises(InvalidInputError, match=r"expected one (id|group) per row"):
            model.private_scores(data, epsilon=1.0, ledger=ledger, **wrong)
        assert not ledger.entries
        assert ledger.unit is None


def test_groups_of_rows_that_are_read_once_are_refused(pca):
    with pytest.raises(InvalidInputError, match="groups need rows that can be read twice"):
        pca.private_scores(iter([rows()]), epsilon=1.0, groups=["a"] * 4000, labels=["a"])
