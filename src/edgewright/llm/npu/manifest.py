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
LARGEST = 1 << 26
# Counts changes of the file.
FORM = 2
PREFILL, DECODE = "prefill", "decode"
# Where tokens become embeddings: in the first graph, or by a table that the application reads.
INSIDE, OUTSIDE = "inside", "outside"
MOST_LAYERS = 1 << 12


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
class Part:
    """Layers that follow one another, in a context of their own; the last part has the head as well."""

    number: int
    count: int
    layers: range

    @property
    def is_first(self) -> bool:
        """Whether it takes tokens."""
        return self.number == 1

    @property
    def is_last(self) -> bool:
        """Whether it gives logits."""
        return self.number == self.count

    def name(self, what: str) -> str:
        """A graph or file of this part: 'decode' alone, or 'decode_2_of_3'."""
        return what if self.count == 1 else f"{what}_{self.number}_of_{self.count}"


@dataclass(frozen=True)
class Manifest:
    """The graphs of a model, and what they were made for."""

    target: str
    precision: str
    prefill: int
    context: int
    # Layers of each part.
    parts: tuple[int, ...]
    embedding: str = INSIDE
    # Of keys and values.
    kv_bits: int = 16

    @property
    def shapes(self) -> dict[str, GraphShape]:
        """Of the two kinds of graphs by their names."""
        return {PREFILL: GraphShape(self.prefill, self.context), DECODE: GraphShape(1, self.context)}

    def list_parts(self) -> list[Part]:
        """In the order in which they run."""
        starts = [sum(self.parts[:number]) for number in range(len(self.parts) + 1)]
        return [
            Part(number + 1, len(self.parts), range(starts[number], starts[number + 1]))
            for number in range(len(self.parts))
        ]

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
    return Manifest(
        target=fields.text("target"),
        precision=fields.text("precision"),
        prefill=fields.integer("prefill", 2, context - 1),
        context=context,
        parts=_read_parts(content.get("parts"), where),
        embedding=_read_word(fields.text("embedding"), (INSIDE, OUTSIDE), where),
        kv_bits=_read_choice(fields.integer("kv_bits", 8, 16), where),
    )


def _read_parts(content: Any, where: Where) -> tuple[int, ...]:
    is_list = isinstance(content, list) and 0 < len(content) <= MOST_LAYERS
    if not is_list or any(type(count) is not int or not 0 <= count <= MOST_LAYERS for count in content):
        raise BadInput("'parts' is no list of numbers of layers", where, do="build the model again")
    return tuple(content)


def _read_choice(bits: int, where: Where) -> int:
    if bits not in {8, 16}:
        raise BadInput(f"'kv_bits' is {bits}, expected 8 or 16", where, do="build the model again")
    return bits


def _read_word(word: str, expected: tuple[str, ...], where: Where) -> str:
    if word not in expected:
        raise BadInput(f"'embedding' is '{word[:40]}', expected {' or '.join(expected)}", where)
    return word
