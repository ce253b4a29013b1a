"""Numbers of README.md, benchmarks/README.md and docs that come from the tables of benchmarks/results.

Run it as ``python docs/quoted_numbers.py``: it lists what differs from the tables. With ``--write`` it writes the
tables' numbers into the pages. `QUOTES` registers sentences with numbers, and `BLOCKS` parts of pages that are
written as a whole. `tests/docs/test_quoted_numbers.py` fails if a page differs, or if a paragraph that refers to a
table holds a number that is neither quoted here nor listed in `SETTINGS`.
"""  # noqa: INP001  # a script

from __future__ import annotations

import argparse
import math
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))

import answers as a  # noqa: E402
import evidence  # noqa: E402
import stamp  # noqa: E402
from lookup import (  # noqa: E402
    RESULTS,
    MissingError,
    brief,
    cell,
    ends,
    number,
    numbers,
    rows,
    said,
    short,
    whole,
    word,
)

PAGES = ("README.md", "benchmarks/README.md", *sorted(f"docs/{page.name}" for page in ROOT.glob("docs/*.md")))
GENERATED = ("docs/claims.md",)
"""Pages that are written by another script, from tables, with a test of their own."""


PART = r"[-+.\w](?:[-+.,\w]*[-+\w])?"
VALUE = rf"({PART}(?:,?\s+(?:(?:to|of|and)\s+)?{PART}){{0,5}}?)"
"""What a quoted value looks like: ``.80``, ``11 to 20``, ``.5, 1, 2 and 4`` or ``fourteen``."""


@dataclass(frozen=True)
class Quote:
    """A sentence with numbers.

    Parameters
    ----------
    page : str
        The page.
    text : str
        Words of the sentence, with ``{}`` in place of each number. Line breaks do not matter.
    values : callable
        Returns the numbers, as they should be written.
    """

    page: str
    text: str
    values: Callable[[], Sequence[str]]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return a pattern that finds the sentence, with a group for each number."""
        parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in self.text.split("{}")]
        return re.compile(VALUE.join(parts))


@dataclass(frozen=True)
class Block:
    """A part of a page, between two comments, that is written as a whole."""

    page: str
    name: str
    text: Callable[[], str]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return a pattern that finds the block, with a group for its text."""
        begin, end = (
            f"<!-- {word} {self.name}: written by docs/quoted_numbers.py -->\n" for word in ("begin", "end")
        )
        return re.compile(f"{re.escape(begin)}(.*?){re.escape(end)}", re.DOTALL)

    def values(self) -> Sequence[str]:
        """Return the text."""
        return [self.text()]


# -- blocks ----------------------------------------------------------------------------------------

SHORT_TABLE = ("DP-Gauss-1", "diffprivlib 0.6.6", "OpenDP 0.16")
LONG_TABLE = ("DP-Gauss-1", "k-DP-PCA as printed", "signs, as R's dppca", "diffprivlib 0.6.6", "OpenDP 0.16")
CELLS = {
    "20,000 rows of 8 columns": "decay d=8 n=20,000, k=2",
    "digits, 1797 x 64": "digits, k=2",
    "the same, five components": "digits, k=5",
    "MNIST, 5000 x 784": "mnist, k=2",
    "MNIST, five components": "mnist, k=5",
    "50,000 x 500, flat spectrum": "flat d=500 n=50,000, k=2",
    "50,000 x 2000, flat spectrum": "flat d=2000 n=50,000, k=2",
}
"""Rows of the tables of rivals, and cells of results/rivals.md."""


def rivals(methods: Sequence[str]) -> Callable[[], str]:
    """Return a function that writes a table of energies; ours are bold where all others are smaller."""

    def text() -> str:
        lines = [f"| data | {' | '.join((a.OURS, *methods))} |", "|---" * (len(methods) + 2) + "|"]
        for label, row in CELLS.items():
            found = [cell("rivals", row, method, under="Energy") for method in (a.OURS, *methods)]
            shown = [_energy(one) for one in found]
            if all(number(shown[0]) > number(one) for one in shown[1:] if one[-1].isdigit()):
                shown[0] = f"**{shown[0]}**"
            lines.append(f"| {label} | {' | '.join(shown)} |")
        return "\n".join([*lines, "", *_older("rivals"), ""])

    return text


