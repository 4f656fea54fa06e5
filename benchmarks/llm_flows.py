"""The chapter's four flows as their tools have them today, and ours, each in a process of its own.

`python -m benchmarks.llm_flows llama SOURCE.gguf OUT.gguf TYPE` is llama.cpp's own, by its library.
"""

import ctypes
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
OURS = "from edgewright.tools.umbrella import main; import sys; sys.exit(main(sys.argv[1:]))"
OPTIMUM = "from optimum.commands.optimum_cli import main; main()"


@dataclass(frozen=True)
class Flow:
    """One way to a file: `command` is what a user types, `words` what is run here."""

    name: str
    precision: str
    command: str
    words: tuple[str, ...]
    output: str


@dataclass(frozen=True)
class Made:
    """What a flow cost."""

    seconds: float
    processor_seconds: float
    peak_mb: float
    problem: str = ""


def list_our_flows(model: Path, calibration: Path | None, folder: Path) -> list[Flow]:
    """Every format in every precision, and the mix of super-blocks that users of llama.cpp know."""
    asked = [
        (kind, precision, ("--to", kind, "--precision", precision))
        for kind in ("gguf", "onnx", "openvino", "mlx")
        for precision in ("int4", "int8", "fp16", "fp32")
    ]
    asked.insert(1, ("gguf", "int4", ("--to", "gguf", "--gguf_type", "q4_k_m")))
    flows = []
    for kind, precision, options in asked:
        name = options[-1]
        output = str(folder / f"ours-{name}{'.gguf' if kind == 'gguf' else '-' + kind}")
        has_text = calibration is not None and precision == "int4"
        text = ("--calib", str(calibration)) if has_text else ()
        words = (sys.executable, "-c", OURS, "llm", "quantize", str(model), *options, *text, "-o", output)
        typed = " ".join(
            ("edgewright llm quantize MODEL", *options, *(("--calib TEXT",) if has_text else ()))
        )
        flows.append(Flow(f"Edgewright, {kind}", precision, typed, words, output))
    return flows


def list_peer_flows(model: Path, folder: Path) -> list[Flow]:
    """The peers' own, at the block of 32 that ours have, and as the chapter types them."""
    return [
        *_list_llama(folder),
        *_list_builder(model, folder),
        *_list_optimum(model, folder),
        *_list_mlx(model, folder),
    ]


def _list_llama(folder: Path) -> list[Flow]:
    source = str(folder / "ours-fp32.gguf")
    return [
        Flow(
            f"llama.cpp {kind}",
            precision,
            f"llama-quantize f32.gguf out.gguf {kind}",
            (
                sys.executable,
                "-m",
                "benchmarks.llm_flows",
                "llama",
                source,
                str(folder / f"{kind}.gguf"),
                kind,
            ),
            str(folder / f"{kind}.gguf"),
        )
        for kind, precision in (("Q4_0", "int4"), ("Q4_K_M", "int4"), ("Q8_0", "int8"))
    ]


def _list_builder(model: Path, folder: Path) -> list[Flow]:
    flows = []
    for precision in ("int4", "int8", "fp32"):
        output, cache = str(folder / f"builder-{precision}"), str(folder / "builder-cache")
        words = ("-i", str(model), "-o", output, "-p", precision, "-e", "cpu", "-c", cache)
        flows.append(
            Flow(
                "onnxruntime-genai builder",
                precision,
                f"python -m onnxruntime_genai.models.builder -i MODEL -o OUT -p {precision} -e cpu",
                (sys.executable, "-m", "onnxruntime_genai.models.builder", *words),
                output,
            )
        )
    return flows


def _list_optimum(model: Path, folder: Path) -> list[Flow]:
    kinds = {
        "g32": (
            "int4",
            ("--weight-format", "int4", "--group-size", "32", "--ratio", "1.0", "--sym", "--all-layers"),
        ),
        "g128": ("int4", ("--weight-format", "int4", "--group-size", "128", "--ratio", "0.6", "--sym")),
        "int8": ("int8", ("--weight-format", "int8")),
    }
    flows = []
    for name, (precision, options) in kinds.items():
        output = str(folder / f"optimum-{name}")
        task = ("--task", "text-generation-with-past")
        flows.append(
            Flow(
                "optimum-intel / NNCF",
                precision,
                f"optimum-cli export openvino --model MODEL {' '.join((*task, *options))} OUT",
                (
                    sys.executable,
                    "-c",
                    OPTIMUM,
                    "export",
                    "openvino",
                    "--model",
                    str(model),
                    *task,
                    *options,
                    output,
                ),
                output,
            )
        )
    return flows


def _list_mlx(model: Path, folder: Path) -> list[Flow]:
    flows = []
    for bits, precision in ((4, "int4"), (8, "int8")):
        output = str(folder / f"mlx-{bits}")
        options = ("-q", "--q-bits", str(bits), "--q-group-size", "32")
        flows.append(
            Flow(
                "mlx_lm convert",
                precision,
                f"python -m mlx_lm convert --hf-path MODEL {' '.join(options)}",
                (
                    sys.executable,
                    "-m",
                    "mlx_lm",
                    "convert",
                    "--hf-path",
                    str(model),
                    "--mlx-path",
                    output,
                    *options,
                ),
                output,
            )
        )
    return flows


def run_flow(flow: Flow) -> Made:
    """Runs it; what it says goes to a file beside its output."""
    start = time.monotonic()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    with Path(f"{flow.output}.log").open("wb") as log:
        child = subprocess.Popen(flow.words, cwd=ROOT, stdout=log, stderr=log, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
    seconds, processor = time.monotonic() - start, usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    lines = Path(f"{flow.output}.log").read_text(errors="replace").strip().splitlines()
    problem = "" if code == 0 else f"exit code {code}: {lines[-1] if lines else ''}"
    return Made(seconds, processor, usage.ru_maxrss / 1024, problem)


def measure_size(path: Path) -> int:
    """Bytes of the weights and the model, without the tokenizer's files."""
    if path.is_file():
        return path.stat().st_size
    names = ("model.onnx", "model.onnx.data", "openvino_model.xml", "openvino_model.bin")
    return sum(
        file.stat().st_size for file in path.iterdir() if file.name in names or file.suffix == ".safetensors"
    )


def quantize_by_llama(source: str, output: str, kind: str) -> None:
    """What llama-quantize does, through the library that llama-cpp-python ships."""
    import llama_cpp

    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    parameters.nthread = 2
    code = llama_cpp.llama_model_quantize(source.encode(), output.encode(), ctypes.byref(parameters))
    if code:
        raise SystemExit(f"llama_model_quantize: {code}")


if __name__ == "__main__":
    quantize_by_llama(*sys.argv[2:5])
