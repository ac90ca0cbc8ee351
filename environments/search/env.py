"""``SearchQA-v0``: questions to be answered with the help of a search engine."""

from __future__ import annotations

import os
import string
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import gymnasium

from environments.choices import check_choice
from environments.search.actions import SearchAction, read_action
from environments.search.corpus import Passage
from environments.search.exact_match import exact_match
from environments.search.expert import SearchExpert
from environments.search.information import (
    INFORMATION_STYLES,
    InformationStyle,
    information,
)
from environments.search.prompt import SearchPrompt
from environments.search.question_source import Paths, QuestionSource
from environments.search.questions import QUESTION_SETS, TRAIN_SETS, Question
from environments.search.retrieval import DEFAULT_TOP_K
from environments.search.retrievers import RetrieverSetting
from environments.styled_prompt import PromptSetting, make_prompt
from environments.tasks import TaskSet
from environments.text_env import StepInfo, TextEnv

Anchor: TypeAlias = Literal["state", "observation"]
Feedback: TypeAlias = Literal["words", "official"]

NOT_UNDERSTOOD = (
    "That was neither a search nor an answer, so nothing happened. To search, write "
    "the query between <search> and </search>; to answer, write the answer between "
    "<answer> and </answer>."
)
ANSWERED = "The answer was taken down."
NO_TURN_LEFT = "No turn is left."
_ANCHORS = ("state", "observation")
_FEEDBACKS = ("words", "official")
_MAX_OBSERVATION = 65_536
_MAX_ACTION = 1024


