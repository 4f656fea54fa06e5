"""Whether a file's runtime cuts a text into the tokens of the checkpoint's own tokenizer."""

from importlib.util import find_spec
from pathlib import Path

from edgewright.llm.load.vocabulary import TOKENIZER
from edgewright.llm.runtimes.session import RuntimeSession
from edgewright.llm.texts import split_text

# Words, blanks in a row, digits, accents and quotes: where tokenizers differ, and in how a text begins.
PROBE = "Call me Ishmael.  In 1851 caf\u00e9s, \u201cwhales\u201d\n\tif x == 12:\n        return [y]"


def compare_tokenizers(session: RuntimeSession, folder: Path) -> bool | None:
    """Whether the tokens of a probe are the same; None where one side has no tokenizer that can be asked.

    Args:
        session: the runtime; where it has no tokenizer of its own, the files beside the model are asked.
        folder: of the checkpoint.
    """
    if not (folder / TOKENIZER).is_file() or find_spec("tokenizers") is None:
        return None
    tokens = session.split_probe(PROBE)
    if not tokens and (session.path / TOKENIZER).is_file():
        tokens = split_text(session.path, PROBE).tolist()
    return tokens == split_text(folder, PROBE).tolist() if tokens else None
