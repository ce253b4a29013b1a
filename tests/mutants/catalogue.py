"""Mistakes that tests must find, each as one text in place of another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A mistake.

    Parameters
    ----------
    name : str
        What is wrong, in words.
    file : str
        Where, from the root of the project.
    right, wrong : str
        What stands there, once, and what to put in its place.
    tests : tuple of str
        Which tests should find it.
    """

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]


NASTY = "tests/contracts/test_nasty_entries.py"
SOURCES = (
    Mutant(
        "CSV: a line with an odd number of quotes is not looked at by itself",
        "src/eigenveil/sources/files/csv_lines.py",
        "odd = counts % 2 == 1",
        "odd = counts < 0",
        (NASTY,),
    ),
    Mutant(
        "CSV: a quote in the middle of a field opens another",
        "src/eigenveil/sources/files/csv_lines.py",
        "odd[line[~fine]] = True",
        "pass",
        (NASTY, "tests/sources/test_csv_files.py"),
    ),
    Mutant(
        "CSV: lines with too few fields go to the parser",
        "src/eigenveil/sources/files/csv_lines.py",
        "prepend=0) != width - 1",
        "prepend=0) > width - 1",
        (NASTY,),
    ),
    Mutant(
        "CSV: whether a long line is read depends on where pieces end",
        "src/eigenveil/sources/files/csv_lines.py",
        "if size + first > LONGEST_LINE",
        "if size > LONGEST_LINE",
        (f"{NASTY}::test_very_long_lines_are_never_held",),
    ),
    Mutant(
        "CSV: bytes that are not UTF-8 are refused for the whole file",
        "src/eigenveil/sources/files/csv_lines.py",
        'return lines.decode("utf-8", _BROKEN).encode()',
        "return lines",
        (NASTY,),
    ),
    Mutant(
        "CSV: a first line of numbers becomes names",
        "src/eigenveil/sources/files/csv_files.py",
        "    if values:\n        raise InvalidInputError(",
        "    if values > 2 * len(names):\n        raise InvalidInputError(",
        ("tests/sources/test_csv_files.py",),
    ),
    Mutant(
        "CSV: how an encoded column is compared goes by a vote of the lines",
        "src/eigenveil/sources/files/csv_files.py",
        "numbers = isinstance(encoding, Categories) and encoding.all_numbers",
        "numbers = isinstance(encoding, Categories) and scan.schema.field(name).type == pa.float64()",
        (f"{NASTY}::test_lines_of_encoded_and_filled_columns",),
    ),
    Mutant(
        "a number for all missing values stands for missing labels, too",
        "src/eigenveil/sources/layout.py",
        "fill = {column: fill for column in self.columns or () if column not in by_list}",
        "pass",
        ("tests/estimators/test_tables.py::test_a_fill_for_all_columns_does_not_fill_labels",),
    ),
    Mutant(
        "a sparse row with an index outside is mended by a fill",
        "src/eigenveil/sources/memory/sparse.py",
        "data[outside] = np.inf",
        "data[outside] = np.nan",
        ("tests/sources/test_layout.py",),
    ),
    Mutant(
        "an encoding is not declared",
        "src/eigenveil/algorithms/open_units.py",
        "for what, how in layout.declared():",
        "for what, how in ():",
        ("tests/estimators/test_tables.py",),
    ),
    Mutant(
        "lists of rows take the type of one row",
        "src/eigenveil/sources/memory/arrays.py",
        "return array.astype(np.float64)\n    return attempt",
        "return array\n    return attempt",
        (f"{NASTY}::test_one_single_precision_row_in_a_list_changes_no_type",),
    ),
    Mutant(
        "one entry that is no number refuses an array of objects",
        "src/eigenveil/sources/memory/arrays.py",
        "        return np.array([[_number(entry) for entry in row] for row in plain], np.float64)",
        "        raise InvalidInputError('text')\n        return np.array(plain)",
        (f"{NASTY}::test_odd_objects",),
    ),
    Mutant(
        "ids: floats that lost digits are taken",
        "src/eigenveil/sources/people/in_memory.py",
        "if largest is not None and largest >= limit:",
        "if largest is not None and largest > 4 * limit:",
        ("tests/sources/test_identities.py",),
    ),
    Mutant(
        "ids: rows without an id become a person",
        "src/eigenveil/sources/people/in_memory.py",
        "[: len(ids) - ids.null_count]",
        "",
        ("tests/sources/test_people.py",),
    ),
    Mutant(
        "ids: 0.1 in single precision is another person than 0.1",
        "src/eigenveil/sources/people/identities.py",
        'return b"n%d" % int(one) if one == int(one) else None',
        'return b"n%d" % int(one) if one == int(one) else float(one).hex().encode()',
        ("tests/sources/test_identities.py",),
    ),
    Mutant(
        "people on disk claim fixed places",
        "src/eigenveil/sources/people/on_disk.py",
        "fixed_places: ClassVar[bool] = False",
        "fixed_places: ClassVar[bool] = True",
        (f"{NASTY}::test_people_found_by_ids_have_no_fixed_places",),
    ),
    Mutant(
        "people in memory claim fixed places",
        "src/eigenveil/sources/people/in_memory.py",
        "fixed_places: ClassVar[bool] = False",
        "fixed_places: ClassVar[bool] = True",
        ("tests/mechanisms/test_count.py",),
    ),
    Mutant(
        "ids: whole numbers lose digits where another file has floats",
        "src/eigenveil/sources/people/on_disk.py",
        "return exact(sortable(batch.columns[-1]), self._schema.field(_UNIT).type)",
        "return exact(sortable(batch.columns[-1]))",
        ("tests/sources/test_identities.py",),
    ),
    Mutant(
        "ids: one odd id changes how all others are compared",
        "src/eigenveil/sources/people/in_memory.py",
        "    keys = keys_of(units)\n    ids = typed(units) if keys is None else _arrow(keys)",
        "    ids = typed(units)\n    ids = _arrow(keys_of(units)) if ids is None else ids",
        ("tests/sources/test_identities.py",),
    ),
    Mutant(
        "sparse rows: an index outside the matrix reaches the loops",
        "src/eigenveil/sources/memory/sparse.py",
        "if not outside.any():",
        "if outside.size:",
        (f"{NASTY}::test_an_index_outside_a_sparse_matrix_is_one_bad_row",),
    ),
    Mutant(
        "CSV: one line turns the number of columns",
        "src/eigenveil/sources/files/csv_files.py",
        "if ranked[-1] - ranked[-2] < 2:",
        "if ranked[-1] < 1:",
        ("tests/sources/test_csv_files.py",),
    ),
    Mutant(
        "stream: saved elsewhere, it leaves a checkpoint that can be loaded",
        "src/eigenveil/algorithms/stream/checkpoint.py",
        "before.retire()",
        "pass",
        ("tests/algorithms/stream/test_tracked_stream.py",),
    ),
)

