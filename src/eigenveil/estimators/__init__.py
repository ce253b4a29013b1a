"""The scikit-learn face: private PCA that fits where `sklearn.decomposition.PCA` does."""

from eigenveil.estimators.dppca import DPPCA
from eigenveil.estimators.progress import Progress

__all__ = ["DPPCA", "Progress"]
