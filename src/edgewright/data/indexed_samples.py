"""Samples that can be read one by one, in any order."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from edgewright.core.numbers import Array


class IndexedSamples(ABC):
    """Samples by their numbers from 0; each is read when it is asked for."""

    # What a column of right answers says, where the samples are rows of a table.
    label_texts: Sequence[str] | None = None

    @abstractmethod
    def __len__(self) -> int:
        """How many there are."""

    @abstractmethod
    def __getitem__(self, number: int) -> Mapping[str, Array]:
        """The arrays of one sample by input name."""

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        yield from (self[number] for number in range(len(self)))
