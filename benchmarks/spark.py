"""How long a fit of a Spark data frame takes, over the same fit on a Dask cluster, both on this machine.

    python benchmarks/spark.py                 # writes benchmarks/results/spark.md
    python benchmarks/spark.py --rows 200000   # smaller; prints only

Spark has two threads (`local[2]`) and Dask one worker with two. Both keep the rows, made by the same recipe, in
memory before the clock starts: Dask as arrays, Spark as a persisted frame, which it passes to Python in each fit.
Opening the frame, that is passing and packing its rows, is also timed separately. Every fit is timed several
times, after one that warms up Java, and the shortest time counts. Run it on an idle machine.
"""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile
import warnings
from typing import Any

import cluster
import pyarrow as pa
import pyarrow.parquet as pq
import stamp
from harness import parser, table, write

from eigenveil import DPPCA
from eigenveil.sources import open_source

PARTITIONS = 8


def written(n: int, folder: pathlib.Path) -> None:
    """The rows as Parquet files."""
    for number, block in enumerate(cluster.rows(n).blocks):
        values = block.compute()
        columns = pa.table({f"x{place}": values[:, place] for place in range(cluster.COLUMNS)})
        pq.write_table(columns, folder / f"{number}.parquet")


def session(folder: pathlib.Path) -> Any:
    """Two threads of one Java process."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.local.dir", str(folder))
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.driver.memory", "8g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def on_spark(n: int) -> tuple[float, float]:
    """The time of a fit, and that of opening the frame, which is part of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "rows").mkdir()
        written(n, folder / "rows")
        spark = session(folder)
        frame = spark.read.parquet(str(folder / "rows")).repartition(PARTITIONS).persist()
        frame.count()
        DPPCA(5).fit(frame)
        times = cluster.shortest(lambda: DPPCA(5).fit(frame)), cluster.shortest(lambda: open_source(frame))
        spark.stop()
        return times


def main() -> None:
    """Run, print and write the table."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=1_000_000, help="nothing is written unless 1,000,000")
    n = options.parse_args().rows
    stamped = stamp.line("estimators")
    warnings.simplefilter("ignore")
    dask, _ = cluster.on_cluster(n, 1, 2)
    fit, opening = on_spark(n)
    found = [
        ("Spark with two threads over one Dask worker of two threads", f"{fit / dask:.2f}"),
        ("of which opening the frame", f"{opening / dask:.2f}"),
    ]
    write(
        "spark",
        title="Spark and Dask on one machine",
        about=f"`DPPCA(5).fit` of {n:,} x {cluster.COLUMNS}, everything paid, in one run.",
        stamp=stamped,
        command="python benchmarks/spark.py",
        body=table(("", ""), found),
        keep=n == 1_000_000,
    )


if __name__ == "__main__":
    main()
