"""Spark: the same integers as on one machine, for any partitioning; nothing is lost or counted twice."""

import os
import shutil
import signal
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from eigenveil import DPPCA
from eigenveil.engines import DisjointPlan, LocalEngine, SampledPopulation, SlotsQuery, SparkEngine, spark_engine
from eigenveil.engines.engine_choice import read_engine
from eigenveil.engines.plans import Coins, FullPlan
from eigenveil.errors import InvalidInputError, UnreadableError
from eigenveil.operators import Products, samples
from eigenveil.sources import open_source
from eigenveil.sources.clusters import spark_frames

pytestmark = pytest.mark.slow
pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed (extra eigenveil[spark])")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java on this machine, which Spark needs", allow_module_level=True)

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(6000, 6)) * [9, 5, 2, 1, 1, 1] + 3
ROWS[17, 2] = np.nan
TABLE = pa.table({name: ROWS[:, i] for i, name in enumerate("abcdef")} | {"who": RNG.integers(0, 2000, 6000)})
PLAIN = TABLE.drop_columns("who")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """Two threads of one Java process; a task is tried at most four times."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        builder = SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.local.dir", str(tmp_path_factory.mktemp("spark")))
        builder = builder.config("spark.sql.adaptive.coalescePartitions.enabled", "false")
        session = builder.config("spark.sql.shuffle.partitions", "5").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def fit(data, units=None, **options):
    return DPPCA(2, random_state=0, **options).fit(data, units=units)


def same(one, other):
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(one.explained_variance_, other.explained_variance_)
    assert [entry.what for entry in one.ledger_.entries] == [entry.what for entry in other.ledger_.entries]


@pytest.mark.parametrize("partitions", [1, 3, 20])
def test_rows_give_the_same_release_however_they_are_cut(partitions, spark):
    there = fit(spark.createDataFrame(PLAIN).repartition(partitions))
    same(there, fit(PLAIN))
    assert list(there.feature_names_in_) == list("abcdef")


def test_partitions_without_rows_change_nothing(spark):
    """Most of 40 partitions are empty: first, middle and last ones. Also one partition with all rows."""
    from pyspark.sql import functions

    frame = spark.createDataFrame(PLAIN)
    here = fit(PLAIN)
    few = frame.withColumn("n", functions.floor(functions.abs("a") * 7) % 5).repartition(40, "n").drop("n")
    sizes = few.groupBy(functions.spark_partition_id()).count().toArrow().column("count")
    assert len(sizes) < 40
    same(fit(few), here)
    same(fit(frame.where("a > 1e9").union(frame).union(frame.where("a > 1e9"))), here)
    same(fit(frame.coalesce(1)), here)


@pytest.mark.parametrize("options", [{"center": False}, {"scale": np.arange(1.0, 7.0)}, {"scale": "private"}])
def test_rows_are_centred_and_scaled_where_they_are(options, spark):
    same(fit(spark.createDataFrame(PLAIN), engine="spark", **options), fit(PLAIN, **options))


def test_columns_are_chosen_whatever_their_names(spark):
    odd = TABLE.rename_columns(["a.b", "c`d", "e f", "d", "e", "f", "who"])
    same(fit(spark.createDataFrame(odd), columns=["c`d", "a.b"]), fit(odd, columns=["c`d", "a.b"]))


@pytest.mark.parametrize("kind", ["number", "text", "missing"])
def test_people_are_brought_together_first(kind, spark):
    who = TABLE["who"].to_pandas()
    ids = {"number": who, "text": who.map("p{}".format), "missing": who.astype("Int64").mask(who < 300)}[kind]
    table = PLAIN.append_column("who", pa.array(ids))
    there = spark.createDataFrame(table).repartition(7)
    same(fit(there, "who"), fit(table, "who"))
    assert len(open_source(there, units="who").partitions()) > 1


def rows_of_people(frame):
    """Every person's rows as bytes, in order; people are in any order."""
    found = []
    for block in open_source(frame, units="who").blocks():
        found += [block.between(u, u + 1).values.tobytes() for u in range(block.units)]
    return sorted(found)


