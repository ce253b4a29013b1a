"""``eigenveil plan``, as a process."""

import json


def test_expected_energy(eigenveil):
    answer = eigenveil("plan", "-n", "20000", "-d", "20", "-k", "2", "--epsilon", ".1", "--epsilon", "2", "--json")
    assert answer.code == 0
    rows = json.loads(answer.out)["rows"]
    assert [row["epsilon"] for row in rows] == [0.1, 2.0]
    assert rows[0]["energy"] < rows[1]["energy"]


def test_number_of_people_for_a_target(eigenveil):
    options = ["--epsilon", "1", "--target", ".9", "--spread", "10", "--spectrum", ".5,.2"]
    answer = eigenveil("plan", "-d", "10", "-k", "1", *options)
    assert answer.code == 0
    assert "guesses correctly with probability at most 73%" in " ".join(answer.out.split())


def test_mean_and_scales_are_paid_for(eigenveil):
    given = ("plan", "-n", "1500", "-d", "20", "-k", "2", "--epsilon", "1", "--json")
    answers = [eigenveil(*given, *more) for more in (["--no-center"], [], ["--scale", "private"])]
    free, centred, scaled = (json.loads(answer.out)["rows"][0]["zeta"] for answer in answers)
    assert 1.05 * free < min(centred, scaled)
    assert centred != scaled


def test_before_spending(eigenveil, tmp_path):
    """What a plan says of a fit, the fit says first, on stderr; values do not matter."""
    lines = ["age,income", *(f"{20 + i % 50},{1000 * (i % 90)}" for i in range(2000))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    fit = ("fit", tmp_path / "people.csv", "-k", "1", "--epsilon", "2", "--delta", "1e-6")
    planned = eigenveil(*fit, "--plan-only", "--json")
    assert planned.code == 0, planned.err
    units, bounds, expected = json.loads(planned.out)["before_spending"]
    assert "'age' (time), 'income' (money)" in units
    assert "No bounds are declared" in bounds
    assert expected.startswith("To expect, if variances fall slowly")
    assert "age' (time)" in eigenveil(*fit, "--plan-only").out
    fitted = eigenveil(*fit, "--json")
    assert fitted.code == 0, fitted.err
    assert fitted.err.splitlines()[:3] == [units, bounds, expected]
    known = ("--scale", "private", "--bounds", "age=0,110", "--bounds", "income=0,1e6")
    (only,) = json.loads(eigenveil(*fit, *known, "--plan-only", "--json").out)["before_spending"]
    assert "variance of the best component" in only


def test_usage(eigenveil):
    for options, told in (
        (["-k", "60"], "from 1 to 50"),
        (["-k", "2", "--spectrum", "steep"], "steep"),
        (["-k", "2", "--scale", "2"], "scale"),
    ):
        answer = eigenveil("plan", "-n", "1000", "-d", "50", "--epsilon", "1", *options)
        assert answer.code == 2
        assert told in answer.err