UNITS = (
    Mutant(
        "parts by place always claim to survive a replacement",
        "src/eigenveil/engines/plans.py",
        'return ("replacement", "emptying") if self.whole.fixed_places else ()',
        'return ("replacement", "emptying")',
        ("tests/engines/test_plans.py",),
    ),
    Mutant(
        "coins do not depend on their key",
        "src/eigenveil/engines/plans.py",
        'hashlib.shake_256(self.key + b"coins:',
        'hashlib.shake_256(b"coins:',
        ("tests/engines/test_plans.py",),
    ),
    Mutant(
        "coins of every partition are those of the first",
        "src/eigenveil/engines/plans.py",
        'other = b":%d" % partition if partition else b""',
        'other = b""',
        ("tests/engines/test_plans.py",),
    ),
    Mutant(
        "parts by place begin anew with every file",
        "src/eigenveil/engines/plans.py",
        "before = self.starts[partition] + start",
        "before = start",
        ("tests/engines/test_plans.py",),
    ),
    Mutant(
        "queries take the data along",
        "src/eigenveil/engines/sampled.py",
        "operator=self.operator.without_data(),",
        "operator=self.operator,",
        ("tests/contracts/test_travelling.py::test_whole_fits_travel",),
    ),
    Mutant(
        "Poisson samples are 10 % too large",
        "src/eigenveil/engines/plans.py",
        "limit = int(self.rate * 2.0**64)",
        "limit = int(min(1.0, 1.1 * self.rate) * 2.0**64)",
        ("tests/engines/test_plans.py",),
    ),
    Mutant(
        "the number of people is released as it is under replace",
        "src/eigenveil/mechanisms/count.py",
        "if veil.relation is Relation.REPLACE and population.fixed_places:\n        veil.ledger.declare(what,",
        "if veil.relation is Relation.REPLACE:\n        veil.ledger.declare(what,",
        ("tests/mechanisms/test_count.py",),
    ),
    Mutant(
        "good and bad people are counted as if their number were public",
        "src/eigenveil/mechanisms/count.py",
        "if veil.relation is Relation.REPLACE and population.fixed_places:\n        grant =",
        "if veil.relation is Relation.REPLACE:\n        grant =",
        ("tests/mechanisms/test_count.py",),
    ),
    Mutant(
        "a sum states half of its noise under replace",
        "src/eigenveil/mechanisms/clipped_sum.py",
        "return relation.distance_between_sums(radius) / mu",
        "return radius / mu",
        ("tests/mechanisms/test_clipped_sum.py", "tests/mechanisms/test_clipped_mean.py"),
    ),
    Mutant(
        "good and bad units state less noise than they carry where slots can be emptied",
        "src/eigenveil/mechanisms/count.py",
        "noise = sensitivity / mu",
        "noise = 1 / mu",
        ("tests/mechanisms/test_count.py",),
    ),
    Mutant(
        "a radius search states the noise of a single count",
        "src/eigenveil/mechanisms/radius.py",
        "return math.sqrt(queries_over(edges)) / _split(mu, edges)[1]",
        "return 1 / mu",
        ("tests/mechanisms/test_radius.py",),
    ),
    Mutant(
        "a radius search pays for its counts, but not for its histogram",
        "src/eigenveil/mechanisms/radius.py",
        "split_mu(mu, [float(edges.size > NEAR), 1.0])",
        "(mu if edges.size > NEAR else 0.0, mu)",
        ("tests/mechanisms/test_radius.py",),
    ),
    Mutant(
        "under replace a histogram of norms is charged as if one bin changed",
        "src/eigenveil/privacy/relation.py",
        "return math.nextafter(math.sqrt(2.0), 2.0) if self is Relation.REPLACE else 1.0",
        "return 1.0",
        ("tests/mechanisms/test_sensitivity.py",),
    ),
    Mutant(
        "a bin of a radius search counts as occupied whatever the noise",
        "src/eigenveil/mechanisms/radius.py",
        "_OCCUPIED = 3.5",
        "_OCCUPIED = 0.5",
        ("tests/mechanisms/test_radius.py",),
    ),
    Mutant(
        "people are put into batches by place",
        "src/eigenveil/units/units.py",
        "if not self.operator.fixed_places:",
        "if self.operator is None:",
        (f"{NASTY}::test_people_found_by_ids_have_no_fixed_places",),
    ),
    Mutant(
        "PrivRange and PrivMean run on people in the order of ids",
        "src/eigenveil/mechanisms/paper/gradients.py",
        "if not fixed_places:",
        "if veil is None:",
        ("tests/mechanisms/paper/test_priv_mean.py", "tests/mechanisms/paper/test_priv_range.py"),
    ),
    Mutant(
        "stream: a second row of a person in the same batch counts",
        "src/eigenveil/algorithms/stream/batch.py",
        "hashed is None or hashed in self.hashes or hashed in batch.ids",
        "hashed is None or hashed in self.hashes",
        ("tests/algorithms/stream/test_tracked_stream.py",),
    ),
)

