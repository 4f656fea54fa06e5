"""docs/llm.md: the figures of benchmarks.llm as tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgewright.core.files import write_whole

INTRODUCTION = """\
# Language models: the four flows and ours

Every file was run in the runtime that it is for, on the same pieces of the same text, beside the checkpoint
in floats. The rise is that of perplexity over the float model's, with the 95 % interval of the difference;
the divergence of what the file says from what the float model says (8 pieces) tells files apart more finely.
`make bench-llm ARGS="--model FOLDER --calib IDS.npy --text IDS.npy"` writes this page; each table says when
and with what. The checkpoint is a Phi-3 of 4.2 million weights that is not published: with another one, as
`examples/models/moby_phi` is, the same command measures the same.
"""


def write_page(path: Path, results: dict[str, Any]) -> None:
    """All parts that were measured."""
    lines = [INTRODUCTION]
    for part, draw in DRAWN.items():
        if part in results:
            lines += [*draw(results[part]["rows"]), "", _describe(results[part]), ""]
    write_whole(path, ["\n".join(lines).rstrip().encode() + b"\n"])


def _describe(result: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    return f"{result['date']}, `{result['command']}`, Python {result['python']}; {versions}."


def _draw_perplexity(rows: list[dict[str, Any]]) -> Iterator[str]:
    scores = [row["score"] for row in rows if "score" in row]
    yield "## Perplexity"
    yield ""
    most = max(scores, key=lambda score: score["windows"])
    pieces, plain = most["windows"], most["float_perplexity"]
    yield f"{pieces} pieces of 256 tokens, float {plain:.4f}. Sizes are without tokenizers."
    if all(row["name"].startswith("Edgewright") for row in rows):
        yield "This run was ended before the peers' turn: their rows are not there."
    yield ""
    yield "| tool | | MB | perplexity | rise | divergence, nats | writes tokens / s | command |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in sorted(rows, key=lambda row: ORDER.index(row["precision"])):
        yield f"| {row['name']} | {row['precision']} | {_spell_row(row, pieces)} | `{row['command']}` |"


def _spell_row(row: dict[str, Any], pieces: int) -> str:
    if "score" not in row:
        return f"- | {row['problem'].replace('|', '/')} | - | - | -"
    score = row["score"]
    written = score["written_per_second"]
    speed = "-" if written is None else f"{written:.0f}"
    few = f" ({score['windows']} pieces, float {score['float_perplexity']:.4f})"
    perplexity = f"{score['perplexity']:.4f}{'' if score['windows'] == pieces else few}"
    figures = f"{_spell_rise(score)} | {score['divergence']:.5f}"
    return f"{row['bytes'] / 1e6:.2f} | {perplexity} | {figures} | {speed}"


def _spell_rise(score: dict[str, Any]) -> str:
    low, high = score["increase_low"], score["increase_high"]
    return f"{score['increase'] + 0.0:+.2f} % ({low:+.2f} to {high:+.2f})"


def _draw_other(rows: list[dict[str, Any]]) -> Iterator[str]:
    score = rows[0]["score"]
    yield "## Another book, which calibrated nothing"
    yield ""
    yield f"{Path(score['text']).name}, {score['windows']} pieces, float {score['float_perplexity']:.2f}."
    yield ""
    yield (
        "The model knows little of such a text, and its perplexity says little of 4 bits; the divergence of "
        "what it says from what the float model says does (8 pieces)."
    )
    yield ""
    yield "| tool | perplexity | rise | divergence, nats |"
    yield "|---|---|---|---|"
    for row in rows:
        score = row["score"]
        figures = f"{score['perplexity']:.2f} | {_spell_rise(score)} | {score['divergence']:.4f}"
        yield f"| `{row['command']}` | {figures} |"


def _draw_codes(rows: list[dict[str, Any]]) -> Iterator[str]:
    same = [row for row in rows if row["onnx"] and row["openvino"]]
    values = sum(row["values"] for row in rows)
    yield "## The same numbers in all formats"
    yield ""
    yield (
        f"{len(same)} of {len(rows)} symmetric 4-bit matrices ({values:,} weights) are the same bit for bit "
        "in the GGUF, ONNX and OpenVINO files, each unpacked by its own package; the head is wider, as each "
        "runtime has it."
    )


def _draw_greedy(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Greedy tokens of fp32 files against torch's"
    yield ""
    yield f"{rows[0]['tokens']} tokens after a prompt of ten; all but the first model have random weights."
    yield ""
    yield "| model | llama.cpp (f32 keys and values) | ONNX Runtime GenAI | OpenVINO GenAI (f32) | mlx-lm |"
    yield "|---|---|---|---|---|"
    for row in rows:
        yield f"| {row['model']} | {row['gguf']} | {row['onnx']} | {row['openvino']} | {row['mlx']} |"


def _draw_time(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "## Time and memory, half a billion weights"
    yield ""
    yield "Random weights of Phi-3's shapes (hidden 1536, 16 layers, bf16: 1.1 GB) to 4 bits, in turn."
    yield ""
    yield "| command | seconds | CPU seconds | peak MB |"
    yield "|---|---|---|---|"
    for row in rows:
        figures = f"{row['seconds']:.0f} | {row['processor_seconds']:.0f} | {row['peak_mb']:.0f}"
        yield f"| `{row['command']}` | {row['problem'] or figures} |"


ORDER = ("int4", "int8", "fp16", "fp32")
DRAWN = {
    "perplexity": _draw_perplexity,
    "other": _draw_other,
    "codes": _draw_codes,
    "greedy": _draw_greedy,
    "time": _draw_time,
}
