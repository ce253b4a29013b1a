"""Sphinx configuration of the documentation site (``make docs``).

The source folder is the repository itself: pages keep the relative links that they have on GitHub, also those to
CONTRIBUTING.md and to the tables in benchmarks/results. Nothing is loaded from a network, neither here nor by the
pages.
"""  # noqa: INP001  # read by Sphinx

import logging
import sys
from pathlib import Path

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
add_module_names = False

myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

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
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
templates_path = ["templates"]
html_additional_pages = {"index": "front.html"}