KERNELS = (
    Mutant(
        "sums of x x^T: scaling off by one bit",
        "src/eigenveil/kernels/gram.py",
        "_BITS = 32",
        "_BITS = 33",
        ("tests/kernels/test_gram.py",),
    ),
    Mutant(
        "sums of x x^T: the floor of the sum is not paid for",
        "src/eigenveil/kernels/gram.py",
        "exponent=c.exponent, steps=1.0)",
        "exponent=c.exponent, steps=0.0)",
        ("tests/kernels/test_gram.py",),
    ),
    Mutant(
        "sums of x x^T: twice as many rows as a float holds exactly",
        "src/eigenveil/kernels/gram.py",
        "_MOST_ROWS = 1 << (53 - _BITS)",
        "_MOST_ROWS = 1 << (54 - _BITS)",
        ("tests/kernels/test_gram.py",),
    ),
    Mutant(
        "single precision: error bound 16 times too small",
        "src/eigenveil/kernels/single_row_loop.py",
        "return 2.0**-18 * (1 + 2.0**-8)",
        "return 2.0**-22 * (1 + 2.0**-8)",
        ("tests/kernels/test_loops.py",),
    ),
    Mutant(
        "norms: no allowance for rounding (norm_error = 0)",
        "src/eigenveil/kernels/row_loop.py",
        "return (d + m + 32) * 2.0**-50",
        "return 0.0 * (d + m)",
        ("tests/kernels/test_loops.py",),
    ),
    Mutant(
        "norms of sparse rows in C: no allowance for rounding",
        "src/eigenveil/kernels/sparse_row_loop.py",
        "self.cc, 2.0**-50, self.inner.size)",
        "self.cc, 0.0, self.inner.size)",
        ("tests/kernels/test_loops.py",),
    ),
    Mutant(
        "norms of sparse rows in numpy: no allowance for rounding",
        "src/eigenveil/kernels/sparse_row_loop.py",
        "margin = 2.0**-50 * float(x.size + m + 64)",
        "margin = 0.0 * float(x.size + m + 64)",
        ("tests/kernels/test_loops.py",),
    ),
    Mutant(
        "norms in C: nothing for underflow",
        "src/eigenveil/kernels/loops_body.h",
        "*margin = error * ((s + (double)d * TINY) * (yy + (double)m * TINY) + cc) + FLOOR;",
        "*margin = error * (s * yy + cc) + FLOOR;",
        ("tests/kernels/test_number_range.py",),
    ),
    Mutant(
        "norms of float32 rows in C: no margin",
        "src/eigenveil/kernels/single_body.h",
        "exact = NAME(residual)(s, d, y, m, NULL, cc, error, &margin);",
        "exact = NAME(residual)(s, d, y, m, NULL, cc, 0, &margin);",
        ("tests/kernels/test_number_range.py",),
    ),
    Mutant(
        "norms of sparse rows in C: nothing for underflow",
        "src/eigenveil/kernels/loops_body.h",
        "double whole = ((xx + mm) + (double)d * TINY) * (yy + (double)m * TINY);",
        "double whole = (xx + mm) * yy;",
        ("tests/kernels/test_number_range.py",),
    ),
    Mutant(
        "norms in numpy: nothing for underflow",
        "src/eigenveil/kernels/row_loop.py",
        "whole = (s + d * TINY) * (yy + m * TINY)",
        "whole = s * yy",
        ("tests/kernels/test_number_range.py",),
    ),
    Mutant(
        "norms of sparse rows in numpy: nothing for underflow",
        "src/eigenveil/kernels/sparse_row_loop.py",
        "whole = ((xx + self.mm) + self.d * TINY) * (yy + m * TINY)",
        "whole = (xx + self.mm) * yy",
        ("tests/kernels/test_number_range.py",),
    ),
    Mutant(
        "norms in C: no absolute floor",
        "src/eigenveil/kernels/loops.c",
        "#define FLOOR 0x1p-1000",
        "#define FLOOR 0x0p0",
        ("tests/kernels/test_number_range.py",),
    ),
    Mutant(
        "norms that overflow beside a finite bound",
        "src/eigenveil/kernels/loops_body.h",
        "!isfinite(s) || !isfinite(exact) || !isfinite(norm[r])) {",
        "!isfinite(s) || !isfinite(norm[r])) {",
        ("tests/kernels/test_number_range.py",),
    ),
    Mutant(
        "sparse rows with a shift: the integer trick beyond its range",
        "src/eigenveil/kernels/loops_body.h",
        "int small = f * longest * per_grid[q] < 0x1p50;",
        "int small = 1;",
        ("tests/kernels/test_clips.py",),
    ),
    Mutant(
        "sparse rows with a shift: more grid steps than sums can hold",
        "src/eigenveil/kernels/clips.py",
        "_MOST_STEP_BITS = 32",
        "_MOST_STEP_BITS = 40",
        ("tests/kernels/test_number_range.py",),
    ),
    Mutant(
        "sparse rows with a shift: the upper word of a sum is lost",
        "src/eigenveil/kernels/loops_body.h",
        "high[j] += w >> Y_BITS;",
        "high[j] += 0;",
        ("tests/kernels/test_clips.py",),
    ),
    Mutant(
        "columns: a slice is read from the first row",
        "src/eigenveil/kernels/columns.py",
        "return starts + np.uintp(self._where.start * self.dtype.itemsize)",
        "return starts",
        ("tests/kernels/test_columns.py",),
    ),
    Mutant(
        "float32 rows: sums of 32 bits overflow",
        "src/eigenveil/kernels/loops.c",
        "#define FLOAT_ROWS 256 ",
        "#define FLOAT_ROWS 2048 ",
        ("tests/kernels/test_loops.py",),
    ),
    Mutant(
        "spiked units: a centre that is not symmetric to the bit",
        "src/eigenveil/operators/spiked.py",
        "centre - symmetric_part(self._common(identity))",
        "centre - self._common(identity)",
        ("tests/operators/test_spiked.py",),
    ),
    Mutant(
        "people: bad rows count",
        "src/eigenveil/operators/people.py",
        "bad = ~np.isfinite(squared_row_norms(rows))",
        "bad = np.zeros(len(rows), dtype=bool)",
        ("tests/contracts/test_operators.py",),
    ),
    Mutant(
        "a fresh surveyor goes on with the sums of another",
        "src/eigenveil/kernels/row_loop.py",
        "twin._start()\n        return twin",
        "return twin",
        ("tests/contracts/test_operators.py",),
    ),
    Mutant(
        "variances of rows whose norm overflows",
        "src/eigenveil/kernels/loops.py",
        "out[~np.isfinite(squares)] = np.nan",
        "out[np.isnan(squares)] = np.nan",
        ("tests/contracts/test_variances.py",),
    ),
    Mutant(
        "bad units are counted",
        "src/eigenveil/engines/query.py",
        "norms[np.isfinite(norms)]",
        "norms",
        ("tests/contracts/test_operators.py",),
    ),
)