def _energy(text: str) -> str:
    return short(number(text), 3) if text[0].isdigit() else re.sub(r" in \d+ s$", "", text)


def _older(table: str) -> list[str]:
    """Return a line that says so if older code made a table."""
    page = stamp.marked((RESULTS / f"{table}.md").read_text("utf-8"))
    return ["This table was measured with older code than this.", ""] if stamp.OLDER in page else []


def list_of_tables() -> str:
    """Return a row for every table of benchmarks/evidence.py."""
    lines = ["| table | question | answer | script | takes |", "|---|---|---|---|---|"]
    for one in evidence.TABLES:
        there = (RESULTS / f"{one.name}.md").exists()
        name = f"[{one.name}](results/{one.name}.md)" if there else one.name
        lines.append(f"| {name} | {one.question} | {a.answer(one.name)} | `{one.script}` | {one.takes} |")
    return "\n".join([*lines, ""])


BLOCKS = (
    Block("README.md", "rivals", rivals(SHORT_TABLE)),
    Block("benchmarks/README.md", "tables", list_of_tables),
    Block("benchmarks/README.md", "rivals", rivals(LONG_TABLE)),
)


# -- sentences -------------------------------------------------------------------------------------


def _real() -> Sequence[str]:
    tuned, others = (word(a.datasets(under)) for under in ("May be tuned on", "Never tuned on"))
    return [f"{a.datasets()}", a.mean_ratio("real"), tuned, a.mean_ratio("real", 1), others]


def _behind_real() -> list[str]:
    """Return in how many lines of real.md we may be behind, and of how many."""
    parts = [a.behind("real", part)[:2] for part in (0, 1)]
    return [str(sum(int(part[place]) for part in parts)) for place in (0, 1)]


def _speed(name: str, column: str = a.EIGH) -> str:
    return brief(number(cell("speed", name, column)))


def _behind(*families: str) -> Callable[[], Sequence[str]]:
    return lambda: [text for family in families for text in a.behind(family)]


def _first_edition(nth: int) -> str:
    return short(float(said("real", r"Over the first edition: geometric mean ([\d.]+)", nth)))


def _median_phi(kind: str) -> str:
    return short(statistics.median([one for row in a.phi(lambda name: name.startswith(kind)) for one in row]))


def _uncertain(row: str) -> list[str]:
    raw, corrected, coverage = (
        number(cell("uncertainty", row, column)) for column in ("bias, %", "after correction, %", "coverage, %")
    )
    return [whole(-raw), whole(-corrected), whole(coverage)]


def _claimed() -> str:
    found = sorted({number(row[2]) for row in rows("audit", "95 %")})
    *first, last = [brief(one) for one in found]
    return f"{', '.join(first)} and {last}" if first else last


def _bounds_at(claimed: str) -> list[float]:
    """Bounds at 95 % for a claim, of all algorithms but DP-Gauss-2."""
    found = rows("audit", "95 %")
    return [number(bound) for row, bound in found.items() if row[2] == claimed and row[0] != "dp-gauss-2"]


def _score_shares(column: str) -> str:
    return ends(numbers("audit-rivals", column), brief)


def _above(one: float, least: float) -> float:
    """The number, which has to be above another for the sentence to be true."""
    if one <= least:
        raise MissingError(f"{one} is not above {least}: the sentence is no longer true.")
    return one


def _log_ratio() -> str:
    inside, outside = (statistics.mean(numbers("audit-rivals", column)) for column in ("above .8 with", "without"))
    return brief(math.log(inside / outside))


def _slower_by(change: str) -> Callable[[], Sequence[str]]:
    """Return a function that tells how much longer a fit took, and the interval, in percent."""

    def values() -> Sequence[str]:
        between = cell("side-channels", change, "95 % interval").split(" to ")
        low, high = (100 * float(one) - 100 for one in between)
        return [whole(100 * _channel(change, "time") - 100), f"{_above(low, 0.0):.0f} to {high:.0f}"]

    return values


