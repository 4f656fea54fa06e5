"""Keras layers, each in one or more small models, and the architectures of keras.applications."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

IMAGE, ROWS, VOLUME, VECTOR, CLIP = (9, 8, 6), (7, 6), (5, 6, 5, 4), (6,), (4, 7, 6, 3)
# Layers that a model file cannot hold, or that Keras builds others from, and why they are not tried.
LEFT_OUT = {
    "TFSMLayer": "wraps a SavedModel",
    "FlaxLayer": "wraps another framework",
    "JaxLayer": "wraps another framework",
    "TorchModuleWrapper": "wraps another framework",
    "InputLayer": "is every model's input",
    "Layer": "is the base class",
    "Wrapper": "is a base class",
    "Lambda": "is any Python function",
    "Pipeline": "is a list of other layers",
    "MaxNumBoundingBoxes": "takes boxes, not tensors",
    "RNN": "runs one of the cells, which are tried in it",
}
# Layers that take texts or look words up; what they give is no tensor that a network computes.
TEXTS = ("HashedCrossing", "Hashing", "StringLookup", "TextVectorization", "IntegerLookup")
# Augmentation: at inference their output is their input.
AUGMENTATION = (
    *("AugMix", "CutMix", "MixUp", "RandAugment", "RandomErasing", "RandomFlip", "RandomGrayscale"),
    *("RandomGaussianBlur", "RandomInvert", "RandomPerspective", "RandomElasticTransform"),
)
# Augmentation that is told how strong it is.
AUGMENTATION_BY = (
    *("RandomBrightness", "RandomColorDegeneration", "RandomContrast", "RandomHue"),
    *("RandomRotation", "RandomSaturation", "RandomSharpness", "RandomShear", "RandomZoom"),
)


AUGMENTATIONS = (*AUGMENTATION, *AUGMENTATION_BY, "RandomColorJitter", "RandomCrop", "RandomTranslation")
AUGMENTATIONS += ("RandomPosterization", "Solarization", "AutoContrast", "Equalization")


@dataclass(frozen=True)
class Case:
    """One small model: which layer it is about, how it is made, and the shapes of its inputs."""

    layer: str
    variant: str
    build: Callable[[Any], Any]
    shapes: tuple[tuple[int, ...], ...]
    # Integers below this number; real numbers where it is 0.
    classes: int = 0
    # Of the range of an output.
    tolerance: float = 1e-4


def list_cases() -> Iterator[Case]:
    """Every case."""
    for layer, shape, variants in _PLAIN:
        for options in variants:
            yield _make_case(layer, shape, options)
    for name in AUGMENTATION:
        yield _make_case(name, (*IMAGE[:2], 3), {})
    for name in AUGMENTATION_BY:
        yield Case(name, "", lambda k, name=name: getattr(k.layers, name)(0.3), ((*IMAGE[:2], 3),))
    yield Case("RandomPosterization", "", lambda k: k.layers.RandomPosterization(4), ((*IMAGE[:2], 3),))
    for name in ("Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract", "Concatenate"):
        yield Case(name, "", lambda k, name=name: getattr(k.layers, name)(), (ROWS, ROWS))
    for name in ("Attention", "AdditiveAttention"):
        yield Case(name, "", lambda k, name=name: getattr(k.layers, name)(), (ROWS, ROWS))
    yield from _OTHERS


def _make_case(layer: str, shape: tuple[int, ...], options: dict[str, Any]) -> Case:
    words = ", ".join(f"{key}={value}" for key, value in options.items())
    return Case(layer, words, lambda k: getattr(k.layers, layer)(**options), (shape,))


def _list_convolutions() -> Iterator[tuple[str, tuple[int, ...], list[dict[str, Any]]]]:
    for rank, shape in ((1, ROWS), (2, IMAGE), (3, VOLUME)):
        same = {"padding": "same", "activation": "relu"}
        plain = [{"filters": 4, "kernel_size": 3}, {"filters": 4, "kernel_size": 3, "strides": 2, **same}]
        wide = {"filters": 4, "kernel_size": 3, "dilation_rate": 2, "padding": "same"}
        grouped = {"filters": 4, "kernel_size": 3, "groups": 2}
        yield f"Conv{rank}D", shape, [*plain, wide, *([grouped] if rank < 3 else [])]
        yield f"Conv{rank}DTranspose", shape, plain
        if rank < 3:
            deep = {"kernel_size": 3, "depth_multiplier": 2}
            yield f"DepthwiseConv{rank}D", shape, [{"kernel_size": 3, "padding": "same"}, deep]
            yield f"SeparableConv{rank}D", shape, [{"filters": 4, "kernel_size": 3, "depth_multiplier": 2}]
        for kind in ("Average", "Max"):
            sizes = [{"pool_size": 2}, {"pool_size": 3, "strides": 2, "padding": "same"}]
            yield f"{kind}Pooling{rank}D", shape, sizes
            yield f"Global{kind}Pooling{rank}D", shape, [{}, {"keepdims": True}]
            yield f"Adaptive{kind}Pooling{rank}D", shape, [{"output_size": 2}, {"output_size": 3}]
        yield f"Cropping{rank}D", shape, [{"cropping": 1}]
        yield f"UpSampling{rank}D", shape, [{"size": 2}]
        yield f"ZeroPadding{rank}D", shape, [{"padding": 2}]
        yield f"SpatialDropout{rank}D", shape, [{"rate": 0.5}]


_GATED = [{"units": 5}, {"units": 5, "return_sequences": True, "go_backwards": True}]
_PLAIN: list[tuple[str, tuple[int, ...], list[dict[str, Any]]]] = [
    *_list_convolutions(),
    (
        "Activation",
        VECTOR,
        [
            {"activation": name}
            for name in (
                *("relu", "relu6", "sigmoid", "tanh", "softmax", "softplus", "softsign", "selu", "elu"),
                *("gelu", "silu", "hard_sigmoid", "hard_silu", "mish", "exponential", "log_sigmoid", "celu"),
                *("leaky_relu", "hard_tanh", "hard_shrink", "soft_shrink", "tanh_shrink", "squareplus"),
                *("glu", "log_softmax", "sparse_plus", "sparse_sigmoid", "sparsemax"),
            )
        ],
    ),
    ("ELU", IMAGE, [{}, {"alpha": 0.5}]),
    ("LeakyReLU", IMAGE, [{}]),
    ("PReLU", IMAGE, [{}, {"shared_axes": [1, 2]}]),
    ("ReLU", IMAGE, [{}, {"max_value": 1.0, "negative_slope": 0.1, "threshold": 0.2}]),
    ("Softmax", IMAGE, [{}, {"axis": 1}]),
    ("Dense", ROWS, [{"units": 5}, {"units": 5, "use_bias": False, "activation": "gelu"}]),
    ("EinsumDense", ROWS, [{"equation": "abc,cd->abd", "output_shape": (None, 5), "bias_axes": "d"}]),
    ("Identity", ROWS, [{}]),
    ("Masking", ROWS, [{}]),
    ("BatchNormalization", IMAGE, [{}, {"axis": 1}]),
    ("GroupNormalization", IMAGE, [{"groups": 3}]),
    ("LayerNormalization", IMAGE, [{}, {"axis": [1, 2, 3]}]),
    ("RMSNormalization", ROWS, [{}]),
    ("UnitNormalization", ROWS, [{}]),
    ("CenterCrop", IMAGE, [{"height": 4, "width": 5}]),
    ("Resizing", IMAGE, [{"height": 5, "width": 13}, {"height": 5, "width": 13, "interpolation": "nearest"}]),
    ("UpSampling2D", IMAGE, [{"size": (2, 3), "interpolation": "bilinear"}]),
    ("Rescaling", IMAGE, [{"scale": 1 / 255, "offset": -0.5}]),
    ("Normalization", IMAGE, [{"mean": 0.3, "variance": 2.0}]),
    ("Discretization", VECTOR, [{"bin_boundaries": [-0.5, 0.0, 0.7]}]),
    ("MelSpectrogram", (4000,), [{"fft_length": 256, "sequence_stride": 128, "num_mel_bins": 20}]),
    (
        "STFTSpectrogram",
        (400, 1),
        [{"mode": mode, "frame_length": 64, "frame_step": 32} for mode in ("magnitude", "log", "psd")],
    ),
    ("AutoContrast", (*IMAGE[:2], 3), [{}]),
    ("Equalization", (*IMAGE[:2], 3), [{}]),
    ("ContrastLimitedAdaptiveHistogramEqualization", (16, 16, 3), [{}]),
    ("Solarization", (*IMAGE[:2], 3), [{}]),
    ("RandomColorJitter", (*IMAGE[:2], 3), [{}]),
    ("RandomCrop", IMAGE, [{"height": 4, "width": 5}]),
    ("RandomTranslation", (*IMAGE[:2], 3), [{"height_factor": 0.2, "width_factor": 0.2}]),
    ("ActivityRegularization", ROWS, [{}]),
    ("AlphaDropout", ROWS, [{"rate": 0.5}]),
    ("Dropout", ROWS, [{"rate": 0.5}]),
    ("GaussianDropout", ROWS, [{"rate": 0.5}]),
    ("GaussianNoise", ROWS, [{"stddev": 0.5}]),
    ("Flatten", IMAGE, [{}, {"data_format": "channels_first"}]),
    ("Permute", IMAGE, [{"dims": (3, 1, 2)}]),
    ("RepeatVector", VECTOR, [{"n": 3}]),
    ("Reshape", IMAGE, [{"target_shape": (6, -1)}]),
    ("GRU", ROWS, [*_GATED, {"units": 5, "reset_after": False}, {"units": 5, "unroll": True}]),
    (
        "LSTM",
        ROWS,
        [*_GATED, {"units": 5, "unroll": True}, {"units": 5, "recurrent_activation": "hard_sigmoid"}],
    ),
    ("SimpleRNN", ROWS, _GATED),
    ("ConvLSTM1D", (4, 7, 3), [{"filters": 2, "kernel_size": 3, "padding": "same"}]),
    ("ConvLSTM2D", CLIP, [{"filters": 2, "kernel_size": 3}]),
    ("ConvLSTM3D", (3, 4, 5, 4, 2), [{"filters": 2, "kernel_size": 2}]),
]


def _attend(k: Any, name: str, **options: Any) -> Callable[..., Any]:
    layer = getattr(k.layers, name)(**options)

    def attend(query: Any, value: Any) -> Any:
        return layer(query, value)

    return attend


def _look_up(k: Any) -> Any:
    return k.layers.Embedding(11, 5)


def _encode(k: Any, mode: str) -> Any:
    return k.layers.CategoryEncoding(num_tokens=4, output_mode=mode)


def _mask_words(k: Any) -> Any:
    return k.Sequential([k.layers.Embedding(11, 5, mask_zero=True), k.layers.LSTM(4)])


_OTHERS = [
    # TensorFlow takes the filter from a table of 1,024 steps.
    Case(
        "Resizing",
        "bicubic",
        lambda k: k.layers.Resizing(12, 7, interpolation="bicubic"),
        (IMAGE,),
        tolerance=1e-3,
    ),
    Case("Dot", "axes=2", lambda k: k.layers.Dot(2), (ROWS, ROWS)),
    Case("Dot", "normalize", lambda k: k.layers.Dot(1, normalize=True), (VECTOR, VECTOR)),
    Case("Concatenate", "axis=1", lambda k: k.layers.Concatenate(1), (ROWS, ROWS)),
    Case(
        "MultiHeadAttention",
        "",
        lambda k: _attend(k, "MultiHeadAttention", num_heads=2, key_dim=4),
        (ROWS, ROWS),
    ),
    Case(
        "GroupQueryAttention",
        "",
        lambda k: _attend(k, "GroupQueryAttention", head_dim=4, num_query_heads=4, num_key_value_heads=2),
        (ROWS, ROWS),
    ),
    Case("Embedding", "", _look_up, ((7,),), 11),
    Case("Embedding", "mask_zero, LSTM", _mask_words, ((7,),), 11),
    Case("ReversibleEmbedding", "", lambda k: k.layers.ReversibleEmbedding(11, 5), ((7,),), 11),
    Case("CategoryEncoding", "one_hot", lambda k: _encode(k, "one_hot"), ((1,),), 4),
    Case("CategoryEncoding", "multi_hot", lambda k: _encode(k, "multi_hot"), ((3,),), 4),
    Case("CategoryEncoding", "count", lambda k: _encode(k, "count"), ((3,),), 4),
    Case(
        "SpectralNormalization", "Dense", lambda k: k.layers.SpectralNormalization(k.layers.Dense(5)), (ROWS,)
    ),
    Case("TimeDistributed", "Dense", lambda k: k.layers.TimeDistributed(k.layers.Dense(5)), (ROWS,)),
    Case("TimeDistributed", "Conv2D", lambda k: k.layers.TimeDistributed(k.layers.Conv2D(2, 3)), (CLIP,)),
    Case("Bidirectional", "LSTM", lambda k: k.layers.Bidirectional(k.layers.LSTM(4)), (ROWS,)),
    Case(
        "Bidirectional",
        "GRU, sum",
        lambda k: k.layers.Bidirectional(k.layers.GRU(4, return_sequences=True), merge_mode="sum"),
        (ROWS,),
    ),
    *(
        Case(name, "in RNN", lambda k, name=name: k.layers.RNN(getattr(k.layers, name)(4)), (ROWS,))
        for name in ("GRUCell", "LSTMCell", "SimpleRNNCell")
    ),
    Case(
        "StackedRNNCells",
        "in RNN",
        lambda k: k.layers.RNN(k.layers.StackedRNNCells([k.layers.LSTMCell(4), k.layers.GRUCell(3)])),
        (ROWS,),
    ),
]


# The smallest of each family; the others repeat its blocks.
ARCHITECTURES = {
    "MobileNet": 96,
    "MobileNetV2": 96,
    "MobileNetV3Small": 96,
    "MobileNetV3Large": 96,
    "EfficientNetB0": 96,
    "EfficientNetV2B0": 96,
    "NASNetMobile": 224,
    "DenseNet121": 64,
    "ResNet50": 64,
    "ResNet50V2": 64,
    "ConvNeXtTiny": 64,
    "InceptionV3": 96,
    "InceptionResNetV2": 96,
    "Xception": 96,
    "VGG16": 48,
    "VGG19": 48,
}
