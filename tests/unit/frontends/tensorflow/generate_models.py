"""Writes models.zip: whole models in every form that TensorFlow saves, with what it computes for them.

Needs TensorFlow (pip install tensorflow-cpu); run it from this folder: python generate_models.py
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

v1 = tf.compat.v1
RANDOM = np.random.default_rng(11)
X = RANDOM.standard_normal((2, 3)).astype(np.float32)
STEPS = RANDOM.standard_normal((2, 6, 4)).astype(np.float32)
EXPECTED: dict[str, np.ndarray] = {"x": X, "steps": STEPS}


class Scaled(tf.Module):
    """Variables, a function that calls functions, and two signatures."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable(RANDOM.standard_normal((3, 4)).astype(np.float32))
        self.bias = tf.Variable(RANDOM.standard_normal(4).astype(np.float32))
        self.table = tf.Variable(RANDOM.standard_normal((5, 2)).astype(np.float32))

    @tf.function
    def layer(self, x: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, self.weight) + self.bias

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"scores": tf.nn.relu(self.layer(x)), "rows": tf.shape(x)[0]}

    @tf.function(input_signature=[tf.TensorSpec([4], tf.int32, "index")])
    def embed(self, index: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"vectors": tf.gather(self.table, index)}


def saved(folder: Path) -> None:
    """A SavedModel of TensorFlow 2."""
    module = Scaled()
    EXPECTED["scores"] = module.serve(X)["scores"].numpy()
    EXPECTED["vectors"] = module.table.numpy()[[3, 0, 4, 1]]
    signatures = {"serving_default": module.serve, "embed": module.embed}
    tf.saved_model.save(module, str(folder / "saved"), signatures)


def early(folder: Path) -> None:
    """A checkpoint and a SavedModel of TensorFlow 1, and a loop and branches in its form."""
    v1.disable_control_flow_v2()
    v1.disable_resource_variables()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, X.shape, "x")
        weight = v1.get_variable("weight", (3, 3), initializer=v1.random_normal_initializer(seed=1))
        turned = v1.while_loop(
            lambda i, v: i < 2,
            lambda i, v: (
                i + 1,
                v1.while_loop(lambda j, w: j < 3, lambda j, w: (j + 1, w * 0.5 + x), [0, v])[1],
            ),
            [0, tf.matmul(x, weight)],
        )[1]
        y = v1.cond(tf.reduce_sum(turned) > 0, lambda: turned * 2, lambda: tf.ones_like(x) - x)
        y = tf.identity(y, "y")
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            EXPECTED["y"] = session.run(y, {x: X})
            EXPECTED["y_negative"] = session.run(y, {x: -X})
            v1.train.Saver().save(session, str(folder / "early"))
            v1.saved_model.simple_save(session, str(folder / "early_saved"), {"image": x}, {"result": y})
            frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    (folder / "early.pb").write_bytes(frozen.SerializeToString())
    (folder / "checkpoint").unlink()
    v1.enable_control_flow_v2()
    v1.enable_resource_variables()


def recurrent(folder: Path, name: str, layer: keras.Layer) -> None:
    """A recurrent layer, frozen as TensorFlow freezes graphs."""
    x = keras.Input(STEPS.shape[1:], batch_size=len(STEPS))
    model = keras.Model(x, layer(x))
    EXPECTED[name] = np.asarray(model(STEPS))
    spec = tf.TensorSpec(STEPS.shape, tf.float32, "x")
    for is_lowered in (True, False):
        function = tf.function(model.__call__).get_concrete_function(spec)
        graph = convert_variables_to_constants_v2(
            function, lower_control_flow=is_lowered
        ).graph.as_graph_def()
        label = f"{name}_lowered" if is_lowered else name
        (folder / f"{label}.pb").write_bytes(graph.SerializeToString())


if __name__ == "__main__":
    keras.utils.set_random_seed(3)
    with TemporaryDirectory() as made:
        saved(Path(made))
        recurrent(Path(made), "lstm", keras.layers.LSTM(5, return_sequences=True))
        recurrent(Path(made), "gru", keras.layers.GRU(5))
        recurrent(Path(made), "relu", keras.layers.LSTM(5, activation="relu"))
        recurrent(Path(made), "both", keras.layers.Bidirectional(keras.layers.LSTM(3, return_sequences=True)))
        early(Path(made))
        np.savez(Path(made) / "expected.npz", **EXPECTED)
        with ZipFile(Path(__file__).parent / "models.zip", "w", ZIP_DEFLATED) as archive:
            for file in sorted(path for path in Path(made).rglob("*") if path.is_file()):
                archive.write(file, file.relative_to(made))
