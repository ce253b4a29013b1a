"""Number of samples that the paper's guarantees require.

The functions return floats, not rounded, which may be infinite (exp(kappa^2) exceeds the largest float at
kappa = 27). They are orders of magnitude: the paper's "large enough constant" is the keyword `constant`, and
logarithms are omitted.
"""

from __future__ import annotations

import math
from typing import Literal

from eigenveil._checks import positive
from eigenveil.errors import InvalidInputError
from eigenveil.theory.assumptions import Model
from eigenveil.theory.checks import share, whole


def required_samples(
    model: Model,
    *,
    epsilon: float,
    delta: float,
    constant: float = 1.0,
    exponential: bool = True,
    form: Literal["rederived", "printed", "sharp"] = "rederived",
) -> float:
    """Return the number of samples that the guarantee of k-DP-PCA requires (main-theorem-sec-2, eq:n-lower-thm).

    The largest of three requirements, times `constant`. The first is that of the oracles (`required_samples_one`
    for each of the k parts). The other two keep the errors of earlier components from closing the gaps of later
    components (lemma-upper-bound-xi-i): kappa^4 k^3 V and kappa^2 gamma k^2 d sqrt(log(1 / delta)) / epsilon.

    Parameters
    ----------
    model : Model
        Constants of the distribution, with k.
    epsilon, delta : float
        Privacy parameters.
    constant : float
        The paper's C, 1 by default.
    exponential : bool
        Whether to include exp(kappa^2). Use False with more rounds (`upper_bound_more_rounds` with power 2).
    form : {"rederived", "printed", "sharp"}
        "rederived": the requirements as they follow from the paper's lemma. "printed": as printed in the paper.
        "sharp": the second and third requirement as they follow from `eigenvalue_rise`, kappa^3 k^2 V and
        (kappa k)^(3/2) gamma d sqrt(log(1 / delta)) / epsilon.

    Deviations from the paper
    -------------------------
    The second requirement of eq:n-lower-thm is lambda_1^2 kappa^2 k^3 V, which depends on the units of the data.
    The lemma from which it is derived needs sqrt(V k / n) <= 1 / (4 C k kappa^2), hence kappa^4 k^3 V. The two
    agree if the gap is 1. The first requirement of eq:n-lower-thm is that of one oracle with n samples, although
    each oracle gets n / k samples; here it is multiplied by k.

    Examples
    --------
    >>> model = Model(d=100, k=2, lambda_1=10.0, kappa=2.0, M=200.0, V=100.0, gamma=1.0)
    >>> round(required_samples(model, epsilon=1.0, delta=1e-6))
    12800
    >>> round(required_samples(model, epsilon=1.0, delta=1e-6, form="printed"))
    320000
    >>> round(required_samples(model, epsilon=1.0, delta=1e-6, form="sharp"))
    4223
    """
    positive(constant=constant)
    one = required_samples_one(model, epsilon=epsilon, delta=delta, exponential=exponential)
    kappa, k = model.kappa, model.k
    private = model.gamma * model.d * math.sqrt(math.log(1 / delta)) / epsilon
    if form == "printed":
        required = one, model.lambda_1**2 * kappa**2 * k**3 * model.V, kappa**2 * k**2 * private
    elif form == "sharp":
        required = k * one, kappa**3 * k**2 * model.V, math.pow(kappa * k, 1.5) * private
    elif form == "rederived":
        required = k * one, kappa**4 * k**3 * model.V, kappa**2 * k**2 * private
    else:
        raise InvalidInputError(f"form must be 'rederived', 'printed' or 'sharp', got {form!r}.")
    return constant * max(required)


