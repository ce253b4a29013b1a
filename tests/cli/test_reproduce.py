"""``eigenveil reproduce``, as a process."""

from eigenveil.experiments import FIGURES


def test_a_figure_from_nothing_and_again(eigenveil, tmp_path):
    options = ["--quick", "--trials", 2, "--workers", 2, "--out", "figures"]
    answer = eigenveil("reproduce", "learning-rate", *options, cwd=tmp_path)
    assert (answer.code, answer.out) == (0, ""), answer.err
    assert "not private" in answer.err
    files = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert files == ["learning-rate.csv", "learning-rate.png", "learning-rate.svg"]
    before = (tmp_path / "figures" / "learning-rate.csv").read_text(encoding="utf-8")
    assert before.startswith("# made by: eigenveil reproduce learning-rate --trials 2 --seed 0 --quick\n")
    (tmp_path / "figures" / "learning-rate.csv").unlink()
    again = eigenveil("reproduce", "learning-rate", "claims", *options, cwd=tmp_path)
    assert again.code == 0, again.err
    assert (tmp_path / "figures" / "learning-rate.csv").read_text(encoding="utf-8") == before
    drawn = (tmp_path / "figures" / "learning-rate.svg").read_bytes()
    (tmp_path / "figures" / "learning-rate.svg").write_bytes(b"")
    redrawn = eigenveil("reproduce", "all", "--redraw", "--out", "figures", cwd=tmp_path)
    assert redrawn.code == 1, "the tables of the other figures are missing"
    assert "No such file" in redrawn.err
    redrawn = eigenveil("reproduce", "learning-rate", "--redraw", "--out", "figures", cwd=tmp_path)
    assert redrawn.code == 0, redrawn.err
    assert (tmp_path / "figures" / "learning-rate.svg").read_bytes() == drawn
    assert (tmp_path / "figures" / "learning-rate.csv").read_text(encoding="utf-8") == before
    assert "quick run" in (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert (tmp_path / ".reproduce_cache" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_an_unknown_name(eigenveil, tmp_path):
    answer = eigenveil("reproduce", "spiked-q", "--quick", cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert all(name in answer.err for name in (*FIGURES, "all", "claims", "spiked-q"))
    assert not list(tmp_path.iterdir())


def test_too_few_trials(eigenveil, tmp_path):
    assert eigenveil("reproduce", "all", "--trials", 0, cwd=tmp_path).code == 2
