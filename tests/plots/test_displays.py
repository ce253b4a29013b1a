"""Displays draw exactly the values that were released."""

from itertools import pairwise
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from eigenveil import DPPCA
from eigenveil.algorithms.uncertainty import variance_errors
from eigenveil.algorithms.variances import NoisyVariances
from eigenveil.errors import InvalidInputError
from eigenveil.plots import (
    BiplotDisplay,
    ConvergenceDisplay,
    CumulativeVarianceDisplay,
    LedgerDisplay,
    LoadingsDisplay,
    LoadingsImageDisplay,
    ScoreMapDisplay,
    ScreeDisplay,
)
from eigenveil.privacy import Budget, Ledger

mpl.use("Agg")
from matplotlib.figure import Figure


def rows(n=8000):
    return np.random.default_rng(0).normal(size=(n, 12)) * [5, 3, *[1] * 10]


@pytest.fixture(scope="module")
def pca():
    return DPPCA(3, epsilon=2.0, random_state=0).fit(rows())


@pytest.fixture
def ax():
    return Figure().add_subplot()


def with_variances(pca, **changes):
    """Return the model as if it had bought these variances."""
    bought = {
        "explained": np.array([25.0, 9.0, 1.0]),
        "total": 37.0,
        "noise": 0.5,
        "total_noise": 1.0,
        "share_above": 0.0,
    }
    variances = NoisyVariances(**{**bought, **changes})
    return SimpleNamespace(
        release_=SimpleNamespace(variances=variances),
        explained_variance_=variances.explained,
        explained_variance_ratio_=variances.ratios,
        explained_variance_interval=lambda level: _checked_interval(
            level, [[26.0, 31.0], [7.0, 12.0], [0.0, 3.0]]
        ),
        cumulative_variance_ratio_interval=lambda level: _checked_interval(
            level, [[0.6, 0.7], [0.85, 0.97], [0.93, 1.0]]
        ),
        ledger_=pca.ledger_,
        epsilon=pca.epsilon,
    )


def _checked_interval(level, ends):
    assert level == 0.95
    return np.array(ends)


def intervals_drawn(ax):
    return [segment[:, 1].tolist() for segment in ax.collections[0].get_segments()]


def test_scree_draws_the_released_variances(pca, ax):
    display = ScreeDisplay.from_estimator(pca)
    display.plot(ax)
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == list(pca.explained_variance_)
    assert "NOT PRIVATE, ε = 2" in ax.get_title()
    assert ax.get_xlabel() == "component"
    assert ax.get_ylabel()


def test_scree_intervals_are_those_of_the_model(pca, ax):
    display = ScreeDisplay.from_estimator(pca)
    assert np.array_equal(display.intervals, pca.explained_variance_interval())
    display.plot(ax)
    assert intervals_drawn(ax) == [pytest.approx(pair) for pair in pca.explained_variance_interval().tolist()]
    assert ax.get_ylabel() == "variance, 95 % interval"
    noise = pca.release_.variances.noise
    wide = (display.high - display.low)[display.low > 0]  # others are cut off at 0
    assert wide.size >= 2
    assert np.all(wide > 2 * 1.96 * noise), "the sample adds to the noise"


def test_an_interval_may_lie_above_its_bar(pca, ax):
    display = ScreeDisplay.from_estimator(with_variances(pca))
    assert display.low[0] > display.variances[0], "clipping removed much of the variance"
    display.plot(ax)
    assert intervals_drawn(ax) == [[26.0, 31.0], [7.0, 12.0], [0.0, 3.0]]


def test_no_intervals_if_the_model_provides_none(pca, ax):
    plain = DPPCA(2, algorithm="dp-gauss-1", random_state=0).fit(rows())
    display = ScreeDisplay.from_estimator(plain)
    assert display.intervals is None
    assert np.array_equal(display.low, display.high)
    display.plot(ax)
    assert not ax.collections
    assert ax.get_ylabel() == "variance"
    old = with_variances(pca)
    old.explained_variance_interval = lambda level: variance_errors(old.release_.variances).interval(level)
    assert ScreeDisplay.from_estimator(old).intervals is None, "saved by an older version of eigenveil"


