"""How weights are quantized: the grid of each matrix, and how much is done to choose codes well."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from edgewright.core.errors import UsageError, shown
from edgewright.core.words import did_you_mean
from edgewright.llm.arrays import AUTO
from edgewright.llm.load.checkpoint import EMBEDDING, HEAD
from edgewright.llm.rounding.codes import LPBQ, Q4_K, Q6_K, ROWS_8, Grid

FAST, BALANCED, BEST = "fast", "balanced", "best"
RECIPES: dict[str, str] = {
    FAST: "scales searched, no text needed",
    BALANCED: "scales searched, errors of columns made up for by later ones (GPTQ) on a text",
    BEST: "as balanced, also for what earlier layers lost; codes and scales chosen anew in turns",
}
BITS: dict[str, int | None] = {"int4": 4, "int8": 8, "fp16": None, "fp32": None}
AS_RUNTIME, INT8_ACTIVATIONS, FLOAT_ACTIVATIONS = "", "int8", "float"
ACTIVATIONS: dict[str, str] = {
    AS_RUNTIME: "as the runtime does by itself",
    INT8_ACTIVATIONS: "rounded to 8 bits within each product",
    FLOAT_ACTIVATIONS: "never rounded to whole numbers",
}
# Precisions that are grids of their own, whatever the block: those of GGUF, and that of QNN.
OWN_GRIDS: dict[str, Grid] = {"q4_k": Q4_K, "q6_k": Q6_K, "lpbq": LPBQ}
PRECISIONS = (*BITS, *OWN_GRIDS)
# The plain precision that each is like.
WIDTHS = {"q4_k": "int4", "lpbq": "int4", "q6_k": "int8"}
# Formats whose stock tools keep embeddings in floats.
WIDE_EMBEDDINGS = ("onnx",)
# Short names of what users keep wider.
ALIASES = {"lm_head": HEAD, "embed_tokens": EMBEDDING, "embedding": EMBEDDING, "head": HEAD}


@dataclass(frozen=True)
class Recipe:
    """What a user asked for."""

    precision: str = "int4"
    name: str = FAST
    block: int = 32
    is_symmetric: bool = True
    # Whether scales are above 0, as QNN wants them.
    is_positive: bool = False
    # Patterns of tensor names and the precision they keep, the first that fits counts.
    keep: Mapping[str, str] = field(default_factory=dict)
    # Whether some matrices get more bits, as llama.cpp mixes Q4_K_M.
    is_mix: bool = False
    # Whether inputs that are large get finer weights (AWQ).
    is_smoothed: bool = False
    # Bits of a weight on the average, where sensitive matrices get more; None: all alike.
    mixed: float | None = None
    # What computes: a GPU where there is one, or numpy.
    device: str = AUTO
    # What products round their inputs to: int8, float, or as the runtime does by itself.
    activations: str = AS_RUNTIME
    # Tokens of the longest text, where a format has one set of LongRoPE's factors; None: all there are.
    context: int | None = None
    # Where finished layers are kept until all is written; None: nowhere.
    state: Path | None = None

    def __post_init__(self) -> None:
        """Checks the words."""
        _check_word("recipe", self.name, RECIPES)
        _check_word("activations", self.activations, ACTIVATIONS)
        for precision in (self.precision, *self.keep.values()):
            _check_word("precision", precision, PRECISIONS)

    @property
    def width(self) -> str:
        """int4, int8, fp16 or fp32."""
        return WIDTHS.get(self.precision, self.precision)

    def find_grid(self, tensor: str) -> Grid | None:
        """The grid of a matrix; None where it stays in floating point."""
        precision = self.find_precision(tensor)
        if precision in OWN_GRIDS:
            return OWN_GRIDS[precision]
        bits = BITS[precision]
        if bits is None:
            return None
        if bits == 8 and not self.block:
            return ROWS_8
        return Grid(bits, self.block, self.is_symmetric or bits == 8, is_positive=self.is_positive)

    def find_precision(self, tensor: str) -> str:
        """The precision of a matrix."""
        return next((self.keep[pattern] for pattern in self._list_patterns(tensor)), self.precision)

    def is_kept(self, tensor: str) -> bool:
        """Whether the user said something of this matrix."""
        return bool(self._list_patterns(tensor))

    def has_precision(self, precision: str) -> bool:
        """Whether some matrix may have it."""
        return precision in {self.precision, *self.keep.values()}

    def widen_ends(self, head: str, format: str = "") -> "Recipe":  # noqa: A002 - the word that users know
        """The head of a model in 4 bits has 8, unless the user says something of it.

        So has the embedding in formats whose own tools leave it in floats: 4 bits of it alone are a third of
        the damage that a small model takes. The best recipe makes up for them, the same in all formats.
        """
        is_wide = format in WIDE_EMBEDDINGS and self.precision == "int4" and self.name != BEST
        names = (head, EMBEDDING) if is_wide else (head,)
        wide = {name: "int8" for name in names if self.width == "int4" and not self.is_kept(name)}
        return replace(self, keep={**self.keep, **wide}) if wide else self

    def _list_patterns(self, tensor: str) -> list[str]:
        return [
            pattern
            for pattern in self.keep
            if tensor == ALIASES.get(pattern) or fnmatchcase(tensor, f"*{pattern}*")
        ]


def _check_word(kind: str, word: str, known: Collection[str]) -> None:
    if word not in known:
        raise UsageError(
            f"{kind} '{shown(word)}' is unknown, expected one of: {', '.join(known)}",
            do=did_you_mean(word, list(known), f"choose a {kind}"),
        )
