"""Greedy tokens of fp32 files in every runtime against torch's."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

TOKENS, PROMPT = 48, (1, 5, 9, 33, 70, 17, 8, 8, 61, 14)
# Shapes as those of the named models have them, small; weights are random.
SHAPES: dict[str, dict[str, Any]] = {
    "Phi-3.5-mini, LongRoPE": {
        "model_type": "phi3",
        "num_key_value_heads": 4,
        "rope_scaling": {"type": "longrope", "short_factor": [1.1] * 32, "long_factor": [2.0] * 32},
        "original_max_position_embeddings": 512,
    },
    "Phi-4-mini, GQA, tied, partial rotary": {
        "model_type": "phi3",
        "num_key_value_heads": 2,
        "tie_word_embeddings": True,
        "partial_rotary_factor": 0.75,
        "rope_scaling": {"type": "longrope", "short_factor": [1.1] * 24, "long_factor": [2.0] * 24},
        "original_max_position_embeddings": 512,
    },
    "Llama 3": {"model_type": "llama", "num_key_value_heads": 2, "rope_theta": 5e5},
    "Qwen 2": {"model_type": "qwen2", "num_key_value_heads": 2, "use_sliding_window": False},
    "Qwen 3": {"model_type": "qwen3", "num_key_value_heads": 2, "head_dim": 64},
}
COMMON = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 96,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def compare_runtimes(model: Path, work: Path) -> Iterator[dict[str, Any]]:
    """A row for each model: in which runtimes the tokens are torch's."""
    from tests.unit.llm.checkpoints import write_checkpoint

    models = {"trained Phi-3 of 4.2 million weights": model}
    for name, shape in SHAPES.items():
        models[name] = write_checkpoint(work / f"shape-{name.split(',')[0]}", **{**COMMON, **shape})
    for name, folder in models.items():
        row = {"model": name, **_compare_model(folder, work / f"greedy-{folder.name}")}
        print(row, flush=True)
        yield row


def _compare_model(folder: Path, work: Path) -> dict[str, Any]:
    from edgewright.llm.quantize_model import quantize_language_model
    from edgewright.llm.recipe import Recipe

    expected = _run_torch(folder)
    row: dict[str, Any] = {"tokens": len(expected)}
    for kind, run in RUNTIMES.items():
        output = work.with_name(f"{work.name}-{kind}{'.gguf' if kind == 'gguf' else ''}")
        try:
            if not output.exists():
                # mlx-lm has one set of LongRoPE's factors, which the longest text chooses.
                context = len(PROMPT) + TOKENS if kind == "mlx" else None
                quantize_language_model(folder, kind, recipe=Recipe("fp32", context=context), output=output)
            tokens = run(output)
        except Exception as problem:
            row[kind] = f"{type(problem).__name__}: {str(problem)[:120]}"
            continue
        count = next(
            (at for at, pair in enumerate(zip(expected, tokens, strict=False)) if pair[0] != pair[1]), None
        )
        row[kind] = "same" if tokens == expected else f"{count} of {len(expected)} the same"
        gc.collect()
    return row


def _run_torch(folder: Path) -> list[int]:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokens, made = list(PROMPT), []
    with torch.no_grad():
        for _ in range(TOKENS):
            made.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
            tokens.append(made[-1])
    return made


def _run_llama(path: Path) -> list[int]:
    """Keys and values in single precision; the context, a multiple of 256, chooses LongRoPE's factors."""
    import llama_cpp

    model = llama_cpp.Llama(
        str(path), n_ctx=96, n_threads=1, type_k=0, type_v=0, logits_all=True, verbose=False
    )
    model.eval(list(PROMPT))
    made: list[int] = []
    for _ in range(TOKENS):
        made.append(int(np.argmax(model.scores[model.n_tokens - 1])))
        model.eval(made[-1:])
    return made


def _run_mlx(path: Path) -> list[int]:
    """mlx-lm as `edgewright llm run` has it."""
    from edgewright.llm.runtimes.session import RuntimeSession

    made: list[int] = []
    with RuntimeSession(path, 96) as session:
        logits = session.feed(np.array(PROMPT, np.int64))
        for _ in range(TOKENS):
            made.append(int(logits.argmax()))
            logits = session.feed(np.array(made[-1:], np.int64))
    return made


def _run_genai(path: Path) -> list[int]:
    """ONNX Runtime GenAI; tokens that end a text do not end this one."""
    import onnxruntime_genai as og

    model = og.Model(str(path))
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(max_length=len(PROMPT) + TOKENS)
    generator = og.Generator(model, parameters)
    generator.append_tokens(np.array(PROMPT, np.int32))
    made: list[int] = []
    while len(made) < TOKENS:
        made.append(int(generator.get_logits()[0, -1].argmax()))
        generator.append_tokens(np.array(made[-1:], np.int32))
    return made


def _run_openvino_genai(path: Path) -> list[int]:
    import openvino
    import openvino_genai

    exact = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32", "ATTENTION_BACKEND": "SDPA"}
    pipeline = openvino_genai.LLMPipeline(str(path), "CPU", **exact)
    settings = openvino_genai.GenerationConfig()
    settings.max_new_tokens, settings.do_sample, settings.ignore_eos = TOKENS, False, True
    inputs = openvino.Tensor(np.array([PROMPT], np.int64))
    return [int(token) for token in pipeline.generate(inputs, settings).tokens[0]]


RUNTIMES = {
    "gguf": _run_llama,
    "onnx": _run_genai,
    "openvino": _run_openvino_genai,
    "mlx": _run_mlx,
}