def test_scree_without_variances_raises_with_the_reason():
    directions_only = DPPCA(2, algorithm="k-dp-ojas", random_state=0).fit(rows())
    with pytest.raises(AttributeError, match="releases directions only"):
        ScreeDisplay.from_estimator(directions_only)


def test_cumulative_shares(pca, ax):
    display = CumulativeVarianceDisplay.from_estimator(with_variances(pca))
    assert display.shares == pytest.approx(np.array([25, 34, 35]) / 37)
    display.plot(ax)
    assert ax.lines[0].get_ydata() == pytest.approx(100 * display.shares)
    assert intervals_drawn(ax) == [pytest.approx(pair) for pair in ([60, 70], [85, 97], [93, 100])]


def test_cumulative_intervals_are_those_of_the_model(pca):
    display = CumulativeVarianceDisplay.from_estimator(pca)
    assert np.array_equal(display.intervals, pca.cumulative_variance_ratio_interval())


def test_loadings_are_the_largest_by_size(pca, ax):
    display = LoadingsDisplay.from_estimator(pca, component=2, top=2)
    assert display.names[0] == "x1"
    assert display.loadings[0] == pca.components_[1].max()
    sizes = np.abs(display.loadings)
    assert sizes[0] >= sizes[1] >= np.sort(np.abs(pca.components_[1]))[-2]
    display.plot(ax)
    assert sorted(bar.get_width() for bar in ax.patches) == sorted(display.loadings)
    assert "largest 2 of 12" in ax.get_title()


def test_loadings_as_an_image(pca, ax):
    display = LoadingsImageDisplay.from_estimator(pca, grid=(3, 4), component=2)
    assert np.array_equal(display.image, pca.components_[1].reshape(3, 4))
    display.plot(ax)
    (image,) = ax.images
    assert np.array_equal(image.get_array(), display.image)
    low, high = image.get_clim()
    assert -low == high == np.abs(display.image).max(), "0 is in the middle"
    assert "NOT PRIVATE" in ax.get_title()
    signs = image.to_rgba(np.array([-1.0, 0.0, 1.0]))
    assert signs[:, 3] == pytest.approx([1, 0, 1], abs=0.01)
    with pytest.raises(InvalidInputError, match="3 x 5 has 15 pixels, but the model has 12 columns"):
        LoadingsImageDisplay.from_estimator(pca, grid=(3, 5))
    with pytest.raises(InvalidInputError, match="rows of the grid must be a whole number"):
        LoadingsImageDisplay.from_estimator(pca, grid=(-3, -4))
    with pytest.raises(InvalidInputError, match="numbered from 1 to 3"):
        LoadingsImageDisplay.from_estimator(pca, grid=(3, 4), component=4)


def test_negative_loadings_are_distinguishable_without_colour(ax):
    LoadingsDisplay.largest(["a", "b"], np.array([0.5, -0.4]), component=1, top=2).plot(ax)
    positive, negative = ax.patches
    assert not positive.get_hatch()
    assert negative.get_hatch()


def test_loadings_show_noise_if_it_is_known(ax):
    noise = np.array([0.1, 0.2, 0.3])
    display = LoadingsDisplay.largest("abc", np.array([0.1, 0.9, 0.4]), component=1, top=2, noise=noise)
    assert display.noise.tolist() == [0.2, 0.3]
    display.plot(ax)
    ends = ax.collections[0].get_segments()[0][:, 0]
    assert ends == pytest.approx([0.9 - 1.96 * 0.2, 0.9 + 1.96 * 0.2])


def test_component_numbers_start_at_1(pca):
    for wrong in (0, 4):
        with pytest.raises(InvalidInputError, match="numbered from 1 to 3"):
            LoadingsDisplay.from_estimator(pca, component=wrong)


