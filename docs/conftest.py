"""The guide works in an empty folder, on the table that ``eigenveil example visits.parquet`` writes."""  # noqa: INP001

from pathlib import Path

import pytest

from eigenveil.cli.implementations.example import run


@pytest.fixture(autouse=True)
def _folder_of_the_guide(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.path.name == "guide.md":
        monkeypatch.chdir(tmp_path)
        run(Path("visits.parquet"), force=False)
