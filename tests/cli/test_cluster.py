"""`eigenveil fit --engine dask`: the same model from a cluster."""

import numpy as np
import pytest

import eigenveil as ev

distributed = pytest.importorskip("distributed", reason="dask is not installed (extra eigenveil[dask])")


@pytest.mark.filterwarnings("ignore")  # of Dask, about its libraries: its worker is here
@pytest.mark.parametrize("units", [[], ["--units", "person_id"]])
def test_a_cluster_finds_the_same_components(eigenveil, folder, tmp_path, units):
    data = "people.parquet" if units else "rows.parquet"
    asked = ["fit", folder / data, "-k", 2, "--seed", 0, *units]
    here = eigenveil(*asked, "--out", tmp_path / "here")
    where = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": ":0"}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, **where) as cluster:
        address = ["--engine", "dask", "--scheduler", cluster.scheduler_address]
        there = eigenveil(*asked, *address, "--out", tmp_path / "there")
    assert (here.code, there.code) == (0, 0), there.err
    one, other = (ev.load(tmp_path / name) for name in ("here", "there"))
    assert np.array_equal(one.components_, other.components_)


def test_a_scheduler_needs_the_dask_engine(eigenveil, folder):
    lonely = eigenveil("fit", folder / "rows.parquet", "--scheduler", "tcp://127.0.0.1:9")
    assert lonely.code == 2
    assert "--engine dask" in lonely.err
