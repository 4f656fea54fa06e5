"""Types that an ONNX file declares for its values."""

from collections.abc import Mapping

import onnx

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, UnsupportedOp, Where, shown
from edgewright.core.numbers import DType
from edgewright.frontends._common.stored import LARGEST_DIM, LARGEST_RANK
from edgewright.frontends.onnx.order import check_name
from edgewright.frontends.onnx.reader import OnnxFile
from edgewright.frontends.onnx.signature import spell_dtype
from edgewright.frontends.onnx.tensors import DTYPES, find_dtype
from edgewright.ir.dims import Dim, symbol
from edgewright.ir.types import TensorType


def read_input_type(item: onnx.ValueInfoProto, file: str) -> TensorType:
    """The type of a graph input; a dimension without a name is called after the input and its axis."""
    where = Where(file=file, tensor=item.name)
    kind = item.type.WhichOneof("value") or "nothing"
    if kind != "tensor_type":
        raise UnsupportedOp(
            f"input '{shown(item.name)}' is of the kind '{kind.removesuffix('_type')}', expected a tensor",
            where,
            do="export a model whose inputs are tensors",
        )
    declared = item.type.tensor_type
    if not declared.HasField("shape"):
        raise BadInput(
            f"input '{shown(item.name)}' has no shape, not even a rank",
            where,
            do=f"give its shape with {spell_option('input_shapes')}",
        )
    return TensorType(_read_dims(declared.shape, item.name, where), find_dtype(declared.elem_type, where))


def find_declared_type(file: OnnxFile, name: str) -> TensorType | None:
    """What the file says of a value inside the graph; None where it says too little."""
    item = file.value_info.get(name)
    if item is None or not item.type.tensor_type.HasField("shape"):
        return None
    where = Where(file=file.name, tensor=name)
    declared = item.type.tensor_type
    return TensorType(_read_dims(declared.shape, name, where), find_dtype(declared.elem_type, where))


def check_output_dtypes(file: OnnxFile, inputs: Mapping[str, DType], outputs: Mapping[str, DType]) -> None:
    """Refuses outputs that the file declares with another datatype than its nodes compute."""
    if _list_other_dtypes({item.name: item for item in file.graph.input}, inputs):
        return  # inputs of other datatypes than declared make other outputs than declared
    other = _list_other_dtypes(file.value_info, outputs)
    if other:
        each = (
            f"'{shown(n)}' is declared as {said} and computed as {spell_dtype(outputs[n])}"
            for n, said in other
        )
        raise BadInput(
            f"outputs contradict the graph: {'; '.join(each)}",
            Where(file=file.name),
            do="export the model again, or declare the outputs as they are computed",
        )


def _list_other_dtypes(
    items: Mapping[str, onnx.ValueInfoProto], dtypes: Mapping[str, DType]
) -> list[tuple[str, str]]:
    """The values whose declared datatype is another one, with the declared one."""
    codes = {name: items[name].type.tensor_type.elem_type for name in dtypes if name in items}
    return [
        (name, onnx.TensorProto.DataType.Name(code).lower())
        for name, code in codes.items()
        if code and DTYPES.get(code, dtypes[name]) != dtypes[name]
    ]


def _read_dims(shape: onnx.TensorShapeProto, name: str, where: Where) -> tuple[Dim, ...]:
    dims: list[Dim] = []
    for axis, dim in enumerate(shape.dim):
        # Some exporters write -1 for a dimension that is left open.
        is_number = dim.HasField("dim_value") and dim.dim_value != -1
        if is_number and not 0 <= dim.dim_value <= LARGEST_DIM:
            raise BadInput(
                f"dimension {axis} is {dim.dim_value}, expected 0 to {LARGEST_DIM}",
                where,
                do=f"give the shape with {spell_option('input_shapes')}",
            )
        check_name(dim.dim_param)
        # "?" is no name either: two of them need not be equal.
        named = dim.dim_param if dim.dim_param.strip("?") else f"{name}_{axis}"
        dims.append(dim.dim_value if is_number else symbol(str(named)))
    if len(dims) > LARGEST_RANK:
        raise BadInput(f"the shape has {len(dims)} dimensions, at most {LARGEST_RANK} are allowed", where)
    return tuple(dims)
