"""Methods paragraph of a report, with references to cite."""

from __future__ import annotations

from typing import Any

from eigenveil.estimators.settings import as_fitted
from eigenveil.privacy import Ledger, Purpose
from eigenveil.report.facts import unit_of

PAPER = (
    "J. Düngler and A. Sanyal. An Iterative Algorithm for Differentially Private k-PCA with Adaptive Noise. "
    "arXiv:2508.10879, 2025."
)
_ANALYZE_GAUSS = (
    "C. Dwork, K. Talwar, A. Thakurta and L. Zhang. Analyze Gauss: Optimal Bounds for Privacy-Preserving "
    "Principal Component Analysis. STOC 2014."
)
_NOISY_POWER = (
    "M. Hardt and E. Price. The Noisy Power Method: A Meta Algorithm with Applications. NeurIPS 2014, "
    "arXiv:1311.2495."
)
_GDP = "J. Dong, A. Roth and W. J. Su. Gaussian Differential Privacy. JRSS B 84(1), 2022, arXiv:1905.02383."
_FILTER = (
    "A. Smith and A. Thakurta. Fully Adaptive Composition for Gaussian Differential Privacy. "
    "arXiv:2210.17520, 2022."
)

_DESCRIPTIONS = {
    "tracked": "tracked PCA, which refines components around values that are already released, so that the noise "
    "adapts to the spread of the units, an idea it shares with k-DP-PCA",
    "k-dp-pca": "k-DP-PCA, which estimates one component after the other by noisy gradient steps whose noise "
    "adapts to the spread of the gradients",
    "k-dp-ojas": "k-DP-Ojas, which estimates one component after the other by Oja's rule with clipped steps",
    "dp-gauss-1": "DP-Gauss-1 (Analyze Gauss), which adds noise to the clipped second moment",
    "dp-gauss-2": "DP-Gauss-2, which adds noise to the projector, calibrated to a private bound on the eigengap",
    "dp-power": "the noisy power method with clipped products",
}
_SOURCES = {"dp-gauss-1": [_ANALYZE_GAUSS], "dp-gauss-2": [_ANALYZE_GAUSS], "dp-power": [_NOISY_POWER]}


def methods_of(model: Any, version: str, epsilon: str, ledger: Ledger) -> tuple[str, list[str]]:
    """Return a methods paragraph for a paper, with the guarantee of the ledger, and its references."""
    fitted = as_fitted(model)
    how = _DESCRIPTIONS.get(fitted["algorithm"], fitted["algorithm"])
    references = [*_SOURCES.get(fitted["algorithm"], []), PAPER, _GDP, _FILTER]
    text = (
        f"The first {model.n_components_} principal components of {model.n_features_in_} columns were "
        f"estimated with eigenveil {version} by {how}. {_preprocessing(model)} "
    )
    if not ledger.private:
        return text + "The run was not private, so no guarantee applies to it.", references
    text += (
        f"All releases together are ({epsilon}, {fitted['delta']:g})-differentially private under the "
        f"relation {ledger.relation.value}, where one unit is {unit_of(model)}. Noise was drawn from the "
        "operating system's generator by an exact sampler on a grid fixed in advance. All releases were composed "
        "under Gaussian differential privacy in a ledger that is charged before noise is drawn."
    )
    return text, references


def _preprocessing(model: Any) -> str:
    """Return sentences on encoding, centring and scaling."""
    declared = {entry.purpose for entry in model.ledger_.entries if entry.kind == "declared"}
    mean = (
        "A mean declared public"
        if Purpose.MEAN in declared
        else "A private mean"
        if model.mean_.any()
        else "No mean"
    )
    read = "".join(f"{what.capitalize()}, by public values: {how}. " for what, how in model.layout_.declared())
    if model.scale_ is None:
        return f"{read}{mean} was subtracted from the rows."
    bought = any(entry.purpose is Purpose.SCALE for entry in model.ledger_.entries if entry.kind != "declared")
    kinds = [kind for kind, yes in (("private", bought), ("public", Purpose.SCALE in declared)) if yes]
    scales = f"{' or '.join(kinds)} scales"
    return f"{read}{mean} was subtracted from the rows, and columns were divided by {scales}."
