"""Targets of fuzzing: functions of bytes that raise if a reader does what it must not.

Whatever the bytes are, a reader returns a right answer or raises an `EigenveilError`. Every other exception, and
every failed assertion, is a bug. A crash of the process is one, too: `run.py` runs a target in its own process.
"""

import contextlib
import csv
import hashlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

import eigenveil as ev
from eigenveil.cli import arguments
from eigenveil.cli.summary import as_plain
from eigenveil.errors import EigenveilError
from eigenveil.persistence import ledger_file
from eigenveil.persistence.folders import SCHEMA
from eigenveil.persistence.json_codec import Packer, unpack
from eigenveil.persistence.score_maps import load_map
from eigenveil.persistence.strict_json import DamagedFileError, canonical, parse
from eigenveil.privacy import Budget, Ledger
from eigenveil.report import render_report
from eigenveil.sources import CsvFiles, Layout, open_source
from eigenveil.sources.encodings import Since, read_encoding
from eigenveil.sources.files import csv_files, csv_lines
from fuzz.routes import app_routes
from fuzz.scratch import scratch

CORPUS = Path(__file__).with_name("corpus")


# -- CSV -------------------------------------------------------------------------------------------


def lines(data):
    """A line of CSV becomes the line that Python's reader sees, or an empty one, whatever stands beside it."""
    width, text = 1 + data[:1][0] % 5 if data else 1, data[1:] + b"\n"
    whole = csv_lines.well_formed(text, width)
    alone = [csv_lines.well_formed(line + b"\n", width) for line in text.split(b"\n")[:-1]]
    assert whole == b"".join(alone), "a line depends on others"
    assert whole.count(b"\n") == text.count(b"\n"), "a line is lost"
    names = [str(number) for number in range(width)]
    read = csv_files._parsed(whole, names, names)
    for line, *found in zip(text.split(b"\n"), *(column.to_pylist() for column in read.columns), strict=False):
        assert found == _as_python_reads(line, width)


BLANK = b"\r\n \t\x0b\x0c"
"""What a blank line before the header may hold."""


def _as_python_reads(line, width):
    """The fields of one line, by the `csv` module; empty fields if there are more or fewer than `width`."""
    text = csv_lines._plain_characters(line + b"\n").decode().removesuffix("\n")
    try:
        found = next(csv.reader([text]), [])
    except csv.Error:
        found = []
    return found if len(found) == width else [""] * width


def csv_file(data):
    """Every line of a file is one row, and removing a line removes its row only."""
    mode, text = data[:1], data[1:]
    header = {0: None, 1: True}.get(mode[0] % 3 if mode else 0, False)
    path = scratch() / "fuzz.csv"
    rows = _rows_of(path, text, header)
    if rows is None:
        return
    body = text.removeprefix(b"\xef\xbb\xbf")
    start = 0
    if header is not False:
        first = body.lstrip(BLANK)
        start = len(body) - len(first) + (first + b"\n").index(b"\n") + 1
    found = body[start:].split(b"\n")
    kept = found if found[-1] else found[:-1]
    assert len(rows) == len(kept), "a line is lost or added"
    place = sum(data) % max(1, len(kept))
    without = _rows_of(path, text[: len(text) - len(body) + start] + b"".join(
        line + b"\n" for number, line in enumerate(kept) if number != place
    ), header)  # fmt: skip
    if without is not None and kept and rows[0].keys() == (without or rows)[0].keys():
        assert [*rows[:place], *rows[place + 1 :]] == without, "a line changed others"


def _rows_of(path, text, header):
    """The rows of a file, as dicts by column; None if it is refused."""
    path.write_bytes(text)
    try:
        source = open_source(CsvFiles(path, header=header))
        blocks = [np.asarray(block.values, dtype=np.float64) for block in source.blocks()]
    except EigenveilError as error:
        _quotes_nothing(error, text)
        return None
    rows = [row for block in blocks for row in block]
    return [{name: value.hex() for name, value in zip(source.columns, row, strict=True)} for row in rows]


def _quotes_nothing(error, text):
    """An error quotes no field of a line after the first that is not blank."""
    head, *lines = text.lstrip(BLANK).split(b"\n")
    for line in lines:
        for field in line.split(b","):
            canary = field.decode("utf-8", "replace").strip()
            assert len(canary) < 12 or canary not in str(error) or canary.encode() in head


# -- JSON ------------------------------------------------------------------------------------------


def strict_json(data):
    """What is parsed is what Python parses, and its canonical form is parsed to the same value."""
    try:
        value = parse(data)
    except DamagedFileError:
        return
    assert value == json.loads(data)
    if not _lone_surrogate(value):
        assert parse(canonical(value)) == value


def _lone_surrogate(value):
    return "\\ud" in json.dumps(value)


def codec(data):
    """A value that is unpacked is packed to what gives the same value again."""
    arrays = {"mean_": np.arange(4.0)}
    try:
        value = unpack(parse(data), arrays)
    except DamagedFileError:
        return
    packer = Packer()
    try:
        packed = packer.pack(value, at="value")
    except EigenveilError:
        return
    assert repr(unpack(packed, packer.arrays)) == repr(value)


# -- models and ledgers ----------------------------------------------------------------------------


@cache
def _model():
    """The content of a saved model, and its tensors."""
    rows = np.random.default_rng(0).normal(size=(2000, 4)) * [5, 3, 1, 1]
    ev.save(ev.DPPCA(2, algorithm="dp-gauss-1", center=False, random_state=0).fit(rows), scratch() / "model")
    head = json.loads((scratch() / "model" / "model.json").read_text())
    return json.dumps(head), list(_places(head["content"]))


