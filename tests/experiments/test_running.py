"""Results are cached, shared and reproducible to the last digit; plots and tables contain their command."""

import hashlib
import json
import multiprocessing
import re
from dataclasses import replace

import pytest

from eigenveil.errors import InvalidInputError
from eigenveil.experiments import FIGURES, Run, names, reproduce, runner
from eigenveil.experiments.cache import NAME, Cache
from eigenveil.experiments.drawing import NOT_FOR_USE
from eigenveil.experiments.fingerprint import fingerprint
from eigenveil.experiments.table import read_table

from .conftest import RUN, small

TINY = replace(
    FIGURES["spiked-n-large-noise"], quick=(100, 200), quick_base={"d": 6}, methods=(names.PLAIN, names.GAUSS_1)
)


def counted(monkeypatch):
    """Return a list that collects the keys of fits that are run from now on."""
    seen = []
    job = runner.run_job

    def run_job(one):
        seen.extend(fit.key(one.trial, one.seed) for fit in one.fits)
        return job(one)

    monkeypatch.setattr(runner, "run_job", run_job)
    return seen


def test_an_interrupted_run_resumes(tmp_path, monkeypatch):
    """With half of the lines, the last one incomplete, only missing fits are run, and the tables are the same."""
    whole = reproduce([TINY], RUN, out=tmp_path / "whole", cache=tmp_path / "one")
    lines = (tmp_path / "one" / NAME).read_bytes().splitlines(keepends=True)
    assert len(lines) == 8
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / NAME).write_bytes(b"".join(lines[:4]) + lines[4][:20])
    seen = counted(monkeypatch)
    half = reproduce([TINY], RUN, out=tmp_path / "half", cache=tmp_path / "two")
    kept = {json.loads(line)["key"] for line in lines}
    assert set(seen) == kept - {json.loads(line)["key"] for line in lines[:4]}
    assert len(seen) == 4
    assert _texts(whole) == _texts(half)
    again = Cache(tmp_path / "two")
    assert all(key in again for key in kept)


def test_an_interruption_loses_no_result(tmp_path, monkeypatch):
    def stop(done, *_):
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce([TINY], RUN, out=tmp_path, cache=tmp_path / "cache", on_progress=stop)
    assert len((tmp_path / "cache" / NAME).read_bytes().splitlines()) == 4
    seen = counted(monkeypatch)
    reproduce([TINY], RUN, out=tmp_path, cache=tmp_path / "cache")
    assert len(seen) == 4


def test_nothing_is_run_twice(made, tmp_path, monkeypatch):
    """Also not for another figure that has the same cells."""
    seen = counted(monkeypatch)
    shared = [small(FIGURES[name]) for name in ("spiked-n-large-noise", "ojas-spiked")]
    reproduce(shared, RUN, out=tmp_path, cache=made.cache)
    assert not seen
    ours, theirs = (read_table(figure, tmp_path / f"{figure.name}.csv") for figure in shared)
    assert repr(tuple(row for row in ours.rows if row.method != names.POWER_PRINTED)) == repr(theirs.rows)


def test_the_same_seed_gives_the_same_files(tmp_path):
    first, again = (
        reproduce([TINY], RUN, out=tmp_path / name, cache=tmp_path / f"cache {name}") for name in ("a", "b")
    )
    assert _texts(first) == _texts(again)
    other = reproduce([TINY], replace(RUN, seed=1), out=tmp_path / "c", cache=tmp_path / "cache a")
    ours, theirs = (read_table(TINY, made[TINY.name][0]) for made in (first, other))
    assert all(a.mean != b.mean for a, b in zip(ours.rows, theirs.rows, strict=True))


def test_more_trials_reuse_cached_trials(tmp_path, monkeypatch):
    reproduce([TINY], RUN, out=tmp_path, cache=tmp_path / "cache")
    seen = counted(monkeypatch)
    reproduce([TINY], replace(RUN, trials=3), out=tmp_path, cache=tmp_path / "cache")
    assert len(seen) == 4


def test_keys_depend_on_everything_that_affects_a_result(monkeypatch):
    cell = next(iter(TINY.cells(quick=True)))
    fit = runner.Fit(cell.method, cell.setting)
    keys = {
        fit.key(0, 0),
        fit.key(1, 0),
        fit.key(0, 1),
        runner.Fit(names.GAUSS_1, cell.setting).key(0, 0),
        *(
            runner.Fit(cell.method, replace(cell.setting, **{name: value})).key(0, 0)
            for name, value in {"n": 101, "sigma": 0.5, "gap": 4.0, "epsilon": 2.0, "model": "gaussian"}.items()
        ),
    }
    monkeypatch.setattr(runner, "fingerprint", lambda: "other code")
    keys.add(fit.key(0, 0))
    assert len(keys) == 10
    assert len(fingerprint()) == 16


def test_several_processes_give_the_same_as_one(tmp_path):
    assert multiprocessing.get_start_method(allow_none=True) != "spawn"  # the runner selects it itself
    alone = reproduce([TINY], RUN, out=tmp_path / "a", cache=tmp_path / "one")
    beside = reproduce([TINY], RUN, out=tmp_path / "b", cache=tmp_path / "two", workers=2)
    assert alone[TINY.name][0].read_text() == beside[TINY.name][0].read_text()


def test_tables_and_plots_contain_their_command(made):
    for name, figure in FIGURES.items():
        command = f"eigenveil reproduce {name} --trials 2 --seed 0 --quick"
        text = (made.out / f"{name}.csv").read_text(encoding="utf-8")
        assert text.startswith(f"# made by: {command}\n")
        assert figure.choice in text
        assert "seeded" in text
        assert "relation: replace" in text
        svg = (made.out / f"{name}.svg").read_text(encoding="utf-8")
        described = svg[: svg.index("</metadata>")]
        assert command in described
        assert command in svg[len(described) :]
        assert NOT_FOR_USE in " ".join(re.sub("<[^>]*>", " ", svg).split())
        assert command.encode() in (made.out / f"{name}.png").read_bytes()


def test_one_trial_is_enough_for_a_plot(tmp_path):
    made = reproduce([TINY], replace(RUN, trials=1), out=tmp_path, cache=tmp_path / "cache")
    assert all(path.stat().st_size for path in made[TINY.name])


def test_a_file_of_another_kind_raises(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInputError, match="Hint: Run: eigenveil reproduce"):
        read_table(TINY, tmp_path / "x.csv")


def test_the_command_contains_the_settings_of_the_run():
    assert Run().command("spiked-d") == "eigenveil reproduce spiked-d --trials 50 --seed 0"


def _texts(made):
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in made[TINY.name]]
