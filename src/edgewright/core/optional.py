"""The one way to import heavy packages: only when needed, with a message on what to install."""

import importlib
from dataclasses import dataclass
from typing import Any

from edgewright.core.errors import EnvironmentProblem


@dataclass(frozen=True)
class Package:
    """A package that some feature needs: how it is imported, what it is called, what it is for."""

    module: str
    distribution: str
    gives: str
    extra: str | None = None
    minimum: str | None = None


PACKAGES: tuple[Package, ...] = (
    Package("numpy", "numpy", "arrays and the reference meaning of every op", minimum="2"),
    Package("onnx", "onnx", "reading ONNX models", minimum="1.23"),
    Package("onnxruntime", "onnxruntime", "the CPU backend", minimum="1.31"),
    Package("ml_dtypes", "ml_dtypes", "bfloat16, float8 and int4 values"),
    Package("flatbuffers", "flatbuffers", "reading TFLite models and profile logs"),
    Package("yaml", "PyYAML", "custom I/O files"),
    Package("rich", "rich", "progress bars and tables on a terminal"),
    Package("jinja2", "Jinja2", "HTML reports"),
    Package("defusedxml", "defusedxml", "op package configurations"),
    Package("onnxruntime_qnn", "onnxruntime-qnn", "the genuine QNN libraries, HTP included", extra="native"),
    Package("onnxruntime_ep_webgpu", "onnxruntime-ep-webgpu", "the GPU backend", extra="gpu"),
    Package(
        "torch", "torch", "PyTorch models and gradient-based quantization", extra="pytorch", minimum="2.6"
    ),
    Package("transformers", "transformers", "folders of Hugging Face models", extra="huggingface"),
    Package("tensorflow", "tensorflow", "TensorFlow models", extra="tensorflow"),
    Package("ai_edge_litert", "ai-edge-litert", "comparing with LiteRT", extra="tflite"),
    Package("openvino", "openvino", "OpenVINO export of language models", extra="openvino"),
    Package("aimet_onnx", "aimet-onnx", "AIMET quantization", extra="aimet"),
    Package("tokenizers", "tokenizers", "texts for language models", extra="llm"),
    Package("numba", "numba", "quantizing language models ten times as fast", extra="llm"),
    Package("llama_cpp", "llama-cpp-python", "running GGUF files", extra="gguf"),
    Package("mlx", "mlx", "running MLX folders", extra="mlx"),
    Package("mlx_lm", "mlx-lm", "running MLX folders", extra="mlx"),
    Package("openvino_tokenizers", "openvino-tokenizers", "tokenizers as OpenVINO models", extra="genai"),
    Package("PIL", "Pillow", "samples from images", extra="images"),
    Package("jiwer", "jiwer", "errors of words in transcripts", extra="metrics"),
    Package("pycocotools", "pycocotools", "average precision of detectors", extra="metrics"),
    Package("sacrebleu", "sacrebleu", "BLEU of translations", extra="evaluator"),
    Package("scipy", "scipy", "WIDER FACE's annotations", extra="evaluator"),
    Package("sentencepiece", "sentencepiece", "pieces of sentences for translation", extra="evaluator"),
    Package("plotly", "plotly", "plots in reports", extra="plots"),
    Package("distributed", "distributed", "sweeps on a Dask cluster", extra="cluster"),
    Package("fsspec", "fsspec", "results of sweeps in an object store", extra="cluster"),
    Package("matplotlib", "matplotlib", "pictures of tensors", extra="debugger"),
    Package("xlsxwriter", "xlsxwriter", "sheets of compared encodings", extra="debugger"),
)


def require(module: str, to: str) -> Any:
    """Import `module`, or say that it is missing, what it is needed for and how to install it.

    Args:
        module: the dotted name to import, such as "torch" or "onnxruntime.quantization".
        to: what it is needed for, as in "read .pt2 models".
    """
    top = module.split(".", maxsplit=1)[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        # Installed but broken is not absent: it keeps its own message and traceback.
        if missing.name != top:
            raise
        raise EnvironmentProblem(
            f"package '{top}' is not installed; it is needed to {to}", do=install_command(top)
        ) from missing


def install_command(module: str) -> str:
    """The command that installs the package with this import name."""
    for package in PACKAGES:
        if package.module == module:
            return (
                f"pip install {package.distribution if package.extra is None else _find_extra(package.extra)}"
            )
    return f"pip install {module}"


def _find_extra(name: str) -> str:
    # Quoted: brackets are a pattern to some shells.
    return f"'edgewright[{name}]'"
