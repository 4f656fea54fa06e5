"""Random inputs, for measurements that need no others."""

from edgewright.config.umbrella import RunInputs
from edgewright.core.numbers import Array
from edgewright.model.model import Model
from edgewright.model.run_inputs import open_input_sets


def make_random_inputs(model: Model, seed: int = 0) -> dict[str, Array]:
    """One array for each input: 0 to 1 for floats, 0 or 1 for integers."""
    return open_input_sets(model, RunInputs(random=seed))[0].feed()
