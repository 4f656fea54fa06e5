"""What a build is asked for, in one record that the command line and Python fill."""

import math
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgewright.artifacts.encodings import EncodingsSource
from edgewright.config.build import (
    AUTO,
    CHEAPEST,
    FASTEST,
    TIME_LIMIT,
    BuildData,
    BuildOutput,
    BuildTarget,
    Sound,
)
from edgewright.config.group import OptionGroup
from edgewright.config.preprocessing import Preprocessing
from edgewright.config.quantize import PRECISIONS
from edgewright.config.umbrella import ModelFile, Shapes
from edgewright.core.errors import UsageError
from edgewright.core.numbers import DType
from edgewright.data.samples import DataRequest

# Options whose values are written without their folders.
PATHS = frozenset({"--data", "--eval-data", "--labels", "--quantization_overrides"})
# Points that `auto` may lose where no limit was given.
DEFAULT_LIMIT = 1.0


@dataclass(frozen=True)
class BuildRequest:
    """A model, its data, a chip, and how accurate the result must be."""

    model: Path
    target: str
    output: Path
    data: DataRequest
    precision: str = AUTO
    # Of the precisions that keep the limit, the one with the fewest bits or the one estimated fastest.
    prefer: str = CHEAPEST
    # Points of the metric that may be lost; None where no limit was given.
    max_drop: float | None = None
    metric: str = AUTO
    shapes: Shapes = field(default_factory=Shapes)
    # An encodings file, or its content, that comes before what is computed.
    overrides: EncodingsSource | None = None
    # Datatypes of inputs that the source does not store.
    input_dtypes: Mapping[str, DType] = field(default_factory=dict)
    # Values of the source that become the outputs, in place of its own.
    outputs: tuple[str, ...] = ()
    is_resumed: bool = False
    # Seconds; infinite where there is no limit.
    time_limit: float = TIME_LIMIT
    command: str = "edgewright build"
    # The same with whole paths, to be pasted anywhere; empty where something was given in memory.
    rebuild: str = ""
    # Of `time.monotonic()`: exporting a model that came in memory is part of the build's time.
    started: float = field(default_factory=time.monotonic, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Python's callers may give anything."""
        if self.precision not in {AUTO, *PRECISIONS}:
            raise UsageError(
                f"precision is '{self.precision}', expected one of: {', '.join((AUTO, *PRECISIONS))}"
            )
        if self.prefer not in {CHEAPEST, FASTEST}:
            raise UsageError(f"prefer is '{self.prefer}', expected one of: {CHEAPEST}, {FASTEST}")
        if self.max_drop is not None and not 0 <= self.max_drop <= 100:
            raise UsageError(f"max_drop is {self.max_drop}, expected points from 0 to 100")
        if not self.time_limit > 0:
            raise UsageError(f"time_limit is {self.time_limit}, expected seconds above 0, or a text as '10m'")

    @property
    def limit(self) -> float:
        """Points that a candidate may lose."""
        return DEFAULT_LIMIT if self.max_drop is None else self.max_drop

    @property
    def name(self) -> str:
        """The name of the model in the files that are written."""
        return self.model.stem.removesuffix("_net") or "model"


def parse_build_request(  # noqa: PLR0913, PLR0917 - the groups of options, in the order of the tool
    model: ModelFile,
    data: BuildData,
    target: BuildTarget,
    output: BuildOutput,
    images: Preprocessing,
    sound: Sound,
    shapes: Shapes,
) -> BuildRequest:
    """The request that a command line stands for."""
    path = Path(model.model)
    folder = Path(output.output or name_output_folder(path.stem, target.target))
    return BuildRequest(
        model=path,
        target=target.target,
        output=folder,
        data=DataRequest(
            None if data.random_data else data.data,
            data.eval_data,
            data.labels,
            data.calibration_samples,
            data.evaluation_samples,
            images,
            sound.sample_rate,
        ),
        precision=target.precision,
        prefer=target.prefer,
        max_drop=target.max_drop,
        metric=target.metric,
        shapes=shapes,
        overrides=target.quantization_overrides,
        outputs=target.out_node,
        is_resumed=output.resume,
        time_limit=output.time_limit,
        command=_spell_command(path, (data, target, images, sound, shapes)),
        rebuild=_spell_rebuild(path, (data, target, images, sound, shapes), folder, output.time_limit),
    )


def name_output_folder(model: str, target: str) -> str:
    """The folder of a build that names none, in the current one: MODEL_CHIP."""
    chip = "".join(c if c.isalnum() else "_" for c in target)
    return f"{model.removesuffix('_net')}_{chip}"


def _spell_command(model: Path, groups: Sequence[OptionGroup]) -> str:
    """The command line without folders: it is the same on every machine, and so is what is written."""
    words = (word for group in groups for word in _spell_group(group, _name_file))
    return shlex.join(["edgewright", "build", model.name, *words])


def _spell_rebuild(model: Path, groups: Sequence[OptionGroup], output: Path, time_limit: float) -> str:
    """The command line with whole paths: it works in any folder of this machine."""
    words = [word for group in groups for word in _spell_group(group, _locate_file)]
    if time_limit != TIME_LIMIT:
        words += ["--time-limit", "none" if math.isinf(time_limit) else f"{time_limit:g}s"]
    return shlex.join(["edgewright", "build", str(model.absolute()), *words, "-o", str(output.absolute())])


def _spell_group(group: OptionGroup, spell_path: Callable[[str], str]) -> Iterator[str]:
    for name, value in group.given().items():
        is_repeated = isinstance(value, tuple) and value and isinstance(value[0], tuple)
        for each in value if is_repeated else (value,):
            yield name
            yield from _spell_value(name, each, spell_path)


def _spell_value(name: str, value: object, spell_path: Callable[[str], str]) -> Iterator[str]:
    if value is True:
        return
    for part in value if isinstance(value, tuple) else (value,):
        text = ",".join(map(str, part)) if isinstance(part, tuple) else str(part)
        text = f"{part:g}" if isinstance(part, float) else text
        yield spell_path(text) if name in PATHS else text


def _name_file(text: str) -> str:
    return Path(text).name


def _locate_file(text: str) -> str:
    return str(Path(text).absolute())
