"""Little memory, folders that cannot be written, and clocks that jump."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eigenveil as ev
from faults import ledgers, work

NOBODY = 65534


def fit_line(path, *flags):
    return ["fit", str(path), "--algorithm", "dp-gauss-1", *map(str, flags)]


# -- memory --------------------------------------------------------------------------------------


def starve(server, data, folder, megabytes):
    """A fit that may take some megabytes more than the process has; returns its exit code, and what it said."""
    folder.mkdir()
    line = ["fit", str(data / "wide.parquet"), "--out", "model", "--ledger", "budget.json"]
    found = server("command_with_memory", folder, line=line, more=int(megabytes * 2**20))
    ledger = ledgers.check(folder / "budget.json", found.granted)
    assert found.status in (0, 1), found.err
    assert "Traceback" not in found.err
    if found.status:
        assert "Hint:" in found.err
        assert not (folder / "model").exists()
        assert not found.granted or "Count this budget as spent" in found.err
    else:
        assert ev.load(folder / "model").ledger_.mu == ledger.mu
    return found.status, found.err


@pytest.fixture(scope="module")
def wide(data):
    rows = np.random.default_rng(0).normal(size=(20_000, 60)).astype(np.float32)
    pq.write_table(pa.table({f"x{number}": column for number, column in enumerate(rows.T)}), data / "wide.parquet")
    return data


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")  # noqa: PTH110
def test_a_fit_without_memory_fails_cleanly(server, wide, tmp_path):
    code, said = starve(server, wide, tmp_path / "little", 8)
    assert code == 1
    assert "there is not enough memory" in said, "and not that the file is damaged"
    assert starve(server, wide, tmp_path / "enough", 1500)[0] == 0


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")  # noqa: PTH110
def test_fits_with_little_memory(server, wide, tmp_path, tried):
    sizes = [1.15**step for step in range(10, 50)]
    ends = [starve(server, wide, tmp_path / str(size), size)[0] for size in sizes]
    assert {0, 1} == set(ends)
    tried(
        "RLIMIT_AS from 4 to 940 MB above what the process has",
        f"{len(ends)} fits, of which {sum(ends)} failed",
        "success, or exit 1 with a hint and no traceback; the ledger shows every grant",
    )


# -- permissions ---------------------------------------------------------------------------------

needs_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="needs root, to become another user"
)


@pytest.fixture
def shut(tmp_path, data):
    """A folder of root, and beside it one in which anyone may write; all folders above can be entered."""
    for folder in (*tmp_path.parents, *data.parents, data, tmp_path):
        if folder.stat().st_uid == os.geteuid() and not folder.stat().st_mode & 0o005 and len(folder.parts) > 2:
            folder.chmod(folder.stat().st_mode | 0o055)
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o777)
    (tmp_path / "shut").mkdir(mode=0o755)
    return tmp_path


def denied(found):
    assert found.status == 1, found.err
    assert "Permission denied" in found.err
    assert "Traceback" not in found.err
    assert not found.granted
    return True


@needs_root
@pytest.mark.parametrize("there", [False, True])
def test_a_ledger_in_a_folder_that_is_read_only(server, data, shut, there, tried):
    book = shut / "shut" / "budget.json"
    line = fit_line(data / "rows.parquet", "--json", "--ledger", book)
    if there:
        assert server("command", shut / "home", line=[*line, "--cap-epsilon", "5"]).status == 0
        kept = book.read_bytes()
        (shut / "home" / "out").unlink()
        (shut / "home" / "err").unlink()
    assert denied(server("command", shut / "home", line=line, user=NOBODY))
    assert not there or book.read_bytes() == kept
    tried(
        f"ledger file in a read-only folder, as another user ({'there' if there else 'new'})",
        1,
        "exit 1, no noise, the file as it was",
    )


@needs_root
@pytest.mark.parametrize("flag", ["--out", "--report"])
def test_results_in_a_folder_that_is_read_only(server, data, shut, flag, tried):
    line = fit_line(data / "rows.parquet", flag, shut / "shut" / "result", "--ledger", "budget.json")
    assert denied(server("command", shut / "home", line=line, user=NOBODY))
    assert not (shut / "home" / "budget.json").exists(), "checked before anything is spent"
    tried(f"{flag} in a read-only folder, as another user", 1, "exit 1, nothing is spent")


@needs_root
def test_a_model_and_a_checkpoint_in_a_folder_that_is_read_only(server, shut, tried):
    for name, asked in {
        "save": {"number": 1, "path": str(shut / "shut" / "model")},
        "stream": {"path": str(shut / "shut" / "s"), "units": "rows", "arrivals": 90, "save_every": 20},
    }.items():
        found = server(name, shut / "home", user=NOBODY, **asked)
        assert found.status == 70
        assert "InvalidInputError" in found.err
        assert "could not be written: Permission denied" in found.err
        assert not found.granted
        for file in ("out", "err"):
            (shut / "home" / file).unlink()
    assert not list((shut / "shut").iterdir())
    tried("model and checkpoint in a read-only folder, as another user", 2, "a clear error, no noise, no file")


# -- clocks --------------------------------------------------------------------------------------

JUMPS = [0.0, 3600.0, -86400.0, 1e6, -1e6, 1e-9]


def test_a_clock_that_jumps_changes_nothing(server, data, tmp_path, tried):
    """Neither the order of entries nor the cap nor a seeded result depends on the time."""
    line = fit_line(data / "rows.parquet", "--json", "--seed", 3, "--ledger", "budget.json", "--cap-epsilon", 1.5)
    found = {}
    for name, work_name, more in (("still", "command", {}), ("jumping", "command_with_clock", {"steps": JUMPS})):
        folder = tmp_path / name
        folder.mkdir()
        ends = []
        for year in (2001, 1970, 2100):  # the file's own time is set back and forth
            ends.append(server(work_name, folder, line=line, **more))
            os.utime(folder / "budget.json", (86400 * 365 * (year - 1970),) * 2)
        found[name] = [(end.status, end.out) for end in ends], (folder / "budget.json").read_bytes()
    assert found["still"] == found["jumping"]
    assert [status for status, _ in found["still"][0]] == [0, 0, 3]
    tried(
        "clocks set back and forth during a fit, and times of the ledger file",
        3,
        "ledger file, cap and output equal to those of a steady clock, byte by byte",
    )


def test_a_clock_that_jumps_during_a_stream(server, tmp_path, tried):
    settings = {"path": "s", "units": "rows", "arrivals": 3 * work.BATCH, "save_every": 25}
    for year in (2050, 1971):
        found = server("stream", tmp_path, **settings)
        assert found.status == 0, found.err
        for path in (tmp_path / "s", tmp_path / "s.RAW-DATA"):
            os.utime(path, (86400 * 365 * (year - 1970),) * 2)
    assert found.marks[-1]["batches"] == 3
    tried("clocks set back and forth during a stream, and times of its files", 2, "the stream goes on")
