"""Configurations for Qualcomm's Genie runtime, in the form that its public documentation gives."""

import json
from collections.abc import Sequence
from typing import Any

from edgewright.llm.load.spec import ModelSpec, RopeSpec
from edgewright.llm.load.vocabulary import TOKENIZER
from edgewright.llm.npu.manifest import OUTSIDE, Manifest
from edgewright.llm.npu.quantize_blocks import Entry
from edgewright.targets.soc import Soc

GENIE, EXTENSIONS = "genie_config.json", "htp_backend_ext_config.json"
TABLE = "embed_tokens.bin"


def make_genie_config(
    spec: ModelSpec, manifest: Manifest, embedding: Entry, binaries: Sequence[str], spill_fill: int
) -> bytes:
    """What `genie-t2t-run -c` takes.

    Args:
        spec: the model.
        manifest: its graphs.
        embedding: the encoding of what the first graph takes, where the table is outside.
        binaries: context binaries in the order of the parts.
        spill_fill: bytes that all contexts share beside fast memory, those of the largest need.
    """
    dialog: dict[str, Any] = {
        "version": 1,
        "type": "basic",
        "context": _describe_context(spec, manifest),
        "sampler": {"version": 1, "seed": 0, "temp": 0.8, "top-k": 40, "top-p": 0.95},
        "tokenizer": {"version": 1, "path": TOKENIZER},
        "engine": _describe_engine(spec, binaries, spill_fill),
    }
    if manifest.embedding == OUTSIDE:
        dialog["embedding"] = _describe_table(spec, embedding)
    return _write({"dialog": dialog})


def make_extensions(chip: Soc, *, is_shared: bool) -> bytes:
    """The backend's own settings, which the configuration names."""
    core = {"core_id": 0, "perf_profile": "burst", "rpc_control_latency": 100}
    device = {"soc_model": chip.soc_model, "dsp_arch": f"v{chip.arch}", "cores": [core]}
    return _write(
        {
            "devices": [device],
            "memory": {"mem_type": "shared_buffer"},
            "context": {"weight_sharing_enabled": is_shared},
        }
    )


def _describe_context(spec: ModelSpec, manifest: Manifest) -> dict[str, Any]:
    eos = list(spec.eos)
    return {
        "version": 1,
        "size": manifest.context,
        "n-vocab": spec.vocabulary,
        "bos-token": -1 if spec.bos is None else spec.bos,
        "eos-token": eos[0] if len(eos) == 1 else eos or -1,
    }


def _describe_engine(spec: ModelSpec, binaries: Sequence[str], spill_fill: int) -> dict[str, Any]:
    backend = {
        "version": 1,
        "use-mmap": True,
        "spill-fill-bufsize": spill_fill,
        "mmap-budget": 0,
        "poll": True,
        "cpu-mask": "0xe0",
        "kv-dim": spec.head_dim,
        "pos-id-dim": spec.rope.dims // 2,
        "allow-async-init": False,
    }
    return {
        "version": 1,
        "n-threads": 3,
        "backend": {"version": 1, "type": "QnnHtp", "QnnHtp": backend, "extensions": EXTENSIONS},
        "model": {
            "version": 1,
            "type": "binary",
            "binary": {"version": 1, "ctx-bins": list(binaries)},
            "positional-encoding": _describe_positions(spec, spec.rope),
        },
    }


def _describe_positions(spec: ModelSpec, rope: RopeSpec) -> dict[str, Any]:
    plain = {"type": "rope", "rope-dim": rope.dims // 2, "rope-theta": rope.theta}
    if rope.short_factors:
        return plain | {
            "rope-scaling": {
                "rope-type": "longrope",
                "factor": spec.context / rope.original_context,
                "original-max-position-embeddings": rope.original_context,
                "short-factor": list(rope.short_factors),
                "long-factor": list(rope.long_factors),
            }
        }
    if not rope.llama3:
        return plain
    factor, low, high = rope.llama3
    return plain | {
        "rope-scaling": {
            "rope-type": "llama3",
            "factor": factor,
            "low-freq-factor": low,
            "high-freq-factor": high,
            "original-max-position-embeddings": rope.original_context,
        }
    }


def _describe_table(spec: ModelSpec, entry: Entry) -> dict[str, Any]:
    return {
        "version": 1,
        "type": "lut",
        "lut-path": TABLE,
        "size": spec.hidden,
        "datatype": "ufixed16",
        "quant-param": {"scale": entry["y_scale"], "offset": -entry["y_zero_point"]},
    }


def _write(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()