def _unseen(*changes: str) -> Callable[[], Sequence[str]]:
    """Return a check that no time depends on these changes; the sentence has no number."""

    def values() -> Sequence[str]:
        seen = [one for one in changes if a.channels().get(one) != "not seen"]
        if seen:
            raise MissingError(f"results/side-channels.md shows a difference for {seen}: write another sentence.")
        return []

    return values


def _channel(row: str, column: str) -> float:
    return abs(number(cell("side-channels", row, column)))


def _state_over_sums() -> str:
    return whole(number(cell("cluster", "Products (200 x 5), sums", "kB back")) / (8 * 200 * 5 / 1000))


LONG_LINE, MANY_ROWS = "CSV: a line of 8 MB", "a person with 20,000 rows, not 2"
RIVAL_RUN = r"[Mm]eans over (\d+) data sets a cell", r"(\d+) s a fit at most"
QUOTES = (
    Quote(
        "README.md",
        "Values are means over {} datasets, with at most {} seconds per fit",
        lambda: [word(int(said("rivals", RIVAL_RUN[0]))), said("rivals", RIVAL_RUN[1])],
    ),
    Quote(
        "README.md",
        "On {} real datasets, against DP-Gauss-1 with our noise and its best clip for free, our "
        "[zeta](docs/glossary.md#zeta) is {} times as large on the {} on which constants were chosen and {} times "
        "on the {} that were never used for that",
        _real,
    ),
    Quote(
        "README.md",
        "It is more than 5 % behind, or may be, in {} of {} lines of that table, mostly small tables and heavy "
        "tails; its zeta is {} times as large on synthetic rows with heavy tails, and {} times on skewed ones.",
        lambda: [*_behind_real(), a.mean_ratio("heavy-tails"), a.mean_ratio("skewed")],
    ),
    Quote(
        "README.md",
        "A whole private fit takes {} times as long as scikit-learn's PCA at 100 to 1,000 columns, and {} "
        "times as long at 20 to 36 columns",
        lambda: [ends(a.over_plain(100, 1000), whole), ends(a.over_plain(20, 36), whole)],
    ),
    Quote(
        "benchmarks/README.md",
        "Means over {} datasets, with at most {} seconds per fit",
        lambda: [word(int(said("rivals", RIVAL_RUN[0]))), said("rivals", RIVAL_RUN[1])],
    ),
    Quote(
        "benchmarks/README.md",
        "A whole private fit takes {} times as long as scikit-learn's PCA at 100 to 1,000 columns. At 4,000 "
        'columns it takes {} times as long as PCA, and {} times as long as `svd_solver="randomized"`. It '
        "takes {} times as long for 5,000 people of 100 rows, and {} times as long from Parquet as from "
        "memory. With fewer columns the factor is larger: {} at 50,000 x 36 ({} with private scales), and {} "
        "at 2,000 x 20",
        lambda: [
            ends(a.over_plain(100, 1000), whole),
            _speed("50,000 x 4,000, k = 10"),
            _speed("50,000 x 4,000, k = 10", a.RANDOMIZED),
            _speed("500,000 x 100, k = 5, 5,000 people"),
            said("speed", r"over the same rows in memory: ([\d.]+\d)"),
            _speed("50,000 x 36, k = 5"),
            _speed("50,000 x 36, k = 5, scaled"),
            _speed("2,000 x 20, k = 2"),
        ],
    ),
    Quote(
        "benchmarks/README.md",
        "`eigenveil --help` takes {} times the processor time of `import sklearn.decomposition`, and `from "
        "eigenveil import DPPCA` takes {} times as much",
        lambda: [
            brief(number(cell("startup", f"`{name}`", "ratio")))
            for name in ("eigenveil --help", "from eigenveil import DPPCA")
        ],
    ),
    Quote("benchmarks/README.md", "On {} real, public datasets", lambda: [f"{a.datasets()}"]),
    Quote(
        "benchmarks/README.md",
        "In the geometric mean our zeta is {} times as large on the {} datasets on which constants were "
        "chosen, and {} times on the {} that were never used for that. Compared with our first edition, where "
        "that was measured, it is {} and {} times as large.",
        lambda: [*_real()[1:], _first_edition(0), _first_edition(1)],
    ),
    Quote(
        "docs/method.md",
        "its median is {} for any clip, and {} % of {} cases lie within a factor of 2",
        lambda: [
            ends(a.phi(lambda row: row == "real: median")[0], short),
            a.phi_within_two(),
            f"{len(a.phi(a.is_real))}",
        ],
    ),
    Quote(
        "docs/method.md",
        "On normal rows the median is {}, on log-normal rows {}, and on Pareto rows {}.",
        lambda: [_median_phi(kind) for kind in ("decay", "skewed", "pareto")],
    ),
    Quote(
        "docs/method.md",
        "On 63 raw tables zeta is {} times as large as with mean and scales for free, and {} times if bounds are "
        "declared. On the half that no constant was chosen on, it is {} and {} times as large",
        lambda: [
            short(number(cell("raw", (known, "zeta over free"), half)))
            for half in ("all", "kept apart")
            for known in ("nothing known", "bounds declared")
        ],
    ),
    Quote(
        "docs/method.md",
        "{} real, public datasets, {} of which were never used for tuning",
        lambda: [f"{a.datasets()}", word(a.datasets("Never tuned on"))],
    ),
    Quote(
        "docs/method.md",
        "- {} of {} lines of arena.md (at most {}); - {} of {} lines of growing.md ({}); - {} of {} lines of "
        "small.md ({}); - {} of {} lines of heavy-tails.md ({}); - {} of {} lines of skewed.md ({});",
        _behind("arena", "growing", "small", "heavy-tails", "skewed"),
    ),
    Quote(
        "docs/method.md",
        "- {} of {} lines of the real datasets used for tuning ({}), and {} of {} lines of the others ({})",
        lambda: [*a.behind("real"), *a.behind("real", 1)],
    ),
    Quote(
        "docs/method.md",
        "Variances of heavy-tailed data are too low (log-normal columns by {} %,",
        lambda: _uncertain("log-normal d=20 n=20,000")[:1],
    ),
    Quote(
        "docs/coming-from-sklearn.md",
        "(sigma .8 of the logarithm) came out {} % too low, {} % with the correction, and {} % of the "
        "intervals contained the true value. For Student's t with 5 degrees of freedom the numbers are {} %, "
        "{} % and {} %.",
        lambda: [*_uncertain("log-normal d=20 n=20,000"), *_uncertain("student t5 d=20 n=20,000")],
    ),
    Quote(
        "docs/audit.md",
        "has every algorithm and both relations at epsilon {}, from {} fits a side ({} decide). {} bound "
        "exceeds its claim at 95 %.",
        lambda: [
            _claimed(),
            said("audit", r"(\d+) fits a side, of which"),
            said("audit", r"of which (\d+) decide"),
            word(a.exceeding()).capitalize(),
        ],
    ),
    Quote(
        "docs/audit.md",
        "At epsilon 4, bounds of the Gaussian algorithms are {}.",
        lambda: [ends(_bounds_at("4"), brief)],
    ),
    Quote(
        "docs/audit.md",
        "A score is above .8 in {} % of the draws with one row and {} % with the other. This is what the "
        "density of our reading predicts ({} % and {} %): a ratio of exp({}),",
        lambda: [
            *(_score_shares(column) for column in ("above .8 with", "without")),
            *(_score_shares(f"as we read, {column}") for column in ("with", "without")),
            _log_ratio(),
        ],
    ),
    Quote(
        "docs/audit.md",
        "At confidence 1 - 1e-5 the bounds on ε are {}, from {} draws a side. Both exceed the stated 2.",
        lambda: [
            " and ".join(short(_above(one, 2.0)) for one in numbers("audit-rivals", "bound, 1 - 1e-5")),
            " and ".join(f"{one:,.0f}" for one in numbers("audit-rivals", "draws a side")),
        ],
    ),
    Quote(
        "docs/audit.md",
        "From {} whole fits a side at the same stated ε, bounds at 95 % are {}.",
        lambda: [
            " and ".join(f"{one:,.0f}" for one in numbers("audit-rivals", "draws a side", under="Whole")),
            " and ".join(short(one) for one in numbers("audit-rivals", "bound, 95 %", under="Whole")),
        ],
    ),
    Quote(
        "docs/cost.md",
        "the time per pass grows as n^{} and d^{} (fixed costs are still visible at these sizes), and as "
        "k^{}. Memory in addition to the data is {} MB at 1,000,000 x 200.",
        lambda: [
            *(a.exponent(letter) for letter in "ndk"),
            cell("scaling", "the goal's memory", "memory"),
        ],
    ),
    Quote(
        "docs/choosing-epsilon.md",
        "zeta is within a factor of 1.5 of measured fits in {} cells,",
        lambda: [said("planner", r"factor of 1\.5 in (\d+ of \d+) trusted")],
    ),
    Quote(
        "docs/scales.md",
        "the scale is within {} % of the standard deviation for normal, uniform and exponential columns, "
        "counts, and flags between 10 and 90 % (in 90 % of tables;",
        lambda: [a.scales_within()],
    ),
    Quote(
        "docs/scales.md",
        "two components keep {} of the best [energy](glossary.md#energy) at epsilon 1 if nothing is declared, {} "
        "with bounds, and {} if mean and scales are free",
        lambda: [
            short(number(cell("raw", (known, "energy"), "all")))
            for known in ("nothing known", "bounds declared", "mean and scale free")
        ],
    ),
    Quote(
        "docs/scale.md",
        "a fit of 1e6 x 200 takes {} times as long as on Dask workers that hold the rows in memory; {} % of "
        "that is opening the frame",
        a.spark,
    ),
    Quote(
        "docs/scale.md",
        "so a round's state is about {} times the size of its sums when pickled",
        lambda: [_state_over_sums()],
    ),
    Quote(
        "docs/sharp-edges.md",
        "Whether a row has zeros, ordinary numbers, 1e300, subnormal numbers or nan made no difference that "
        "we could measure",
        _unseen("a row of zeros", "a row of 1e300", "a row of subnormal numbers", "a row of nan"),
    ),
    Quote(
        "docs/sharp-edges.md",
        "A line of words, or with a byte that is not UTF-8, made no measurable difference either.",
        _unseen("CSV: a line of words", "CSV: a byte that is not UTF-8"),
    ),
    Quote(
        "docs/sharp-edges.md",
        "With a line with quotes a fit took {} % longer, with an interval from {} %.",
        _slower_by("CSV: a line with quotes"),
    ),
    Quote(
        "docs/sharp-edges.md",
        "with a line of 8 MB a fit of 2,000 lines took {} times as long, and {} MB more memory",
        lambda: [short(_channel(LONG_LINE, "time"), 1), whole(_channel(LONG_LINE, "peak memory"))],
    ),
    Quote(
        "docs/sharp-edges.md",
        "A person with 20,000 rows among 5,000 rows of others made a fit take {} % longer.",
        lambda: [whole(100 * _channel(MANY_ROWS, "time") - 100)],
    ),
    Quote(
        "docs/sharp-edges.md",
        "One long sparse row was not seen.",
        _unseen("a sparse row of 10,000 entries, not 20"),
    ),
)

