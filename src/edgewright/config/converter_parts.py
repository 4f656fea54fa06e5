"""Groups of options that the legacy converters and the qairt tools have alike."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Excludes
from edgewright.config.values import OneOf, parse_names, parse_package_name

LAYOUTS = ("NCDHW", "NDHWC", "NCHW", "NHWC", "NFC", "NCF", "NTF", "TNF", "NF", "NC", "F", "NONTRIVIAL")
COLOUR_ENCODINGS = ("bgr", "rgb", "rgba", "argb32", "nv21", "nv12", "time_series", "other")
DTYPES = (
    *("float32", "float16", "float64", "bool"),
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)

CPP_FILE = opt(
    also="-o",
    metavar="FILE",
    help="the C++ file to write, its .bin and _net.json beside it; named after the source otherwise",
)
OUT_NAMES = opt(
    fills="outputs",
    repeated=True,
    metavar="NAME",
    help="a tensor that becomes an output of the converted model, in place of the outputs of the source; "
    "give it once for each output",
)
INPUT_DTYPES = opt(keyed=True, type=(str, OneOf(DTYPES)), metavar=("NAME", "DTYPE"))
INPUT_LAYOUTS = opt(keyed=True, type=(str, OneOf(LAYOUTS)), metavar=("NAME", "LAYOUT"))
COLOURS = opt(
    fills="input_encodings",
    nargs=(2, 3),
    keyed=True,
    type=(str, OneOf(COLOUR_ENCODINGS)),
    metavar=("NAME", "IN", "[OUT]"),
    help=f"the colour encoding of an input, and the one the model wants: {', '.join(COLOUR_ENCODINGS)}; "
    "both are bgr where nothing is said",
)
UNUSED_NODES = opt(help="list the nodes that the outputs do not depend on")
SAVED_MODEL_TAG = opt(
    fills="tag", metavar="TAG", help="the tag of a graph in a SavedModel, 'serve' where nothing is said"
)
SIGNATURE_KEY = opt(
    fills="signature",
    metavar="KEY",
    help="the signature that names inputs and outputs, 'serving_default' where nothing is said",
)
SUBGRAPH_SIGNATURE = opt(
    fills="signature",
    metavar="NAME",
    help="the signature whose subgraph is converted, the first where nothing is said",
)


@dataclass(frozen=True)
class OpPackages(OptionGroup):
    """Ops that are not QNN's own."""

    title = "Op packages"
    rules = (Excludes("--package_name", "--op_package_config"),)

    converter_op_package_lib: tuple[str, ...] | None = opt(
        also="-cpl",
        type=parse_names,
        metavar="LIB",
        help="libraries that give output shapes and data types of custom ops, in the order of the XML files; "
        "a .py file registers functions",
    )
    package_name: str | None = opt(
        type=parse_package_name,
        also="-p",
        metavar="NAME",
        help="the package of every op in the model, QNN's own by default",
    )
    op_package_config: tuple[str, ...] = opt(
        also="-opc", metavar="FILE", help="XML files that describe custom ops"
    )
