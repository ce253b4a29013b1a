"""How long a fit of a Spark data frame takes, over the same fit on a Dask cluster, both on this machine.

    python benchmarks/spark.py                 # writes benchmarks/results/spark.md
    python benchmarks/spark.py --rows 200000   # smaller; prints only, as with --repeats

Spark has two threads (`local[2]`) and Dask one worker with two. Both keep the rows, made by the same recipe, in
memory before the clock starts: Dask as arrays, Spark as a persisted frame, which it passes to Python in each fit.
Opening the frame, that is passing and packing its rows, is also timed separately. Every fit is timed several
times, after one that warms up Java, and the shortest time counts. Run it on an idle machine. Where Java or pyspark
is missing, nothing is measured.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
import warnings
from typing import Any

import cluster
import pyarrow as pa
import pyarrow.parquet as pq
import stamp
from harness import parser, say, table, write

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
    # over TCP, Linux 6.18 can stop delivering between the two processes when both send much (docs/scale.md)
    builder = builder.config("spark.python.unix.domain.socket.enabled", "true")
    spark = builder.config("spark.driver.memory", "8g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def on_spark(n: int, repeats: int) -> tuple[float, float]:
    """The time of a fit, and that of opening the frame, which is part of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "rows").mkdir()
        written(n, folder / "rows")
        spark = session(folder)
        frame = spark.read.parquet(str(folder / "rows")).repartition(PARTITIONS).persist()
        frame.count()
        DPPCA(5).fit(frame)
        calls = (lambda: DPPCA(5).fit(frame)), (lambda: open_source(frame))
        fit, opening = (cluster.shortest(call, repeats) for call in calls)
        spark.stop()
        return fit, opening


def main() -> None:
    """Run, print and write the table."""
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=1_000_000, help="nothing is written unless 1,000,000")
    options.add_argument("--repeats", type=int, default=cluster.REPEATS, help="of every fit")
    given = options.parse_args()
    n, repeats = given.rows, given.repeats
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        say("Spark is left out: it needs eigenveil[spark] and Java")
        return
    stamped = stamp.line("estimators")
    warnings.simplefilter("ignore")
    dask, _ = cluster.on_cluster(n, 1, 2, repeats)
    fit, opening = on_spark(n, repeats)
    found = [
        ("Spark with two threads over one Dask worker of two threads", f"{fit / dask:.2f}"),
        ("of which opening the frame", f"{opening / dask:.2f}"),
    ]
    write(
        "spark",
        title="Spark and Dask on one machine",
        about=f"`DPPCA(5).fit` of {n:,} x {cluster.COLUMNS}, everything paid, in one run.\n"
        "Data have seed 0; the noise of fits by Spark has none.",
        stamp=stamped,
        command="python benchmarks/spark.py",
        body=table(("", ""), found),
        keep=(n, repeats) == (1_000_000, cluster.REPEATS),
    )


if __name__ == "__main__":
    main()
