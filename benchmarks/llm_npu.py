"""A language model built for the NPU: greedy tokens on simulation and emulator, states, and speed.

python -m benchmarks.llm_npu FOLDER --tokens IDS.npy [--greedy 64] [--prompt 32] [--beside ONNX_FOLDER]

With OMP_NUM_THREADS=1 the processor's time of a token is that of one thread; with more, threads that wait
count as well.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from edgewright.llm.runtimes.npu_decoder import NpuDecoder
from edgewright.llm.runtimes.onnx_decoder import OnnxDecoder
from edgewright.llm.runtimes.session import RuntimeSession

SIMULATION, NATIVE, CPU = "htp-sim", "htp-native", "cpu"
# Tokens that are timed together, and how often.
TOGETHER, TURNS = 8, 8


def compare_greedy(folder: Path, prompt: Any, steps: int) -> str:
    """Both backends write by themselves until they differ; the margin is the simulation's at that step."""
    decoders = [NpuDecoder(folder, name) for name in (SIMULATION, NATIVE)]
    simulated, native = (decoder.feed(prompt)[-1] for decoder in decoders)
    largest = 0.0
    for step in range(steps):
        first, second = int(simulated.argmax()), int(native.argmax())
        # The same for all tokens changes no choice.
        difference = (native - native.mean()) - (simulated - simulated.mean())
        largest = max(largest, float(np.abs(difference).max()))
        if first != second:
            margin = float(simulated[first] - simulated[second])
            return f"differ at step {step}: margin {margin:.4f}, logits differ by {largest:.4f} at most"
        simulated, native = (decoder.feed(np.array([first]))[-1] for decoder in decoders)
    return f"{steps} tokens are the same; logits differ by {largest:.4f} at most"


def compare_states(folder: Path, tokens: Any) -> str:
    """Keys and values of a text that is read at once, and token by token, as stored integers."""
    at_once, apart = NpuDecoder(folder, SIMULATION), NpuDecoder(folder, SIMULATION)
    wanted = at_once.feed(tokens)
    found = np.concatenate([apart.feed(tokens[at : at + 1]) for at in range(len(tokens))])
    pairs = zip(at_once.list_states(), apart.list_states(), strict=True)
    steps = np.concatenate([np.abs(a.astype(np.int64) - b.astype(np.int64)).ravel() for a, b in pairs])
    noise = float(((wanted - found) ** 2).sum())
    distance = "the same" if not noise else f"{10 * np.log10(float((wanted**2).sum()) / noise):.1f} dB apart"
    share = 100 * float((steps == 0).mean())
    return f"{share:.3f} % of integers equal, {steps.max()} steps apart at most; logits {distance}"


def time_runtime(folder: Path, tokens: Any, backend: str = "") -> str:
    """Tokens a second: read at once, and written one by one."""
    with RuntimeSession(folder, len(tokens), backend) as session:
        session.time_decoding(tokens, len(tokens) // 2, 1.0)
        read, written = session.time_decoding(tokens, len(tokens) // 2, 5.0)
    return f"reads {read:.0f} tokens a second, writes {written:.1f}"


def time_processor(folder: Path, beside: Path, tokens: Any) -> str:
    """The processor's time of a written token, the least of several turns: another load changes it little."""
    decoders = {name: NpuDecoder(folder, name) for name in (SIMULATION, CPU)} | {"onnx": OnnxDecoder(beside)}
    least = dict.fromkeys(decoders, float("inf"))
    for decoder in decoders.values():
        decoder.feed(tokens[: -TOGETHER * TURNS])
    for turn in range(-TURNS, 0):
        for name, decoder in decoders.items():
            start = time.process_time()
            for at in range(turn * TOGETHER, (turn + 1) * TOGETHER):
                decoder.feed(tokens[len(tokens) + at :][:1])
            least[name] = min(least[name], (time.process_time() - start) / TOGETHER)
    return ", ".join(f"{name} {1000 * seconds:.2f} ms" for name, seconds in least.items())


def main() -> None:
    """Prints a line for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--greedy", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--beside", type=Path)
    options = parser.parse_args()
    tokens = np.load(options.tokens).astype(np.int64)
    print("states:", compare_states(options.folder, tokens[: options.prompt]), flush=True)
    print("simulation:", time_runtime(options.folder, tokens[:128]), flush=True)
    if options.beside:
        print("onnxruntime:", time_runtime(options.beside, tokens[:128]), flush=True)
        print("processor:", time_processor(options.folder, options.beside, tokens[:128]), flush=True)
    if options.greedy:
        print("greedy:", compare_greedy(options.folder, tokens[: options.prompt], options.greedy), flush=True)


if __name__ == "__main__":
    main()
