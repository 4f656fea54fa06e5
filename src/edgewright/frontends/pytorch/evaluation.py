"""What torch may compute while a model of a stranger is read: which ops, and how much of them."""

from collections.abc import Sequence
from typing import Any

from edgewright.core.errors import LimitExceeded
from edgewright.frontends.pytorch.decompose import find_definition
from edgewright.frontends.pytorch.registry import find
from edgewright.frontends.pytorch.values import Tensor, list_boxes

# A constant of more elements is computed at run time or refused: a small file can ask for any size.
LARGEST_CONSTANT = 1 << 28
# What constants may cost in all: multiplications, which an element of any op counts as many as, and bytes.
MOST_WORK = 1 << 38
PER_ELEMENT = 32
MOST_BYTES = 1 << 33
LONGEST_TEXT = 10_000
# Ops that reach outside: files, other memory than their arguments', the state of random numbers.
NEVER_RUN = frozenset(
    f"aten::{name}"
    for name in (
        *("save", "from_file", "manual_seed", "seed", "initial_seed", "set", "record_stream", "wait"),
        *("resize", "resize_as", "resize_as_sparse", "sparse_resize", "sparse_resize_and_clear"),
    )
) | {"prims::resize"}
# Their results are what happened to lie in memory: here they are zeros.
UNFILLED = frozenset(
    {
        *(f"aten::{name}" for name in ("empty", "empty_like", "empty_strided", "empty_permuted")),
        *("aten::new_empty", "aten::new_empty_strided"),
        *("prims::empty", "prims::empty_strided", "prims::empty_permuted"),
    }
)
# Of the ops that stand for TorchScript itself: pure functions of numbers and types.
PRIMITIVES = frozenset(
    f"prim::{name}"
    for name in (
        *("NumToTensor", "StringIndex", "EnumName", "EnumValue", "abs", "min", "max", "layout", "dtype"),
        *("itemsize", "nbytes", "tolist", "requires_grad", "name", "index", "type"),
    )
)
# Ops of torch's own that have neither a translation nor a definition, and check their arguments.
PRIVATE = frozenset(
    f"aten::{name}"
    for name in (
        *(
            "_local_scalar_dense",
            "_shape_as_tensor",
            "_dim_arange",
            "_aminmax",
            "_trilinear",
            "_cdist_forward",
        ),
        *("_pdist_forward", "_fft_c2c", "_fft_c2r", "_fft_r2c", "_conj", "_conj_physical", "_neg_view"),
        *(
            "_linalg_det",
            "_linalg_slogdet",
            "_linalg_svd",
            "_linalg_eigh",
            "_linalg_solve_ex",
            "_lu_with_info",
        ),
        *(
            "_to_copy",
            "_reshape_alias",
            "_copy_from",
            "_stack",
            "_cat",
            "_unique",
            "_unique2",
            "_logcumsumexp",
        ),
    )
)
# Ops that sum products, or need more than one pass.
WITH_SUMS = (
    *(
        "mm",
        "bmm",
        "matmul",
        "linear",
        "addmm",
        "baddbmm",
        "addbmm",
        "einsum",
        "tensordot",
        "conv",
        "bilinear",
    ),
    *(
        "linalg",
        "lstm",
        "gru",
        "rnn",
        "cdist",
        "pdist",
        "inverse",
        "cholesky",
        "svd",
        "qr",
        "lu",
        "matrix_exp",
    ),
    *("matrix_power", "pinverse", "det", "logdet", "slogdet", "multi_head", "transformer", "scaled_dot"),
)
SORTING = (
    "sort",
    "argsort",
    "msort",
    "topk",
    "unique",
    "kthvalue",
    "median",
    "nanmedian",
    "mode",
    "quantile",
)
PER_SORTED = 512
# How many elements they give is said by the values of a tensor.
SIZED_BY_VALUES = frozenset({"aten::repeat_interleave", "aten::bincount", "aten::one_hot"})


def find_danger(op: Any) -> str:
    """Why an op is not even asked for the types of its results; "" where it may be."""
    name = op._schema.name
    is_primitive = name.startswith("prim::")
    if (
        name in NEVER_RUN
        or name.removesuffix("_") in NEVER_RUN
        or (is_primitive and name not in PRIMITIVES and not name.startswith("prim::is_"))
        or any(str(item.type) in {"Storage", "Stream"} for item in op._schema.arguments)
    ):
        return "is never run while a model is read: it reaches outside of the model"
    return ""


def find_reason(torch: Any, op: Any, *, is_run: bool) -> str:
    """Why an op is not computed here; "" where it may be."""
    name = op._schema.name
    space, _, word = name.partition("::")
    if space == "aten" and word.startswith("_") and not word.startswith("__"):
        is_allowed = name in PRIVATE or _has_meaning(torch, op)
    else:
        is_allowed = space in {"aten", "prims", "prim"} or (
            is_run and space in {"quantized", "quantized_decomposed"}
        )
    return "" if is_allowed else "is never run while a model is read"


def check_arguments(op: Any, args: Sequence[Any]) -> None:
    """Refuses what would make a text or a tensor of any size from a few bytes."""
    texts = [item for item in args if isinstance(item, str)]
    numbers = [item for item in args if isinstance(item, int)]
    if (
        texts
        and sum(map(len, texts)) + sum(map(abs, numbers)) > LONGEST_TEXT
        and not any(isinstance(item, Tensor) for item in args)
    ):
        raise LimitExceeded(f"a text is made that may have more than {LONGEST_TEXT} letters")
    if op._schema.name in SIZED_BY_VALUES:
        values = [box.data.abs().sum() for box in list_boxes(list(args)) if not box.dtype.is_floating_point]
        total = sum(int(value) for value in values) + sum(map(abs, numbers))
        if total > LARGEST_CONSTANT:
            raise LimitExceeded(f"a constant of {total} elements is asked for, at most {LARGEST_CONSTANT}")


class Budget:
    """How much torch has computed for the constants of a model; a stranger's model may want any amount."""

    def __init__(self) -> None:
        self._work = 0
        self._bytes = 0

    def spend(self, op: Any, args: Sequence[Any], results: Sequence[Any]) -> None:
        """Counts an op, before it runs; ``results`` are the types of what it makes."""
        self._work += _estimate_work(op, args, sum(int(meta.numel()) for meta in results))
        self._bytes += sum(int(meta.numel()) * meta.element_size() for meta in results)
        if self._work > MOST_WORK or self._bytes > MOST_BYTES:
            raise LimitExceeded(
                f"computing the model's constants takes more than {MOST_WORK} operations or "
                f"{MOST_BYTES} bytes",
                do="compute them before the model is saved",
            )


def _estimate_work(op: Any, args: Sequence[Any], made: int) -> int:
    """The elements that an op touches, times the length of its sums; ``made`` is the size of its results."""
    boxes = list(list_boxes(list(args)))
    elements = made + sum(box.count for box in boxes)
    word = op._schema.name.partition("::")[2].strip("_")
    if word.startswith(SORTING):
        return elements * PER_SORTED
    if not word.startswith(WITH_SUMS) or not boxes:
        return elements * PER_ELEMENT
    weight = boxes[1] if word.startswith("conv") and len(boxes) > 1 else None
    if weight is not None and weight.rank:
        return elements * max(weight.count // max(weight.shape[0], 1), PER_ELEMENT)
    return elements * max((box.shape[-1] for box in boxes if box.rank), default=PER_ELEMENT)


def _has_meaning(torch: Any, op: Any) -> bool:
    return find(op.name()) is not None or find_definition(torch, op) is not None
