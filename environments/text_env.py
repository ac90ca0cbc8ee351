"""The contract every environment here keeps: text in, text out, and a typed info.

An episode is decided by (task, seed) alone: the same pair gives the same texts,
rewards and infos, byte for byte, in any process.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, TypedDict

import gymnasium

from environments.experts import ExpertPolicy
from environments.prompting import PromptTemplate
from environments.tasks import Task, TaskSet


class StepInfo(TypedDict):
    """The info of ``reset`` and ``step``.

    Attributes:
        task_id: The id of the task being played.
        instruction: What the agent is asked to do, in words.
        admissible_actions: The actions that are possible now, or None if the
            environment does not list them. A placeholder in an entry stands for any
            text, see :func:`environments.parsing.is_listed`.
        state_key: Equal for two steps exactly when the hidden state that matters for
            the future is equal. Hashable, picklable, and stable across processes.
            The anchor of the step advantage (arXiv 2505.10978, Eq. 4 and 6).
        success: Whether the task is solved in the present state.
        figures: Per-environment numbers of the episode so far, e.g. a graded score.
    """

    task_id: str
    instruction: str
    admissible_actions: tuple[str, ...] | None
    state_key: Hashable
    success: bool
    figures: dict[str, float]


class TextEnv(gymnasium.Env[str, str]):
    """A text environment: a Gymnasium environment with ``Text`` spaces and tasks.

    Attributes:
        runs_inline: True when ``reset`` and ``step`` always return within
            milliseconds. They are then called on the runner's own thread, which keeps
            runs repeatable; otherwise each call runs in a worker thread under a time
            limit.
        splits: The names that :meth:`tasks` accepts, training split first.
        prompt: Turns the state of an episode into chat messages, and the model's
            text into an action.
    """

    runs_inline: bool = False
    splits: ClassVar[tuple[str, ...]]
    prompt: PromptTemplate

    @abstractmethod
    def tasks(self, split: str) -> TaskSet:
        """The fixed, ordered tasks of a split.

        Raises:
            ValueError: The split is unknown; the message names the known ones.
            MissingDataError: The data is not there; the message names the command
                that gets it.
        """

    @abstractmethod
    def reset(  # type: ignore[override]  # a TypedDict is no dict[str, Any] to mypy
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, StepInfo]:
        """Start an episode.

        Begin your own with ``super().reset(seed=seed)``, which makes
        ``self.np_random`` and returns nothing of use.

        Args:
            seed: Seeds whatever is random in the episode, and the choice of the task
                when none is given.
            options: ``{"task": Task | str}``, a task or its id. Without it a task of
                the training split is drawn by ``seed``.

        Raises:
            ValueError: The task, or another option, is unknown.
        """
        return super().reset(seed=seed)  # type: ignore[return-value]

    @abstractmethod
    def step(  # type: ignore[override]  # likewise
        self, action: str
    ) -> tuple[str, float, bool, bool, StepInfo]:
        """Play one action.

        Any string is legal. What the environment does not understand, the empty string
        included, changes nothing, costs a step and is answered in words.
        """

    def chosen_task_id(self, options: dict[str, Any] | None) -> str:
        """The task that ``options`` name, or one drawn by ``self.np_random``.

        For :meth:`reset`, after ``super().reset(seed=seed)``. Whether a named task
        exists is left to be checked.

        Raises:
            TypeError, ValueError: As :func:`task_id_of`.
        """
        task_id = task_id_of(options)
        if task_id is None:
            tasks = self.tasks(self.splits[0])
            task_id = tasks[int(self.np_random.integers(len(tasks)))].id
        return task_id

    def expert(self) -> ExpertPolicy:
        """A scripted player of the episode that was just reset, if there is one.

        It should know no more than an agent could have seen, or nothing can be learnt
        by imitating it.

        Raises:
            NotImplementedError: This environment has none.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no expert; define expert() to warm-start a "
            "model on it"
        )


def task_id_of(options: dict[str, Any] | None) -> str | None:
    """The id in ``options["task"]`` (a task or an id), or None.

    Raises:
        TypeError: The option is neither a task nor a string.
        ValueError: There are options other than ``task``.
    """
    if not options:
        return None
    unknown = sorted(set(options) - {"task"})
    if unknown:
        raise ValueError(f"unknown reset options {unknown}; the only option is 'task'")
    task = options["task"]
    if isinstance(task, Task):
        return task.id
    if isinstance(task, str):
        return task
    raise TypeError(f"options['task'] must be a Task or its id, not {type(task)}")
