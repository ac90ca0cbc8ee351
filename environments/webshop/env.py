"""``WebShop-v0``: shopping by an instruction, in the official or a made-up catalog."""

from __future__ import annotations

import os
import string
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import gymnasium

from environments.choices import check_choice
from environments.styled_prompt import PromptSetting, make_prompt
from environments.tasks import Task, TaskSet
from environments.text_env import StepInfo, TextEnv
from environments.webshop.catalog import Catalog
from environments.webshop.embedded_world import WORLD_SIZES, embedded_catalog
from environments.webshop.expert import ShoppingExpert
from environments.webshop.goals import Goal
from environments.webshop.prompt import (
    SEARCH_ENTRY,
    WebShopPrompt,
    bare_observation,
)
from environments.webshop.reward import OPTION_MATCHINGS, OptionMatching
from environments.webshop.site import Site
from environments.webshop.title_nouns import TAGGERS, Tagger

Anchor: TypeAlias = Literal["state", "observation"]
ObservationMode: TypeAlias = Literal["text", "text_rich"]
Reward: TypeAlias = Literal["graded", "success"]

SPLITS = ("train", "eval")
OFFICIAL = "official"
WORLDS = (*WORLD_SIZES, OFFICIAL)
_ANCHORS = ("state", "observation")
_OBSERVATION_MODES = ("text", "text_rich")
_REWARDS = ("graded", "success")
_GIVEN_GOAL = Task(id="given goal")
_MAX_OBSERVATION = 65_536
_MAX_ACTION = 1024


