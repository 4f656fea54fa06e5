"""Networks trained with FakeQuant nodes round as TensorFlow does, in the engine too."""

import numpy as np

import edgewright as ew
from edgewright.ops import reference
from tests.unit.frontends.tensorflow.graph_writer import const, graph, node, placeholder

RANDOM = np.random.default_rng(3)
WINDOW = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}


def layer(x, name, channels, scale):
    """A convolution by weights that do not fill their range, and what follows it in such networks."""
    weights = RANDOM.uniform(-0.7 * scale, 0.7 * scale, (3, 3, *channels)).astype(np.float32)
    return (
        const(f"{name}_w", weights),
        node(f"{name}_q", "FakeQuantWithMinMaxArgs", f"{name}_w", min=-scale, max=scale, narrow_range=True),
        node(f"{name}_c", "Conv2D", x, f"{name}_q", strides=[1, 1, 1, 1], padding="SAME"),
        const(f"{name}_b", RANDOM.uniform(-0.2, 0.2, channels[1]).astype(np.float32)),
        node(f"{name}_s", "BiasAdd", f"{name}_c", f"{name}_b"),
        node(f"{name}_r", "Relu6", f"{name}_s"),
        node(f"{name}_f", "FakeQuantWithMinMaxArgs", f"{name}_r", min=0.0, max=6.0),
        node(f"{name}_p", "MaxPool", f"{name}_f", **WINDOW),
    )


def test_the_engine_computes_with_the_trained_weights_as_they_are(tmp_path):
    nodes = (
        placeholder("x", 1, 16, 16, 2),
        node("f", "FakeQuantWithMinMaxArgs", "x", min=0.0, max=1.0),
        *layer("f", "a", (2, 16), 1.27),
        *layer("a_p", "b", (16, 16), 0.5),
    )
    (tmp_path / "g.pb").write_bytes(graph(*nodes))
    model = ew.convert(tmp_path / "g.pb")
    assert model.graph is not None
    feed = {"x:0": RANDOM.uniform(0, 1, (1, 16, 16, 2)).astype(np.float32)}
    found, expected = model.run(feed)["b_p:0"], reference.run(model.graph, feed)["b_p:0"]
    steps = np.abs(np.asarray(found) - expected) / (6 / 255)
    # Sums in another order may fall on the other side of a half, rarely.
    assert (steps > 0.5).mean() < 0.01
