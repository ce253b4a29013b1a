"""Verdicts follow from tables alone."""

import re
from pathlib import Path

import pytest

from eigenveil.experiments import FIGURES, METHODS, names, write_claims
from eigenveil.experiments.claims import CLAIMS
from eigenveil.experiments.table import Row, Table
from eigenveil.experiments.verdicts import (
    Claim,
    Finding,
    Form,
    ahead,
    ahead_at,
    grows_like,
    improves,
    learns_anywhere,
    less_level,
    level,
    page,
    reaches,
    slower,
    varies,
    verdict,
    widens,
)


def table(name="spiked-d", command="eigenveil reproduce", **curves):
    """Return a table whose curves have these means at x = 1, 2, 4, ...."""
    rows = [
        Row(None, float(2**place), method.replace("_", "-"), 50, mean)
        for method, means in curves.items()
        for place, mean in enumerate(means)
    ]
    return {name: Table(name, command, tuple(rows))}


DOCS = Path(__file__).parents[2] / "docs"
AT = ("spiked-d",)
BOTH = ("gauss-1", "gauss-2")


@pytest.mark.parametrize(
    ("check", "curves", "holds"),
    [
        (
            ahead(AT, "tracked", BOTH),
            {"tracked": [0.1], "gauss_1": [0.2], "gauss_2": [0.3]},
            "yes",
        ),
        (
            ahead(AT, "tracked", BOTH),
            {"tracked": [0.25], "gauss_1": [0.2], "gauss_2": [0.3]},
            "no",
        ),
        (ahead(AT, "tracked", ("gauss-1",)), {"tracked": [0.1, 0.3], "gauss_1": [0.2, 0.2]}, "in part"),
        (ahead(AT, "tracked", ("plain",)), {"tracked": [0.1, 0.3, 0.3], "plain": [0.2, 0.2, 0.2]}, "no"),
        (
            ahead(AT, "tracked", ("gauss-1",), somewhere=True),
            {"tracked": [0.1, 0.3], "gauss_1": [0.2, 0.2]},
            "yes",
        ),
        (ahead(AT, "tracked", ("gauss-1",)), {"tracked": [0.1], "gauss_1": [0.95]}, "vacuously"),
        (ahead(AT, "tracked", ("gauss-1",), of_anything=True), {"tracked": [0.1], "gauss_1": [0.95]}, "yes"),
        (ahead(AT, "tracked", ("gauss-1",), factor=2), {"tracked": [0.3], "gauss_1": [0.2]}, "yes"),
        (
            ahead_at(*AT, "tracked", "gauss-1", end="first", factor=1),
            {"tracked": [1, 3], "gauss_1": [2, 2]},
            "vacuously",
        ),
        (ahead_at(*AT, "tracked", "gauss-1", end="first", factor=1), {"tracked": [0.1], "gauss_1": [0.2]}, "yes"),
        (ahead_at(*AT, "tracked", "gauss-1", end="last", factor=1), {"tracked": [1, 3], "gauss_1": [2, 2]}, "no"),
        (reaches(*AT, "tracked", zeta=0.1), {"tracked": [0.5, 0.1]}, "yes"),
        (reaches(*AT, "tracked", zeta=0.1), {"tracked": [0.1, 0.5]}, "no"),
        (learns_anywhere(AT, "tracked", zeta=0.1), {"tracked": [0.1, 0.5]}, "yes"),
        (improves(*AT, "tracked"), {"tracked": [0.3, 0.2, 0.1]}, "yes"),
        (improves(*AT, "tracked"), {"tracked": [0.3, 0.1, 0.2]}, "no"),
        (level(*AT, "tracked", factor=2), {"tracked": [0.3, 0.2]}, "yes"),
        (level(*AT, "tracked", factor=2), {"tracked": [0.5, 0.2]}, "no"),
        (level(*AT, "tracked", factor=2), {"tracked": [0.9, 0.95]}, "vacuously"),
        (varies(*AT, "tracked", factor=2), {"tracked": [0.5, 0.2]}, "yes"),
        (less_level(*AT, "tracked", "plain"), {"tracked": [0.5, 0.2], "plain": [0.2, 0.2]}, "yes"),
        (less_level(*AT, "tracked", "plain"), {"tracked": [0.9, 0.99], "plain": [0.2, 0.2]}, "no"),
        (slower(*AT, "tracked", ("plain",)), {"tracked": [0.1, 0.2], "plain": [0.1, 0.3]}, "yes"),
        (slower(*AT, "tracked", ("plain",)), {"tracked": [0.9, 0.9], "plain": [0.1, 0.3]}, "no"),
        (grows_like(*AT, {"tracked": 1.0, "plain": 2.0}, within=0.1), {"tracked": [1, 2], "plain": [1, 4]}, "yes"),
        (grows_like(*AT, {"tracked": 1.5}, within=0.1), {"tracked": [1, 2]}, "no"),
    ],
)
def test_checks(check, curves, holds):
    finding = check(table(**curves))
    assert finding.holds == holds, finding
    assert finding.numbers


