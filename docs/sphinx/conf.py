"""Sphinx configuration of the documentation site (``make docs``).

Sphinx, because our docstrings are reStructuredText with tables and sections of their own ("Formal guarantees"),
which napoleon renders, and because the search of its pages works without a server. The source folder is the
repository itself: pages keep the relative links that they have on GitHub, also those to CONTRIBUTING.md and to the
tables in benchmarks/results. Nothing is loaded from a network, neither here nor by the pages.
"""

import logging
import re
import sys
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

sys.path.insert(0, str(Path(__file__).parent))
logging.getLogger("traitlets").setLevel(logging.WARNING)
KernelManager.transport_encryption.default_value = "auto"  # the kernels of notebooks warn of plain text otherwise

project = "eigenveil"
author = "the eigenveil authors"
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/README.md",
    "benchmarks/results/*.md",
    "docs/**",
    "SECURITY.md",
    "tests/faults/results.md",
    "tests/fuzz/results.md",
    "tests/hostile/results.md",
    "tests/mutants/results.md",
]
exclude_patterns = [".*", "build", "docs/sphinx", "**/.ipynb_checkpoints"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "command_line",
    "gallery",
    "layer_diagram",
    "repository_pages",
]
default_role = "py:obj"
smartquotes_action = "D"  # dashes only: quotes in the help of commands are to be copied

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Formal guarantees", "Deviations from the paper", ("Attributes", "params_style")]

copybutton_prompt_text = r">>> |\.\.\. |\$ |In \[\d*\]: "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "eigenveil"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0067a3"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#6dbdeb"},
}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
templates_path = ["templates"]
html_additional_pages = {"index": "front.html"}


def _shorten(*described: Any) -> tuple[str, str] | None:
    """Return a signature with ``tuning=Tuning(...)`` instead of all fields of a default value."""
    signature, returned = described[-2:]
    return signature and (re.sub(r"=([A-Z]\w+)\((?:[^()]|\([^()]*\))*\)", r"=\1(...)", signature), returned)


def setup(app: Any) -> None:
    """Register with Sphinx."""
    app.connect("autodoc-process-signature", _shorten)
