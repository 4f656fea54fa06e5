"""Half a billion random weights: what ours and the peers' tools take to write 4 bits."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.llm_flows import Flow, list_our_flows, list_peer_flows, run_flow
from benchmarks.llm_memory import CONFIG, write_checkpoint

HALF = {"hidden_size": 1536, "intermediate_size": 4096, "num_attention_heads": 16, "num_key_value_heads": 16}
LAYERS = 16
# Tokens that calibrate: as many as the recipe `balanced` needs on the small trained model.
COUNTS = (768,)


def time_flows(folder: Path, calibration: Path | None) -> Iterator[dict[str, Any]]:
    """Each once, one after another."""
    model = folder / "model"
    if not (model / "config.json").exists():
        CONFIG.update(HALF)
        write_checkpoint(model, LAYERS)
    for flow in list_flows(model, folder, calibration):
        made = run_flow(flow)
        print(flow.command, made, flush=True)
        yield {"name": flow.name, "command": flow.command, **asdict(made)}


def list_flows(model: Path, folder: Path, calibration: Path | None) -> list[Flow]:
    """Ours to ONNX and OpenVINO, without and with a text; the builder and optimum-intel."""
    ours = [
        flow
        for flow in list_our_flows(model, None, folder)
        if flow.precision == "int4" and flow.name.endswith(("onnx", "openvino"))
    ]
    texts = []
    for count in COUNTS if calibration else ():
        for flow in list_our_flows(model, calibration, folder):
            if flow.precision == "int4" and flow.name.endswith(("onnx", "openvino")):
                added = ("--recipe", "balanced", "--calib_tokens", str(count))
                words, typed = (*flow.words, *added), " ".join((flow.command, *added))
                texts.append(replace(flow, words=words, command=typed))
    peers = [
        flow
        for flow in list_peer_flows(model, folder)
        if flow.output.endswith(("builder-int4", "optimum-g128"))
    ]
    return [*ours, *peers, *texts]
