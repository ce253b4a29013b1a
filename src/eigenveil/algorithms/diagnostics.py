"""Diagnostics of a run, such as radii, noise and rounds. All are releases, or post-processing of releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from eigenveil.mechanisms import NoisyLeftOut


class Diagnostics(Mapping[str, Any]):
    """Base class of diagnostics: frozen dataclasses that are also mappings from the names of their fields.

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
class Tail(Diagnostics):
    """How far out units lie, from a released curve of norms.

    Parameters
    ----------
    middle, far : float
        Radius beyond which 40 % of the units lie, and the largest radius beyond which units were seen.
    beyond, unseen : float
        Share of the units beyond `far`, and the share that noise may hide further out.
    """

    middle: float
    far: float
    beyond: float
    unseen: float


@dataclass(frozen=True, eq=False)
class Round(Diagnostics):
    """One round of tracked PCA.

    Parameters
    ----------
    kind : {"pilot", "narrow", "wide", "last"}
        Purpose of the round: a random start, a centre far from the mean, directions that had not converged, or the
        end.
    share : float
        Share of the run's mu^2.
    radius, kept, noise, offset : float
        Clipping radius, share of units that it left unchanged (as released), noise on an entry, and distance of
        the mean from the centre in units of the radius.
    inside, columns : float, tuple of float
        Factor of damping inside the span, and weight of every column.
    tail : Tail, optional
        How far out units lie, if the curve of norms was bought before the round.
    """

    kind: str
    share: float
    radius: float
    kept: float
    noise: float
    offset: float
    inside: float
    columns: tuple[float, ...]
    tail: Tail | None = None


@dataclass(frozen=True, eq=False)
class Followed(Diagnostics):
    """Estimate of Sigma along all tracked directions: the released components, then the oversampled ones.

    `noise` and `inside` are standard deviations of an entry of Sigma w, outside the tracked span and inside it.
    """

    eigenvalues: tuple[float, ...]
    noise: tuple[float, ...]
    inside: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class LeftOutDiagnostics(Diagnostics):
    """Noisy counts of what was excluded from units.

    Parameters
    ----------
    people, rows : float, optional
        Number of people with an excluded row, and sum over people of the share of their rows that were excluded.
        None if every unit is one row.
    unknown : dict of str to float
        For every group of columns, number of units with a row that is 0 in all of them.
    noise : float
        Standard deviation of the noise on each number.
    """

    people: float | None
    rows: float | None
    unknown: dict[str, float]
    noise: float

    @classmethod
    def of(cls, lost: NoisyLeftOut) -> Self:
        """Return the diagnostics of bought counts."""
        numbers = [one for one in (lost.people, lost.rows, *lost.unknown.values()) if one is not None]
        return cls(
            people=None if lost.people is None else lost.people.value,
            rows=None if lost.rows is None else lost.rows.value,
            unknown={name: one.value for name, one in lost.unknown.items()},
            noise=numbers[0].scale,
        )


@dataclass(frozen=True, eq=False)
class TrackedDiagnostics(Diagnostics):
    """Diagnostics of `tracked_pca`.

    Parameters
    ----------
    n_hat, bad_units : float
        Noisy counts of valid and of invalid units.
    rounds : tuple of Round
        Rounds in order; empty if only Sigma itself was bought.
    clip : float or None
        Share of units that the release of Sigma left unchanged. None if Sigma was not bought.
    expected_zeta : float
        Square root of the share of energy that the method expected to lose to noise, clipping and incomplete
        convergence, just before its last round. It is about the rows as they were centred and scaled. It does
        not include errors of a bought mean or scales, the sampling error, or what units beyond all counts carry.
    passes : int
        Number of passes over the data.
    followed : Followed
        Estimate along all tracked directions.
    tail : Tail, optional
        How far out units lie, by the curve of norms of Sigma.
    """

    n_hat: float
    bad_units: float
    rounds: tuple[Round, ...]
    clip: float | None
    expected_zeta: float
    passes: int
    followed: Followed
    tail: Tail | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class TrackedPeopleDiagnostics(TrackedDiagnostics):
    """Diagnostics of `tracked_pca` if something can be excluded from a unit, with noisy counts of it."""

    left_out: LeftOutDiagnostics


@dataclass(frozen=True, eq=False)
class MatrixDiagnostics(Diagnostics):
    """Diagnostics of `dp_gauss_1`: clipping radius, number of units, and whether the printed noise was used."""

    radius: float
    n_hat: float | None
    printed_noise: bool


@dataclass(frozen=True, eq=False)
class ProjectorDiagnostics(Diagnostics):
    """Diagnostics of `dp_gauss_2`: whether the gap test failed, clipping radius, and number of units."""

    bottom: bool
    radius: float | None
    n_hat: float | None


@dataclass(frozen=True, eq=False)
class PrintedProjectorDiagnostics(ProjectorDiagnostics):
    """Diagnostics of `dp_gauss_2` as printed, with the number of times that the gap was drawn."""

    gap_draws: int


@dataclass(frozen=True, eq=False)
class PowerDiagnostics(Diagnostics):
    """Diagnostics of `dp_power_method`: clipping radius of every round, number of units, and number of rounds."""

    radius: tuple[float, ...]
    n_hat: float | None
    rounds: int


@dataclass(frozen=True, eq=False)
class StreamDiagnostics(Diagnostics):
    """Diagnostics of a stream: number of closed batches, their size, rounds, and releases of the last round."""

    batches: int
    batch_size: int | None
    rounds: int
    n_hat: float | None = None
    radius: float | None = None
    noise: float | None = None
    offset: float | None = None


class PerComponent(dict[str, tuple[Any, ...]]):
    """Diagnostics of deflation: the values that the oracle reported, by name, with one entry per component."""


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
"""Classes of diagnostics by their name in files."""


def restored(kind: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return diagnostics of a kind, from the values in a file.

    Raises
    ------
    KeyError, TypeError
        The kind is unknown, or has other fields.
    """
    given = dict(values)
    if issubclass(KINDS[kind], TrackedDiagnostics):
        given["rounds"] = tuple(Round(**{**one, "tail": _tail(one)}) for one in given["rounds"])
        given["tail"] = _tail(given)
        given["followed"] = Followed(**given["followed"])
    if KINDS[kind] is TrackedPeopleDiagnostics:
        given["left_out"] = LeftOutDiagnostics(**given["left_out"])
    return KINDS[kind](**given)


def _tail(given: Mapping[str, Any]) -> Tail | None:
    """Return the tail of a round or of Sigma; None if there is none, as in files of earlier versions."""
    return None if given.get("tail") is None else Tail(**given["tail"])


def fits(algorithm: str, diagnostics: Mapping[str, Any]) -> bool:
    """Whether these diagnostics have the kind that releases of this algorithm have."""
    own: dict[str, type[Any]] = {
        "tracked": TrackedDiagnostics,
        "dp-gauss-1": MatrixDiagnostics,
        "dp-gauss-2": ProjectorDiagnostics,
        "dp-power": PowerDiagnostics,
        "tracked stream": StreamDiagnostics,
    }
    return isinstance(diagnostics, own.get(algorithm, PerComponent))
