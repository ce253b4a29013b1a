"""Schema of CSV files: headers, files without a header, and numeric columns."""

import numpy as np
import pytest

from eigenveil import DPPCA, Budget, CsvFiles, Ledger
from eigenveil.errors import InvalidInputError
from eigenveil.sources import open_source
from eigenveil.sources.files.csv_lines import fields, well_formed


def write(path, *lines):
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def rows_of(data, **how):
    return np.concatenate([np.asarray(block.values) for block in open_source(data, **how).blocks()])


@pytest.mark.parametrize(
    "first", ["0.7351,12.5,3.25", "0.7351,0.7351,3.25", "7,,name", '"1.5","2","id"', " 1 ,2,3"]
)
def test_a_header_that_looks_like_data_is_refused(tmp_path, first):
    """Review finding: the first person's values became public names of columns."""
    path = write(tmp_path / "a.csv", first, *["1,2,3"] * 50)
    for action in (lambda: open_source(path), lambda: DPPCA(1).fit(path)):
        with pytest.raises(InvalidInputError, match="looks like data") as refusal:
            action()
        assert "header=False" in refusal.value.hint
        assert "--no-header" in refusal.value.hint
        assert "7351" not in str(refusal.value)


def test_a_later_file_without_a_header_is_refused_too(tmp_path):
    paths = [write(tmp_path / "a.csv", "a,b", "1,2"), write(tmp_path / "b.csv", "3,4", "5,6")]
    with pytest.raises(InvalidInputError, match="looks like data"):
        open_source(paths)


def test_files_without_a_header(tmp_path):
    path = write(tmp_path / "a.csv", "p,1.5,2", "q,3,4", '"oops,1', "p,5,6")
    files = CsvFiles(path, header=False)
    source = open_source(files, columns=["column_2", "column_3"])
    assert source.columns == ("column_2", "column_3")
    np.testing.assert_array_equal(
        rows_of(files, columns=["column_[23]"]), [[1.5, 2], [3, 4], [np.nan, np.nan], [5, 6]]
    )
    (block,) = open_source(files, units="column_1").blocks()
    assert np.asarray(block.values).tolist() == [[1.5, 2], [5, 6], [3, 4]]


def test_the_width_of_a_file_without_a_header_is_that_of_most_lines(tmp_path):
    for odd in ("1", "1,2,3,4,5,6", "", '"'):
        rows = rows_of(CsvFiles(write(tmp_path / "a.csv", odd, *["1,2"] * 5), header=False))
        assert rows.shape == (6, 2)


def test_numbers_may_be_names_if_the_caller_says_so(tmp_path):
    path = write(tmp_path / "years.csv", "2019,2020", "1,2", "3,4")
    assert open_source(CsvFiles(path, header=True)).columns == ("2019", "2020")


def test_a_model_of_files_without_a_header(tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 3)) * [5, 1, 1]
    path = write(tmp_path / "a.txt", *(",".join(map(repr, map(float, row))) for row in X))
    files = CsvFiles(path, header=False)
    pca = DPPCA(1, center=False).fit(files)
    assert list(pca.feature_names_in_) == ["column_1", "column_2", "column_3"]
    np.testing.assert_allclose(pca.transform(files), X @ pca.components_.T)


@pytest.mark.parametrize("text", ["", "\n\n", '"a,b\n1,2\n', "a\0,b\n1,2\n"])
def test_a_file_without_a_usable_header_is_refused(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match="could not read"):
        open_source(path)


