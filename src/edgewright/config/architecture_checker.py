"""The options of qnn-architecture-checker."""

from dataclasses import dataclass

from edgewright.config.declare import opt
from edgewright.config.group import OptionGroup

SHOW, ALL, APPLY = "show", "all", "apply="


def _parse_query(text: str) -> str:
    is_list = text.startswith(APPLY) and all(text.removeprefix(APPLY).split(","))
    if text not in {SHOW, ALL} and not is_list:
        raise ValueError("show, all or apply=RULE,RULE")
    return text


@dataclass(frozen=True)
class CheckedModel(OptionGroup):
    """The model, and what is done with it."""

    title = "Architecture check"

    input_json: str = opt("-i", "--input_json", metavar="FILE", help="the _net.json of a converted model")
    bin: str | None = opt(
        "-b", "--bin", metavar="FILE", help="its weights; without it, the file that the JSON names beside it"
    )
    output_path: str | None = opt(
        "-o",
        "--output_path",
        metavar="FOLDER",
        help="the folder of MODEL_architecture_checker.csv and of a modified model; the JSON's without it",
    )
    modify: str | None = opt(
        "-m",
        "--modify",
        nargs="?",
        const=SHOW,
        type=_parse_query,
        metavar="[{show,all,apply=RULE,...}]",
        example="--modify apply=prelu,elwisediv",
        help="show what could be modified (also without a value), apply all of it, or that of some rules; "
        "writes model.cpp, model.bin and model_net.json",
    )
