"""Untrusted files: they load as the same model, or raise an eigenveil error; no code is executed."""

import hashlib
import json
import os
import shutil
import struct
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eigenveil as ev
from eigenveil import DPPCA
from eigenveil.errors import InvalidInputError
from eigenveil.persistence.folders import SCHEMA
from eigenveil.persistence.strict_json import DamagedFileError, canonical, parse
from persistence.test_round_trip import assert_same


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(2000, 4)) * [5, 3, 1, 1]
    return DPPCA(2, algorithm="dp-gauss-1", center=False, random_state=0).fit(X)


@pytest.fixture
def folder(model, tmp_path):
    ev.save(model, tmp_path / "model")
    return tmp_path / "model"


def tensors_of(folder):
    return next(folder.glob("*.safetensors"))


def loads_or_explains(folder, model):
    """Return whether the folder loaded; if so, check that it is the same model."""
    try:
        again = ev.load(folder)
    except InvalidInputError:
        return False
    assert_same(model, again)
    return True


# -- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["json", "tensors"])
@given(data=st.data())
@settings(max_examples=150)
def test_flipped_bits(which, data, model, folder):
    file = folder / "model.json" if which == "json" else tensors_of(folder)
    whole = file.read_bytes()
    damaged = bytearray(whole)
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged[place] ^= data.draw(st.integers(1, 255))
    file.write_bytes(damaged)
    loaded = loads_or_explains(folder, model)
    file.write_bytes(whole)
    assert not (loaded and which == "tensors")


def test_every_byte_of_the_tensors_counts(model, folder):
    file = tensors_of(folder)
    whole = file.read_bytes()
    for place in range(0, len(whole), 7):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert not loads_or_explains(folder, model)


