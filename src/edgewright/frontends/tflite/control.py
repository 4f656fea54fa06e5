"""TFLite control flow and variables: loops are unrolled, what a run leaves behind becomes an output."""

from edgewright.core.errors import BadInput, ShapeMismatch, UnsupportedOp
from edgewright.frontends._common.builder import NeedsValue
from edgewright.frontends._common.choices import find_truth, is_true, select_value
from edgewright.frontends.tflite.context import Context
from edgewright.frontends.tflite.encoded import type_in_graph
from edgewright.frontends.tflite.registry import tflite_op
from edgewright.frontends.tflite.source import SourceNode


@tflite_op("IF", is_stored=True)
def if_(ctx: Context, node: SourceNode) -> list[str]:
    """The branch that a known condition picks; both branches and a choice where it is not known."""
    condition, *arguments = node.inputs
    branches = node.option("then_subgraph_index"), node.option("else_subgraph_index")
    is_chosen = find_truth(ctx, condition)
    if is_chosen is not None:
        return ctx.inline(branches[0] if is_chosen else branches[1], arguments)
    try:
        results = [ctx.inline(branch, arguments) for branch in branches]
    except (UnsupportedOp, ShapeMismatch):
        # Perhaps only in the branch that is never taken: the condition's inputs decide that.
        raise NeedsValue(condition) from None
    return [select_value(ctx, condition, *pair) for pair in zip(*results, strict=False)]


@tflite_op("WHILE", is_stored=True)
def while_(ctx: Context, node: SourceNode) -> list[str]:
    """Unrolled: every condition must be known."""
    values = list(node.inputs)
    while True:
        conditions = ctx.inline(node.option("cond_subgraph_index"), values)
        if len(conditions) != 1:
            raise BadInput(f"the condition has {len(conditions)} results, expected 1", node.where)
        if not is_true(ctx, conditions[0]):
            return values
        values = ctx.inline(node.option("body_subgraph_index"), values)
        if len(values) != len(node.inputs):
            raise BadInput(
                f"the body has {len(values)} results, expected {len(node.inputs)}",
                node.where,
                do="export the model again",
            )


@tflite_op("CALL", is_stored=True)
def call(ctx: Context, node: SourceNode) -> list[str]:
    """The subgraph in its place."""
    return ctx.inline(node.option("subgraph"), node.inputs)


@tflite_op("STABLEHLO_COMPOSITE", is_stored=True)
def composite(ctx: Context, node: SourceNode) -> list[str]:
    """Its decomposition."""
    return ctx.inline(node.option("decomposition_subgraph_index"), node.inputs)


@tflite_op("CALL_ONCE", is_stored=True)
def call_once(ctx: Context, node: SourceNode) -> list[str]:
    """What variables start with."""
    with ctx.variables.starting():
        ctx.inline(node.option("init_subgraph_index"), [])
    return []


@tflite_op("VAR_HANDLE", is_stored=True)
def var_handle(ctx: Context, node: SourceNode) -> str:
    """A name for the variable."""
    return ctx.variables.handle(node.option("container"), node.option("shared_name"))


@tflite_op("READ_VARIABLE", is_stored=True)
def read_variable(ctx: Context, node: SourceNode) -> str:
    """What was assigned last, in this run or the one before."""
    return ctx.variables.read(node.need(0)[0], type_in_graph(node.results[0]))


@tflite_op("ASSIGN_VARIABLE", is_stored=True)
def assign_variable(ctx: Context, node: SourceNode) -> list[str]:
    """From here on the variable is this value."""
    handle, value = node.need(0, 1)
    ctx.variables.assign(handle, value)
    return []
