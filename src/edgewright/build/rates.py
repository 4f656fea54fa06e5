"""How fast this machine runs a model now, and what the steps of a build take at that rate."""

from dataclasses import dataclass, fields

from edgewright.core.machine_use import count_cores, read_thread_limit
from edgewright.evaluate.loss import FEWEST

# Runs that compare layers; what files and the report take, and in compilations what compiling and wrapping
# take with all files.
COMPARED, WRITING_SECONDS, COMPILATIONS = 12, 1.0, 1.5
LAYERS_EMULATED = 6
# Emulators that run at a time, one a core; each holds a copy of the model.
MOST_WORKERS = 4


@dataclass(frozen=True)
class Rates:
    """Seconds of one sample, and of what comes once."""

    floating: float
    simulated: float
    # Making a session of the float model, and of a quantized one.
    preparing: float
    preparing_simulation: float
    # Of the emulator; 0 where there is none.
    emulated: float = 0.0
    compiling: float = 0.0
    # Of the emulator with half precision, which takes a part of that or several times as long, by the layers;
    # 0 where that was not tried.
    emulated_half: float = 0.0
    # Starting it with a binary.
    loading: float = 0.0
    # Plain 8 bits on a few samples, and what correcting weights takes besides runs of the float model.
    quantizing: float = 0.0
    correcting: float = 0.0

    @property
    def planning(self) -> float:
        """What it takes to plan the encodings of a graph and to get it ready, runs of it included."""
        return self.quantizing + self.preparing_simulation

    def scale_seconds(self, factor: float) -> "Rates":
        """The same on a machine that has become slower."""
        return Rates(**{field.name: factor * getattr(self, field.name) for field in fields(self)})

    def estimate_layers(self) -> float:
        """What comparing layers in the simulation takes."""
        return COMPARED * (self.floating + self.simulated) + 4 * self.preparing_simulation

    def estimate_emulated_layers(self) -> float:
        """What comparing layers on the emulator takes: compiled with all results, which it gives back."""
        return self.compiling + LAYERS_EMULATED * self.emulated

    @property
    def unstoppable(self) -> float:
        """What nothing can stop once it has begun: compiling, and writing all files."""
        return COMPILATIONS * self.compiling + WRITING_SECONDS

    def estimate_finish(self, judging: int) -> float:
        """What comes after the search but the emulator: files, the verdict, layers and the report."""
        return self.estimate_verdict(judging) + self.estimate_emulated_layers()

    def estimate_another(self, judging: int) -> float:
        """What one more candidate takes: it is compiled, checked, and judged by a few emulated samples."""
        emulating = 2 * self.loading + FEWEST * self.emulated / count_workers()
        return self.estimate_verdict(judging) + emulating

    def estimate_verdict(self, judging: int) -> float:
        """The same without layers on the emulator, which a better candidate comes before."""
        judged = judging * (self.floating + self.simulated)
        return judged + self.estimate_layers() + self.unstoppable


def count_workers() -> int:
    """How many emulators run at a time."""
    return min(MOST_WORKERS, read_thread_limit() or count_cores())
