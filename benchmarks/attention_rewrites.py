"""What each rewrite for the HTP does to encoders: python -m benchmarks.attention_rewrites [ENCODER.onnx ...].

A ViT and a Whisper encoder (both small, random weights, made by torch, where it is installed) and encoders of
texts, in w8a16. Each rewrite that changes a graph is left out once: is it still compiled, how far from the
floats is it, what is estimated.
"""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import edgewright as ew
from edgewright.backends.qnn import backend as qnn_backend
from edgewright.core.errors import EdgewrightError
from edgewright.estimate.estimate import estimate_network
from edgewright.estimate.graph_layers import read_graph
from edgewright.passes.pipeline import HTP, run_passes
from edgewright.targets.soc import find_htp_soc

CHIP, PRECISION, SAMPLES, LENGTH = "SM8650", "w8a16", 4, 32


def make_vit() -> tuple[Any, tuple[int, ...]]:
    """Patches of 16 x 16, 4 layers."""
    from torch import nn

    class Vit(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 96, 16, 16)
            self.encoder = nn.TransformerEncoder(_make_layer(96, 3), 4)
            self.head = nn.Linear(96, 100)

        def forward(self, image: Any) -> Any:
            rows = self.patches(image).flatten(2).transpose(1, 2)
            return self.head(self.encoder(rows).mean(1))

    return Vit().eval(), (1, 3, 128, 128)


def make_whisper() -> tuple[Any, tuple[int, ...]]:
    """Two convolutions over time, 4 layers."""
    from torch import nn

    class Whisper(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv1d(80, 96, 3, padding=1)
            self.second = nn.Conv1d(96, 96, 3, stride=2, padding=1)
            self.encoder = nn.TransformerEncoder(_make_layer(96, 3), 4)

        def forward(self, mel: Any) -> Any:
            import torch

            rows = torch.nn.functional.gelu(self.second(torch.nn.functional.gelu(self.first(mel))))
            return self.encoder(rows.transpose(1, 2))

    return Whisper().eval(), (1, 80, 200)


def _make_layer(width: int, heads: int) -> Any:
    from torch import nn

    return nn.TransformerEncoderLayer(
        width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )


def list_models(files: list[str]) -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    """Names, float models and samples."""
    rng = np.random.default_rng(0)
    if importlib.util.find_spec("torch") is not None:
        yield from _list_torch_models(rng)
    for file in files:
        model = ew.convert(file, input_shapes=_choose_shapes(file))
        yield Path(file).stem, model, [_draw(model, rng) for _ in range(SAMPLES)]


def _list_torch_models(rng: np.random.Generator) -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    import torch

    torch.manual_seed(0)
    for name, (module, shape) in (("ViT", make_vit()), ("Whisper encoder", make_whisper())):
        samples = [rng.standard_normal(shape, np.float32) for _ in range(SAMPLES)]
        model = ew.convert(module, example_inputs=(torch.from_numpy(samples[0]),))
        yield name, model, [{model.inputs[0].name: sample} for sample in samples]


def _choose_shapes(file: str) -> dict[str, tuple[int, ...]]:
    """One text of as many tokens as the model takes, or of some."""
    inputs = onnx.load(file, load_external_data=False).graph.input
    sizes = {item.name: [axis.dim_value for axis in item.type.tensor_type.shape.dim] for item in inputs}
    return {name: (1, *(size or LENGTH for size in axes[1:])) for name, axes in sizes.items()}


def _draw(model: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Tokens of which most count, all of one kind."""
    sample = {}
    for item in model.inputs:
        tokens = rng.integers(1, 30, item.shape)
        if "mask" in item.name:
            tokens = (np.arange(item.shape[-1]) < rng.integers(LENGTH // 4, LENGTH)).astype(int)[None]
        sample[item.name] = (tokens * ("type" not in item.name)).astype(np.int64)
    return sample


def measure(name: str, model: Any, samples: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each rewrite that changes the graph."""
    quantized = ew.quantize(model, data=samples, act_bw=16, weight_bw=8)
    wanted = [next(iter(model.run(sample).values())) for sample in samples]
    changes = run_passes(quantized.fixed_graph().copy(), HTP)
    yield f"| {name} | all | {sum(changes.values())} | {_run(quantized, samples, wanted, HTP)} |"
    for rewrite in [rewrite for rewrite, count in changes.items() if count]:
        rest = tuple(other for other in HTP if other != rewrite)
        cells = _run(quantized, samples, wanted, rest)
        yield f"| {name} | without {rewrite} | {changes[rewrite]} | {cells} |"


def _run(quantized: Any, samples: list[dict[str, Any]], wanted: list[Any], passes: tuple[str, ...]) -> str:
    """Decibels on the emulator and the estimate with these rewrites only."""
    kept, qnn_backend.HTP = qnn_backend.HTP, passes
    try:
        prepared = quantized.fixed_graph().copy()
        run_passes(prepared, passes)
        network = read_graph(prepared)
        time = estimate_network(network, find_htp_soc(CHIP), PRECISION).time
        # A model without sessions: each is prepared with the passes of now.
        fresh = type(quantized).of(quantized.fixed_graph())
        found = [next(iter(fresh.run(sample, backend="htp-native").values())) for sample in samples]
        noise = sum(float(((a - b) ** 2).sum()) for a, b in zip(wanted, found, strict=True))
        signal = sum(float((a**2).sum()) for a in wanted)
        return f"{10 * np.log10(signal / max(noise, 1e-30)):.1f} dB | {time}"
    except EdgewrightError as problem:
        return f"refused: {str(problem).splitlines()[0][:80]} | -"
    finally:
        qnn_backend.HTP = kept


def main() -> None:
    """Prints a table."""
    print("| model | rewrites | places | emulator against floats | estimated |\n|---|---|---|---|---|")
    for name, model, samples in list_models(sys.argv[1:]):
        for line in measure(name, model, samples):
            print(line, flush=True)


if __name__ == "__main__":
    main()
