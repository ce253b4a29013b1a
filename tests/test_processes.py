"""A function in several processes."""

import os

import pytest

from eigenveil._processes import THREADS, outputs_of


def settings(number):
    return number, os.getpid(), [os.environ.get(name) for name in THREADS]


@pytest.mark.parametrize(("workers", "inputs"), [(1, [1, 2, 3]), (4, [1]), (4, [])])
def test_one_worker_is_this_process(workers, inputs):
    with outputs_of(settings, inputs, workers) as outputs:
        found = list(outputs)
    assert [number for number, _, _ in found] == inputs
    assert {process for _, process, _ in found} <= {os.getpid()}


def test_workers_have_one_thread_and_leave_this_process_as_it_is(monkeypatch):
    monkeypatch.setenv(THREADS[0], "7")
    monkeypatch.delenv(THREADS[1], raising=False)
    with outputs_of(settings, [1, 2, 3], 2) as outputs:
        found = list(outputs)
    assert sorted(number for number, _, _ in found) == [1, 2, 3]
    assert os.getpid() not in {process for _, process, _ in found}
    assert all(threads == ["1"] * len(THREADS) for _, _, threads in found)
    assert (os.environ[THREADS[0]], THREADS[1] in os.environ) == ("7", False)
