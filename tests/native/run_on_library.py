"""Runs an ONNX file in ONNX Runtime's QNN provider: run_on_library.py LIBRARY MODEL IN.npz OUT.npz [CONTEXT].

With a fifth word the provider's context cache is written there, and the outputs of the cached model are added
as "cached_NAME". Prints how many nodes each provider has.
"""

import sys
from collections import Counter

import numpy as np
import onnxruntime
import onnxruntime_qnn

NAME = "QNNExecutionProvider"


def open_session(library: str, model: str, **settings: str) -> onnxruntime.InferenceSession:
    """A session on the library; settings are those of the session, with __ for dots."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for key, value in settings.items():
        options.add_session_config_entry(key.replace("__", "."), value)
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]
    options.add_provider_for_devices(devices[:1], {"backend_path": library})
    return onnxruntime.InferenceSession(model, options)


def main(library: str, model: str, given: str, found: str, context: str = "") -> None:
    """One run with the arrays of a file; outputs are kept by their names."""
    onnxruntime.register_execution_provider_library(NAME, onnxruntime_qnn.get_library_path())
    feed = dict(np.load(given))
    settings = {"ep__context_enable": "1", "ep__context_file_path": context, "ep__context_embed_mode": "0"}
    session = open_session(library, model, **(settings if context else {}))
    counts: Counter[str] = Counter()
    for part in session.get_provider_graph_assignment_info():
        counts[part.ep_name] += len(part.get_nodes())
    names = [item.name for item in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, feed), strict=True))
    if context:
        cached = open_session(library, context).run(None, feed)
        outputs |= {f"cached_{name}": array for name, array in zip(names, cached, strict=True)}
    np.savez(found, **outputs)
    sys.stdout.write(f"{counts[NAME]} {counts['CPUExecutionProvider']}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
