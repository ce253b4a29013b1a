"""Exit codes: 0 success, 1 failure, 2 invalid arguments, 3 budget exceeded, as in the table of docs/guide.md."""

import pytest

from eigenveil.privacy import Budget, Ledger


@pytest.fixture(scope="module")
def place(folder, model, tmp_path_factory):
    """A folder with all files that the commands below use."""
    place = tmp_path_factory.mktemp("codes")
    for name in ("rows.parquet", "people.csv"):
        (place / name).write_bytes((folder / name).read_bytes())
    (place / "model").symlink_to(model[0] / "model")
    for name in ("empty.csv", "empty.parquet", "empty.npy", "taken.html"):
        (place / name).touch()
    (place / "bad.parquet").write_bytes(b"this is no Parquet file")
    (place / "damaged.json").write_text("{")
    (place / "spent.json").write_text(Ledger(Budget.from_epsilon_delta(0.1, 1e-6)).to_json())
    (place / "notmodel").mkdir()
    (place / "notmodel" / "thesis.txt").touch()
    return place


CODES = [
    (0, "fit rows.parquet --plan-only", ""),
    (0, "inspect model", ""),
    # 2: invalid arguments
    (2, "fit rows.parquet --json -k 99", "from 1 to 5"),
    (2, "fit rows.parquet --json -k 0", "-k"),
    (2, "fit rows.parquet --json -k 0.9", "-k"),
    (2, "fit rows.parquet --json --epsilon 0", "epsilon"),
    (2, "fit rows.parquet --json --delta 1", "delta"),
    (2, "fit rows.parquet --json --columns wealth", "no column 'wealth'"),
    (2, "fit rows.parquet --json --units person", "'person'"),
    (2, "fit people.csv --json", "'person_id'"),
    (2, "fit rows.parquet --json --scale 1,2", "5 finite numbers"),
    (2, "fit rows.parquet --json --header", "CSV"),
    (2, "fit rows.parquet", "no output requested"),
    (2, "fit rows.parquet --report r.html --grid 2x3", "6 pixels, but the model has 5 columns"),
    (2, "fit rows.parquet --report r.html --grid 2", "--grid 8x8"),
    (2, "fit rows.parquet --json --grid 1x5", "give --report too"),
    (2, "report model --out r.html --grid 2x3", "6 pixels, but the model has 5 columns"),
    (2, "transform people.csv --model model --keep whom", "no column 'whom'"),
    (2, "transform people.csv --model model --out scores.xls", ".parquet"),
    (2, "plan -n 1000 -d 5 -k 9 --epsilon 1", "from 1 to 5"),
    (2, "reproduce nothing", "nothing"),
    (2, "transform people.csv", "--model"),
    # 1: failures while running
    (1, "fit nothing.csv --json", "no file or folder"),
    (1, "fit nothing*.csv --json", "no file matches"),
    (1, "fit bad.parquet --json", "could not read"),
    (1, "fit empty.csv --json", "'empty.csv': it is empty"),
    (1, "fit empty.parquet --json", "'empty.parquet': it is empty"),
    (1, "fit empty.npy --json", "'empty.npy': it is empty"),
    (1, "fit rows.parquet --out notmodel", "contains other files"),
    (1, "fit rows.parquet --out notmodel --force", "contains other files"),
    (1, "fit rows.parquet --report taken.html", "--force"),
    (1, "fit rows.parquet --report missing/r.html", "no folder 'missing'"),
    (1, "fit rows.parquet --report rows.parquet --force", "a report replaces no other file"),
    (1, "fit rows.parquet --out model --report model/model.json --force", "a report replaces no other file"),
    (1, "fit rows.parquet --json --ledger rows.parquet", "rows.parquet"),
    (1, "report model --out model/model.json --force", "a report replaces no other file"),
    (2, "transform people.csv --model model --out people.csv --force", "one of the files to read"),
    (2, "transform peopl?.csv --model model --out people.csv --force", "one of the files to read"),
    (1, "fit rows.parquet --json --ledger damaged.json", "damaged.json"),
    (1, "inspect notmodel", "notmodel"),
    (1, "transform people.csv --model notmodel", "notmodel"),
    (1, "transform nothing.csv --model model", "no file or folder"),
    (1, "transform people.csv --model model --out missing/s.csv", "no folder 'missing'"),
    # 3: budget exceeded
    (3, "fit rows.parquet --json --ledger spent.json", "refused"),
    (3, "fit rows.parquet --plan-only --ledger spent.json", "refused"),
]


@pytest.mark.parametrize(("code", "command", "said"), CODES)
def test_exit_codes(eigenveil, place, code, command, said):
    before = sorted(path.name for path in place.iterdir())
    bytes_before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    answer = eigenveil(*command.split(), cwd=place)
    assert answer.code == code, answer.err
    assert said in answer.err.replace("\n", " ")
    assert "Traceback" not in answer.err
    assert "=[...]" not in answer.err, "hints use command-line options"
    assert {path: path.read_bytes() for path in bytes_before} == bytes_before
    left = [name for name in before if not name.startswith(".")]
    assert [path.name for path in sorted(place.iterdir()) if not path.name.startswith(".")] == left
