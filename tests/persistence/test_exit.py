"""The end of a program waits for files that other threads are writing."""

import subprocess
import sys

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
