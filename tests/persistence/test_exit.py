"""The end of a program waits for files that other threads are writing."""

import os
import subprocess
import sys

import pytest

from eigenveil._atomic_files import CAN_LOCK
from eigenveil.persistence.folders import read_folder

PROGRAM = """
import pathlib, sys, threading, time
from eigenveil._atomic_files import written_whole

folder, begun = pathlib.Path(sys.argv[1]), threading.Event()

def write():
    for number in range(100):
        with written_whole(folder / f"file-{number}") as part:
            part.write_text("half ")
            begun.set()
            time.sleep(0.2)
            part.write_text("all of it")

threading.Thread(target=write, daemon=True).start()
begun.wait()
"""


def test_no_part_is_left_by_a_daemon_thread(tmp_path):
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True, timeout=60)  # noqa: S603
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file-0": "all of it"}


FORKED = """
import os, pathlib, sys, threading, time
from eigenveil._atomic_files import _IN_PROGRESS, written_whole

folder, begun, forked = pathlib.Path(sys.argv[1]), threading.Barrier(3), threading.Event()

def write():
    with written_whole(folder / "parent") as part:
        part.write_text("all of it")
        writing.set()
        begun.wait()
        forked.wait()

def hold():
    writing.wait()
    with _IN_PROGRESS._changed:
        begun.wait()
        forked.wait()

writing = threading.Event()
threading.Thread(target=write, daemon=True).start()
threading.Thread(target=hold, daemon=True).start()
begun.wait()
child = os.fork()
if not child:
    with written_whole(folder / "child") as part:
        part.write_text("all of it")
    start = time.monotonic()
    _IN_PROGRESS._finish()
    os._exit(time.monotonic() - start > 5)
forked.set()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_does_not_wait_for_files_of_its_parent(tmp_path):
    subprocess.run([sys.executable, "-c", FORKED, str(tmp_path)], check=True, timeout=60)  # noqa: S603
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("parent", "child"), "all of it"
    )


NESTED = """
import pathlib, sys, threading, time
from eigenveil._atomic_files import written_whole

folder, begun = pathlib.Path(sys.argv[1]), threading.Event()

def write():
    with written_whole(folder / "outer") as part:
        begun.set()
        time.sleep(0.2)
        with written_whole(folder / "inner") as inner:
            inner.write_text("all of it")
        part.write_text("all of it")

threading.Thread(target=write, daemon=True).start()
begun.wait()
"""


def test_a_file_written_within_another_is_finished(tmp_path):
    subprocess.run([sys.executable, "-c", NESTED, str(tmp_path)], check=True, timeout=60)  # noqa: S603
    assert {path.name for path in tmp_path.iterdir()} == {"outer", "inner"}


JOINED = """
import atexit, pathlib, sys, threading

folder, over = pathlib.Path(sys.argv[1]), threading.Event()

@atexit.register  # before eigenveil's own, so it runs after it
def close():
    over.set()
    worker.join()

from eigenveil import _atomic_files

_atomic_files._LONGEST_WRITE = 0.2

def write():
    over.wait()
    with _atomic_files.written_whole(folder / "last") as part:
        part.write_text("all of it")

worker = threading.Thread(target=write, daemon=True)
worker.start()
"""


def test_an_exit_hook_can_wait_for_a_thread_that_writes(tmp_path):
    subprocess.run([sys.executable, "-c", JOINED, str(tmp_path)], check=True, timeout=60)  # noqa: S603
    assert (tmp_path / "last").read_text() == "all of it"


SAVED = """
import functools, pathlib, sys, threading, time
import numpy as np
from eigenveil import _atomic_files
from eigenveil.persistence.folders import write_folder

begun, to_disk = threading.Event(), _atomic_files.to_disk

def slow(path):
    begun.set()
    time.sleep(0.1)
    to_disk(path)

