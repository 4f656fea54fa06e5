"""PyTorch ops that an op package describes: handed on as nodes of that op."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgewright.core.errors import EdgewrightError
from edgewright.frontends.pytorch.context import find_onnx_code
from edgewright.frontends.pytorch.values import TORCH_DTYPES, Tensor
from edgewright.ir.types import TensorType
from edgewright.ops.package import PackageOpDefinition, definition_of

if TYPE_CHECKING:
    from edgewright.frontends.pytorch.context import Context

_OWN = frozenset({"aten", "prim", "prims", "quantized"})


def find_package_definition(op: Any) -> PackageOpDefinition | None:
    """The description of an op of another namespace than torch's own, by its name there."""
    space, _, name = str(op._schema.name).partition("::")
    return None if space in _OWN else definition_of(name)


def infer_by_package(
    torch: Any, definition: PackageOpDefinition, arguments: Mapping[str, Any], problem: EdgewrightError
) -> Any:
    """The results' types by the package's own word, where torch has no rule for the op."""
    if definition.shapes is None:
        raise problem
    inputs = [_type(item) for item in arguments.values() if isinstance(item, Tensor)]
    words = {dtype: name for name, dtype in TORCH_DTYPES.items()}
    found = [
        torch.empty(result.static_shape(), dtype=getattr(torch, words[result.dtype]), device="meta")
        for result in definition.shapes(inputs, _list_attributes(arguments))
    ]
    return found[0] if len(found) == 1 else tuple(found)


def write_package_op(
    ctx: "Context", definition: PackageOpDefinition, arguments: Mapping[str, Any], metas: Sequence[Any]
) -> list[str]:
    """Adds the node: tensors are its inputs, all else its attributes; torch's types go with it."""
    tensors = [item for item in arguments.values() if isinstance(item, Tensor)]
    names = ctx.add_all(definition.type, *tensors, outputs=len(metas), **_list_attributes(arguments))
    ctx.writer.nodes[-1].types = [
        (find_onnx_code(m.dtype), tuple(int(size) for size in m.shape)) for m in metas
    ]
    return names


def _list_attributes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    plain = {name: item for name, item in arguments.items() if not isinstance(item, Tensor)}
    return {
        name: int(item) if isinstance(item, bool) else item
        for name, item in plain.items()
        if item is not None and item != []
    }


def _type(box: Tensor) -> TensorType:
    return TensorType(box.shape, TORCH_DTYPES[str(box.dtype).removeprefix("torch.")])
