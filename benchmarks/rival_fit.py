"""One fit by one method, in a process of its own; run by rivals.py, also by the interpreters of other libraries.

    python rival_fit.py --one '{"method": "eigenveil", "data": "a.npz", "k": 2, "delta": 1e-6, "out": "b.npy"}'

Prints a line of JSON: seconds of the fit alone, and the peak memory of the process in MB. Only numpy and the
library that is measured need to be there.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import answered, peak, seconds

EPSILON = 1.0


def plain(X: Any, k: int, _: float) -> Callable[[], Any]:
    """scikit-learn, not private: what seconds are compared with."""
    from sklearn.decomposition import PCA  # noqa: PLC0415

    return lambda: PCA(k, svd_solver="covariance_eigh").fit(X).components_


def diffprivlib(X: Any, k: int, _: float) -> Callable[[], Any]:
    """Given the largest norm, which it takes for public; (epsilon, 0)."""
    from diffprivlib.models import PCA  # type: ignore[import-not-found] # noqa: PLC0415

    norm = float(np.linalg.norm(X, axis=1).max())
    return lambda: PCA(k, epsilon=EPSILON, data_norm=norm, centered=True).fit(X).components_


def opendp(X: Any, k: int, _: float) -> Callable[[], Any]:
    """The same; half of epsilon, since by its own map it spends twice what it is given."""
    import opendp.prelude as dp  # noqa: PLC0415
    from opendp.extras.sklearn.decomposition import PCA  # noqa: PLC0415

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    n, d = X.shape
    norm = float(np.linalg.norm(X, axis=1).max())
    model = PCA(epsilon=EPSILON / 2, row_norm=norm, n_samples=n, n_features=d, n_components=k)
    return lambda: model.fit(X).components_


def signs(X: Any, k: int, delta: float) -> Callable[[], Any]:
    """Rows of length 1 and Gaussian noise on their covariance: after g_dppca = TRUE in R's dppca."""
    from eigenveil.privacy.gaussian import gaussian_mu  # noqa: PLC0415

    def fit() -> Any:
        U = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
        Z = np.random.default_rng().standard_normal((X.shape[1], X.shape[1])) / gaussian_mu(EPSILON, delta)
        return np.linalg.eigh(U.T @ U + np.triu(Z) + np.triu(Z, 1).T)[1][:, ::-1][:, :k].T

    return fit


def coin_press(X: Any, k: int, delta: float) -> Callable[[], Any]:
    """Given the number of rows, and the largest eigenvalue of their second moment."""
    import rival_covariances as rivals  # noqa: PLC0415
    from scipy.sparse.linalg import svds  # noqa: PLC0415

    largest = float(svds(X, k=1, return_singular_vectors=False)[0] ** 2 / len(X))
    rho, rng = rivals.coin_press_rho(EPSILON, delta), np.random.default_rng()
    return lambda: rivals.leading(rivals.coin_press(X, largest, rho, rng), k)


def adaptive_cov(X: Any, k: int, delta: float) -> Callable[[], Any]:
    """Given the number of rows and their largest norm."""
    import rival_covariances as rivals  # noqa: PLC0415

    largest = float(np.linalg.norm(X, axis=1).max())
    rho, rng = rivals.adaptive_cov_rho(EPSILON, delta), np.random.default_rng()
    return lambda: rivals.leading(rivals.adaptive_cov(X, largest, rho, rng), k)


def ours(name: str, **options: Any) -> Callable[[Any, int, float], Callable[[], Any]]:
    """One of the house's functions; under replace where it has to be."""

    def prepare(X: Any, k: int, delta: float) -> Callable[[], Any]:
        import eigenveil as ev  # noqa: PLC0415
        from eigenveil.engines import LocalEngine  # noqa: PLC0415

        function = getattr(ev, name)  # loads it, which is not measured
        engine = LocalEngine(1)  # as many threads as the others have
        return lambda: function(X, k, epsilon=EPSILON, delta=delta, engine=engine, **options).components

    return prepare


METHODS: dict[str, Callable[[Any, int, float], Callable[[], Any]]] = {
    "scikit-learn, not private": plain,
    "eigenveil": ours("tracked_pca"),
    "DP-Gauss-1": ours("dp_gauss_1"),
    "DP-Gauss-1 as printed": ours("dp_gauss_1", noise="printed"),
    "DP-Gauss-2": ours("dp_gauss_2"),
    "DP-Power": ours("dp_power_method"),
    "k-DP-PCA": ours("k_dp_pca"),
    "k-DP-PCA as printed": ours(
        "k_dp_pca", relation="replace", mean_estimator="privmean", range_finder="privrange"
    ),
    "k-DP-Ojas": ours("k_dp_ojas"),
    "CoinPress": coin_press,
    "AdaptiveCov": adaptive_cov,
    "signs, as R's dppca": signs,
    "diffprivlib 0.6.6": diffprivlib,
    "OpenDP 0.16": opendp,
}


def units(arrays: dict[str, Any]) -> Any:
    """Rows, or what only the house knows: rows of people, matrices V diag(values) V^T + z z^T."""
    if set(arrays) == {"X"}:
        return arrays["X"]
    from eigenveil import samples  # noqa: PLC0415

    if "ids" in arrays:
        return samples.people(arrays["X"], arrays["ids"])
    return samples.spiked(arrays["V"], arrays["values"], arrays["Z"])


def measured(case: dict[str, Any]) -> dict[str, float]:
    """Fit, keep the components in a file, and tell what it took."""
    warnings.simplefilter("ignore")
    k, found = case["k"], []
    fit = METHODS[case["method"]](units(dict(np.load(case["data"]))), k, case["delta"])
    taken = seconds(lambda: found.append(fit()))
    np.save(case["out"], np.asarray(found[0])[:k])
    return {"seconds": taken, "peak": peak()}


if __name__ == "__main__" and not answered(measured):
    sys.exit(__doc__)