def test_a_persons_rows_are_in_one_order_however_they_arrive(spark, monkeypatch):
    first = spark.createDataFrame(TABLE)
    shuffled = TABLE.take(np.random.default_rng(5).permutation(6000))
    others = [first.repartition(7), spark.createDataFrame(shuffled), spark.createDataFrame(shuffled).coalesce(1)]
    people, release = rows_of_people(first), fit(first, "who")
    assert len(people) == len(np.unique(TABLE["who"]))
    for other in others:
        assert rows_of_people(other) == people
        same(fit(other, "who"), release)
    real = type(first).sortWithinPartitions  # rows would be in order of arrival; the check detects it
    monkeypatch.setattr(type(first), "sortWithinPartitions", lambda self, bucket, *_: real(self, bucket))
    assert any(rows_of_people(other) != people for other in others)


def test_people_are_whole_in_partitions_of_several_blocks(spark):
    """All 19 MB are in one partition, whatever the buckets; small batches let tables be cut between them."""
    wide = np.random.default_rng(2).normal(size=(6000, 400))
    table = pa.table({f"x{i}": wide[:, i] for i in range(400)} | {"who": TABLE["who"]})
    frame = spark.createDataFrame(table).repartition(3)
    names = "spark.sql.shuffle.partitions", "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = [spark.conf.get(name) for name in names]
    try:
        for name, value in zip(names, ("1", "100"), strict=True):
            spark.conf.set(name, value)
        source = open_source(frame, units="who")
    finally:
        for name, value in zip(names, before, strict=True):
            spark.conf.set(name, value)
    assert [records > 3 for _, records in source.rows.found.values()] == [True]
    units = [block.units for block in source.blocks()]
    assert sum(units) == len(np.unique(TABLE["who"]))
    assert SparkEngine().reduce(source.partitions(), FullPlan(), SlotsQuery(1)).sum() == sum(units)


def test_what_spark_brings_together_is_checked(spark, monkeypatch):
    monkeypatch.setattr(type(spark.range(1)), "repartition", lambda self, *_: self)
    frame = spark.createDataFrame(TABLE)
    with pytest.raises(InvalidInputError, match="Spark's shuffle left rows of one person in several partitions"):
        open_source(frame, units="who")


def test_a_unit_has_the_same_coin_in_every_pass_though_spark_would_reorder_rows(spark):
    """A frame in random order is computed once, so parts stay disjoint and complete."""
    from pyspark.sql import functions

    frame = spark.createDataFrame(PLAIN).repartition(4).orderBy(functions.rand())
    operator = samples.rows(frame)
    plan = DisjointPlan(3, Coins(b"k"))
    W = np.eye(6)[:, :1]

    def total(part, engine):
        asked = SampledPopulation(operator, Products(W), plan=part, engine=engine)
        return asked.clipped_sum(np.zeros((6, 1)), 1e6, -10)

    whole = total(FullPlan(), SparkEngine())
    parts = [total(plan.part(i), SparkEngine()) for i in range(3)]
    np.testing.assert_array_equal(sum(parts), whole)
    for part, got in enumerate(parts):
        np.testing.assert_array_equal(total(plan.part(part), LocalEngine(1)), got)


def test_no_partition_is_left_out_or_asked_twice(spark, monkeypatch):
    source = open_source(spark.createDataFrame(PLAIN).repartition(3))
    query = SlotsQuery(3)
    assert SparkEngine().reduce(source.partitions(), FullPlan(), query).sum() == 6000
    real = SparkEngine._answers
    for wrong in (lambda answers: answers[:-1], lambda answers: [*answers, answers[-1]]):
        monkeypatch.setattr(SparkEngine, "_answers", lambda *a, wrong=wrong: wrong(real(*a)))
        with pytest.raises(InvalidInputError, match="exactly one answer from each Spark partition"):
            SparkEngine().reduce(source.partitions(), FullPlan(), query)


def test_a_partition_that_is_not_the_one_that_was_kept_is_refused(spark):
    """This happens if Spark computes it again: another copy, or fewer blocks."""
    source = open_source(spark.createDataFrame(PLAIN).repartition(3))
    for change in (lambda copy, records: (copy + 1, records), lambda copy, records: (copy, records + 1)):
        found = source.rows.found | {1: change(*source.rows.found[1])}
        other = replace(source, rows=replace(source.rows, found=found))
        with pytest.raises(InvalidInputError, match="as it kept them"):
            SparkEngine().reduce(other.partitions(), FullPlan(), SlotsQuery(3))


def test_the_session_is_left_as_it_was(spark):
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    spark.conf.set(name, "1234")
    fit(spark.createDataFrame(PLAIN))
    assert spark.conf.get(name) == "1234"
    spark.conf.unset(name)


