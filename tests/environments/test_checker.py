"""Each promise of the contract, broken by a toy environment, is told as what it is."""

from __future__ import annotations

import itertools
import random

import gymnasium
import numpy as np
import pytest

from environments.alfworld.env import AlfworldEnv
from environments.checker import check_text_env, main
from environments.checking.processes import check_processes
from environments.errors import ContractError
from environments.prompting import ParsedAction
from environments.tasks import Task, TaskSet
from tests.environments.hand_made_house import game_text, write_game
from tests.environments.number_game import NumberEnv, NumberPrompt

_COUNTER = itertools.count()


class NoTextEnv(gymnasium.Env):
    pass


class DiscreteActions(NumberEnv):
    def __init__(self):
        super().__init__()
        self.action_space = gymnasium.spaces.Discrete(2)


class NoSplits(NumberEnv):
    splits = ()


class NoPrompt(NumberEnv):
    def __init__(self):
        super().__init__()
        self.prompt = None


class EmptySplit(NumberEnv):
    def tasks(self, split):
        tasks = super().tasks(split)
        return TaskSet.of(split, []) if split == "eval" else tasks


class AnySplit(NumberEnv):
    def tasks(self, split):
        return super().tasks(split if split in self.splits else "train")


class DrawnTasks(NumberEnv):
    def tasks(self, split):
        size = len(super().tasks(split))
        return TaskSet(split, size, lambda n: Task(id=f"{split}/{next(_COUNTER)}"))


class IteratedTasks(NumberEnv):
    def tasks(self, split):
        return iter(super().tasks(split))


class TwinTasks(NumberEnv):
    def tasks(self, split):
        size = len(super().tasks(split))
        return TaskSet(split, size, lambda n: Task(id=f"{split}/{n // 2}"))


class AnyTask(NumberEnv):
    def reset(self, *, seed=None, options=None):
        known = str((options or {}).get("task", "")) != "no such task"
        return super().reset(seed=seed, options=options if known else None)


class AnyOption(NumberEnv):
    def reset(self, *, seed=None, options=None):
        task = (options or {}).get("task")
        return super().reset(seed=seed, options=task and {"task": task})


class UnseededTask(NumberEnv):
    def draw_task(self):
        return f"train/{next(_COUNTER)}"


class UnseededStart(NumberEnv):
    def draw(self, size):
        return next(_COUNTER) % size


class GlobalChance(NumberEnv):
    def draw(self, size):
        return random.randrange(size)


class GlobalSeeding(NumberEnv):
    def reset(self, *, seed=None, options=None):
        np.random.seed(seed)
        return super().reset(seed=seed, options=options)


class RemembersTheLastEpisode(NumberEnv):
    best = 0

    def figures(self):
        self.best = max(self.best, self.number)
        return {"best": float(self.best)}


class NumpyObservation(NumberEnv):
    def observation(self):
        return np.array([self.number])


class ForeignCharacters(NumberEnv):
    def observation(self):
        return f"№ {self.number}"


class NumpySuccess(NumberEnv):
    def info(self):
        return {**super().info(), "success": np.bool_(False)}


class MissingInfo(NumberEnv):
    def info(self):
        info = super().info()
        del info["figures"]
        return info


class ExtraInfo(NumberEnv):
    def info(self):
        return {**super().info(), "won": False}


class SharedFigures(NumberEnv):
    shared = {"distance": 0.0}  # noqa: RUF012  (what is wrong with it)

    def figures(self):
        return self.shared


class IntegerFigures(NumberEnv):
    def figures(self):
        return {"distance": 3}


class ListedInAList(NumberEnv):
    def actions(self):
        return ["up", "down"]


class ListedTwice(NumberEnv):
    def actions(self):
        return ("up", "down", "up")


class WrongTaskId(NumberEnv):
    def info(self):
        return {**super().info(), "task_id": "train/1"}


class NaNReward(NumberEnv):
    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, float("nan"), *rest


class OldStep(NumberEnv):
    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


class RaisesOnOddActions(NumberEnv):
    def step(self, action):
        return super().step({"up": "up", "down": "down"}[action])


class Endless(NumberEnv):
    def step(self, action):
        observation, reward, _, _, info = super().step(action)
        return observation, reward, False, False, info


class UnhashableKey(NumberEnv):
    def key(self):
        return [self.number]


class KeyByIdentity(NumberEnv):
    def key(self):
        return object()


class CoarseKey(NumberEnv):
    def key(self):
        return "somewhere"


class CountingKey(NumberEnv):
    def key(self):
        return self.number, self.num_steps


class OddActionsMove(NumberEnv):
    def step(self, action):
        return super().step(action if action in self.actions() else "up")

    def actions(self):
        return ("up", "down") if self.number % 2 else ("down", "up")


class WithPrompt(NumberEnv):
    prompt_class: type

    def __init__(self):
        super().__init__()
        self.prompt = self.prompt_class()


class PromptWantsHistory(WithPrompt):
    class prompt_class(NumberPrompt):
        def messages(self, context):
            assert context.history[-1]
            return super().messages(context)


class PromptWithoutUser(WithPrompt):
    class prompt_class(NumberPrompt):
        def messages(self, context):
            return [{"role": "system", "content": context.observation}]


class PromptThatCounts(WithPrompt):
    class prompt_class(NumberPrompt):
        def messages(self, context):
            return [{"role": "user", "content": f"{next(_COUNTER)}"}]


class PromptAsText(WithPrompt):
    class prompt_class(NumberPrompt):
        def messages(self, context):
            return context.observation


