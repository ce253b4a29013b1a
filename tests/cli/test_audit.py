"""``eigenveil audit``, as a process."""

import json

OPTIONS = ["--algorithm", "dp-gauss-1", "--relation", "add-remove", "--epsilon", 4, "--trials", 60, "--workers", 1]


def test_a_table_files_and_again_from_the_cache(eigenveil, tmp_path):
    answer = eigenveil("audit", *OPTIONS, "--confidence", 0.99999, "--out", "out", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert "dp-gauss-1" in answer.out
    assert "no bound exceeds its claim" in answer.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["audit.json", "audit.png", "audit.svg"]
    again = eigenveil("audit", *OPTIONS, "--confidence", 0.99999, "--json", cwd=tmp_path)
    assert json.loads(again.out) == json.loads((tmp_path / "out" / "audit.json").read_text())


def test_a_confidence_that_is_none(eigenveil, tmp_path):
    answer = eigenveil("audit", *OPTIONS, "--confidence", 2, cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert "confidence" in answer.err
