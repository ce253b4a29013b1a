"""Every table of benchmarks/results and of tests was made by the code as it is, or says that it was not."""

import pytest

from support.benchmarks import BENCHMARKS, load

TABLES = sorted((BENCHMARKS / "results").glob("*.md"))
stamp, harness = load("stamp"), load("harness")


def unmarked(pages):
    """Pages whose mark is missing, or is of another stamp, or should be gone."""
    return ["/".join(page.parts[-2:]) for page in pages if stamp.marked(text := page.read_text("utf-8")) != text]


def test_tables_of_older_code_say_so():
    wrong = unmarked(stamp.pages())
    assert not wrong, f"{wrong}: run python benchmarks/stamp.py --mark, or make these tables anew"


def test_there_are_tables():
    assert {"arena.md", "stream.md", "startup.md", "one-pass.md"} <= {page.name for page in TABLES}
    assert {"faults", "fuzz", "hostile", "mutants"} == {page.parent.name for page in stamp.pages()} - {"results"}


STALE = {
    "of older code": "# A\n\nCode: 0123456789ab (eigenveil 0.1; `benchmarks/stamp.py`).\n\n| 1 |\n",
    "of older streams": f"# A\n\nCode: {stamp.code()}, streams 0123456789ab (eigenveil 0.1).\n\n| 1 |\n",
    "of a part that is no more": f"# A\n\nCode: {stamp.code()}, gone 0123456789ab (eigenveil 0.1).\n\n| 1 |\n",
    "not stamped": "# A\n\nMade by hand.\n\n| 1 |\n",
    "marked, then stamped anew": f"# A\n\n{stamp.line()}\n{stamp.OLDER}0123456789ab.\n\n| 1 |\n",
}


@pytest.mark.parametrize("text", STALE.values(), ids=STALE)
def test_a_wrong_page_is_found_and_marking_mends_it(text, tmp_path):
    page = tmp_path / "planted.md"
    page.write_text(text, "utf-8")
    assert unmarked([page]) == [f"{tmp_path.name}/planted.md"]
    page.write_text(stamp.marked(text), "utf-8")
    assert unmarked([page]) == []
    assert page.read_text("utf-8").count(stamp.OLDER) == (text.count(stamp.OLDER) == 0)


def test_a_table_of_code_with_the_same_releases_counts_for_one_code_only(monkeypatch):
    before = f"# A\n\nCode: 0123456789ab, streams {stamp.streams()} (eigenveil 0.1).\n\n| 1 |\n"
    monkeypatch.setattr(stamp, "SAME_RELEASES", {"aaaaaaaaaaaa": ("0123456789ab",)})
    assert stamp.OLDER in stamp.marked(before)
    monkeypatch.setattr(stamp, "SAME_RELEASES", {stamp.code(): ("0123456789ab",)})
    assert stamp.OLDER not in stamp.marked(before)
    assert stamp.OLDER in stamp.marked(STALE["of older streams"].replace(stamp.code(), "0123456789ab"))


def test_a_mark_stands_below_the_stamp_or_the_title():
    assert stamp.marked(STALE["of older code"]).split("\n")[3] == f"{stamp.OLDER}0123456789ab."
    assert stamp.marked(STALE["not stamped"]).split("\n")[1] == f"{stamp.OLDER}not stamped."


@pytest.mark.parametrize("parts", [(), *((part,) for part in stamp.PARTS)], ids=str)
def test_what_the_harness_writes_is_of_this_code(parts, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    body = harness.table(("a", "b"), [(1, 2)])
    harness.write("new", title="New", about="All.", stamp=stamp.line(*parts), command="make new", body=body)
    page = tmp_path / "new.md"
    assert page.read_text("utf-8") == capsys.readouterr().out
    assert page.read_text("utf-8").endswith("Made by `make new`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert unmarked([page]) == []


def test_the_readme_has_every_table_and_script():
    text = (BENCHMARKS / "README.md").read_text("utf-8")
    missing = [page.name for page in TABLES if f"(results/{page.name})" not in text]
    missing += [script.name for script in BENCHMARKS.glob("*.py") if f"`{script.name}" not in text]
    assert not missing
