"""`edgewright profile`: measures a model on all backends side by side, and its ops one by one."""

from edgewright.config.profile import ProfileFile, ProfileRuns
from edgewright.config.umbrella import Messages, ModelFile, Report, RunInputs, Shapes
from edgewright.tools.answer import tell
from edgewright.tools.tool import Tool


def run(
    model: ModelFile,
    shapes: Shapes,
    inputs: RunInputs,
    runs: ProfileRuns,
    output: ProfileFile,
    report: Report,
    _messages: Messages,
) -> int:
    """Measure, write the requested files, and report; a failure if no backend ran."""
    from edgewright.core.errors import UnsupportedFeature
    from edgewright.core.files import write_whole
    from edgewright.model.profile.measure import DEFAULT_BACKENDS, Effort, profile, profile_log
    from edgewright.model.random_inputs import make_random_inputs
    from edgewright.model.run_inputs import open_input_sets
    from edgewright.reports.profile import make_page
    from edgewright.reports.profile_files import make_log_file
    from edgewright.run.run_files import open_model

    opened = open_model(model, shapes)
    feed = open_input_sets(opened, inputs)[0].feed() if inputs.given() else make_random_inputs(opened)
    names = runs.backends or DEFAULT_BACKENDS
    effort = Effort(runs.runs, runs.seconds, runs.warmup, runs.threads)
    profiled = profile(opened, feed, backends=names, effort=effort)
    if output.output is not None:
        write_whole(
            output.output, make_log_file(output.output, profile_log(opened, names[0], feed, runs=runs.runs))
        )
    tell(report, profiled, make_page)
    if output.output is not None and not report.json:
        print(f"wrote {output.output}")
    return 0 if profiled.fastest is not None else UnsupportedFeature.exit_code


TOOL = Tool(
    "edgewright profile",
    "Measure a model on all backends side by side: latency, throughput, CPU, memory, and the slowest ops.",
    (ModelFile, Shapes, RunInputs, ProfileRuns, ProfileFile, Report, Messages),
    run,
    examples=(
        ("edgewright profile model.onnx", "every backend of this machine, on random inputs"),
        ("edgewright profile m_net.json --backend cpu --runs 1000 --threads 1", "one backend in depth"),
        ("edgewright profile model.onnx --backend cpu -o profile.html", "a page with a timeline of all ops"),
    ),
)
main = TOOL.main
