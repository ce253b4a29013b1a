"""scikit-learn's own checks, on a seeded and on a private DPPCA, and its checks of frames as output."""

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenveil import DPPCA

pytestmark = [
    pytest.mark.filterwarnings("ignore:about .* units are few"),
    pytest.mark.filterwarnings("ignore:by a noisy count, .* are invalid"),  # 40 rows: 3 deviations now and then
    pytest.mark.filterwarnings("ignore:batches of .* slots are small"),
    pytest.mark.filterwarnings("ignore:partial_fit starts a stream from scratch"),
    pytest.mark.filterwarnings("ignore:another clone of this DPPCA"),
    pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names"),
]

NO_ROWS = "no rows are no error: an exception would tell that there is not even one, which add-remove hides"
NO_TYPE = "one entry that is no number is one bad row: an exception would tell of it (test_canaries tries objects)"
EXPECTED = {"check_estimators_empty_data_messages": NO_ROWS, "check_dtype_object": NO_TYPE}


@parametrize_with_checks(
    [DPPCA(random_state=0), DPPCA(), DPPCA(algorithm="dp-gauss-1", random_state=0)],
    expected_failed_checks=lambda _: EXPECTED,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name",
    [
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_global_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_global_set_output_transform_polars",
        "check_dataframe_column_names_consistency",
        "check_inplace_ensure_writeable",
    ],
)
def test_checks_that_scikit_learn_keeps_for_itself(name):
    getattr(estimator_checks, name)("DPPCA", DPPCA(random_state=0))
