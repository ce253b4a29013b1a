"""A table of mixed columns for tests."""

import numpy as np
import pyarrow as pa


def clinic(n=4000):
    """A table as docs/tables.md has it: ids, dates, categories, truth values and gaps."""
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "person_id": rng.integers(0, 1500, n),
            "visit": np.datetime64("2020-01-01") + rng.integers(0, 700, n),
            "site": rng.choice(["north", "south", "west"], n),
            "smoker": rng.random(n) < 0.3,
            "bmi": np.where(rng.random(n) < 0.05, np.nan, rng.normal(25, 4, n)),
            "lab_a": rng.normal(90, 15, n),
            "lab_b": pa.array(rng.normal(5, 2, n), mask=rng.random(n) < 0.3),
            "comment": ["text"] * n,
        }
    )
