"""The codes that QNN's libraries return, what they mean in practice and what helps."""

from dataclasses import dataclass

# A handle carries the code in its lower half; the rest is the library's own.
_CODE_BITS = 0xFFFF
# The first code of each part of the interface.
AREAS: dict[int, str] = {
    1000: "common to all parts",
    2000: "properties and capabilities",
    3000: "op packages and op validation",
    4000: "the backend",
    5000: "contexts and context binaries",
    6000: "graphs",
    7000: "tensors",
    8000: "shared memory",
    9000: "signals",
    10000: "error messages",
    11000: "logging",
    12000: "profiling",
    14000: "the device",
    15000: "global configuration",
    30000: "the System library (reader of context binaries and DLCs)",
}
_LAST = {12000: 12999, 15000: 15999, 30000: 30999}


@dataclass(frozen=True)
class ErrorCode:
    """A code with its causes, the likeliest first, and what to do about them."""

    code: int
    name: str
    causes: tuple[str, ...]
    fixes: tuple[str, ...]
    # Public threads about it.
    seen: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The part of the interface that it comes from."""
        return find_area(self.code)


def find_area(code: int) -> str:
    """The part of the interface that a code belongs to; "" for a number that is not a QNN code."""
    start = max((first for first in AREAS if first <= code), default=0)
    return AREAS[start] if start and code <= _LAST.get(start, code) else ""


def find_error_code(number: int) -> ErrorCode | None:
    """What is known about a code, or a handle that carries one; None for unknown ones."""
    code = number & _CODE_BITS if number > _CODE_BITS else number
    return _BY_CODE.get(code)


CODES: tuple[ErrorCode, ...] = (
    ErrorCode(
        1000,
        "not supported",
        (
            "the backend knows the function or option, but not on this platform (checking a binary on x86)",
            "a tensor has a data type that the chip lacks, such as bfloat16",
        ),
        ("leave the option out, or use the backend or the chip that has it", "choose another data type"),
    ),
    ErrorCode(
        1002,
        "the graph could not be prepared, or memory ran out",
        (
            "an op could not be placed: its slice does not fit into VTCM, or no kernel has its data types",
            "an op was added that the backend does not have",
            "the chip is not one that this library version can compile for",
            "on a device: the weights could not be mapped (seen from some 470 MB on)",
        ),
        (
            "read the last lines of the log at --log_level verbose: they name the op",
            "raise vtcm_mb (0 is all that the chip has), or lower the optimization level",
            "change the precision of the op that is named, or cut its tensors smaller",
            "split a large model into several contexts",
        ),
        ("onnxruntime#21221", "onnxruntime#22369", "executorch#18862"),
    ),
    ErrorCode(
        1005,
        "not permitted now",
        ("a global setting was made after other calls of the library",),
        ("make global settings first, in a fresh process",),
    ),
    ErrorCode(
        2000,
        "unknown property",
        ("the library was asked for a capability whose number it does not know",),
        ("do not rely on it: the HTP library returns it for encodings that it does support",),
    ),
    ErrorCode(
        3110,
        "the op does not pass validation",
        (
            "the backend does not support this combination of data types, ranks, shapes or parameters",
            "16-bit activations, or fp16, on a chip before v73",
        ),
        (
            "look at the report of the refused ops: it lists the data types that each one accepts",
            "give the op another precision with an encodings file, or target a newer chip",
        ),
        ("onnxruntime#22821", "onnxruntime#21848"),
    ),
    ErrorCode(
        4000,
        "the backend did not start",
        (
            "the GPU library on x86 works in its tuning mode only",
            "the library does not fit the system: a library it needs is missing",
        ),
        ("run GPU models on a device, or use libQnnHtp.so or libQnnCpu.so", "edgewright doctor"),
    ),
    ErrorCode(
        4005,
        "unknown op or package",
        ("the backend does not have the op's type", "its op package was not registered"),
        ("edgewright op NAME shows who has the op", "register the package with --op_packages"),
    ),
    ErrorCode(
        4012,
        "no device to tune on",
        ("the GPU library on x86 looks for a server on a real device",),
        ("run GPU models on a device",),
    ),
    ErrorCode(
        4950,
        "nothing to return while recording",
        ("the Saver backend only records calls: those that return data cannot be answered",),
        ("replay the recording on a backend that computes",),
    ),
    ErrorCode(
        5000,
        "the context could not be created",
        (
            "the QNN libraries on the device are older than those that made the context binary",
            "the binary was compiled for another chip",
            "the file is damaged or not a context binary",
        ),
        (
            "edgewright check X.bin --target CHIP shows for which chip and with which version it was made",
            "compile for the chip of the device, with libraries not newer than those on it",
        ),
        ("ai-hub-apps#148",),
    ),
    ErrorCode(
        5005,
        "the context binary needs what the device lacks",
        (
            "it was compiled for a newer architecture ('Request feature arch with value 79 unsupported')",
            "the device's driver was updated and no longer accepts binaries of the older version",
        ),
        (
            "edgewright check X.bin --target CHIP, then compile for the chip of the device",
            "compile again with the version of the libraries on the device",
        ),
        ("ai-hub-apps#63", "foundry-local#244"),
    ),
    ErrorCode(
        6001,
        "the execution failed",
        (
            "a buffer of an input or output is missing or has the wrong size",
            "the device ran out of memory, or its process was restarted",
        ),
        (
            "compare names, data types and sizes with qnn-context-binary-utility's JSON",
            "run the same binary on the emulator: if it works there, look at the device's memory and log",
        ),
        ("onnxruntime#25422", "onnxruntime#25335"),
    ),
    ErrorCode(
        6004,
        "a tensor does not belong to the graph",
        ("execution finds tensors by their ids; those of a loaded context are in its metadata",),
        ("take the ids from the System library after loading a binary",),
    ),
    ErrorCode(
        6007,
        "nodes are out of order",
        ("a node was added before the one that computes its input",),
        ("add nodes in the order in which they can run",),
    ),
    ErrorCode(
        6999,
        "unknown failure of a graph",
        ("seen on GPU backends when an op fails at run time",),
        ("run the model on the CPU or HTP backend to see whether the model is the cause",),
    ),
    ErrorCode(
        7003,
        "a tensor name is taken",
        ("two tensors of a graph have the same name",),
        ("give every tensor a unique name; converters do",),
    ),
    ErrorCode(
        7004,
        "a tensor is not valid",
        (
            "a static tensor has no data",
            "the data type is unknown, or a 4-bit one, which HTP accepts in an 8-bit container only",
        ),
        ("give static tensors their data", "store 4-bit values in 8 bits with bit width 4"),
    ),
    ErrorCode(
        14001,
        "the device configuration is not understood",
        (
            "its layout is that of another library version (the log says 'unknown socModel 0')",
            "the chip is unknown to this library",
        ),
        ("use a tested version of the libraries: edgewright doctor", "name another target"),
    ),
    ErrorCode(
        30010,
        "the file cannot be read",
        (
            "it is not a context binary, or was truncated in transfer",
            "the application was built for another version, or for another kind of file",
        ),
        (
            "qnn-context-binary-utility --context_binary X.bin says what it is",
            "copy or compile it again, and compare the sizes",
        ),
        ("executorch#6820",),
    ),
)
_BY_CODE = {entry.code: entry for entry in CODES}
