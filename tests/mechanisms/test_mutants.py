"""The checks of this suite can fail: each of some classic mistakes in the code is caught."""

import numpy as np
import pytest

from eigenveil.kernels import clips
from eigenveil.mechanisms import noisy_count
from eigenveil.mechanisms.noise.veil import Grant, Veil
from eigenveil.privacy import Budget, Entry, Ledger, Relation
from support.catalogue import MECHANISMS, ledger
from support.checks import draws_match_ledger, noise_matches_ledger, stated_sensitivity_holds
from support.recompute import recompute
from support.veils import WatchedVeil

pytestmark = pytest.mark.ledger_is_wrong_on_purpose
ROWS = np.random.default_rng(3).normal(size=(40, 3))
GAUSSIAN = [name for name in MECHANISMS if name != "propose-test-release"]


@pytest.mark.parametrize("name", GAUSSIAN)
def test_noise_halved_is_caught(name, monkeypatch):
    honest = Grant.release

    def halved(self, steps, *, weight=1.0):
        return honest(self, steps, weight=weight / 2)

    monkeypatch.setattr(Grant, "release", halved)
    with pytest.raises(AssertionError):
        noise_matches_ledger(name, "add-remove", ROWS)


@pytest.mark.parametrize("name", ["clipped sum of vectors", "clipped mean of vectors", "frame, mean and scales"])
def test_factor_two_of_replace_dropped_is_caught(name, monkeypatch):
    monkeypatch.setattr(Relation, "distance_between_sums", lambda _, reach: reach)
    rows, neighbour = np.array([[0.2, 0.1], [100.0, 100.0]]), np.array([[0.2, 0.1], [-100.0, -100.0]])
    with pytest.raises(AssertionError, match="times the stated sensitivity"):
        stated_sensitivity_holds(name, "replace", rows, neighbour)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_charge_skipped_is_caught(name, monkeypatch):
    monkeypatch.setattr(Ledger, "charge_gaussian", lambda *_, **__: Entry(what="nothing", kind="declared"))
    with pytest.raises(AssertionError):
        draws_match_ledger(name, "add-remove", ROWS)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_one_more_draw_than_charged_is_caught(name, monkeypatch):
    honest = Grant.release

    def greedy(self, steps, *, weight=1.0):
        self._noise(1, 1, self._veil.source)
        return honest(self, steps, weight=weight)

    monkeypatch.setattr(Grant, "release", greedy)
    with pytest.raises(AssertionError):
        draws_match_ledger(name, "add-remove", ROWS)


def test_claiming_a_smaller_mu_is_caught_by_recomputation(monkeypatch):
    monkeypatch.setattr(Entry, "_noise_suffices", lambda _: True)
    cheat = Ledger(Budget.from_mu(1.0))
    cheat.charge_gaussian("x", mu=0.1, sensitivity=1.0, scale=7.0)
    with pytest.raises(AssertionError):
        recompute(cheat)


def test_adding_mu_instead_of_squares_is_caught_by_recomputation():
    cheat = Ledger(Budget.from_mu(1.0))
    for _ in range(2):
        cheat.charge_gaussian("x", mu=0.3, sensitivity=1.0, scale=1 / 0.3)
    recompute(cheat)
    cheat._cost = cheat.nodes[0].cost
    with pytest.raises(AssertionError):
        recompute(cheat)


def test_naive_clipping_is_caught(monkeypatch):
    def careless(block, squares, *, size, radius, exponent):  # noqa: ARG001
        factors = np.minimum(1, radius / np.sqrt(squares))
        return np.rint(np.ldexp(block * factors[:, None], -exponent))

    monkeypatch.setattr(clips, "clip_to_grid", careless)
    rng = np.random.default_rng(0)

    def search():
        for _ in range(50):
            rows = rng.normal(size=(1, 3)) * 10
            stated_sensitivity_holds("clipped sum of vectors", "add-remove", rows, np.zeros((0, 3)))

    with pytest.raises(AssertionError, match="times the stated sensitivity"):
        search()


def test_a_count_that_depends_on_other_rows_is_caught(monkeypatch):
    """Norms that depend on other rows, as with BLAS, change a count by more than 1."""
    honest = clips.squared_norms
    monkeypatch.setattr(clips, "squared_norms", lambda block: honest(block) * (1 + block[0, 0] ** 2))
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(AssertionError, match="times the stated sensitivity"):
        stated_sensitivity_holds("radius", "replace", rows, np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))


def test_counting_without_a_grant_is_caught(monkeypatch):
    """A mechanism that releases without noise never touches the source, and the ledger shows a draw."""
    monkeypatch.setattr(Grant, "release", lambda _, steps, **__: steps.astype(float))
    with pytest.raises(AssertionError):
        draws_match_ledger("count", "add-remove", ROWS)


def test_the_code_without_mutants_passes():
    for name in GAUSSIAN:
        draws_match_ledger(name, "add-remove", ROWS)
        noise_matches_ledger(name, "replace", ROWS)
    veil = WatchedVeil(ledger("add-remove"))
    noisy_count(MECHANISMS["count"][0](ROWS), mu=0.1, veil=veil)
    recompute(veil.ledger)
    assert Veil is not WatchedVeil
