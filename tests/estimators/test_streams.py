"""partial_fit: the tracked stream behind scikit-learn's interface."""

import copy
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from eigenveil import DPPCA, TrackedStream
from eigenveil.errors import InvalidInputError, PrivacyWarning
from eigenveil.privacy import Budget, Ledger
from support.forks import forking, in_a_fork

SPREAD = [4, 3, 1, 1, 1]
SMALL = {"batch_size": 1500}


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 5)) * SPREAD


def stream(**parameters):
    return DPPCA(**{"center": False, "options": SMALL, "random_state": 0, **parameters})


def test_it_is_the_stream_of_the_house():
    expected = TrackedStream(2, epsilon=1.0, delta=1e-6, batch_size=1500, random_state=0)
    pca = stream()
    for seed in range(8):
        pca.partial_fit(rows(1000, seed))
        expected.add(rows(1000, seed))
    assert np.array_equal(pca.components_, expected.release().components)
    assert np.array_equal(pca.explained_variance_, expected.release().eigenvalues)
    assert pca.n_samples_seen_ == 8000
    assert pca.ledger_.relation.value == "empty-slot"
    assert pca.transform(rows(3)).shape == (3, 2)
    assert not hasattr(pca, "n_samples_")


def test_before_the_first_batch_nothing_is_fitted():
    pca = stream().partial_fit(rows(100))
    with pytest.raises(NotFittedError, match="no batch"):
        _ = pca.components_
    with pytest.raises(NotFittedError):
        pca.transform(rows(3))
    pca.partial_fit(rows(1500))
    assert pca.components_.shape == (2, 5)


def test_people_come_by_name():
    frame = pd.DataFrame(rows(4000), columns=list("abcde")).assign(who=[f"p{i}" for i in range(4000)])
    pca = stream().partial_fit(frame[:2000], units="who").partial_fit(frame[2000:], units="who")
    assert list(pca.feature_names_in_) == list("abcde")
    scaled = stream(scale=np.ones(5), center=np.zeros(5))
    scaled.partial_fit(frame[:2000], units="who").partial_fit(frame[2000:], units="who")
    assert np.allclose(pca.components_, scaled.components_)


def test_public_mean_and_scale():
    scale, mean = np.array([1, 10, 1, 1, 1.0]), np.arange(5.0)
    plain, changed = stream(), stream(scale=scale, center=mean)
    for seed in range(3):
        plain.partial_fit(rows(1000, seed))
        changed.partial_fit(rows(1000, seed) * scale + mean)
    assert np.allclose(plain.components_, changed.components_, atol=1e-4)
    assert np.allclose(plain.transform(rows(9)), changed.transform(rows(9) * scale + mean), atol=1e-3)
    assert {"mean", "column scales"} <= {entry.what for entry in changed.ledger_.entries}


