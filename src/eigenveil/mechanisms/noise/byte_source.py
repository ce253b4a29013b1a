"""Sources of random bytes: the operating system by default, or a source that the caller injects."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

ByteSource = Callable[[int], bytes]
"""A function of n that returns n fresh random bytes."""


def system_bytes(n: int) -> bytes:
    """Return n bytes from the CSPRNG of the operating system, the only private source."""
    return os.urandom(n)


class SeededBytes:
    """A reproducible stream of bytes (SHAKE-256 of seed and counter), for tests and teaching.

    Anyone who knows the seed can subtract the noise, so every ledger that uses this source is marked as not
    private.

    Parameters
    ----------
    seed : int
        The seed.
    position : int
        Number of bytes of the stream to skip.

    Examples
    --------
    >>> SeededBytes(7)(4) == SeededBytes(7)(4), SeededBytes(7)(4) == SeededBytes(8)(4)
    (True, False)
    >>> first = SeededBytes(7)
    >>> first(100_000) and SeededBytes(7, position=first.position)(4) == first(4)
    True
    """

    _CHUNK = 1 << 16

    def __init__(self, seed: int, *, position: int = 0) -> None:
        self._seed = f"eigenveil:{seed}:".encode()
        self._counter, skipped = divmod(position, self._CHUNK)
        self._left = b""
        self(skipped)

    @property
    def position(self) -> int:
        """Number of bytes read so far; pass it to a new stream to continue from here."""
        return self._counter * self._CHUNK - len(self._left)

    def __call__(self, n: int) -> bytes:
        """Return the next n bytes of the stream."""
        pieces = [self._left]
        have = len(self._left)
        while have < n:
            pieces.append(hashlib.shake_256(self._seed + b"%d" % self._counter).digest(self._CHUNK))
            self._counter += 1
            have += self._CHUNK
        stream = b"".join(pieces)
        self._left = stream[n:]
        return stream[:n]


def no_noise(n: int) -> bytes:
    """Return n zero bytes, which turn every draw of `exact_noise` into exactly 0. Not private."""
    return bytes(n)
