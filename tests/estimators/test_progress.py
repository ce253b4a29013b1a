"""A fit tells what it is charging for, and nothing about the data."""

import numpy as np
import pytest

from eigenveil import DPPCA
from eigenveil.estimators import Progress
from eigenveil.privacy import Budget, Ledger, Purpose


def rows(n=6000):
    return np.random.default_rng(0).normal(size=(n, 5)) * [4, 3, 1, 1, 1]


@pytest.mark.parametrize("name", ["tracked", "k-dp-pca", "dp-gauss-1"])
def test_the_callback_hears_every_charge(name):
    told = []
    pca = DPPCA(2, algorithm=name, callback=told.append).fit(rows())
    assert all(isinstance(step, Progress) for step in told)
    assert [step.step for step in told] == list(range(1, len(told) + 1))
    charged = sorted((entry.what, entry.purpose) for entry in pca.ledger_.entries)
    assert sorted((step.what, step.purpose) for step in told) == charged
    assert {Purpose.COUNT, Purpose.MEAN, Purpose.COMPONENTS} <= {step.purpose for step in told}
    assert Purpose.OTHER not in {step.purpose for step in told}
    shares = [step.share for step in told]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0, abs=1e-6)


def test_a_shared_ledger_is_watched_during_the_fit_only():
    told = []
    ledger = Ledger(Budget.from_epsilon_delta(3.0, 1e-6))
    DPPCA(2, ledger=ledger, callback=told.append).fit(rows())
    assert told[-1].share == pytest.approx(1.0, abs=1e-6)
    heard = len(told)
    DPPCA(2, ledger=ledger).fit(rows())
    assert len(told) == heard


def test_a_stream_tells_too():
    told = []
    DPPCA(2, center=False, options={"batch_size": 3000}, callback=told.append).partial_fit(rows())
    assert {step.what for step in told} >= {"batch: slots not empty", "batch"}


def test_scikit_learn_callbacks():
    pytest.importorskip("sklearn.callback")
    heard = []

    class Listener:
        def setup(self, estimator, context):  # noqa: ARG002
            heard.append("setup")

        def teardown(self, estimator, context):  # noqa: ARG002
            heard.append("teardown")

        def on_fit_task_begin(self, estimator, context, *, X=None):  # noqa: ARG002
            assert X is None

        def on_fit_task_end(self, estimator, context, *, X=None):  # noqa: ARG002
            assert X is None
            heard.append(context.task_name)

    pca = DPPCA(2).set_callbacks(Listener()).fit(rows())
    assert heard[0] == "setup"
    assert heard[-2:] == ["fit", "teardown"]
    assert sorted(heard[1:-2]) == sorted(entry.what for entry in pca.ledger_.entries)