def test_what_a_stream_cannot_do_is_refused():
    for parameters, words in (
        ({"relation": "replace"}, "empty-slot relation"),
        ({"ledger": Ledger(Budget.from_epsilon_delta(1.0, 1e-6))}, "its own ledger"),
        ({"center": True, "bounds": (0, 1)}, "takes no bounds"),
        ({"options": {"beta": 1.0}}, "'batch_size'"),
        ({"n_components": 6}, "from 1 to 5"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            stream(**parameters).partial_fit(rows(10))
    pca = stream().partial_fit(rows(10))
    with pytest.raises(ValueError, match="4 features"):
        pca.partial_fit(rows(10)[:, :4])


def test_it_is_not_copied_but_goes_on_from_a_checkpoint(tmp_path):
    pca = stream().partial_fit(rows(2000))
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(InvalidInputError, match="resume"):
            copied(pca)
    pca.stream.save(tmp_path / "stream.json")
    again = stream().resume(tmp_path / "stream.json")
    assert np.array_equal(again.components_, pca.components_)
    again.partial_fit(rows(2000, 1))
    whole = stream().partial_fit(rows(2000)).partial_fit(rows(2000, 1))
    assert np.array_equal(again.components_, whole.components_)
    with pytest.raises(InvalidInputError, match="another stream has loaded"):
        pca.partial_fit(rows(2000, 1))
    with pytest.raises(InvalidInputError, match="a different n_components"):
        stream(n_components=3).resume(tmp_path / "stream.json")


def test_fit_ends_a_stream_and_a_stream_starts_from_nothing():
    pca = DPPCA(2, center=False, random_state=0).partial_fit(rows(100))
    with pytest.warns(UserWarning, match="fit starts from scratch: the stream is discarded, 100 rows"):
        pca.fit(rows(6000))
    assert not hasattr(pca, "stream")
    with pytest.warns(UserWarning, match="from scratch"):
        pca.partial_fit(rows(10))
    assert not hasattr(pca, "components_")


@forking
def test_a_fork_does_not_go_on():
    pca = stream(random_state=None).partial_fit(rows(1499))
    assert in_a_fork(lambda: pca.partial_fit(rows(1))).startswith("InvalidInputError: this ledger is a copy")
    assert pca.partial_fit(rows(1)).ledger_.mu == pytest.approx(pca.stream.budget.mu)


@pytest.mark.parametrize(
    "changed",
    [{"epsilon": 9.0}, {"delta": 1e-3}, {"n_components": 1}, {"random_state": 7}, {"relation": "empty-slot"}],
)
def test_what_a_stream_costs_is_fixed_from_its_beginning(changed):
    pca = stream().partial_fit(rows(2000))
    shown = repr(pca).split("#")[1]
    pca.set_params(**changed)
    with pytest.raises(InvalidInputError, match=f"began with a different {next(iter(changed))}"):
        pca.partial_fit(rows(2000))
    assert repr(pca).split("#")[1].replace(f" ({next(iter(changed))} changed since)", "") == shown
    assert pca.n_samples_seen_ == 2000


NAMES = list("abcde")
BEGAN = {
    "center": np.arange(5.0),
    "scale": np.array([1000.0, 1, 1, 1, 1]),
    "columns": ["a", "b", "c", "d", "e"],
    "encode": None,
    "fill": {"a": 1.0},
    "options": {"batch_size": 1500, "memory": 20.0},
}
CHANGED = {
    "center": (False, np.zeros(5), np.array([0, 1, 2, 3, np.nextafter(4, 5)])),
    "scale": (None, np.ones(5), {"a": 1000.0}),
    "columns": (None, ["b", "a", "c", "d", "e"]),
    "encode": ({"e": "days since 2020-01-01"}, {"e": ["x", "y"]}),
    "fill": (None, 1.0, {"a": 2.0}, {"b": 1.0}),
    "options": (None, {"batch_size": 1501, "memory": 20.0}, {"batch_size": 1500}, {**SMALL, "oversampling": 4}),
    "random_state": (7, None),
    "n_components": (1,),
    "delta": (1e-7,),
}


def table(n, seed=0):
    return pd.DataFrame(rows(n, seed), columns=NAMES)


@pytest.mark.parametrize("name", CHANGED)
def test_no_setting_changes_within_a_stream(name, tmp_path):
    """Neither in partial_fit nor in resume: rows of one batch would be in different units of measurement."""
    pca = stream(**BEGAN).partial_fit(table(1000))
    shown = r"began with a different .*options\['" if name == "options" else f"began with a different {name}"
    for number, new in enumerate(CHANGED[name]):
        began = {name: pca.get_params()[name]}
        with pytest.raises(InvalidInputError, match=shown):
            pca.set_params(**{name: new}).partial_fit(table(1000))
        assert pca.set_params(**began).n_samples_seen_ == 1000
        pca.stream.save(tmp_path / f"s{number}")
        with pytest.raises(InvalidInputError, match=shown):
            stream(**{**BEGAN, name: new}).resume(tmp_path / f"s{number}")
        pca = stream(**BEGAN).resume(tmp_path / f"s{number}")


def test_equal_settings_of_other_types_are_no_change(tmp_path):
    pca = stream(**BEGAN).partial_fit(table(1000))
    same = {
        "center": [0, 1, 2, 3, 4],
        "scale": np.array([1000, 1, 1, 1, 1], dtype=np.float32),
        "columns": np.array(NAMES),
        "fill": {"a": np.float64(1)},
        "options": {"memory": 20, "batch_size": 1500, "oversampling": 5},
    }
    pca.set_params(**same).partial_fit(table(1000, 1))
    pca.stream.save(tmp_path / "s")
    again = stream(**{**BEGAN, **same}).resume(tmp_path / "s").partial_fit(table(1000, 2))
    whole = stream(**BEGAN).partial_fit(pd.concat([table(1000, seed) for seed in range(3)]))
    assert np.array_equal(again.components_, whole.components_)
    declared = [
        [entry.what for entry in one.ledger_.entries if entry.kind == "declared"] for one in (again, whole)
    ]
    assert declared[0] == declared[1]
    assert {"mean", "column scales", "missing values"} <= set(declared[0])
    centred = DPPCA(2).partial_fit(rows(10))
    with pytest.raises(InvalidInputError, match="a different center"):
        centred.set_params(center=False).partial_fit(rows(10))


@pytest.mark.parametrize("columns", [None, [1, 0]])
def test_a_stream_that_chose_columns_is_not_resumed_by_an_estimator(columns, tmp_path):
    """It would choose among the chosen columns once more."""
    other = TrackedStream(2, epsilon=1.0, delta=1e-6, columns=[1, 0], random_state=0)
    other.save(tmp_path / "s")
    with pytest.raises(InvalidInputError, match="a different columns"):
        DPPCA(2, center=False, columns=columns, random_state=0).resume(tmp_path / "s")


@pytest.mark.parametrize("prepared", [{}, {"scale": np.ones(5)}, {"fill": 0.0}, {"columns": [0, 1, 2, 3, 4]}])
def test_rows_that_were_taken_before_an_exception_stay_in_the_stream(prepared):
    """mutant: the stream is kept only if the call is complete. It had been charged, and was started once more."""

    def blocks():
        yield rows(1000)
        yield rows(1000, 1)
        raise RuntimeError("sensor")

    pca = stream(**prepared)
    with pytest.raises(RuntimeError, match="sensor") as caught:
        pca.partial_fit(blocks())
    assert caught.value.__notes__[0].startswith("The first 2000 rows of this call are in this stream.")
    assert len(caught.value.__notes__) == 1
    assert (pca.n_samples_seen_, pca.stream.batches) == (2000, 1)
    pca.partial_fit(rows(1000, 2))
    whole = stream(**prepared).partial_fit(np.concatenate([rows(1000, seed) for seed in range(3)]))
    assert np.array_equal(pca.components_, whole.components_)
    with pytest.raises(InvalidInputError, match=r"block 1|from 0 to 2"):
        pca.partial_fit([rows(10), rows(10)[:, :3]])
    assert pca.n_samples_seen_ == 3000


@pytest.mark.parametrize("prepared", [{}, {"scale": np.ones(5)}, {"fill": 0.0}, {"columns": NAMES}])
@pytest.mark.parametrize("form", ["blocks", "reader"])
def test_what_can_be_read_once_is_opened_once(prepared, form):
    """Regression test: the first call looked at the columns, and lost the first block, or all rows of a reader."""
    tables = [pa.Table.from_pandas(table(500, seed)) for seed in range(4)]
    data = iter(tables) if form == "blocks" else pa.concat_tables(tables).to_reader(max_chunksize=300)
    pca = stream(**prepared).partial_fit(data)
    whole = stream(**prepared).partial_fit(pa.concat_tables(tables))
    assert pca.n_samples_seen_ == 2000
    assert np.array_equal(pca.components_, whole.components_)


@pytest.mark.parametrize("prepared", [{"scale": np.full(5, 2.0)}, {"fill": 0.0}])
def test_blocks_without_rows_are_no_error(prepared):
    for none in (rows(0), sparse.csr_array((0, 5))):
        assert stream(**prepared).partial_fit(none).n_samples_seen_ == 0


def test_fit_after_partial_fit_warns_of_costs_and_dropped_rows():
    """As partial_fit after fit does. A second fit is not warned about: it is known to cost again."""
    pca = stream().partial_fit(rows(2000)).set_params(options=None)
    with pytest.warns(
        PrivacyWarning, match=r"stream is discarded, 500 rows .* dropped, .* costs add up"
    ) as caught:
        pca.fit(rows(6000))
    assert caught[0].filename == __file__
    pca.fit(rows(6000))


def test_a_stream_forgets_the_schema_of_an_earlier_fit(tmp_path):
    frame = pd.DataFrame(rows(4000), columns=list("abcde")).assign(who=[f"p{i}" for i in range(4000)])
    pca = stream(options=None).fit(frame, units="who")
    pca.set_params(options=SMALL)
    with pytest.warns(UserWarning, match="from scratch"):
        pca.partial_fit(rows(2000))
    assert pca.transform(rows(3)).shape == (3, 2)
    assert not hasattr(pca, "feature_names_in_")
    pca.stream.save(tmp_path / "rows")
    named = stream(options=None).fit(frame, units="who").set_params(options=SMALL).resume(tmp_path / "rows")
    assert not hasattr(named, "feature_names_in_")
    assert named.transform(rows(3)).shape == (3, 2)
    # and one that was told of a column of ids by name leaves it out
    people = stream().partial_fit(frame, units="who")
    assert people.transform(frame).shape == (4000, 2)


def test_a_checkpoint_before_the_first_row(tmp_path):
    TrackedStream(2, epsilon=1.0, delta=1e-6, batch_size=1500, random_state=0).save(tmp_path / "s")
    pca = stream(options=None).fit(rows(2000)[:, :3]).set_params(options=SMALL).resume(tmp_path / "s")
    assert pca.partial_fit(rows(2000)).components_.shape == (2, 5)


def test_an_interrupt_while_the_first_batch_closes_is_told_and_the_stream_goes_on(tmp_path):
    """mutant: a batch that was interrupted counts as a release. The error of that hid how many rows were taken."""

    def interrupt(_):
        raise KeyboardInterrupt

    pca = stream(callback=interrupt).partial_fit(rows(1000))
    pca.stream.save(tmp_path / "s")
    with pytest.raises(KeyboardInterrupt) as caught:
        pca.partial_fit(rows(1000, 1))
    assert caught.value.__notes__[0].startswith("The first 500 rows of this call are in this stream.")
    assert (pca.n_samples_seen_, pca.stream.batches, pca.stream.released) == (1500, 1, False)
    assert not hasattr(pca, "components_")
    with pytest.raises(InvalidInputError, match="not interrupted"):
        pca.stream.release()
    pca.set_params(callback=None).partial_fit(rows(1000, 1)[500:])
    assert pca.n_samples_seen_ == 2000
    again = stream().resume(tmp_path / "s")
    assert (again.n_samples_seen_, again.stream.batches) == (1500, 1)
    assert again.partial_fit(rows(1500, 2)).components_.shape == (2, 5)


def test_a_refused_resume_does_not_take_the_checkpoint(tmp_path):
    """mutant: settings are compared after that. The stream that held the checkpoint could not close a batch."""
    pca = stream().partial_fit(rows(1000))
    pca.stream.save(tmp_path / "s")
    before = (tmp_path / "s").read_bytes()
    with pytest.raises(InvalidInputError, match="a different n_components"):
        stream(n_components=1).resume(tmp_path / "s")
    assert (tmp_path / "s").read_bytes() == before
    assert pca.partial_fit(rows(1000, 1)).stream.batches == 1
    pca.stream.save(tmp_path / "s")


@pytest.mark.parametrize("prepared", [{"scale": np.full(5, 100.0)}, {"center": np.ones(5)}, {"fill": 0.0}])
def test_rows_that_were_not_prepared_are_refused(prepared, tmp_path):
    """A batch would hold rows of two kinds."""
    pca = stream(**prepared).partial_fit(rows(100))
    pca.stream.save(tmp_path / "s")
    for add in (pca.stream.add, pca.stream.partial_fit, TrackedStream.load(tmp_path / "s").add):
        with pytest.raises(InvalidInputError, match=f"prepared by a DPPCA .{next(iter(prepared))}"):
            add(rows(100))
    again = stream(**prepared).resume(tmp_path / "s")  # as the hint says
    assert again.partial_fit(rows(100)).n_samples_seen_ == 200
    plain = stream().partial_fit(rows(100))
    plain.stream.add(rows(100))
    assert plain.stream.arrivals == 200
