"""The memory that is left for this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def memory_left() -> int | None:
    """Return the memory that this process and its container have left, in bytes; None if it is not known."""
    return min([*_available_here(), *_limits()], default=None)


def _available_here() -> Iterator[int]:
    found = _number_after("MemAvailable:", Path("/proc/meminfo"))
    if found is not None:
        yield found << 10


def _limits() -> Iterator[int]:
    """Yield the memory that the container and the shell leave to this process, if they limit it."""
    groups = Path("/sys/fs/cgroup")
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        most, taken = (_number_after("", groups / name) for name in (limit, used))
        if most is not None:
            yield max(0, most - (taken or 0))
    try:
        import resource  # noqa: PLC0415  # not on Windows
    except ImportError:
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY:
        yield most


def _number_after(word: str, path: Path) -> int | None:
    """Return the whole number after a word in a small file; None if there is none."""
    try:
        text = path.read_text()
    except OSError:
        return None
    found = text[text.find(word) + len(word) :].split()[:1] if word in text else []
    return int(found[0]) if found and found[0].isdigit() else None
