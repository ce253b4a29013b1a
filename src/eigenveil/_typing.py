"""Array types that all packages use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SingleArray = npt.NDArray[np.float32]
Rows = FloatArray | SingleArray
"""Rows of numbers in single or double precision."""