ACCOUNTS = (
    Mutant(
        "DP-Gauss-2: sensitivity at y, not y - c",
        "src/eigenveil/algorithms/baselines/dp_gauss_2.py",
        "room = y - (self.c + 2 * rho)",
        "room = y - 2 * rho",
        ("tests/algorithms/baselines/test_dp_gauss_2.py",),
    ),
    Mutant(
        "the noise of one grant is used for two draws",
        "src/eigenveil/mechanisms/noise/veil.py",
        "noise = self._noise(self._steps(weight), steps.size, self._veil.source).reshape(steps.shape)",
        "noise = vars(self).setdefault(f'_{steps.size}', "
        "self._noise(self._steps(weight), steps.size, self._veil.source)).reshape(steps.shape)",
        ("tests/mechanisms/noise/test_veil.py",),
    ),
    Mutant(
        "stream: a first batch that is dropped on resume costs nothing",
        "src/eigenveil/algorithms/stream/tracked_stream.py",
        "charge_dropped_batch(stream._rounds.part(), mu=stream.budget.mu)",
        "charge_dropped_batch(stream._rounds.part(), mu=stream.budget.mu * 1e-9)",
        ("tests/algorithms/stream/test_tracked_stream.py",),
    ),
    Mutant(
        "the number of bad units is shown as it is",
        "src/eigenveil/algorithms/counting.py",
        "_at_least(0.0, census.bad))",
        "Noisy(float(units.vectors().slots() - units.vectors().count()), census.bad.scale))",
        ("tests/contracts/test_only_releases_leave.py",),
    ),
    Mutant(
        "left out: noise is that for one number, whatever their number is",
        "src/eigenveil/mechanisms/left_out.py",
        "sensitivity = root_up(query.size)",
        "sensitivity = 1.0",
        ("tests/mechanisms/test_left_out.py",),
    ),
    Mutant(
        "left out: rows of a person are counted, not shares",
        "src/eigenveil/engines/left_out.py",
        "share = (2 * _ONE * lost + rows) // (2 * rows)",
        "share = _ONE * lost",
        ("tests/engines/test_left_out.py",),
    ),
    Mutant(
        "left out: a unit counts once for every row of zeros",
        "src/eigenveil/engines/left_out.py",
        "_ONE * (_per_unit(_all_zero(block.values, group.columns), block) > 0)",
        "_ONE * _per_unit(_all_zero(block.values, group.columns), block)",
        ("tests/engines/test_left_out.py",),
    ),
    Mutant(
        "left out: numbers are shown as they are",
        "src/eigenveil/mechanisms/left_out.py",
        "found = [Noisy(float(value), sensitivity / mu) for value in released]",
        "found = [Noisy(value / 2**PLACES + 0 * released[0], sensitivity / mu) for value in left_out.sums()]",
        ("tests/contracts/test_only_releases_leave.py::test_releases_for_people_and_matrices",),
    ),
    Mutant(
        "stream: the number of units in a batch is shown as it is",
        "src/eigenveil/algorithms/stream/round.py",
        'last = {"n_hat": n_hat, "radius"',
        'last = {"n_hat": float(units.vectors().count()), "radius"',
        ("tests/contracts/test_only_releases_leave.py",),
    ),
    Mutant(
        "propose-test-release: the error of the margin is not in the sensitivity",
        "src/eigenveil/mechanisms/paper/propose_test_release.py",
        "reach = (check_sensitivity(margin_sensitivity) + 2 * margin_error) * _ROUNDING",
        "reach = check_sensitivity(margin_sensitivity) * _ROUNDING",
        ("tests/mechanisms/paper/test_propose_test_release.py",),
    ),
    Mutant(
        "a pickled ledger is charged",
        "src/eigenveil/privacy/ownership.py",
        "return root._owner != os.getpid()",
        "return root._owner not in (os.getpid(), _NOBODY)",
        ("tests/privacy/test_ledger.py",),
    ),
    Mutant(
        "a ledger that a fork carried along is charged",
        "src/eigenveil/privacy/ownership.py",
        "return root._owner != os.getpid()",
        "return root._owner == _NOBODY",
        ("tests/privacy/test_ledger.py",),
    ),
    Mutant(
        "a ledger read from JSON is charged",
        "src/eigenveil/privacy/ledger.py",
        "ledger._disown()",
        "pass",
        ("tests/privacy/test_ledger.py",),
    ),
    Mutant(
        "two streams share one parallel group",
        "src/eigenveil/privacy/ledger.py",
        "elif any(group is other for other in self._opened):",
        "elif False:",
        ("tests/privacy/test_ledger.py",),
    ),
    Mutant(
        "a stream is copied",
        "src/eigenveil/algorithms/stream/tracked_stream.py",
        "class TrackedStream(Uncopied):",
        "class TrackedStream:",
        ("tests/algorithms/stream/test_tracked_stream.py",),
    ),
    Mutant(
        "two streams go on from one checkpoint",
        "src/eigenveil/algorithms/stream/checkpoint.py",
        'if self.read().get("holder") != self._holder:',
        "if False:",
        ("tests/algorithms/stream/test_tracked_stream.py",),
    ),
    Mutant(
        "a stream goes on although its checkpoint is gone",
        "src/eigenveil/algorithms/stream/checkpoint.py",
        "if not self.path.exists():",
        "if not self.path.exists():\n            return\n        if False:",
        ("tests/algorithms/stream/test_tracked_stream.py",),
    ),
    Mutant(
        "a stream takes an older file of ids",
        "src/eigenveil/algorithms/stream/state.py",
        "if record.options.keeps_ids and not _has_all_ids(",
        "if False and not _has_all_ids(",
        ("tests/algorithms/stream/test_tracked_stream.py",),
    ),
    Mutant(
        "a grant draws in another process",
        "src/eigenveil/mechanisms/noise/veil.py",
        "self._veil.ledger.refuse_copy()",
        "pass",
        ("tests/mechanisms/noise/test_veil.py",),
    ),
    Mutant(
        "a column is clipped at the widest column's radius",
        "src/eigenveil/kernels/entries.py",
        "self._per_step = math.ldexp(1.0, -exponent) / radii",
        "self._per_step = math.ldexp(1.0, -exponent) / radii.max() * np.ones_like(radii)",
        ("tests/engines/test_columns.py",),
    ),
    Mutant(
        "rounding takes a column's number beyond its radius",
        "src/eigenveil/kernels/entries.py",
        "self._most = math.floor(math.ldexp(1.0, -exponent))",
        "self._most = math.floor(math.ldexp(1.0, -exponent)) + 1",
        ("tests/engines/test_columns.py",),
    ),
    Mutant(
        "a zero of a sparse row counts once for every row of the block",
        "src/eigenveil/operators/entries.py",
        "absent = int(good.sum()) - np.bincount(column, minlength=len(columns))",
        "absent = int(good.sum()) - 0 * np.bincount(column, minlength=len(columns))",
        ("tests/engines/test_columns.py",),
    ),
    Mutant(
        "a grant draws more than was paid for",
        "src/eigenveil/mechanisms/noise/veil.py",
        "self._left -= steps.size",
        "pass",
        ("tests/mechanisms/noise/test_veil.py",),
    ),
    Mutant(
        "a model shows an epsilon that was set after its fit",
        "src/eigenveil/estimators/model.py",
        "fitted, changed = as_fitted(self), changed_since(self)",
        "fitted, changed = self.get_params(), []",
        ("tests/estimators/test_dppca.py",),
    ),
    Mutant(
        "a saved model shows an epsilon that was set after its fit",
        "src/eigenveil/persistence/models.py",
        "**as_fitted(model), **NOT_KEPT}",
        "**NOT_KEPT}",
        ("tests/persistence/test_round_trip.py",),
    ),
    Mutant(
        "the report quotes what was spent as the guarantee",
        "src/eigenveil/report/reading.py",
        "epsilon = ledger.budget.epsilon(delta)",
        "epsilon = ledger.epsilon(delta)",
        ("tests/report/test_report.py",),
    ),
    Mutant(
        "a search scores without a warning",
        "src/eigenveil/estimators/refit_guard.py",
        "if ledger.private and in_search():",
        "if False:",
        ("tests/estimators/test_refit_guard.py",),
    ),
)

