"""One ledger protects one unit: rows, or the same people. Every way in, every unit, every second use."""

import json
import pickle
import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import eigenveil as ev
from eigenveil.algorithms import TrackedStream
from eigenveil.algorithms.oracles.oja import Oja
from eigenveil.errors import InvalidInputError, PrivacyWarning
from eigenveil.persistence.ledger_file import Account, RequestedBudget, open_ledger, read_ledger
from eigenveil.privacy import Budget, Ledger, Unit
from eigenveil.report import render_report
from eigenveil.sources import open_source

COLUMNS = ["a", "b", "c"]
WIDE = ((-30.0, 30.0), (-30.0, 30.0))
UNITS = {"rows": Unit("row"), "column": Unit("person", by="patient"), "other": Unit("person", by="doctor")}
UNITS["array"] = Unit("person")
ALLOWED = {(one, one) for one in UNITS}
"""Pairs of first and second unit that one ledger accepts."""
KNOWN = ALLOWED | {("column", "array"), ("other", "array")}
"""The same for uses of a model or a stream of people, to which ids without a name are those of its people."""


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(900, 3)) * [5, 3, 1], columns=COLUMNS)
    return frame.assign(patient=np.arange(900) // 30, doctor=np.arange(900) // 90)


@pytest.fixture(scope="module")
def ways(table, tmp_path_factory):
    """By way in and unit: data, and what is passed as units."""
    folder = tmp_path_factory.mktemp("tables")
    table.to_parquet(folder / "all.parquet", index=False)
    table[COLUMNS].to_parquet(folder / "plain.parquet", index=False)
    ids, X = table["patient"].to_numpy(), table[COLUMNS].to_numpy()
    kinds = {
        "array": (X, {"column": table["patient"], "other": table["doctor"], "array": ids}, X),
        "frame": (table, {"column": "patient", "other": "doctor", "array": ids}, table[COLUMNS]),
        "file": (
            str(folder / "all.parquet"),
            {"column": "patient", "other": "doctor", "array": ids},
            str(folder / "plain.parquet"),
        ),
        "cluster": (
            dd.from_pandas(table, npartitions=2),
            {"column": "patient", "other": "doctor"},
            dd.from_pandas(table[COLUMNS], npartitions=2),
        ),
    }
    found = {}
    for way, (data, by, plain) in kinds.items():
        found[way] = {"rows": (plain, None)}
        for unit, given in by.items():
            found[way][unit] = (data if isinstance(given, str) else plain, given)
    return found


def estimator(ledger=None, **more):
    settings = {"epsilon": 0.2, "algorithm": "dp-gauss-1", "center": False, "columns": COLUMNS, **more}
    return ev.DPPCA(2, ledger=ledger, **settings)


def fitted(ways, way, unit, ledger=None):
    X, units = ways[way][unit]
    if isinstance(X, np.ndarray):
        return estimator(ledger, columns=None).fit(X, units=units)
    return estimator(ledger).fit(X, units=units)


def large():
    return Ledger(Budget.from_epsilon_delta(9.0, 1e-6))


def refused(ledger, step):
    """Whether a step is refused; nothing may have been written then."""
    before = ledger.to_json()
    try:
        step()
    except InvalidInputError:
        assert ledger.to_json() == before
        return True
    return False


CASES = [
    (way, first, second)
    for way in ("array", "frame", "file", "cluster")
    for first in UNITS
    for second in UNITS
    if way != "cluster" or second != "array"
]


@pytest.mark.parametrize(("way", "first", "second"), CASES)
def test_a_fit_after_a_fit(ways, way, first, second):
    ledger = large()
    fitted(ways, "frame", first, ledger)
    assert ledger.unit == UNITS[first]
    assert refused(ledger, lambda: fitted(ways, way, second, ledger)) is ((first, second) not in ALLOWED)
    assert ledger.unit == UNITS[first]


@pytest.mark.parametrize(("way", "first", "second"), CASES)
def test_a_map_after_a_fit(ways, way, first, second):
    """Found in a review: a model of people, 50 rows each, had a map of rows: one person moved a cell by 50."""
    ledger = large()
    pca = fitted(ways, "array" if way == "array" else "frame", first, ledger)
    X, units = ways[way][second]

    def buy(charged):
        return pca.private_scores(X, units=units, epsilon=0.2, bounds=WIDE, ledger=charged)

    assert refused(ledger, lambda: buy(ledger)) is ((first, second) not in KNOWN)
    if second == "rows" and first != "rows":  # a ledger of its own is no way out
        assert refused(ledger, lambda: buy(None))
        return
    scores = buy(None)
    assert refused(ledger, lambda: render_report(pca, scores=scores)) is ((first, second) not in KNOWN)


@pytest.mark.parametrize(("first", "second"), [(one, other) for one in UNITS for other in UNITS])
def test_a_block_of_a_stream_after_a_block(ways, first, second):
    stream = TrackedStream(
        1, epsilon=1.0, delta=1e-6, batch_size=800, units="rows" if first == "rows" else "people", columns=COLUMNS
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small batches
        for unit in (first, first):
            X, units = ways["frame"][unit]
            stream.add(X, units=units)
        X, units = ways["frame"][second]
        arrivals = stream.arrivals
        assert stream.ledger.unit == UNITS[first]
        assert refused(stream.ledger, lambda: stream.add(X, units=units)) is ((first, second) not in KNOWN)
    assert (stream.arrivals == arrivals) is ((first, second) not in KNOWN)


@pytest.mark.parametrize("layout", [{}, {"columns": COLUMNS}])
@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_partial_fit_keeps_to_its_people(table, kind, layout, tmp_path):
    """Also if the rows are read by columns first, and after a checkpoint in another estimator."""
    data = table[["patient", *COLUMNS]]
    if kind == "arrow":
        data = pa.Table.from_pandas(data, preserve_index=False)

    def new():
        return ev.DPPCA(1, center=False, options={"batch_size": 800}, **layout)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = new().partial_fit(data, units="patient")
        assert first.stream.ledger.unit == UNITS["column"]
        first.stream.save(tmp_path / "stream")
        again = new().resume(tmp_path / "stream")
        assert again.stream.ledger.unit == UNITS["column"]
        before = again.stream.ledger.to_json()
        with pytest.raises(InvalidInputError, match="expected blocks with units"):
            again.partial_fit(table[COLUMNS])
        with pytest.raises(InvalidInputError, match=r"same patient.*but this run is about"):
            again.partial_fit(table[["doctor", *COLUMNS]], units="doctor")
        assert again.stream.ledger.to_json() == before


@pytest.mark.parametrize(("first", "second"), [(one, other) for one in UNITS for other in UNITS])
def test_a_ledger_file(ways, first, second, tmp_path):
    """Found in a review: the cap of a file was false for people after a fit of their rows."""
    book = tmp_path / "book.json"
    account = Account(
        path=book, requested=RequestedBudget(fit=Budget.from_epsilon_delta(0.2, 1e-6)), cap=(3.0, 1e-6)
    )
    with open_ledger(account) as ledger:
        fitted(ways, "file", first, ledger)
    assert read_ledger(book).unit == UNITS[first]
    before = book.read_bytes()
    try:
        with open_ledger(account) as ledger:
            fitted(ways, "file", second, ledger)
    except InvalidInputError:
        assert (first, second) not in ALLOWED
        assert book.read_bytes() == before
    else:
        assert (first, second) in ALLOWED
        assert read_ledger(book).mu > json.loads(before)["entries"][0]["mu"]


def test_the_unit_is_on_the_disk_before_noise_is_drawn(tmp_path):
    book = tmp_path / "book.json"
    account = Account(path=book, requested=RequestedBudget(fit=Budget.from_mu(1.0)))
    with open_ledger(account) as ledger:
        ledger.bind(UNITS["column"])
        assert read_ledger(book).unit == UNITS["column"]
        assert not ledger.entries


@pytest.mark.parametrize("travel", ["save", "pickle"])
@pytest.mark.parametrize("unit", ["column", "array"])
def test_a_model_that_travelled_remembers_its_people(ways, unit, travel, tmp_path):
    pca = fitted(ways, "array", unit)
    if travel == "save":
        ev.save(pca, tmp_path / "model")
        pca = ev.load(tmp_path / "model")
    else:
        pca = pickle.loads(pickle.dumps(pca))  # noqa: S301
    assert pca.ledger_.unit == UNITS[unit]
    X, ids = ways["array"]["array"]
    with pytest.raises(InvalidInputError):
        pca.private_scores(X, epsilon=0.2, bounds=WIDE)
    with pytest.raises(InvalidInputError, match=r"about one row; nothing was charged.*\n.*Pass units=, the ids"):
        pca.private_scores(ev.samples.rows(X), epsilon=0.2, bounds=WIDE)
    scores = pca.private_scores(X, units=ids, epsilon=0.2, bounds=WIDE)  # the hint, followed
    assert scores.ledger.unit == UNITS[unit]
    declared = [entry.what for entry in scores.ledger.entries if entry.kind == "declared"]
    assert ("people of the map" in declared) is (unit == "column")
    with pytest.warns(PrivacyWarning, match=r"the earlier fit of this DPPCA was about one person.*about one row"):
        pca.set_params(ledger=None).fit(X)
    assert pca.ledger_.unit == UNITS["rows"]


@pytest.mark.parametrize("unit", ["rows", "array"])
def test_a_stream_of_rows_after_a_fit_of_people_warns(ways, unit):
    pca = fitted(ways, "array", "array").set_params(algorithm="tracked", options={"batch_size": 800})
    X, ids = ways["array"][unit]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pca.partial_fit(X, units=ids)
    said = [one.category for one in caught if "was about one person" in str(one.message)]
    assert said == ([PrivacyWarning] if unit == "rows" else [])


MADE = {
    "rows": (ev.samples.rows, Unit("row")),
    "people": (
        lambda X: ev.samples.people(X, pd.Series(range(900), name="patient")),
        Unit("person", by="patient"),
    ),
    "people of an array": (lambda X: ev.samples.people(X, np.arange(900)), Unit("person")),
    "factors": (lambda X: ev.samples.factors(np.split(X, 300)), Unit("person")),
    "matrices": (lambda X: ev.samples.matrices(X[:, :, None] * X[:, None]), Unit("matrix")),
    "spiked": (lambda X: ev.samples.spiked(np.eye(3, 1), [2.0], X), Unit("matrix")),
}


@pytest.mark.parametrize("first", MADE)
@pytest.mark.parametrize("second", MADE)
def test_functions_for_research(ways, first, second):
    X, ledger = ways["array"]["rows"][0], large()
    for made, unit in (MADE[first], MADE[first]):
        ev.dp_gauss_1(made(X), 1, epsilon=0.2, delta=1e-6, ledger=ledger)
        assert ledger.unit == unit
    made, unit = MADE[second]

    def run():
        ev.black_box_pca(made(X), 1, Oja(), ledger=ledger)

    assert refused(ledger, run) is (unit != MADE[first][1])
    assert ledger.private is (unit != MADE[first][1])


def test_what_a_reader_sees(ways, tmp_path):
    """Found in a review: report, ledger and model file all said "one row, or one person"."""
    for unit, words in (("rows", "one row"), ("column", "one person (all rows with the same patient)")):
        pca = fitted(ways, "frame", unit)
        report = " ".join(render_report(pca).split())
        assert f"released with differential privacy for {words}: " in report
        assert f"{words[0].upper()}{words[1:]}." in report
        assert "or one person with all their rows" not in report
        ev.save(pca, tmp_path / unit)
        saved = json.loads((tmp_path / unit / "model.json").read_text())["content"]["ledger"]["unit"]
        assert saved == UNITS[unit].to_plain()
        for shown in (
            repr(pca),
            repr(pca.ledger_),
            str(pca.ledger_),
            pca.ledger_._repr_html_(),
            pca._repr_html_(),
        ):
            assert f"one unit: {words}" in shown


@pytest.mark.parametrize(
    ("before", "run", "given"),
    [
        ("column", "rows", {"units": "patient"}),
        ("column", "other", {"units": "patient"}),
        ("column", "array", "a series with the name"),
        ("array", "column", "an array"),
        ("array", "rows", "an array"),
    ],
)
def test_hints_work_when_followed(ways, table, before, run, given):
    ledger = large()
    fitted(ways, "frame", before, ledger)
    with pytest.raises(InvalidInputError, match="the ledger is about one person") as caught:
        fitted(ways, "frame", run, ledger)
    if given == "a series with the name":
        assert "units=pandas.Series(ids, index=X.index, name='patient')" in caught.value.hint
        table = table.sample(frac=1, random_state=0)
        given = {"units": pd.Series(table["patient"].to_numpy(), index=table.index, name="patient")}
    elif given == "an array":
        given = {"units": np.asarray(table["patient"])}
    else:
        assert "Pass 'patient' as units" in caught.value.hint
    estimator(ledger).fit(table, **given)


NAMED = {
    "index": lambda table, name: pd.Index(table[name]),
    "frame": lambda table, name: table[[name]],
    "polars": lambda table, name: pl.from_pandas(table[[name]]),
    "table": lambda table, name: pa.table({name: table[name].to_numpy()}),
}


@pytest.mark.parametrize("kind", NAMED)
def test_ids_of_every_kind_have_their_name(table, kind):
    """Only series had: patients and then doctors were charged to one ledger as the same people."""
    ledger, X = large(), table[COLUMNS].to_numpy()
    estimator(ledger, columns=None).fit(X, units=table["patient"])
    estimator(ledger, columns=None).fit(X, units=NAMED[kind](table, "patient"))
    assert ledger.unit == UNITS["column"]
    assert refused(ledger, lambda: estimator(ledger, columns=None).fit(X, units=NAMED[kind](table, "doctor")))


def test_ids_whose_name_is_a_number_have_a_name(table):
    ledger, X = large(), table[COLUMNS].to_numpy()
    estimator(ledger, columns=None).fit(X, units=table["patient"].rename(0))
    assert ledger.unit == Unit("person", by="0")
    assert refused(ledger, lambda: estimator(ledger, columns=None).fit(X, units=table["doctor"].rename(("a", 1))))


def as_parquet(table, folder):
    table.to_parquet(folder / "x.parquet", index=False)
    return folder / "x.parquet"


def as_csv(table, folder):
    table.to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


SOURCES = {
    "pandas": lambda table, _: table,
    "polars": lambda table, _: pl.from_pandas(table),
    "lazy": lambda table, _: pl.from_pandas(table).lazy(),
    "arrow": lambda table, _: pa.Table.from_pandas(table, preserve_index=False),
    "parquet": as_parquet,
    "csv": as_csv,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("ids", ["series", "index", "frame"])
def test_ids_named_like_a_column_are_no_data(table, source, ids, tmp_path):
    data = SOURCES[source](table.drop(columns="doctor"), tmp_path)
    given = table["patient"] if ids == "series" else NAMED[ids](table, "patient")
    with pytest.warns(UserWarning, match="left out 'patient': it has the name of the ids") as caught:
        opened = open_source(data, units=given)
    assert opened.columns == tuple(COLUMNS)
    assert len([one for one in caught if "left out" in str(one.message)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the hint, followed; and columns that are chosen
        assert open_source(data, units="patient").columns == tuple(COLUMNS)
        assert open_source(data, units=given, columns=["b"]).columns == ("b",)


def test_a_column_with_a_number_for_a_name_may_hold_ids(table):
    frame = pd.DataFrame(table[["a", "b", "patient"]].to_numpy())
    with pytest.warns(UserWarning, match="left out '2'"):
        model = estimator(large(), columns=None).fit(frame, units=frame[2])
    assert model.n_features_in_ == 2
