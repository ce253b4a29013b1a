"""What all benchmarks share."""

import platform
import re
import sys

import pytest

from support.benchmarks import BENCHMARKS, load

harness = load("harness")


def test_rows_have_as_many_cells_as_the_head():
    with pytest.raises(ValueError, match="has not 2 cells"):
        harness.table(("a", "b"), [(1,)])


def test_results_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "CACHE", tmp_path)
    assert harness.kept("a b", lambda: {"x": [1, 2.5]}) == {"x": [1, 2.5]}
    assert harness.kept("a b", lambda: pytest.fail("made twice")) == {"x": [1, 2.5]}
    assert [file.name for file in tmp_path.iterdir()] == ["a_b.json"]


def test_a_case_in_a_process_of_its_own(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(BENCHMARKS)!r})\nimport harness\n"
        "def measure(case):\n    print('talks')\n"
        "    return [case['n'] / 2, harness.peak() >= harness.resident() / 2 > 0]\n"
        "assert harness.answered(measure)\n",
        "utf-8",
    )
    assert harness.alone(script, {"n": 3}) == [1.5, True]


def test_a_case_that_fails_says_why(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit('what was wrong')", "utf-8")
    with pytest.raises(harness.subprocess.CalledProcessError) as caught:
        harness.alone(script, None)
    assert "what was wrong" in caught.value.__notes__[0]


def test_a_page_has_a_line_about_the_machine(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    harness.write("new", title="New", about="All.", stamp="Code: 1.", command="make new", body="", show=False)
    line = (tmp_path / "new.md").read_text("utf-8").splitlines()[4]
    assert line == harness.machine()
    assert re.fullmatch(
        r"Machine: \d+ cores, \d+ GB; Python 3[.\d]+, numpy \S+, scipy \S+, scikit-learn \S+, .*\.", line
    )
    assert platform.node() not in line
    assert "/" not in line
    assert capsys.readouterr().out == ""


def test_jobs_are_answered_in_order(capsys):
    assert list(harness.in_parallel(abs, [-3, 2, -1], 2)) == [3, 2, 1]
    assert capsys.readouterr().err == "1 of 3: -3\n2 of 3: 2\n3 of 3: -1\n"


def test_the_harness_needs_only_the_standard_library():
    lines = (BENCHMARKS / "harness.py").read_text("utf-8").splitlines()
    names = {line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert names <= {*sys.stdlib_module_names}
