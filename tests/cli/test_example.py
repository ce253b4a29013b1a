"""``eigenveil example``: the same table every time, in both formats, and never over another file."""

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from eigenveil.cli.implementations.example import visits


def test_it_writes_the_same_table_as_parquet_and_csv(eigenveil, tmp_path):
    for name in ("visits.parquet", "visits.csv"):
        answer = eigenveil("example", name, cwd=tmp_path)
        assert (answer.code, answer.out) == (0, ""), answer.err
        assert "8000 visits of 4000 people" in answer.err
    table = pq.read_table(tmp_path / "visits.parquet")
    assert table.equals(visits())
    assert pc.read_csv(tmp_path / "visits.csv").cast(table.schema).equals(table)


def test_existing_files_are_replaced_with_force_only(eigenveil, tmp_path):
    (tmp_path / "mine.csv").write_text("precious", encoding="utf-8")
    refused = eigenveil("example", "mine.csv", cwd=tmp_path)
    assert refused.code == 1
    assert "--force" in refused.err
    assert (tmp_path / "mine.csv").read_text(encoding="utf-8") == "precious"
    assert eigenveil("example", "mine.csv", "--force", cwd=tmp_path).code == 0
    assert pc.read_csv(tmp_path / "mine.csv").num_rows == 8000


def test_other_formats_are_usage_errors(eigenveil, tmp_path):
    answer = eigenveil("example", "visits.xlsx", cwd=tmp_path)
    assert answer.code == 2
    assert ".parquet or .csv" in answer.err
    assert not list(tmp_path.iterdir())


def test_people_have_two_visits_and_every_kind_of_column():
    table = visits()
    counts = table.group_by("person_id").aggregate([("site", "count_distinct"), ("visit", "count")])
    assert counts.num_rows == 4000
    assert counts["site_count_distinct"].unique().to_pylist() == [1]
    assert counts["visit_count"].unique().to_pylist() == [2]
    kinds = {name: table.schema.field(name).type for name in ("visit", "site", "smoker", "age", "bmi")}
    assert list(kinds.values()) == [pa.date32(), pa.string(), pa.bool_(), pa.int64(), pa.float64()]
    assert 300 < table["bmi"].null_count < 500
    assert sum(column.null_count for column in table.columns) == table["bmi"].null_count
