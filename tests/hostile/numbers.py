"""Hostile numbers and arrays, met by `DPPCA.fit` and `open_source`."""

import numpy as np
import pandas as pd
from scipy import sparse

import eigenveil as ev
from eigenveil.errors import InvalidInputError
from eigenveil.sources import open_source
from hostile.place import CANARY, ROWS, case


def codes(pca):
    return {one.code.value for one in pca.warnings_}


def finite(pca):
    assert np.isfinite(pca.components_).all()
    assert np.allclose(pca.components_ @ pca.components_.T, np.eye(len(pca.components_)))
    return pca


@case("fit", "rows of subnormal numbers", says="unit vectors, and a warning that there is no spread")
def _(place):
    assert "no-spread" in codes(finite(place.fit(ROWS * 1e-320)))


@case("fit", "rows of 1e308", says="they do not count, as documented: about 0 units")
def _(place):
    assert abs(finite(place.fit(np.full((3000, 3), 1e308))).n_samples_) < 60


@case("fit", "rows of 1e150", says="unit vectors, and a warning that rows were clipped")
def _(place):
    assert {"clipped-variances", "bad-units"} & set(codes(finite(place.fit(ROWS * 1e150))))


@case("fit", "one row of 1e307 among others", says="the same direction as without it")
def _(place):
    assert abs(place.fit(np.vstack([ROWS, [[0, 1e307, 0]]])).components_[0, 0]) > 0.95


@case("fit", "a row of inf, -inf and nan among others", says="the same direction as without it")
def _(place):
    assert abs(place.fit(np.vstack([ROWS, [[np.inf, -np.inf, np.nan]]])).components_[0, 0]) > 0.95


@case("fit", "one row", says="unit vectors")
def _(place):
    finite(place.fit(ROWS[17:18]))


@case("fit", "no rows", says="unit vectors: whether there are any is private")
def _(place):
    finite(place.fit(ROWS[:0]))


@case("fit", "no columns", error=ValueError, says="0 feature(s)")
def _(place):
    place.fit(np.empty((5, 0)))


@case("fit", "one column three times", says="equal loadings")
def _(place):
    assert np.allclose(np.abs(place.fit(np.repeat(ROWS[:, :1], 3, axis=1)).components_), 3**-0.5, atol=0.02)


@case("fit", "more columns than rows", says="unit vectors")
def _(place):
    finite(place.fit(np.random.default_rng(0).normal(size=(20, 100)), n_components=3, algorithm="dp-gauss-1"))


@case("fit", "1e6 sparse columns", says="unit vectors", slow=True)
def _(place):
    wide = sparse.random(200, 1_000_000, 1e-5, "csr", random_state=0)
    finite(place.fit(wide, center=False))


@case("fit", "one person who owns all rows", says="the data of one person do not show: about 1 unit")
def _(place):
    assert abs(finite(place.fit(ROWS, units=np.zeros(len(ROWS), int))).n_samples_) < 60


@case("fit", "one person who owns half of the rows, far away", says="the direction of all others")
def _(place):
    ids = np.where(np.arange(3000) < 1500, 0, np.arange(3000))
    far = np.where(ids[:, None] == 0, [0.0, 0.0, 1e6], ROWS)
    assert abs(place.fit(far, units=ids).components_[0, 0]) > 0.9


@case("fit", "rows one ulp apart", says="unit vectors, and a variance close to 0")
def _(place):
    one = np.array([1.0, 2.0, 3.0])
    rows = np.stack([one, np.nextafter(one, 9)] * 1500)
    assert finite(place.fit(rows)).explained_variance_[0] < 1e-3


@case("fit", "orders that are bad for sums", says="the same bits in every order")
def _(place):
    rows = np.tile([[1e16, 1.0], [1.0, 1e16], [-1e16, 1.0], [1.0, -1e16], [1e-8, 3.0]], (400, 1))
    orders = (np.arange(2000), np.arange(2000)[::-1], np.random.default_rng(0).permutation(2000))
    found = [
        place.fit(rows[order], algorithm="dp-gauss-1", center=False, random_state=0).components_
        for order in orders
    ]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