def test_a_lead_that_grows():
    before = table("before", tracked=[0.1], gauss_1=[0.2])
    assert (
        widens("before", "after", "tracked", "gauss-1")(
            before | table("after", tracked=[0.01], gauss_1=[0.2])
        ).holds
        == "yes"
    )
    assert (
        widens("before", "after", "tracked", "gauss-1")(
            before | table("after", tracked=[0.1], gauss_1=[0.15])
        ).holds
        == "no"
    )


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (("yes", "no", "no"), "**Reproduced**"),
        (("no", "yes", "no"), "**Reproduced with the tracked mean only**"),
        (("vacuously", "yes", "no"), "**Reproduced with the tracked mean only**"),
        (("no", "no", "yes"), "**Reproduced only with the printed noise**"),
        (("in part", "no", "no"), "**Reproduced in part**"),
        (("no", "in part", "vacuously"), "**Reproduced in part with the tracked mean only**"),
        (("in part", "yes", "no"), "**Reproduced with the tracked mean only**"),
        (("vacuously", "no", "no"), "**Holds vacuously**"),
        (("no", "no", "no"), "**Not reproduced** under valid privacy, nor with the printed noise"),
    ],
)
def test_the_first_form_that_holds_decides(found, word):
    checks = {form: lambda _, holds=holds: Finding(holds, "1") for form, holds in zip(Form, found, strict=True)}
    claim = Claim(where="here", says="something", figures=AT, checks=checks)
    text, numbers = verdict(claim, table())
    assert text.startswith(word)
    assert all(form.value in numbers for form in Form)


def test_no_verdict_without_a_full_run():
    claim = Claim(where="here", says="something", figures=AT, checks={Form.VALID: lambda _: Finding("yes", "1")})
    assert verdict(claim, {})[0] == "not run yet: `eigenveil reproduce spiked-d`"
    assert "quick" in verdict(claim, table(command="eigenveil reproduce spiked-d --quick"))[0]
    argument = Claim(where="here", says="something", note="An opinion.")
    assert verdict(argument, {}) == ("An opinion.", "")


def test_every_claim_can_be_checked(made):
    """All checks run on the curves and points that the figures have."""
    for claim in CLAIMS:
        assert set(claim.figures) <= set(FIGURES)
        assert bool(claim.figures) == bool(claim.checks)
        for form, check in claim.checks.items():
            if form is not Form.PRINTED or "learning-rate" in claim.figures:
                assert check(made.tables).holds in ("yes", "in part", "no", "vacuously"), claim.says
    tried = {name for claim in CLAIMS for name in claim.figures}
    assert tried == set(FIGURES)


def test_printed_noise_has_points_wherever_it_is_checked():
    for name in {name for claim in CLAIMS if Form.PRINTED in claim.checks for name in claim.figures}:
        methods = FIGURES[name].methods
        assert names.OJAS_PRINTED in methods
        assert any(cell.method == names.OJAS_PRINTED for cell in FIGURES[name].cells())


def test_the_page_in_the_docs_is_that_of_its_tables(tmp_path):
    text = write_claims(DOCS / "figures", tmp_path / "claims.md").read_text(encoding="utf-8")
    assert text == (DOCS / "claims.md").read_text(encoding="utf-8")
    assert not re.search(r"\b(fig|sec|app):|\bsec-", text), "labels of the paper's source"


def test_the_page(made, tmp_path):
    path = write_claims(made.out, tmp_path / "claims.md")
    text = path.read_text(encoding="utf-8")
    measured = sum(bool(claim.figures) for claim in CLAIMS)
    assert text.count("no verdict") == measured
    assert all(method.label in text for method in METHODS.values())
    assert all(f"![{figure.title}]({made.out.name}/{name}.svg)" in text for name, figure in FIGURES.items())
    assert ">>>" not in text
    lines = [line for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert len(lines) == len(CLAIMS)
    assert {line.count("|") for line in lines} == {7}
    assert page(CLAIMS, {}, FIGURES, folder="figures").count("not run yet") == sum(
        bool(claim.figures) for claim in CLAIMS
    )
