"""The formats that are fuzzed: sound files to start from, how they are damaged, and what reads them."""

import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from tests.fuzz import mutate
from tests.hostile import config_cases
from tests.hostile.artifacts import SMALL, convert_small, npy, zip_of

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"
LARGEST_SEED = 1 << 15


@dataclass(frozen=True)
class Format:
    """A format: its seeds by name, its damage, and a reader that is given the path of a file."""

    file: str
    seeds: Callable[[], Mapping[str, bytes]]
    change: mutate.Mutate
    read: Callable[[Path], object]


def _seed_onnx() -> dict[str, bytes]:
    from tests.backend.fuzz import models

    return {name: data for name, data in models() if len(data) < LARGEST_SEED}


def _change_onnx(random: Random, data: bytes) -> bytes:
    from tests.backend.mutations import damaged

    return damaged(random, data) if random.random() < 0.7 else mutate.change_message(random, data)


def _seed_tflite() -> dict[str, bytes]:
    from tests.unit.frontends.tflite.cases import float_cases
    from tests.unit.frontends.tflite.flow_cases import flow_cases
    from tests.unit.frontends.tflite.quantized_cases import quantized_cases

    return {case.name: case.data for case in (*float_cases(), *quantized_cases(), *flow_cases())}


def _change_tflite(random: Random, data: bytes) -> bytes:
    """Words of the flatbuffer changed, or another op in its place with operands and options of its own."""
    from edgewright.frontends.tflite.declarations import ARITIES
    from tests.hostile.tflite_cases import BUILTINS, build

    if random.random() < 0.6:
        return mutate.change_bytes(random, data)
    op = random.choice([name for name in ARITIES if name in BUILTINS])
    least, most = ARITIES[op].inputs
    count = random.choice((least, min(most, 6), random.randrange(8)))
    number = random.choice((-1, 0, 1, 2, 3, 7, 1 << 20, (1 << 31) - 1))
    from edgewright.frontends.tflite.options import find_fields

    fields = [name for name, (_, kind, _) in find_fields(op).items() if kind == "i"]
    made = build(
        op, count, max(ARITIES[op].outputs[0], 1), {name: number for name in fields if random.random() < 0.3}
    )
    return mutate.change_bytes(random, made) if random.random() < 0.5 else made


def _seed_tensorflow() -> dict[str, bytes]:
    from tests.hostile.tensorflow_cases import CASES

    cases = np.load(
        Path(__file__).parents[1] / "unit" / "frontends" / "tensorflow" / "cases.npz", allow_pickle=False
    )
    stored = {name: cases[name].tobytes() for name in cases.files if cases[name].dtype == np.uint8}
    hostile = {case.name: case.files["in/m.pb"] for case in CASES[::7]}
    small = {name: data for name, data in {**stored, **hostile}.items() if isinstance(data, bytes)}
    return {name: data for name, data in small.items() if len(data) < LARGEST_SEED}


def _seed_torchscript() -> dict[str, bytes]:
    from tests.unit.frontends.pytorch import hostile

    with tempfile.TemporaryDirectory() as folder:
        codes = ("return torch.add(x, self.w)", "return torch.relu(x)", "return torch.matmul(x, self.w)")
        paths = [
            hostile.write(Path(folder) / f"{number}.pt", code=hostile.make_code(code))
            for number, code in enumerate(codes)
        ]
        return {path.name: path.read_bytes() for path in paths}


def _change_torchscript(name: str) -> mutate.Mutate:
    return mutate.change_text if name.endswith(".py") else mutate.change_bytes


def _import_model(path: Path) -> None:
    """Opened and translated: everything that reads the file, nothing that runs the graph."""
    from edgewright.core.errors import Problems
    from edgewright.frontends.open_source import open_source

    imported = open_source(path).build({})
    if imported.problems:
        raise Problems(imported.problems)


def _import_script(path: Path) -> None:
    """TorchScript does not say the shapes of its inputs."""
    from edgewright.core.errors import Problems
    from edgewright.frontends._common.input_spec import InputSpec
    from edgewright.frontends.open_source import open_source

    imported = open_source(path, InputSpec(input_shapes={"x": (4,)})).build({})
    if imported.problems:
        raise Problems(imported.problems)


def _read_graph(read: Callable[[Path], object]) -> Callable[[Path], None]:
    """A reader of records, and the graph made of them."""

    def whole(path: Path) -> None:
        from edgewright.lower.lift import lift

        record = read(path)
        for graph in getattr(record, "graphs", [record]):
            lift(getattr(graph, "graph", graph))  # type: ignore[arg-type]

    return whole


def _read_net_json(path: Path) -> object:
    from edgewright.artifacts.net_json import reader

    (path.parent / "m.bin").write_bytes(convert_small()["m.bin"])
    return reader.read(path, path.parent / "m.bin")


def _read_dlc(path: Path) -> object:
    from edgewright.artifacts.dlc import reader

    return reader.read(path)


def _read_context(path: Path) -> object:
    from edgewright.artifacts.context import reader

    return reader.read(path)


