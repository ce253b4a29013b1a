"""Errors of other libraries."""

import pyarrow as pa
import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.sources.guard import attempt, guarded

DAMAGED = InvalidInputError("the file is damaged.")


def fail(error):
    raise error
    yield


def run(error):
    attempt(lambda: next(fail(error)), DAMAGED, pa.ArrowException)


def iterate(error):
    list(guarded(fail(error), DAMAGED, pa.ArrowException))


@pytest.mark.parametrize("call", [run, iterate])
def test_a_lack_of_memory_is_no_damage(call):
    """mutant: pyarrow's error is both an ArrowException and a MemoryError."""
    with pytest.raises(MemoryError):
        call(pa.ArrowMemoryError("malloc of 64 bytes failed"))
    with pytest.raises(MemoryError):
        call(pa.ArrowMemoryError("malloc of size 100000000000 failed"))
    with pytest.raises(InvalidInputError, match=r"^the file is damaged\.$"):
        call(pa.ArrowMemoryError("malloc of size 72046598921650304 failed"))
    with pytest.raises(InvalidInputError, match=r"^the file is damaged\.$"):
        call(pa.ArrowInvalid("expected a number, got 'secret'"))
