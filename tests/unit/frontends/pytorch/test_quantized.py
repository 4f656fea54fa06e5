"""Eager quantization: TorchScript with quantized ops becomes a graph with the same encodings."""

import warnings

import numpy as np
import pytest

from tests.optional import NO_TORCH

torch = pytest.importorskip("torch", reason=NO_TORCH)

import edgewright as ew
from edgewright.core.errors import EdgewrightError
from edgewright.ops.quant import Dequantize, Quantize
from tests.unit.frontends.pytorch.programs import traced

pytestmark = pytest.mark.torch

nn, ops = torch.nn, torch.ops.quantized
IMAGE, ROWS = (1, 4, 8, 8), (2, 6)
STEP = 0.05
CONVOLUTIONS = {
    "conv1d": (nn.Conv1d(4, 6, 3, stride=2, padding=1), (1, 4, 9)),
    "conv2d": (nn.Conv2d(4, 6, 3, groups=2, dilation=2), IMAGE),
    "conv3d": (nn.Conv3d(2, 3, 2), (1, 2, 4, 5, 6)),
    "conv_transpose2d": (nn.ConvTranspose2d(4, 3, 3, stride=2, output_padding=1), IMAGE),
    "linear": (nn.Linear(6, 5), ROWS),
}
FUNCTIONS = {
    "add": (lambda a: ops.add(a, a, STEP, 100), STEP),
    "add_relu": (lambda a: ops.add_relu(a, a, STEP, 0), STEP),
    "add_scalar": (lambda a: ops.add_scalar(a, 0.7), STEP),
    "mul": (lambda a: ops.mul(a, a, STEP, 10), STEP),
    "mul_scalar": (lambda a: ops.mul_scalar(a, -1.5), 1.5 * STEP),
    "cat": (lambda a: ops.cat([a, a], 1, 2 * STEP, 128), 2 * STEP),
    "matmul": (lambda a: ops.matmul(a, a.transpose(0, 1), 4 * STEP, 100), 4 * STEP),
    "relu6": (ops.relu6, STEP),
    "hardswish": (lambda a: ops.hardswish(a, STEP, 64), STEP),
    "sigmoid": (lambda a: ops.sigmoid(a, 1 / 256, 0), 1 / 256),
    "leaky_relu": (lambda a: ops.leaky_relu(a, 0.1, False, STEP, 64), STEP),
    "elu": (lambda a: ops.elu(a, STEP, 64, 1.0, 1.0, 1.0), STEP),
    "softmax": (lambda a: ops.softmax(a, 1, 1 / 256, 0), 1 / 256),
    "aten sigmoid": (torch.sigmoid, 1 / 256),
    "aten tanh": (torch.tanh, 1 / 128),
    "aten mean": (lambda a: a.mean(1, keepdim=True), STEP),
    "aten clamp": (lambda a: a.clamp(-1.03, 2.2), STEP),
    "aten moves": (lambda a: a.t().reshape(3, 4)[:, 1:].relu(), 0.0),
}


@pytest.fixture(autouse=True)
def _quiet():
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Rounded(nn.Module):
    """A function of quantized tensors between real numbers."""

    def __init__(self, function):
        super().__init__()
        self.f = function

    def forward(self, a):
        return self.f(torch.quantize_per_tensor(a, STEP, 120, torch.quint8)).dequantize()


def stored_layer(name):
    """A layer that was calibrated and quantized, and an input for it."""
    layer, shape = CONVOLUTIONS[name]
    layer.qconfig = torch.ao.quantization.QConfig(
        activation=torch.ao.quantization.default_observer,
        weight=torch.ao.quantization.default_weight_observer,
    )
    prepared = torch.ao.quantization.prepare(nn.Sequential(layer))
    x = torch.randn(shape)
    prepared(x)
    return torch.ao.quantization.convert(prepared), x


def held(module, x, folder, step):
    """The converted program, once it is within a step of torch."""
    with torch.no_grad():
        want = module(x).numpy()
    model = ew.convert(traced(folder, module, x), input_shapes={"a": x.shape})
    (found,) = model.run({"a": x.numpy()}).values()
    assert np.abs(found - want).max() <= step + 1e-5
    return model


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_op_on_quantized_tensors_is_within_a_step_of_torch(name, tmp_path):
    function, step = FUNCTIONS[name]
    held(Rounded(function), torch.randn(ROWS) * 2, tmp_path, step)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_quantized_layer_keeps_its_stored_weights_and_is_within_a_step(name, tmp_path):
    stored, x = stored_layer(name)
    model = held(Rounded(stored), x, tmp_path, stored[0].scale)
    integers = [a for n, a in model.fixed_graph().constants.items() if a.dtype == np.int8 and a.size > 8]
    assert len(integers) == 1
    network_ops = [node.op for node in model.fixed_graph().nodes]
    assert any(isinstance(op, Quantize) for op in network_ops)
    assert any(isinstance(op, Dequantize) for op in network_ops)


def test_dynamic_layers_keep_integers_for_weights_alone(tmp_path):
    plain = nn.Sequential(nn.Linear(6, 5), nn.ReLU())
    stored = torch.ao.quantization.quantize_dynamic(plain, {nn.Linear}, torch.qint8)
    x = torch.randn(ROWS)
    model = ew.convert(traced(tmp_path, stored, x), input_shapes={"a": ROWS})
    (found,) = model.run({"a": x.numpy()}).values()
    with torch.no_grad():
        # torch rounds the activations to 8 bits in every run.
        assert np.abs(found - stored(x).numpy()).max() < 0.1


def test_encodings_of_the_program_are_those_of_the_quantized_model(tmp_path):
    module = Rounded(lambda a: ops.add(a, a, STEP, 100))
    model = ew.convert(traced(tmp_path, module, torch.randn(ROWS)), input_shapes={"a": ROWS})
    found = ew.quantize(model)
    scales = [t.encoding.scales[0] for t in found.fixed_graph().types.values() if t.encoding is not None]
    assert np.allclose(scales, STEP)


def test_a_quantized_op_without_translation_is_named(tmp_path):
    module = Rounded(lambda a: ops.group_norm(a, 2, None, None, 1e-5, STEP, 0))
    path = traced(tmp_path, module, torch.randn(IMAGE))
    with pytest.raises(EdgewrightError, match=r"quantized::group_norm"):
        ew.convert(path, input_shapes={"a": IMAGE})