def _places(value, path=()):
    """All places in a JSON value."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _places(child, (*path, key))


def model(data):
    """A model in which one value was replaced, with matching checksums, loads and works, or is refused."""
    text, places = _model()
    head = json.loads(text)
    place = places[int.from_bytes(data[:2], "little") % len(places)]
    try:
        value = parse(data[2:])
    except DamagedFileError:
        return
    within = head["content"]
    for key in place[:-1]:
        within = within[key]
    if place:
        within[place[-1]] = value
    described = {"tensors": head["tensors"], "content": head["content"], "schema": SCHEMA}
    head["sha256"] = hashlib.sha256(canonical(described)).hexdigest()
    (scratch() / "model" / "model.json").write_text(json.dumps(head))
    _load_and_use()


def model_json(data):
    """Any bytes in place of model.json."""
    _model()
    (scratch() / "model" / "model.json").write_bytes(data)
    _load_and_use()


def _load_and_use():
    try:
        loaded = ev.load(scratch() / "model")
    except EigenveilError:
        return
    for use in (repr, as_plain, lambda one: one.transform(np.ones((2, 4))), lambda one: str(one.ledger_)):
        try:
            use(loaded)
        except EigenveilError:
            continue


def report(data):
    """A report of a model whose columns have any names has none of their control characters, and no new tags."""
    names = data.decode("utf-8", "replace").split(",")[:4]
    _model()
    (scratch() / "model" / "model.json").write_text(_model()[0])
    loaded = ev.load(scratch() / "model")
    loaded.feature_names_in_ = np.array([*names, *"abcd"][:4], dtype=object)
    page = render_report(loaded)
    assert not set(map(chr, [*range(9), 27, 127, 155, 0x202E, 0x2066])) & set(page)
    assert page.count("<script") == 0
    page.encode()


def score_map(data):
    """Any bytes as a map of scores."""
    text, _ = _model()
    (scratch() / "model" / "model.json").write_text(text)
    (scratch() / "model" / "score-map.json").write_bytes(data)
    try:
        load_map(ev.load(scratch() / "model"), scratch() / "model")
    except EigenveilError:
        return


def ledger(data):
    """A ledger file is read as it was written, or refused."""
    path = scratch() / "ledger.json"
    path.write_bytes(data)
    try:
        found = ledger_file.read_ledger(ledger_file.account_file(path))
    except EigenveilError:
        return
    again = Ledger.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    assert again.is_copy
    assert 0 <= found.mu <= found.budget.mu * (1 + 1e-9)
    _ = str(found), found._repr_html_(), found.epsilon(1e-6), found.remaining_mu


def ledger_entry(data):
    """An entry of a ledger, or a group, in JSON."""
    head = json.loads(Ledger(Budget.from_mu(1.0)).to_json())
    try:
        head["entries"] = [parse(data)]
    except DamagedFileError:
        return
    ledger(json.dumps(head).encode())


# -- the command line ------------------------------------------------------------------------------


def command_line(data):
    """Options, separated by NUL, for every parser of options."""
    texts = data.decode("utf-8", "replace").split("\0")
    for path in ("x.csv", "x.npy"):
        for call in (arguments.as_scale, arguments.as_bounds):
            _refused_or_done(call, texts, path)
    for call in (arguments.as_encode, arguments.as_fill, arguments.as_names):
        _refused_or_done(call, texts)
    for call in (arguments.as_groups, arguments.as_memory):
        _refused_or_done(call, texts[0])
    (scratch() / "x.npy").touch()
    _refused_or_done(arguments.as_columns, texts, str(scratch() / "x.npy"))


def _refused_or_done(call, *given):
    try:
        call(*given)
    except EigenveilError as error:
        assert str(error)  # noqa: PT017


def layout(data):
    """A layout of JSON values on columns a, b and c."""
    try:
        given = parse(data)
        if isinstance(given, dict):
            given = {name: given.get(name) for name in ("columns", "encode", "fill")}
            exact = Layout.of(**given).by_names(["a", "b", "c"], units=None)
            assert set(exact.columns) <= set("abc")
            assert Layout.of(**exact.plain).by_names(["a", "b", "c"], units=None).plain == exact.plain
    except EigenveilError:
        return


def encoding(data):
    """Encoded text is a function of its own entry, as a list of values and as a date."""
    labels, *texts = [text.split("\0") for text in data.decode("utf-8", "replace").split("\n")]
    values = [one for some in texts for one in some][:20]
    ways = [Since("days since 2020-01-01")]
    with contextlib.suppress(EigenveilError):
        ways.append(read_encoding("a", labels))
    for way in ways:
        together = np.asarray(way.read(pa.array(values, pa.string())))
        for number, value in enumerate(values):
            alone = np.asarray(way.read(pa.array([value], pa.string())))
            assert np.array_equal(alone[:, 0], together[:, number], equal_nan=True)


# -- other files -----------------------------------------------------------------------------------

_KINDS = (".parquet", ".feather", ".npy", ".npz")


def binary_file(data):
    """A file of any format is read, or refused; people and encoded columns, too."""
    if not data:
        return
    path = scratch() / f"fuzz{_KINDS[data[0] % len(_KINDS)]}"
    path.write_bytes(data[1:])
    ways = ({}, {"columns": ["a"]}, {"columns": ["a"], "units": "id"}, {"columns": ["c"], "encode": {"c": ["x"]}})
    for how in ways:
        try:
            for block in open_source(path, **how).blocks():
                assert block.values.shape[0] >= 0
        except EigenveilError:
            continue


TARGETS = {
    target.__name__: target
    for target in (
        *(lines, csv_file, strict_json, codec, model, model_json, report, score_map, ledger, ledger_entry),
        *(command_line, layout, encoding, binary_file, app_routes),
    )
}