@pytest.mark.parametrize("rows", [0, 1])
def test_frames_with_hardly_any_rows(rows, spark):
    source = open_source(spark.createDataFrame(PLAIN).limit(rows))
    count = len(source.partitions())
    assert SparkEngine().reduce(source.partitions(), FullPlan(), SlotsQuery(count)).sum() == rows


class Refusing(SlotsQuery):
    def add(self, state, chunk):  # noqa: ARG002
        raise InvalidInputError("not like this.", hint="but so")


def test_what_is_refused_on_a_worker_is_told_as_here(spark):
    ids = PLAIN.append_column("who", pa.array(np.arange(6000) * 2.0**50))
    with pytest.raises(UnreadableError, match="Spark could not compute"):
        fit(spark.createDataFrame(ids), "who")
    source = open_source(spark.createDataFrame(PLAIN))

    with pytest.raises(InvalidInputError, match=r"^not like this.\nHint: but so$"):
        SparkEngine().reduce(source.partitions(), FullPlan(), Refusing(len(source.partitions())))


def test_what_spark_says_of_values_is_not_passed_on(spark):
    canary = "31415.92653"
    frame = spark.createDataFrame(pa.table({"x": ["1.5", canary + "!"]})).selectExpr("cast(x as double) as x")
    with pytest.raises(UnreadableError, match="Spark could not compute") as caught:
        open_source(frame)
    error = caught.value
    while error is not None:
        assert canary not in str(error)
        error = error.__cause__ or error.__context__


def test_engines_by_name_and_by_data(spark):
    assert read_engine("spark") == SparkEngine()
    source = open_source(spark.createDataFrame(PLAIN))
    assert isinstance(source, spark_frames.SparkSource)
    assert not source.fixed_places
    with pytest.raises(InvalidInputError, match="expected a Spark data frame for SparkEngine"):
        fit(ROWS, engine="spark")
    same(fit(spark.createDataFrame(PLAIN), engine=LocalEngine(1)), fit(PLAIN))


@pytest.mark.parametrize(
    ("table", "units", "said"),
    [
        (TABLE, np.arange(6000), "name of a column for units"),
        (TABLE, "whom", "Did you mean 'who'"),
        (PLAIN.append_column("t", pa.array(["x"] * 6000)), None, "expected columns of numbers, got 't'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_computed(table, units, said, spark, monkeypatch):
    monkeypatch.setattr(spark_frames, "_kept", None)
    monkeypatch.setattr(spark_frames, "_gathered", None)
    with pytest.raises(InvalidInputError, match=said):
        fit(spark.createDataFrame(table), units)


def test_an_algorithm_that_looks_at_single_units_is_refused(spark):
    operator = samples.rows(spark.createDataFrame(PLAIN))
    with pytest.raises(InvalidInputError, match="units one by one"):
        SampledPopulation(operator, Products(np.eye(6)[:, :1]), engine=SparkEngine()).tensors()


def test_no_row_comes_back(spark, monkeypatch):
    """The answer that the driver gets is small and contains none of the data's bytes."""
    mark = 1.2345678901234567
    seen = []
    real = SparkEngine._answers
    monkeypatch.setattr(SparkEngine, "_answers", lambda *a: seen.append(real(*a)) or seen[-1])
    rows = pd.DataFrame(np.full((4000, 6), mark), columns=list("abcdef"))
    fit(spark.createDataFrame(pa.Table.from_pandas(rows)).repartition(20))
    assert len(seen) > 5
    assert all(len(answers) <= spark_engine._MERGED for answers in seen)
    assert all(np.float64(mark).tobytes() not in one for answers in seen for one in answers)


class Dying(SlotsQuery):
    """A query that kills its Python worker the first time."""

    def __init__(self, partitions, path):
        object.__setattr__(self, "partitions", partitions)
        object.__setattr__(self, "path", path)

    def add(self, state, chunk):
        if not os.path.exists(self.path):  # noqa: PTH110
            with open(self.path, "w"):  # noqa: PTH123
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        return super().add(state, chunk)


def test_a_python_worker_that_is_killed_loses_nothing(spark, tmp_path):
    source = open_source(spark.createDataFrame(PLAIN).repartition(3))
    path = str(tmp_path / "died")
    assert SparkEngine().reduce(source.partitions(), FullPlan(), Dying(3, path)).sum() == 6000
    assert os.path.exists(path)  # noqa: PTH110
