"""Takes one network in one precision all the way: float, simulation, emulator, every artifact and back."""

import math
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.core.numbers import Array
from tests.conformance.network import Network

PRECISIONS: dict[str, dict[str, int]] = {
    "w8a8": {"weight_bw": 8, "act_bw": 8},
    "w8a16": {"weight_bw": 8, "act_bw": 16},
    "fp16": {"float_bw": 16},
}
CALIBRATION, EVALUATION = 24, 12
# What a precision must reach on the emulator for the network to have arrived.
LEAST = {"w8a8": 20.0, "w8a16": 35.0, "fp16": 40.0}
# The simulation may promise so many dB more than the emulator keeps.
MOST_OPTIMISM = 10.0
REFUSED = (3, 4)
Outputs = Mapping[str, Array]


@dataclass(frozen=True)
class Entry:
    """One cell of the table: dB from float, what did not come back from which file, what was said."""

    network: str
    kind: str
    precision: str
    simulation: float = float("nan")
    emulator: float = float("nan")
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str = ""
    crashed: str = ""

    @property
    def verdict(self) -> str:
        """What a user learns of this network, in a word or two."""
        if self.crashed:
            return "crashed"
        if self.refused:
            return "refused"
        if self.lost:
            return "not stored"
        if self.emulator >= LEAST[self.precision]:
            return "right"
        if self.emulator < self.simulation - MOST_OPTIMISM:
            return "wrong"
        figures = [float(figure) for note in self.notes for figure in re.findall(r"(-?\d+\.\d) dB", note)]
        return "poor, said" if min(figures, default=math.inf) < LEAST[self.precision] else "poor"

    @property
    def is_honest(self) -> bool:
        """Whether nothing is wrong without a word."""
        return self.verdict in {"right", "refused", "poor, said"}


def measure(network: Network, precision: str) -> Entry:
    """The entry of a network in a precision; a refusal is an entry, too."""
    about = (network.name, network.kind, precision)
    try:
        return _measure(network, about)
    except EdgewrightError as problem:
        text = str(problem).splitlines()[0]
        is_refusal = problem.exit_code in REFUSED
        return Entry(*about, refused=text if is_refusal else "", crashed="" if is_refusal else text)


def _measure(network: Network, about: tuple[str, str, str]) -> Entry:
    model = convert_network(network)
    names = [item.name for item in model.inputs]
    samples = network.draw_samples(CALIBRATION, EVALUATION)
    feeds = [dict(zip(names, sample, strict=True)) for sample in samples]
    calibration, evaluation = feeds[:CALIBRATION], feeds[CALIBRATION:]
    options = PRECISIONS[about[2]]
    quantized = ew.quantize(model, None if "float_bw" in options else calibration, threads=1, **options)
    expected = [model.run(feed, threads=1) for feed in evaluation]
    simulated = [quantized.run(feed, backend="htp-sim", threads=1) for feed in evaluation]
    emulated = [quantized.run(feed, backend="htp-native") for feed in evaluation]
    return Entry(
        *about,
        simulation=measure_distance(expected, simulated),
        emulator=measure_distance(expected, emulated),
        lost=tuple(list_lost_files(quantized, evaluation[0], simulated[0], emulated[0])),
        notes=tuple(quantized.report.notes),
    )


def convert_network(network: Network) -> ew.Model:
    """The network as a converted model; torch's come through a file of torch.export."""
    made = network.make()
    if hasattr(made, "SerializeToString"):
        return ew.convert(made)
    return _convert_module(made, network)


def _convert_module(module: Any, network: Network) -> ew.Model:
    import torch

    torch.manual_seed(0)
    module = network.make().eval()
    for layer in module.modules():
        if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm):
            layer.running_mean.normal_(0, 0.2)
            layer.running_var.uniform_(0.5, 1.5)
    inputs = tuple(torch.from_numpy(array) for array in network.draw_samples(1, 0)[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{network.name}.pt2"
        torch.export.save(torch.export.export(module, inputs), path)
        return ew.convert(path)


def measure_distance(expected: list[Outputs], computed: list[Outputs]) -> float:
    """Signal over noise of the worst output, in dB; whole numbers count by how many are the same."""
    return min(
        _measure_output([run[name] for run in expected], [run[name] for run in computed])
        for name in expected[0]
    )


def _measure_output(expected: list[Array], computed: list[Array]) -> float:
    wanted, got = np.stack(expected).astype(np.float64), np.stack(computed).astype(np.float64)
    if not np.isfinite(got).all():
        return -np.inf
    signal, noise = float(np.square(wanted).sum()), float(np.square(wanted - got).sum())
    return 150.0 if noise == 0 else min(150.0, 10 * np.log10(max(signal, 1e-30) / noise))


def list_lost_files(
    model: ew.Model, feed: Mapping[str, Array], simulated: Outputs, emulated: Outputs
) -> list[str]:
    """Kinds of files from which the model does not come back with the same outputs."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ways: dict[str, tuple[Callable[[], Outputs], Outputs]] = {
            "net.json": (lambda: _reload(model.save(place / "m.cpp").net_json, feed), simulated),
            "DLC": (lambda: _reload(model.save(place / "m.dlc").dlc, feed), simulated),
            "context": (lambda: dict(ew.compile(model, place / "c.bin").run(feed)), emulated),
        }
        return [
            text for kind, (bring, outputs) in ways.items() if (text := _describe_loss(kind, bring, outputs))
        ]


def _reload(path: Path, feed: Mapping[str, Array]) -> Outputs:
    loaded = ew.load(path)
    names = [item.name for item in loaded.inputs]
    return loaded.run(dict(zip(names, feed.values(), strict=True)), backend="htp-sim", threads=1)


def _describe_loss(kind: str, bring: Callable[[], Outputs], outputs: Outputs) -> str:
    try:
        back = list(bring().values())
    except EdgewrightError as problem:
        return f"{kind}: {str(problem).splitlines()[0]}"
    is_same = all(np.array_equal(a, b) for a, b in zip(back, outputs.values(), strict=True))
    return "" if is_same else f"{kind}: other outputs"
