"""Hostile surroundings: places that cannot be written, names that are odd."""

from collections.abc import Iterator

from tests.hostile.case import Case
from tests.hostile.onnx_cases import SOUND

MODEL = {"in/m.onnx": SOUND.SerializeToString()}
CONVERT = ("edgewright", "convert")


def list_places() -> Iterator[Case]:
    """Where results are to go."""
    yield Case(
        "the output folder is a file",
        (*CONVERT, "in/m.onnx", "-o", "out/m.cpp"),
        {**MODEL, "out": "x"},
        (2, 6),
    )
    yield Case("the output is a folder", (*CONVERT, "in/m.onnx", "-o", "out"), {**MODEL, "out/x": "x"}, (0,))
    yield Case("the output is in /proc", (*CONVERT, "in/m.onnx", "-o", "/proc/m.cpp"), MODEL, (2, 6))
    yield Case(
        "an output of 5,000 letters", (*CONVERT, "in/m.onnx", "-o", "out/" + "x" * 5000), MODEL, (2, 3, 6)
    )
    yield Case(
        "an output of 300 letters",
        (*CONVERT, "in/m.onnx", "-o", "out/" + "x" * 300 + ".cpp"),
        MODEL,
        (0, 2, 3, 6),
    )
    yield Case(
        "a loop of links",
        (*CONVERT, "in/loop.onnx", "-o", "out/m.cpp"),
        {"in/loop.onnx": lambda p: p.symlink_to("loop.onnx")},
        (2, 3, 6),
    )
    yield Case(
        "an output behind a loop of links",
        (*CONVERT, "in/m.onnx", "-o", "loop/m.cpp"),
        {**MODEL, "loop": lambda p: p.symlink_to("loop")},
        (2, 3, 6),
    )


def list_names() -> Iterator[Case]:
    """What files are called."""
    data = SOUND.SerializeToString()
    for label, name in {
        "not ASCII": "mödel ∂.onnx",
        "a quote": "a'b\".onnx",
        "a new line": "a\nb.onnx",
        "a dash": "-rf.onnx",
        "a shell": "$(id).onnx",
    }.items():
        yield Case(
            f"a model's name with {label}",
            (*CONVERT, f"in/{name}", "-o", "out/m.cpp"),
            {f"in/{name}": data},
            (0,),
        )
    yield Case("a model that is not there", (*CONVERT, "in/gone.onnx", "-o", "out/m.cpp"), {}, (3,))
    yield Case(
        "a model that is a folder",
        (*CONVERT, "in/m.onnx", "-o", "out/m.cpp"),
        {"in/m.onnx": lambda p: p.mkdir()},
        (3,),
    )
    yield Case("a model of 5,000 letters", (*CONVERT, "in/" + "x" * 5000, "-o", "out/m.cpp"), {}, (2, 3, 6))


CASES = [*list_places(), *list_names()]
