"""How to use the file of a language model: with this package, and with its own runtime alone."""

import shlex
from pathlib import Path

from edgewright.llm.quantize_model import LanguageModelFile
from edgewright.reports.html.device import Recipe

PROMPT, TOKENS = "Once upon a time", 48
LLAMA = """\
from llama_cpp import Llama

model = Llama({path!r}, n_ctx={context}, verbose=False)
for piece in model({prompt!r}, max_tokens={tokens}, temperature=0, stream=True):
    print(piece["choices"][0]["text"], end="", flush=True)
print()"""
GENAI = """\
import onnxruntime_genai as og

model = og.Model({path!r})
tokenizer, parameters = og.Tokenizer(model), og.GeneratorParams(model)
tokenizer.update_options(add_special_tokens="true")
tokens = tokenizer.encode({prompt!r})
parameters.set_search_options(max_length=len(tokens) + {tokens})
generator, stream = og.Generator(model, parameters), tokenizer.create_stream()
generator.append_tokens(tokens)
while not generator.is_done():
    generator.generate_next_token()
    print(stream.decode(generator.get_next_tokens()[0]), end="", flush=True)
print()"""
OPENVINO = """\
import openvino_genai

pipeline = openvino_genai.LLMPipeline({path!r}, "CPU")
settings = {{"max_new_tokens": {tokens}, "do_sample": False, "apply_chat_template": False}}
pipeline.generate({prompt!r}, streamer=lambda piece: print(piece, end="", flush=True), **settings)
print()"""
TRANSFORMERS = """\
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({path!r})
model = AutoModelForCausalLM.from_pretrained({path!r}, dtype="float32")
prompt = tokenizer({prompt!r}, return_tensors="pt")
tokens = model.generate(**prompt, max_new_tokens={tokens}, do_sample=False)
print(tokenizer.decode(tokens[0], skip_special_tokens=True))"""
RUNTIMES = {
    "gguf": ("llama.cpp in Python", "llama-cpp-python", LLAMA),
    "onnx": ("ONNX Runtime GenAI", "onnxruntime-genai", GENAI),
    "openvino": ("OpenVINO GenAI", "openvino-genai", OPENVINO),
    "safetensors": ("PyTorch", "transformers torch", TRANSFORMERS),
}


def list_commands(
    made: LanguageModelFile, folder: str, context: int, *, can_chat: bool
) -> tuple[Recipe, ...]:
    """All ways to use a file; each runs as it is pasted, in any folder."""
    path = str(Path(folder, made.path))
    quoted = shlex.quote(path)
    prompt = shlex.quote(PROMPT)
    own = f"edgewright llm run {quoted} --prompt {prompt} --tokens {TOKENS} --context {min(2048, context)}"
    recipes = [Recipe("Here", "Continues a text, token by token.", own)]
    if can_chat:
        talk = f"edgewright llm chat {quoted} --context {min(2048, context)}"
        recipes.append(Recipe("A talk", "In the terminal; an empty line ends it.", talk))
    if made.format == "mlx":
        command = f"python -m mlx_lm generate --model {quoted} --prompt {prompt} --max-tokens {TOKENS}"
        needs = "On Apple's chips (and slowly on Linux): pip install mlx-lm"
        return (*recipes, Recipe("mlx-lm", needs, command))
    title, packages, program = RUNTIMES[made.format]
    text = program.format(path=path, prompt=PROMPT, tokens=TOKENS, context=min(2048, context))
    code = f"python - <<'END'\n{text}\nEND"
    return (*recipes, Recipe(title, f"Needs nothing of this package: pip install {packages}", code))
