"""A table of people with two rows each, and a canary: a value and an id that no output may contain."""

import numpy as np
import pyarrow as pa

CANARY, CANARY_ID = 81.23456789, "person canary"


def people_table(people, names):
    """An id and five numbers in each row."""
    values = np.random.default_rng(0).normal(size=(2 * people, 5)) * [9, 5, 1, 1, 1] + 20
    ids = [f"person {i % people}" for i in range(2 * people)]
    values[7, 0], ids[7] = CANARY, CANARY_ID
    return pa.table({"person_id": ids, **dict(zip(names, values.T, strict=True))})
