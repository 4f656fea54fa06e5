"""Runs in AIMET's own environment, without Edgewright: what AIMET makes of a model, and what it loads.

``aimet_loader.py export MODEL SAMPLES OUT`` or ``aimet_loader.py load MODEL ENCODINGS``; the last line
says how it went.
"""

import importlib
import json
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx

VERSION = "1.0.0"


def main(words: list[str]) -> int:
    """Does what the first word says, and prints one line of JSON."""
    logging.disable(logging.CRITICAL)
    quantsim = importlib.import_module("aimet_onnx.quantsim")
    task, model, *more = words
    try:
        answer = (export if task == "export" else load)(quantsim, model, *more)
    except Exception as problem:
        text = str(problem).strip().splitlines() or [""]
        answer = {"problem": f"{type(problem).__name__}: {text[0]}"}
    print(json.dumps(answer))
    return 0


def _open(quantsim: Any, model: str) -> Any:
    return quantsim.QuantizationSimModel(onnx.load(model), providers=["CPUExecutionProvider"])


def export(quantsim: Any, model: str, samples: str, out: str) -> dict[str, Any]:
    """Quantizes with AIMET's defaults, and writes its encodings."""
    simulation = _open(quantsim, model)
    with np.load(samples) as stored:
        count = len(stored[stored.files[0]])
        feeds = [{name: np.asarray(stored[name][i]) for name in stored.files} for i in range(count)]
    simulation.compute_encodings(feeds)
    target = Path(out)
    simulation.export(
        *(str(target.parent), target.stem),
        export_model=False,
        export_int32_bias=False,
        encoding_version=VERSION,
    )
    enabled = [q for q in simulation.qc_quantize_op_dict.values() if q.enabled]
    return {"quantizers": len(enabled)}


def load(quantsim: Any, model: str, encodings: str) -> dict[str, Any]:
    """Loads encodings into a fresh simulation."""
    simulation = _open(quantsim, model)
    quantsim.load_encodings_to_sim(simulation, encodings, strict=True)
    return {"loaded": True}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