def histogram(**changes):
    grid = np.linspace(-10.0, 10.0, 5)
    plain = {
        "counts": np.arange(16.0).reshape(4, 4) * 10 - 5,
        "edges": (grid, grid),
        "components": (1, 2),
        "labels": None,
        "noise": 10.0,
        "ledger": Ledger(Budget.from_mu(1.0)),
    }
    return SimpleNamespace(**{**plain, **changes})


def test_score_map_leaves_cells_blank_that_could_be_noise(ax):
    display = ScoreMapDisplay.from_histogram(histogram())
    shown = display.shown()
    assert display.threshold() == pytest.approx(27.34, abs=0.01), "16 cells, noise 10"
    assert np.isnan(shown).sum() == np.sum(histogram().counts <= 27.34)
    assert np.nanmax(shown) == histogram().counts.max()
    display.plot(ax)
    mesh = ax.collections[0]
    assert np.ma.filled(mesh.get_array(), np.nan).reshape(4, 4) == pytest.approx(shown.T, nan_ok=True)
    assert ax.get_xlabel() == "score on component 1"


def test_empty_score_maps_are_blank():
    """Noise alone draws a cell, anywhere on a map, with a probability of at most 5 %."""
    noise = np.random.default_rng(0).normal(size=(2000, 12, 12)) * 8
    grid = np.linspace(-1.0, 1.0, 13)
    maps = [ScoreMapDisplay(counts=one, edges=(grid, grid), noise=8.0) for one in noise]
    spoilt = np.mean([np.isfinite(one.shown()).any() for one in maps])
    assert 0.03 < spoilt < 0.07


def test_score_map_reads_the_same_on_dark_pages(ax):
    """Cells differ in opacity only, and empty ones show the page."""
    ScoreMapDisplay.from_histogram(histogram()).plot(ax)
    mesh = ax.collections[0]
    colours = mesh.to_rgba(np.ma.masked_invalid([np.nan, 30.0, 60.0, 145.0]))
    assert colours[0, 3] == 0
    assert np.ptp(colours[1:, :3], axis=0) == pytest.approx(0)
    assert np.all(np.diff(colours[:, 3]) > 0)
    assert mpl.colors.to_hex(ax.get_facecolor()) == mpl.colors.to_hex(mpl.rcParams["axes.facecolor"])


def test_score_maps_of_groups_add_up(ax):
    counts = np.stack([np.full((4, 4), 100.0), np.full((4, 4), 300.0)])
    display = ScoreMapDisplay.from_histogram(histogram(counts=counts, labels=("north", "south"), noise=3.0))
    assert np.all(display.counts == 400)
    assert display.noise == pytest.approx(3 * np.sqrt(2))
    assert np.all(display.shown("north") == 100)
    display.plot(ax, group="south")
    assert "south" in ax.get_title()
    with pytest.raises(InvalidInputError, match="no map of group 'east'"):
        display.shown("east")
    figure = Figure()
    assert len(display.plot_groups(figure.subplots(1, 2))) == 2


def test_score_map_of_a_real_release(pca, ax):
    released = pca.private_scores(rows(), epsilon=1.0, bins=6, random_state=0)
    display = ScoreMapDisplay.from_histogram(released)
    assert np.array_equal(display.counts, released.counts)
    assert display.guarantee == "NOT PRIVATE"
    BiplotDisplay.from_estimator(pca, scores=released).plot(ax)
    assert ax.get_xlim() == pytest.approx((released.edges[0][0], released.edges[0][-1]))


def test_biplot_arrows_are_loadings(pca, ax):
    display = BiplotDisplay.from_estimator(pca, top=3)
    assert display.names[:2] in (("x0", "x1"), ("x1", "x0"))
    where = [int(name[1:]) for name in display.names]
    assert np.array_equal(display.arrows, pca.components_[:2, where].T)
    assert display.stretch == 1.0
    display.plot(ax)
    assert "ε = 2" in ax.get_title()


