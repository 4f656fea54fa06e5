"""Records what LiteRT makes of every case: ``LITERT=python python -m tests.unit.frontends.tflite.record``.

LITERT is a Python that has ai-edge-litert; it need not have anything else of ours.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.unit.frontends.tflite.cases import Case, float_cases
from tests.unit.frontends.tflite.flow_cases import flow_cases
from tests.unit.frontends.tflite.quantized_cases import quantized_cases

RECORDED = Path(__file__).with_name("recorded.npz")
PROGRAM = """
import sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
model = Interpreter(sys.argv[1] + ".tflite", num_threads=1, experimental_op_resolver_type=plain)
model.allocate_tensors()
given, found = np.load(sys.argv[1] + ".npz"), {}
for run in range(int(sys.argv[2])):
    for item in model.get_input_details():
        model.set_tensor(item["index"], given[item["name"]])
    model.invoke()
    for place, item in enumerate(model.get_output_details()):
        found[f"{run}/{place}"] = model.get_tensor(item["index"])
np.savez(sys.argv[1] + ".out.npz", **found)
"""


def record(case: Case, folder: Path) -> dict[str, np.ndarray]:
    """The results of one case, by run and place."""
    stem = folder / case.name
    stem.with_name(f"{case.name}.tflite").write_bytes(case.data)
    np.savez(f"{stem}.npz", **case.inputs)
    command = [os.environ["LITERT"], "-c", PROGRAM, str(stem), str(case.runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(f"{case.name}: {done.stderr.strip().splitlines()[-1:]}\n")
        return {}
    return dict(np.load(f"{stem}.out.npz"))


def main() -> int:
    """Writes recorded.npz; cases that LiteRT refuses are named and left out."""
    kept: dict[str, np.ndarray] = {}
    with TemporaryDirectory() as folder:
        for case in (*float_cases(), *quantized_cases(), *flow_cases()):
            kept |= {f"{case.name}:{place}": array for place, array in record(case, Path(folder)).items()}
    np.savez_compressed(RECORDED, **kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
