"""Every way through the library once, small and seeded: what is released must not change with the code's shape."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

import eigenveil as ev
from eigenveil import DPPCA

D, N, K = 6, 1500, 2
COST = {"epsilon": 4.0, "delta": 1e-5}
SEED = {"random_state": 7}


def rows(n=N, d=D):
    rng = np.random.default_rng(0)
    scales = np.concatenate([[6.0, 3.0], np.ones(d - 2)])
    out = rng.normal(size=(n, d)) * scales + np.concatenate([[5.0], np.zeros(d - 1)])
    out[3, 1], out[10, 0], out[17, 2] = np.nan, np.inf, 1e200
    return out


def skewed():
    rng = np.random.default_rng(1)
    return np.exp(rng.normal(size=(4000, D))) * np.arange(1, D + 1)


def sparse_rows():
    dense = np.nan_to_num(rows(), posinf=0.0)
    dense[np.random.default_rng(2).random(dense.shape) < 0.6] = 0.0
    return sparse.csr_array(dense)


def frame():
    out = pd.DataFrame(rows(), columns=list("abcdef")).assign(who=np.arange(N) % 500)
    out.loc[out.index % 97 == 0, "who"] = None
    return out


def matrices():
    inside = np.nan_to_num(rows()[20:420])
    return ev.samples.matrices(inside[:, :, None] * inside[:, None, :])


def factors():
    inside = rows()[20:1220]
    return ev.samples.factors([inside[i : i + 3] for i in range(0, len(inside), 3)])


def spiked():
    V = np.linalg.qr(np.random.default_rng(3).normal(size=(D, 2)))[0]
    return ev.samples.spiked(V, [9.0, 4.0], rows())


FUNCTIONS = {
    "tracked": (ev.tracked_pca, {}),
    "tracked, centred": (ev.tracked_pca, {"center": True}),
    "tracked, by blocks": (ev.tracked_pca, {"oversampling": 1}),
    "tracked, declared": (ev.tracked_pca, {"spectrum": [40.0, 9.0]}),
    "k-dp-pca": (ev.k_dp_pca, {}),
    "k-dp-pca, batches": (ev.k_dp_pca, {"batch_size": 200}),
    "k-dp-pca, fixed range": (ev.k_dp_pca, {"range_finder": 30.0}),
    "k-dp-pca, rates": (ev.k_dp_pca, {"learning_rates": [[0.1] * 9, [0.2] * 9]}),
    "k-dp-ojas": (ev.k_dp_ojas, {}),
    "k-dp-ojas, clip": (ev.k_dp_ojas, {"clip": 2.0}),
    "dp-gauss-1": (ev.dp_gauss_1, {}),
    "dp-gauss-1, declared": (ev.dp_gauss_1, {"beta": 9.0, "n": N, "eigenvalues": False}),
    "dp-gauss-1, printed": (ev.dp_gauss_1, {"beta": 9.0, "n": N, "noise": "printed", "epsilon": 0.5}),
    "dp-gauss-2": (ev.dp_gauss_2, {}),
    "dp-gauss-2, declared": (ev.dp_gauss_2, {"beta": 9.0, "n": N}),
    "dp-power": (ev.dp_power_method, {}),
    "dp-power, declared": (ev.dp_power_method, {"beta": 9.0, "n": N, "rounds": 3, "eigenvalues": False}),
}
LITERAL = {
    "k-dp-pca, as printed": {"mean_estimator": "privmean", "range_finder": "privrange"},
    "k-dp-pca, disjoint halves": {
        "mean_estimator": "privmean",
        "range_finder": "privrange",
        "halves": "disjoint",
        "batch_size": 400,
    },
    "k-dp-pca, range as printed": {"range_finder": "privrange", "batch_size": 700},
    "k-dp-pca, mean as printed": {"mean_estimator": "privmean", "range_finder": 50.0, "batch_size": 300},
}
KINDS = {
    "sparse": sparse_rows,
    "float32": lambda: np.nan_to_num(rows(), posinf=0.0).clip(-1e9, 1e9).astype(np.float32),
    "people": lambda: ev.samples.people(frame(), "who"),
    "matrices": matrices,
    "factors": factors,
    "spiked": spiked,
}
FITS = {
    "default": {},
    "replace": {"relation": "replace"},
    "scale": {"scale": "private"},
    "scale, replace": {"scale": "private", "relation": "replace"},
    "scale, not centred": {"scale": "private", "center": False},
    "not centred": {"center": False},
    "declared": {"center": np.arange(float(D)), "scale": np.arange(1.0, D + 1)},
    "bounds": {"bounds": (-10.0, 20.0)},
    "spectrum declared": {"options": {"spectrum": [40.0, 9.0, 1.0]}},
    "wide": {"n_components": 2, "options": {"oversampling": 1}},
    **{name: {"algorithm": name} for name in ("k-dp-pca", "k-dp-ojas", "dp-gauss-1", "dp-gauss-2", "dp-power")},
    "dp-gauss-1, scale": {"algorithm": "dp-gauss-1", "scale": "private"},
    "dp-gauss-1, n declared": {"algorithm": "dp-gauss-1", "options": {"n": N}},
    "dp-gauss-1, not centred": {"algorithm": "dp-gauss-1", "center": False},
}


def of_function(name, relation):
    run, options = FUNCTIONS[name]
    return released(run(rows(), K, **{**COST, **SEED, "relation": relation, **options}))


def of_kind(name, kind):
    run, options = FUNCTIONS[name]
    return released(run(KINDS[kind](), K, **COST, **SEED, **options))


def of_fit(name, data=None, units=None):
    heard = []
    pca = DPPCA(**{"n_components": K, **COST, **SEED, **FITS[name], "callback": heard.append})
    pca.fit(rows() if data is None else data, units=units)
    found = {
        name: value
        for name, value in vars(pca).items()
        if name.endswith("_") and name not in ("ledger_", "release_", "layout_") and not name.startswith("_")
    }
    steps = [(one.what, one.step, one.share) for one in heard]
    return {**found, "release": released(pca.release_), "steps": steps}


def of_files(kind):
    table = frame()
    with tempfile.TemporaryDirectory() as folder:
        for part in range(2):
            some = table.iloc[part * 700 : (part + 1) * 700 if part == 0 else None]
            path = Path(folder) / f"part-{part}.{kind}"
            some.to_parquet(path) if kind == "parquet" else some.to_csv(path, index=False)
        pattern = f"{folder}/part-*.{kind}"
        columns = list("abcdef")
        people = ev.samples.people(pattern, "who", columns=columns)
        return {
            "rows": of_fit("default", ev.samples.rows(pattern, columns=columns)),
            "people": of_fit("default", people),
            "split": released(ev.k_dp_pca(people, K, **COST, **SEED)),
        }


def of_stream(people):
    stream = ev.TrackedStream(K, **COST, **SEED, batch_size=300, units="people" if people else "rows")
    seen = []
    for start in range(0, N, 250):
        ids = {"units": np.arange(start, start + 250) % 1100} if people else {}
        stream.add(rows()[start : start + 250], **ids)
        if stream.batches:
            seen.append(released(stream.release()))
    return {"releases": seen, "arrivals": stream.arrivals}


def of_scores():
    pca = DPPCA(K, **COST, **SEED).fit(frame(), units="who")
    labels = np.where(np.nan_to_num(rows()[:, 0]) > 1, "high", "low")
    scores = pca.private_scores(
        frame(),
        bins=5,
        bounds=((-9, 9), (-9, 9)),
        groups=labels,
        labels=["low", "high"],
        epsilon=1.0,
        delta=1e-6,
        **SEED,
    )
    return {"counts": scores.counts, "ledger": entries(scores.ledger)}


def of_oracle(relation):
    def power(units):
        total = sum(block.sum(axis=0) for block in units.matrices().tensors())
        return np.linalg.eigh(np.nan_to_num(total))[1][:, -1]

    return released(ev.black_box_pca(np.nan_to_num(rows()[20:]), K, power, relation=relation, **SEED))


CASES = {
    **{f"{name} / {r}": (of_function, name, r) for name in FUNCTIONS for r in ("add-remove", "replace")},
    **{
        f"{name} / {kind}": (of_kind, name, kind)
        for name in ("tracked", "k-dp-pca", "k-dp-ojas", "dp-gauss-1", "dp-power")
        for kind in KINDS
    },
    **{f"fit, {name}": (of_fit, name) for name in FITS},
    **{f"stream of {'people' if people else 'rows'}": (of_stream, people) for people in (False, True)},
    **{f"files, {kind}": (of_files, kind) for kind in ("parquet", "csv")},
    **{f"oracle / {r}": (of_oracle, r) for r in ("add-remove", "replace")},
    "fit, skewed": (lambda: of_fit("default", skewed()),),
    "fit, few": (lambda: of_fit("default", rows()[:60]),),
    "fit, sparse": (lambda: of_fit("default", sparse_rows()),),
    "fit, people": (lambda: of_fit("default", frame(), "who"),),
    "fit, 40 columns": (lambda: of_fit("default", rows(3000, 40)),),
    "fit, people and scales": (lambda: of_fit("scale", frame(), "who"),),
    "scores": (of_scores,),
    "plan": (lambda: planned(ev.plan(5000, 20, 2, epsilon=1.0)),),
    "oja": (lambda: {"direction": ev.oja(np.nan_to_num(rows()[20:]), **SEED).components},),
}


def of_literal(name):
    cost = {"epsilon": 0.9, "delta": 1e-2, "relation": "replace"}
    return released(ev.k_dp_pca(rows(), K, **cost, **SEED, **LITERAL[name]))


CASES.update({f"{name} / literal": (of_literal, name) for name in LITERAL})


def run(name):
    """What a case releases, as plain values; warnings are part of it."""
    make, *arguments = CASES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = make(*arguments)
    return plain({**found, "warnings": sorted(str(one.message) for one in caught)})


def released(release):
    kept = {name: getattr(release, name) for name in ("components", "eigenvalues", "mean")}
    diagnostics = {name: value for name, value in release.diagnostics.items() if numbers(value)}
    bought = release.variances
    variances = None if bought is None else [bought.explained, bought.total, bought.noise, bought.radius]
    return {**kept, "variances": variances, "diagnostics": diagnostics, "ledger": entries(release.ledger)}


def entries(ledger):
    return [
        (entry.what, entry.kind, entry.mu, entry.epsilon, entry.delta, entry.sensitivity, entry.scale, entry.draws)
        for entry in ledger.entries
    ]


def planned(found):
    return {name: value for name, value in vars(found).items() if isinstance(value, float | int | np.ndarray)}


def numbers(value):
    """Whether a diagnostic is a plain number or array; the rest may change its form."""
    return value is None or isinstance(value, float | int | np.ndarray)


def plain(value):
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    return value
