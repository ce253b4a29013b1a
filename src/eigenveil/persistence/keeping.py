"""Save a fitted model, and load it: from attributes to plain values and back, exactly."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenveil.errors import InvalidInputError
from eigenveil.estimators import DPPCA
from eigenveil.estimators.settings import as_fitted, parameters_of_fit
from eigenveil.persistence.checks import KEPT, check_attributes, check_parameters
from eigenveil.persistence.folders import read_folder, write_folder
from eigenveil.persistence.layouts import LAYOUT, plain_layout, restored_layout
from eigenveil.persistence.ledgers import pack_ledger, unpack_ledger
from eigenveil.persistence.plain import Arrays, Packer, unpack
from eigenveil.persistence.strict_json import DamagedFileError
from eigenveil.privacy import Ledger
from eigenveil.sources import Layout
from eigenveil.subspace import Release
from eigenveil.subspace.diagnostics import fits, restored
from eigenveil.subspace.release_warnings import ReleaseWarning
from eigenveil.subspace.variances import NoisyVariances

NOT_KEPT = {"engine": "auto", "callback": None}
"""Parameters that are of this process, and what a loaded model has in their place."""
_CONTENT = {"parameters", "attributes", "release", "ledger", "private", "not_private_because"}


def save(model: DPPCA, path: str | os.PathLike[str]) -> None:
    """Save a fitted model as a folder of two files: `model.json` and a safetensors file.

    Parameters
    ----------
    model : DPPCA
        A fitted one. In a stream with an open batch it is refused: that holds raw rows.
    path : path
        The folder. A model that is there is replaced; a folder with other things in it is refused.

    Notes
    -----
    *Formal guarantees.* The files hold the parameters, what was released, and the ledger: nothing else of the data
    than what the attributes of the model show, so publishing them costs nothing more. A model that is not private
    says so in the file, and when it is loaded.

    It is written under another name, brought to the disk and then moved into place: a crash leaves the old model
    or the new one. `engine` and `callback` are not kept. Parameters that say what the fit has cost are those of
    the fit, also where `set_params` has changed them since.

    Examples
    --------
    >>> import tempfile, eigenveil as ev
    >>> pca = DPPCA(2, epsilon=1.0).fit(np.random.default_rng(0).normal(size=(20_000, 4)) * [5, 3, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ev.save(pca, f"{folder}/model")
    ...     again = ev.load(f"{folder}/model")
    >>> bool(np.array_equal(again.components_, pca.components_)), repr(again) == repr(pca)
    (True, True)
    """
    if type(model) is not DPPCA:
        raise InvalidInputError(f"expected a DPPCA, got a {type(model).__name__}.")
    stream = vars(model).get("_stream")
    if stream is not None and stream.open_slots:
        raise InvalidInputError(
            "this DPPCA is in the middle of a stream: the open batch holds raw rows, and model files never do.",
            hint="pca.stream.save(path) writes a checkpoint to go on with; or save when a batch has just closed.",
        )
    check_is_fitted(model)
    packer = Packer()
    content = {
        "parameters": _parameters(model, packer),
        "attributes": {name: _pack(value, packer, name) for name, value in _attributes(model).items()},
        "release": _packed_release(model.release_, packer),
        "ledger": pack_ledger(model.ledger_),
        "private": model.ledger_.private,
        "not_private_because": list(model.ledger_.reasons),
    }
    write_folder(pathlib.Path(path), content, packer.arrays, version=version("eigenveil"))


def load(path: str | os.PathLike[str]) -> DPPCA:
    """The model that `save` wrote: fitted, with the same attributes to the bit.

    Parameters
    ----------
    path : path
        The folder.

    Returns
    -------
    DPPCA
        Its ledger is a copy, which is read but not charged unless ``ledger_.adopt()`` declares that the original
        is not charged any more.

    Raises
    ------
    InvalidInputError
        The folder holds no model, one that is damaged or cut off, one of a newer eigenveil, or something made up.
        Nothing in a file is ever run. Checksums tell damage, not fraud: that a file says "private" is worth what
        its author's word is worth.
    """
    content, arrays = read_folder(pathlib.Path(path))
    if set(content) != _CONTENT or not isinstance(content["parameters"], dict):
        raise DamagedFileError("model.json does not hold what a model has.")
    ledger = unpack_ledger(content["ledger"])
    if (content["private"], content["not_private_because"]) != (ledger.private, list(ledger.reasons)):
        raise DamagedFileError("the file and its ledger do not agree on whether the model is private.")
    release = _unpacked_release(content["release"], arrays, ledger)
    attributes = _unpacked_attributes(content["attributes"], arrays, release, ledger)
    model = DPPCA(**_unpacked_parameters(content["parameters"], arrays, ledger))
    model.__dict__.update(attributes, _fitted_with=parameters_of_fit(model))
    return model


# -- parameters ----------------------------------------------------------------------------------


def _parameters(model: DPPCA, packer: Packer) -> dict[str, Any]:
    given = {**model.get_params(deep=False), **as_fitted(model), **NOT_KEPT}
    given |= plain_layout(Layout.of(given["columns"], given["encode"], given["fill"]))
    ledger = given.pop("ledger")
    packed = {name: packer.pack(value, at=f"parameters.{name}") for name, value in given.items()}
    if ledger is None:
        packed["ledger"] = None
    else:
        packed["ledger"] = {"own": True} if ledger is model.ledger_ else pack_ledger(ledger)
    return packed


def _unpacked_parameters(packed: dict[str, Any], arrays: Arrays, ledger: Ledger) -> dict[str, Any]:
    shared = packed.get("ledger")
    given = {name: unpack(value, arrays) for name, value in packed.items() if name != "ledger"}
    if shared is not None:
        given["ledger"] = ledger if shared == {"own": True} else unpack_ledger(shared)
    check_parameters(given, DPPCA().get_params(deep=False))
    return {**given, **restored_layout({name: given.get(name) for name in LAYOUT}).plain}


# -- attributes ----------------------------------------------------------------------------------


def _attributes(model: DPPCA) -> dict[str, Any]:
    """What is kept of the fit, but for ledger and release."""
    return {name: vars(model)[name] for name in sorted(KEPT) if name in vars(model)}


def _pack(value: Any, packer: Packer, name: str) -> Any:
    if name == "feature_names_in_":
        value = [str(one) for one in value]
    return packer.pack(plain_layout(value) if name == "layout_" else value, at=name)


def _unpacked_attributes(packed: Any, arrays: Arrays, release: Release, ledger: Ledger) -> dict[str, Any]:
    if not isinstance(packed, dict) or not set(packed) <= KEPT:
        raise DamagedFileError("the model has attributes that a DPPCA does not have.")
    found = {name: unpack(value, arrays) for name, value in packed.items()}
    found["layout_"] = restored_layout(found.get("layout_"))
    check_attributes(found, release)
    if "feature_names_in_" in found:
        found["feature_names_in_"] = np.asarray(found["feature_names_in_"], dtype=object)
    return {**found, "release_": release, "ledger_": ledger}


# -- the release ---------------------------------------------------------------------------------


def _packed_release(release: Release, packer: Packer) -> dict[str, Any]:
    fields = {field.name: getattr(release, field.name) for field in dataclasses.fields(release)}
    del fields["ledger"]
    variances = fields["variances"]
    if variances is not None:
        fields["variances"] = {one.name: getattr(variances, one.name) for one in dataclasses.fields(variances)}
    fields["diagnostics"] = {"kind": type(release.diagnostics).__name__, "values": dict(release.diagnostics)}
    fields["warnings"] = [one.to_plain() for one in release.warnings]
    return {name: packer.pack(value, at=f"release.{name}") for name, value in fields.items()}


def _unpacked_release(packed: Any, arrays: Arrays, ledger: Ledger) -> Release:
    names = {field.name for field in dataclasses.fields(Release)} - {"ledger"}
    if not isinstance(packed, dict) or set(packed) != names:
        raise DamagedFileError("the release has other fields than a release has.")
    fields = {name: unpack(value, arrays) for name, value in packed.items()}
    variances = fields["variances"]
    if variances is not None:
        known = {field.name for field in dataclasses.fields(NoisyVariances)}
        if not isinstance(variances, dict) or set(variances) != known:
            raise DamagedFileError("the variances have other fields than variances have.")
        fields["variances"] = NoisyVariances(**variances)
    try:
        fields["diagnostics"] = restored(**fields["diagnostics"])
        fields["warnings"] = tuple(map(ReleaseWarning.from_plain, fields["warnings"]))
    except (KeyError, TypeError, ValueError):
        raise DamagedFileError("the diagnostics or warnings of the release are not what a release has.") from None
    if not fits(str(fields["algorithm"]), fields["diagnostics"]):
        raise DamagedFileError("the diagnostics are not those of the algorithm.")
    return Release(**fields, ledger=ledger)
