"""A short audit: large faults are found, the library as it is passes, and an interrupted audit resumes."""

import json
from functools import partial

import pytest

from eigenveil import audit
from eigenveil.algorithms.registry import ALGORITHMS
from eigenveil.audit import cases, running
from eigenveil.audit.bounds import GATE
from eigenveil.errors import EigenveilError, InvalidInputError
from support import faults

CASE = audit.Case("dp-gauss-1", "add-remove", 4.0, 1e-6, "matrix", d=4)
EDGE = audit.Case("dp-gauss-1", "add-remove", 4.0, 1e-6, "edge", d=4)
ROW = audit.Case("dp-gauss-1", "add-remove", 4.0, 1e-6, "row", d=4)


def found(case, trials=120):
    return audit.run(cases=[case], trials=trials, confidence=GATE).findings[0]


@pytest.mark.parametrize("case", [CASE, EDGE, ROW], ids=lambda case: case.attack)
def test_honest_code_passes(case):
    """A false alarm has a probability of at most 1e-5 for each."""
    finding = found(case, trials=60)
    assert not finding.violated
    assert finding.trials == 40


@pytest.mark.ledger_is_wrong_on_purpose
@pytest.mark.parametrize(
    ("plant", "case"),
    [
        (partial(faults.noise_too_small, thinner=8), CASE),
        (faults.radius_for_free, EDGE),
        (faults.number_for_free, CASE),
        (faults.centre_from_the_data, ROW),
        (faults.noise_used_again, CASE),
    ],
    ids=["noise", "radius", "number", "centre", "again"],
)
def test_large_faults_are_found(plant, case, monkeypatch):
    plant(monkeypatch)
    assert found(case).violated


def test_every_algorithm_can_be_attacked():
    for algorithm in ALGORITHMS:
        for relation in ("add-remove", "replace"):
            for case in cases.attacks_on(algorithm, relation, 4.0, 1e-6):
                released = case.release(canary=True)
                assert "turn" in released
                assert case.budget.epsilon(1e-6) <= 4.0 * (1 + 1e-6)


def test_an_interrupted_audit_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "PART", 10)

    def stop(done, *_):
        if done >= 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit.run(cases=[CASE], trials=60, cache=tmp_path, on_progress=stop)
    kept = sorted(tmp_path.glob("*/*.json"))
    assert len(kept) == 3
    before = [json.loads(file.read_text()) for file in kept]
    fitted = []
    first = audit.run(cases=[CASE], trials=60, cache=tmp_path, on_progress=lambda done, *_: fitted.append(done))
    assert fitted[0] == 10
    assert [json.loads(file.read_text()) for file in kept] == before
    monkeypatch.setattr(cases.Case, "release", None)  # nothing is fitted again
    assert audit.run(cases=[CASE], trials=60, cache=tmp_path) == first


def test_the_cache_depends_on_the_code(tmp_path, monkeypatch):
    part = running.TrialPart(CASE, canary=True, index=0, fits=10)
    before = part.file(tmp_path)
    monkeypatch.setattr(running, "LOADED", "another")
    assert part.file(tmp_path) != before


def test_the_code_is_names_contents_and_versions(tmp_path, monkeypatch):
    package = tmp_path / "eigenveil"
    for name in ("audit/running.py", "kernels/_loops.so", "kernels/loops.c"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(name)
    monkeypatch.setattr(running, "__file__", str(package / "audit" / "running.py"))
    codes = [running.code()]
    (package / "page.css").write_text("not code")
    assert running.code() == codes[0]
    (package / "kernels" / "loops.c").rename(package / "kernels" / "loops.h")
    codes.append(running.code())
    (package / "kernels" / "_loops.so").write_text("compiled differently")
    codes.append(running.code())
    (package / "kernels" / "_loops.so").unlink()
    codes.append(running.code())
    for versions in (running.np, running.scipy):
        monkeypatch.setattr(versions, "__version__", "0.0")
        codes.append(running.code())
    monkeypatch.setattr(running.platform, "python_version", lambda: "0.0")
    codes.append(running.code())
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(("workers", "changed"), [(2, "LOADED"), (1, "code")])
def test_nothing_is_kept_if_the_code_changes_during_the_audit(workers, changed, tmp_path, monkeypatch):
    """Workers that load other code than this process, and a file that changes while fits run."""
    monkeypatch.setattr(running, changed, {"LOADED": "another", "code": lambda: "another"}[changed])
    with pytest.raises(EigenveilError, match="changed during the audit"):
        audit.run(cases=[CASE], trials=60, cache=tmp_path, workers=workers)
    assert not list(tmp_path.glob("**/*.json"))


def test_processes_draw_different_noise():
    runner = audit.measuring.Runner(workers=2)
    without, with_canary = runner.run([CASE], 0, 200)[CASE]
    values = [release["turn"] for release in (*without, *with_canary)]
    assert len(set(values)) == len(values) == 400


def test_the_result_as_text_json_and_figure(tmp_path):
    result = audit.run("dp-gauss-1", relations="replace", epsilons=[4.0], trials=40)
    assert "dp-gauss-1" in str(result).splitlines()[1]
    assert json.loads(json.dumps(result.to_dict()))["violations"] == len(result.violations)
    assert "claimed epsilon" in result.plot(tmp_path / "audit.svg").read_text()


@pytest.mark.parametrize("wrong", [{"trials": 10}, {"confidence": 1.0}, {"epsilons": -1.0}])
def test_wrong_arguments(wrong):
    with pytest.raises(InvalidInputError):
        audit.run("dp-gauss-1", relations="replace", **{"trials": 40, **wrong})


def test_an_unknown_algorithm():
    with pytest.raises(InvalidInputError, match="algorithm must be one of"):
        audit.run("pca", trials=40)
