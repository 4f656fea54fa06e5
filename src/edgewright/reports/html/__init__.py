"""The report of a build as a page for a browser."""

from edgewright.reports.html.page import render_report
from edgewright.reports.html.plotly_bundle import describe_missing_plots, has_plots

__all__ = ["describe_missing_plots", "has_plots", "render_report"]
