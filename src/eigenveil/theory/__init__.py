"""The paper's theorems as functions of public numbers: bounds, sample sizes, constants. No data are used.

Rates have a factor that the paper hides: an absolute constant, powers of logarithms, powers of K. In all functions
this factor is the keyword `constant` (default 1) times a power of a logarithm (`log_power`, default 0). With the
defaults a function returns the rate. Use rates to compare settings with each other; they are not numerical
guarantees.
"""

from eigenveil.theory.assumptions import (
    Model,
    condition_number,
    gaussian_model,
    signed_spike_model,
    spiked_model,
)
from eigenveil.theory.lower_bounds import (
    lower_bound_gaussian,
    lower_bound_spiked,
    lower_bound_spiked_distance,
    lower_bound_spiked_rederived,
    lower_bound_without_tails,
)
from eigenveil.theory.oja import NoisyUpdate, noisy_batch, noisy_sample, oja_sin_squared
from eigenveil.theory.reductions import (
    black_box_failure,
    black_box_zeta,
    deflated_gap,
    distance_bound_from_zeta,
    eigenvalue_rise,
    eigenvalue_shift,
    zeta_range_from_distance,
    zeta_range_from_sin,
)
from eigenveil.theory.sample_sizes import (
    allowed_oracle_error,
    required_samples,
    required_samples_dp_ojas,
    required_samples_one,
    samples_for_zeta,
)
from eigenveil.theory.upper_bounds import (
    oracle_bound,
    oracle_bound_dp_ojas,
    upper_bound,
    upper_bound_gaussian,
    upper_bound_input_noise,
    upper_bound_k_dp_ojas,
    upper_bound_more_rounds,
    upper_bound_spiked,
)

__all__ = [
    "Model",
    "NoisyUpdate",
    "allowed_oracle_error",
    "black_box_failure",
    "black_box_zeta",
    "condition_number",
    "deflated_gap",
    "distance_bound_from_zeta",
    "eigenvalue_rise",
    "eigenvalue_shift",
    "gaussian_model",
    "lower_bound_gaussian",
    "lower_bound_spiked",
    "lower_bound_spiked_distance",
    "lower_bound_spiked_rederived",
    "lower_bound_without_tails",
    "noisy_batch",
    "noisy_sample",
    "oja_sin_squared",
    "oracle_bound",
    "oracle_bound_dp_ojas",
    "required_samples",
    "required_samples_dp_ojas",
    "required_samples_one",
    "samples_for_zeta",
    "signed_spike_model",
    "spiked_model",
    "upper_bound",
    "upper_bound_gaussian",
    "upper_bound_input_noise",
    "upper_bound_k_dp_ojas",
    "upper_bound_more_rounds",
    "upper_bound_spiked",
    "zeta_range_from_distance",
    "zeta_range_from_sin",
]
