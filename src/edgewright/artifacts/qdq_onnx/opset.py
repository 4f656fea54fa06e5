"""The lowest opset that can express a model, so that older runtimes read it."""

from collections.abc import Iterable, Iterator, Sequence

import onnx
from onnx import defs

from edgewright.core.errors import UnsupportedFeature, UsageError, Where, shown

# QuantizeLinear and DequantizeLinear have an axis since then: nothing older has a scale for each channel.
LOWEST = 13
# Reductions have axes as an attribute before this opset, as an input from it on.
AXES_ARE_INPUTS = 18
REDUCTIONS = frozenset(
    {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"}
    | {"ReduceProd", "ReduceSumSquare"}
)
# Ops that had the same form with a different meaning.
CHANGED = {"GridSample": 20, "GroupNormalization": 21, "RoiAlign": 16}

ADVICE = "leave the opset out for the lowest that fits"


def convert_opset(model: onnx.ModelProto, wanted: int | None = None) -> onnx.ModelProto:
    """The model in the given opset, or in the lowest that has all its ops and types.

    The model passed in has the newest opset that we write.
    """
    newest = _find_opset(model)
    if wanted is not None and not LOWEST <= wanted <= newest:
        raise UsageError(f"opset is {shown(wanted)}, expected {LOWEST} to {newest}", do=ADVICE)
    types = _infer_types(model)
    for opset in range(LOWEST, newest) if wanted is None else [wanted]:
        changed = _with_attributes(model) if opset < AXES_ARE_INPUTS else model
        misfit = next((n.op_type for n in changed.graph.node if not _is_in_opset(n, opset, types)), None)
        if misfit is None:
            return _convert_to(changed, opset)
        if wanted is not None and wanted != newest:
            raise UnsupportedFeature(
                f"op '{misfit}' as it is used here does not exist in opset {wanted}",
                Where(op=misfit),
                do=ADVICE,
            )
    return model


def _find_opset(model: onnx.ModelProto) -> int:
    return next(int(item.version) for item in model.opset_import if not item.domain)


def _convert_to(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for item in changed.opset_import:
        if not item.domain:
            item.version = opset
    changed.ir_version = onnx.helper.find_min_ir_version_for(list(changed.opset_import), ignore_unknown=True)
    return changed


def _infer_types(model: onnx.ModelProto) -> dict[str, str]:
    """The types of values as schemas spell them; what inference cannot determine is left out."""
    # Weights may be left out of the model, which inference does not need.
    graph = onnx.shape_inference.infer_shapes(model).graph
    codes = {item.name: item.data_type for item in graph.initializer}
    for item in (*graph.input, *graph.output, *graph.value_info):
        codes[item.name] = item.type.tensor_type.elem_type
    words = {name: onnx.TensorProto.DataType.Name(code).lower() for name, code in codes.items() if code}
    return {name: f"tensor({word})" for name, word in words.items()}


def _is_in_opset(node: onnx.NodeProto, opset: int, types: dict[str, str]) -> bool:
    """Whether an op of this form, for these types, exists in an opset."""
    if node.domain:
        return True
    if opset < CHANGED.get(node.op_type, 0) or not defs.has(node.op_type):
        return False
    try:
        schema = defs.get_schema(node.op_type, opset)
    except defs.SchemaError:
        return False
    if not schema.min_input <= len(node.input) <= schema.max_input or len(node.output) > schema.max_output:
        return False
    if any(attribute.name not in schema.attributes for attribute in node.attribute):
        return False
    pairs = (*_pair_formals(node.input, schema.inputs), *_pair_formals(node.output, schema.outputs))
    allowed = {item.type_param_str: set(item.allowed_type_strs) for item in schema.type_constraints}
    known = [(types[name], formal.type_str) for name, formal in pairs if name in types]
    return all(found in allowed.get(wanted, {wanted}) for found, wanted in known)


def _pair_formals(
    names: Iterable[str], formals: Sequence[defs.OpSchema.FormalParameter]
) -> Iterator[tuple[str, defs.OpSchema.FormalParameter]]:
    """Names with their formal parameters; the last of a variadic list serves the rest."""
    for place, name in enumerate(names):
        yield name, formals[min(place, len(formals) - 1)]


def _with_attributes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Reductions in their form before axes became inputs."""
    constants = {item.name: item for item in model.graph.initializer}
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for node in changed.graph.node:
        if node.domain or node.op_type not in REDUCTIONS or len(node.input) < 2:
            continue
        axes = constants.get(node.input[1])
        if axes is None or axes.data_location == onnx.TensorProto.EXTERNAL:
            continue
        numbers = onnx.numpy_helper.to_array(axes).tolist()
        is_all = any(a.name == "noop_with_empty_axes" and a.i for a in node.attribute)
        if not numbers and is_all:
            continue
        kept = [a for a in node.attribute if a.name != "noop_with_empty_axes"]
        del node.attribute[:], node.input[1:]
        node.attribute.extend([*kept, *([onnx.helper.make_attribute("axes", numbers)] if numbers else [])])
    _drop_unread(changed)
    return changed


def _drop_unread(model: onnx.ModelProto) -> None:
    read = {name for node in model.graph.node for name in node.input} | {o.name for o in model.graph.output}
    kept = [item for item in model.graph.initializer if item.name in read]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
