"""Atomic writing of files: a file exists completely or not at all. Locks for files of several processes."""

from __future__ import annotations

import atexit
import contextlib
import errno
import math
import os
import pathlib
import secrets
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from eigenveil._forks import at_start_of_child, this_process
from eigenveil.errors import EigenveilError, InvalidInputError

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

CHECK_FOLDER = "Check the free space and the permissions of its folder."
"""Hint for a file that could not be written."""

CAN_LOCK = fcntl is not None
"""Whether this system has the file locks of `locked`."""


@contextmanager
def written_whole(
    path: str | os.PathLike[str], *, last_check: Callable[[], object] = lambda: None
) -> Iterator[pathlib.Path]:
    """Yield a temporary path that replaces `path` when the block ends.

    `last_check` is called just before, when the temporary file is on the disk. If it or the block raises an
    exception, the temporary file is deleted and `path` stays as it was. An `OSError`, such as a full disk, becomes
    an `InvalidInputError` that names `path`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(f"{folder}/note") as part:
    ...         _ = part.write_text("all of it")
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['note']
    """
    whole = pathlib.Path(path)
    with explained_write_errors(whole), replacing(whole, last_check=last_check) as part:
        yield part


@contextmanager
def replacing(whole: pathlib.Path, *, last_check: Callable[[], object] = lambda: None) -> Iterator[pathlib.Path]:
    """As `written_whole`, but raise `OSError` as it is. The block may create a folder in place of a file.

    A process that is forked within the block leaves the file to its parent.
    """
    part, writer = beside(whole), this_process()
    with finished_before_exit():
        try:
            yield part
            if this_process() == writer:
                to_disk(part)
                last_check()
                part.replace(whole)
                to_disk(whole.parent)
        finally:
            if this_process() == writer:
                with contextlib.suppress(OSError):  # the first error matters
                    if part.is_dir():
                        shutil.rmtree(part)
                    else:
                        part.unlink(missing_ok=True)


class _Writes:
    """Files that are being written. At exit, Python stops daemon threads anywhere, so it waits for these first.

    A forked process has only the thread that forked it, so it counts from nothing: files that other threads of its
    parent were writing are not its own. Processes of `multiprocessing` that are forked end without exit hooks, so
    files of their daemon threads are not waited for.
    """

    def __init__(self) -> None:
        self._start()
        atexit.register(self._finish)
        at_start_of_child(self._start)

    def _start(self) -> None:
        """Count from nothing, with a lock that no other thread can hold."""
        self._changed = threading.Condition()
        self._deadline = math.inf  # until the program ends
        self._writers: list[int] = []

    @contextmanager
    def until_written(self) -> Iterator[None]:
        """Count one file as being written. At the end of the program, other threads wait before they start one."""
        writer = threading.get_ident()
        main = threading.current_thread() is threading.main_thread()
        try:
            with self._changed:
                if self._deadline < math.inf and not main and writer not in self._writers:
                    # not forever: an exit hook may wait for this thread
                    self._changed.wait_for(lambda: False, timeout=self._left())
                self._writers.append(writer)
            yield
        finally:
            with self._changed:
                if writer in self._writers:  # else this process was forked in the middle of the file
                    self._writers.remove(writer)
                self._changed.notify_all()

    def _finish(self) -> None:
        """Wait until no file is being written."""
        with self._changed:
            self._deadline = time.monotonic() + _LONGEST_WRITE
            self._changed.wait_for(lambda: not self._writers, timeout=self._left())

    def _left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.0)


_IN_PROGRESS = _Writes()
finished_before_exit = _IN_PROGRESS.until_written
"""A block that the end of the program waits for, also in a daemon thread. Blocks may be nested."""
_LONGEST_WRITE = 10.0
"""Seconds that the end of the program waits for files that are being written, and other threads for that end."""


@contextmanager
def explained_write_errors(path: pathlib.Path) -> Iterator[None]:
    """Convert `OSError` to an `InvalidInputError` that names the file; often the system's error does not."""
    try:
        yield
    except OSError as error:
        raise InvalidInputError(
            f"{str(path)!r} could not be written: {error.strerror or type(error).__name__}.",
            hint=CHECK_FOLDER,
        ) from error


@contextmanager
def locked(path: pathlib.Path, *, busy: EigenveilError | None = None) -> Iterator[None]:
    """Hold the lock of `path`, a hidden file beside it, which stays. The system releases it if the process dies.

    If another process or thread holds it, raise `busy`, or wait without it. Needs `CAN_LOCK`.
    """
    lock = path.with_name(f".{path.name}.lock")
    held = False
    while not held:
        with explained_write_errors(lock):
            # a link could create a file anywhere
            file = _Opened(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0))
        with _lock_of(file, lock, fcntl.LOCK_EX if busy is None else fcntl.LOCK_EX | fcntl.LOCK_NB, busy=busy):
            held = _is_at(file, lock)  # else the file was removed since it was opened, and locks nothing
            if held:
                yield


