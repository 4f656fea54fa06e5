"""What TensorFlow writes out in small ops comes across as the op that QNN has for it."""

import numpy as np
import pytest

import edgewright as ew
from tests.unit.frontends.tensorflow.test_cases import STORED

PATTERNS = {
    "BatchNorm-written-out": ["Conv2d"],
    "Conv2D-atrous": ["Conv2d"],
    "Conv2D-depthwise": ["DepthWiseConv2d"],
    "FusedBatchNormV3": ["Batchnorm"],
    "Gelu": ["Gelu"],
    "HardSwish": ["HardSwish"],
    "L2Normalize": ["L2Norm"],
    "LayerNorm-keras": ["LayerNorm"],
    "LayerNorm-written-out": ["LayerNorm"],
    "Prelu": ["Prelu"],
}


@pytest.mark.parametrize("case", PATTERNS)
def test_a_pattern_becomes_one_op(case, tmp_path):
    (tmp_path / "graph.pb").write_bytes(np.asarray(STORED[f"{case}/graph"]).tobytes())
    model = ew.convert(tmp_path / "graph.pb")
    assert model.graph is not None
    assert [node.op.qnn_name() for node in model.graph.nodes] == PATTERNS[case]