def required_samples_one(
    model: Model, *, epsilon: float, delta: float, constant: float = 1.0, exponential: bool = True
) -> float:
    """Return the number of samples that ModifiedDP-PCA requires for one component (thm-utility-moddp-pca).

    exp(kappa^2) + d kappa gamma sqrt(log(1 / delta)) / epsilon + kappa M + kappa^2 V + sqrt(d) log(1 /
    delta)^(3/2) / epsilon. The last term is required by the histograms of PrivRange and PrivMean.

    Examples
    --------
    >>> model = Model(d=100, k=1, lambda_1=1.0, kappa=2.0, M=200.0, V=100.0, gamma=1.0)
    >>> round(required_samples_one(model, epsilon=1.0, delta=1e-6))
    2111
    """
    positive(epsilon=epsilon, constant=constant)
    share(delta=delta)
    kappa, log = model.kappa, math.log(1 / delta)
    return constant * (
        (_exp(kappa**2) if exponential else 0.0)
        + model.d * kappa * model.gamma * math.sqrt(log) / epsilon
        + kappa * model.M
        + kappa**2 * model.V
        + math.sqrt(model.d) * math.pow(log, 1.5) / epsilon
    )


def required_samples_dp_ojas(model: Model, *, epsilon: float, delta: float, constant: float = 1.0) -> float:
    """Return the number of samples that DP-Ojas requires for one component (thm-utility-dp-ojas).

    kappa^2 + kappa M + kappa^2 V + d kappa (gamma + 1) log(1 / delta) / epsilon. There is no exponential term,
    because DP-Ojas runs n rounds.

    Examples
    --------
    >>> model = Model(d=100, k=1, lambda_1=1.0, kappa=2.0, M=200.0, V=100.0, gamma=1.0)
    >>> round(required_samples_dp_ojas(model, epsilon=1.0, delta=1e-6))
    6330
    """
    positive(epsilon=epsilon, constant=constant)
    share(delta=delta)
    kappa = model.kappa
    private = model.d * kappa * (model.gamma + 1) * math.log(1 / delta) / epsilon
    return constant * (kappa**2 + kappa * model.M + kappa**2 * model.V + private)


def samples_for_zeta(zeta: float, model: Model, *, epsilon: float, delta: float, constant: float = 1.0) -> float:
    """Return the n at which `upper_bound` (with the same constant, without logarithms) equals `zeta`.

    The inverse of `upper_bound`, from a quadratic equation in 1 / sqrt(n).

    Examples
    --------
    >>> from eigenveil.theory import upper_bound
    >>> model = Model(d=100, k=2, lambda_1=1.0, kappa=2.0, M=200.0, V=100.0, gamma=1.0)
    >>> n = samples_for_zeta(0.05, model, epsilon=1.0, delta=1e-6)
    >>> round(upper_bound(n, model, epsilon=1.0, delta=1e-6), 12)
    0.05
    """
    positive(zeta=zeta, epsilon=epsilon, constant=constant)
    share(delta=delta)
    sampling = math.sqrt(model.V * model.k)
    private = model.gamma * model.d * model.k * math.sqrt(math.log(1 / delta)) / epsilon
    target = zeta / (constant * model.kappa)
    # the root of private s^2 + sampling s = target, s = 1/sqrt(n), in the form that is valid for private = 0
    return ((sampling + math.sqrt(sampling**2 + 4 * private * target)) / (2 * target)) ** 2


def allowed_oracle_error(kappa: float, k: int, *, constant: float = 1.0, sharp: bool = False) -> float:
    """Return the sine per unit of kappa up to which deflation keeps half of every gap (lemma-upper-bound-xi-i).

    With the lemma's delta set to half the gap, B <= gap^2 / (4 C k lambda_1^2) = 1 / (4 C k kappa^2). Then the
    error of an oracle is at most 2 kappa B in each of the k steps. `sharp`: by `eigenvalue_rise`, k such errors
    reduce a gap by at most k lambda_1 (2 kappa B)^2. This is half of the gap at B = 1 / sqrt(8 k kappa^3),
    without an unknown constant.

    Examples
    --------
    >>> allowed_oracle_error(2.0, 2)
    0.03125
    >>> round(allowed_oracle_error(2.0, 2, sharp=True), 5)
    0.08839
    """
    positive(kappa=kappa, constant=constant)
    whole(k=k)
    return 1 / math.sqrt(8 * k * kappa**3) if sharp else 1 / (4 * constant * k * kappa**2)


def _exp(exponent: float) -> float:
    """Return exp(exponent), or infinity if it overflows."""
    return math.exp(exponent) if exponent < 709 else math.inf