class SearchQAEnv(TextEnv):
    """Search or answer, turn by turn; the reward is the answer's exact match.

    Example::

        env = SearchQAEnv()
        observation, info = env.reset(options={"task": env.tasks("eval")[0]})
        step = env.step("<search>Ada Holm</search>")

    The first observation is the question, a later one what the last search found. The
    state key is the question with everything found so far.

    Args:
        data: A folder with questions and, for the default retriever, ``corpus.*``; see
            :func:`environments.search.questions.read_question_folder`. Without it and
            without question files an invented encyclopedia is played.
        train_questions, eval_questions: Files of questions in place of the folder's.
        train_sets: Question sets of the split ``train``; NQ and HotpotQA by default.
        eval_sets: Those of the split ``eval``; all seven by default.
        retriever: A retriever or its settings; see
            :func:`environments.search.retrievers.make_retriever`. BM25 over the
            corpus of ``data``, or of the encyclopedia, by default.
        world: Size of the encyclopedia: ``"tiny"`` (72 passages) or ``"full"`` (760).
        top_k: Passages per search.
        max_turns: Turns after which an episode is truncated; the default is the
            official limit. A search in the last turn is not carried out.
        win_reward: Reward of a right answer; everything else gives 0.
        information_style: See :func:`environments.search.information.information`;
            ``"json"`` is that of the published GiGPO runs.
        max_passage_characters: What is shown of a long passage.
        feedback: How a turn without an action is answered: ``"words"`` repeats the
            rules as Search-R1 does, ``"official"`` is empty as in the published GiGPO
            runs.
        anchor: ``"state"``, or ``"observation"``: the bare text of the observation as
            in the published runs.
        prompt: A template, or the settings of a :class:`SearchPrompt`.

    Raises:
        ValueError: A setting is out of range.
        MissingDataError: Questions or corpus are not there; the message says what to
            put where.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "eval")

    def __init__(
        self,
        *,
        data: str | os.PathLike[str] | None = None,
        train_questions: Paths = None,
        eval_questions: Paths = None,
        train_sets: Iterable[str] | None = None,
        eval_sets: Iterable[str] | None = None,
        retriever: RetrieverSetting = None,
        world: str = "tiny",
        top_k: int = DEFAULT_TOP_K,
        max_turns: int = 4,
        win_reward: float = 1.0,
        information_style: InformationStyle = "search-r1",
        max_passage_characters: int = 2_000,
        feedback: Feedback = "words",
        anchor: Anchor = "state",
        prompt: PromptSetting = None,
    ) -> None:
        for name, number in (
            ("top_k", top_k),
            ("max_turns", max_turns),
            ("max_passage_characters", max_passage_characters),
        ):
            if number < 1:
                raise ValueError(f"{name}={number} is less than 1")
        check_choice("information_style", information_style, INFORMATION_STYLES)
        check_choice("feedback", feedback, _FEEDBACKS)
        check_choice("anchor", anchor, _ANCHORS)
        self._source = QuestionSource(
            data=data,
            files={"train": train_questions, "eval": eval_questions},
            sets={
                "train": tuple(train_sets or TRAIN_SETS),
                "eval": tuple(eval_sets or QUESTION_SETS),
            },
            world=world,
        )
        self.retriever = self._source.retriever(retriever)
        self.runs_inline = self.retriever.runs_inline
        self.top_k = top_k
        self.max_turns = max_turns
        self.win_reward = win_reward
        self.information_style = information_style
        self.max_passage_characters = max_passage_characters
        self.feedback = feedback
        self.anchor = anchor
        self.prompt = make_prompt(prompt, SearchPrompt)
        self.observation_space = gymnasium.spaces.Text(
            _MAX_OBSERVATION, min_length=0, charset=string.printable
        )
        self.action_space = gymnasium.spaces.Text(
            _MAX_ACTION, min_length=0, charset=string.printable
        )
        self._question: Question | None = None
        self._task_id = ""
        self._is_running = False
        self._start()

    def tasks(self, split: str) -> TaskSet:
        """The questions of a split, its sets in turn; see :meth:`TextEnv.tasks`.

        An id is ``<split>/<set>/<id of the question>``; the kind is the set.
        """
        return self._source.tasks(split)

    def expert(self) -> SearchExpert:
        """An expert that reads what the searches showed.

        Raises:
            NotImplementedError: The questions are not those of the encyclopedia.
            gymnasium.error.ResetNeeded: No episode was started.
        """
        if self._question is None:
            raise gymnasium.error.ResetNeeded("call env.reset() before env.expert()")
        question = self._source.world_question(self._question)
        if question is None:
            raise NotImplementedError(
                "only the questions of the invented encyclopedia have an expert; leave "
                "out data and question files to play it"
            )
        return SearchExpert(question, lambda: self.seen_passages)

    @property
    def seen_passages(self) -> Sequence[Passage]:
        """Every passage shown in this episode, in order, repeated ones included."""
        return self._seen_passages

    def reset(  # type: ignore[override]  # a TypedDict is no dict[str, Any] to mypy
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, StepInfo]:
        """Start an episode; see :meth:`TextEnv.reset`. Nothing in it is random.

        Raises:
            ValueError: The task is unknown.
        """
        super().reset(seed=seed)
        task_id = self.chosen_task_id(options)
        self._question = self._source.question(task_id)
        self._task_id = task_id
        self._start()
        self._is_running = True
        return self._question.text, self._info(self._question.text)

    def step(  # type: ignore[override]  # as above
        self, action: str
    ) -> tuple[str, float, bool, bool, StepInfo]:
        """Search or answer; the first complete block of ``action`` counts.

        Raises:
            gymnasium.error.ResetNeeded: No episode is running.
            RetrievalError: A retrieval server failed.
        """
        if self._question is None or not self._is_running:
            raise gymnasium.error.ResetNeeded("call env.reset() before env.step()")
        self._num_turns += 1
        is_last = self._num_turns >= self.max_turns
        act = read_action(action)
        answered = act is not None and act.kind == "answer"
        observation = self._carry_out(act, self._question, is_last)
        truncated = is_last and not answered
        self._is_running = not (answered or truncated)
        reward = self.win_reward if self._success else 0.0
        return observation, reward, answered, truncated, self._info(observation)

    def _start(self) -> None:
        self._num_turns = self._num_searches = self._num_rejected = 0
        self._success = False
        self._found: frozenset[str] = frozenset()
        self._seen_passages: list[Passage] = []

    def _carry_out(
        self, act: SearchAction | None, question: Question, is_last: bool
    ) -> str:
        """Change the state by an action; the observation."""
        if act is not None and act.kind == "answer":
            self._success = exact_match(act.text, question.golden_answers)
            return ANSWERED
        if act is None or not act.text:
            self._num_rejected += 1
            return NOT_UNDERSTOOD if self.feedback == "words" else ""
        if is_last:
            return NO_TURN_LEFT
        hits = self.retriever.search([act.text], self.top_k)[0]
        passages = [hit.passage for hit in hits]
        self._num_searches += 1
        self._seen_passages += passages
        text = information(
            passages, self.information_style, self.max_passage_characters
        )
        self._found |= {text}
        return text

    def _info(self, observation: str) -> StepInfo:
        assert self._question is not None
        key: Hashable = observation
        if self.anchor == "state":
            # Sorted: the same findings in another order are the same knowledge.
            key = (self._task_id, *sorted(self._found))
        return StepInfo(
            task_id=self._task_id,
            instruction=self._question.text,
            admissible_actions=None,
            state_key=key,
            success=self._success,
            figures={
                "num_searches": float(self._num_searches),
                "num_rejected": float(self._num_rejected),
            },
        )
