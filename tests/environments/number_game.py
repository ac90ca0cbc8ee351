"""A good little environment, to be broken in one way at a time."""

from __future__ import annotations

import string

import gymnasium

from environments.parsing import parse_action
from environments.prompting import ChatMessage, ParsedAction, PromptContext
from environments.tasks import Task, TaskSet
from environments.text_env import StepInfo, TextEnv, task_id_of

SPLITS = {"train": 5, "eval": 3}


class NumberPrompt:
    version = "number-1"
    history_window = 2

    def messages(self, context: PromptContext) -> list[ChatMessage]:
        past = "".join(f"{e.observation} > {e.action}\n" for e in context.history)
        return [{"role": "user", "content": f"{past}{context.observation}"}]

    def parse(self, text, admissible_actions) -> ParsedAction:
        return parse_action(text, admissible_actions)


class NumberEnv(TextEnv):
    """Reach the number of the task by up and down from a start drawn by the seed."""

    runs_inline = True
    splits = tuple(SPLITS)

    def __init__(self):
        self.observation_space = gymnasium.spaces.Text(200, charset=string.printable)
        self.action_space = gymnasium.spaces.Text(200)
        self.prompt = NumberPrompt()

    def tasks(self, split):
        if split not in SPLITS:
            raise ValueError(f"split {split!r}: choose one of {list(SPLITS)}")
        return TaskSet(split, SPLITS[split], lambda n: Task(id=f"{split}/{n + 10}"))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.task_id = task_id_of(options) or self.draw_task()
        split, _, number = self.task_id.partition("/")
        if split not in SPLITS or not number.isdecimal():
            raise ValueError(f"no task {self.task_id!r}")
        self.goal = int(number)
        self.number = self.goal + self.draw(4) + 1
        self.num_steps = 0
        return self.observation(), self.info()

    def step(self, action):
        self.num_steps += 1
        self.number += {"up": 1, "down": -1}.get(action, 0)
        won = self.number == self.goal
        truncated = not won and self.num_steps >= 30
        return self.observation(), float(won), won, truncated, self.info()

    def draw_task(self):
        return self.tasks("train")[self.draw(5)].id

    def draw(self, size):
        return int(self.np_random.integers(size))

    def observation(self):
        return f"number {self.number}"

    def info(self):
        return StepInfo(
            task_id=self.task_id,
            instruction=f"reach {self.goal}",
            admissible_actions=self.actions(),
            state_key=self.key(),
            success=self.number == self.goal,
            figures=self.figures(),
        )

    def actions(self):
        return ("up", "down")

    def key(self):
        return self.number

    def figures(self):
        return {"distance": float(abs(self.number - self.goal))}
