"""Saving is all or nothing."""

import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import eigenveil as ev
from eigenveil import DPPCA, _atomic_files
from eigenveil._atomic_files import CAN_LOCK
from eigenveil.errors import EigenveilError, InvalidInputError
from eigenveil.persistence import folders
from eigenveil.persistence.folders import read_folder, write_folder
from persistence.test_round_trip import assert_same


def fitted(seed):
    X = np.random.default_rng(0).normal(size=(500, 4)) * [5, 3, 1, 1]
    return DPPCA(2, algorithm="dp-gauss-1", center=False, random_state=seed).fit(X)


FIRST, SECOND = 1, 2


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_model_is_two_files(tmp_path):
    ev.save(fitted(FIRST), tmp_path / "model")
    names = sorted(path.name for path in (tmp_path / "model").iterdir())
    assert names[0] == "model.json"
    assert names[1].startswith("tensors-")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_saving_again_replaces_both(tmp_path):
    first, second = fitted(FIRST), fitted(SECOND)
    for model in (first, second, second, first):
        ev.save(model, str(tmp_path / "model"))
        assert len(list((tmp_path / "model").iterdir())) == 2
        assert_same(model, ev.load(str(tmp_path / "model")))


def test_an_empty_folder_is_accepted(tmp_path):
    (tmp_path / "model").mkdir()
    ev.save(fitted(FIRST), tmp_path / "model")
    assert ev.load(tmp_path / "model").n_components_ == 2


class PowerCutError(BaseException):
    """Derived from BaseException, so that no handler catches it by accident."""


def cut_at(monkeypatch, step):
    """Simulate a power cut at the n-th call that writes to disk; return a counter of such calls."""
    count = [0]

    def counted(function):
        def run(*arguments, **options):
            count[0] += 1
            if count[0] == step:
                raise PowerCutError
            return function(*arguments, **options)

        return run

    monkeypatch.setattr(os, "fsync", counted(os.fsync))
    monkeypatch.setattr(pathlib.Path, "replace", counted(pathlib.Path.replace))
    monkeypatch.setattr(pathlib.Path, "rename", counted(pathlib.Path.rename))
    monkeypatch.setattr(pathlib.Path, "write_bytes", counted(pathlib.Path.write_bytes))
    monkeypatch.setattr(pathlib.Path, "write_text", counted(pathlib.Path.write_text))
    return count


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.parametrize("step", range(1, 11))
def test_a_crash_leaves_the_old_or_the_new(there, cleaned, step, tmp_path, monkeypatch):
    """Also if the process was killed, so that nothing was cleaned up."""
    old, new, path = fitted(FIRST), fitted(SECOND), tmp_path / "model"
    if there:
        ev.save(old, path)
    with monkeypatch.context() as patched:
        count = cut_at(patched, step)
        if not cleaned:
            patched.setattr(pathlib.Path, "unlink", lambda *_, **__: None)
            patched.setattr("shutil.rmtree", lambda *_, **__: None)
        try:
            ev.save(new, path)
            finished = True
        except PowerCutError:
            finished = False
    assert finished == (count[0] < step)
    if finished:
        assert_same(new, ev.load(path))
    elif path.exists():
        again = ev.load(path)
        assert again.random_state in ((FIRST, SECOND) if there else (SECOND,))
        assert_same(new if again.random_state == SECOND else old, again)
    else:
        assert not there
    if cleaned and not finished:
        assert not [file for file in tmp_path.rglob("*") if ".part-" in file.name]
    ev.save(new, path)  # saving again works
    assert_same(new, ev.load(path))


def test_other_files_are_never_changed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "model.json").write_text('{"format": "another"}')
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested" / "model.json").mkdir()
    before = content(tmp_path)
    for name, match in [("mine", "other files"), ("file", "is a file"), ("foreign", "other files")]:
        with pytest.raises(InvalidInputError, match=match):
            ev.save(fitted(FIRST), tmp_path / name)
    with pytest.raises(InvalidInputError):
        ev.save(fitted(FIRST), tmp_path / "nested")
    with pytest.raises(InvalidInputError, match="could not be written: No such file"):
        ev.save(fitted(FIRST), tmp_path / "no" / "such" / "folder")
    assert content(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may do everything")
def test_permissions(tmp_path):
    ev.save(fitted(FIRST), tmp_path / "model")
    for path, action in [
        (tmp_path / "model" / "model.json", ev.load),
        (tmp_path / "model", lambda where: ev.save(fitted(SECOND), where)),
    ]:
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(0)
        with pytest.raises(InvalidInputError, match="Permission denied"):
            action(tmp_path / "model")
        path.chmod(mode)
    assert ev.load(tmp_path / "model").random_state == FIRST


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(28, "No space left on device")]
)
def test_operating_system_errors_are_explained(error, tmp_path, monkeypatch):
    ev.save(fitted(FIRST), tmp_path / "model")

    def fails(*_, **__):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(_atomic_files.os, "fsync", fails)
        for path in (tmp_path / "model", tmp_path / "fresh"):
            with pytest.raises(InvalidInputError, match=f"could not be written: {error.strerror}"):
                ev.save(fitted(SECOND), path)
    assert ev.load(tmp_path / "model").random_state == FIRST
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", fails)
        with pytest.raises(InvalidInputError, match=f"could not be read: {error.strerror}"):
            ev.load(tmp_path / "model")


