"""What only ONNX models show: recurrent options that torch lacks, masks, models in fixed point."""

from typing import Any

import numpy as np

from edgewright.core.numbers import Array
from tests.conformance.network import mask, network, normal
from tests.unit.frontends.onnx.side_by_side import model_of


def draw_weights(seed: int = 0, **shapes: tuple[int, ...]) -> dict[str, Array]:
    """Weights of a usual size, by name."""
    random = np.random.default_rng(seed)
    return {
        name: (random.normal(size=shape) / np.sqrt(shape[-1])).astype(np.float32)
        for name, shape in shapes.items()
    }


@network("recurrent", normal(6, 1, 8))
def gru_reset_before() -> Any:
    weights = draw_weights(w=(1, 36, 8), r=(1, 36, 12), b=(1, 72))
    return model_of(
        """g (float[6,1,8] x) => (float[6,1,1,12] y, float[1,1,12] h)
        { y, h = GRU<hidden_size=12, linear_before_reset=0>(x, w, r, b) }""",
        weights,
    )


@network("recurrent", normal(6, 1, 8))
def reversed_gru() -> Any:
    weights = draw_weights(w=(1, 36, 8), r=(1, 36, 12), b=(1, 72))
    return model_of(
        """g (float[6,1,8] x) => (float[6,1,1,12] y)
        { y = GRU<hidden_size=12, linear_before_reset=1, direction="reverse">(x, w, r, b) }""",
        weights,
    )


@network("recurrent", normal(6, 1, 8))
def lstm_with_peepholes() -> Any:
    weights = draw_weights(w=(1, 48, 8), r=(1, 48, 12), b=(1, 96), p=(1, 36))
    return model_of(
        """g (float[6,1,8] x) => (float[6,1,1,12] y, float[1,1,12] h, float[1,1,12] c)
        { y, h, c = LSTM<hidden_size=12>(x, w, r, b, , , , p) }""",
        weights,
    )


@network("recurrent", normal(6, 1, 8), normal(1, 1, 12, scale=0.4))
def rnn_with_state() -> Any:
    weights = draw_weights(w=(1, 12, 8), r=(1, 12, 12), b=(1, 24))
    return model_of(
        """g (float[6,1,8] x, float[1,1,12] start) => (float[6,1,1,12] y, float[1,1,12] h)
        { y, h = RNN<hidden_size=12>(x, w, r, b, , start) }""",
        weights,
    )


@network("recurrent", normal(6, 2, 8))
def lstm_of_two_lengths() -> Any:
    weights = {**draw_weights(w=(2, 48, 8), r=(2, 48, 12), b=(2, 96)), "n": np.array([6, 4], np.int32)}
    return model_of(
        """g (float[6,2,8] x) => (float[6,2,2,12] y)
        { y = LSTM<hidden_size=12, direction="bidirectional">(x, w, r, b, n) }""",
        weights,
    )


ATTENTION = """g (float[1,8,16] x, float[1,8] words) => (float[1,8,16] y)
<float scale = {0.25}, float one = {1.0}, float least = {-3.4028234e38}, int64[3] places = {1, 1, 8}>
{
  shown = Reshape(words, places)
  %s
  q = MatMul(x, wq)
  k = MatMul(x, wk)
  v = MatMul(x, wv)
  kt = Transpose<perm=[0,2,1]>(k)
  raw = MatMul(q, kt)
  scores = Mul(raw, scale)
  %s
  shares = Softmax<axis=-1>(masked)
  mixed = MatMul(shares, v)
  y = Add(x, mixed)
}"""
PARTS = {"wq": (16, 16), "wk": (16, 16), "wv": (16, 16)}


@network("transformer", normal(1, 8, 16), mask(8))
def mask_added() -> Any:
    hidden = "hidden = Sub(one, shown)\n added = Mul(hidden, least)"
    return model_of(ATTENTION % (hidden, "masked = Add(scores, added)"), draw_weights(**PARTS))


@network("transformer", normal(1, 8, 16), mask(8))
def mask_chosen() -> Any:
    hidden = "is_hidden = Less(shown, one)"
    return model_of(ATTENTION % (hidden, "masked = Where(is_hidden, least, scores)"), draw_weights(**PARTS))


@network("transformer", normal(1, 8, 16), mask(8))
def mask_multiplied() -> Any:
    hidden = "hidden = Sub(one, shown)\n added = Mul(hidden, least)"
    masked = "kept = Mul(scores, shown)\n masked = Add(kept, added)"
    return model_of(ATTENTION % (hidden, masked), draw_weights(**PARTS))


@network("image", normal(1, 8, 12, 12))
def spaces_and_depths() -> Any:
    return model_of(
        """g (float[1,8,12,12] x) => (float[1,8,12,12] y)
        {
          a = DepthToSpace<blocksize=2, mode="CRD">(x)
          b = Conv<pads=[1,1,1,1]>(a, w)
          c = Clip(b, low, high)
          y = SpaceToDepth<blocksize=2>(c)
        }""",
        {
            **draw_weights(w=(2, 2, 3, 3)),
            "low": np.array(-0.4, np.float32),
            "high": np.array(0.5, np.float32),
        },
    )


@network("image", normal(1, 3, 16, 16))
def trained_in_fixed_point() -> Any:
    random = np.random.default_rng(3)
    return model_of(
        """g (float[1,3,16,16] x) => (float[1,6,8,8] y)
        <float sx = {0.03}, uint8 zx = {128}, float sy = {0.02}, uint8 zy = {10},
         float sw = {0.01}, int8 zw = {0}>
        {
          xq = QuantizeLinear(x, sx, zx)
          xf = DequantizeLinear(xq, sx, zx)
          wf = DequantizeLinear(wq, sw, zw)
          c = Conv<pads=[1,1,1,1], strides=[2,2]>(xf, wf)
          r = Relu(c)
          rq = QuantizeLinear(r, sy, zy)
          y = DequantizeLinear(rq, sy, zy)
        }""",
        {"wq": random.integers(-60, 60, (6, 3, 3, 3)).astype(np.int8)},
    )


@network("audio", normal(1, 256, scale=0.3))
def short_time_spectrum() -> Any:
    window = np.hanning(32).astype(np.float32)
    return model_of(
        """g (float[1,256] x) => (float[1,15,17] y)
        <int64 step = {16}, int64 size = {32}, int64[1] last = {-1}, float floor = {0.001}>
        {
          spectrum = STFT(x, step, window, size)
          squares = Mul(spectrum, spectrum)
          power = ReduceSum<keepdims=0>(squares, last)
          lifted = Add(power, floor)
          y = Log(lifted)
        }""",
        {"window": window},
    )


@network("detection", normal(1, 24, 6))
def boxes_and_suppression() -> Any:
    return model_of(
        """g (float[1,24,6] x) => (float[1,24,4] boxes, float[1,2,24] scores)
        <int64[1] zero = {0}, int64[1] four = {4}, int64[1] six = {6}, int64[1] axis = {2},
         float half = {0.5}>
        {
          raw = Slice(x, zero, four, axis)
          kinds = Slice(x, four, six, axis)
          grown = Exp(raw)
          boxes = Mul(grown, half)
          shares = Sigmoid(kinds)
          scores = Transpose<perm=[0,2,1]>(shares)
        }"""
    )
