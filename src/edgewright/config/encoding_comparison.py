"""The options of two features of qnn-accuracy-debugger: comparing encodings, inspecting tensors."""

from dataclasses import dataclass

from edgewright.config.accuracy_debugger import VERIFIER_NAMES
from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup
from edgewright.config.rules import Excludes


@dataclass(frozen=True)
class EncodingInputs(OptionGroup):
    """The two sets of encodings, and what of them is compared."""

    title = "Compare encodings"
    rules = (Excludes("--params_only", "--activations_only"),)

    input: str = opt(metavar="FILE", help="the converted model's _net.json")
    aimet_encodings_json: str = opt(metavar="FILE", help="the encodings of AIMET")
    precision: int = opt(
        default=17, metavar="N", help="decimal places that must agree, as far as float32 has them"
    )
    params_only: bool = opt(help="compare the encodings of parameters only")
    activations_only: bool = opt(help="compare the encodings of activations only")
    specific_node: str | None = opt(metavar="NAME", help="compare the encodings of this tensor only")


@dataclass(frozen=True)
class InspectionInputs(OptionGroup):
    """The two folders of tensors."""

    title = "Tensor inspection"

    golden_data: str = opt(metavar="FOLDER", help="golden tensors, as raw files")
    target_data: str = opt(metavar="FOLDER", help="tensors to inspect, under the same names")
    verifier: tuple[tuple[str, ...], ...] = opt(
        nargs="+",
        type=str,
        repeated=True,
        required=True,
        metavar="VERIFIER[,PARAMETER,VALUE...]",
        example="--verifier rtolatol,rtolmargin,0.01,atolmargin,0.01",
        help=f"how tensors are compared: {', '.join(VERIFIER_NAMES)}; once for each verifier",
    )
    data_type: str = opt(
        choices=("int8", "uint8", "int16", "uint16", "float32"),
        default="float32",
        help="the data type of raw files that nothing describes",
    )
    target_encodings: str | None = opt(
        metavar="FILE", help="encodings, whose ranges are shown beside those of the tensors"
    )
