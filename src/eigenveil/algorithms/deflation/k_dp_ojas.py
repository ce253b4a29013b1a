"""k-DP-Ojas: deflation over DP-Ojas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

from eigenveil.algorithms.algorithm import Algorithm, Options
from eigenveil.algorithms.deflation.deflate import by_deflation
from eigenveil.algorithms.deflation.k_dp_pca import RatesPerComponent, per_component
from eigenveil.algorithms.open_units import RunArguments, public_face, refuse_unknown
from eigenveil.algorithms.oracles.dp_ojas import MOST_STEPS, DPOjas, Printed
from eigenveil.algorithms.release import Release
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Relation
from eigenveil.units import Units


@dataclass(frozen=True, kw_only=True)
class KDPOjasOptions(Options):
    """Options of `k_dp_ojas`."""

    clip: float | None = None
    learning_rates: RatesPerComponent | None = None
    sampling: Literal["disjoint", "poisson"] = "disjoint"
    steps: int | None = None
    not_private: bool = False
    C_printed: float = 1.0

    def __post_init__(self) -> None:
        if self.C_printed != 1.0 and not self.not_private:
            raise InvalidInputError(
                "C_printed is the constant of the printed noise, which needs not_private=True."
            )

    def oracle(self, epsilon: float, delta: float) -> DPOjas:
        """Return the oracle for one component, in a run with this privacy budget."""
        printed = Printed(epsilon=epsilon, delta=delta, C=self.C_printed) if self.not_private else None
        return DPOjas(clip=self.clip, sampling=self.sampling, steps=self.steps, printed=printed)

    def aside(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return the part of (epsilon, delta) that the oracle sets aside."""
        return self.oracle(epsilon, delta).aside(epsilon, delta)

    def most_passes(self, d: int, k: int, relation: Relation) -> int:  # noqa: ARG002
        """Return the number of passes: one for positions, if any; per component a count, a radius, all steps."""
        steps = MOST_STEPS if self.steps is None else self.steps
        return (relation is Relation.REPLACE) + k * (2 + steps)


@public_face
def k_dp_ojas(
    samples: Any,
    k: int,
    *,
    epsilon: float,
    delta: float,
    clip: float | None = None,
    learning_rates: RatesPerComponent | None = None,
    sampling: Literal["disjoint", "poisson"] = "disjoint",
    steps: int | None = None,
    not_private: bool = False,
    C_printed: float = 1.0,
    **arguments: Unpack[RunArguments],
) -> Release:
    """Find k private components by Oja's algorithm on clipped gradients with noise.

    The steps are those of `algorithms.deflation.deflate` over `algorithms.oracles.dp_ojas`, with n/k units per
    component.

    Parameters
    ----------
    samples : anything that holds rows, or the result of an `eigenveil.samples` function
        Units.
    k : int
        Number of components.
    epsilon, delta : float
        Privacy budget of the whole run.
    clip, learning_rates, sampling, steps
        As in `DPOjas`. There may be one set of learning rates per component.
    not_private : bool
        Run with the printed noise, which no proof covers at a practical epsilon. The release, its ledger and their
        repr are then marked "not private", with the reason. Needs `clip`, and makes one step per unit.
    C_printed : float
        Constant C' of the printed noise.
    **arguments
        `relation`, `ledger`, `random_state`, `engine`: see `RunArguments`.

    Formal guarantees
    -----------------
    (epsilon, delta)-DP unless `not_private`: see `DPOjas`.

    Deviations from the paper
    -------------------------
    Those of `DPOjas`, and of `black_box_pca` under add-remove.

    References
    ----------
    The paper, labels corollary:k-dp-ojas and algo-dp-ojas.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(5000, 5)) * [5, 3, 1, 1, 1]
    >>> k_dp_ojas(X, 2, epsilon=1.0, delta=1e-5).components.shape
    (2, 5)
    """
    refuse_unknown(k_dp_ojas, arguments)
    options = KDPOjasOptions(
        clip=clip,
        learning_rates=learning_rates,
        sampling=sampling,
        steps=steps,
        not_private=not_private,
        C_printed=C_printed,
    )
    return K_DP_OJAS.release(samples, k, options, epsilon=epsilon, delta=delta, **arguments)


def run(units: Units, k: int, options: KDPOjasOptions) -> Release:
    """Run deflation over DP-Ojas."""
    oracle = options.oracle(*units.stated_cost)
    oracles = [replace(oracle, learning_rates=rates) for rates in per_component(options.learning_rates, k)]
    name = "k-DP-Ojas as printed" if options.not_private else "k-DP-Ojas"
    return by_deflation(units, k, oracles, algorithm=name)


K_DP_OJAS = Algorithm(name="k-dp-ojas", options=KDPOjasOptions, run=run, variances=False)
