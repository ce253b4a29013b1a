"""Loadings of one component as an image, for columns that are the pixels of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from eigenveil._checks import check_grid
from eigenveil._typing import FloatArray
from eigenveil.plots.style import SIGNED, axes_or_new, check_component, guarantee_of, titled


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadingsImageDisplay:
    """All loadings of one component, as an image.

    Parameters
    ----------
    component : int
        Number of the component, starting at 1.
    image : array of shape (rows, columns)
        One loading per pixel, in [-1, 1].
    guarantee : str
        Privacy guarantee, shown in the title.

    Examples
    --------
    >>> from eigenveil import DPPCA
    >>> X = np.random.default_rng(0).normal(size=(5000, 6))
    >>> LoadingsImageDisplay.from_estimator(DPPCA(1).fit(X), grid=(2, 3)).image.shape
    (2, 3)
    """

    component: int
    image: FloatArray
    guarantee: str = ""

    @classmethod
    def from_estimator(cls, pca: Any, *, grid: tuple[int, int], component: int = 1) -> Self:
        """Create the display from one component of a fitted DPPCA.

        `grid` is the number of rows and of columns of the image. The model's columns fill it row by row, as in
        ``X.reshape(-1, *grid)``.
        """
        rows, columns = check_grid(grid, pca.n_features_in_)
        row = pca.components_[check_component(component, len(pca.components_))]
        return cls(component=component, image=row.reshape(rows, columns), guarantee=guarantee_of(pca))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw positive loadings in blue and negative ones in orange; larger loadings have stronger colours."""
        ax = axes_or_new(ax)
        reach = float(np.abs(self.image).max()) or 1.0
        ax.imshow(self.image, cmap=SIGNED, vmin=-reach, vmax=reach, interpolation="none")
        ax.set(xticks=[], yticks=[])
        titled(ax, f"Loadings of component {self.component}", self.guarantee)
        ax.spines[:].set_visible(True)
        return ax
