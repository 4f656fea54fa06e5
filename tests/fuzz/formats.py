"""The formats that are fuzzed: sound files to start from, how they are damaged, and what reads them."""

import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from edgewright.core.errors import EdgewrightError, Problems
from tests.fuzz import job_formats, mutate, seeds
from tests.fuzz.format import Format, lay_beside
from tests.hostile.artifacts import SMALL, convert_small

BOXED_IMAGES = 4


def _change_onnx(random: Random, data: bytes) -> bytes:
    from tests.backend.mutations import damaged

    return damaged(random, data) if random.random() < 0.7 else mutate.change_message(random, data)


def _change_tflite(random: Random, data: bytes) -> bytes:
    """Words of the flatbuffer changed, or another op in its place with operands and options of its own."""
    from edgewright.frontends.tflite.declarations import ARITIES
    from edgewright.frontends.tflite.options import find_fields
    from tests.hostile.tflite_cases import BUILTINS, build

    if random.random() < 0.6:
        return mutate.change_bytes(random, data)
    op = random.choice([name for name in ARITIES if name in BUILTINS])
    least, most = ARITIES[op].inputs
    count = random.choice((least, min(most, 6), random.randrange(8)))
    number = random.choice((-1, 0, 1, 2, 3, 7, 1 << 20, (1 << 31) - 1))
    fields = [name for name, (_, kind, _) in find_fields(op).items() if kind == "i"]
    options = {name: number for name in fields if random.random() < 0.3}
    made = build(op, count, max(ARITIES[op].outputs[0], 1), options)
    return mutate.change_bytes(random, made) if random.random() < 0.5 else made


def _choose_torch_damage(name: str) -> mutate.Mutate:
    by_ending = {".py": mutate.change_text, ".json": mutate.change_json}
    return by_ending.get(Path(name).suffix, mutate.change_bytes)


def _import_model(path: Path, **spec: Any) -> None:
    """Opened and translated: everything that reads the file, nothing that runs the graph."""
    from edgewright.frontends._common.input_spec import InputSpec
    from edgewright.frontends.open_source import open_source

    imported = open_source(path, InputSpec(**spec)).build({})
    if imported.problems:
        raise Problems(imported.problems)


def _import_script(path: Path) -> None:
    """TorchScript does not say the shapes of its inputs."""
    _import_model(path, input_shapes={"x": (4,)})


def _convert_whole(path: Path) -> None:
    """From the model to its files: passes, lowering and writing too."""
    from edgewright.api.convert import convert

    out = path.parent / "out"
    try:
        convert(path).save(out / "m.dlc")
    except EdgewrightError:
        if out.exists():
            raise AssertionError(f"a failed run left {list(out.iterdir())}") from None
        raise
    finally:
        _remove_folder(out)


def _remove_folder(folder: Path) -> None:
    """By whole paths: the guard cannot tell where `shutil.rmtree` is, which names what it removes alone."""
    for path in folder.iterdir() if folder.exists() else ():
        path.unlink()
    if folder.exists():
        folder.rmdir()


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

    return reader.read(path, lay_beside(path, "m.bin", convert_small()["m.bin"]))


def _read_dlc(path: Path) -> object:
    from edgewright.artifacts.dlc import reader

    return reader.read(path)


def _read_context(path: Path) -> object:
    from edgewright.artifacts.context import reader

    return reader.read(path)


def _read_weights(path: Path) -> object:
    from edgewright.artifacts.net_json import reader

    return reader.read(lay_beside(path, "m_net.json", convert_small()["m_net.json"]), path)


def _read_encodings(path: Path) -> object:
    from edgewright.artifacts.encodings.reader import read_encodings

    return read_encodings(path)


def _read_package(path: Path) -> object:
    from edgewright.artifacts.op_package import reader

    return reader.read(path)


def _read_io_config(path: Path) -> object:
    from edgewright.config.io_config import read_io_config

    return read_io_config(path)


def _read_custom_io(path: Path) -> object:
    from edgewright.config.custom_io import read_custom_io

    return read_custom_io(path)


def _read_evaluation(path: Path) -> object:
    from edgewright.config.model_config import read_model_config

    return read_model_config(path)


def _read_throughput(path: Path) -> object:
    from edgewright.sdk.throughput.case_run import read_case

    return read_case(path)


def _read_bench(path: Path) -> object:
    from edgewright.config.bench import BenchFiles, BenchRuns, parse_bench_case
    from edgewright.run.context.config import read_json

    files = BenchFiles(config_file=str(path))
    return parse_bench_case(read_json(path), str(path), files, BenchRuns())


def _read_backend_config(path: Path) -> object:
    from edgewright.run.context.config import find_target, read_backend_config

    return find_target(None, read_backend_config(str(path), "htp"))


def _read_checkpoint(path: Path) -> None:
    """A folder of a language model, one file of it damaged, or a GGUF file."""
    from edgewright.llm.load.checkpoint import Checkpoint
    from edgewright.llm.load.vocabulary import read_vocabulary

    for name, content in seeds.read_tiny_checkpoint().items() if path.suffix != ".gguf" else ():
        lay_beside(path, name, content)
    opened = Checkpoint(path if path.suffix == ".gguf" else path.parent)
    read_vocabulary(opened.folder, opened.spec.vocabulary)
    for name in opened.tensors:
        opened.read(name)


@cache
def _make_graph() -> Any:
    from edgewright.frontends.open_source import open_source

    return open_source(SMALL).build({}).graph


@cache
def _make_flat_graph() -> Any:
    from edgewright.frontends.open_source import open_source
    from tests.hostile.onnx_cases import SOUND, info

    flat = type(SOUND)()
    flat.CopyFrom(SOUND)
    flat.graph.input[0].CopyFrom(info("x", (1, 32)))
    return open_source(flat.SerializeToString()).build({}).graph


