"""Nodes as QNN's op configurations."""

import ctypes
from collections.abc import Mapping

from edgewright.abi.structs import OpConfig, Param, Scalar, Tensor
from edgewright.backends.qnn.tensors import Kept
from edgewright.core.numbers import DType
from edgewright.lower.qnn_graph import QnnNode, QnnScalar

SCALARS = {
    DType.FLOAT_32: "float_32",
    DType.FLOAT_64: "float_64",
    DType.UINT_64: "uint_64",
    DType.INT_64: "int_64",
    DType.UINT_32: "uint_32",
    DType.INT_32: "int_32",
    DType.UINT_16: "uint_16",
    DType.INT_16: "int_16",
    DType.UINT_8: "uint_8",
    DType.INT_8: "int_8",
    DType.BOOL_8: "bool_8",
    DType.STRING: "string",
}


def op_config(node: QnnNode, tensors: Mapping[str, Tensor], kept: Kept) -> OpConfig:
    """The configuration of a node; `tensors` has its tensors and its tensor parameters by name."""
    params = [_scalar(name, value, kept) for name, value in node.scalar_params.items()]
    params += [_tensor(name, tensors[item.name], kept) for name, item in node.tensor_params.items()]
    inputs = [tensors[name] for name in node.inputs]
    outputs = [tensors[name] for name in node.outputs]
    return OpConfig(
        version=1,
        name=kept.add(node.name.encode()),
        package=kept.add(node.package.encode()),
        type_name=kept.add(node.type.encode()),
        params_count=len(params),
        params=kept.add((Param * len(params))(*params)),
        inputs_count=len(inputs),
        inputs=kept.add((Tensor * len(inputs))(*inputs)),
        outputs_count=len(outputs),
        outputs=kept.add((Tensor * len(outputs))(*outputs)),
    )


def _scalar(name: str, given: QnnScalar, kept: Kept) -> Param:
    scalar = Scalar(data_type=int(given.dtype))
    value = given.value
    setattr(scalar.value, SCALARS[given.dtype], kept.add(value.encode()) if isinstance(value, str) else value)
    param = Param(type=0, name=kept.add(name.encode()))
    param.of.scalar = scalar
    return param


def _tensor(name: str, tensor: Tensor, kept: Kept) -> Param:
    param = Param(type=1, name=kept.add(name.encode()))
    ctypes.pointer(param.of.tensor)[0] = tensor
    return param
