"""Errors that name options as the legacy converters spell them, in the spelling of the qairt tools."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from edgewright.core.errors import EdgewrightError, Problems

__all__ = ["qairt_spelling", "respelled"]

SPELLINGS = {
    "--out_node": "--out_tensor_node",
    "--input_dim": "--desired_input_shape",
    "--input_dtype": "--source_model_input_datatype",
    "--input_layout": "--source_model_input_layout",
    "--define_symbol": "--onnx_define_symbol",
    "-s": "--onnx_define_symbol",
    "--batch": "--onnx_batch",
    "-b": "--onnx_batch",
    "--no_simplification": "--onnx_no_simplification",
}
# Names of a model stand in quotes: one that looks like an option is left alone.
_OPTION = re.compile(rf"(?<![\w'-])(?:{'|'.join(map(re.escape, SPELLINGS))})(?![\w-])")


@contextmanager
def qairt_spelling() -> Iterator[None]:
    """Translates the options in errors that leave the block."""
    try:
        yield
    except EdgewrightError as error:
        raise _translated(error) from error.__cause__


def respelled(text: str) -> str:
    """A text with the options of the qairt tools."""
    return _OPTION.sub(lambda found: SPELLINGS[found.group()], text)


def _translated(error: EdgewrightError) -> EdgewrightError:
    if isinstance(error, Problems):
        return Problems([_translated(each) for each in error.errors])
    return type(error)(respelled(error.what), error.where, respelled(error.do))
