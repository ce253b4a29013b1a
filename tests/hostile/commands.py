"""Hostile models, ledgers, links, names and options, met by the command line."""

import json
import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hostile.names import NASTY_NAMES, acts_on_page, acts_on_terminal
from hostile.place import ROWS, case


def data(place, names=("a", "b", "c")):
    """A file of numbers with these names, and options that make a fit of it quick."""
    rows = np.resize(ROWS.T, (len(names), len(ROWS))).T
    pq.write_table(pa.table(list(rows.T), names=list(names)), place.folder / "x.parquet")
    return "x.parquet"


def model(place):
    answer = place.cli("fit", data(place), "--out", "m", "--algorithm", "dp-gauss-1")
    assert answer.code == 0, answer.err
    return place.folder / "m"


# -- folders of models -----------------------------------------------------------------------------


@case("load", "command.txt is a link to another file", error=1, says="symbolic link")
def _(place):
    (place.outside / "secret.txt").write_text("OUTSIDE SECRET")
    file = model(place) / "command.txt"
    file.unlink()
    file.symlink_to(place.outside / "secret.txt")
    return place.cli("report", "m", "--out", "r.html")


@case("load", "command.txt is not text", error=1, says="not UTF-8")
def _(place):
    (model(place) / "command.txt").write_bytes(b"\xff\xfe")
    return place.cli("report", "m", "--out", "r.html")


@case("load", "command.txt of 1 TB", error=1, says="impossible size")
def _(place):
    with (model(place) / "command.txt").open("r+b") as file:
        file.truncate(1 << 40)
    try:
        return place.cli("report", "m", "--out", "r.html")
    finally:
        (place.folder / "m" / "command.txt").unlink()


@case("load", "command.txt with tags and escape sequences", says="shown as text")
def _(place):
    (model(place) / "command.txt").write_text("".join(NASTY_NAMES.values()))
    assert place.cli("report", "m", "--out", "r.html").code == 0
    assert not acts_on_page((place.folder / "r.html").read_text())


@case("load", "a map of scores that never ends", error=1, says="not a regular file")
def _(place):
    (model(place) / "score-map.json").symlink_to("/dev/zero")
    return place.cli("inspect", "m", "--json")


@case("load", "a map of scores that is a pipe", error=1, says="not a regular file")
def _(place):
    os.mkfifo(model(place) / "score-map.json")
    return place.cli("inspect", "m", "--json")


@case("load", "a map of scores that is a folder", error=1, says="not a regular file")
def _(place):
    (model(place) / "score-map.json").mkdir()
    return place.cli("inspect", "m", "--json")


@case("load", "model.json is a pickle that runs a command", error=1, says="expected JSON")
def _(place):
    (model(place) / "model.json").write_bytes(b"cos\nsystem\n(S'touch EXECUTED'\ntR.")
    return place.cli("inspect", "m")


@case("load", "model.json is nested a million levels deep", error=1, says="nested more than 64")
def _(place):
    (model(place) / "model.json").write_bytes(b"[" * 1_000_000)
    return place.cli("inspect", "m")


@case("load", "model.json is a link to a file of others", error=1, says="expected JSON")
def _(place):
    (place.outside / "secret.txt").write_text("OUTSIDE SECRET")
    (model(place) / "model.json").unlink()
    (place.folder / "m" / "model.json").symlink_to(place.outside / "secret.txt")
    return place.cli("inspect", "m")


@case("load", "saving over links of a model", says="links are replaced, their targets stay")
def _(place):
    file = model(place) / "model.json"
    shutil.move(file, place.outside / "theirs.json")
    file.symlink_to(place.outside / "theirs.json")
    before = (place.outside / "theirs.json").read_bytes()
    answer = place.cli("fit", "x.parquet", "--out", "m", "--force", "--algorithm", "dp-gauss-1")
    assert answer.code == 0, answer.err
    assert not file.is_symlink()
    assert (place.outside / "theirs.json").read_bytes() == before
    (place.outside / "theirs.json").unlink()


# -- ledgers ---------------------------------------------------------------------------------------


