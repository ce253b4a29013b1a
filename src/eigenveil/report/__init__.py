"""Reports: one HTML file with the released values, their privacy cost and their accuracy. It opens offline."""

from eigenveil._extras import jinja2, matplotlib  # noqa: F401  # if missing, the error names the extra
from eigenveil.report.write import render_report, write_report

__all__ = ["render_report", "write_report"]
