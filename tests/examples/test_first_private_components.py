import pathlib
import runpy

SCRIPT = pathlib.Path(__file__).parents[2] / "examples" / "first_private_components.py"


def test_the_demo_tells_its_story(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(SCRIPT), run_name="__main__")
    told = capsys.readouterr().out
    assert "private: True" in told
    kept = float(told.split("plain PCA keeps: ")[1].split("%")[0])
    assert kept > 90
    assert (tmp_path / "demo-output" / "first_private_components.png").stat().st_size > 10_000
