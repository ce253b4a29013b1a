"""The means of many columns, each found, clipped and paid for by itself, in as many passes as one of them.

ClippedColumnMeans({x_ij}, c, n_hat, mu_radius, mu):
  1  R_j <- for every column, the search of `radius_search` around c_j; all columns take each step together
  2  S_j <- sum_i clip(x_ij - c_j, R_j) + N(0, (sensitivity_j/mu)^2) for every column
  3  return c_j + S_j / n_hat
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenveil._typing import FloatArray
from eigenveil.engines.columns import ColumnPopulation, column_groups
from eigenveil.kernels import to_single
from eigenveil.mechanisms.private_mean import FIRST_SHARE, RADIUS_SHARE
from eigenveil.mechanisms.radius import EDGES, first_enough, queries_over, reachable_quantile
from eigenveil.mechanisms.veil import Veil
from eigenveil.privacy.budget import split_mu
from eigenveil.privacy.entries import Purpose


@dataclass(frozen=True, kw_only=True)
class ColumnMeans:
    """What the means of columns are bought with.

    Parameters
    ----------
    n_hat : float
        Public: about how many units there are; the same for all columns, and taken as 1 if smaller.
    mu : float
        What *each column* may cost; d of them cost sqrt(d) times as much.
    veil : Veil
        Charges, and draws noise.
    """

    n_hat: float
    mu: float
    veil: Veil

    def private(self, population: ColumnPopulation, *, quantile: float = 0.9) -> FloatArray:
        """The mean of every column, from no knowledge of where it lies: each as `private_mean` finds it.

        Formal guarantees
        -----------------
        Both relations; per column two clipped means in sequence, mu-GDP together. Four passes in all (more from
        thousands of columns on: see `column_groups`).
        """
        first, second = split_mu(self.mu, [FIRST_SHARE, 1 - FIRST_SHARE])
        origin, of_means = np.zeros(population.d), Purpose.MEAN
        rough = self._costing(first).clipped(population, origin, 0.5, what="mean, rough", purpose=of_means)
        centre = to_single(rough)
        return self._costing(second).clipped(population, centre, quantile, what="mean", purpose=of_means)

    def clipped(
        self,
        population: ColumnPopulation,
        centre: FloatArray,
        quantile: float,
        *,
        radius_share: float = RADIUS_SHARE,
        what: str = "column mean",
        purpose: Purpose = Purpose.OTHER,
    ) -> FloatArray:
        """The mean of every column, clipped around its public centre.

        Parameters
        ----------
        population : ColumnPopulation
            The columns.
        centre : array of shape (d,)
            Public.
        quantile : float
            The share of the units that a radius is to hold, lowered where the noise of counts asks for it.
        radius_share : float
            Of mu^2, for the radius.
        what, purpose : str, Purpose
            What the ledger calls it: "<what>: radius" and "<what>: sum", once for every column each.

        Formal guarantees
        -----------------
        Each column is a mechanism of its own. *Both relations:* what a unit adds to a column's count or sum is a
        function of the unit's own entries in that column and of public numbers, to the bit (`ColumnPopulation`).

        It is 0 or 1 for a count, so each of the 10 counts of a column's search moves by at most 1 between
        neighbours; with noise of standard deviation sqrt(10)/mu_radius they are mu_radius-GDP, as in
        `radius_search`. It is at most R_j for a sum: sensitivity R_j (*add-remove*) or 2 R_j (*replace*), exactly,
        mu_sum-GDP. R_j is public by then. So a column is mu-GDP, and all in sequence are sqrt(d) mu-GDP.

        That columns are read in one pass, and that noise for them is drawn in one call after all of it was
        charged, changes neither what is released of a column nor its noise: draws are independent, and what is
        asked of a column depends on releases of that column alone. A unit that is bad in one column adds nothing
        there, and elsewhere what it has to add.

        ==============================  ==================================================================
        edge case                       answer, in the column concerned
        ==============================  ==================================================================
        no units                        the centre plus noise of an arbitrary radius
        one unit, n_hat below 1         n_hat is taken as 1
        all equal to the centre         the centre, with noise of order 2^-128
        huge, nan, inf                  beyond 2^512 as bad as nan: in no count and no sum
        ==============================  ==================================================================

        Examples
        --------
        >>> from eigenveil.engines import SampledPopulation
        >>> from eigenveil.operators import MeanRows, samples
        >>> from eigenveil.privacy import Budget, Ledger
        >>> veil = Veil(Ledger(Budget.from_mu(10.0)))
        >>> rows = samples.rows(np.tile([3.0, -500.0], (10_000, 1)))
        >>> columns = ColumnPopulation(SampledPopulation(rows, MeanRows()))
        >>> means = ColumnMeans(n_hat=10_000.0, mu=5.0, veil=veil).clipped(columns, np.zeros(2), 0.9)
        >>> np.round(means, 0), [entry.what for entry in veil.ledger.entries][::2]
        (array([   3., -500.]), ['column mean: radius', 'column mean: sum'])
        """
        mu_radius, mu_sum = split_mu(self.mu, [radius_share, 1 - radius_share])
        n_hat = max(float(self.n_hat), 1.0)
        target = n_hat * reachable_quantile(quantile, n_hat=self.n_hat, mu=mu_radius)
        # 1
        radii = self._radii(population, centre, target, mu=mu_radius, what=f"{what}: radius", purpose=purpose)
        # 2
        grants = [
            self.veil.gaussian(
                f"{what}: sum",
                mu=mu_sum,
                sensitivity=self.veil.relation.distance_between_sums(radius),
                draws=1,
                purpose=purpose,
            )
            for radius in radii.tolist()
        ]
        sums = population.clipped_sums(centre, radii, np.array([grant.exponent for grant in grants]))
        noisy = [grant.release(total) for grant, total in zip(grants, sums[:, None], strict=True)]
        # 3
        return centre + np.concatenate(noisy) / n_hat

    def _radii(
        self,
        population: ColumnPopulation,
        centre: FloatArray,
        target: float,
        *,
        mu: float,
        what: str,
        purpose: Purpose,
    ) -> FloatArray:
        """Step 1: some thousand columns at a time."""
        queries = queries_over(EDGES)
        found = []
        for some in column_groups(population.d, EDGES.size):
            grant = self.veil.gaussian(
                what,
                mu=mu,
                sensitivity=1.0,
                draws=queries,
                releases=queries,
                purpose=purpose,
                times=some.stop - some.start,
            )
            found.append(first_enough(population.counts_within(centre, EDGES, some), target=target, grant=grant))
        return EDGES[np.concatenate(found)]

    def _costing(self, mu: float) -> ColumnMeans:
        return ColumnMeans(n_hat=self.n_hat, mu=mu, veil=self.veil)
