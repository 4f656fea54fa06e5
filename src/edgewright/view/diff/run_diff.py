"""Runs a comparison in the folders of the guide: inference engine, verification, tables."""

import csv
import io
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgewright.analyse.verifiers.choices import VerifierChoice
from edgewright.config.accuracy_debugger import DebuggerFolder
from edgewright.config.net_run import Execution, InputFiles, OutputFiles, Profiling
from edgewright.config.net_run import Model as ModelOptions
from edgewright.core.errors import BadInput, Where
from edgewright.core.files import resolve_inside, write_all
from edgewright.sdk.debugger.graph_structure import Structure
from edgewright.sdk.debugger.inference_engine import (
    EngineTask,
    Inference,
    find_engine_backend,
    run_inference,
)
from edgewright.sdk.debugger.matching import TensorMatcher
from edgewright.sdk.debugger.summary import Verification
from edgewright.sdk.debugger.tensor_folder import list_tensor_files
from edgewright.sdk.debugger.verification import verify_tensors
from edgewright.sdk.net_run import PROFILE_FILE, NetRunOptions
from edgewright.view.compare_outputs import find_structure
from edgewright.view.diff.differences import Differences, collect_differences
from edgewright.view.diff.request import (
    GOLDEN_INFERENCE,
    OUTPUT_OUTPUT,
    DiffRun,
    DiffSide,
)
from edgewright.view.node_times import read_node_times
from edgewright.view.open_view import open_view
from edgewright.view.records import ViewModel

log = logging.getLogger(__name__)

CSV, INTERMEDIATE, VERIFICATION = "csv_outputs", "intermediate_files", "verification"
SAVED_RUN = "diff_run.json"


@dataclass(frozen=True)
class _Outputs:
    """Two sets of outputs that are compared run by run, and what is known of their tensors."""

    golden: Sequence[Path]
    targets: Sequence[Path]
    # Names of tensors that are compared -> names of the golden ones.
    mapping: dict[str, str]
    structure: Structure
    # The profiles of both inferences, where there are two.
    profiles: tuple[Path, ...] = ()


def run_diff(run: DiffRun, root: Path) -> ViewModel:
    """Runs what the use case runs and compares; the model of inference one is returned with its differences.

    Args:
        run: what is compared.
        root: the folder that all paths are in; nothing outside it is read by name or written.
    """
    place = resolve_path(root, run.working_dir or ".")
    choice = run.read_verifier()
    with_paths = replace(run, one=_resolve_side(root, run.one), two=_resolve_side(root, run.two))
    model = open_view(Path(with_paths.one.model_json or with_paths.one.model_cpp))
    outputs = _find_outputs(with_paths, root, place)
    if len(outputs.golden) != len(outputs.targets):
        log.warning("%d golden runs, %d runs to compare", len(outputs.golden), len(outputs.targets))
    verifications = [
        _verify(outputs, golden, target, place / VERIFICATION / f"Result_{number}", choice)
        for number, (golden, target) in enumerate(zip(outputs.golden, outputs.targets, strict=False))
    ]
    times = [read_node_times(file) for file in outputs.profiles]
    differences = collect_differences(model, verifications, times, run)
    write_all(
        {
            place / INTERMEDIATE / SAVED_RUN: [run.to_json()],
            place / INTERMEDIATE / "tensor_mapping.json": [
                f"{json.dumps(outputs.mapping, indent=1)}\n".encode()
            ],
            place / CSV / "accuracy.csv": [_write_table(differences.list_accuracy_rows())],
            place / CSV / "performance.csv": [_write_table(differences.list_performance_rows())],
        }
    )
    return _show(model, differences, len(verifications), outputs)


def _show(model: ViewModel, differences: Differences, compared: int, outputs: _Outputs) -> ViewModel:
    notes = [*model.notes, *differences.notes]
    if len(outputs.targets) > compared:
        notes.append(f"{compared} of {len(outputs.targets)} runs have golden tensors and are compared")
    graph = model.graphs[0].name
    return replace(
        model,
        title=f"diff of {model.title}",
        overlays={graph: differences.overlays},
        diffs={graph: differences.to_diff()},
        notes=tuple(notes),
    )