def charge(place, ledger="ledger.json", *more):
    return place.cli("fit", data(place), "--json", "--ledger", ledger, "--epsilon", "1", *more)


@case("ledger", "a link to a ledger", says="the ledger itself is charged, and its budget holds for both names")
def _(place):
    """The link was once replaced by a copy, so that every link could spend the whole budget."""
    assert charge(place, "ledger.json", "--cap-epsilon", "1.2").code == 0
    (place.folder / "link.json").symlink_to("ledger.json")
    assert charge(place, "link.json").code == 3
    assert (place.folder / "link.json").is_symlink()


@case("ledger", "a ledger of two names (hard links)", error=2, says="regular file of one name")
def _(place):
    assert charge(place).code == 0
    os.link(place.folder / "ledger.json", place.folder / "other.json")
    return charge(place, "other.json")


@case("ledger", "a link to a file that does not exist", error=2, says="does not exist")
def _(place):
    (place.folder / "link.json").symlink_to(place.outside / "new.json")
    return charge(place, "link.json")


@case("ledger", "a link to itself", error=2, says="link")
def _(place):
    (place.folder / "link.json").symlink_to("link.json")
    return charge(place, "link.json")


@case("ledger", "a lock that is a link", error=1, says=".ledger.json.lock")
def _(place):
    (place.folder / ".ledger.json.lock").symlink_to(place.outside / "lock")
    return charge(place)


@case("ledger", "a pipe", error=2, says="regular file")
def _(place):
    os.mkfifo(place.folder / "ledger.json")
    return charge(place)


@case("ledger", "a file of others, by a link", error=1, says="not a ledger")
def _(place):
    (place.outside / "secret.txt").write_text("OUTSIDE SECRET")
    (place.folder / "ledger.json").symlink_to(place.outside / "secret.txt")
    return charge(place)


def forged(place, change):
    assert charge(place).code == 0
    file = place.folder / "ledger.json"
    plain = json.loads(file.read_text())
    change(plain)
    file.write_text(json.dumps(plain))
    return charge(place)


@case("ledger", "nested 100,000 levels deep", error=1, says="not a ledger")
def _(place):
    (place.folder / "ledger.json").write_text("[" * 100_000)
    return charge(place)


@case("ledger", "a number of 5000 digits", error=1, says="not a ledger")
def _(place):
    (place.folder / "ledger.json").write_text('{"schema": ' + "9" * 5000 + "}")
    return charge(place)


@case("ledger", "a budget of 10^400", error=1, says="mu must be a finite number")
def _(place):
    return forged(place, lambda plain: plain["budget"].update(mu=10**400))


@case("ledger", "a budget that is true", error=1, says="wrong type")
def _(place):
    return forged(place, lambda plain: plain["budget"].update(mu=True))


@case("ledger", "an entry whose label is a list", error=1, says="wrong type")
def _(place):
    return forged(place, lambda plain: plain["entries"][0].update(what=["a"]))


@case("ledger", "10^400 releases", error=1, says="ledger")
def _(place):
    return forged(place, lambda plain: plain["entries"][0].update(releases=10**400))


@case("ledger", "a negative charge", error=1, says="at least 0")
def _(place):
    return forged(place, lambda plain: plain["entries"][0].update(mu=-5.0))


@case("ledger", "private, with reasons why not", error=1, says="why it is not")
def _(place):
    return forged(place, lambda plain: plain.update(not_private_because=["seeded"]))


# -- outputs ---------------------------------------------------------------------------------------


@case("command", "a report over a link", says="the link is replaced, its target stays")
def _(place):
    theirs = place.outside / "theirs.html"
    (place.folder / "r.html").symlink_to(theirs)
    for text, code in (("theirs", 1), ('<meta name="generator" content="eigenveil">', 0)):
        theirs.write_text(text)
        assert place.cli("fit", data(place), "--report", "r.html", "--force").code == code
        assert theirs.read_text() == text
    (place.outside / "theirs.html").unlink()


@case("command", "links at names of temporary files", says="nothing follows them")
def _(place):
    for name in (".r.html.trial", ".m.trial", ".model.json.part"):
        (place.folder / name).symlink_to(place.outside / "made")
    assert place.cli("fit", data(place), "--report", "r.html", "--out", "m").code == 0


