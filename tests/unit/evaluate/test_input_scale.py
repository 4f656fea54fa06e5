"""Samples whose scale is not that of training: said where the first layers show it, silence elsewhere."""

import numpy as np
import pytest

from edgewright.evaluate.input_scale import find_wrong_scale
from edgewright.ir.text import parse

PIXELS = [np.random.default_rng(n).integers(0, 256, (1, 8, 8, 3)).astype(np.float32) for n in range(4)]
SHARES = [pixels / 255 for pixels in PIXELS]
NORMAL = [pixels / 127.5 - 1 for pixels in PIXELS]


def graph(*lines):
    head = [
        "graph g {",
        "input x: float_32[1,8,8,3]",
        "const w: float_32[1,1,3,2] = [0.5,-0.5,0.25,0.5,-0.5,0.25]",
        "const one: float_32[2] = [1.0,1.0]",
        "const zero: float_32[2] = [0.1,-0.1]",
        "const steep: float_32[2] = [90.0,90.0]",
        "const byte: float_32[1] = [127.5]",
        "const part: float_32[1] = [0.25]",
    ]
    return parse("\n".join([*head, *lines, "output y", "}"]))


CONV = "c = Conv2d(v, w, _) {stride=(1, 1), pad_amount=((0, 0), (0, 0))}"
NORMED = graph(CONV.replace("(v,", "(x,"), "y = Batchnorm(c, one, zero)")
CUT = graph(CONV.replace("(v,", "(x,"), "y = ReluMinMax(c) {min_value=0.0, max_value=6.0}")
OF_BYTES = graph("m = ElementWiseSubtract(x, byte)", "v = ElementWiseDivide(m, byte)", CONV, "y = Relu(c)")
OF_SHARES = graph("m = ElementWiseSubtract(x, part)", "v = ElementWiseDivide(m, part)", CONV, "y = Relu(c)")
# Learned scales that make much of little.
STEEP = graph(CONV.replace("(v,", "(x,"), "y = Batchnorm(c, steep, zero)")
UNKNOWN = graph(CONV.replace("(v,", "(x,"), "y = Relu(c)")


@pytest.mark.parametrize(
    ("model", "samples", "advice"),
    [
        (NORMED, PIXELS, "--scale 1/255"),
        (NORMED, SHARES, None),
        (NORMED, NORMAL, None),
        (STEEP, NORMAL, None),
        (CUT, PIXELS, "--scale 1/255"),
        (CUT, NORMAL, None),
        # The model normalises pixels by itself: shares of one are too small for it.
        (OF_BYTES, PIXELS, None),
        (OF_BYTES, SHARES, "--scale 255"),
        (OF_SHARES, SHARES, None),
        (OF_SHARES, PIXELS, "--scale 1/255"),
        # Without a norm or a bound anything may be right.
        (UNKNOWN, PIXELS, None),
        (UNKNOWN, SHARES, None),
    ],
)
def test_a_wrong_scale_is_said_with_the_option_that_mends_it(model, samples, advice):
    warnings = list(find_wrong_scale(model, [{"x": sample} for sample in samples]))
    assert len(warnings) == (advice is not None)
    if advice:
        assert "samples of 'x' are not as in training: they are from 0 to" in warnings[0]
        assert warnings[0].endswith(f"; {advice} would fit")
