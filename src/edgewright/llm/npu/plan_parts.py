"""Which layers stand together: a context holds 2 GiB at most, so large models are cut into several."""

from edgewright.core.errors import UnsupportedFeature, UsageError
from edgewright.llm.load.spec import ModelSpec
from edgewright.llm.npu.manifest import INSIDE, OUTSIDE

# What a context may hold (the library maps no more), less room for what is not weights.
MOST_BYTES = (2 << 30) * 9 // 10
# An embedding with more values is a file that the application reads, where nothing is said.
LARGEST_INSIDE = 1 << 27


def choose_embedding(spec: ModelSpec, asked: str | None) -> str:
    """Where tokens become embeddings."""
    if asked is not None:
        return asked
    return INSIDE if spec.vocabulary * spec.hidden <= LARGEST_INSIDE else OUTSIDE


def plan_parts(spec: ModelSpec, embedding: str, *, is_shared: bool, asked: int | None) -> tuple[int, ...]:
    """How many layers each part has; the first has the embedding as well, the last the head.

    Args:
        spec: the model.
        embedding: inside or outside of the first part.
        is_shared: whether both graphs of a context share their weights; else it has them twice.
        asked: how many parts there must be; None: as few as hold the model.
    """
    units = _measure_units(spec, embedding, 1 if is_shared else 2)
    if max(units) > MOST_BYTES:
        raise UnsupportedFeature(
            f"an embedding, a layer or a head has {max(units) / 1e9:.1f} GB, a context holds "
            f"{MOST_BYTES / 1e9:.1f} GB",
            do="use --share_weights and --embedding outside",
        )
    least = len(_fill(units, MOST_BYTES))
    if asked is not None and not least <= asked <= len(units):
        raise UsageError(
            f"--parts is {asked}, expected {least} to {len(units)}", do="leave it out, or choose one of these"
        )
    return tuple(_balance(units, asked or least))


def _measure_units(spec: ModelSpec, embedding: str, copies: int) -> list[int]:
    """Bytes of what cannot be cut: layers, of which the first has the embedding, and the head.

    Weights of 4 bits are counted with 8, as the compiler stores those in blocks.
    """
    table = spec.vocabulary * spec.hidden
    layer = (spec.weights - table * (1 if spec.is_tied else 2)) // spec.layers
    units = [layer] * spec.layers + [table]
    if embedding == INSIDE:
        units[0] += 2 * table
    return [copies * unit for unit in units]


def _fill(units: list[int], most: float) -> list[list[int]]:
    """Neighbours that stand together without exceeding a size."""
    parts: list[list[int]] = [[]]
    for unit in units:
        if parts[-1] and sum(parts[-1]) + unit > most:
            parts.append([])
        parts[-1].append(unit)
    return parts


def _balance(units: list[int], count: int) -> list[int]:
    """Layers of each of so many parts, the largest of which is as small as possible."""
    low, high = max(units), sum(units)
    while low < high:
        middle = (low + high) // 2
        if len(_fill(units, middle)) <= count:
            high = middle
        else:
            low = middle + 1
    parts = _fill(units, low)
    while len(parts) < count:
        # Fewer hold it all: the largest that can be cut is cut.
        place = max(range(len(parts)), key=lambda number: (len(parts[number]) > 1, sum(parts[number])))
        middle = len(parts[place]) // 2
        parts[place : place + 1] = [parts[place][:middle], parts[place][middle:]]
    lengths = [len(part) for part in parts]
    lengths[-1] -= 1
    return lengths
