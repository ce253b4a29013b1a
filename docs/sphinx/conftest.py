"""These modules need Sphinx, which the quick tests do not install. `tests/docs/test_site.py` builds the site."""

collect_ignore_glob = ["*.py"]