@case("fit", "nan in every row", says="about 0 units, as if there were none")
def _(place):
    assert abs(finite(place.fit(np.full((3000, 3), np.nan))).n_samples_) < 60


@case("fit", "one column of nan", says="about 0 units, as documented")
def _(place):
    assert abs(finite(place.fit(np.where([True, False, False], np.nan, ROWS))).n_samples_) < 60


@case("fit", "constant rows", says="unit vectors, and a variance far below the square of the values")
def _(place):
    assert finite(place.fit(np.full((3000, 3), 500.0))).explained_variance_[0] < 1e-3 * 500.0**2


@case(
    "read", "rare types: uint64, int8, float16, long double, big endian, strides, read-only", says="their values"
)
def _(place):
    del place
    frozen = ROWS.copy()
    frozen.setflags(write=False)
    kinds = [ROWS.astype(kind) for kind in (np.float16, np.longdouble, ">f8")] + [
        frozen,
        ROWS[::-2],
        ROWS[:, ::-1],
    ]
    kinds += [np.full((9, 2), 2**64 - 1, np.uint64), np.full((9, 2), -128, np.int8), np.full((9, 2), -0.0)]
    for array in kinds:
        blocks = [np.asarray(block.values) for block in open_source(array).blocks()]
        assert np.array_equal(np.concatenate(blocks), array.astype(np.float64))


@case("fit", "epsilon = 1e308", error=InvalidInputError, says="at most 1e+290")
def _(place):
    place.fit(ROWS, epsilon=1e308)


@case("fit", "epsilon = 10^400, a whole number", error=InvalidInputError, says="epsilon must be")
def _(place):
    place.fit(ROWS, epsilon=10**400)


@case("fit", "fill = 10^400", error=InvalidInputError, says="fill to be a finite number")
def _(place):
    place.fit(ROWS, fill=10**400)


@case("fit", "scale = 10^400", error=InvalidInputError, says="scale must")
def _(place):
    place.fit(ROWS, scale=[10**400, 1, 1])


@case("fit", "epsilon = 1e-308", says="unit vectors, and a warning")
def _(place):
    assert finite(place.fit(ROWS, epsilon=1e-308)).warnings_


@case("fit", "names of columns with a lone surrogate", error=InvalidInputError, says="lone surrogate")
def _(place):
    frame = pd.DataFrame(ROWS)
    frame.columns = pd.Index(["\ud800", "b", "c"], dtype=object)
    place.fit(frame)


@case("fit", "two columns of one name", error=InvalidInputError, says="unique names")
def _(place):
    place.fit(pd.DataFrame(ROWS, columns=["a", "a", "b"]))


@case("fit", "a csr matrix whose rows overlap", error=InvalidInputError, says="indptr")
def _(place):
    place.fit(_csr([0, 3, 2, 3]))


@case("fit", "a csr matrix that points far outside its entries", error=InvalidInputError, says="indptr")
def _(place):
    place.fit(_csr([0, 10**12, 2, 3]))


def _csr(pointer):
    matrix = sparse.csr_array((np.ones(3), [0, 1, 0], [0, 1, 2, 3]), shape=(3, 2))
    matrix.indptr = np.array(pointer)
    return matrix


@case("fit", "a sparse matrix of 10^15 columns", error=InvalidInputError, says="2^31")
def _(place):
    place.fit(sparse.csr_array((3, 10**15)))


@case("fit", "an object whose conversion runs code", says="its row does not count, and nothing runs twice")
def _(place):
    class Odd:
        def __float__(self):
            raise RuntimeError(f"{CANARY}")

    objects = ROWS.astype(object)
    objects[3, 1] = Odd()
    finite(place.fit(objects))


@case("fit", "the same ledger pickled and charged twice", error=InvalidInputError, says="this ledger is a copy")
def _(place):
    import pickle

    ledger = ev.Ledger(ev.Budget.from_epsilon_delta(9.0, 1e-6))
    place.fit(ROWS, ledger=pickle.loads(pickle.dumps(ledger)))  # noqa: S301
