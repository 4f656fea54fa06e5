"""Options about encodings that several tools have."""

from edgewright.config.algorithms import ALGORITHMS
from edgewright.config.declare import opt
from edgewright.config.values import parse_hex_range

_SWITCH = opt(nargs="?", const=True, metavar="[{true,false}]")
PER_CHANNEL = opt(
    like=_SWITCH,
    fills="per_channel",
    help="one encoding for each output channel of convolution weights; replaces those of the model",
)
PER_ROW = opt(
    like=_SWITCH, fills="per_row", help="one encoding for each row of MatMul and FullyConnected weights"
)
RESTRICTED_STEPS = opt(
    fills="steps",
    type=parse_hex_range,
    metavar='"MIN MAX"',
    example='--restrict_quantization_steps "-0x80 0x7F"',
    help="the smallest and the largest step, in hexadecimal, between which encodings are computed",
)
ALGORITHM_NAMES = opt(
    choices=tuple(ALGORITHMS),
    help="corrections of weights, each left out where samples held apart do not gain: "
    + ", ".join(f"{name} ({text})" for name, text in ALGORITHMS.items()),
)
NATIVE_INPUTS = opt(help="calibration files hold the data types of the model, float32 otherwise")
NATIVE_OUTPUTS = opt(help="output files hold the data types of the model, float32 otherwise")
DUMPED_ENCODINGS = opt(help="write the encodings of all tensors to NAME_encoding.json beside the DLC")
