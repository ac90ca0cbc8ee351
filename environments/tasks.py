"""What an environment can be asked to play: tasks, and their fixed list per split."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One problem of a split: a game, a goal, a question.

    Attributes:
        id: Unique within its environment and the same in every process, e.g.
            ``"valid_seen/pick_..._AlarmClock-None-Desk-307/trial_T2019..."``.
        kind: The category that success is also reported by, e.g.
            ``"pick_and_place_simple"``; empty if the environment has none.
    """

    id: str
    kind: str = ""


class TaskSet(Sequence[Task]):
    """The tasks of one split: sized, indexable and in the same order everywhere.

    Args:
        split: The split's name, for messages.
        size: Number of tasks.
        make: Index (0 <= index < size) to task. Called lazily, so that a split may
            hold billions of generated tasks.
    """

    def __init__(self, split: str, size: int, make: Callable[[int], Task]) -> None:
        if size < 0:
            raise ValueError(f"task set {split!r}: size {size} is negative")
        self.split = split
        self._size = size
        self._make = make

    @classmethod
    def of(cls, split: str, tasks: Sequence[Task]) -> TaskSet:
        """The task set of an explicit list, in the list's order."""
        return cls(split, len(tasks), tasks.__getitem__)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(*index.indices(self._size))]
        if not -self._size <= index < self._size:
            raise IndexError(
                f"task set {self.split!r} holds {self._size} tasks, not index {index}"
            )
        return self._make(index % self._size)

    def __iter__(self) -> Iterator[Task]:
        return (self._make(i) for i in range(self._size))
