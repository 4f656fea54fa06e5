"""ONNX nodes that an op package describes."""

from edgewright.frontends._common.package_ops import make_package_op
from edgewright.frontends.onnx.context import Context
from edgewright.frontends.onnx.declared import find_declared_type
from edgewright.frontends.onnx.reader import OnnxFile
from edgewright.frontends.onnx.source import SourceNode
from edgewright.ir.types import TensorType
from edgewright.ops.package import PackageOpDefinition


def keep_as_package_op(
    ctx: Context, node: SourceNode, file: OnnxFile, definition: PackageOpDefinition
) -> list[str]:
    """Emits the node as an op of the package."""

    def declared(index: int) -> TensorType | None:
        return find_declared_type(file, node.outputs[index])

    attributes = {name: node.attr(name) for name in node.attributes}
    inputs = [ctx.type(value) if value else None for value in node.inputs]
    op = make_package_op(definition, attributes, inputs, declared, node.where, len(node.outputs))
    return ctx.emit_all(op, *node.inputs)