def test_a_header_that_is_not_utf_8(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xffa,b\n1,2\n")
    with pytest.raises(InvalidInputError, match="could not read"):
        open_source(tmp_path / "a.csv")


def test_a_file_with_only_a_header_and_an_empty_file(tmp_path):
    assert list(open_source(write(tmp_path / "a.csv", "a,b")).blocks()) == []
    with pytest.raises(InvalidInputError, match="could not read"):
        open_source(CsvFiles(write(tmp_path / "b.csv", ""), header=False))


def test_columns_in_another_order_and_quoted_names(tmp_path):
    paths = [write(tmp_path / "a.csv", 'x,"y, z"', "1,2"), write(tmp_path / "b.csv", '"y, z",x', "4,3")]
    assert rows_of(paths, columns=["x", "y, z"]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InvalidInputError, match=r"lacks \['y, z'\]"):
        open_source([paths[0], write(tmp_path / "c.csv", "x,y", "1,2")])


def test_quoted_ids_are_the_same_people(tmp_path):
    path = write(
        tmp_path / "a.csv", "who,x", "ann,1", '"ann",2', '"a, ""n""",3', '"a, ""n""",4', '6" pipe,5', "NA,6"
    )
    blocks = list(open_source(path, units="who").blocks())
    people = [
        np.asarray(block.values)[a:b].ravel().tolist()
        for block in blocks
        for a, b in zip(block.offsets[:-1], block.offsets[1:], strict=True)
    ]
    assert sorted(people) == [[1, 2], [3, 4], [5]]


def test_a_bad_byte_in_a_line_does_not_split_its_person(tmp_path):
    """Only the bytes that are not UTF-8 are replaced by other characters: the id of the line does not change."""
    path = tmp_path / "a.csv"
    path.write_bytes("who,x,note\nZoë,1,\nZoë,2,\n".encode() + "Zoë,3,".encode() + b"\xff\nZo\xeb,4,\n")
    (block,) = open_source(path, columns=["x"], units="who").blocks()
    assert np.diff(block.offsets).tolist() in ([3, 1], [1, 3])


def test_a_line_is_read_as_pythons_own_reader_does():
    rng = np.random.default_rng(0)
    signs = np.array(list('",a1 '))
    for _ in range(4000):
        line = "".join(rng.choice(signs, size=rng.integers(0, 9), p=[0.35, 0.3, 0.15, 0.1, 0.1]))
        want = fields(line) or [""]
        got = well_formed(f"{line}\n".encode(), len(want)).decode()
        cells = [cell.replace("\x1f", ",") for cell in got[:-1].split(",")]
        plain = [cell[1:-1].replace('""', '"') if cell.startswith('"') else cell for cell in cells]
        assert plain == want, line


@pytest.mark.parametrize(
    "first",
    ["2021-03-04,name", "alice@x.org,x", "NA,x", "$71.25,x", '"71,25",x', "5%,x", "12:30,x", "-3,x", "true,x"],
)
def test_one_field_that_could_be_a_value_is_refused(tmp_path, first):
    with pytest.raises(InvalidInputError, match="looks like data"):
        open_source(write(tmp_path / "a.csv", first, *["1,2"] * 5))


@pytest.mark.parametrize("names", ["x1,y2", "a b,c-d", "q1 2020,e", "E,T", "nan_share,1st", ",x"])
def test_names_are_accepted(tmp_path, names):
    path = write(tmp_path / "a.csv", names, *["1,2"] * 5)
    assert open_source(path, columns=[names.split(",")[1]]).columns == (names.split(",")[1],)


def test_the_header_of_another_file_is_not_quoted(tmp_path):
    """The first line of that file may be a row."""
    paths = [
        write(tmp_path / "a.csv", "name,x", "1,2"),
        write(tmp_path / "b.csv", "alice-secret,bob-secret", "1,2"),
    ]
    with pytest.raises(InvalidInputError, match="has 2 others") as refusal:
        open_source(paths)
    assert "secret" not in str(refusal.value)


def test_no_single_line_changes_the_number_of_columns(tmp_path):
    lines = ["1,2"] * 9 + ["1,2,3"] * 7
    assert open_source(CsvFiles(write(tmp_path / "a.csv", *lines), header=False)).n_columns == 2
    for turned in (["1,2"] * 9 + ["1,2,3"] * 8, ["1,2"] * 9 + ["1,2,3"] * 9, ["1,2"] * 8 + ["1,2,3"] * 8):
        with pytest.raises(InvalidInputError, match="could not read"):
            open_source(CsvFiles(write(tmp_path / "a.csv", *turned), header=False))


TABLE = np.random.default_rng(0).normal(size=(300, 3)).round(3)


def lines_of(separator=",", end="", decimal=".", *, rows=False):
    for number, row in enumerate(TABLE):
        cells = [f"{value:.3f}".replace(".", decimal) for value in row]
        yield separator.join([*([f"r{number}"] if rows else []), *cells]) + end


SHAPES = {
    "trailing commas": (["a,b,c", *lines_of(end=",")], "got 3 and 4"),
    "row names of R": (["a,b,c", *lines_of(rows=True)], "got 3 and 4"),
    "decimal commas": (["a;b;c", *lines_of(";", decimal=",")], "names separated by ';'"),
    "semicolons": (["a;b;c", *lines_of(";")], "names separated by ';'"),
    "tabs": (["a\tb\tc", *lines_of("\t")], "names separated by '\\\\t'"),
    "a comment": (["# exported by hand", "a,b,c", *lines_of()], "got 1 and 3"),
    "a title": (["Patients of ward", "a,b,c", *lines_of()], "got 1 and 3"),
    "a title with commas": (["Patients of ward,,", "a,b,c", *lines_of()], "column 2 of 3 has none"),
    "a line for Excel": (["sep=,", "a,b,c", *lines_of()], "a line for Excel"),
    "another line for Excel": (["sep=;", "a;b;c", *lines_of(";")], "a line for Excel"),
}
"""Files of ordinary programs, and what the error says. Every one of them once cost a whole budget for no rows."""


@pytest.mark.parametrize("shape", SHAPES)
def test_a_first_line_that_does_not_fit_the_others_is_refused(tmp_path, shape):
    lines, match = SHAPES[shape]
    path = write(tmp_path / "a.csv", *lines)
    ledger = Ledger(Budget.from_epsilon_delta(1.0, 1e-6))
    with pytest.raises(InvalidInputError, match=match) as refusal:
        DPPCA(1, ledger=ledger).fit(path)
    assert "ward" not in str(refusal.value)
    assert not ledger.entries


def test_the_hints_for_first_lines_work(tmp_path):
    """Literally, as the errors state them."""
    for shape, first, columns in (
        ("trailing commas", "a,b,c,", "?*"),
        ("row names of R", ",a,b,c", "?*"),
        ("a comment", None, None),
        ("a title", None, None),
        ("a line for Excel", None, None),
    ):
        lines = SHAPES[shape][0][1:]
        path = write(tmp_path / "a.csv", *([first] if first else []), *lines)
        np.testing.assert_array_equal(rows_of(path, columns=columns), TABLE)
    rows = rows_of(CsvFiles(write(tmp_path / "a.csv", *SHAPES["a title"][0]), header=False))
    np.testing.assert_array_equal(rows[2:], TABLE)


@pytest.mark.parametrize("shape", ["decimal commas", "semicolons", "tabs"])
def test_the_hint_for_other_separators_works(tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "a.csv", *SHAPES[shape][0])
    with pytest.raises(InvalidInputError) as refusal:
        open_source(path)
    exec(refusal.value.hint.partition(": ")[2], {})  # noqa: S102  # the hint is code
    np.testing.assert_array_equal(rows_of("new.csv"), TABLE)


def test_one_name_with_another_separator_may_be_accepted(tmp_path):
    path = write(tmp_path / "a.csv", "a;b", "1", "2")
    assert open_source(CsvFiles(path, header=True)).columns == ("a;b",)