SETTINGS = {
    "README.md": ("at epsilon = 1 with two components",),
    "benchmarks/README.md": (
        "at epsilon = 1 with two components",
        "(5,000 rows of weather",
        "(patches8 with 100,000 rows",
    ),
    "docs/audit.md": (
        "at a stated ε of 2 and d = 6",
        "where exp(2) is stated and exp(0.5) was intended",
    ),
    "docs/choosing-epsilon.md": (
        "as long as it lies between 1e-4 and .7",
        "too pessimistic by a factor of 2 or more",
    ),
    "docs/coming-from-sklearn.md": ("intervals of 95 %", "with 20,000 rows at (1, 1e-6)"),
    "docs/method.md": (
        "turns directions, is .12",
        "the cells of the arena, 10 seeds",
        "n up to 500,000",
        "8 to 30 columns",
    ),
    "docs/people-with-many-rows.md": ("people with 1, 10 and 100 rows each",),
    "docs/scales.md": (
        "At n = 10,000, 40 columns and epsilon 1",
        "On 63 public tables as they are (816 to 73,421 rows, 6 to 57 columns)",
        "at epsilon 1 if nothing",
    ),
    "docs/sharp-edges.md": ("up to 64 MB",),
    "docs/streams.md": ("`memory` (50 batches)",),
}
"""Words with numbers that do not come from tables: settings, sizes and names, by page."""


