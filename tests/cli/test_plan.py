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


def test_usage(eigenveil):
    for options, told in ((["-k", "60"], "from 1 to 50"), (["-k", "2", "--spectrum", "steep"], "steep")):
        answer = eigenveil("plan", "-n", "1000", "-d", "50", "--epsilon", "1", *options)
        assert answer.code == 2
        assert told in answer.err
