"""A language model in a process of its own: a runtime that crashes becomes an error."""

from pathlib import Path
from types import TracebackType
from typing import Any

from edgewright.abi.worker_process import WorkerProcess
from edgewright.core.errors import EdgewrightError, Where
from edgewright.core.numbers import Array
from edgewright.llm.load.config import CONFIG
from edgewright.llm.load.vocabulary import read_json_object
from edgewright.llm.runtimes.decoder import find_kind
from edgewright.llm.runtimes.messages import CODEC

GENAI, ROOM = "genai_config.json", "max_position_embeddings"
# A large model on a slow machine takes minutes for a piece of text, not hours.
SECONDS = 3600.0


def read_genai_model(folder: Path) -> dict[str, Any]:
    """What ONNX Runtime GenAI is told of the model in a folder."""
    model = read_json_object(folder / GENAI, needed=False).get("model", {})
    return model if isinstance(model, dict) else {}


class RuntimeSession:
    """Opens a file or folder in the runtime that it was written for.

    Args:
        path: a GGUF file, or a folder of ONNX Runtime, OpenVINO, MLX or a checkpoint.
        context: tokens that are remembered.
        backend: where a model that was built for the NPU runs; the simulation where nothing is said.
    """

    def __init__(self, path: Path | str, context: int, backend: str = "") -> None:
        self.path = Path(path)
        self.kind = find_kind(self.path)
        self._child = WorkerProcess(
            "edgewright.llm.runtimes.worker",
            f"the process that runs {self.kind}",
            CODEC,
            SECONDS,
            Where(file=str(path)),
        )
        try:
            place = str(self.path.resolve())
            self._call("open", kind=self.kind, path=place, context=context, backend=backend)
        except BaseException:
            self._child.stop()
            raise

    def __enter__(self) -> "RuntimeSession":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.stop()

    def measure(
        self, tokens: Array, targets: Array, reference: Array | None = None
    ) -> tuple[Array, Array, Array | None]:
        """Losses of the targets, the likeliest tokens, and the divergence from reference logits."""
        losses, likeliest, gaps = self._call("measure", tokens=tokens, targets=targets, reference=reference)
        return losses, likeliest, gaps

    def time_decoding(self, tokens: Array, prompt: int, seconds: float) -> tuple[float, float]:
        """Tokens a second of a prompt at once, and of those after it one by one, for some seconds at most."""
        read, written = self._call("time_decoding", tokens=tokens, prompt=prompt, seconds=seconds)
        return read, written

    def feed(self, tokens: Array) -> Array:
        """The logits after the last of these tokens."""
        logits: Array = self._call("feed", tokens=tokens)
        return logits

    def reset(self) -> None:
        """Forgets all tokens."""
        self._call("reset")

    def split_text(self, text: str, *, is_start: bool) -> list[int]:
        """The tokens of a text by the runtime's own tokenizer; none where it has none."""
        return self._call("split_text", text=text, is_start=is_start) or []

    def split_probe(self, text: str) -> list[int]:
        """The tokens of a text by the tokenizer that users of the runtime have; none where there is none."""
        return self._call("split_probe", text=text) or []

    def join_tokens(self, tokens: list[int]) -> bytes:
        """The text of tokens by the runtime's own tokenizer."""
        return bytes(self._call("join_tokens", tokens=tokens))

    def list_ends(self) -> list[int]:
        """Tokens that end an answer, as the file says."""
        return self._call("list_ends") or []

    def get_room(self) -> int | None:
        """Tokens that the model was made for, as the file says, or the settings beside it."""
        room: int | None = self._call("get_room")
        if room is not None or not self.path.is_dir():
            return room
        config = read_json_object(self.path / CONFIG, needed=False)
        rooms = (read_genai_model(self.path).get("context_length"), config.get(ROOM))
        return next((room for room in rooms if type(room) is int and room > 1), None)

    def get_limit_share(self) -> float | None:
        """The share of keys and values at an end of their range; None where they are floats."""
        share: float | None = self._call("get_limit_share")
        return share

    def get_template(self) -> str:
        """How a chat is spelled, as the file says."""
        return self._call("get_template") or ""

    def _call(self, request: str, /, **arguments: Any) -> Any:
        value, problem = self._child.exchange(request, arguments)
        if isinstance(problem, EdgewrightError):
            raise problem
        return value
