"""Typed diagnostics: read by attribute and by name, and restored from files only with the right fields."""

import pytest

from eigenveil.algorithms.diagnostics import (
    KINDS,
    Followed,
    MatrixDiagnostics,
    PerComponent,
    Round,
    Tail,
    TrackedDiagnostics,
    fits,
    restored,
)

ROUND = Round(kind="last", share=0.5, radius=2.0, kept=0.5, noise=0.1, offset=0.2, inside=1.0, columns=(1.0, 0.5))
TRACKED = TrackedDiagnostics(
    n_hat=90.5,
    bad_units=None,
    rounds=(ROUND,),
    clip=None,
    expected_zeta=0.1,
    passes=10,
    followed=Followed((2.0,), (0.1,), (0.2,)),
    tail=Tail(middle=1.0, far=2.0, beyond=0.1, unseen=0.02),
)


def test_names_and_attributes_are_the_same():
    assert TRACKED.rounds[0].radius == TRACKED["rounds"][0]["radius"] == 2.0
    assert "nonsense" not in TRACKED
    with pytest.raises(KeyError):
        TRACKED["nonsense"]
    with pytest.raises(AttributeError):
        TRACKED.n_hat = 3.0


def test_values_from_a_file_are_restored_unchanged():
    plain = {
        **TRACKED,
        "rounds": tuple(map(dict, TRACKED.rounds)),
        "followed": dict(TRACKED.followed),
        "tail": dict(TRACKED.tail),
    }
    again = restored("TrackedDiagnostics", plain)
    assert again == TRACKED
    assert again.rounds[0].kind == "last"
    assert again.tail.far == 2.0


def test_files_of_earlier_versions_have_no_tails():
    plain = {**TRACKED, "rounds": tuple(map(dict, TRACKED.rounds)), "followed": dict(TRACKED.followed)}
    del plain["tail"]
    plain["rounds"] = tuple({name: one[name] for name in one if name != "tail"} for one in plain["rounds"])
    again = restored("TrackedDiagnostics", plain)
    assert again.tail is None
    assert again.rounds[0].tail is None


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("", {}),
        ("Nonsense", {}),
        ("MatrixDiagnostics", {"radius": 1.0}),
        ("MatrixDiagnostics", {"radius": 1.0, "n_hat": None, "printed_noise": False, "more": 1}),
        ("TrackedDiagnostics", {"n_hat": 1.0}),
    ],
)
def test_unknown_kinds_are_refused(kind, values):
    with pytest.raises((KeyError, TypeError)):
        restored(kind, values)


def test_diagnostics_belong_to_their_algorithm():
    matrix = MatrixDiagnostics(radius=1.0, n_hat=None, printed_noise=False)
    assert fits("tracked", TRACKED)
    assert fits("dp-gauss-1", matrix)
    assert fits("k-DP-PCA", PerComponent())
    assert not fits("tracked", matrix)
    assert not fits("tracked", PerComponent(TRACKED))
    assert not fits("dp-gauss-1", {})
    assert set(KINDS) >= {"TrackedDiagnostics", "PerComponent"}