def _read_samples(path: Path) -> None:
    """Samples of any kind for a small graph; at most a few are read."""
    from edgewright.data.open_samples import open_samples

    graph = _make_flat_graph() if path.suffix == ".wav" else _make_graph()
    for number, _ in zip(range(3), open_samples(graph, path), strict=False):
        del number


def _read_input_list(path: Path) -> None:
    lay_beside(path, "x.raw", bytes(64))
    _read_samples(path)


def _read_labels(path: Path) -> None:
    from edgewright.data.labels import find_labels

    find_labels({}, [], BOXED_IMAGES, path)  # type: ignore[arg-type]


def _read_boxes(path: Path) -> None:
    from edgewright.data.coco_labels import read_coco_boxes

    read_coco_boxes(path, [Path(f"{number}.png") for number in range(BOXED_IMAGES)], BOXED_IMAGES)


def _read_image(path: Path) -> None:
    """As a map of classes, which few images are, and as a sample."""
    from edgewright.data.images import read_class_map, read_colours

    with suppress(EdgewrightError):
        read_class_map(path)
    read_colours(path)


_PACKED = zipfile.ZIP_DEFLATED
FORMATS: dict[str, Format] = {
    "onnx": Format("m.onnx", seeds.list_onnx, _change_onnx, _import_model),
    "tflite": Format("m.tflite", seeds.list_tflite, _change_tflite, _import_model),
    "tensorflow": Format("m.pb", seeds.list_tensorflow, mutate.change_message, _import_model),
    "torchscript": Format(
        "m.pt", seeds.list_torchscript, mutate.change_zip(_choose_torch_damage), _import_script, True
    ),
    "torch_export": Format(
        "m.pt2", seeds.list_exported, mutate.change_zip(_choose_torch_damage), _import_model, True
    ),
    "onnx_to_dlc": Format("m.onnx", seeds.list_onnx, _change_onnx, _convert_whole),
    "tflite_to_dlc": Format("m.tflite", seeds.list_tflite, _change_tflite, _convert_whole),
    "tensorflow_to_dlc": Format("m.pb", seeds.list_tensorflow, mutate.change_message, _convert_whole),
    "net_json": Format(
        "m_net.json", seeds.list_converted("_net.json"), mutate.change_json, _read_graph(_read_net_json)
    ),
    "model_bin": Format("m.bin", seeds.list_converted("m.bin"), mutate.change_tar, _read_weights),
    "dlc": Format(
        "m.dlc",
        seeds.list_converted(".dlc"),
        mutate.change_zip(lambda _: mutate.change_bytes),
        _read_graph(_read_dlc),
    ),
    "context": Format(
        "m.bin", seeds.list_converted("context.bin"), mutate.change_context, _read_graph(_read_context)
    ),
    "encodings": Format("e.json", seeds.list_encodings, mutate.change_json, _read_encodings),
    "op_package": Format("p.xml", seeds.list_packages, mutate.change_xml, _read_package),
    "io_config": Format("io.yaml", seeds.list_io_configs, mutate.change_text, _read_io_config),
    "custom_io": Format("io.yaml", lambda: {"sound": seeds.CUSTOM_IO}, mutate.change_text, _read_custom_io),
    "evaluation": Format(
        "c.yaml",
        seeds.list_sdk_files(
            "qnn_raw_inputs_config.yaml", "qnn_classification_config.yaml", "qnn_detection_config.yaml"
        ),
        mutate.change_text,
        _read_evaluation,
    ),
    "throughput": Format(
        "c.json", seeds.list_sdk_files("throughput_example.json"), mutate.change_json, _read_throughput
    ),
    "bench": Format("c.json", seeds.list_sdk_files("bench_example.json"), mutate.change_json, _read_bench),
    "backend_config": Format("c.json", seeds.list_backend_configs, mutate.change_json, _read_backend_config),
    "gguf": Format("m.gguf", seeds.list_gguf, mutate.change_head, _read_checkpoint),
    "safetensors": Format(
        "model.safetensors",
        seeds.list_checkpoint("model.safetensors"),
        mutate.change_safetensors,
        _read_checkpoint,
    ),
    "llm_config": Format(
        "config.json", seeds.list_checkpoint("config.json"), mutate.change_json, _read_checkpoint
    ),
    "tokenizer": Format(
        "tokenizer.json", seeds.list_checkpoint("tokenizer.json"), mutate.change_json, _read_checkpoint
    ),
    "npy": Format("x.npy", seeds.list_arrays, mutate.change_npy, _read_samples),
    "npz": Format(
        "x.npz", seeds.list_archives, mutate.change_zip(lambda _: mutate.change_npy, _PACKED), _read_samples
    ),
    "input_list": Format(
        "list.txt", lambda: {"list": b"x.raw\nx:=x.raw\n"}, mutate.change_text, _read_input_list
    ),
    "csv": Format(
        "x.csv",
        lambda: {"table": b",".join([b"1"] * 16) + b"\n" + b",".join([b"0.5"] * 16) + b"\n"},
        mutate.change_table,
        _read_samples,
    ),
    "labels": Format(
        "y.txt",
        lambda: {"numbers": b"1\n2\n3\n4\n", "texts": b"a\nb\nc\nd\n"},
        mutate.change_text,
        _read_labels,
    ),
    "boxes": Format("y.json", seeds.list_boxes, mutate.change_json, _read_boxes),
    "image": Format("x.png", seeds.list_images, mutate.change_bytes, _read_image),
    "sound": Format("x.wav", seeds.list_sounds, mutate.change_bytes, _read_samples),
    **job_formats.FORMATS,
}
