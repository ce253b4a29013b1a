"""The picture in docs/app.md: the plan in the local page, as Chromium shows it.

Run it as ``python docs/pictures/app.py``; it writes app.png beside itself. Needs ``eigenveil[app,browser]`` and
Chromium.
"""  # noqa: INP001  # a script

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ("age", "height", "weight", "pulse", "glucose", "sodium", "potassium", "creatinine")


def write_visits(path: Path) -> None:
    """Write a table of 1000 made-up people with two rows each."""
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(2000, 3)) @ rng.normal(size=(3, len(NAMES))) + rng.normal(size=(2000, len(NAMES)))
    pq.write_table(pa.table({"person_id": np.arange(2000) % 1000, **dict(zip(NAMES, mixed.T, strict=True))}), path)


def photograph(page: Any, address: str, folder: Path, target: Path) -> None:
    """Walk to the plan, and take its picture."""
    page.goto(address)
    page.get_by_label("One person is").select_option("all rows with the same person_id")
    page.get_by_label("Number of components").fill("3")
    page.get_by_label("About how many people?").fill("1000")
    page.get_by_label("About how many rows per person?").fill("2")
    page.get_by_label("Ledger file (optional)").fill(str(folder / "budget.json"))
    page.get_by_label(re.compile("Cap: ")).fill("3")
    page.get_by_role("button", name="Plan").click()
    page.wait_for_selector("svg", timeout=60_000)
    page.get_by_role("slider").fill("4")
    page.wait_for_selector("text=What ε = 0.5 means")
    page.get_by_role("slider").blur()
    for path in page.locator(".path").all():  # the folder of this machine says nothing
        path.evaluate(
            "(element, folder) => { element.textContent = element.textContent.replace(folder, '') }", f"{folder}/"
        )
    page.screenshot(path=target, full_page=True)


def make(target: Path) -> list[Path]:
    """Start the command, open it in Chromium, and write the picture into the folder `target`."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # an extra, browser

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name).resolve()
        write_visits(folder / "visits.parquet")
        command = [sys.executable, "-m", "eigenveil.cli", "app", "--no-browser", str(folder / "visits.parquet")]
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603
            assert server.stderr is not None
            address = "".join(server.stderr.readlines(1)).split()[-1]
            try:
                page = browser.new_page(viewport={"width": 1120, "height": 700})
                photograph(page, address, folder, target / "app.png")
            finally:
                server.terminate()
    return [target / "app.png"]


if __name__ == "__main__":
    make(Path(__file__).parent)