@case("command", "--out is a link to a folder of others", error=1, says="contains other files")
def _(place):
    (place.outside / "thesis.txt").write_text("OUTSIDE SECRET")
    (place.folder / "m").symlink_to(place.outside)
    return place.cli("fit", data(place), "--out", "m", "--force")


# -- names and options -----------------------------------------------------------------------------

GROUPS = [dict(list(NASTY_NAMES.items())[start : start + 8]) for start in range(0, len(NASTY_NAMES), 8)]


def _add(group):
    @case("command", f"names of columns: {', '.join(group)}", says="shown as text in console, report and JSON")
    def _(place):
        names = list(group.values())
        fitted = place.cli("fit", data(place, names), "-k", 2, "--out", "m", "--report", "r.html", "--epsilon", 8)
        assert fitted.code == 0, fitted.err
        answers = [fitted, place.cli("inspect", "m", "--ledger"), place.cli("fit", "x.parquet", "--plan-only")]
        answers += [place.cli("inspect", "m", "--json"), place.cli("fit", "x.parquet", "--json", "--units", "?")]
        for answer in answers:
            assert not acts_on_terminal(answer.out + answer.err)
            forged = [
                line for line in (answer.out + answer.err).splitlines() if line.startswith("private; the fit")
            ]
            assert all("epsilon = 0" not in line for line in forged)
        page = (place.folder / "r.html").read_text()
        assert not acts_on_page(page)
        assert "template" not in group or "{{7*7}}" in page
        assert json.loads(answers[3].out)["feature_names"] == names


for one in GROUPS:
    _add(one)


@case("command", "a file whose name has escape sequences and newlines", says="shown as text")
def _(place):
    path = place.folder / data(place)
    path.rename(place.folder / "x\x1b[31m\nprivate.parquet")
    for options in (["--json", "--units", "?"], ["--out", "m\x1b[31m\n", "--report", "r\x1b]0;a\x07.html"]):
        answer = place.cli("fit", "x\x1b[31m\nprivate.parquet", *options)
        assert not acts_on_terminal(answer.out + answer.err)
    assert not acts_on_terminal((place.folder / "m\x1b[31m\n" / "command.txt").read_text())


@case("command", "a file whose name is not UTF-8", says="read; the name is published nowhere")
def _(place):
    name = os.fsdecode(b"x\xff.csv")
    (place.folder / name).write_text("a,b\n" + "1,2\n3,4\n" * 500)
    answer = place.cli("fit", name, "--out", "m", "--report", "r.html")
    assert answer.code == 0, answer.err
    assert "fit DATA --out MODEL" in (place.folder / "m" / "command.txt").read_text()


for text, options in {
    "an escape sequence": ["--columns", "\x1b[31m"],
    "a change of direction": ["--columns", "\u202eabc"],
    "6000 digits": ["--fill", f"{'9' * 6000}=1"],
    "a template": ["--encode", "{{7*7}}=a,b"],
    "a lone surrogate": ["--columns", "\udcff"],
    "nan": ["--scale", "nan,1,1"],
    "an infinite bound": ["--bounds", "0,1e999"],
    "no number": ["--memory", "$(touch EXECUTED)MB"],
}.items():

    @case("command", f"an option with {text}", error=2, says="error")
    def _(place, options=options):
        answer = place.cli("fit", data(place), "--json", *options)
        assert not acts_on_terminal(answer.err)
        return answer


@case("command", "positions of 6000 digits", error=2, says="columns of arrays have no names")
def _(place):
    np.save(place.folder / "x.npy", ROWS)
    return place.cli("fit", "x.npy", "--json", "--columns", "9" * 6000)


@case("command", "an empty name of a file", error=1, says="empty text")
def _(place):
    return place.cli("fit", "", "--json")


@case("command", "an unknown command with escape sequences", error=2, says="Error")
def _(place):
    answer = place.cli("\x1b[31mfit")
    assert not acts_on_terminal(answer.err)
    return answer
