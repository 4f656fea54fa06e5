"""Ops that torch itself defines in terms of others: their definitions are run on types alone and recorded."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from edgewright.core.optional import require
from edgewright.frontends.pytorch.definitions import DEFINITIONS
from edgewright.frontends.pytorch.values import Tensor, list_boxes, replace_tensors

if TYPE_CHECKING:
    from edgewright.frontends.pytorch.tracer import Tracer

READING = "read PyTorch models"


def find_definition(torch: Any, op: Any) -> Callable[..., Any] | None:
    """Torch's definition of an op; None where it is a primitive."""
    if op.name() in DEFINITIONS:
        return partial(DEFINITIONS[op.name()], torch)
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    if has_kernel(op.name(), "CompositeImplicitAutograd"):
        # Its own kernel: called as an op it may come back as itself.
        body: Callable[..., Any] = op.decompose
        return body
    table = require("torch._decomp", to=READING).decomposition_table
    if op in table:
        found: Callable[..., Any] = table[op]
        return found
    return None


def record_definition(
    tracer: "Tracer", body: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Runs a definition; each op that it reaches is handed to the tracer."""
    boxes = {id(box.meta): box for box in list_boxes([args, kwargs])}
    kept: list[Any] = [box.meta for box in boxes.values()]

    def boxed(value: Any) -> Any:
        if isinstance(value, tracer.torch.Tensor):
            if id(value) not in boxes:
                # A constant that the definition makes for itself.
                boxes[id(value)] = tracer.known(value)
                kept.append(value)
            return boxes[id(value)]
        if isinstance(value, list):
            return [boxed(item) for item in value]
        if isinstance(value, tuple):
            return tuple(boxed(item) for item in value)
        if isinstance(value, Mapping):
            return {key: boxed(item) for key, item in value.items()}
        return value

    def unboxed(value: Any) -> Any:
        def meta(box: Tensor) -> Any:
            boxes[id(box.meta)] = box
            kept.append(box.meta)
            return box.meta

        return replace_tensors(value, meta)

    mode: Any = require("torch.utils._python_dispatch", to=READING).TorchDispatchMode

    class Recorder(mode):  # type: ignore[misc]  # torch comes through the door: its classes have no types
        def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return unboxed(tracer.call(func, boxed(args), boxed(kwargs or {})))

    with tracer.torch.no_grad(), Recorder():
        return boxed(body(*unboxed(list(args)), **unboxed(dict(kwargs))))
