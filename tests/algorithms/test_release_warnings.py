"""Warnings are data: the same in Python, on the release, on the model, in files and in the report."""

import html
import warnings

import numpy as np
import pytest

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.algorithms import release_warnings as rules
from eigenveil.algorithms.release_warnings import Code
from eigenveil.algorithms.variances import NoisyVariances
from eigenveil.errors import NotCompiledWarning, PrivacyWarning
from eigenveil.kernels import loops
from eigenveil.mechanisms import Noisy, NoisyLeftOut
from eigenveil.report import render_report


def variances(**given):
    usual = {"explained": np.array([9.0, 4.0]), "total": 20.0, "noise": 1.0, "total_noise": 1.0}
    return NoisyVariances(**{**usual, "share_above": 0.01, "share_noise": 0.01, "n_hat": 1000.0, **given})


def codes(found):
    return [one.code for one in found]


def test_rules_at_their_limits():
    assert codes(rules.too_few_units(99.0, 10.0)) == [Code.TOO_FEW_UNITS]
    assert rules.too_few_units(101.0, 10.0) == []
    assert codes(rules.bad_units(900.0, Noisy(81.0, 10.0))) == [Code.BAD_UNITS]
    assert rules.bad_units(900.0, Noisy(78.0, 10.0)) == []
    assert codes(rules.large_delta(1e-2, 101.0)) == [Code.LARGE_DELTA]
    assert rules.large_delta(1e-2, 99.0) == rules.large_delta(1e-2, None) == []
    assert codes(rules.lost_in_noise(variances(noise=3.0))) == [Code.LOST_IN_NOISE]
    assert "component 2 " in rules.lost_in_noise(variances(noise=3.0))[0].text
    assert rules.lost_in_noise(variances(noise=1.9)) == []
    assert codes(rules.clipped_variances(variances(share_above=0.08))) == [Code.CLIPPED_VARIANCES]
    assert rules.clipped_variances(variances(share_above=0.06)) == []


def test_rules_of_tails_scales_and_means_at_their_limits():
    (few,) = rules.few_carry_much(1.6)
    assert (few.code, few.numbers) == (Code.FEW_CARRY_MUCH, {"hidden": 1.6})
    assert "1.6 times" in few.text
    assert rules.few_carry_much(1.4) == []
    (poor,) = rules.poorly_known_mean(0.4)
    assert (poor.code, poor.numbers) == (Code.POORLY_KNOWN_MEAN, {"noise": 0.4})
    assert "0.4 of the spread" in poor.text
    assert rules.poorly_known_mean(0.3) == []


def test_columns_of_unknown_scale_are_named():
    assert rules.unknown_scales(np.array([0.24, 0.0]), ["'a'", "'b'"]) == []
    (one,) = rules.unknown_scales(np.array([0.25, 0.01, 0.25]), ["'a'", "'b'", "'c'"])
    assert one.code is Code.UNKNOWN_SCALES
    assert one.text.startswith("2 columns ('a', 'c'): the scale is unknown")
    assert one.numbers == {"column 'a'": 0.25, "column 'c'": 0.25}
    (many,) = rules.unknown_scales(np.full(14, 0.25), [str(j) for j in range(14)])
    assert "11, ...)" in many.text
    assert len(many.numbers) == 14


def test_components_that_show_the_error_of_a_mean():
    components, errors = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, 0.1])
    (one,) = rules.offset_components(components, np.array([5.0, 1.0]), errors, ["'year'", "'pulse'"])
    assert (one.code, one.numbers) == (Code.OFFSET_COMPONENT, {"pc1": 0.8})
    assert "column 'year' for 80% of component 1" in one.text
    assert rules.offset_components(components, np.array([9.0, 1.0]), errors, ["'year'", "'pulse'"]) == []


def test_a_constant_column_has_an_unknown_scale():
    X = np.random.default_rng(0).normal(size=(3000, 4)) @ np.diag([3.0, 2.0, 1.0, 0.0]) + 5
    with pytest.warns(UserWarning, match="column 3: the scale is unknown"):
        pca = DPPCA(2, scale="private", random_state=0).fit(X)
    assert Code.UNKNOWN_SCALES in codes(pca.warnings_)


def lost(rows, people=0.0, noise=10.0, **unknown):
    numbers = {name: Noisy(value, noise) for name, value in unknown.items()}
    return NoisyLeftOut(Noisy(people, noise), Noisy(rows, noise), numbers)


def test_exclusions_are_reported_if_they_clearly_exceed_noise():
    assert rules.rows_left_out(1000.0, lost(59.0)) == rules.rows_left_out(1000.0, None) == []
    (rows,) = rules.rows_left_out(1000.0, lost(341.0, people=512.0))
    assert (rows.code, rows.numbers["share"], rows.numbers["people"]) == (Code.ROWS_LEFT_OUT, 0.341, 512.0)
    assert "about 34% of a person's rows (+- 2.0%)" in rows.text
    assert "about 512 people" in rows.text
    assert codes(rules.rows_left_out(1000.0, lost(61.0))) == [Code.ROWS_LEFT_OUT]
    (site,) = rules.unknown_values(1000.0, lost(0.0, site=61.0, sex=59.0))
    assert (site.code, site.numbers["unknown"]) == (Code.UNKNOWN_VALUES, 61.0)
    assert "'site'" in site.text
    assert rules.unknown_values(1000.0, NoisyLeftOut(None, None, {})) == []
    assert rules.rows_left_out(1000.0, NoisyLeftOut(None, None, {"site": Noisy(9e9, 1.0)})) == []


