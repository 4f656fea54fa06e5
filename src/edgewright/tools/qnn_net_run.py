"""qnn-net-run: runs a converted model on files."""

from edgewright.config.device import RunDevice
from edgewright.config.net_run import (
    NET_RUN,
    NET_RUN_RULES,
    Execution,
    InputFiles,
    Model,
    NetRunLog,
    OutputFiles,
    Profiling,
)
from edgewright.config.umbrella import Report
from edgewright.tools.tool import Tool

NAME = "qnn-net-run"


def run(
    model: Model,
    inputs: InputFiles,
    outputs: OutputFiles,
    execution: Execution,
    profiling: Profiling,
    *more: NetRunLog | RunDevice | Report,
) -> int:
    """Run every set of the input list and say what was written."""
    from edgewright.reports.json_text import as_json
    from edgewright.reports.net_run import make_page
    from edgewright.reports.page import show
    from edgewright.sdk.net_run import NetRunOptions, run_network

    device = next((group.device for group in more if isinstance(group, RunDevice)), None)
    result = run_network(NetRunOptions(model, inputs, outputs, execution, profiling, device))
    if any(isinstance(group, Report) and group.json for group in more):
        print(as_json(result))
    else:
        show(make_page(result))
    return 0


TOOL = Tool(
    NAME,
    "Run a converted model on the inputs that a list names; outputs go to OUTPUT_DIR/Result_N.",
    (*NET_RUN, RunDevice, Report),
    run,
    examples=(
        (
            f"{NAME} --model m_net.json --backend libQnnCpu.so --input_list inputs.txt",
            "run once for each line; a line is FILE or NAME:=FILE NAME:=FILE",
        ),
        (
            f"{NAME} --model m_net.json --backend cpu --input_list inputs.txt --use_native_output_files",
            "write outputs in the types of the model, not as float32",
        ),
        (
            f"{NAME} --model m_net.json --backend cpu --input_list in.txt --duration 5",
            "repeat the list for five seconds",
        ),
    ),
    rules=NET_RUN_RULES,
)
main = TOOL.main
