"""Language models: the chapter's four flows against ours, every file in its own runtime, in one run.

make bench-llm ARGS="--model FOLDER --calib IDS.npy --text IDS.npy [--other BOOK.txt] [--large FOLDER]" writes
docs/llm.md. Only parts that are named (`perplexity other codes greedy time`) are measured anew, and with
`--only WORDS` only rows whose commands hold them; figures are kept in benchmarks/results/llm.json.
`--large` is where half a billion random weights are generated.
"""

import argparse
import json
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.llm_flows import ROOT, Flow, list_our_flows, list_peer_flows, measure_size, run_flow
from benchmarks.llm_tables import write_page

if TYPE_CHECKING:
    from edgewright.llm.evaluate_file import FloatRun

RESULTS = ROOT / "benchmarks" / "results" / "llm.json"
PARTS = ("perplexity", "other", "codes", "greedy", "time")
# Of what MLX computes on a processor with more than 4 bits, which takes long.
FEW_WINDOWS = 20
PACKAGES = (
    "onnxruntime",
    "onnxruntime-genai",
    "openvino",
    "openvino-genai",
    "nncf",
    "optimum-intel",
    "mlx",
    "mlx-lm",
    "llama-cpp-python",
    "torch",
    "transformers",
)


def main() -> None:
    """Measures the parts, keeps the figures, writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--calib", type=Path)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--large", type=Path)
    parser.add_argument("--windows", type=int)
    parser.add_argument("--only", metavar="WORDS", nargs="+", default=[])
    parser.add_argument("--work", type=Path, default=ROOT / "output" / "llm")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    for part in options.parts or PARTS:
        rows = results[part]["rows"] if options.only and part in results else []
        for row in MEASURES[part](options):
            rows = [*(old for old in rows if not options.only or old["command"] != row["command"]), row]
            results[part] = {**_describe_run(part), "rows": rows}
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            write_page(ROOT / "docs" / "llm.md", results)


def _describe_run(part: str) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": f"make bench-llm ARGS='{part} ...'",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
    }


def measure_perplexity(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every flow's file on the text that judges."""
    from edgewright.llm.evaluate_file import evaluate_file

    for flow in _list_flows(options):
        path = Path(flow.output)
        made = None if path.exists() else run_flow(flow)
        row = {"name": flow.name, "precision": flow.precision, "command": flow.command}
        if made is not None and made.problem:
            yield {**row, "problem": made.problem}
            print(flow.name, flow.precision, made.problem, flush=True)
            continue
        is_slow = "mlx" in flow.output and flow.precision != "int4"
        windows = FEW_WINDOWS if is_slow else options.windows
        floats = _run_floats(options.model, options.text, windows)
        score = evaluate_file(path, options.text, against=options.model, windows=windows, floats=floats)
        yield {**row, "bytes": measure_size(path), "score": asdict(score)}
        print(flow.name, flow.precision, score.perplexity, score.increase, flush=True)


def measure_other_text(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The 4-bit files on another book, which did not calibrate."""
    from edgewright.llm.evaluate_file import evaluate_file

    if options.other is None:
        return
    for flow in _list_flows(options):
        if flow.precision != "int4" or not Path(flow.output).exists() or "mlx" in flow.output:
            continue
        floats = _run_floats(options.model, options.other, options.windows)
        score = evaluate_file(
            flow.output, options.other, against=options.model, windows=options.windows, floats=floats
        )
        yield {"name": flow.name, "command": flow.command, "score": asdict(score)}
        print(flow.name, score.perplexity, score.increase, flush=True)


def _list_flows(options: argparse.Namespace) -> list[Flow]:
    ours = list_our_flows(options.model, options.calib, options.work)
    flows = [*ours, *list_peer_flows(options.model, options.work)]
    return [flow for flow in flows if any(words in flow.command for words in options.only or [""])]


@cache
def _run_floats(model: Path, text: Path, windows: int | None) -> "FloatRun":
    """Once for all files."""
    from edgewright.llm.evaluate_file import WINDOW, measure_floats
    from edgewright.llm.forward import cut_windows
    from edgewright.llm.load.checkpoint import Checkpoint
    from edgewright.llm.texts import read_tokens

    checkpoint = Checkpoint(model)
    return measure_floats(checkpoint, cut_windows(read_tokens(model, text), WINDOW, windows))


def measure_codes(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Whether the symmetric 4-bit files hold the same numbers."""
    from benchmarks.llm_codes import compare_files

    return compare_files(options.model, options.work)


def measure_greedy(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Greedy tokens of fp32 files in all runtimes against torch's, on this model and on random ones."""
    from benchmarks.llm_greedy import compare_runtimes

    return compare_runtimes(options.model, options.work)


def measure_time(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Half a billion random weights through our recipes and the peers' tools."""
    from benchmarks.llm_time import time_flows

    return iter(()) if options.large is None else time_flows(options.large, options.calib)


MEASURES: dict[str, Callable[[argparse.Namespace], Iterable[dict[str, Any]]]] = {
    "perplexity": measure_perplexity,
    "other": measure_other_text,
    "codes": measure_codes,
    "greedy": measure_greedy,
    "time": measure_time,
}

if __name__ == "__main__":
    main()
