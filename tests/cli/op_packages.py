"""A model with a custom op, and the op's description."""

import numpy as np
from onnx import helper

from tests.cli.models import FLOAT, save

XML = """<?xml version="1.0" encoding="UTF-8"?>
<OpDefCollection PackageName="Strange" Domain="strange" Version="1.0">
  <OpDefList>
    <OpDef>
      <Name>Wobble</Name>
      <Description><Content>Waves */ #error "gotcha</Content></Description>
      <Input><Name>in[0]</Name><Mandatory>true</Mandatory><Datatype>QNN_DATATYPE_FLOAT_32</Datatype>
        <Shape><Rank>ND</Rank></Shape></Input>
      <Output><Name>out</Name><Mandatory>true</Mandatory><Datatype>QNN_DATATYPE_FLOAT_32</Datatype>
        <Shape><Rank>ND</Rank></Shape></Output>
      <Parameter><Name>factor</Name><Mandatory>true</Mandatory><Datatype>QNN_DATATYPE_FLOAT_32</Datatype>
        <Shape><Rank>SCALAR</Rank></Shape></Parameter>
      <Parameter><Name>shifts</Name><Mandatory>false</Mandatory><Datatype>QNN_DATATYPE_UINT_32</Datatype>
        <Shape><Rank>1D</Rank></Shape><Default>{1, 2}</Default></Parameter>
      <SupportedBackend>CPU</SupportedBackend>
    </OpDef>
  </OpDefList>
</OpDefCollection>
"""
WOBBLE = """
#include <cmath>
#include <stdexcept>
#include "CpuOpRegistry.hpp"
namespace op_Wobble {
Qnn_ErrorHandle_t execute(CpuOp& op) {
  const float* in = dataOf<float>(op.input(0));
  float* out = dataOf<float>(op.output(0));
  const float factor = static_cast<float>(op.scalar("factor"));
  const uint32_t* shifts = dataOf<uint32_t>(op.param("shifts")->tensorParam);
  if (factor == 13) throw std::runtime_error("thirteen is not a factor");
  if (factor == 14) return QNN_OP_PACKAGE_ERROR_GENERAL;
  for (size_t i = 0; i < elementCount(op.input(0)); ++i) out[i] = std::sin(in[i] * factor) + shifts[1];
  return QNN_SUCCESS;
}
Qnn_ErrorHandle_t finalize(CpuOp&) { return QNN_SUCCESS; }
Qnn_ErrorHandle_t free(CpuOp&) { return QNN_SUCCESS; }
Qnn_ErrorHandle_t validateOpConfig(const Qnn_OpConfig_t&) { return QNN_SUCCESS; }
Qnn_ErrorHandle_t populateFromNode(const QnnCpuOpPackage_Node_t&, CpuOp&) { return QNN_SUCCESS; }
}
REGISTER_OP(Wobble, op_Wobble)
"""
PYTHON = """
import numpy as np
import edgewright as ew

@ew.op_package("Strange", "Wobble")
def wobble(x, *, factor, shifts=(1, 2)):
    return np.sin(x * np.float32(factor)) + shifts[1]
"""


def wobble_net(path, factor=3.0, domain="strange.ops"):
    """The custom op between two that convert; nothing tells its shape."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Wobble", ["a"], ["b"], name="wobble", domain=domain, factor=factor),
        helper.make_node("MatMul", ["b", "w"], ["y"], name="last"),
    ]
    weights = {"w": np.eye(4, dtype=np.float32)[:, :3]}
    return save(path, nodes, [("x", FLOAT, [2, 4])], [("y", FLOAT, [2, 3])], weights)


def expected(x, factor=3.0):
    """What the net means."""
    return (np.sin(np.maximum(x, 0) * np.float32(factor)) + 2)[:, :3]
