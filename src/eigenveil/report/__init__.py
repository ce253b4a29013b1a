"""One HTML file that tells what was released, what it cost and how good it is; it opens offline."""

from eigenveil.report.write import render_report, write_report

__all__ = ["render_report", "write_report"]
