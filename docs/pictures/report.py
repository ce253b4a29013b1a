"""Screenshots of the report of ``eigenveil demo``, on a desk and on a phone, light and dark.

Run it as ``python docs/pictures/report.py`` with Chromium and ``pip install 'eigenveil[browser]'``; it writes
report-desktop-light.png and three more beside itself. Noise comes from the operating system, so every run differs.
"""  # noqa: INP001  # a script

from __future__ import annotations

import io
import math
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
from PIL import Image
from sklearn.datasets import load_digits

from eigenveil import DPPCA, Budget, Ledger, write_report

DELTA = 1e-6
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def digits_report(path: Path) -> Path:
    """Write the report that the demo writes."""
    digits, costs = load_digits().data, (Budget.from_epsilon_delta(epsilon, DELTA).mu for epsilon in (1.0, 0.5))
    ledger = Ledger(Budget.from_mu(math.hypot(*costs)))
    names = [f"row {row} col {column}" for row in range(1, 9) for column in range(1, 9)]
    frame = pa.Table.from_arrays(list(digits.T), names=names)
    pca: Any = DPPCA(3, epsilon=1.0, delta=DELTA, ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report shows the warnings
        pca.fit(frame)
        scores = pca.private_scores(frame, epsilon=0.5, delta=DELTA, bins=10, ledger=ledger)
    return write_report(pca, path, command="eigenveil demo", scores=scores, grid=(8, 8))


def write(png: bytes, path: Path) -> None:
    """Write a picture with 128 colours, which keeps it small."""
    with Image.open(io.BytesIO(png)) as picture:
        picture.convert("RGB").quantize(128).save(path, optimize=True)


def make(target: Path) -> list[Path]:
    """Make all four pictures from one report, in the folder `target`."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # an extra, browser

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        address = digits_report(Path(folder) / "report.html").as_uri()
        made = []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        for size, (width, height) in SIZES.items():
            for theme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
                page.goto(address)
                made.append(target / f"report-{size}-{theme}.png")
                write(page.screenshot(full_page=size == "phone"), made[-1])
        browser.close()
    return made


if __name__ == "__main__":
    make(Path(__file__).parent)
