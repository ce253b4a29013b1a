"""Raw tables: what is declared in each mode, what is told of fits, and vital signs with a year."""

import numpy as np
import pytest

from support.benchmarks import load_script

raw, real_data, arena, few = (load_script(name) for name in ("raw", "real_data", "arena", "gauss_1_for_free"))
cells = load_script("cells")


def fit(*, zeta=0.1, angle=1.0, limit=2.0, warned=False):
    return raw.Fit(zeta=zeta, angle=angle, limit=limit, warned=warned, intervals=[True, False])


def suite(**modes):
    """Two tables whose fits are given by mode."""
    fits = {(name, mode): found[place] for mode, found in modes.items() for place, name in enumerate("ab")}
    return raw.Suite("ab", fits)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3000, 6)) @ rng.normal(size=(6, 6)) * 10.0 ** np.arange(6) + 50


def test_what_is_declared(table):
    free, none, bounds = (raw.known(table, mode) for mode in raw.MODES)
    assert np.array_equal(free["center"], table.mean(axis=0))
    assert np.array_equal(free["scale"], table.std(axis=0))
    assert none == {"scale": "private"}
    low, high = bounds["bounds"]
    assert np.allclose(high - low, 1.5 * np.ptp(table, axis=0))
    assert np.allclose((high + low) / 2, (table.max(axis=0) + table.min(axis=0)) / 2)


@pytest.mark.parametrize("mode", raw.MODES)
def test_a_fit_of_a_table(table, mode):
    found = raw.measured(table, **raw.known(table, mode))
    assert 0 <= found.zeta < 0.5
    assert 0 <= found.angle <= 90
    assert len(found.intervals) == raw.K


def test_zeta_does_not_depend_on_units(table):
    spread = table.std(axis=0)
    scaled = raw.measured(table, center=table.mean(axis=0), scale=spread, random_state=0)
    alike = raw.measured(table / spread, center=table.mean(axis=0) / spread, random_state=0)
    assert scaled.zeta == pytest.approx(alike.zeta, abs=1e-3)
    assert scaled.angle == pytest.approx(alike.angle, abs=1e-2)


def test_what_is_told_of_tables():
    free = [[fit(zeta=0.1), fit(zeta=0.1)], [fit(zeta=0.2), fit(zeta=0.2)]]
    none = [[fit(zeta=0.1, angle=3.0), fit(zeta=0.3)], [fit(zeta=0.8, warned=True), fit(zeta=0.8)]]
    bounds = [[fit(zeta=0.22)], [fit(zeta=0.9)]]
    found = suite(free=free, none=none, bounds=bounds)
    assert found.over_free("none") == f"{np.sqrt(2 * 4):.2f}"
    assert found.energy("none") == f"{1 - (0.2**2 + 0.8**2) / 2:.3f}"
    assert found.badly_served("none") == "50%"
    assert found.worse_than_none("bounds") == "1 of 2"
    assert found.coverage("none") == "0.75"
    assert found.width("none") == "2.0"
    assert found.false_alarms("none") == "33%"
    assert found.alarms("none") == "0%"
    assert found.alarms("free") == ""


def test_tiny_zetas_do_not_count():
    found = suite(free=[[fit(zeta=0.0)], [fit(zeta=1e-5)]], none=[[fit(zeta=0.0)], [fit(zeta=raw.LEAST)]])
    assert found.over_free("none") == "1.00"


def test_halves_are_those_of_the_whole_suite(monkeypatch):
    names = [f"t{place}" for place in range(6)]
    monkeypatch.setattr(real_data, "raw_tables", lambda: {name: np.zeros((2, 2)) for name in names})
    monkeypatch.setattr(raw, "LINES", (("zeta over free", raw.Suite.over_free, {"none": ("", "", "")}),))
    zetas = {name: 0.1 * (1 + int(name[1]) % 2) for name in names}
    found = {(name, "free"): [fit(zeta=0.1)] for name in names}
    found |= {(name, "none"): [fit(zeta=zetas[name])] for name in names}
    cells_of = [cell.strip() for cell in raw.summary(names[1:5], found).splitlines()[-1].split("|")]
    assert cells_of[3:6] == ["1.00", "2.00", f"{np.sqrt(2):.2f}"]
    only = [cell.strip() for cell in raw.summary(names[1:2], found).splitlines()[-1].split("|")]
    assert only[3:6] == ["", "2.00", "2.00"]


def test_vital_signs_have_years_and_one_leading_direction():
    X = raw.vital_signs(np.random.default_rng(1), 5000)
    assert X.shape == (5000, 8)
    assert np.all((X[:, 7] >= 2019) & (X[:, 7] <= 2023))
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    assert values[0] > 1.5 * values[1]
    assert np.abs(X.mean(axis=0) / X.std(axis=0)).max() > 1000


# -- few rows --------------------------------------------------------------------------------------


def test_cells_of_few_rows():
    found = cells.few()
    assert len(found) == 26
    assert {cell.source in cells.TUNED for cell in found} == {True, False}
    assert all(arena.is_few(cell) for cell in found)
    assert not any(arena.is_few(cell) for family in ("arena", "growing") for cell in cells.FAMILIES[family]())


def test_fixed_clips():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 5)) * [5, 3, 1, 1, 1]
    cell = cells.Cell("few made up", lambda _: cells.from_rows(X, X.T @ X / len(X)), (1, 2), 1e-6)
    found = few.fixed_clips(cell, cell.draw(0), 0)
    assert set(found) == {(1, "fixed"), (2, "fixed")}
    assert all(len(zetas) == len(few.FIXED) and max(zetas) < 0.1 for zetas in found.values())


def test_few_rows_are_compared_with_the_best_clip():
    cell = cells.Cell("few made up n=3", lambda _: None, (2,), 1e-6)
    results = {(cell.name, 2): {"tracked": [[0.2], [0.4]], "fixed": [[0.9, 0.1, 0.9, 0.9], [0.9, 0.3, 0.9, 0.9]]}}
    text, ratios = arena.few_rows([cell], results)
    assert ratios == pytest.approx([1.5])
    assert "| made up n=3 | 2 | 0.300" in text
    assert arena._ratios([1.0, 1.5]) == f"geometric mean {np.sqrt(1.5):.3f}, at most 1.50, above 1.05 in 1 of 2"


# -- sweep of the frame ----------------------------------------------------------------------------


def test_a_constant_of_the_frame_is_changed_and_put_back(monkeypatch):
    sweep = load_script("sweep")
    seen = []

    def measured(_, **declared):
        assert declared == {"scale": "private"}
        seen.append(sweep.frame.HELD)
        return fit(zeta=sweep.frame.HELD)

    monkeypatch.setattr(real_data, "raw_tables", lambda: {"a/b": np.zeros((2, 2))})
    monkeypatch.setattr(sweep.raw, "measured", measured)
    monkeypatch.setattr(sweep, "kept", lambda _, make: make())
    before = sweep.frame.HELD
    found = sweep.raw_fits(("a/b", 0, "HELD"))
    assert seen == [before, 0.5 * before, 1.5 * before]
    assert seen[0] == sweep.frame.HELD
    changes = [change for change in found if change != sweep.DEFAULT]
    rows = sweep.compared(changes, ["a/b"], [("a/b", found), ("a/b", found)])
    assert [row[1] for row in rows] == ["0.500 +- 0.000", "1.500 +- 0.000"]