# -- pages -----------------------------------------------------------------------------------------


def compared(page: str, text: str) -> tuple[str, list[str]]:
    """Return a page with the tables' numbers, and what differed."""
    wrong = []
    for one in [one for one in (*BLOCKS, *QUOTES) if one.page == page]:
        name = one.name if isinstance(one, Block) else one.text
        try:
            values = one.values()
        except MissingError as error:
            wrong.append(f"{page}: {name!r}: {error}")
            continue
        found = list(one.pattern.finditer(text))
        if len(found) != 1:
            wrong.append(f"{page}: found {len(found)} times, not once: {name!r}")
            continue
        places = [(found[0].span(group), value) for group, value in enumerate(values, start=1)]
        for (start, end), value in reversed(places):
            if " ".join(text[start:end].split()) != " ".join(value.split()):
                wrong.append(f"{page}: {_start(text[start:end])} should be {_start(value)}: {_start(name)}")
                text = _replaced(text, start, end, value)
    return text, wrong


def _replaced(text: str, start: int, end: int, value: str) -> str:
    """Return the text with another value; a line break within the value before stays, at a space nearby."""
    broken = re.search(r"\s*\n\s*", text[start:end])
    before = text[:start]
    if broken and "\n" not in value:
        if " " in value:
            value = value.replace(" ", broken[0], 1)
        else:
            before = before.rstrip() + broken[0]
    return before + value + text[end:]


