"""A base class for objects that must not be copied, because their copy would spend budget twice."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from eigenveil.errors import InvalidInputError


class Uncopied:
    """Base class that refuses `copy.copy`, `copy.deepcopy` and pickle.

    All three call `__reduce_ex__` to learn how to rebuild the object, so refusing there refuses all of them.

    A subclass sets `_uncopied` (what the object is, and why it is not copied) and `_instead` (the hint: what to do
    instead).
    """

    _uncopied: ClassVar[tuple[str, str]]
    _instead: ClassVar[str]

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        what, why = self._uncopied
        raise InvalidInputError(f"{what} is not copied or pickled: {why}.", hint=self._instead)
