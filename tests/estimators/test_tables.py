"""Tables with names, categories, dates and gaps: fit, transform, streams, files, ledgers, and what leaves."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Purpose
from eigenveil.report import render_report
from support.fixed_noise import fix_noise
from support.pinned import same_but_for_data

N = 4500
ENCODE = {"site": ["north", "south"], "visit": "days since 2020-01-01"}
FILL = {"bmi": 25, "lab_*": 0}
COLUMNS = ["lab_*", "site", "visit", "bmi", "smoker"]
OUT = ["lab_a", "lab_b", "site=north", "site=south", "visit", "bmi", "smoker"]
SETTINGS = {"columns": COLUMNS, "encode": ENCODE, "fill": FILL}
COARSE = {"algorithm": "dp-gauss-1", "random_state": 0}


pytestmark = pytest.mark.filterwarnings("ignore:by a noisy count, .* have a value")
"""The clinic has a site that no list names, and how loudly that is said is chance."""


def clinic(n=N, seed=0):
    rng = np.random.default_rng(seed)
    gaps = np.where(rng.random(n) < 0.3, np.nan, rng.normal(5, 2, n))
    return pd.DataFrame(
        {
            "who": rng.integers(0, n // 3, n),
            "visit": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
            "site": pd.Series(rng.choice(["north", "south", "moon"], n)).where(rng.random(n) < 0.9),
            "smoker": rng.random(n) < 0.3,
            "bmi": np.where(rng.random(n) < 0.1, np.nan, rng.normal(25, 4, n)),
            "lab_a": rng.normal(90, 15, n),
            "lab_b": gaps,
            "comment": "text",
        }
    )


def by_hand(frame):
    """What the settings make of a table, written out."""
    return pd.DataFrame(
        {
            "lab_a": frame["lab_a"].fillna(0),
            "lab_b": frame["lab_b"].fillna(0),
            "site=north": (frame["site"] == "north").astype(float),
            "site=south": (frame["site"] == "south").astype(float),
            "visit": (frame["visit"] - pd.Timestamp("2020-01-01")) / pd.Timedelta(days=1),
            "bmi": frame["bmi"].fillna(25),
            "smoker": frame["smoker"].astype(float),
        }
    )


def in_form(form, frame, folder):
    """The table as a user may have it."""
    if form == "pandas":
        return frame
    if form == "pandas categories":
        return frame.assign(site=frame["site"].astype("category"))
    if form == "arrow":
        return pa.Table.from_pandas(frame, preserve_index=False)
    if form.startswith("polars"):
        made = pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
        return made.lazy() if form == "polars lazy" else made
    path = folder / f"table.{form}"
    {"parquet": frame.to_parquet, "feather": frame.to_feather, "csv": frame.to_csv}[form](
        path, **({"index": False} if form == "csv" else {})
    )
    return path


FORMS = ["pandas", "pandas categories", "polars", "polars lazy", "arrow", "parquet", "feather", "csv"]


@pytest.mark.parametrize("units", [None, "who"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_fit_of_the_table_written_out(form, units, tmp_path):
    frame = clinic()
    data = in_form(form, frame, tmp_path)
    ids = None if units is None else frame["who"]
    plain = DPPCA(2, **COARSE).fit(by_hand(frame), units=ids)
    pca = DPPCA(2, **COARSE, **SETTINGS).fit(data, units=units)
    assert list(pca.feature_names_in_) == OUT
    np.testing.assert_array_equal(pca.components_, plain.components_)
    np.testing.assert_allclose(pca.transform(data), plain.transform(by_hand(frame)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_a_loaded_model_finds_its_columns_in_more_and_in_any_order(form, tmp_path):
    frame = clinic()
    pca = DPPCA(2, **COARSE, **SETTINGS).fit(frame, units="who")
    ev.save(pca, tmp_path / "model")
    again = ev.load(tmp_path / "model")
    assert again.layout_ == pca.layout_
    other = clinic(50, seed=1)[["comment", "bmi", "visit", "smoker", "lab_b", "site", "lab_a"]].assign(lab_c=1.0)
    want = pca.transform(clinic(50, seed=1))
    data = in_form(form, other, tmp_path)
    np.testing.assert_array_equal(again.transform(data), want)
    again.transform_to(data, tmp_path / "scores.parquet")
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "scores.parquet").to_numpy(), want)
    np.testing.assert_array_equal(again.score_samples(data) if hasattr(again, "noise_variance_") else 0, 0)


# -- which columns ---------------------------------------------------------------------------------


def test_columns_of_fit_go_before_those_of_the_estimator():
    pca = DPPCA(2, columns=["bmi", "smoker"], fill=0, **COARSE)
    assert list(pca.fit(clinic()).feature_names_in_) == ["bmi", "smoker"]
    assert list(pca.fit(clinic(), columns=["lab_*"]).feature_names_in_) == ["lab_a", "lab_b"]
    assert pca.columns == ["bmi", "smoker"]
    assert pca.layout_.columns == ("lab_a", "lab_b")
    assert pca.transform(clinic(5)).shape == (5, 2)


def test_positions_of_arrays_and_sparse_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 4)) * [1, 9, 3, 1]
    X[0, 1] = np.nan
    np.save(tmp_path / "x.npy", X)
    want = DPPCA(2, **COARSE).fit(np.nan_to_num(X)[:, [2, 1]])
    for data in (X, X.tolist(), sparse.csr_array(X), tmp_path / "x.npy", [X[:9], X[9:]]):
        pca = DPPCA(2, columns=[2, 1], fill={1: 0.0}, **COARSE).fit(data)
        np.testing.assert_allclose(pca.components_, want.components_, atol=1e-6)
        assert pca.n_features_in_ == 2
        np.testing.assert_allclose(pca.transform(data), want.transform(np.nan_to_num(X)[:, [2, 1]]), atol=1e-3)
        ev.save(pca, tmp_path / "model")
        np.testing.assert_array_equal(ev.load(tmp_path / "model").transform(data), pca.transform(data))


def test_a_fit_to_a_file_keeps_its_names_and_one_to_a_frame_is_checked_as_scikit_learn_does(tmp_path):
    frame = clinic()[["lab_a", "bmi"]]
    frame.to_parquet(tmp_path / "x.parquet")
    more = frame[["bmi", "lab_a"]].assign(z=1)
    more.to_parquet(tmp_path / "more.parquet")
    of_file = DPPCA(2, **COARSE).fit(tmp_path / "x.parquet")
    of_frame = DPPCA(2, **COARSE).fit(frame)
    want = of_frame.transform(frame)
    for data in (more, tmp_path / "more.parquet", pl.from_pandas(more)):
        np.testing.assert_array_equal(of_file.transform(data), want)
    np.testing.assert_array_equal(of_frame.transform(tmp_path / "more.parquet"), want)
    with pytest.raises(ValueError, match="feature names"):
        of_frame.transform(more)
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(of_file.transform(frame.to_numpy()), want)


def test_arrays_have_no_names_to_find_encoded_columns_by():
    pca = DPPCA(2, **COARSE, **SETTINGS).fit(clinic())
    with pytest.raises(InvalidInputError, match="finds by their names, but X is an array"):
        pca.transform(np.ones((2, 7)))
    filled = DPPCA(2, columns=["bmi", "lab_b"], fill={"lab_b": 3}, **COARSE).fit(clinic())
    gap, full = np.array([[20.0, np.nan]]), np.array([[20.0, 3.0]])
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(filled.transform(gap), filled.transform(full))


def test_a_column_that_is_not_there():
    pca = DPPCA(2, columns=["lab_*"], **COARSE).fit(clinic())
    with pytest.raises(InvalidInputError, match="there is no column 'lab_b'"):
        pca.transform(clinic(5).drop(columns="lab_b"))


def test_samples_take_the_same_and_have_their_columns():
    frame = clinic()
    people = ev.samples.people(frame, "who", **SETTINGS)
    pca = DPPCA(2, **COARSE).fit(people)
    want = DPPCA(2, **COARSE, **SETTINGS).fit(frame, units="who")
    np.testing.assert_array_equal(pca.components_, want.components_)
    np.testing.assert_array_equal(pca.transform(frame), want.transform(frame))
    rows = ev.samples.rows(frame, **SETTINGS)
    assert rows.source.layout.groups == (("site", slice(2, 4)),)
    assert rows.without_data().source.layout.groups == rows.source.layout.groups
    with pytest.raises(InvalidInputError, match=r"an object from .eigenveil.samples"):
        DPPCA(2, columns=["bmi"]).fit(rows)


def test_clones_pipelines_and_parameters():
    pca = DPPCA(2, **COARSE, **SETTINGS)
    assert clone(pca).get_params()["encode"] == ENCODE
    steps = make_pipeline(FunctionTransformer(lambda frame: frame.assign(bmi=frame["bmi"] + 1)), pca)
    assert steps.fit(clinic()).transform(clinic(9)).shape == (9, 2)
    for wrong in ({"columns": 3}, {"encode": ["site"]}, {"fill": np.nan}):
        with pytest.raises(InvalidInputError):
            DPPCA(2, **wrong).fit(np.eye(3))


# -- what is declared, kept and shown --------------------------------------------------------------


def declared(ledger):
    return [(entry.what, entry.note) for entry in ledger.entries if entry.purpose is Purpose.COLUMNS]


WORDS = [
    ("encoded columns", "declared by the caller: site: north, south; visit: days since 2020-01-01"),
    ("missing values", "declared by the caller: lab_a: 0; lab_b: 0; bmi: 25"),
]


def test_the_ledger_says_what_was_declared():
    frame = clinic()
    pca = DPPCA(2, **SETTINGS).fit(frame)
    assert declared(pca.ledger_) == WORDS
    assert declared(ev.tracked_pca(ev.samples.rows(frame, **SETTINGS), 2, epsilon=1, delta=1e-6).ledger) == WORDS
    assert declared(DPPCA(2, columns=["smoker", "lab_a"]).fit(frame).ledger_) == []
    all_columns = DPPCA(2, columns=["bmi", "lab_a"], fill=0).fit(frame)
    assert declared(all_columns.ledger_) == [("missing values", "declared by the caller: 0 in all columns")]
    text = render_report(pca)
    assert "Encoded columns, by public values: site: north, south; visit: days since 2020-01-01." in text


@pytest.mark.parametrize(
    "settings",
    [
        {"columns": pd.Index(["bmi", "lab_a"])},
        {
            "columns": np.array(["bmi", "site"]),
            "encode": {"site": pd.Series(["north", "south"])},
            "fill": np.float32(2),
        },
        {"columns": ("smoker", "bmi"), "encode": {"smoker": (True, False)}, "fill": {"b*": 1}},
        {"columns": "lab_*"},
    ],
)
def test_settings_of_any_form_are_kept(settings, tmp_path):
    pca = DPPCA(2, **COARSE, **settings).fit(clinic())
    ev.save(pca, tmp_path / "model")
    again = ev.load(tmp_path / "model")
    assert again.layout_ == pca.layout_
    np.testing.assert_array_equal(again.transform(clinic(9)), pca.transform(clinic(9)))
    np.testing.assert_array_equal(clone(again).fit(clinic()).components_, pca.components_)


def test_a_model_without_a_layout_is_refused(tmp_path):
    from persistence.test_damage import forge

    ev.save(DPPCA(2, **COARSE, **SETTINGS).fit(clinic()), tmp_path / "model")
    whole = (tmp_path / "model" / "model.json").read_text()
    for change in (
        lambda content: content["attributes"].pop("layout_"),
        lambda content: content["attributes"].update(layout_=None),
        lambda content: content["attributes"].update(
            layout_={"dict": [["columns", None], ["encode", 3], ["fill", None]]}
        ),
        lambda content: content["parameters"].update(encode="site"),
        lambda content: content["parameters"].update(fill=[[1, 2, 3]]),
        lambda content: content["parameters"].update(fill=[["bmi", "much"]]),
    ):
        forge(tmp_path / "model", lambda head, change=change: change(head["content"]))
        with pytest.raises(InvalidInputError, match=r"how columns are read|columns, encode or fill are not valid"):
            ev.load(tmp_path / "model")
        (tmp_path / "model" / "model.json").write_text(whole)


def test_no_value_of_the_table_leaves(tmp_path, monkeypatch):
    fix_noise(monkeypatch, "canary")  # real noise could look like one
    frame = clinic()
    frame.loc[3, "site"] = "canary-site"
    frame.loc[4, "comment"] = "canary-comment"
    frame.loc[5, "visit"] = pd.Timestamp("2077-07-07")
    frame.loc[6, "bmi"] = 81.23456789
    pca = DPPCA(2, **SETTINGS).fit(frame, units="who")
    ev.save(pca, tmp_path / "model")
    shown = [repr(pca), str(vars(pca)), str(pca.ledger_), render_report(pca), pca._repr_html_()]
    shown += [file.read_bytes().decode("latin-1") for file in (tmp_path / "model").iterdir()]
    for canary in ("canary", "2077-07", "81.2345"):
        assert not any(canary in text for text in shown)


@pytest.mark.parametrize("units", [None, "who"])
def test_all_that_a_model_shows_is_released_or_declared(units):
    """Two tables that share nothing but their columns: what they show differs by the veil alone."""

    def other(n):
        rng = np.random.default_rng(9)
        return clinic(n).assign(
            site=pd.Series(rng.choice(["moon", "south"], n)), bmi=np.nan, lab_a=rng.lognormal(size=n), visit=pd.NaT
        )

    def give_out(frame):
        pca = DPPCA(2, epsilon=4.0, delta=1e-4, **SETTINGS).fit(frame, units=units)
        return {"attributes": dict(vars(pca)), "repr": repr(pca), "ledger": str(pca.ledger_)}

    same_but_for_data(give_out, clinic(1200), other(900))
    same_but_for_data(give_out, other(1200), clinic(1200))


# -- scores ----------------------------------------------------------------------------------------


def test_private_scores_of_an_encoded_model(tmp_path):
    frame = clinic()
    path = in_form("csv", frame, tmp_path)
    pca = DPPCA(2, random_state=0, **SETTINGS).fit(frame, units="who")
    options = {"epsilon": 2.0, "bounds": ((-60, 60), (-300, 300)), "bins": 3, "random_state": 1}
    of_frame = pca.private_scores(frame, **options)
    np.testing.assert_array_equal(pca.private_scores(path, **options).counts, of_frame.counts)
    assert declared(of_frame.ledger) == WORDS
    groups = {"labels": ["north", "south"], **options}
    of_labels = pca.private_scores(frame, groups=frame["site"], **groups)
    np.testing.assert_array_equal(pca.private_scores(path, groups="site", **groups).counts, of_labels.counts)


def test_a_fill_for_all_columns_does_not_fill_labels(tmp_path):
    """mutant: a row without a label, filled with 0, would count in the first group."""
    frame = clinic()[["lab_a", "bmi", "site"]]
    frame.to_parquet(tmp_path / "x.parquet")
    pca = DPPCA(2, columns=["lab_a", "bmi"], fill=0, random_state=0).fit(tmp_path / "x.parquet")
    options = {
        "epsilon": 50.0,
        "bounds": ((-99, 99), (-99, 99)),
        "bins": 1,
        "labels": ["north"],
        "random_state": 1,
    }
    north = pca.private_scores(tmp_path / "x.parquet", groups="site", **options).counts.sum()
    assert abs(north - (frame["site"] == "north").sum()) < 60


# -- streams ---------------------------------------------------------------------------------------


def stream(**settings):
    return DPPCA(2, center=False, random_state=0, options={"batch_size": 1000}, **{**SETTINGS, **settings})


@pytest.mark.parametrize("units", [None, "who"])
@pytest.mark.parametrize("more", [{}, {"scale": [15, 2, 1, 1, 90, 4, 1]}])
def test_a_stream_of_a_table(units, more, tmp_path):
    frame = clinic().assign(who=np.arange(N))
    plain = DPPCA(2, center=False, random_state=0, options={"batch_size": 1000}, **more)
    plain.partial_fit(by_hand(frame), units=None if units is None else frame["who"])
    pca = stream(**more).partial_fit(frame[:1500], units=units)
    shuffled = frame[1500:][frame.columns[::-1]].assign(lab_c=1.0)
    pca.partial_fit(shuffled, units=units)
    np.testing.assert_array_equal(pca.components_, plain.components_)
    assert list(pca.feature_names_in_) == OUT
    assert pca.transform(frame).shape == (N, 2)
    assert declared(pca.ledger_) == WORDS
    assert pca.stream.schema == (7, tuple(OUT))
    pca.stream.save(tmp_path / "stream")
    on = stream(**more).resume(tmp_path / "stream")
    np.testing.assert_array_equal(on.transform(frame), pca.transform(frame))
    on.partial_fit(frame.assign(who=np.arange(N) + N), units=units)
    assert on.n_samples_seen_ == 2 * N


def test_a_stream_of_files_and_arrays(tmp_path):
    frame = clinic()
    want = stream().partial_fit(frame)
    np.testing.assert_array_equal(
        stream().partial_fit(in_form("parquet", frame, tmp_path)).components_, want.components_
    )
    X = by_hand(frame).to_numpy()
    some = DPPCA(2, columns=[0, 5], center=False, random_state=0, options={"batch_size": 1000})
    np.testing.assert_array_equal(
        some.partial_fit(X).components_, clone(some).set_params(columns=None).partial_fit(X[:, [0, 5]]).components_
    )
    thin = clone(some).partial_fit(sparse.csr_array(X))
    assert thin.components_.shape == (2, 2)


def test_gaps_of_a_stream_of_arrays_are_filled():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    gaps = X.copy()
    gaps[::5, 0] = np.nan
    options = {"center": False, "random_state": 0, "options": {"batch_size": 1000}}
    want = DPPCA(2, **options).partial_fit(np.where(np.isnan(gaps), 7, gaps))
    np.testing.assert_array_equal(DPPCA(2, fill=7, **options).partial_fit(gaps).components_, want.components_)


@pytest.mark.parametrize("changed", [{"fill": None}, {"columns": ["lab_*"]}, {"encode": None}])
def test_how_a_stream_reads_columns_is_fixed_from_its_beginning(changed):
    pca = stream().partial_fit(clinic())
    pca.set_params(**changed)
    with pytest.raises(InvalidInputError, match=f"began with a different {next(iter(changed))}"):
        pca.partial_fit(clinic())


# -- what a row becomes depends on that row alone --------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_one_odd_row_leaves_all_others_as_they_are(form, tmp_path):
    frame = clinic(40).drop(columns="comment")
    odd = frame.iloc[[0]].assign(site="q" * 999, visit=pd.NaT, bmi=np.inf, lab_a=np.nan, lab_b=-0.0, smoker=False)

    def read(table, folder):
        folder.mkdir(exist_ok=True)
        source = ev.samples.rows(in_form(form, table, folder), **SETTINGS).source
        return np.concatenate([np.asarray(block.values) for block in source.blocks()])

    plain = read(frame, tmp_path / "plain")
    for place in (0, 20, 40):
        more = pd.concat([frame[:place], odd, frame[place:]], ignore_index=True)
        got = read(more, tmp_path / "more")
        np.testing.assert_array_equal(np.delete(got, place, axis=0), plain)
        np.testing.assert_array_equal(got[place], [0, 0, 0, 0, np.nan, np.inf, 0])


def test_plain_json_of_a_layout_has_no_surprises():
    layout = DPPCA(2, **COARSE, **SETTINGS).fit(clinic()).layout_
    assert json.loads(json.dumps(layout.plain)) == {
        "columns": ["lab_a", "lab_b", "site", "visit", "bmi", "smoker"],
        "encode": {"site": ["north", "south"], "visit": "days since 2020-01-01"},
        "fill": {"lab_a": 0.0, "lab_b": 0.0, "bmi": 25.0},
    }
    assert isinstance(dt.date.fromisoformat(layout.plain["encode"]["visit"].split()[-1]), dt.date)


def test_values_that_no_list_knows_are_counted_with_noise():
    frame = pd.DataFrame({"site": ["north", "south", None, "moon"] * 5000, "x": np.arange(20000.0)})
    with pytest.warns(UserWarning, match=r"units have a value of 'site' that is not in its public list"):
        pca = DPPCA(1, encode={"site": ["north", "south"]}).fit(frame)
    (entry,) = [entry for entry in pca.ledger_.entries if "left out" in entry.what]
    assert entry.mu > 0
    (unknown,) = [one for one in pca.warnings_ if "'site'" in one.text]
    counted = int(unknown.text.split("count, ")[1].split()[0])
    assert abs(counted - 10_000) < 1_000, "its noise has a standard deviation of 60"