def _find_outputs(run: DiffRun, root: Path, place: Path) -> _Outputs:
    if run.use_case == OUTPUT_OUTPUT:
        golden, results = (_list_runs(resolve_path(root, folder)) for folder in (run.golden, run.results))
        # Raw tensors of the framework stand in its axes, those of two runs are alike.
        is_run = find_structure(golden[0]) or not find_structure(results[0])
        return _Outputs(golden, results, {}, {} if is_run else find_structure(results[0]))
    one = _run_side(run.one, place, "inference_one")
    targets = list(map(Path, one.results))
    if run.use_case == GOLDEN_INFERENCE:
        return _Outputs(_list_runs(resolve_path(root, run.golden)), targets, {}, one.structure)
    two = _run_side(run.two, place, "inference_two")
    names = {facts.source: name for name, facts in one.structure.items()}
    mapping = {
        name: names[facts.source]
        for name, facts in two.structure.items()
        if name not in one.structure and facts.source in names
    }
    profiles = tuple(Path(side.folder, "output", PROFILE_FILE) for side in (one, two))
    measured = profiles if all(file.is_file() for file in profiles) else ()
    return _Outputs(targets, list(map(Path, two.results)), mapping, {}, measured)


def _run_side(side: DiffSide, place: Path, name: str) -> Inference:
    log.info("running %s on %s", name, side.runtime)
    file = side.model_json or side.model_cpp
    net_run = NetRunOptions(
        ModelOptions(backend=find_engine_backend(side.runtime), models=(file,)),
        InputFiles(input_list=(side.input_list,), use_native_input_files=side.input_data_type == "native"),
        OutputFiles(output_data_type=side.output_data_type),
        Execution(perf_profile=side.perf_profile),
        Profiling(profiling_level=side.profiling_level),
    )
    is_apart = bool(side.model_cpp and (side.model_bin or side.model_json))
    task = EngineTask(
        runtime=side.runtime,
        stage="converted" if is_apart else "compiled",
        converter=None,
        context=None,
        net_run=net_run,
        files=(side.model_cpp, side.model_bin, side.model_json) if is_apart else (file,),
    )
    return run_inference(task, DebuggerFolder(working_dir=str(place), output_dirname=name), (net_run.model,))


def _verify(
    outputs: _Outputs, golden: Path, target: Path, folder: Path, choice: VerifierChoice
) -> Verification:
    folder.mkdir(parents=True, exist_ok=True)
    matcher = TensorMatcher(
        list_tensor_files(golden), list_tensor_files(target), outputs.mapping, outputs.structure
    )
    return verify_tensors(matcher, [choice], folder)


def _list_runs(folder: Path) -> list[Path]:
    """The runs in a folder, Result_0 and so on; the folder itself where it is one."""
    runs = [path for path in folder.glob("Result_*") if path.is_dir()]
    numbered = [path for path in runs if path.name.removeprefix("Result_").isdigit()]
    return sorted(numbered, key=lambda path: int(path.name.removeprefix("Result_"))) or [folder]


def _resolve_side(root: Path, side: DiffSide) -> DiffSide:
    names = ("model_json", "model_cpp", "model_bin", "input_list")
    given = {name: getattr(side, name) for name in names if getattr(side, name)}
    return replace(side, **{name: str(resolve_path(root, value)) for name, value in given.items()})


def resolve_path(root: Path, relative: str) -> Path:
    """A path inside the folder of the viewer, also after links are followed."""
    path = root if relative in {"", "."} else resolve_inside(root, relative)
    if not path.resolve().is_relative_to(root.resolve()):
        raise BadInput(
            f"'{relative}' leads out of the folder", Where(file=relative), do="copy it into the folder"
        )
    return path


def _write_table(rows: Iterator[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