@contextmanager
def locked_folder(folder: pathlib.Path, *, to_write: bool) -> Iterator[Callable[[], bool]]:
    """Wait for the lock of a folder, which needs no file, and hold it. Several may read, or one may write.

    Yields a function that returns whether the folder of this name is still the one that is locked. Does nothing
    where folders cannot be locked, as on Windows and on some network file systems, and where there is no such
    folder.
    """
    try:
        # neither the end of a pipe nor a file is waited for
        file = _Opened(folder, os.O_RDONLY | os.O_DIRECTORY) if CAN_LOCK else None
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        file = None
    if file is None:
        yield lambda: True
        return
    with _lock_of(file, folder, fcntl.LOCK_EX if to_write else fcntl.LOCK_SH, optional=True):
        yield lambda: _is_at(file, folder)


class _Opened:
    """An open file or folder, for its lock. It is closed, which unlocks it, no later than Python collects it.

    So an interrupt between any two steps leaves nothing locked.
    """

    _number = -1

    def __init__(self, path: pathlib.Path, flags: int) -> None:
        _OPEN.add(self)
        self._number = os.open(path, flags, 0o666)

    def fileno(self) -> int:
        """Return the number by which the system knows it."""
        return self._number

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._number < 0

    def close(self) -> None:
        """Close it, once."""
        number, self._number = self._number, -1
        if number >= 0:
            os.close(number)

    __del__ = close


@contextmanager
def _lock_of(
    file: _Opened, path: pathlib.Path, kind: int, *, busy: EigenveilError | None = None, optional: bool = False
) -> Iterator[None]:
    """Lock an open file for a block, and close it after that.

    Raise `busy` if another one holds the lock and `kind` does not wait. `optional` says whether the block runs
    without the lock where the file system has none. Raise an error within another block of this thread for the
    same file, as in the handler of a signal: it would wait for itself.
    """
    about, of_thread = os.fstat(file.fileno()), _OF_THREAD.files
    key = (about.st_dev, about.st_ino)
    try:
        before = of_thread.get(key)
        if before is not None and not before.closed and busy is None:
            raise EigenveilError(
                f"this thread is reading or writing {str(path)!r} already.",
                hint="In a signal handler, only note the signal, and save or load after it.",
            )
        try:
            fcntl.flock(file, kind)
        except BlockingIOError:
            if busy is None:
                raise
            raise busy from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:  # such as an exception of a signal handler
                raise
            if not optional:
                raise EigenveilError(
                    f"{str(path)!r} is on a file system without locks, which are needed here.",
                    hint="Use a folder on a local disk.",
                ) from error
        of_thread[key] = file
        yield
    finally:
        _unlock(file)


def _unlock(file: _Opened) -> None:
    """Release the lock and close the file.

    Closing alone would not release it while a process that was forked meanwhile has the file, too. Such a process
    has closed it (`_close_in_child`), and never releases the lock of its parent.
    """
    try:
        if not file.closed:
            with contextlib.suppress(OSError):  # it may never have been locked
                fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        file.close()


def _close_in_child() -> None:
    """Close files whose locks belong to the parent, so that these end with the parent."""
    for file in tuple(_OPEN):
        file.close()


_NO_LOCKS = {
    *(errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOLCK),
    *(errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM),
}
"""How file systems without locks answer."""


class _OfThread(threading.local):
    """Files that a thread has locked, by device and number. Only files that are still open count."""

    def __init__(self) -> None:
        self.files: weakref.WeakValueDictionary[tuple[int, int], _Opened] = weakref.WeakValueDictionary()


_OF_THREAD = _OfThread()
_OPEN: weakref.WeakSet[_Opened] = weakref.WeakSet()
"""All files that this process has opened for their locks."""
at_start_of_child(_close_in_child)


def _is_at(file: _Opened, path: pathlib.Path) -> bool:
    """Return whether the open file or folder is still the one of this name."""
    try:
        return not file.closed and os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def beside(path: pathlib.Path) -> pathlib.Path:
    """Return an unused hidden file name in the folder of `path`."""
    return path.with_name(f".{path.name}.part-{secrets.token_hex(8)}")


def to_disk(path: pathlib.Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk.

    Windows cannot do this for folders, so the function returns immediately there.
    """
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
