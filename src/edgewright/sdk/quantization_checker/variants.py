"""The variants of a model: each is quantized once, or taken from an earlier run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from edgewright.artifacts.encodings import load_encodings
from edgewright.backends.executor import CpuExecutor
from edgewright.config.quantization_checker import QuantizationCheckConfig
from edgewright.core.errors import BadInput, Where
from edgewright.frontends.framework import framework_of
from edgewright.ir.graph import Graph
from edgewright.model.model import Model
from edgewright.model.saving import load_graph, save_graph
from edgewright.quantize.executor import Samples
from edgewright.quantize.overrides import KnownEncodings
from edgewright.quantize.quantizer import quantize_graph
from edgewright.quantize.request import QuantizationRequest

UNQUANTIZED = "unquantized"


@dataclass(frozen=True)
class Variant:
    """A quantized graph, and the float graph that its numbers stand for (equalized, where it was)."""

    name: str
    source: Graph
    quantized: Graph
    request: QuantizationRequest
    coverage: str = ""


@dataclass(frozen=True)
class Generator:
    """Quantizes a model in every variant of a configuration, and keeps what it made in a folder."""

    model: Model
    config: QuantizationCheckConfig
    folder: Path
    # The name of the written files.
    stem: str

    def make_request(self, how: str, parts: tuple[str, ...]) -> QuantizationRequest:
        """How a variant is quantized."""
        config = self.config
        is_sliced = "pcq" in parts
        return QuantizationRequest(
            act_bw=config.activation_width,
            weight_bw=config.weight_width,
            bias_bw=config.bias_width,
            act_quantizer=how,
            param_quantizer=how,
            per_channel=is_sliced,
            per_row=is_sliced,
            algorithms=tuple(part for part in parts if part != "pcq"),
            overrides=load_encodings(config.overrides),
        )

    def write_source(self) -> None:
        """The float model, in the folder of its own."""
        save_graph(self.model.fixed_graph(), self.folder / UNQUANTIZED / f"{self.stem}.cpp")

    def make_variant(self, name: str, request: QuantizationRequest, samples: Samples) -> Variant:
        """Quantizes, or reads what an earlier run has written."""
        if self.config.skips_generator:
            return self._read_variant(name, request)
        variant = self.quantize(name, request, samples)
        save_graph(variant.quantized, self.folder / name / f"{self.stem}.cpp")
        if variant.source is not self.model.graph and "cle" in request.algorithms:
            save_graph(variant.source, self.folder / name / f"{self.stem}_float.cpp")
        return variant

    def quantize(self, name: str, request: QuantizationRequest, samples: Samples) -> Variant:
        """One quantization in memory."""
        graph = self.model.fixed_graph()
        known = KnownEncodings((), self.model.source_tensors)
        result = quantize_graph(graph, request, samples, CpuExecutor(), known)
        is_changed = "cle" in request.algorithms
        return Variant(
            name, result.source if is_changed else graph, result.graph, request, result.report.coverage()
        )

    def _read_variant(self, name: str, request: QuantizationRequest) -> Variant:
        place = self.folder / name
        files = {part: place / f"{self.stem}{part}_net.json" for part in ("", "_float")}
        if not files[""].exists():
            raise BadInput(
                f"there is no model of variant '{name}' from an earlier run",
                Where(file=str(files[""])),
                do="leave --skip_generator out once",
            )
        is_changed = "cle" in request.algorithms and files["_float"].exists()
        source = load_graph(files["_float"]) if is_changed else self.model.fixed_graph()
        return Variant(name, source, load_graph(files[""]), request)


def spell_command(config: QuantizationCheckConfig, request: QuantizationRequest) -> str:
    """The converter's command for a variant, as the log has it."""
    words: Mapping[str, object] = {
        "-i": config.model,
        "--input_list": config.input_list,
        "--act_bw": request.act_bw,
        "--weight_bw": request.weight_bw,
        "--bias_bw": request.bias_bw,
        "--act_quantizer": request.act_quantizer,
        "--param_quantizer": request.param_quantizer,
        "--quantization_overrides": config.overrides,
    }
    parts = [f"{flag} {value}" for flag, value in words.items() if value is not None]
    parts += ["--use_per_channel_quantization"] if request.per_channel else []
    parts += [f"--algorithms {' '.join(request.algorithms)}"] if request.algorithms else []
    framework = framework_of(config.model).value.lower()
    return f"qnn-{framework}-converter {' '.join(parts)}"


def widen(request: QuantizationRequest, *, per_channel: bool, bias_bw: int) -> QuantizationRequest:
    """The request of a repair."""
    is_sliced = per_channel or request.per_channel
    return replace(request, per_channel=is_sliced, per_row=is_sliced, bias_bw=bias_bw)