def test_spread_below_the_range_of_the_search():
    assert codes(rules.no_spread(variances(seen=2.0**-128))) == [Code.NO_SPREAD]
    assert rules.no_spread(variances(seen=2.0**-128, rest_seen=1e-30)) == []
    assert rules.no_spread(variances(seen=1e-30)) == rules.no_spread(variances()) == []


@pytest.mark.parametrize(
    ("factor", "code", "said"), [(1e300, Code.BAD_UNITS, "too large"), (1e-300, Code.NO_SPREAD, "multiply them")]
)
def test_values_that_cannot_be_measured_are_reported(factor, code, said):
    X = np.random.default_rng(0).normal(size=(20_000, 4)) * factor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        pca = DPPCA(1, random_state=0).fit(X)
    (found,) = (one for one in pca.warnings_ if one.code is code)
    assert said in found.text


def test_numbers_equal_those_in_the_text():
    (few,) = rules.too_few_units(36.2, 14.8)
    assert few.numbers == {"n_hat": 36.2, "enough": pytest.approx(148)}
    assert few.text.startswith("about 36 units are few")
    assert "About 148 units" in few.text


def spoilt():
    X = np.random.default_rng(0).normal(size=(2000, 4)) * [3, 1, 1, 1]
    X[:600] = np.nan
    return X


def test_python_the_release_files_and_the_report_show_the_same_warnings(tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pca = DPPCA(1, epsilon=1.0, delta=1e-2, random_state=0).fit(spoilt())
    texts = [str(one.message) for one in caught]
    assert {Code.BAD_UNITS, Code.LARGE_DELTA} <= set(codes(pca.warnings_))
    assert [one.text for one in pca.warnings_] == texts
    assert {one.category for one in caught if "delta" in str(one.message)} == {PrivacyWarning}
    assert all(one.filename == __file__ for one in caught), "they point at the line that fits"
    page = html.unescape(render_report(pca))
    assert all(text in page for text in texts)
    ev.save(pca, tmp_path / "model")
    again = ev.load(tmp_path / "model")
    assert again.warnings_ == pca.warnings_
    assert again.release_.diagnostics == pca.release_.diagnostics
    assert type(again.release_.diagnostics) is type(pca.release_.diagnostics)


def test_functions_warn_where_they_are_called():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = ev.tracked_pca(spoilt(), 1, epsilon=1.0, delta=1e-4, random_state=0)
    assert codes(release.warnings) == [Code.BAD_UNITS]
    assert [(str(one.message), one.filename) for one in caught] == [(release.warnings[0].text, __file__)]


def test_a_gap_that_cannot_be_proven():
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.warns(UserWarning, match="eigengap is too small"):
        release = ev.dp_gauss_2(X, 1, epsilon=0.5, delta=1e-4, random_state=0)
    assert codes(release.warnings) == [Code.NO_EIGENGAP]
    assert release.diagnostics.bottom


def test_before_a_fit_there_are_no_warnings():
    with pytest.raises(AttributeError, match="not fitted yet"):
        _ = DPPCA().warnings_


@pytest.fixture
def not_compiled(monkeypatch):
    """The loops in numpy, in a process that has not yet warned of it."""
    monkeypatch.setattr(loops, "_LIBRARY", None)
    rules.warn_if_not_compiled.cache_clear()
    yield
    rules.warn_if_not_compiled.cache_clear()


SMALL = np.random.default_rng(0).normal(size=(400, 3)) * [3, 1, 1]


@pytest.mark.usefixtures("not_compiled")
@pytest.mark.parametrize(
    "run",
    [
        lambda: DPPCA(1, algorithm="dp-gauss-1").fit(SMALL),
        lambda: ev.dp_gauss_1(SMALL, 1, epsilon=1.0, delta=1e-6),
        lambda: DPPCA(1, center=False, options={"batch_size": 200}).partial_fit(SMALL),
    ],
)
def test_numpy_loops_are_reported_once_where_the_user_called(run):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
        run()
    (found,) = [one for one in caught if one.category is NotCompiledWarning]
    assert "Hint: Install a C compiler" in str(found.message)
    assert found.filename == __file__


@pytest.mark.usefixtures("not_compiled")
def test_the_report_on_numpy_loops_does_not_depend_on_the_data():
    texts = []
    for rows in (SMALL, SMALL[:0], np.full((7, 3), np.nan)):
        rules.warn_if_not_compiled.cache_clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = DPPCA(1, algorithm="dp-gauss-1").fit(rows)
        texts += [str(one.message) for one in caught if one.category is NotCompiledWarning]
        assert not any("compiled" in one.text for one in model.warnings_)
    assert len(texts) == 3
    assert len(set(texts)) == 1


def test_compiled_loops_are_not_reported():
    rules.warn_if_not_compiled.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCompiledWarning)
        rules.warn_if_not_compiled()
