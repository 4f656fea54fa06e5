"""A dry run: the pre-flight, and a conversion in memory that shows what the compiler would refuse."""

import time

from edgewright.build.convert import convert_model
from edgewright.build.preflight import PreflightResult, run_preflight
from edgewright.build.request import BuildRequest


def run_dry(request: BuildRequest) -> PreflightResult:
    """All that stands in the way of a build and what it will need; nothing is written."""
    return try_conversion(request, run_preflight(request))


def try_conversion(request: BuildRequest, result: PreflightResult) -> PreflightResult:
    """Adds to a pre-flight what the stage "convert" would find."""
    if result.opened.graph is not None:
        start = time.monotonic()
        conversion = convert_model(request, result.opened)
        result.problems += conversion.problems
        result.hints += conversion.findings
        result.seconds += time.monotonic() - start
    return result