def test_biplot_arrows_fill_the_map(pca):
    display = BiplotDisplay.from_estimator(pca, scores=histogram())
    longest = np.linalg.norm(display.arrows * display.stretch, axis=1).max()
    assert longest == pytest.approx(6.0)
    right = np.sort(display.heights_of_names()[display.arrows[:, 0] >= 0])
    assert np.all(np.diff(right) >= 0.06 * 20 - 1e-9), "names do not cover each other"
    with pytest.raises(InvalidInputError, match="the map is of components"):
        BiplotDisplay.from_estimator(pca, scores=histogram(), components=(1, 3))


def test_names_in_a_biplot_do_not_overlap():
    angles = np.linspace(0.1, 1.5, 8)
    close = 0.3 * np.stack([np.cos(angles / 20), np.sin(angles / 20)], axis=1)
    display = BiplotDisplay(names=tuple(f"row {i} col {i}" for i in range(8)), arrows=close)
    figure = Figure(figsize=(3.7, 2.6), layout="constrained")
    ax = figure.add_subplot()
    display.plot(ax)
    figure.canvas.draw()
    names = [text for text in ax.texts if text.get_text()]
    boxes = sorted((text.get_window_extent() for text in names), key=lambda box: box.y0)
    assert len(boxes) == 8
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))
    assert ax.bbox.y0 < boxes[0].y0 < boxes[-1].y1 < ax.bbox.y1


def test_convergence_shows_the_rounds(pca, ax):
    rounds = pca.release_.diagnostics["rounds"]
    display = ConvergenceDisplay.from_estimator(pca)
    assert display.noise.tolist() == [one["noise"] for one in rounds]
    assert display.kinds == tuple(one["kind"] for one in rounds)
    display.plot(ax)
    radius, noise = ax.lines
    assert radius.get_ydata().tolist() == display.radius.tolist()
    assert (radius.get_marker(), radius.get_linestyle()) != (noise.get_marker(), noise.get_linestyle())


def test_convergence_without_rounds_raises():
    pca = DPPCA(2, algorithm="dp-gauss-1", random_state=0).fit(rows())
    with pytest.raises(InvalidInputError, match="reported no rounds"):
        ConvergenceDisplay.from_estimator(pca)


def test_ledger_shares_add_up_to_the_budget(pca, ax):
    display = LedgerDisplay.from_estimator(pca)
    assert display.shares.sum() == pytest.approx(1.0)
    assert display.shares[0] == pytest.approx(pca.ledger_.entries[0].mu ** 2 / pca.ledger_.budget.mu**2)
    display.plot(ax, top=5)
    assert len(ax.patches) == 5
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(100.0)


def test_ledger_shows_the_unspent_share_and_noise_that_is_not_gaussian():
    half = Ledger(Budget.from_mu(1.0))
    half.charge_gaussian("count", mu=0.6, sensitivity=1.0, scale=1 / 0.6)
    half.declare("column scales")
    display = LedgerDisplay.from_ledger(half)
    assert dict(zip(display.labels, display.shares, strict=True)) == pytest.approx(
        {"count": 0.36, "not spent": 0.64}
    )
    other = Ledger(Budget(mu=0.0, epsilon_aside=1.0, delta_aside=1e-6))
    other.charge_approximate("bins", epsilon=0.25)
    display = LedgerDisplay.from_ledger(other)
    assert dict(zip(display.labels, display.shares, strict=True)) == pytest.approx(
        {"bins": 0.25, "not spent": 0.75}
    )
    assert display.of == "the ε set aside"


def test_displays_create_axes_if_none_are_given():
    import matplotlib.pyplot as plt

    ax = ScreeDisplay(variances=np.array([2.0, 1.0])).plot()
    assert len(ax.patches) == 2
    plt.close("all")
