"""The command `edgewright`: finds the subcommand and hands over, loading nothing else."""

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from edgewright.core.errors import UsageError, shown
from edgewright.core.version import VERSION
from edgewright.core.words import did_you_mean
from edgewright.tools.tool import Tool, run_guarded


@dataclass(frozen=True)
class Command:
    """A subcommand: the module whose TOOL it is, and one line about it."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "doctor": Command("edgewright.tools.doctor_command", "say what is installed, what works and what to do"),
    "build": Command(
        "edgewright.tools.build_command", "do it all: from a model and data to a compiled, evaluated model"
    ),
    "compare-builds": Command(
        "edgewright.tools.compare_builds_command", "show what changed between two builds, as one page"
    ),
    "sweep": Command(
        "edgewright.tools.sweep_command", "build many models for many chips, on this machine or a cluster"
    ),
    "inspect": Command("edgewright.tools.inspect_command", "show what a model contains and what converts"),
    "view": Command("edgewright.tools.view_command", "show models as graphs in a browser"),
    "convert": Command("edgewright.tools.convert_command", "convert a model to QNN artifacts"),
    "quantize": Command("edgewright.tools.quantize_command", "quantize a model, and measure what that costs"),
    "run": Command("edgewright.tools.run_command", "run a model, and compare it with its source"),
    "replay": Command("edgewright.tools.replay_command", "run what the Saver recorded on a backend"),
    "profile": Command(
        "edgewright.tools.profile_command", "measure a model on all backends side by side, op by op"
    ),
    "estimate": Command(
        "edgewright.tools.estimate_command", "say how fast a model will be on a chip, as a range"
    ),
    "debug": Command(
        "edgewright.tools.debug_command", "find where a quantized model loses accuracy, and what helps"
    ),
    "evaluate": Command(
        "edgewright.tools.evaluate_command",
        "rank all quantization options of a model, or evaluate a configuration",
    ),
    "op": Command("edgewright.tools.op_command", "show the card of an op, or list all ops"),
    "check": Command(
        "edgewright.tools.check_command", "say what keeps a model from the HTP, or from being fast there"
    ),
    "export-ep-context": Command(
        "edgewright.tools.export_ep_context_command", "wrap a context binary in an ONNX file"
    ),
    "sdk-root": Command(
        "edgewright.tools.sdk_root_command", "make a folder like QNN_SDK_ROOT for scripts of the SDK"
    ),
    "backend-library": Command(
        "edgewright.tools.backend_library_command",
        "make a library with QNN's C interface that runs on our backends",
    ),
    "targets": Command("edgewright.tools.targets_command", "list the chips that a model can be compiled for"),
    "llm quantize": Command(
        "edgewright.tools.llm_quantize_command",
        "quantize a language model for llama.cpp, ONNX Runtime, OpenVINO or MLX",
    ),
    "llm build": Command(
        "edgewright.tools.llm_build_command", "build a language model for the NPU of a chip"
    ),
    "llm eval": Command(
        "edgewright.tools.llm_eval_command", "measure how well a language model predicts a text"
    ),
    "llm run": Command("edgewright.tools.llm_run_command", "continue a text with a language model"),
    "llm chat": Command("edgewright.tools.llm_chat_command", "talk to a language model in the terminal"),
    "explain": Command("edgewright.tools.explain_command", "say what an error code means and what helps"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subcommand that the first word names and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] == "help":
        words = [*words[1:], "--help"]
    # Of two words first: 'llm quantize'.
    for count in (2, 1):
        name = " ".join(words[:count])
        if name in COMMANDS:
            return _find_tool(name).main(words[count:])
    return run_guarded(lambda: _answer(words))


def _find_tool(name: str) -> Tool:
    tool: Tool = importlib.import_module(COMMANDS[name].module).TOOL
    return tool


def _answer(words: list[str]) -> int:
    if not words or words[0] in {"-h", "--help"}:
        print(_write_help())
        return 0
    if words[0] == "--version":
        print(f"edgewright {VERSION}")
        return 0
    kind = "option" if words[0].startswith("-") else "command"
    raise UsageError(
        f"{kind} '{shown(words[0])}' is unknown, expected one of: {', '.join(COMMANDS)}",
        do=did_you_mean(words[0], [*COMMANDS, "--help", "--version"], "edgewright --help lists the commands"),
    )


def _write_help() -> str:
    width = max(len(name) for name in COMMANDS)
    listed = [f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: edgewright COMMAND [options]",
            "",
            "Bring a trained network to an edge NPU and prove that it arrived intact.",
            "",
            "Commands:",
            *listed,
            "",
            "Start with a model and some of its inputs; a report says what came of it:",
            "  edgewright build model.onnx --data samples/ --target SM8650 -o out/",
            "",
            "The SDK's tools are there, too: qairt-converter, qnn-onnx-converter, qnn-net-run ...",
            "edgewright COMMAND --help describes a command; --version shows the version.",
        ]
    )
