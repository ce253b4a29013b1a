"""What is paid for once is not copied."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from eigenveil.errors import InvalidInputError


class Uncopied:
    """Refuses `copy.copy`, `copy.deepcopy` and pickle: all of them ask an object how it is rebuilt.

    A subclass says what it is, why it is not copied, and what to do instead.
    """

    _uncopied: ClassVar[tuple[str, str]]
    _instead: ClassVar[str]

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        what, why = self._uncopied
        raise InvalidInputError(f"{what} is not copied or pickled: {why}.", hint=self._instead)
