"""The report shows what was released, shows all warnings, and loads nothing from the network."""

import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from eigenveil import DPPCA
from eigenveil.errors import InvalidInputError
from eigenveil.privacy import Budget, Ledger
from eigenveil.report import render_report, write_report
from eigenveil.report.ledger_groups import ledger_groups
from eigenveil.report.reading import found_at, probability_above, read_guarantee


def rows(n=20_000):
    return np.random.default_rng(0).normal(size=(n, 5)) * [6, 5, 4, 1, 1]


@pytest.fixture(scope="module")
def pca():
    return DPPCA(3, epsilon=1.0).fit(rows())


@pytest.fixture(scope="module")
def page(pca):
    return render_report(pca, command="eigenveil fit 'a & <b>.csv' -k 3")


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.words.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    return reader


def test_it_loads_nothing_from_the_network(page):
    reader = read(page)
    for tag, name, value in reader.attributes:
        if name in ("href", "src", "xlink:href", "action", "data"):
            assert value.startswith(("#", "data:")), (tag, name, value)
    assert not any(tag in ("script", "link", "iframe") for tag, _ in reader.tags)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert "default-src 'none'" in page


def test_every_figure_has_a_label_and_ids_are_unique(page):
    reader = read(page)
    pictures = [attributes for tag, attributes in reader.tags if tag == "svg"]
    assert len(pictures) >= 5
    assert all(picture["role"] == "img" and len(picture["aria-label"]) > 20 for picture in pictures)
    ids = [value for _, name, value in reader.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    used = set(re.findall(r"url\(#([^)]+)\)", page)) | {
        value[1:] for _, name, value in reader.attributes if name == "href" and value.startswith("#")
    }
    assert used <= set(ids)


def test_it_has_headings_captions_and_a_language(pca, page):
    tags = [tag for tag, _ in read(page).tags]
    assert tags.count("h1") == 1
    assert tags.count("caption") == tags.count("table") == 2 + len(ledger_groups(pca.ledger_))
    assert '<html lang="en">' in page
    assert tags.count("th") > 10


def test_lines_and_text_use_the_colour_of_the_page(page):
    assert "#010203" not in page
    assert "currentColor" in page
    assert "prefers-color-scheme: dark" in page


def test_the_whole_ledger_is_shown(pca, page):
    text = html.unescape(page)
    for entry in pca.ledger_.entries:
        assert entry.what in text
        assert f"μ = {entry.mu:.4g}" in text


def test_the_ledger_is_folded_and_grouped_by_purpose():
    pca = DPPCA(2, scale="private").fit(rows())
    groups = ledger_groups(pca.ledger_)
    assert "Scales of columns" in [group.name for group in groups]
    assert sum(len(group.rows) for group in groups) == len(pca.ledger_.entries)
    assert sum(group.percent for group in groups) == pytest.approx(
        100 * (pca.ledger_.mu / pca.ledger_.budget.mu) ** 2
    )
    text = html.unescape(render_report(pca))
    assert f"Ledger: {len(pca.ledger_.entries)} entries, by purpose" in text
    for group in groups:
        number = "1 entry" if len(group.rows) == 1 else f"{len(group.rows)} entries"
        assert f"<summary><span>{group.name}</span><span>{number}</span>" in text
    folded = text[text.index("<details") : text.rindex("</details>")]
    assert all(f"μ = {entry.mu:.4g}" in folded for entry in pca.ledger_.entries)
    assert 'aria-label="Rounds.' in folded
    assert 'aria-label="Spending of the budget.' in folded
    assert "<details open" not in text


def test_groups_of_a_ledger_that_is_not_gaussian():
    ledger = Ledger(Budget(mu=0.0, epsilon_aside=1.0, delta_aside=1e-6))
    ledger.charge_approximate("bins", epsilon=0.25)
    ledger.declare("bounds")
    (group,) = ledger_groups(ledger)
    assert (group.share, group.percent) == ("25.0 % of the ε set aside", 25.0)
    assert [row[1:3] for row in group.rows] == [
        ("(0.25, 0)", "25.0 % of the ε set aside"),
        ("declared public", "no cost"),
    ]


@pytest.mark.filterwarnings("ignore")
def test_parallel_parts_count_as_their_most_expensive_part():
    stream = DPPCA(1, center=False, options={"batch_size": 500}).partial_fit(rows(1000))
    groups = ledger_groups(stream.ledger_)
    assert any(group.name.startswith("Parallel parts: ") for group in groups)
    assert sum(group.percent for group in groups) <= 100 + 1e-6
    assert "Arrivals" in render_report(stream)


def test_results_come_before_warnings_and_these_before_the_guarantee():
    text = render_report(DPPCA(2, random_state=0).fit(rows()))
    marks = ["NOT PRIVATE: seeded", "WITHOUT any guarantee", 'id="scree-', 'id="loadings-1-', 'id="warnings"']
    marks += ['id="details"', 'id="guarantee"', 'id="ledger"', 'id="methods"']
    found = [text.index(mark, text.index("<body>")) for mark in marks]
    assert found == sorted(found)


def test_variances_are_shown_with_intervals_and_their_meaning(pca, page):
    text = html.unescape(page)
    for low, high in pca.explained_variance_interval():
        assert f"{low:.4g} to {high:.4g}" in text
    assert text.count("Lines are 95 % confidence intervals for the population's value") == 1


def test_names_angles_means_and_the_number_of_components_are_shown(pca, page):
    text = html.unescape(page)
    for name, angle in zip(pca.get_feature_names_out(), pca.component_angles(), strict=True):
        assert f'<th scope="row">{name}</th>' in text
        assert f'<td>{angle:.1f}°</td><td class="words">accurate: can be interpreted on its own</td>' in text
    assert str(pca.components_for(0.9))[1:] in text
    assert f"<td>{pca.mean_[0]:.4g}</td><td>none</td>" in text


def test_methods_cite_the_paper(page):
    text = html.unescape(page)
    assert "An Iterative Algorithm for Differentially Private k-PCA with Adaptive Noise" in text
    assert "Düngler" in text
    assert "Sanyal" in text


def test_the_command_is_shown_as_text(page):
    assert "eigenveil fit &#39;a &amp; &lt;b&gt;.csv&#39; -k 3" in page


def test_column_names_are_escaped_everywhere():
    import pandas as pd

    names = ["<script>alert(1)</script>", '"><img src=x>', "a&b", "$x^2$", "e"]
    frame = pd.DataFrame(rows(4000), columns=names)
    pca = DPPCA(2, random_state=0, scale="private").fit(frame)
    groups = np.where(np.arange(4000) % 2, names[0], names[1])
    scores = pca.private_scores(frame, epsilon=1.0, bins=4, groups=groups, labels=names[:2], random_state=0)
    for page in (render_report(pca, scores=scores), render_report(pca, grid=(1, 5))):
        assert not any(tag in ("script", "img") for tag, _ in read(page).tags)
        assert "<script>alert(1)</script>" in html.unescape(page)


def test_warnings():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = DPPCA(1, epsilon=0.5, delta=0.01, random_state=0, scale=np.ones(5)).fit(rows(300))
    text = html.unescape(render_report(few))
    assert "NOT PRIVATE: seeded" in text
    assert "units are few for this epsilon and delta" in text
    assert "Declared public, and not protected: column scales" in text
    assert "delta = 0.01 exceeds 1 in about" in text


def test_few_units_are_reported_if_the_fit_warns():
    import warnings

    for n in (200, 500, 900, 3000):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pca = DPPCA(2, random_state=0).fit(rows(n))
        warned = [str(one.message) for one in caught]
        assert [one.text for one in pca.warnings_] == warned
        text = html.unescape(render_report(pca))
        assert all(message in text for message in warned)
        assert any("are few for this epsilon" in message for message in warned) == (n < 900)


def test_invalid_units_are_reported():
    import warnings

    X = rows(5000)
    X[:1500] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pca = DPPCA(2, random_state=0).fit(X)
    assert re.search(r"by a noisy count, 1[3-7]\d\d units are invalid and 3\d\d\d are valid", render_report(pca))


def test_a_private_fit_without_problems_has_no_warning(page):
    assert 'id="warnings"' not in page
    assert "NOT PRIVATE" not in page
    assert "Private: ε = 1, δ = 1e-06</p>" in page


@pytest.mark.parametrize("name", ["k-dp-ojas", "dp-gauss-1", "k-dp-pca"])
def test_values_that_were_not_released_are_named(name):
    pca = DPPCA(2, algorithm=name, random_state=0).fit(rows())
    text = html.unescape(render_report(pca))
    assert ("releases directions only" in text) == (name != "dp-gauss-1")
    assert "Lines are" not in text


def test_one_component(tmp_path):
    pca = DPPCA(1, random_state=0).fit(rows()[:, :1])
    assert pca.explained_variance_[0] == pytest.approx(rows()[:, 0].var(), rel=0.1)
    path = write_report(pca, tmp_path / "one.html")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["one.html"]


def test_a_map_of_scores():
    ledger = Ledger(Budget.from_epsilon_delta(2.0, 1e-6))
    both = DPPCA(2, epsilon=1.0, ledger=ledger).fit(rows())
    scores = both.private_scores(rows(), epsilon=0.5, bins=8, ledger=ledger)
    text = html.unescape(render_report(both, scores=scores))
    assert "Private: ε = 2, δ = 1e-06" in text
    assert f"So far, ε = {ledger.epsilon(1e-6):.4g} of this budget has been spent" in text
    assert "separate ledger" not in text
    assert "The ledger covers further releases, up to ε = 2." in text


def test_one_epsilon_and_how_fit_and_map_add_up():
    fit, extra = (Budget.from_epsilon_delta(epsilon, 1e-6).mu for epsilon in (1.0, 0.5))
    ledger = Ledger(Budget.from_mu(np.hypot(fit, extra)))
    pca = DPPCA(2, epsilon=1.0, ledger=ledger).fit(rows())
    scores = pca.private_scores(rows(), epsilon=0.5, bins=8, ledger=ledger)
    text = html.unescape(render_report(pca, scores=scores)).replace("\u00a0", " ")
    whole = f"{ledger.budget.epsilon(1e-6):.4g}"
    assert f"The fit costs ε = 1 and the map of scores ε = 0.5: together {whole}, less than their sum" in text
    assert f"({whole}, 1e-06)-differentially private" in text
    shown = re.findall(r"ε = ([\d.]*\d)", text)
    assert sorted(set(shown) - {whole}) == ["0.5", "1"], "elsewhere the page has one epsilon"
    assert shown.count("1") == shown.count("0.5") == 1
    assert shown.count(whole) == 4, "title, badge, sentence, guarantee"


def test_a_map_on_a_ledger_of_its_own_is_part_of_the_total(pca):
    scores = pca.private_scores(rows(), epsilon=0.5, bins=8)
    text = html.unescape(render_report(pca, scores=scores)).replace("\u00a0", " ")
    mu = np.hypot(pca.ledger_.budget.mu, scores.ledger.budget.mu)
    whole = f"{Budget.from_mu(mu).epsilon(1e-6):.4g}"
    assert f"The fit costs ε = 1 and the map of scores ε = 0.5: together {whole}, less than their sum" in text
    assert f"({whole}, 1e-06)-differentially private" in text
    shown = re.findall(r"ε = ([\d.]*\d)", text)
    assert sorted(shown) == sorted(["1", "0.5", *[whole] * 4]), "title, badge, sentence, guarantee"
    assert "was charged to a separate ledger" in text
    assert f"Ledger: {len(pca.ledger_.entries) + len(scores.ledger.entries)} entries" in text
    assert len(pca.ledger_.entries) == len(set(pca.ledger_.entries) - set(scores.ledger.entries)), "unchanged"


def test_a_map_that_is_not_private_makes_the_page_not_private(pca):
    scores = pca.private_scores(rows(), epsilon=0.5, bins=8, random_state=0)
    text = html.unescape(render_report(pca, scores=scores))
    assert '<p class="badge bad">NOT PRIVATE: map of scores: seeded' in text
    assert "<title>NOT PRIVATE: principal components" in text
    assert "released WITHOUT any guarantee of privacy" in text
    assert "The run was not private, so no guarantee applies to it." in text
    assert "Private: ε" not in text
    assert "differentially private under the relation" not in text


def test_a_map_under_another_relation_is_refused(pca):
    scores = pca.private_scores(rows(), epsilon=0.5, bins=8, relation="replace")
    with pytest.raises(InvalidInputError, match="their costs cannot be added up"):
        render_report(pca, scores=scores)


def test_the_map_says_which_cells_are_blank(pca):
    scores = pca.private_scores(rows(), epsilon=0.5, bins=8)
    text = html.unescape(render_report(pca, scores=scores))
    assert f"Cells with fewer than about {3.163 * scores.noise:.0f} units are blank" in text
    assert "Where the units lie" in text
    assert "units per cell (noisy count)" in text
    assert "No cell exceeds" not in text
    blank = replace(scores, counts=np.zeros_like(scores.counts))
    assert "No cell exceeds the noise" in render_report(pca, scores=blank)


def test_loadings_as_images():
    pca = DPPCA(2, random_state=0).fit(np.hstack([rows(), rows()[:, :1]]))
    text = render_report(pca, grid=(2, 3))
    labels = [attributes["aria-label"] for tag, attributes in read(text).tags if tag == "svg"]
    assert sum("as 2 by 3 pixels" in label for label in labels) == 2
    assert not any("Bars of loadings" in label or "Arrows" in label for label in labels)
    assert re.search(r"component 1</text>", text)
    assert "the expected distances to the population" in text
    for wrong in ((2, 2), (3, 3)):
        with pytest.raises(InvalidInputError, match=f"{wrong[0]} x {wrong[1]} has .* pixels, but the model has 6"):
            render_report(pca, grid=wrong)


def test_a_map_per_group(pca):
    groups = np.where(np.arange(20_000) % 2, "north", "south")
    scores = pca.private_scores(rows(), epsilon=1.0, bins=4, groups=groups, labels=["north", "south"])
    text = render_report(pca, scores=scores)
    assert "Map of north" in text
    assert "Map of south" in text


def test_interpretation_of_the_guarantee(pca):
    reading = read_guarantee(pca.ledger_, 1e-6)
    assert reading.odds == pytest.approx(np.e, rel=1e-6)
    assert reading.chance == pytest.approx(0.7311, abs=1e-4)
    assert reading.relation.startswith("with or without")


@pytest.mark.filterwarnings("ignore:the eigengap is too small")
def test_the_guarantee_is_the_budget_even_if_less_was_spent():
    """If the test returns bottom, the release is not charged: spending depends on chance, the budget does not."""
    pca = DPPCA(1, algorithm="dp-gauss-2", center=False).fit(np.zeros((50, 3)))
    assert pca.ledger_.epsilon(1e-6) < 0.6
    assert read_guarantee(pca.ledger_, 1e-6).epsilon == pytest.approx(1.0)
    text = html.unescape(render_report(pca))
    assert "Private: ε = 1, δ = 1e-06" in text
    assert "private with ε = 1 at" in text
    assert re.search(r"So far, ε = 0\.\d+ of this budget has been spent", text)


def test_parameters_changed_since_the_fit_are_not_in_the_report():
    pca = DPPCA(3, epsilon=1.0).fit(rows())
    pca.set_params(epsilon=55.0, delta=0.2, algorithm="dp-power", relation="replace", random_state=1)
    text = html.unescape(render_report(pca))
    assert "Private: ε = 1, δ = 1e-06</p>" in text
    assert "(1, 1e-06)-differentially private under the relation add-remove" in text
    assert "tracked PCA" in text
    assert not any(word in text for word in ("= 55", "= 0.2", "dp-power", "noisy power method", "Warnings"))


def test_the_probability_of_larger_odds_is_a_tight_bound(pca):
    """The loss of a Gaussian release is normal with mean mu^2/2 and standard deviation mu."""
    from scipy.stats import norm

    budget = pca.ledger_.budget
    mu = budget.mu
    for epsilon in (0.3, 1.0, 2.0):
        exact = norm.sf((epsilon - mu**2 / 2) / mu)
        assert exact <= probability_above(budget, epsilon) <= 4 * exact
    assert found_at(budget, 0.05) == pytest.approx(norm.cdf(norm.ppf(0.05) + mu), rel=1e-3)


def test_a_report_replaces_reports_only(pca, tmp_path):
    page = tmp_path / "page.html"
    for content in (b"", None):  # an empty file, then the report itself
        if content is not None:
            page.write_bytes(content)
        write_report(pca, page)
    for other in (b"a,b\n1,2\n", b"<!doctype html><title>mine</title>"):
        page.write_bytes(other)
        with pytest.raises(InvalidInputError, match="is not a report"):
            write_report(pca, page)
        assert page.read_bytes() == other