@pytest.mark.skipif(not CAN_LOCK, reason="this system has no file locks")
def test_saves_to_one_folder_wait_for_each_other(tmp_path):
    """Otherwise one may remove the tensors that the other's model.json names."""
    models = [{"x": np.zeros(4)}, {"x": np.ones(4)}]
    write_folder(tmp_path / "model", {"number": 0}, models[0], version="0")

    def save(number):
        for _ in range(40):
            write_folder(tmp_path / "model", {"number": number}, models[number], version="0")

    with ThreadPoolExecutor(2) as pool:
        saves = [pool.submit(save, number) for number in range(2)]
        while not all(one.done() for one in saves):
            content, arrays = read_folder(tmp_path / "model")
            assert arrays["x"][0] == content["number"]
        for one in saves:
            one.result()
    assert len(list((tmp_path / "model").iterdir())) == 2


def test_first_saves_of_one_folder_do_not_fail(tmp_path, monkeypatch):
    """Both find no folder; the one that is second replaces the model of the other."""
    both, write_into = threading.Barrier(2, timeout=30), folders._write_into

    def together(folder, *model):
        if folder.name.startswith("."):  # a new folder under its hidden name
            both.wait()
        write_into(folder, *model)

    monkeypatch.setattr(folders, "_write_into", together)
    with ThreadPoolExecutor(2) as pool:
        saves = [
            pool.submit(
                write_folder, tmp_path / "model", {"number": number}, {"x": np.full(4, number)}, version="0"
            )
            for number in range(2)
        ]
        for one in saves:
            one.result()
    content, arrays = read_folder(tmp_path / "model")
    assert arrays["x"][0] == content["number"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert len(list((tmp_path / "model").iterdir())) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    load = f"import eigenveil as ev; ev.load({str(tmp_path / 'pipe')!r})"
    done = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert "could not be read: Not a directory" in done.stderr


@pytest.mark.skipif(not CAN_LOCK, reason="this system has no file locks")
def test_an_exception_of_a_signal_handler_ends_the_wait_for_a_lock(tmp_path):
    write_folder(tmp_path / "model", {"number": 0}, {"x": np.zeros(4)}, version="0")

    def late(*_):
        raise TimeoutError("this is an OSError")

    before = signal.signal(signal.SIGALRM, late)
    handle = os.open(tmp_path / "model", os.O_RDONLY)
    try:
        _atomic_files.fcntl.flock(handle, _atomic_files.fcntl.LOCK_EX)  # as another process
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(InvalidInputError, match="TimeoutError"):
            write_folder(tmp_path / "model", {"number": 1}, {"x": np.ones(4)}, version="0")
    finally:
        os.close(handle)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert read_folder(tmp_path / "model")[0] == {"number": 0}


@pytest.mark.skipif(not CAN_LOCK, reason="this system has no file locks")
@pytest.mark.parametrize("instant", range(1, 5))
@pytest.mark.parametrize("numbers", [(1, 2), (0, 1), (1, 0)])
def test_a_save_within_a_save_of_the_same_thread_is_refused(tmp_path, monkeypatch, numbers, instant):
    """As by the handler of a signal: it would wait for itself, or remove the tensors of the other."""
    to_disk, calls = _atomic_files.to_disk, []
    outer, inner = numbers

    def save(number):
        write_folder(tmp_path / "model", {"number": number}, {"x": np.full(4, number)}, version="0")

    def interrupted(path):
        calls.append(path)
        if len(calls) == instant:
            save(inner)
        to_disk(path)

    def refused():
        with pytest.raises(EigenveilError, match="this thread is reading or writing"):
            save(outer)
        return True

    save(0)
    monkeypatch.setattr(_atomic_files, "to_disk", interrupted)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(refused).result(timeout=30)
    content, arrays = read_folder(tmp_path / "model")
    assert arrays["x"][0] == content["number"] in (0, outer)
    assert not list(tmp_path.rglob(".*"))
    save(inner)  # the lock is free again
    assert read_folder(tmp_path / "model")[0] == {"number": inner}


def test_an_error_of_a_first_save_is_raised_although_the_folder_exists(tmp_path, monkeypatch):
    to_disk = _atomic_files.to_disk

    def fails(path):
        if path == tmp_path:
            raise OSError(5, "Input/output error")
        to_disk(path)

    monkeypatch.setattr(_atomic_files, "to_disk", fails)
    with pytest.raises(InvalidInputError, match="Input/output error"):
        write_folder(tmp_path / "model", {}, {"x": np.zeros(4)}, version="0")


def test_the_first_error_is_raised_if_its_part_cannot_be_removed(tmp_path, monkeypatch):
    def fails(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "is_dir", fails)
    with pytest.raises(ZeroDivisionError), _atomic_files.written_whole(tmp_path / "file"):
        raise ZeroDivisionError


@pytest.mark.skipif(not CAN_LOCK, reason="this system has no file locks")
def test_a_folder_that_is_removed_while_a_save_waits_is_created_again(tmp_path, monkeypatch):
    model, flock = tmp_path / "model", _atomic_files.fcntl.flock
    write_folder(model, {"number": 0}, {"x": np.zeros(4)}, version="0")

    def removed_first(handle, how):
        if model.exists() and how == _atomic_files.fcntl.LOCK_EX:
            shutil.rmtree(model)
        flock(handle, how)

    monkeypatch.setattr(_atomic_files.fcntl, "flock", removed_first)
    write_folder(model, {"number": 1}, {"x": np.ones(4)}, version="0")
    assert read_folder(model)[0] == {"number": 1}


@pytest.mark.skipif(not CAN_LOCK, reason="this system has no file locks")
def test_a_save_that_waited_does_not_write_into_another_folder_of_that_name(tmp_path, monkeypatch):
    """Without its lock: the other save may be at work."""
    model, flock, held = tmp_path / "model", _atomic_files.fcntl.flock, []

    def swapped_first(file, how):
        if how == _atomic_files.fcntl.LOCK_EX and not held:
            held.append(file)
            model.rename(tmp_path / "old")
            write_folder(model, {"number": 1}, {"x": np.ones(4)}, version="0")
        flock(file, how)
        if how == _atomic_files.fcntl.LOCK_EX:
            held.append(os.fstat(file.fileno()).st_ino)

    write_folder(model, {"number": 0}, {"x": np.zeros(4)}, version="0")
    monkeypatch.setattr(_atomic_files.fcntl, "flock", swapped_first)
    write_folder(model, {"number": 2}, {"x": np.full(4, 2)}, version="0")
    assert held[-1] == model.stat().st_ino
    assert read_folder(model)[0] == {"number": 2}
    assert read_folder(tmp_path / "old")[0] == {"number": 0}


@pytest.mark.skipif(not CAN_LOCK, reason="this system has no file locks")
def test_a_folder_that_is_replaced_during_a_save_keeps_the_model_of_the_other(tmp_path, monkeypatch):
    model, save = tmp_path / "model", folders.tensor_file.save

    def swapped(arrays):
        monkeypatch.setattr(folders.tensor_file, "save", save)
        model.rename(tmp_path / "old")
        write_folder(model, {"number": 1}, {"x": np.ones(4)}, version="0")
        return save(arrays)

    write_folder(model, {"number": 0}, {"x": np.zeros(4)}, version="0")
    monkeypatch.setattr(folders.tensor_file, "save", swapped)
    with pytest.raises(InvalidInputError, match="was moved or replaced by someone else"):
        write_folder(model, {"number": 2}, {"x": np.full(4, 2)}, version="0")
    assert read_folder(model)[0] == {"number": 1}
    assert read_folder(tmp_path / "old")[0] == {"number": 0}


@pytest.mark.skipif(not CAN_LOCK, reason="this system has no file locks")
def test_a_lock_within_the_same_lock_is_refused(tmp_path):
    def twice():
        with _atomic_files.locked(tmp_path / "file"), _atomic_files.locked(tmp_path / "file"):
            pass

    with pytest.raises(EigenveilError, match="this thread is reading or writing"):
        twice()
    with _atomic_files.locked(tmp_path / "file"):
        assert (tmp_path / ".file.lock").exists()


@pytest.mark.skipif(not CAN_LOCK, reason="this system has no file locks")
def test_a_load_that_waited_reads_the_folder_that_has_the_name_now(tmp_path, monkeypatch):
    model, flock, reads = tmp_path / "model", _atomic_files.fcntl.flock, []

    def swapped_first(file, how):
        flock(file, how)
        if how == _atomic_files.fcntl.LOCK_SH:
            if not reads:
                model.rename(tmp_path / "old")
                write_folder(model, {"number": 1}, {"x": np.ones(4)}, version="0")
            reads.append(os.fstat(file.fileno()).st_ino)

    write_folder(model, {"number": 0}, {"x": np.zeros(4)}, version="0")
    monkeypatch.setattr(_atomic_files.fcntl, "flock", swapped_first)
    assert read_folder(model)[0] == {"number": 1}
    assert reads == [(tmp_path / "old").stat().st_ino, model.stat().st_ino]


def test_a_model_behind_a_link(tmp_path):
    write_folder(tmp_path / "model", {"number": 0}, {"x": np.zeros(4)}, version="0")
    (tmp_path / "link").symlink_to("model")
    write_folder(tmp_path / "link", {"number": 1}, {"x": np.ones(4)}, version="0")
    assert read_folder(tmp_path / "link")[0] == read_folder(tmp_path / "model")[0] == {"number": 1}