_atomic_files.to_disk = slow
model = pathlib.Path(sys.argv[1]) / "model"
save = functools.partial(write_folder, model, {}, {"x": np.ones(3)}, version="0")
threading.Thread(target=save, daemon=True).start()
begun.wait()
"""


def test_a_model_is_saved_completely(tmp_path):
    subprocess.run([sys.executable, "-c", SAVED, str(tmp_path)], check=True, timeout=60)  # noqa: S603
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert read_folder(tmp_path / "model")[1]["x"].tolist() == [1, 1, 1]


FORKED_WITHIN = """
import os, pathlib, sys
from eigenveil._atomic_files import written_whole

whole = pathlib.Path(sys.argv[1]) / "file"
with written_whole(whole) as part:
    part.write_text("first ")
    child = os.fork()
    if not child:
        sys.exit()
    os.waitpid(child, 0)
    with part.open("a") as file:
        file.write("and last")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_forked_in_the_middle_of_a_file_leaves_it_to_its_parent(tmp_path):
    subprocess.run([sys.executable, "-c", FORKED_WITHIN, str(tmp_path)], check=True, timeout=60)  # noqa: S603
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file": "first and last"}


SAVE_FORKED_WITHIN = """
import os, pathlib, sys
import numpy as np
from eigenveil import _atomic_files
from eigenveil.persistence.folders import write_folder

to_disk = _atomic_files.to_disk

def forked(path):
    child = os.fork()
    if not child:
        sys.exit()
    os.waitpid(child, 0)
    to_disk(path)

_atomic_files.to_disk = forked
write_folder(pathlib.Path(sys.argv[1]) / "model", {}, {"x": np.ones(3)}, version="0")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_forked_in_the_middle_of_a_first_save_leaves_the_model_to_its_parent(tmp_path):
    subprocess.run([sys.executable, "-c", SAVE_FORKED_WITHIN, str(tmp_path)], check=True, timeout=60)  # noqa: S603
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert read_folder(tmp_path / "model")[1]["x"].tolist() == [1, 1, 1]


LOCKS_FORKED = """
import os, pathlib, sys
from eigenveil._atomic_files import locked, locked_folder
from eigenveil.errors import EigenveilError

folder, busy = pathlib.Path(sys.argv[1]), EigenveilError("busy")
hold, held = os.pipe()
with locked(folder / "file", busy=busy), locked_folder(folder, to_write=True):
    child = os.fork()
    if not child:  # lives on, and has all handles
        os.close(held)
        os.read(hold, 1)
        os._exit(0)
    other = os.fork()
    if not other:  # leaves both blocks
        sys.exit()
    os.waitpid(other, 0)
    try:
        with locked(folder / "file", busy=busy):
            print("released by a child")
    except EigenveilError:
        print("held")
with locked(folder / "file", busy=busy), locked_folder(folder, to_write=True):
    print("free")
os.close(held)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not (CAN_LOCK and hasattr(os, "fork")), reason="this system has no locks, or cannot fork")
def test_a_forked_process_neither_keeps_nor_releases_a_lock_of_its_parent(tmp_path):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LOCKS_FORKED, str(tmp_path)], check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stdout.split() == ["held", "free"]


MANY = """
import atexit, pathlib, sys, threading

folder, over, waits = pathlib.Path(sys.argv[1]), threading.Event(), []

@atexit.register  # before eigenveil's own, so it runs after it
def close():
    over.set()
    worker.join()
    assert len(waits) == 3 and sum(waits) <= 1.0, waits

from eigenveil import _atomic_files

_atomic_files._LONGEST_WRITE = 1.0
writes = _atomic_files._IN_PROGRESS
left = writes._left

def counted():
    waits.append(left())
    return waits[-1]

def write():
    over.wait()
    writes._left = counted
    for number in range(3):
        with _atomic_files.written_whole(folder / f"file-{number}") as part:
            part.write_text("all of it")

worker = threading.Thread(target=write, daemon=True)
worker.start()
"""


def test_a_thread_that_writes_many_files_after_the_end_waits_once(tmp_path):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", MANY, str(tmp_path)], check=True, timeout=60, capture_output=True, text=True
    )
    assert "AssertionError" not in done.stderr
    assert len(list(tmp_path.iterdir())) == 3
