"""Search for bytes that break a target, for some time.

    PYTHONPATH=tests python -m fuzz.run --seconds 120 lines       # one target
    PYTHONPATH=tests python -m fuzz.run --seconds 60              # all of them, one after the other
    PYTHONPATH=tests python -m fuzz.run --seconds 60 --keep       # keep inputs that reach new code in corpus/

Uses atheris (pip install 'eigenveil[fuzz]'), which follows the lines that are reached. Without it, inputs of the
corpus are changed at random. Every target runs in a process of its own, so that a crash is found, too. An input
that breaks a target is written to the folder `found`, and belongs in `corpus/` when the bug is mended. The table
`results.md` gets a line for each target that ran; others keep theirs.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CORPUS, FOUND = Path(__file__).with_name("corpus"), Path("found")
TABLE = Path(__file__).with_name("results.md")
LONGEST, SMALL = 4096, 512
"""Bytes of an input, and of one that is kept."""


def changed(data: bytes, rng: random.Random) -> bytes:
    """The data with a few bytes changed, removed, repeated or inserted."""
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        place, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        some = rng.choice((b"", b'"', b",", b"\n", b"\x00", b"\xff", b"1e999", b"[", b"{", data[place:end][:64]))
        data = rng.choice((data[:place] + some + data[end:], data[:place] + some + data[place:]))
    return data[:LONGEST]


def search_at_random(name: str, seconds: float) -> None:
    """Change inputs of the corpus; an input that breaks the target is written, and its error raised."""
    from fuzz.targets import TARGETS

    rng, end, runs = random.Random(), time.monotonic() + seconds, 0
    seeds = [file.read_bytes() for file in sorted((CORPUS / name).iterdir())]
    while time.monotonic() < end:
        data = changed(rng.choice(seeds), rng)
        runs += 1
        try:
            TARGETS[name](data)
        except BaseException:
            FOUND.mkdir(exist_ok=True)
            (FOUND / f"crash-{name}").write_bytes(data)
            raise
    print(f"stat::number_of_executed_units: {runs}", file=sys.stderr)


def search_with_atheris(name: str, seconds: int, work: Path) -> None:
    """Let libFuzzer choose inputs. It ends the process itself."""
    import atheris

    with atheris.instrument_imports(include=["eigenveil"]):
        from fuzz.targets import TARGETS

    FOUND.mkdir(exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=4096"]
    where = [f"-artifact_prefix={FOUND}/{name}-", "-verbosity=0", "-print_final_stats=1", "-close_fd_mask=1"]
    atheris.Setup([sys.argv[0], *limits, *where, str(work), str(CORPUS / name)], TARGETS[name])
    atheris.Fuzz()


def keep_small(name: str, work: Path, most: int) -> None:
    """Keep some of the small inputs that reached new code."""
    known = {file.read_bytes() for file in (CORPUS / name).iterdir()}
    fresh = [file for file in work.iterdir() if file.stat().st_size <= SMALL and file.read_bytes() not in known]
    for file in sorted(fresh, key=lambda one: (one.stat().st_size, one.name))[:: max(1, len(fresh) // most)][
        :most
    ]:
        shutil.copy(file, CORPUS / name / file.name[:12])


def write_line(name: str, seconds: int, tried: str, outcome: str, made_with: str) -> None:
    """Renew the line of a target in the table, and what it says of code and machine."""
    before = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
    found = {line.split(" | ")[0]: line for line in before.splitlines() if line.startswith("| `")}
    kept = sum(1 for _ in (CORPUS / name).iterdir())
    found[f"| `{name}`"] = f"| `{name}` | {seconds} | {tried} | {kept} | {outcome} |"
    head = [
        "# Fuzzing",
        "",
        "Made by `PYTHONPATH=tests python -m fuzz.run --seconds N`: the last search of each target. Targets are",
        "described in `tests/fuzz/targets.py`. Quick tests repeat all inputs that are kept, and a few near them.",
        "Searches use fresh seeds.",
        made_with,
        "",
        "| target | seconds | inputs tried | inputs kept | outcome |",
        "|---|---|---|---|---|",
    ]
    TABLE.write_text("\n".join([*head, *(found[key] for key in sorted(found)), ""]), encoding="utf-8")


def main() -> int:
    """Run the targets; the exit code says whether one of them broke."""
    names = sorted(path.name for path in CORPUS.iterdir())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"by default all: {', '.join(names)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--keep", action="store_true", help="keep a few inputs that reach new code")
    parser.add_argument("--alone", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.targets) - set(names):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if options.alone:
        try:
            search_with_atheris(options.targets[0], options.seconds, Path(options.alone))
        except ImportError:
            search_at_random(options.targets[0], options.seconds)
        return 0
    broken = []
    from support.stamped import stamped  # not in the search itself, which instruments the package as it is loaded

    until_done, made_with = (stamped(TABLE, whole=whole) for whole in (False, not options.targets))
    chosen = options.targets or names
    for name in chosen:
        with tempfile.TemporaryDirectory() as work:
            command = [sys.executable, "-m", "fuzz.run", name, "--seconds", str(options.seconds), "--alone", work]
            ended = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
            tried = re.findall(r"number_of_executed_units: (\d+)", ended.stderr)
            outcome = f"BROKEN, exit code {ended.returncode}" if ended.returncode else "nothing found"
            print(f"{name}: {tried} inputs, {outcome}", flush=True)
            if ended.returncode:
                broken.append(name)
                print(ended.stderr[-5000:], flush=True)
            if options.keep:
                keep_small(name, Path(work), most=8)
            count = tried[-1] if tried else "?"
            write_line(name, options.seconds, count, outcome, made_with if name == chosen[-1] else until_done)
    return len(broken)


if __name__ == "__main__":
    sys.exit(main())
