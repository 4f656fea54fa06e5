"""TensorFlow's variables as ops: what the checkpoint holds is a constant of the graph."""

from edgewright.frontends.tensorflow.context import Context
from edgewright.frontends.tensorflow.registry import tf_op
from edgewright.frontends.tensorflow.source import SourceNode
from edgewright.ops.gather import Gather, GatherNd


@tf_op("VarHandleOp")
def handle(ctx: Context, node: SourceNode) -> str:
    """A name for the variable."""
    return ctx.variables.handle(node.node)


@tf_op("ReadVariableOp")
def read(ctx: Context, node: SourceNode) -> str:
    """The variable's value."""
    return ctx.variable(node.need(0)[0])


@tf_op("VariableV2", "Variable")
def variable(ctx: Context, node: SourceNode) -> str:
    """A variable of TensorFlow 1 is its value."""
    return ctx.variable(ctx.variables.handle(node.node))


@tf_op("ResourceGather")
def gather(ctx: Context, node: SourceNode) -> str:
    """Rows of a variable."""
    table, indices = node.need(0, 1)
    return ctx.emit(Gather(axis=0), ctx.variable(table), indices)


@tf_op("ResourceGatherNd")
def gather_nd(ctx: Context, node: SourceNode) -> str:
    """Elements of a variable."""
    table, indices = node.need(0, 1)
    return ctx.emit(GatherNd(), ctx.variable(table), indices)