class WebShopEnv(TextEnv):
    """Search a shop, look at products, choose options and buy; a purchase ends it.

    Example::

        env = WebShopEnv(world="official")
        observation, info = env.reset(options={"task": env.tasks("eval")[0]})
        step = env.step("search[red cotton shirt]")
        step = env.step(info["admissible_actions"][0])

    The evaluation split is the goals 0 to 499 of one fixed shuffle, the training split
    all others, in every process. (A handful of goals of both have the same words, since
    the official data lists some option values twice.)

    Args:
        catalog: What the shop sells; excludes ``data`` and ``world``.
        world: ``"official"``, or a made-up world: ``"tiny"`` (60 products) or
            ``"full"`` (420). ``"tiny"`` by default, and ``"official"`` with ``data``.
        data: The folder of the official files; see :meth:`Catalog.load` for it and its
            default.
        size: ``"1000"`` products of the official catalog, or ``"all"``.
        tagger: Where nouns of official titles come from; see
            :func:`environments.webshop.title_nouns.title_nouns`.
        goal: The only goal to play, a :class:`Goal` or one in WebShop's own form.
        observation_mode: ``"text"``, as in the published runs, or ``"text_rich"``,
            which also shows what can be clicked and which options are chosen.
        reward: ``"graded"``: the shop's score from 0 to 1; ``"success"``:
            ``win_reward`` for a score of 1 and else 0, as in the published runs.
        win_reward: See ``reward``.
        option_matching: See :func:`environments.webshop.reward.score_purchase`.
        max_episode_steps: Steps after which an episode is truncated.
        anchor: What ``info["state_key"]`` is: ``"state"`` (page, product, query,
            number of the results page, chosen options), or ``"observation"``, the bare
            text, which takes states that differ in options for one.
        prompt: A template, or the settings of a :class:`WebShopPrompt`.

    Raises:
        MissingDataError, CatalogError: See :meth:`Catalog.load`.
        ValueError: A setting is out of range, or two exclude each other.
    """

    runs_inline = True
    splits: ClassVar[tuple[str, ...]] = SPLITS

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        world: str | None = None,
        data: str | os.PathLike[str] | None = None,
        size: str = "1000",
        tagger: Tagger = "auto",
        goal: Goal | Mapping[str, Any] | None = None,
        observation_mode: ObservationMode = "text",
        reward: Reward = "graded",
        win_reward: float = 10.0,
        option_matching: OptionMatching = "official",
        max_episode_steps: int = 15,
        anchor: Anchor = "state",
        prompt: PromptSetting = None,
    ) -> None:
        if max_episode_steps < 1:
            raise ValueError(f"max_episode_steps={max_episode_steps} is less than 1")
        check_choice("tagger", tagger, TAGGERS)
        check_choice("observation_mode", observation_mode, _OBSERVATION_MODES)
        check_choice("reward", reward, _REWARDS)
        check_choice("option_matching", option_matching, OPTION_MATCHINGS)
        check_choice("anchor", anchor, _ANCHORS)
        self.catalog = _catalog(catalog, world, data, size=size, tagger=tagger)
        if goal is None or isinstance(goal, Goal):
            self._given_goal = goal
        else:
            self._given_goal = Goal.from_dict(goal)
        self.observation_mode = observation_mode
        self.reward = reward
        self.win_reward = win_reward
        self.option_matching: OptionMatching = option_matching
        self.max_episode_steps = max_episode_steps
        self.anchor = anchor
        self.prompt = make_prompt(prompt, WebShopPrompt)
        self.observation_space = gymnasium.spaces.Text(
            _MAX_OBSERVATION, charset=self.catalog.characters | set(string.printable)
        )
        self.action_space = gymnasium.spaces.Text(
            _MAX_ACTION, min_length=0, charset=string.printable
        )
        self._site: Site | None = None
        self._is_running = False
        self._task_id = ""
        self._goal: Goal | None = None
        self._num_steps = self._num_rejected = 0

    @property
    def site(self) -> Site:
        """The running visit.

        Raises:
            gymnasium.error.ResetNeeded: No episode was started.
        """
        if self._site is None:
            raise gymnasium.error.ResetNeeded("there is no visit before env.reset()")
        return self._site

    def tasks(self, split: str) -> TaskSet:
        """The goals of a split, in order; see :meth:`TextEnv.tasks`."""
        check_choice("split", split, SPLITS)
        if self._given_goal is not None:
            return TaskSet.of(split, [_GIVEN_GOAL])
        goals, num_eval = self.catalog.goals, self.catalog.num_eval_goals
        first = 0 if split == "eval" else num_eval
        last = min(num_eval, len(goals)) if split == "eval" else len(goals)

        def make(index: int) -> Task:
            number = first + index
            return Task(id=f"{split}/{number}", kind=goals[number].category)

        return TaskSet(split, max(0, last - first), make)

    def expert(self) -> ShoppingExpert:
        """A shopper that reads the instruction and the pages, no more."""
        return ShoppingExpert(lambda: self.site, self._site_goal().instruction)

    def reset(  # type: ignore[override]  # a TypedDict is no dict[str, Any] to mypy
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, StepInfo]:
        """Start an episode; see :meth:`TextEnv.reset`.

        Only a search for ``<r>`` is random, by ``seed``.

        Raises:
            ValueError: The task is unknown.
        """
        super().reset(seed=seed)
        task_id = self.chosen_task_id(options)
        self._goal = self._goal_of(task_id)
        self._task_id = task_id
        self._site = Site(
            self.catalog,
            self._goal,
            seed=0 if seed is None else seed,
            option_matching=self.option_matching,
        )
        self._num_steps = self._num_rejected = 0
        self._is_running = True
        return self._observed(self._site)

    def step(  # type: ignore[override]  # as above
        self, action: str
    ) -> tuple[str, float, bool, bool, StepInfo]:
        """Play an action; what is not understood leaves the page as it is.

        Raises:
            gymnasium.error.ResetNeeded: No episode is running.
        """
        site = self.site
        if not self._is_running:
            raise gymnasium.error.ResetNeeded("call env.reset() before env.step()")
        self._num_rejected += not site.act(action)
        self._num_steps += 1
        is_bought = site.score is not None
        truncated = not is_bought and self._num_steps >= self.max_episode_steps
        self._is_running = not (is_bought or truncated)
        observation, info = self._observed(site)
        reward = info["figures"]["score"]
        if self.reward == "success":
            reward = self.win_reward if info["success"] else 0.0
        return observation, reward, is_bought, truncated, info

    def _observed(self, site: Site) -> tuple[str, StepInfo]:
        page = site.page
        is_text = self.observation_mode == "text"
        observation = page.text if is_text else page.text_rich
        score = 0.0 if site.score is None else site.score.total
        return observation, StepInfo(
            task_id=self._task_id,
            instruction=self._site_goal().instruction,
            admissible_actions=_admissible(site),
            state_key=self._state_key(site, observation),
            success=score == 1.0,
            figures={"score": score, "num_rejected": float(self._num_rejected)},
        )

    def _state_key(self, site: Site, observation: str) -> Hashable:
        if self.anchor == "state":
            return site.state_key()
        return bare_observation(observation, self._site_goal().instruction)

    def _site_goal(self) -> Goal:
        if self._goal is None:
            raise gymnasium.error.ResetNeeded("there is no goal before env.reset()")
        return self._goal

    def _goal_of(self, task_id: str) -> Goal:
        if self._given_goal is not None:
            if task_id == _GIVEN_GOAL.id:
                return self._given_goal
            raise ValueError(f"no task {task_id!r}: the only one is {_GIVEN_GOAL.id!r}")
        split, _, number = task_id.partition("/")
        goals, num_eval = self.catalog.goals, self.catalog.num_eval_goals
        is_number = number.isascii() and number.isdigit() and len(number) < 10
        if is_number and split in SPLITS and str(int(number)) == number:
            index = int(number)
            if index < len(goals) and (index < num_eval) == (split == "eval"):
                return goals[index]
        raise ValueError(
            f"no task {task_id!r}; ids are 'eval/0' to 'eval/{num_eval - 1}' and "
            f"'train/{num_eval}' to 'train/{len(goals) - 1}'"
        )


def _catalog(
    catalog: Catalog | None,
    world: str | None,
    data: str | os.PathLike[str] | None,
    *,
    size: str,
    tagger: Tagger,
) -> Catalog:
    if catalog is not None:
        if world is not None or data is not None:
            raise ValueError("give either a catalog or where to find one, not both")
        return catalog
    if world is None:
        world = WORLDS[0] if data is None else OFFICIAL
    check_choice("world", world, WORLDS)
    if world == OFFICIAL:
        return Catalog.load(data, size=size, tagger=tagger)
    if data is not None:
        raise ValueError(f"world={world!r} is made up and needs no data={data!r}")
    return embedded_catalog(world)


def _admissible(site: Site) -> tuple[str, ...]:
    """The search where the page has a search bar, and a click on each thing there."""
    if site.has_search_bar:
        return (SEARCH_ENTRY,)
    return tuple(f"click[{what}]" for what in site.page.clickables)
