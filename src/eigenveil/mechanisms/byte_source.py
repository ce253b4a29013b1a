"""Where randomness comes from: the operating system, unless a caller injects something else."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

ByteSource = Callable[[int], bytes]
"""A function of n that returns n fresh random bytes."""


def system_bytes(n: int) -> bytes:
    """Return n bytes from the operating system's CSPRNG, the only source that is private."""
    return os.urandom(n)


class SeededBytes:
    """A reproducible stream of bytes (SHAKE-256 of seed and counter): for tests and teaching.

    Whoever knows the seed can subtract the noise, so whatever uses it is marked not private.

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
        """How many bytes were taken; with it, a stream can be taken up where it was left."""
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