def _start(text: str) -> str:
    return repr(text if len(text) < 90 else f"{text[:90]}...")


# -- numbers that are not registered ---------------------------------------------------------------

NUMBER = re.compile(r"(?<![\w.^-])[-+]?(?:\d(?:[\d,]*\d)?(?:\.\d+)*|\.\d+)(?:e[-+]?\d+)?(?!\w)")


def unregistered(page: str, text: str) -> list[str]:
    """Return numbers that stand in paragraphs about tables, and are neither quoted nor settings."""
    for one in (*BLOCKS, *QUOTES):
        if one.page == page:
            text = one.pattern.sub(lambda found: re.sub(r"\d", "_", found[0]), text)
    for phrase in SETTINGS.get(page, ()):
        text = Quote(page, phrase, tuple).pattern.sub(lambda found: re.sub(r"\d", "_", found[0]), text)
    found = []
    for paragraph in paragraphs(text):
        if _is_about_a_table(paragraph):
            plain = re.sub(r"\]\([^)]*\)|`[^`]*`|<!--.*?-->", " ", paragraph, flags=re.DOTALL)
            found += [f"{page}: {one} in {_start(' '.join(paragraph.split()))}" for one in NUMBER.findall(plain)]
    return found


def paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs without code, and items of lists.

    A list or table belongs to the paragraph above it if that refers to a table and ends with a colon.
    """
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    before = ""
    for part in [*re.split(r"\n\s*\n", text), ""]:
        if before.rstrip().endswith(":") and _is_about_a_table(before) and re.match(r"\s*(?:[-*|]|<!--)", part):
            before = f"{before}\n\n{part}"
            continue
        yield from re.split(r"\n(?=[-*] )", before) if re.match("[-*] ", before) else [before]
        before = part


def _is_about_a_table(paragraph: str) -> bool:
    names = "|".join(page.stem for page in RESULTS.glob("*.md"))
    docs = "|".join(page.stem for page in ROOT.glob("docs/*.md"))
    return bool(re.search(rf"results/(?:{names})\.md|(?<![\w/-])(?!(?:{docs})\.md)(?:{names})\.md", paragraph))


def main() -> None:
    """List differences, or write the tables' numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables' numbers into the pages")
    write = parser.parse_args().write
    left = []
    for page in (page for page in PAGES if page not in GENERATED):
        file = ROOT / page
        text, wrong = compared(page, file.read_text("utf-8"))
        print("\n".join(wrong), end="\n" * bool(wrong))  # noqa: T201  # a script
        if write and wrong:
            file.write_text(text, "utf-8")
            text, wrong = compared(page, text)
        left += wrong + (extra := unregistered(page, text))
        print("\n".join(extra), end="\n" * bool(extra))  # noqa: T201  # a script
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
