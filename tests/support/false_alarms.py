"""How often tests fail although nothing is wrong: every test whose outcome depends on fresh noise, with a bound.

A test that is not listed has no chance in it: its noise is seeded, fixed or switched off, or it checks what
holds for any noise (shapes, ledgers, bits). All examples in docstrings and pages, and tests of the app, of
reports and of the site, have fixed noise (`support.fixed_noise`). Tests of faults and of commands in pages
have real noise in other processes. They look at exit codes, files and ledgers, and no fit fails because of
its noise. Chances come from these kinds of arguments:

`p_values`    The test fails if a p-value is below 1e-6. For chi-square tests, whose p-values are approximate, ten
              times as much is allowed; all their bins expect at least 10 draws.
`sigmas`      The test allows for a deviation of some standard deviations of normal noise.
`binomial`    The test counts independent events, whose probability is known.
`measured`    The distance between a limit and what is compared with it was measured in unseeded runs: the mean
              distance is z standard deviations. The chance is that of a new value beyond the limit (prediction by
              Student's t, with one degree of freedom less than runs), which assumes that distances are roughly
              normal.

`digits`      The digits of a canary are looked for in a report, where about 650 coordinates of figures have noise.
              One of them has the eight digits by chance with probability 1e-8.

Where the argument is another one, it stands beside the number. Chances are added up (union bound).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

ALARM = 1e-6
GATE = 1e-5
"""What the bounds of an audit may miss the truth by: their confidence is 1 - 1e-5."""


@dataclass(frozen=True)
class Chance:
    """A test, with a bound on the probability that it fails by chance in one run of all of its cases."""

    test: str
    probability: float
    why: str


def p_values(number: int, *, chi_square: int = 0) -> float:
    return (number + 10 * chi_square) * ALARM


def sigmas(z: float, number: int = 1) -> float:
    return float(2 * stats.norm.sf(z) * number)


def binomial(low: float, high: float, trials: int, p: float, number: int = 1) -> float:
    """A count outside of [low, high]."""
    below, above = stats.binom.cdf(np.ceil(low) - 1, trials, p), stats.binom.sf(np.floor(high), trials, p)
    return float((below + above) * number)


def measured(z: float, runs: int, number: int = 1) -> float:
    return float(stats.t.sf(z * np.sqrt(runs / (runs + 1)), runs - 1) * number)


def digits(forms: int) -> float:
    return 650 * forms * 1e-8


def below_seven_of_ten(failures: float, of: int) -> float:
    """4 or more of 10 fits fail, if a single one fails with a probability that `of` fits bound at 95 %."""
    return float(stats.binom.sf(3, 10, (failures + 3) / of))


_NOISE = "tests/mechanisms/noise/test_exact_noise.py"
_PLANS = "tests/engines/test_plans.py"
_TRACKED = "tests/algorithms/tracked/test_tracked_algorithm.py"
_GATE = "tests/statistical/test_audit_gate.py"
_PRIMITIVES = "tests/statistical/test_audit_primitives.py"
_LAW = "tests/statistical/test_exact_noise.py"
_SPREAD = (0.05 * 4000, 5 * 4000 * (0.05 / 4000) ** 0.5)
"""Expected number and allowed deviation, where an event of probability .05 is counted in 4000 rounds."""

SLOW = (
    Chance(f"{_LAW}::test_pmf_with_twenty_million_draws", p_values(0, chi_square=6), "6 cases"),
    Chance(f"{_LAW}::test_far_tail_has_its_mass", p_values(16), "2 laws, 4 distances, 2 sides"),
    Chance(f"{_LAW}::test_tail_path_with_many_draws", p_values(2), "2 laws"),
    Chance(
        f"{_PRIMITIVES}::test_honest_sum_holds_and_is_tight",
        2 * (GATE + GATE),
        "280 simulated bounds: .91, sd .022, none below .79",
    ),
    Chance(f"{_PRIMITIVES}::test_count_holds_and_is_tight", GATE + GATE, "as above"),
    Chance(f"{_PRIMITIVES}::test_thinner_noise_is_caught", 6 * ALARM, "6 cases; sqrt(2) is 10 sd above the limit"),
    Chance(f"{_PRIMITIVES}::test_forgetting_the_factor_of_replace_is_caught", ALARM, "as noise 2 times too small"),
    Chance(
        f"{_GATE}::test_a_planted_fault_is_found",
        13 * ALARM,
        "13 faults; of simulated bounds for noise 2 and sqrt(2) times too small, the claim is 8.9 and 9.8 sd away,"
        " and other faults are seen in nearly every trial",
    ),
    Chance(f"{_GATE}::test_the_attacks_for_faults_find_nothing_without_them", 3 * GATE, "3 bounds"),
    Chance(f"{_GATE}::test_no_claim_is_exceeded", 12 * GATE, "6 algorithms, 2 relations"),
    Chance(
        f"{_GATE}::test_the_gate_is_not_blind", 5 * (GATE + GATE), "5 bounds, and 5 estimates far from the limit"
    ),
    Chance(f"{_GATE}::test_wide_rows", 2 * GATE, "2 bounds"),
    Chance(
        "tests/algorithms/deflation/test_k_dp_pca.py::test_practical_form_over_seeds",
        6 * below_seven_of_ten(0, 400),
        "6 cases of 10 fits; of 414 single fits, the worst was at half of its limit",
    ),
    Chance(
        "tests/estimators/test_uncertainty.py::test_coverage_is_93_to_97_percent_at_oracle_width",
        p_values(6) + 3 * ALARM,
        "3 cases, 2 sides, at the worst coverage that is accepted; widths are far below their limit",
    ),
    Chance(
        "tests/estimators/test_uncertainty.py::test_angles_are_as_predicted",
        binomial(97, 120, 120, 0.94) + 5 * GATE,
        "240 angles were within their bounds in 94 % of cases (GATE allows for the two of a fit being dependent);"
        " two ratios were 1.04 and 1.05, with limits .6 and 1.4",
    ),
    Chance("tests/cli/test_fit.py::test_globs_folders_and_arrays", sigmas(9, 3), "3 counts, sd 50"),
    Chance(
        "tests/cli/test_others.py::test_demo",
        GATE,
        "all runs on the spiked sample must find nothing: 1 in 100 each, by 250 repetitions",
    ),
)

QUICK = (
    Chance(f"{_NOISE}::test_exact_pmf_at_small_scales", p_values(0, chi_square=10), "10 cases"),
    Chance(f"{_NOISE}::test_the_pmf_test_can_fail", ALARM, "a scale that is 7 % off, in 200,000 draws"),
    Chance(f"{_NOISE}::test_tails_are_exact", p_values(0, chi_square=4), "4 cases"),
    Chance(f"{_NOISE}::test_distribution_at_typical_scales", p_values(8, chi_square=4), "4 cases of 3 tests"),
    Chance(f"{_NOISE}::test_distribution_where_every_rounding_is_exact", p_values(1, chi_square=1), "2 tests"),
    Chance(
        "tests/mechanisms/test_opendp.py::test_same_distribution",
        p_values(4) + measured(6.5, 300),
        "2 laws, 2 tests; and a scale that is 1.5 times too large is seen (log p-value of 300 simulations)",
    ),
    Chance("tests/mechanisms/test_opendp.py::test_same_release_rates", sigmas(5, 10), "5 bins, 2 libraries"),
    Chance(
        "tests/mechanisms/test_precision_attack.py::test_the_attack_fails_on_exact_noise",
        sigmas(6, 204),
        "204 events, each with 6 sd of slack",
    ),
    Chance(
        "tests/mechanisms/test_precision_attack.py::test_the_attack_works_on_naive_noise",
        ALARM,
        "delta is at least .063, its sd .003",
    ),
    Chance(
        "tests/mechanisms/paper/test_propose_test_release.py::"
        "test_lower_bound_is_above_the_margin_with_probability_delta",
        binomial(_SPREAD[0] - _SPREAD[1], _SPREAD[0] + _SPREAD[1], 4000, 0.05),
        "probability delta = .05",
    ),
    Chance(
        "tests/mechanisms/paper/test_propose_test_release.py::test_noise_is_for_the_proven_sensitivity",
        p_values(1),
        "1 test",
    ),
    Chance(
        "tests/mechanisms/test_histogram.py::test_a_single_unit_is_released_with_probability_delta",
        binomial(_SPREAD[0] - 1.2 * _SPREAD[1], _SPREAD[0] + 1.2 * _SPREAD[1], 4000, 0.05),
        "probability delta = .05",
    ),
    Chance(
        "tests/mechanisms/test_count.py::test_census_noise_has_the_stated_standard_deviation",
        sigmas(6, 6) + sigmas(5.4, 6) + sigmas(5.8, 3),
        "3 relations: means, standard deviations (sd 1/sqrt(3000)) and correlations (sd 1/sqrt(1500))",
    ),
    Chance(
        "tests/mechanisms/test_score_histogram.py::test_noise_has_the_stated_standard_deviation",
        sigmas(5.6, 2) + sigmas(6, 2),
        "2 relations: standard deviation of 2500 cells (sd 1/sqrt(5000)), and mean",
    ),
    Chance(
        f"{_PLANS}::test_coins_are_fresh_uniform_and_differ_by_round_and_key", p_values(1) + sigmas(6.3, 2), ""
    ),
    Chance(
        f"{_PLANS}::test_coins_of_a_partition_are_uniform_and_independent_of_the_others", p_values(12), "12 tests"
    ),
    Chance(f"{_PLANS}::test_each_unit_is_in_exactly_one_part", p_values(6), "6 cases; bins expect 7,000 units"),
    Chance(f"{_PLANS}::test_poisson_rate", p_values(1), "1 test"),
    Chance(
        "tests/estimators/test_uncertainty.py::test_coverage_is_roughly_right_on_few_fits",
        p_values(1),
        "at the worst coverage that is accepted",
    ),
    Chance(f"{_TRACKED}::test_variances_are_bought_and_in_order", sigmas(6, 3) + measured(14, 12), ""),
    Chance(f"{_TRACKED}::test_centred_rows", measured(8.8, 12), ""),
    Chance(f"{_TRACKED}::test_clipping_bias_is_small_for_skewed_rows", measured(10, 12), ""),
    Chance(f"{_TRACKED}::test_invalid_units_are_counted_and_reported", measured(16, 12), ""),
    Chance(
        "tests/algorithms/baselines/test_dp_gauss_1.py::test_learns_with_everything_bought", measured(7.8, 24), ""
    ),
    Chance("tests/algorithms/baselines/test_dp_gauss_1.py::test_non_private_limit", measured(14, 12), ""),
    Chance("tests/algorithms/baselines/test_dp_gauss_2.py::test_non_private_limit", measured(19, 12), ""),
    Chance("tests/algorithms/baselines/test_dp_power_method.py::test_non_private_limit", measured(40, 12), ""),
    Chance(
        "tests/algorithms/deflation/test_deflation.py::"
        "test_with_epsilon_parts_are_disjoint_and_the_author_guarantees_the_rest",
        sigmas(8.2),
        "the sum of three counts",
    ),
    Chance("tests/estimators/test_per_column.py::test_arrays_go_by_position", measured(18, 12), ""),
    Chance("tests/estimators/test_per_column.py::test_the_order_of_columns_does_not_matter", measured(25, 24), ""),
    Chance("tests/estimators/test_dppca.py::test_bought_scales", measured(23, 12, 6), "6 cases"),
    Chance(
        "tests/estimators/test_tables.py::test_values_that_no_list_knows_are_counted_with_noise", sigmas(16), ""
    ),
    Chance(
        "tests/contracts/test_nasty_entries.py::test_the_number_of_people_is_never_released_as_it_is",
        measured(24, 36, 3),
        "3 algorithms",
    ),
    Chance("tests/audit/test_audit.py::test_honest_code_passes", 3 * GATE, "3 bounds"),
    Chance(
        "tests/audit/test_audit.py::test_large_faults_are_found",
        5 * ALARM,
        "5 faults: 80 trials had at most 3 errors, and 20 would still do",
    ),
    Chance("tests/cli/test_fit.py::test_parquet_to_model_report_and_json", sigmas(9), "a count, sd 50"),
    Chance("tests/cli/test_fit.py::test_no_value_of_the_data_is_disclosed", digits(2), "two ways to round"),
    Chance(
        "tests/cli/test_fit.py::test_a_map_of_scores_is_charged_to_the_ledger_of_the_fit",
        digits(2) + sigmas(8),
        "as above, and a sum of 36 counts, sd 57",
    ),
    Chance("tests/cli/test_fit.py::test_scales_and_bounds_for_some_columns", measured(14, 30, 3), "3 scales"),
    Chance("tests/cli/test_fit.py::test_a_map_for_each_public_group", sigmas(5, 3), "3 sums of counts"),
    Chance("tests/cli/test_audit.py::test_a_table_files_and_again_from_the_cache", GATE, "1 bound"),
)

SEEDED = {
    "tests/audit/test_bounds.py": "simulated errors have a seed",
    "tests/benchmarks/test_raw.py": "fits are made up",
    "tests/datasets/test_datasets.py": "datasets have seeds",
}
"""Files with statistical tests of numbers that are the same in every run."""
