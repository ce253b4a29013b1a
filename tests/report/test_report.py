"""The report shows what was released, shows all warnings, and loads nothing from the network."""

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

from eigenveil import DPPCA
from eigenveil.privacy import Budget, Ledger
from eigenveil.report import render_report, write_report
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


def test_it_has_headings_captions_and_a_language(page):
    tags = [tag for tag, _ in read(page).tags]
    assert tags.count("h1") == 1
    assert tags.count("caption") == tags.count("table") == 3
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


def test_variances_are_shown_with_intervals_and_their_meaning(pca, page):
    text = html.unescape(page)
    for low, high in pca.explained_variance_interval():
        assert f"{low:.4g} to {high:.4g}" in text
    assert text.count("Lines are 95 % confidence intervals for the population's value") == 2


def test_names_angles_means_and_the_number_of_components_are_shown(pca, page):
    text = html.unescape(page)
    for name, angle in zip(pca.get_feature_names_out(), pca.component_angles(), strict=True):
        assert f'<th scope="row">{name}</th>' in text
        assert f"<td>{angle:.1f}°</td>" in text
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
    pca = DPPCA(2, random_state=0).fit(pd.DataFrame(rows(4000), columns=names))
    reader = read(render_report(pca))
    assert not any(tag in ("script", "img") for tag, _ in reader.tags)


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
    assert "Read this first" not in page
    assert "NOT PRIVATE" not in page
    assert "Private: ε = 1, δ = 1e-06, add-remove" in page


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


def test_a_map_of_scores(pca):
    ledger = Ledger(Budget.from_epsilon_delta(2.0, 1e-6))
    both = DPPCA(2, epsilon=1.0, ledger=ledger).fit(rows())
    scores = both.private_scores(rows(), epsilon=0.5, bins=8, ledger=ledger)
    text = html.unescape(render_report(both, scores=scores))
    assert "Private: ε = 2, δ = 1e-06" in text
    assert f"So far, ε = {ledger.epsilon(1e-6):.4g} of this budget has been spent" in text
    assert "separate ledger" not in text
    alone = pca.private_scores(rows(), epsilon=0.5, bins=8)
    assert "separate ledger, whose budget is epsilon = 0.5" in html.unescape(render_report(pca, scores=alone))


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
    assert "Private: ε = 1, δ = 1e-06, add-remove" in text
    assert "ε = 1, δ = 1e-06" in text
    assert "(1, 1e-06)-differentially private under the relation add-remove" in text
    assert "tracked PCA" in text
    assert not any(word in text for word in ("= 55", "= 0.2", "dp-power", "noisy power method", "Read this first"))


def test_the_probability_of_larger_odds_is_a_tight_bound(pca):
    """The loss of a Gaussian release is normal with mean mu^2/2 and standard deviation mu."""
    from scipy.stats import norm

    budget = pca.ledger_.budget
    mu = budget.mu
    for epsilon in (0.3, 1.0, 2.0):
        exact = norm.sf((epsilon - mu**2 / 2) / mu)
        assert exact <= probability_above(budget, epsilon) <= 4 * exact
    assert found_at(budget, 0.05) == pytest.approx(norm.cdf(norm.ppf(0.05) + mu), rel=1e-3)


# -- in a browser ------------------------------------------------------------------------------------

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_MEASURE = """
<script>addEventListener("load", () => {
  const inner = document.querySelector("iframe").contentDocument;
  const style = (selector, name) => inner.defaultView.getComputedStyle(inner.querySelector(selector))[name];
  document.title = [inner.documentElement.scrollWidth, style("body", "color"), style("figure svg text", "fill"),
    style("body", "backgroundColor"), inner.querySelectorAll("svg").length].join("|");
})</script>"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser(page, tmp_path, width, dark):
    wrapped = tmp_path / "wrapped.html"
    unlocked = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    frame = f'<iframe srcdoc="{html.escape(unlocked)}" style="border:0;width:{width}px;height:3000px"></iframe>'
    wrapped.write_text(_MEASURE + frame, encoding="utf-8")
    flags = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size={width + 100},3000",
    ]
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    home = f"--user-data-dir={tmp_path / 'home'}"
    answer = subprocess.run(  # noqa: S603
        [BROWSER, *flags, scheme, home, "--dump-dom", wrapped.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    title = re.search(r"<title>(\d+\|.*?)</title>", answer.stdout).group(1)
    across, ink, letters, paper, pictures = title.split("|")
    assert int(across) == width, "nothing overflows horizontally"
    assert int(pictures) >= 5
    assert letters == ink, "text in figures has the colour of the page"
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (brightness[0] > brightness[1]) == dark
