"""What a run reports about itself: radii, noise, rounds. All of it is released or follows from releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from eigenveil.mechanisms import NoisyLeftOut


class Diagnostics(Mapping[str, Any]):
    """Base of typed diagnostics: frozen dataclasses whose fields can also be read by name, as files and tables do.

    Examples
    --------
    >>> found = MatrixDiagnostics(radius=2.0, n_hat=None, printed_noise=False)
    >>> found.radius, found["radius"], list(found)
    (2.0, 2.0, ['radius', 'n_hat', 'printed_noise'])
    """

    def __getitem__(self, name: str) -> Any:
        if name not in self._names():
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self))  # type: ignore[arg-type]  # subclasses are dataclasses


@dataclass(frozen=True, eq=False)
class Round(Diagnostics):
    """One round of tracked PCA.

    Parameters
    ----------
    kind : {"pilot", "narrow", "wide", "last"}
        What it was for: a random start, a centre that was far off, directions that had not converged, the end.
    share : float
        Share of the run's mu^2.
    radius, kept, noise, offset : float
        The clip, the share of units that it left whole (as released), the noise on an entry, and how far the mean
        lay from the centre over the radius.
    inside, columns : float, tuple of float
        Weights of what lies inside the span, and of every column.
    """

    kind: str
    share: float
    radius: float
    kept: float
    noise: float
    offset: float
    inside: float
    columns: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Followed(Diagnostics):
    """What is known of Sigma along all tracked directions: the released components, then the oversampled ones.

    `noise` and `inside` are standard deviations of an entry of Sigma w, outside the span and within it.
    """

    eigenvalues: tuple[float, ...]
    noise: tuple[float, ...]
    inside: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class LeftOutDiagnostics(Diagnostics):
    """What was left out of units, by noisy numbers.

    Parameters
    ----------
    people, rows : float, optional
        How many people have a row that was left out, and the sum over people of the share of their rows that were;
        None where every unit is one row.
    unknown : dict of str to float
        For every group of columns, how many units have a row that is 0 in all of them.
    noise : float
        Standard deviation of the noise on each.
    """

    people: float | None
    rows: float | None
    unknown: dict[str, float]
    noise: float

    @classmethod
    def of(cls, lost: NoisyLeftOut) -> Self:
        """What was bought."""
        numbers = [one for one in (lost.people, lost.rows, *lost.unknown.values()) if one is not None]
        return cls(
            people=None if lost.people is None else lost.people.value,
            rows=None if lost.rows is None else lost.rows.value,
            unknown={name: one.value for name, one in lost.unknown.items()},
            noise=numbers[0].scale,
        )


@dataclass(frozen=True, eq=False)
class TrackedDiagnostics(Diagnostics):
    """Of `tracked_pca`.

    Parameters
    ----------
    n_hat, bad_units : float, float or None
        Noisy numbers of good and of bad units; no number of bad ones where n was declared.
    rounds : tuple of Round
        One after the other; empty where only Sigma itself was asked for.
    clip : float or None
        The share of units that the release of Sigma left whole; None where it was not asked for.
    expected_zeta : float
        The square root of the share of energy that the method expected to lose to noise, clipping and incomplete
        convergence, just before its last round. The sample's own error comes on top.
    passes : int
        How often the data were read.
    followed : Followed
        What is known along all tracked directions.
    """

    n_hat: float
    bad_units: float | None
    rounds: tuple[Round, ...]
    clip: float | None
    expected_zeta: float
    passes: int
    followed: Followed


@dataclass(frozen=True, eq=False)
class TrackedPeopleDiagnostics(TrackedDiagnostics):
    """Of `tracked_pca` where something can be left out of a unit: also noisy numbers of it."""

    left_out: LeftOutDiagnostics


@dataclass(frozen=True, eq=False)
class MatrixDiagnostics(Diagnostics):
    """Of `dp_gauss_1`: the clip, the number of units, and whether noise was as printed."""

    radius: float
    n_hat: float | None
    printed_noise: bool


@dataclass(frozen=True, eq=False)
class ProjectorDiagnostics(Diagnostics):
    """Of `dp_gauss_2`: whether the gap could not be proven, the clip, and the number of units."""

    bottom: bool
    radius: float | None
    n_hat: float | None


@dataclass(frozen=True, eq=False)
class PrintedProjectorDiagnostics(ProjectorDiagnostics):
    """Of `dp_gauss_2` as printed: also how often the gap was drawn."""

    gap_draws: int


@dataclass(frozen=True, eq=False)
class PowerDiagnostics(Diagnostics):
    """Of `dp_power_method`: the clip of every round, the number of units, and how many rounds there were."""

    radius: tuple[float, ...]
    n_hat: float | None
    rounds: int


@dataclass(frozen=True, eq=False)
class StreamDiagnostics(Diagnostics):
    """Of a stream: closed batches and their size, rounds made, and what the last round released."""

    batches: int
    batch_size: int | None
    rounds: int
    n_hat: float | None = None
    radius: float | None = None
    noise: float | None = None
    offset: float | None = None


class PerComponent(dict[str, tuple[Any, ...]]):
    """Of deflation: whatever the oracle reported, by name, with one entry per component."""


KINDS: dict[str, type[Diagnostics | PerComponent]] = {
    kind.__name__: kind
    for kind in (
        TrackedDiagnostics,
        TrackedPeopleDiagnostics,
        MatrixDiagnostics,
        ProjectorDiagnostics,
        PrintedProjectorDiagnostics,
        PowerDiagnostics,
        StreamDiagnostics,
        PerComponent,
    )
}
"""Every kind by its name, as files name it."""


def restored(kind: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Diagnostics of that kind from the values that a file held.

    Raises
    ------
    KeyError, TypeError
        There is no such kind, or it has other fields.
    """
    given = dict(values)
    if issubclass(KINDS[kind], TrackedDiagnostics):
        given["rounds"] = tuple(Round(**one) for one in given["rounds"])
        given["followed"] = Followed(**given["followed"])
    if KINDS[kind] is TrackedPeopleDiagnostics:
        given["left_out"] = LeftOutDiagnostics(**given["left_out"])
    return KINDS[kind](**given)


def fits(algorithm: str, diagnostics: Mapping[str, Any]) -> bool:
    """Whether a release of that name has diagnostics of this kind."""
    own: dict[str, type[Any]] = {
        "tracked": TrackedDiagnostics,
        "dp-gauss-1": MatrixDiagnostics,
        "dp-gauss-2": ProjectorDiagnostics,
        "dp-power": PowerDiagnostics,
        "tracked stream": StreamDiagnostics,
    }
    return isinstance(diagnostics, own.get(algorithm, PerComponent))
