"""Runs in AIMET's own environment, without Edgewright: a model and samples become encodings."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx

# The exit code that tells the caller (api/aimet.py) that AIMET is not there.
MISSING = 66


def main(folder: str) -> int:
    """Reads request.json, model.onnx and the samples; writes result.encodings."""
    try:
        aimet: Any = importlib.import_module("aimet_onnx")
    except ModuleNotFoundError as missing:
        if missing.name != "aimet_onnx":
            raise
        return MISSING
    place = Path(folder)
    request = json.loads((place / "request.json").read_text(encoding="utf-8"))
    sim = aimet.QuantizationSimModel(
        onnx.load(place / "model.onnx"),
        param_type=f"int{request['weight_bits']}",
        activation_type=f"int{request['act_bits']}",
        quant_scheme=request["scheme"],
        config_file=str(_write_config(Path(aimet.__file__).parent, place, request)),
        dummy_input=next(_read_samples(place)),
        providers=["CPUExecutionProvider"],
    )
    sim.compute_encodings(_read_samples(place))
    # Biases are the caller's: their scales follow from what it makes of inputs and weights.
    sim.export(
        folder, "result", export_model=False, export_int32_bias=False, encoding_version=request["version"]
    )
    return 0


def _write_config(package: Path, place: Path, request: dict[str, Any]) -> Path:
    """AIMET's own configuration with what was asked for put in."""
    kind = "default_config_per_channel" if request["per_channel"] else "default_config"
    config = json.loads((package / "common" / "quantsim_config" / f"{kind}.json").read_text(encoding="utf-8"))
    config["defaults"]["params"]["is_symmetric"] = str(request["per_channel"] or request["symmetric_weights"])
    if request["symmetric_activations"]:
        config["defaults"]["ops"]["is_symmetric"] = "True"
    if not request["per_row"]:
        for product in ("Gemm", "MatMul"):
            config["op_type"].get(product, {}).pop("per_channel_quantization", None)
        config["op_type"] = {op: rules for op, rules in config["op_type"].items() if rules}
    target = place / "config.json"
    target.write_text(json.dumps(config), encoding="utf-8")
    return target


def _read_samples(place: Path) -> Iterator[dict[str, Any]]:
    for file in sorted((place / "samples").iterdir()):
        with np.load(file, allow_pickle=False) as stored:
            yield {name: stored[name] for name in stored.files}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
