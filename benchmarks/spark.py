"""How long a fit of a Spark data frame takes, over the same fit on a Dask cluster, both on this machine.

    python benchmarks/spark.py                 # writes benchmarks/results/spark.md
    python benchmarks/spark.py --rows 200000   # smaller; prints only

Spark has two threads (`local[2]`) and Dask one worker with two. Both keep the rows, made by the same recipe, in
memory before the clock starts: Dask as arrays, Spark as a frame that is persisted, which it hands to Python in
each fit. Opening, that is handing over and packing, is also timed by itself. Every fit is timed three times, after
one that warms up Java, and the shortest counts. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
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

from eigenveil import DPPCA
from eigenveil.sources import open_source

PARTITIONS = 8


def written(n: int, folder: pathlib.Path) -> None:
    """The rows as Parquet files."""
    for number, block in enumerate(cluster.rows(n).blocks):
        values = block.compute()
        table = pa.table({f"x{place}": values[:, place] for place in range(cluster.COLUMNS)})
        pq.write_table(table, folder / f"{number}.parquet")


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="nothing is written unless 1,000,000")
    n = parser.parse_args().rows
    warnings.simplefilter("ignore")
    dask = cluster.on_cluster(n, 1, 2)
    fit, opening = on_spark(n)
    lines = [
        "# Spark and Dask on one machine",
        "",
        f"`DPPCA(5).fit` of {n:,} x {cluster.COLUMNS}, everything paid, in one run.",
        stamp.line(),
        "Made by `python benchmarks/spark.py`, which says how.",
        "",
        "| | |",
        "|---|---|",
        f"| Spark with two threads over one Dask worker of two threads | {fit / dask:.2f} |",
        f"| of which opening the frame | {opening / dask:.2f} |",
        "",
    ]
    print("\n".join(lines))
    if n == 1_000_000:
        (pathlib.Path(__file__).parent / "results" / "spark.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
