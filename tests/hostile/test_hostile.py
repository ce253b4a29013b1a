"""Every hostile input gets its right answer or a clear error; nothing is lost, leaked or executed."""

import pytest

from hostile.catalogue import CASES, ELSEWHERE, play
from hostile.names import NASTY_NAMES, acts_on_page, acts_on_terminal
from hostile.run import TABLE, head, row


@pytest.mark.ledger_beyond_recomputation
@pytest.mark.parametrize(
    "case",
    [pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.slow else []) for one in CASES],
)
def test_hostile(case, tmp_path):
    play(case, tmp_path)


def test_the_catalogue_is_large_and_its_names_differ():
    assert len(CASES) >= 60
    assert len({(one.door, one.name) for one in CASES}) == len(CASES)


def test_the_table_lists_the_catalogue():
    table = TABLE.read_text(encoding="utf-8")
    for one in CASES:
        assert row(one, "").removesuffix(" |") in table, f"{one.name}: {head()}"
    assert all(text in table for text in ELSEWHERE)
    assert "FAILED" not in table


def test_an_attack_that_gets_through_is_noticed():
    """The checks of the tests above can fail: names that act on a terminal or a page are recognised."""
    terminal = [name for name, text in NASTY_NAMES.items() if acts_on_terminal(text)]
    page = [name for name, text in NASTY_NAMES.items() if acts_on_page(text)]
    assert terminal == list(NASTY_NAMES)[:8] + list(NASTY_NAMES)[9:15]  # a newline alone is looked for as a line
    assert set(page) - set(terminal) == {"script", "image", "end of a picture", "comment"}
