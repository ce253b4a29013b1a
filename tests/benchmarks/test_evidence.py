"""`make evidence` has every table, and every script has a small run that writes nothing."""

import ast

import pytest

from support.benchmarks import BENCHMARKS, load_script

evidence, answers = load_script("evidence"), load_script("answers")
SCRIPTS = {one.script.split()[0] for one in evidence.TABLES}


def test_every_script_and_every_page_is_listed():
    names = [one.name for one in evidence.TABLES]
    assert len(set(names)) == len(names)
    assert {page.stem for page in (BENCHMARKS / "results").glob("*.md")} <= set(names)
    assert {path.name for path in BENCHMARKS.glob("*.py") if calls_of_write(path)} == SCRIPTS


def test_every_table_has_an_answer():
    assert set(answers.ANSWERS) == {one.name for one in evidence.TABLES}
    assert [name for name in answers.ANSWERS if not answers.answer(name).endswith(".")] == []


def test_tables_of_times_come_first():
    idle = [one.idle for one in evidence.TABLES]
    assert idle == sorted(idle, reverse=True)


# -- seeds -----------------------------------------------------------------------------------------


def calls_of_write(path):
    """The calls of harness.write in a script."""
    tree = ast.parse(path.read_text("utf-8"))
    if not any(
        isinstance(node, ast.ImportFrom) and "write" in {one.name for one in node.names} for node in tree.body
    ):
        return []
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [(tree, call) for call in calls if isinstance(call.func, ast.Name) and call.func.id == "write"]


def says_its_seeds(tree, call):
    """Whether `about` of a page, or the constant or function that it is, has the word."""
    about = next(one.value for one in call.keywords if one.arg == "about")
    names = {node.id for node in ast.walk(about) if isinstance(node, ast.Name)}
    places = [about]
    for node in tree.body:
        defined = {node.name} if isinstance(node, ast.FunctionDef) else set()
        if isinstance(node, ast.Assign):
            defined = {target.id for target in node.targets if isinstance(target, ast.Name)}
        places += [node] if defined & names else []
    texts = [one.value for place in places for one in ast.walk(place) if isinstance(one, ast.Constant)]
    return any("seed" in text.lower() for text in texts if isinstance(text, str))


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_every_page_says_its_seeds(script):
    calls = calls_of_write(BENCHMARKS / script)
    assert calls
    assert all(says_its_seeds(*call) for call in calls)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("from harness import write\nwrite('a', about=f'{1} fits, seed 0.')", True),
        ("from harness import write\nABOUT = 'seeds'\nwrite('a', about=ABOUT)", True),
        ("from harness import write\ndef about():\n    return 'seeds'\nwrite('a', about=about())", True),
        ("from harness import write\nOTHER = 'seeds'\nwrite('a', about='10 fits.', title='seeds')", False),
    ],
)
def test_a_page_without_seeds_is_found(source, says, tmp_path):
    (tmp_path / "script.py").write_text(source, "utf-8")
    assert [says_its_seeds(*call) for call in calls_of_write(tmp_path / "script.py")] == [says]


# -- runs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("import os; assert os.environ['BENCHMARK_CACHE']", ""),
        ("raise SystemExit(3)", "exit code 3"),
        ("from pathlib import Path; (Path(__file__).parent / 'page.md').write_text('other')", "wrote"),
        ("from pathlib import Path; (Path(__file__).parent / 'new.md').write_text('')", "wrote"),
        ("import time; time.sleep(60)", "not done after 2 s"),
    ],
    ids=["good", "fails", "writes", "writes a new file", "takes too long"],
)
def test_what_is_wrong_with_a_small_run(source, wrong, tmp_path, monkeypatch):
    (tmp_path / "script.py").write_text(source, "utf-8")
    (tmp_path / "page.md").write_text("kept", "utf-8")
    monkeypatch.setattr(evidence, "WRITTEN", (tmp_path,))
    monkeypatch.setattr(evidence, "LONGEST", 2)
    one = evidence.Evidence("planted", str(tmp_path / "script.py"), "", "?", "seconds")
    found = evidence.run([one], quick=True)
    assert set(found) == ({"planted"} if wrong else set())
    assert found.get("planted", "").startswith(wrong)


def test_a_table_of_older_code_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    one = evidence.Evidence("planted", "script.py", "", "?", "seconds")
    assert not one.is_current
    (tmp_path / "planted.md").write_text(f"# A\n\n{evidence.stamp.line()}\n", "utf-8")
    assert one.is_current
    (tmp_path / "planted.md").write_text("# A\n\nCode: 0123456789ab (eigenveil 0.1).\n", "utf-8")
    assert not one.is_current


@pytest.mark.slow
@pytest.mark.parametrize("one", evidence.TABLES, ids=[one.name for one in evidence.TABLES])
def test_a_small_run_of_every_script(one):
    assert evidence.wrong(one, quick=True) == ""
