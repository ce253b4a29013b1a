"""The picture in docs/app.md is there, small, and made by the script beside it."""

from .pages import HOUSE

MOST = 250_000


def test_the_picture_of_the_local_page():
    picture = HOUSE / "docs" / "pictures" / "app.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < MOST
    assert "pictures/app.png" in (HOUSE / "docs" / "app.md").read_text("utf-8")
    assert picture.with_suffix(".py").exists()