@pytest.mark.parametrize("which", ["json", "tensors"])
def test_truncated_and_extended_files(which, model, folder):
    file = folder / "model.json" if which == "json" else tensors_of(folder)
    whole = file.read_bytes()
    for length in [0, 1, 7, 8, 9, *range(10, len(whole) - 1, max(1, len(whole) // 40))]:
        file.write_bytes(whole[:length])
        assert not loads_or_explains(folder, model)
    for more in (b"\0", b"}", b"0" * 100):
        file.write_bytes(whole + more)
        assert not loads_or_explains(folder, model)
    file.write_bytes(whole + b"\n")
    assert loads_or_explains(folder, model) == (which == "json")


def test_missing_files(model, folder):
    tensors_of(folder).unlink()
    assert not loads_or_explains(folder, model)
    (folder / "model.json").unlink()
    assert not loads_or_explains(folder, model)
    with pytest.raises(InvalidInputError, match="could not be read: No such file"):
        ev.load(folder.parent / "nowhere")


def test_tensors_of_another_model(model, folder, tmp_path):
    other = DPPCA(2, algorithm="dp-gauss-1", center=False, random_state=1).fit(np.eye(4))
    ev.save(other, tmp_path / "other")
    tensors_of(folder).write_bytes(tensors_of(tmp_path / "other").read_bytes())
    assert not loads_or_explains(folder, model)


# -- forged, with matching checksums -------------------------------------------------------------


def forge(folder, change, *, tensors=None):
    """Change model.json and its checksums, as an attacker who knows the format would."""
    head = json.loads((folder / "model.json").read_text())
    change(head)
    if tensors is not None:
        tensors_of(folder).unlink()
        head["tensors"]["sha256"] = hashlib.sha256(tensors).hexdigest()
        (folder / f"tensors-{head['tensors']['sha256'][:16]}.safetensors").write_bytes(tensors)
    described = {"tensors": head["tensors"], "content": head["content"], "schema": SCHEMA}
    head["sha256"] = hashlib.sha256(canonical(described)).hexdigest()
    (folder / "model.json").write_text(json.dumps(head))


def test_a_forgery_without_change_loads(model, folder):
    forge(folder, lambda _: None, tensors=tensors_of(folder).read_bytes())
    assert loads_or_explains(folder, model)


def setting(*path, value):
    def change(head):
        for name in path[:-1]:
            head = head[name]
        head[path[-1]] = value

    return change


ENTRY = {"what": "x", "kind": "declared", "mu": 0.0, "epsilon": 0.0, "delta": 0.0, "sensitivity": None}
ENTRY |= {"scale": None, "releases": 0, "draws": 0, "note": "", "purpose": "other"}
CONTENT = [
    (("parameters", "whiten"), "yes"),
    (("parameters", "algorithm"), "os.system"),
    (("parameters", "engine"), "other"),
    (("parameters", "epsilon"), "1"),
    (("parameters", "options"), [1]),
    (("parameters", "unheard_of"), 1),
    (("parameters", "ledger"), {"own": False}),
    (("parameters", "ledger"), 5),
    (("parameters", "center"), {"array": "nothing"}),
    (("parameters", "center"), {"array": ["components_"]}),
    (("parameters", "center"), {"call": "os.system"}),
    (("parameters", "center"), {"numpy": "object", "value": 1}),
    (("parameters", "center"), {"numpy": "int32", "value": 2**40}),
    (("parameters", "center"), {"number": "1"}),
    (("parameters", "center"), {"dict": [["a", 1], ["a", 2]]}),
    (("parameters", "center"), {"dict": [[1.5, 2]]}),
    (("parameters", "center"), {"tuple": 5}),
    (("parameters",), []),
    (("attributes", "components_"), {"array": "mean_"}),
    (("attributes", "components_"), 5),
    (("attributes", "mean_"), None),
    (("attributes", "scale_"), {"array": "explained_variance_"}),
    (("attributes", "n_components_"), 3),
    (("attributes", "n_components_"), True),
    (("attributes", "n_features_in_"), 2.0),
    (("attributes", "n_samples_"), "many"),
    (("attributes", "n_samples_seen_"), -1),
    (("attributes", "feature_names_in_"), ["a"]),
    (("attributes", "feature_names_in_"), [1, 2, 3, 4]),
    (("attributes", "_unit_column"), "who"),
    (("attributes", "_sklearn_output_config"), {"dict": [["transform", 3]]}),
    (("attributes", "__class__"), "x"),
    (("attributes", "transform"), 1),
    (("attributes", "_stream"), 1),
    (("attributes",), None),
    (("release", "algorithm"), 5),
    (("release", "diagnostics"), []),
    (("release", "components"), None),
    (("release", "components"), {"array": "mean_"}),
    (("release", "eigenvalues"), {"array": "mean_"}),
    (("release", "variances"), {"dict": [["explained", 1]]}),
    (("release", "more"), 1),
    (("release",), {}),
    (("private",), True),
    (("not_private_because",), []),
    (("ledger", "private"), True),
    (("ledger", "schema"), 99),
    (("ledger", "relation"), "friends"),
    (("ledger", "budget"), {"mu": -1.0, "epsilon_aside": 0.0, "delta_aside": 0.0}),
    (("ledger", "budget"), {"mu": 10**79, "epsilon_aside": 0.0, "delta_aside": 0.0, "more": 1}),
    (("ledger", "budget"), {"mu": 1e-9, "epsilon_aside": 0.0, "delta_aside": 0.0}),
    (("ledger", "entries"), [{**ENTRY, "what": ["a"]}]),
    (("ledger", "entries"), [{**ENTRY, "mu": True}]),
    (("ledger", "entries"), [{**ENTRY, "kind": "gaussian"}]),
    (("ledger", "entries"), [{**ENTRY, "cost": 0}]),
    (("ledger", "entries"), [{**ENTRY, "purpose": "counting"}]),
    (("ledger", "entries"), [{**ENTRY, "purpose": None}]),
    (("ledger", "entries"), [{"parallel": "x", "parts": [5]}]),
    (("ledger", "entries"), [{"parallel": "x", "parts": [[ENTRY]], "finished": 1}]),
    (("ledger", "entries"), {"a": 1}),
    (("ledger", "not_private_because"), [5]),
    (("ledger",), []),
    (("extra",), 1),
]


@pytest.mark.parametrize(("path", "value"), CONTENT, ids=lambda one: str(one)[:50])
def test_forged_content(path, value, folder):
    forge(folder, setting("content", *path, value=value))
    with pytest.raises(DamagedFileError):
        ev.load(folder)


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("schema",), 3, "schema 3.*\nHint: A newer"),
        (("schema",), 1, "schema 1 of a development version"),
        (("schema",), 10**60, "newer"),
        (("schema",), "1", "fields of a model"),
        (("schema",), True, "fields of a model"),
        (("schema",), 0, "fields of a model"),
        (("format",), "pickle", "another JSON"),
        (("more",), 1, "fields of a model"),
        (("content",), 5, "fields of a model"),
        (("tensors",), {}, "fields of a model|checksum"),
        (("tensors", "sizes"), [], "fields of a model"),
        (("tensors", "sizes", "mean_"), {"dtype": "object", "shape": [4]}, "invalid type or shape"),
        (("tensors", "sizes", "mean_"), {"dtype": "float64", "shape": [-4]}, "invalid type or shape"),
        (("tensors", "sizes", "mean_"), {"dtype": "float64", "shape": [4.0]}, "invalid type or shape"),
        (("tensors", "sizes", "mean_"), {"dtype": "float64", "shape": [10**18, 10**18]}, "size"),
        (("tensors", "sizes", "mean_"), {"dtype": "float64", "shape": [1] * 99}, "invalid type or shape"),
        (("tensors", "sizes", "mean_"), {"dtype": "float64", "shape": [2, 2]}, "names, types or shapes"),
        (("tensors", "sizes", "mean_"), {"dtype": "int64", "shape": [4]}, "names, types or shapes"),
        (("tensors", "sha256"), "../../../etc/passwd", "checksum"),
        (("tensors", "sha256"), ["a"], "checksum"),
        (("tensors", "sha256"), "0" * 64, "No such file"),
    ],
)
def test_forged_heads(path, value, match, folder):
    forge(folder, setting(*path, value=value))
    with pytest.raises(InvalidInputError, match=match):
        ev.load(folder)


