"""A dry run: the pre-flight, and a conversion in memory that shows what the compiler would refuse."""

import time
from dataclasses import replace

from edgewright.analyse.records import Finding
from edgewright.build.convert import convert_model
from edgewright.build.make_plan import plan_build
from edgewright.build.plan import describe_late_compiler
from edgewright.build.preflight import PreflightResult, run_preflight
from edgewright.build.request import BuildRequest
from edgewright.build.stateful_samples import add_states
from edgewright.config.spelling import spell_option


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
        if not result.problems and result.samples is not None:
            samples = add_states(result.samples, conversion.graph, result.opened.states)
            plan = plan_build(request, conversion.graph, samples, result.opened.tensors)
            if plan.refusal is not None and not plan.is_half_taken:
                result.problems.append(plan.refusal)
            elif plan.refusal is not None:
                what = (
                    f"the compiler refuses it in plain 8 bits ({plan.refusal.what}): the build tries others"
                )
                result.hints.append(Finding("warning", "compiler", what, do=plan.refusal.do))
            spent = result.seconds + time.monotonic() - start
            seconds = plan.estimate_seconds(request.time_limit, spent)
            result.estimate = replace(result.estimate, seconds=seconds)
            if what := describe_late_compiler(seconds, request.time_limit):
                result.hints.append(
                    Finding(
                        "warning", "time", what, do=f"give it more time with {spell_option('time_limit')}"
                    )
                )
        result.seconds += time.monotonic() - start
    return result
