"""All examples, in the order of the guide and then of the course."""

from tests.guide import analysis, converters, course, debugger, execution, quantization, setup
from tests.guide.example import GUIDE

_PARTS = (setup, converters, execution, analysis, debugger, quantization, course)
EXAMPLES = tuple(
    sorted(
        (example for part in _PARTS for example in part.EXAMPLES),
        key=lambda one: (one.book != GUIDE, one.lines),
    )
)