def tensors_with(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def one(dtype="F64", shape=(4,), offsets=(0, 32)):
    return {"mean_": {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}}


@pytest.mark.parametrize(
    "tensors",
    [
        tensors_with(b"[]", bytes(32)),
        tensors_with(b"\x80\x04cos\nsystem\n.", bytes(32)),
        tensors_with(b"[" * 100_000, bytes(32)),
        tensors_with(one(offsets=(0, 2**63)), bytes(32)),
        tensors_with(one(offsets=(8, 32)), bytes(32)),
        tensors_with(one(shape=(5,)), bytes(32)),
        tensors_with(one(dtype="F32"), bytes(32)),
        tensors_with(one(dtype="BF16"), bytes(32)),
        tensors_with({**one(), "more": {"dtype": "F64", "shape": [0], "data_offsets": [32, 32]}}, bytes(32)),
        tensors_with({}, bytes(32)),
        tensors_with(one(), np.full(4, np.nan).tobytes()),
        tensors_with(one(), np.full(4, np.inf).tobytes()),
        struct.pack("<Q", 2**64 - 1) + bytes(60),
        bytes(100),
    ],
)
def test_forged_tensors(tensors, folder):
    sizes = {"mean_": {"dtype": "float64", "shape": [4]}}
    forge(folder, setting("tensors", "sizes", value=sizes), tensors=tensors)
    with pytest.raises(DamagedFileError):
        ev.load(folder)


# -- other files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[1, 2]",
        b'{"format": "eigenveil model", "format": "eigenveil model"}',
        b'{"format": NaN}',
        b'{"format": -Infinity}',
        b'{"format": 1e999}',
        b'{"format": ' + b"9" * 5000 + b"}",
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b"[" * 100 + b"]" * 100,
        b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x02id\x94\x85\x94R\x94.",
        b'{"weights": "pytorch_model.bin"}',
    ],
    ids=lambda text: repr(text[:20]),
)
def test_foreign_json(text, folder):
    (folder / "model.json").write_bytes(text)
    with pytest.raises(DamagedFileError):
        ev.load(folder)


def test_depth_is_counted_outside_of_strings_only():
    assert parse(json.dumps({"a": "[" * 1000 + '"\\'}).encode()) == {"a": "[" * 1000 + '"\\'}
    assert parse(json.dumps([[]] * 1000).encode()) == [[]] * 1000


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links of POSIX")
def test_files_that_are_not_regular(folder, tmp_path):
    for name in ("model.json", tensors_of(folder).name):
        kept = (folder / name).read_bytes()
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(DamagedFileError, match="regular"):
            ev.load(folder)
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")
        with pytest.raises(DamagedFileError, match="regular"):
            ev.load(folder)
        (folder / name).unlink()
        (folder / name).write_bytes(kept)
    with pytest.raises(InvalidInputError, match="could not be read"):
        ev.load(folder / "model.json")
    huge = tmp_path / "huge"
    shutil.copytree(folder, huge)
    with (huge / "model.json").open("r+b") as file:
        file.truncate(1 << 40)  # sparse on disk
    with pytest.raises(DamagedFileError, match="size"):
        ev.load(huge)


@pytest.mark.parametrize("module", ["pickle", "joblib", "yaml", "marshal", "shelve"])
def test_the_package_uses_no_format_that_executes_code(module):
    package = os.path.dirname(sys.modules["eigenveil.persistence"].__file__)  # noqa: PTH120
    for name in os.listdir(package):  # noqa: PTH208
        if name.endswith(".py"):
            with open(os.path.join(package, name)) as file:  # noqa: PTH118, PTH123
                text = file.read()
            assert f"import {module}" not in text
            assert not any(word in text for word in ("eval(", "exec(", "__import__", "allow_pickle"))
