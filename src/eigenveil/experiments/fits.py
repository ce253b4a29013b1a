"""Fits behind the curves: the function of eigenveil that each curve calls, and its arguments.

All methods run under replace-one with n public. Literal k-DP-PCA supports no other relation, so this gives all
methods the same guarantee. Baselines and the paper's methods receive true clips and spectra, as in the paper.
k-DP-PCA with the tracked mean and tracked PCA receive nothing, and spend budget on what they need.

A change of code in this file invalidates all cached results. Descriptions of methods are therefore in `methods`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from eigenveil.algorithms import (
    Release,
    dp_gauss_1,
    dp_gauss_2,
    dp_power_method,
    k_dp_ojas,
    k_dp_pca,
    tracked_pca,
)
from eigenveil.datasets import Dataset
from eigenveil.engines import LocalEngine
from eigenveil.experiments import names
from eigenveil.experiments.setting import Setting
from eigenveil.operators import SpikedOperator
from eigenveil.privacy import Budget, Ledger, Relation
from eigenveil.schedules import batch_size_theorem

RELATION = Relation.REPLACE
Fit = Callable[[Dataset, Setting, int], Release]
"""Function from data, setting and seed to a release."""


def _with(setting: Setting, seed: int) -> dict[str, Any]:
    """Return the arguments common to all methods. One thread each, because trials run in parallel."""
    return {
        "epsilon": setting.epsilon,
        "delta": setting.delta,
        "relation": RELATION,
        "random_state": seed,
        "engine": LocalEngine(1),
    }


def _plain(data: Dataset, setting: Setting, _: int) -> Release:
    """Return the top eigenvectors of the mean of all A_i, without noise."""
    every = chain.from_iterable(partition.blocks() for partition in data.samples.partitions())
    rows = (np.asarray(block.values, dtype=np.float64) for block in every)
    mean = sum((block.T @ block for block in rows), np.zeros((setting.d, setting.d))) / setting.n
    if isinstance(data.samples, SpikedOperator):
        mean += (data.samples.directions * data.samples.eigenvalues) @ data.samples.directions.T
    ledger = Ledger(Budget.from_mu(1.0), relation=RELATION)
    ledger.mark_not_private("plain PCA")
    top = np.linalg.eigh(mean)[1][:, ::-1][:, : setting.k].T
    return Release(algorithm="PCA", components=np.ascontiguousarray(top), ledger=ledger)


def _gauss_1(data: Dataset, setting: Setting, seed: int) -> Release:
    return dp_gauss_1(data.samples, setting.k, beta=setting.beta, eigenvalues=False, **_with(setting, seed))


def _gauss_1_bought(data: Dataset, setting: Setting, seed: int) -> Release:
    return dp_gauss_1(data.samples, setting.k, eigenvalues=False, **_with(setting, seed))


def _gauss_2(data: Dataset, setting: Setting, seed: int) -> Release:
    return dp_gauss_2(data.samples, setting.k, beta=setting.beta, **_with(setting, seed))


def _gauss_2_printed(data: Dataset, setting: Setting, seed: int) -> Release:
    return dp_gauss_2(data.samples, setting.k, beta=setting.beta, not_private=True, **_with(setting, seed))


def _power(data: Dataset, setting: Setting, seed: int) -> Release:
    public: dict[str, Any] = {"beta": setting.beta, "spectrum": setting.spectrum, "eigenvalues": False}
    return dp_power_method(data.samples, setting.k, **public, **_with(setting, seed))


def _power_printed(data: Dataset, setting: Setting, seed: int) -> Release:
    public: dict[str, Any] = {"beta": setting.beta, "spectrum": setting.spectrum, "eigenvalues": False}
    scale: dict[str, Any] = {"scale": "printed", "alpha": setting.alpha}
    return dp_power_method(data.samples, setting.k, **public, **scale, **_with(setting, seed))


def _literal(data: Dataset, setting: Setting, seed: int, **choices: Any) -> Release:
    return k_dp_pca(
        data.samples,
        setting.k,
        mean_estimator="privmean",
        learning_rates=setting.rates(),
        tau=setting.tau,
        **choices,
        **_with(setting, seed),
    )


def _literal_log_batches(data: Dataset, setting: Setting, seed: int) -> Release:
    return _literal(data, setting, seed, batch_size=batch_size_theorem(setting.n))


def _literal_fixed(data: Dataset, setting: Setting, seed: int) -> Release:
    return _literal(data, setting, seed, range_finder=setting.spread_of_gradients)


def _literal_fixed_four(data: Dataset, setting: Setting, seed: int) -> Release:
    four = setting.n // (4 * setting.k)
    return _literal(data, setting, seed, range_finder=setting.spread_of_gradients, batch_size=four)


def _tracked_mean(data: Dataset, setting: Setting, seed: int) -> Release:
    return k_dp_pca(data.samples, setting.k, **_with(setting, seed))


def _tracked_mean_rates(data: Dataset, setting: Setting, seed: int) -> Release:
    return k_dp_pca(data.samples, setting.k, learning_rates=setting.rates(), **_with(setting, seed))


def _ojas(data: Dataset, setting: Setting, seed: int) -> Release:
    public: dict[str, Any] = {"clip": setting.ojas_clip, "learning_rates": setting.ojas_rates()}
    return k_dp_ojas(data.samples, setting.k, **public, **_with(setting, seed))


def _ojas_printed(data: Dataset, setting: Setting, seed: int) -> Release:
    public: dict[str, Any] = {"clip": setting.ojas_clip, "learning_rates": setting.ojas_rates()}
    return k_dp_ojas(data.samples, setting.k, not_private=True, **public, **_with(setting, seed))


def _tracked(data: Dataset, setting: Setting, seed: int) -> Release:
    return tracked_pca(data.samples, setting.k, **_with(setting, seed))


FITS: dict[str, Fit] = {
    names.PLAIN: _plain,
    names.GAUSS_1: _gauss_1,
    names.GAUSS_1_BOUGHT: _gauss_1_bought,
    names.GAUSS_2: _gauss_2,
    names.POWER: _power,
    names.POWER_PRINTED: _power_printed,
    names.LITERAL: _literal,
    names.LITERAL_LOG_BATCHES: _literal_log_batches,
    names.LITERAL_FIXED: _literal_fixed,
    names.LITERAL_FIXED_FOUR: _literal_fixed_four,
    names.TRACKED_MEAN: _tracked_mean,
    names.TRACKED_MEAN_RATES: _tracked_mean_rates,
    names.OJAS: _ojas,
    names.TRACKED: _tracked,
    names.OJAS_PRINTED: _ojas_printed,
    names.GAUSS_2_PRINTED: _gauss_2_printed,
}
