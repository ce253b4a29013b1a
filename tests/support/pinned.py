"""Pin all that leaves the veil, and see what else differs between two data sets.

A run is recorded on one data set and repeated on another, where every noisy release, every key and every histogram
above its threshold is answered with that of the first run. If all that is given out is a function of releases and
public numbers, the second run then gives out the same, to the bit. Whatever differs has gone around the veil.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from contextlib import contextmanager

import numpy as np
import pytest

from eigenveil.mechanisms import histogram
from eigenveil.mechanisms.noise.veil import Grant, Veil
from eigenveil.privacy import Ledger


class Pinned:
    """What left the veil in a first run; further runs get the same, in the same order."""

    def __init__(self):
        self._kept = []
        self._place = None
        self._within = False

    @contextmanager
    def run(self):
        """Record, the first time; answer, from then on. All of it must be asked for again."""
        first = self._place is None
        self._place = 0
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in ((Grant, "release"), (Veil, "fresh_key"), (histogram, "_above_threshold")):
                patch.setattr(owner, name, self._pin(name, getattr(owner, name), first=first))
            yield
        assert self._place == len(self._kept), "the second run released less than the first"

    def _pin(self, name, honest, *, first):
        def pinned(*args, **options):
            if self._within:  # draws for bins that stay below the threshold do not leave
                return honest(*args, **options)
            self._within = name == "_above_threshold"
            try:
                out = honest(*args, **options)
            finally:
                self._within = False
            if first:
                self._kept.append((name, out))
            else:
                assert self._place < len(self._kept), "the second run released more than the first"
                before, kept = self._kept[self._place]
                assert (before, np.shape(kept)) == (name, np.shape(out)), "the second run asked for something else"
                out = kept
            self._place += 1
            return out.copy() if isinstance(out, np.ndarray) else out

        return pinned


def same_but_for_data(give_out, first, second) -> int:
    """Assert that `give_out`, a function of data, gives out the same for both once what leaves the veil is pinned.

    Warnings count as given out. Returns how many releases there were.
    """
    pinned, told = Pinned(), []
    for data in (first, second):
        with pinned.run(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = give_out(data)
        told.append({**plain(found), "warnings": [str(one.message) for one in caught]})
    differing = [name for name in told[0].keys() | told[1].keys() if told[0].get(name) != told[1].get(name)]
    assert not differing, f"not by the veil alone: {sorted(differing)}"
    return len(pinned._kept)


def plain(value, at="") -> dict:
    """Every single thing in a value by the path to it, numbers to the bit."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {f"{at}.repr": repr(value), **plain(fields, at)}
    if isinstance(value, Mapping):
        return {key: one for name, item in value.items() for key, one in plain(item, f"{at}.{name}").items()}
    if isinstance(value, list | tuple):
        return plain(dict(enumerate(value)), at) | {f"{at}.length": len(value)}
    if isinstance(value, np.ndarray) and value.dtype != object:
        return {at: (value.shape, value.dtype.str, value.tobytes())}
    if isinstance(value, float):
        return {at: float(value).hex()}
    return {at: value.to_json() if isinstance(value, Ledger) else repr(value)}
