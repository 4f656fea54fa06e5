"""Which value a name of the source model stands for, in the graph, in subgraphs and in function bodies."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from edgewright.core.errors import BadInput, LimitExceeded, Where

DEEPEST_NESTING = 64


class Scopes:
    """Names seen from where the import stands; a subgraph sees what is around it, a function does not."""

    def __init__(self) -> None:
        self._levels: list[dict[str, str]] = [{}]
        self._lowest = 0  # the outermost level that is visible

    @property
    def depth(self) -> int:
        """How many graphs and functions the import is inside of; 0 in the main graph."""
        return len(self._levels) - 1

    @contextmanager
    def open(self, names: Mapping[str, str], *, is_closed: bool = False) -> Iterator[None]:
        """A level inside the present one; a closed one sees nothing else."""
        if self.depth >= DEEPEST_NESTING:
            raise LimitExceeded(
                f"subgraphs and functions are nested deeper than {DEEPEST_NESTING}",
                do="flatten the model's control flow",
            )
        before = self._lowest
        self._levels.append(dict(names))
        self._lowest = len(self._levels) - 1 if is_closed else before
        try:
            yield
        finally:
            self._levels.pop()
            self._lowest = before

    def define(self, name: str, value: str) -> None:
        """Gives a name its value; it must be new on this level."""
        if name in self._levels[-1]:
            raise BadInput(f"value '{name}' is made twice", Where(tensor=name), do="export the model again")
        self._levels[-1][name] = value

    def rename(self, old: str, new: str) -> None:
        """Another name for a value, wherever it is known."""
        for level in self._levels:
            level.update({name: new for name, value in level.items() if value == old})

    def resolve(self, name: str) -> str:
        """The value of a name; "" stays what it is."""
        if not name:
            return ""
        for level in range(len(self._levels) - 1, self._lowest - 1, -1):
            if name in self._levels[level]:
                return self._levels[level][name]
        raise BadInput(
            f"value '{name}' is read but never made", Where(tensor=name), do="export the model again"
        )

    def __contains__(self, name: object) -> bool:
        return any(name in level for level in self._levels[self._lowest :])
