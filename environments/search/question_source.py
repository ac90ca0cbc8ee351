"""Where an environment's questions and passages come from: files, or the encyclopedia.

Questions are read when a split is first asked for and shared by all environments of a
process that play the same files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from environments.errors import MissingDataError
from environments.search.corpus import FILE_ENDINGS
from environments.search.embedded_world import (
    HOP_SETS,
    WorldQuestion,
    world_questions,
    world_retriever,
)
from environments.search.questions import (
    Question,
    read_question_folder,
    read_questions,
    take_sets,
)
from environments.search.retrieval import Retriever
from environments.search.retrievers import RetrieverSetting, make_retriever
from environments.tasks import Task, TaskSet

Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None
_Questions: TypeAlias = Mapping[str, Question]


class QuestionSource:
    """The questions of each split by task id, and the retriever that fits them.

    Args:
        data: A folder, or None.
        files: Split to the files given for it, if any.
        sets: Split to the names of its sets; the encyclopedia has sets of its own.
        world: Size of the encyclopedia, played without folder and files.

    Raises:
        ValueError: The world's size is unknown.
    """

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None,
        files: Mapping[str, Paths],
        sets: Mapping[str, tuple[str, ...]],
        world: str,
    ) -> None:
        self._folder = Path(data).expanduser() if data is not None else None
        self._files = {split: _paths(paths) for split, paths in files.items()}
        self._sets = sets
        self._world: str | None = None
        if self._folder is None and not any(self._files.values()):
            self._world = world
            world_retriever(world)

    def retriever(self, setting: RetrieverSetting) -> Retriever:
        """The retriever of a setting, or the default one.

        Raises:
            MissingDataError: There is no setting, and no corpus either.
        """
        if setting is not None:
            return make_retriever(setting)
        if self._world is not None:
            return world_retriever(self._world)
        if self._folder is not None:
            for ending in FILE_ENDINGS:
                corpus = self._folder / f"corpus{ending}"
                if corpus.is_file():
                    return make_retriever({"kind": "bm25", "corpus": str(corpus)})
        raise MissingDataError(
            f"no corpus to search in {self._folder}: put corpus.jsonl (also .gz, .bz2, "
            ".xz, or corpus.parquet) there, or give a retriever, e.g. {'kind': 'http', "
            "'urls': 'http://127.0.0.1:8000/retrieve'}"
        )

    def tasks(self, split: str) -> TaskSet:
        """The tasks of a split.

        Raises:
            ValueError: The split is unknown.
            MissingDataError: A file or a set is not there.
        """
        questions = self._questions(split)
        ids = tuple(questions)
        return TaskSet(
            split,
            len(ids),
            lambda index: Task(id=ids[index], kind=questions[ids[index]].set_name),
        )

    def question(self, task_id: str) -> Question:
        """The question of a task.

        Raises:
            ValueError: There is no such task.
        """
        split = task_id.partition("/")[0]
        if split in self._sets and task_id in (questions := self._questions(split)):
            return questions[task_id]
        raise ValueError(
            f"no question {task_id!r}; ids are '<split>/<set>/<id>' with a split of "
            f"{list(self._sets)}, as env.tasks(split) lists them"
        )

    def world_question(self, question: Question) -> WorldQuestion | None:
        """How an encyclopedia question is worked out; None for others."""
        if self._world is None:
            return None
        for split in self._sets:
            found = world_questions(self._world, split).get(question.text)
            if found is not None:
                return found
        return None

    def _questions(self, split: str) -> _Questions:
        if split not in self._sets:
            raise ValueError(f"split {split!r}: choose one of {list(self._sets)}")
        if self._world is not None:
            return _world_by_task(self._world, split)
        files, sets = self._files[split], self._sets[split]
        if not files and self._folder is None:
            raise MissingDataError(
                f"no questions of split {split!r}: name their files by "
                f"{split}_questions, or a folder by data"
            )
        return _read(split, files, self._folder, sets)


@lru_cache(maxsize=8)
def _read(
    split: str, files: tuple[Path, ...], folder: Path | None, sets: tuple[str, ...]
) -> _Questions:
    if files:
        questions = [question for file in files for question in read_questions(file)]
    else:
        assert folder is not None
        questions = read_question_folder(folder, split)
    return _by_task(split, take_sets(questions, sets))


@lru_cache(maxsize=4)
def _world_by_task(world: str, split: str) -> _Questions:
    known = world_questions(world, split).values()
    return _by_task(split, take_sets((q.question for q in known), HOP_SETS))


def _by_task(split: str, questions: Iterable[Question]) -> _Questions:
    return {f"{split}/{q.set_name}/{q.id}": q for q in questions}


def _paths(paths: Paths) -> tuple[Path, ...]:
    if paths is None:
        return ()
    many = [paths] if isinstance(paths, str | os.PathLike) else paths
    return tuple(Path(path).expanduser() for path in many)
