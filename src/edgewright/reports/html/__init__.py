"""The report of a build as a page for a browser."""

from edgewright.reports.html.page import report_page
from edgewright.reports.html.plotly_bundle import has_plots, missing_plots

__all__ = ["has_plots", "missing_plots", "report_page"]