FAULTS = (
    Mutant(
        "faults: a ledger file is not written before noise is drawn",
        "src/eigenveil/persistence/ledger_file.py",
        "with ledger.watched(lambda _: file.write(ledger)):",
        "with ledger.watched(lambda _: None):",
        ("tests/faults/test_kills.py::test_fits_killed_around_their_first_charge",),
    ),
    Mutant(
        "faults: a link to a ledger file is another account",
        "src/eigenveil/persistence/ledger_file.py",
        'object.__setattr__(self, "path", account_file(self.path))',
        "pass",
        (
            "tests/faults/test_shared.py::test_two_processes_share_a_ledger_file",
            "tests/persistence/test_ledger_file.py",
        ),
    ),
    Mutant(
        "faults: a ledger file that gets a second name during a fit is charged",
        "src/eigenveil/persistence/ledger_file.py",
        "if account_file(self._path) != self._path or self._on_disk() != self._known:",
        "if self._on_disk() != self._known:",
        ("tests/persistence/test_ledger_file.py",),
    ),
    Mutant(
        "faults: two streams are at one checkpoint at the same time",
        "src/eigenveil/algorithms/stream/checkpoint.py",
        "return locked(self.path) if CAN_LOCK else nullcontext()",
        "return nullcontext()",
        ("tests/faults/test_shared.py::test_two_streams_race_for_a_checkpoint",),
    ),
    Mutant(
        "faults: a power cut hides that a batch was charged",
        "src/eigenveil/algorithms/stream/checkpoint.py",
        "        to_disk(path.parent)",
        "        pass",
        ("tests/faults/test_kills.py::test_streams_killed_at_every_file_operation_of_two_batches",),
    ),
    Mutant(
        "faults: a stream killed in `save` takes the rows of the save before",
        "src/eigenveil/algorithms/stream/state.py",
        "if len(empty) == open_slots:",
        "if True:",
        ("tests/faults/test_kills.py::test_streams_killed_at_every_file_operation_of_two_batches",),
    ),
    Mutant(
        "faults: a stream goes on with the ids of another one",
        "src/eigenveil/algorithms/stream/state.py",
        "foreign = key is not None and seen.key_hash != record.key_hash",
        "foreign = False",
        ("tests/faults/test_shared.py::test_a_stream_killed_over_the_checkpoint_of_another",),
    ),
    Mutant(
        "faults: raw data follow a link",
        "src/eigenveil/algorithms/stream/checkpoint.py",
        "os.open(path, flags | no_link, mode)",
        "os.open(path, flags, mode)",
        ("tests/algorithms/stream/test_tracked_stream.py",),
    ),
    Mutant(
        "faults: a file that is short of memory is called damaged",
        "src/eigenveil/sources/guard.py",
        "    except MemoryError:\n        raise\n",
        "",
        ("tests/sources/test_guard.py",),
    ),
)

MUTANTS: tuple[Mutant, ...] = (*SOURCES, *UNITS, *KERNELS, *ACCOUNTS, *FAULTS)
