"""Mappings from columns to values: by name, by glob, by position."""

from __future__ import annotations

import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.sources.columns import by_column

NAMES = ["age", "lab_a", "lab_b"]


def test_the_order_of_columns_and_of_keys_does_not_matter() -> None:
    given = {"lab_b": 2.0, "lab_*": "private", "age": 10.0}
    assert by_column(NAMES, 3, given, what="scale") == [10.0, "private", 2.0]
    assert by_column(NAMES, 3, dict(reversed(given.items())), what="scale") == [10.0, "private", 2.0]
    assert by_column(NAMES[::-1], 3, given, what="scale") == [2.0, "private", 10.0]


def test_two_patterns_may_agree_but_not_contradict_each_other() -> None:
    assert by_column(NAMES, 3, {"lab*": 1, "*_b": 1}, what="scale") == [None, 1, 1]
    with pytest.raises(InvalidInputError, match=r"two patterns .* 'lab_b'"):
        by_column(NAMES, 3, {"lab*": 1, "*_b": 2}, what="scale")


def test_a_key_that_matches_nothing_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InvalidInputError, match="Did you mean 'lab_"):
        by_column(NAMES, 3, {"lab_A": 1}, what="scale")
    with pytest.raises(InvalidInputError, match="from 0 to 2"):
        by_column(None, 3, {"lab_a": 1}, what="scale")
