"""What sources share that hand on the rows of another one, with the same columns."""

from __future__ import annotations

from dataclasses import dataclass

from eigenveil.sources.source import Source


@dataclass(frozen=True, repr=False, eq=False)
class SameRows:
    """A source over another; `blocks` is up to the subclass."""

    source: Source

    @property
    def n_columns(self) -> int:
        """As the source has."""
        return self.source.n_columns

    @property
    def columns(self) -> tuple[str, ...] | None:
        """As the source has."""
        return self.source.columns

    @property
    def rereadable(self) -> bool:
        """As the source is."""
        return self.source.rereadable

    @property
    def fixed_places(self) -> bool:
        """As the source has."""
        return self.source.fixed_places
