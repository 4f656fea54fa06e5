"""What a built language model is: the file beside its graphs that tells a runtime how to feed them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgewright.artifacts.net_json.fields import Fields
from edgewright.core.errors import BadInput, Where
from edgewright.core.files import read_limited

FILE = "edgewright_llm.json"
LARGEST = 1 << 24
# Counts changes of the file.
FORM = 1
PREFILL, DECODE = "prefill", "decode"


@dataclass(frozen=True)
class GraphShape:
    """How many tokens a run takes, and how many it looks back on with them."""

    tokens: int
    context: int

    @property
    def past(self) -> int:
        """Places of the keys and values of earlier tokens."""
        return self.context - self.tokens


@dataclass(frozen=True)
class Manifest:
    """The two graphs of a model, and what they were made for."""

    target: str
    precision: str
    prefill: int
    context: int

    @property
    def shapes(self) -> dict[str, GraphShape]:
        """Of the graphs by their names."""
        return {PREFILL: GraphShape(self.prefill, self.context), DECODE: GraphShape(1, self.context)}

    def write(self, tensors: Mapping[str, Any]) -> bytes:
        """With the inputs and outputs of each graph, in their order."""
        return (json.dumps({"form": FORM, **asdict(self), "graphs": tensors}, indent=1) + "\n").encode()


def read_manifest(folder: Path) -> Manifest:
    """What a folder says of itself."""
    file = folder / FILE
    where = Where(file=str(file))
    try:
        content = json.loads(read_limited(file, LARGEST))
    except (ValueError, RecursionError):
        raise BadInput("the file is no JSON", where, do="build the model again") from None
    if not isinstance(content, dict) or content.get("form") != FORM:
        raise BadInput(f"the file is not of form {FORM}", where, do="build the model again")
    fields = Fields(content, where, "the file")
    context = fields.integer("context", 3, 1 << 20)
    prefill = fields.integer("prefill", 2, context - 1)
    return Manifest(fields.text("target"), fields.text("precision"), prefill, context)