def _read_weights(path: Path) -> object:
    from edgewright.artifacts.net_json import reader

    (path.parent / "m_net.json").write_bytes(convert_small()["m_net.json"])
    return reader.read(path.parent / "m_net.json", path)


def _read_encodings(path: Path) -> object:
    from edgewright.artifacts.encodings.reader import read_encodings

    return read_encodings(path)


def _read_package(path: Path) -> object:
    from edgewright.artifacts.op_package import reader

    return reader.read(path)


def _read_io_config(path: Path) -> object:
    from edgewright.config.io_config import read_io_config

    return read_io_config(path)


def _read_arrays(path: Path) -> None:
    from edgewright.data.numpy_files import NumpyArchive, read_numpy_array

    if path.suffix == ".npy":
        read_numpy_array(path)
        return
    archive = NumpyArchive(path)
    for name in archive:
        archive[name]


@cache
def _make_graph() -> object:
    from edgewright.frontends.open_source import open_source

    return open_source(SMALL).build({}).graph


def _read_samples(path: Path) -> None:
    """Samples of any kind for a small graph; at most a few are read."""
    from edgewright.data.open_samples import open_samples

    samples = open_samples(_make_graph(), path)  # type: ignore[arg-type]
    for number, _ in zip(range(3), samples, strict=False):
        del number


def _read_input_list(path: Path) -> None:
    (path.parent / "x.raw").write_bytes(bytes(64))
    _read_samples(path)


def _read_labels(path: Path) -> None:
    from edgewright.data.labels import find_labels

    find_labels({}, [], 4, path)  # type: ignore[arg-type]


def _read_image(path: Path) -> None:
    from edgewright.data.images import read_class_map, read_colours

    read_colours(path)
    read_class_map(path)


def _seed_images() -> dict[str, bytes]:
    import io

    from PIL import Image

    made = {}
    for kind in ("PNG", "BMP", "JPEG", "TIFF", "WEBP", "PPM"):
        file = io.BytesIO()
        Image.fromarray(np.arange(64 * 3, dtype=np.uint8).reshape(8, 8, 3)).save(file, kind)
        made[kind] = file.getvalue()
    return made


def _small_file(name: str) -> Callable[[], Mapping[str, bytes]]:
    return lambda: {name: convert_small()[name]}


def _seed_from(cases: list, key: str) -> Callable[[], Mapping[str, bytes]]:
    def seeds() -> dict[str, bytes]:
        found = {}
        for case in cases:
            content = case.files.get(key)
            if isinstance(content, (str, bytes)) and len(content) < LARGEST_SEED:
                found[case.name] = content.encode() if isinstance(content, str) else content
        return found

    return seeds


ARRAY = npy(np.zeros((4, 1, 4, 4), np.float32))
FORMATS: dict[str, Format] = {
    "onnx": Format("m.onnx", _seed_onnx, _change_onnx, _import_model),
    "tflite": Format("m.tflite", _seed_tflite, _change_tflite, _import_model),
    "tensorflow": Format("m.pb", _seed_tensorflow, mutate.change_message, _import_model),
    "torchscript": Format("m.pt", _seed_torchscript, mutate.change_zip(_change_torchscript), _import_script),
    "net_json": Format(
        "m_net.json", _small_file("m_net.json"), mutate.change_json, _read_graph(_read_net_json)
    ),
    "model_bin": Format("m.bin", _small_file("m.bin"), mutate.change_tar, _read_weights),
    "dlc": Format(
        "m.dlc",
        _small_file("m.dlc"),
        mutate.change_zip(lambda _: mutate.change_bytes),
        _read_graph(_read_dlc),
    ),
    "context": Format("m.bin", _small_file("context.bin"), mutate.change_context, _read_graph(_read_context)),
    "encodings": Format(
        "e.json", _seed_from(config_cases.CASES, "in/e.json"), mutate.change_json, _read_encodings
    ),
    "op_package": Format(
        "p.xml", _seed_from(config_cases.CASES, "in/p.xml"), mutate.change_xml, _read_package
    ),
    "io_config": Format(
        "io.yaml", _seed_from(config_cases.CASES, "in/io.yaml"), mutate.change_text, _read_io_config
    ),
    "npy": Format("x.npy", lambda: {"array": ARRAY}, mutate.change_npy, _read_samples),
    "npz": Format(
        "x.npz",
        lambda: {"archive": zip_of(("x.npy", ARRAY))},
        mutate.change_zip(lambda _: mutate.change_npy, zipfile.ZIP_DEFLATED),
        _read_samples,
    ),
    "input_list": Format(
        "list.txt", lambda: {"list": b"x.raw\nx:=x.raw\n"}, mutate.change_text, _read_input_list
    ),
    "csv": Format(
        "x.csv",
        lambda: {"table": b",".join([b"1"] * 16) + b"\n" + b",".join([b"0.5"] * 16) + b"\n"},
        mutate.change_text,
        _read_samples,
    ),
    "labels": Format(
        "y.txt",
        lambda: {"numbers": b"1\n2\n3\n4\n", "texts": b"a\nb\nc\nd\n"},
        mutate.change_text,
        _read_labels,
    ),
    "image": Format("x.png", _seed_images, mutate.change_bytes, _read_image),
}