class ParserRaises(WithPrompt):
    class prompt_class(NumberPrompt):
        def parse(self, text, admissible_actions):
            text.index("<action>")
            return super().parse(text, admissible_actions)


class ParserQuotes(WithPrompt):
    class prompt_class(NumberPrompt):
        def parse(self, text, admissible_actions):
            return ParsedAction(
                action="", is_valid=False, is_admissible=False, reason=f"bad: {text}"
            )


class ParserGivesNoReason(WithPrompt):
    class prompt_class(NumberPrompt):
        def parse(self, text, admissible_actions):
            return ParsedAction(action="", is_valid=False, is_admissible=False)


class ParserAdmitsAll(WithPrompt):
    class prompt_class(NumberPrompt):
        def parse(self, text, admissible_actions):
            return ParsedAction(action=text, is_valid=True, is_admissible=True)


class Advice:
    def __init__(self, actions):
        self.actions = itertools.cycle(actions)

    def next_action(self):
        self.action, self.thought = next(self.actions), ""
        return self


class ExpertOutOfTheList(NumberEnv):
    def expert(self):
        return Advice(["jump"])


class ExpertChangesItsMind(NumberEnv):
    def expert(self):
        return Advice(["up", "down"])


class DeafToItsExpert(WithPrompt):
    class prompt_class(NumberPrompt):
        def parse(self, text, admissible_actions):
            text = text.replace("<action>", "<do>")
            return super().parse(text, admissible_actions)

    def expert(self):
        return Advice(["up"])


COMPLAINTS = {
    NoTextEnv: "no TextEnv",
    DiscreteActions: "action_space is Discrete",
    NoSplits: r"splits is \(\)",
    NoPrompt: "no prompt template",
    EmptySplit: r"tasks\('eval'\) is empty",
    AnySplit: "answered with tasks",
    DrawnTasks: "another task when asked again",
    IteratedTasks: "return a TaskSet",
    TwinTasks: "an id of its own",
    AnyTask: "{'task': 'no such task'}.* is accepted",
    AnyOption: "{'no such option': 1}.* is accepted",
    UnseededTask: r"reset\(seed=3\) without a task",
    UnseededStart: "gives two episodes; first difference: observation after reset",
    GlobalChance: "global random generator",
    GlobalSeeding: "global random generator",
    RemembersTheLastEpisode: r"first difference: info\['figures'\]",
    NumpyObservation: "return a str",
    ForeignCharacters: "not in observation_space",
    NumpySuccess: r"info\['success'\]",
    MissingInfo: "exactly the keys",
    ExtraInfo: "exactly the keys",
    SharedFigures: "same object at two steps",
    IntegerFigures: r"info\['figures'\] is {'distance': 3}",
    ListedInAList: "tuple of str",
    ListedTwice: "names an action twice",
    WrongTaskId: r"info\['task_id'\]",
    NaNReward: "reward is nan",
    OldStep: r"return \(observation, reward, terminated",
    RaisesOnOddActions: "KeyError .*never raise",
    Endless: "goes on after 60 steps",
    UnhashableKey: "cannot be hashed",
    KeyByIdentity: "not equal to its own copy",
    CoarseKey: "two states share",
    CountingKey: "leave step counts",
    OddActionsMove: "inadmissible action",
    PromptWantsHistory: "empty included",
    PromptWithoutUser: "end with a user message",
    PromptThatCounts: "keep it pure",
    PromptAsText: "return a list of dicts",
    ParserRaises: "read any text",
    ParserQuotes: "leave the text out of the reason",
    ParserGivesNoReason: "without a reason",
    ParserAdmitsAll: "was not listed",
    ExpertOutOfTheList: "'jump', which is not admissible",
    DeafToItsExpert: "writes what parse reads",
    ExpertChangesItsMind: "and then 'down' in the same state",
}


def test_a_good_environment_passes() -> None:
    check_text_env(NumberEnv())


@pytest.mark.parametrize("broken", COMPLAINTS, ids=lambda broken: broken.__name__)
def test_a_broken_promise_is_told_with_what_to_do(broken: type) -> None:
    with pytest.raises(ContractError, match=COMPLAINTS[broken]):
        check_text_env(broken(), max_steps=60)


def test_a_key_that_is_coarse_by_intent_passes_when_said_so(tmp_path) -> None:
    game = write_game(
        tmp_path / "train/pick_and_place_simple-Book-None-Shelf-1/trial_a",
        game_text("pick_and_place_simple", "Book", "Shelf"),
    )
    env = AlfworldEnv(game=game, anchor="observation")
    with pytest.raises(ContractError, match="has_exact_keys"):
        check_text_env(env)
    check_text_env(env, has_exact_keys=False)


class HashedStart(NumberEnv):
    """The same in one process, another in the next."""

    def draw_task(self):
        return "train/10"

    def draw(self, size):
        return hash(self.task_id) % size


def test_what_differs_between_processes_only_is_found_by_playing_in_two() -> None:
    check_text_env(HashedStart())
    name = f"{__name__}:{HashedStart.__name__}"
    with pytest.raises(ContractError, match="two processes"):
        check_processes(name, {})


def test_the_command_checks_a_class_by_name(capsys) -> None:
    main(["environments.household.env:HouseholdEnv", "--settings", '{"size": "small"}'])
    assert "keeps the contract" in capsys.readouterr().out


def test_the_command_wants_module_and_class() -> None:
    with pytest.raises(ContractError, match="module:Class"):
        main(["environments.household.env"])
