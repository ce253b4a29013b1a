"""Locale, encoding and time zone change nothing: the same output, ledger file and model, byte by byte."""

import datetime as dt
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

PLAIN = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONUTF8": "1"}
FAR_EAST = "KIR-14"
"""A time zone 14 hours ahead, without the need for a data base of time zones."""
START = "import locale; locale.setlocale(locale.LC_ALL, ''); from eigenveil.cli import main; main()"
"""The command, in a program that uses the locale for numbers and dates too."""
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Numbers, dates, times with and without a zone; names that are not ASCII, as CSV and Parquet."""
    folder = tmp_path_factory.mktemp("sizes")
    rng = np.random.default_rng(0)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 900, 2000)]
    times = [dt.datetime.combine(day, dt.time(23, 30)) for day in days]  # midnight is near
    columns = {
        "größe": rng.normal(size=2000) * 1234.5,
        "ısı": rng.normal(size=2000) / 7,
        "seen": days,
        "at": times,
        "site": rng.choice(["İzmir", "Izmir", "I", "i"], 2000),
    }
    zoned = pa.array(times, pa.timestamp("us", "Asia/Tokyo"))
    pq.write_table(pa.table({**columns, "zoned": zoned}), folder / "rows.parquet")
    pc.write_csv(pa.table(columns), folder / "rows.csv")
    return folder


def made_in(environment, table, folder, name):
    """Output, ledger file and model of a fit in this environment."""
    folder.mkdir()
    origin = "days since 2020-01-01"
    encode = [f"seen={origin}", f"at={origin}", "site=Izmir,I,i"] + [f"zoned={origin}"] * ("parquet" in name)
    line = ["fit", str(table / name), "--seed", "3", "--json", "--out", "model", "--ledger", "budget.json"]
    line += [word for one in encode for word in ("--encode", one)] + ["--algorithm", "dp-gauss-1", "-k", "3"]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", START, *line],
        cwd=folder,
        env={**os.environ, **environment, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["components"]
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "command.txt")
    return done.stdout, {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
def test_another_locale_and_time_zone(table, tmp_path, name):
    plain = made_in(PLAIN, table, tmp_path / "plain", name)
    assert made_in({**ASCII, "TZ": FAR_EAST}, table, tmp_path / "other", name) == plain


@pytest.fixture(scope="module")
def locales(tmp_path_factory):
    """Environments with a decimal comma, and with a dotless i; compiled, since few machines have them."""
    folder = tmp_path_factory.mktemp("locales")
    compiler, made = shutil.which("localedef"), []
    for name in ("de_DE", "tr_TR"):
        command = [compiler, "-i", name, "-f", "UTF-8", str(folder / f"{name}.UTF-8")]
        if compiler and not subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603
            made.append({"LC_ALL": f"{name}.UTF-8", "LOCPATH": str(folder)})
    return made


@pytest.mark.slow
def test_more_locales_and_time_zones(table, locales, tmp_path, tried):
    zones = [
        {"TZ": zone} for zone in ("Pacific/Kiritimati", "America/St_Johns", FAR_EAST, "XXX+11:30", "nonsense")
    ]
    changes = [*locales, {"LC_ALL": "POSIX"}, *zones, ASCII, {"PYTHONUTF8": "0"}]
    for name in ("rows.parquet", "rows.csv"):
        plain = made_in(PLAIN, table, tmp_path / f"plain {name}", name)
        for number, more in enumerate(changes):
            assert made_in({**PLAIN, **more}, table, tmp_path / f"{number} {name}", name) == plain, more
    shown = ", ".join(f"{key}={value}" for one in changes for key, value in one.items() if key != "LOCPATH")
    tried(
        f"environment: {shown}",
        2 * len(changes),
        "output, ledger file and model equal those of C.UTF-8 in UTC, byte by byte",
    )
    if not locales:
        pytest.skip("localedef is missing: no locale with a decimal comma was tried; the others passed")


def test_file_names_that_are_not_text(server, data, tmp_path):
    """A name in Latin-1, say. It is found out before anything is spent, or does no harm."""
    name = b"gr\xf6\xdfe".decode("utf-8", "surrogateescape")
    pc.write_csv(pq.read_table(data / "rows.parquet"), tmp_path / "rows.csv")
    try:
        (tmp_path / "rows.csv").rename(tmp_path / f"{name}.csv")
    except OSError:
        pytest.skip("this file system takes names of text only")
    shutil.copy(data / "rows.parquet", tmp_path / f"{name}.parquet")
    flags = ["--algorithm", "dp-gauss-1", "--out", "model", "--report", "report.html"]
    done = server("command", tmp_path, line=["fit", f"{name}.csv", *flags])
    assert done.status == 0, done.err
    assert "fit DATA --algorithm" in (tmp_path / "model" / "command.txt").read_text(encoding="utf-8")
    found = server("command", tmp_path, line=["fit", f"{name}.parquet", *flags, "--force"])
    assert (found.status, found.granted) == (1, [])
    assert "is not valid text" in found.err
    assert "Traceback" not in found.err
