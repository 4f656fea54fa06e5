"""Options about encodings that several tools spell the same way."""

from typing import Any

from edgewright.config.algorithms import ALGORITHMS
from edgewright.config.option import opt
from edgewright.config.values import hex_range, on_off

__all__ = [
    "corrections",
    "dump_encodings",
    "native_inputs",
    "native_outputs",
    "per_channel",
    "per_row",
    "restricted_steps",
]


def per_channel() -> Any:
    """One scale for each channel of convolutions."""
    return _switch(
        "--use_per_channel_quantization",
        "one encoding for each output channel of convolution weights; replaces those of the model",
        fills="per_channel",
    )


def per_row() -> Any:
    """One scale for each row of matrices."""
    return _switch(
        "--use_per_row_quantization",
        "one encoding for each row of MatMul and FullyConnected weights",
        fills="per_row",
    )


def restricted_steps() -> Any:
    """A part of the integers."""
    return opt(
        "--restrict_quantization_steps",
        fills="steps",
        type=hex_range,
        metavar='"MIN MAX"',
        example='--restrict_quantization_steps "-0x80 0x7F"',
        help="the smallest and the largest step, in hexadecimal, between which encodings are computed",
    )


def corrections(*others: str) -> Any:
    """What is done to weights before they are quantized; ``others`` are more spellings of the option."""
    texts = ", ".join(f"{name} ({text})" for name, text in ALGORITHMS.items())
    return opt(
        *("--algorithms", *others),
        nargs="+",
        choices=tuple(ALGORITHMS),
        help=f"corrections of weights, each left out where samples held back do not gain: {texts}",
    )


def native_inputs(*flags: str) -> Any:
    """The types in calibration files."""
    return opt(*flags, nargs=0, help="calibration files hold the data types of the model, float32 otherwise")


def native_outputs(without_effect: str) -> Any:
    """The types in files that a quantizer does not write."""
    return opt(
        "--use_native_output_files",
        nargs=0,
        without_effect=without_effect,
        help="output files hold the data types of the model, float32 otherwise",
    )


def dump_encodings(beside: str) -> Any:
    """A listing, as overrides are written."""
    return opt(
        "--dump_encoding_json",
        nargs=0,
        help=f"write the encodings of all tensors to NAME_encoding.json beside {beside}",
    )


def _switch(flag: str, text: str, fills: str) -> Any:
    values: dict[str, Any] = {"nargs": "?", "const": True, "default": False, "type": on_off}
    return opt(flag, **values, fills=fills, metavar="[{true,false}]", help=text)
