"""Save and load fitted models. Attributes are converted to JSON values and arrays, and restored exactly."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenveil.algorithms import Release
from eigenveil.algorithms.diagnostics import fits, restored
from eigenveil.algorithms.release_warnings import ReleaseWarning
from eigenveil.algorithms.variances import NoisyVariances
from eigenveil.errors import InvalidInputError
from eigenveil.estimators import DPPCA
from eigenveil.estimators.settings import as_fitted, parameters_of_fit
from eigenveil.persistence.checks import KEPT, check_attributes, check_parameters
from eigenveil.persistence.folders import read_folder, write_folder
from eigenveil.persistence.json_codec import Arrays, Packer, unpack
from eigenveil.persistence.layouts import LAYOUT, plain_layout, restored_layout
from eigenveil.persistence.ledgers import pack_ledger, unpack_ledger
from eigenveil.persistence.strict_json import DamagedFileError
from eigenveil.privacy import Ledger
from eigenveil.sources import Layout

NOT_KEPT = {"engine": "auto", "callback": None, "verbose": 0}
"""Parameters that belong to the current process and are not saved, with their values in a loaded model."""
_CONTENT = {"parameters", "attributes", "release", "ledger", "private", "not_private_because"}


def save(model: DPPCA, path: str | os.PathLike[str]) -> None:
    """Save a fitted model as a folder of two files: `model.json` and a safetensors file.

    Parameters
    ----------
    model : DPPCA
        Fitted model. Raises in the middle of a stream batch, because an open batch contains raw rows.
    path : path
        Folder to save to. An existing model is replaced. Raises if the folder contains other files.

    Notes
    -----
    *Formal guarantees.* The files contain the parameters, the released values and the ledger. They contain nothing
    about the data beyond what the attributes of the model show, so publishing them spends no further budget. A
    model that is not private is marked as such in the file, and stays marked when it is loaded.

    The files are written under a temporary name, synced to disk and then renamed: a crash leaves the old model or
    the new one. `engine`, `callback` and `verbose` are not saved. Parameters that state the privacy cost are saved
    as they were during the fit, even if `set_params` has changed them since.

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
            "this DPPCA is in the middle of a stream: the open batch contains raw rows, and model files never do.",
            hint="pca.stream.save(path) writes a checkpoint to resume from; or save when a batch has just closed.",
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
    """Load a model saved by `save`: fitted, with bitwise equal attributes.

    Parameters
    ----------
    path : path
        Folder of the model.

    Returns
    -------
    DPPCA
        The fitted model. Its ledger is a copy: it can be read, but not charged unless ``ledger_.adopt()`` declares
        that the original is no longer charged.

    Raises
    ------
    InvalidInputError
        The folder contains no model, or the model is damaged, truncated, forged, or saved by a newer version of
        eigenveil. Loading never executes code from a file. Checksums detect damage, not fraud: if a file claims to
        be private, you have to trust its author.
    """
    content, arrays = read_folder(pathlib.Path(path))
    if set(content) != _CONTENT or not isinstance(content["parameters"], dict):
        raise DamagedFileError("model.json does not have the fields of a model.")
    ledger = unpack_ledger(content["ledger"])
    if (content["private"], content["not_private_because"]) != (ledger.private, list(ledger.reasons)):
        raise DamagedFileError("model.json and its ledger disagree on whether the model is private.")
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
    """Return the saved attributes of the fit, except ledger and release."""
    return {name: vars(model)[name] for name in sorted(KEPT) if name in vars(model)}


def _pack(value: Any, packer: Packer, name: str) -> Any:
    if name == "feature_names_in_":
        value = [str(one) for one in value]
    return packer.pack(plain_layout(value) if name == "layout_" else value, at=name)


def _unpacked_attributes(packed: Any, arrays: Arrays, release: Release, ledger: Ledger) -> dict[str, Any]:
    if not isinstance(packed, dict) or not set(packed) <= KEPT:
        raise DamagedFileError("the model has attributes that DPPCA does not have.")
    found = {name: unpack(value, arrays) for name, value in packed.items()}
    found["layout_"] = restored_layout(found.get("layout_"))
    check_attributes(found, release)
    if "feature_names_in_" in found:
        found["feature_names_in_"] = np.asarray(found["feature_names_in_"], dtype=object)
    return {**found, "release_": release, "ledger_": ledger}


# -- release -------------------------------------------------------------------------------------


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
        raise DamagedFileError("the release has unexpected or missing fields.")
    fields = {name: unpack(value, arrays) for name, value in packed.items()}
    variances = fields["variances"]
    if variances is not None:
        known = {field.name for field in dataclasses.fields(NoisyVariances)}
        if not isinstance(variances, dict) or set(variances) != known:
            raise DamagedFileError("the variances have unexpected or missing fields.")
        fields["variances"] = NoisyVariances(**variances)
    try:
        fields["diagnostics"] = restored(**fields["diagnostics"])
        fields["warnings"] = tuple(map(ReleaseWarning.from_plain, fields["warnings"]))
    except (KeyError, TypeError, ValueError):
        raise DamagedFileError("the diagnostics or warnings of the release are not valid.") from None
    if not fits(str(fields["algorithm"]), fields["diagnostics"]):
        raise DamagedFileError("the diagnostics do not belong to the algorithm.")
    return Release(**fields, ledger=ledger)
