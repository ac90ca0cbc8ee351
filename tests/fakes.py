"""Small stand-ins shared by tests: a corridor world, its tokenizer, a scripted engine.

The corridor: cells 0..length-1, start at 0, goal at the last cell; ``right`` and
``left`` move, anything else changes nothing. All of it fits a 40-word vocabulary.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium.spaces import Text
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from environments.prompting import ChatMessage, ParsedAction, PromptContext
from environments.tasks import Task, TaskSet
from environments.text_env import StepInfo, TextEnv, task_id_of
from rllib_gigpo.inference.engine import Completion, FinishReason, GenerationRequest

WORDS = ["<pad>", "<eos>", "<unk>", "user", "assistant", ":", "cell", "of", "past"]
WORDS += ["right", "left", "stay", "goal", *(str(n) for n in range(20))]
EOS = WORDS.index("<eos>")

CHAT_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}assistant :{% endif %}"
)


def corridor_tokenizer() -> PreTrainedTokenizerFast:
    """A word-level tokenizer of the corridor's vocabulary, with a chat template."""
    words = Tokenizer(
        models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>")
    )
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


class CorridorPrompt:
    """``past cell 0 right cell 1 of 5``; the response is one word."""

    version = "corridor-1"

    def __init__(self, history_window: int = 2) -> None:
        self.history_window = history_window

    def messages(self, context: PromptContext) -> list[ChatMessage]:
        past = " ".join(f"past {h.observation} {h.action}" for h in context.history)
        return [{"role": "user", "content": f"{past} {context.observation}".strip()}]

    def parse(
        self, text: str, admissible_actions: tuple[str, ...] | None
    ) -> ParsedAction:
        words = text.split()
        if len(words) != 1:
            return ParsedAction(
                action="", is_valid=False, is_admissible=False, reason="not one word"
            )
        return ParsedAction(
            action=words[0],
            is_valid=True,
            is_admissible=words[0] in (admissible_actions or ()),
            reason="" if words[0] in (admissible_actions or ()) else "not admissible",
        )


class CorridorEnv(TextEnv):
    """Walk right to the end. Reward 1 there, 0 before."""

    runs_inline: ClassVar[bool] = True
    splits: ClassVar[tuple[str, ...]] = ("train", "test")

    def __init__(
        self, length: int = 4, max_steps: int = 8, history_window: int = 2
    ) -> None:
        self.observation_space = Text(200)
        self.action_space = Text(20, min_length=0)
        self.prompt = CorridorPrompt(history_window)
        self.length = length
        self.max_steps = max_steps
        self.cell = 0
        self.num_steps = 0
        self.task_id = "train/0"

    def tasks(self, split: str) -> TaskSet:
        return TaskSet(split, 6, lambda i: Task(id=f"{split}/{i}", kind=f"k{i % 2}"))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, StepInfo]:
        super().reset(seed=seed)
        self.task_id = task_id_of(options) or "train/0"
        self.cell = self.num_steps = 0
        return self._observation(), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, StepInfo]:
        self.num_steps += 1
        self.cell += {"right": 1, "left": -1}.get(action, 0)
        self.cell = max(self.cell, 0)
        won = self.cell == self.length - 1
        truncated = not won and self.num_steps >= self.max_steps
        return self._observation(), float(won), won, truncated, self._info()

    def _observation(self) -> str:
        return f"cell {self.cell} of {self.length}"

    def _info(self) -> StepInfo:
        return StepInfo(
            task_id=self.task_id,
            instruction="goal",
            admissible_actions=("right", "left", "stay"),
            state_key=self.cell,
            success=self.cell == self.length - 1,
            figures={"cell": float(self.cell)},
        )


class RaisingEnv(CorridorEnv):
    """Raises at the second step of task ``.../3``."""

    def step(self, action: str) -> tuple[str, float, bool, bool, StepInfo]:
        if self.task_id.endswith("/3") and self.num_steps == 1:
            raise RuntimeError("the corridor collapsed")
        return super().step(action)


class HangingEnv(CorridorEnv):
    """Hangs at the first step of task ``.../3``; not inline."""

    runs_inline: ClassVar[bool] = False

    def step(self, action: str) -> tuple[str, float, bool, bool, StepInfo]:
        if self.task_id.endswith("/3"):
            time.sleep(5)
        return super().step(action)


class NaNEnv(CorridorEnv):
    """Gives a NaN reward in task ``.../3``."""

    def step(self, action: str) -> tuple[str, float, bool, bool, StepInfo]:
        observation, reward, terminated, truncated, info = super().step(action)
        if self.task_id.endswith("/3"):
            reward = float("nan")
        return observation, reward, terminated, truncated, info


class DriftingEnv(CorridorEnv):
    """Starts elsewhere at every reset, against the contract."""

    num_resets = 0

    def _observation(self) -> str:
        return f"cell {self.cell} of {DriftingEnv.num_resets % 20}"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, StepInfo]:
        DriftingEnv.num_resets += 1
        return super().reset(seed=seed, options=options)


class ScriptedEngine:
    """Answers each request by a function of it: words to say, then the end token."""

    def __init__(self, respond: Callable[[GenerationRequest], str]) -> None:
        self._respond = respond
        self.policy_version = 0
        self.requests: list[GenerationRequest] = []
        self.num_in_flight = 0
        self.most_in_flight = 0

    async def generate(self, request: GenerationRequest) -> Completion:
        import asyncio

        self.requests.append(request)
        self.num_in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.num_in_flight)
        await asyncio.sleep(0)
        self.num_in_flight -= 1
        ids = [WORDS.index(word) for word in self._respond(request).split()] + [EOS]
        ids = ids[: request.sampling.max_tokens]
        return Completion(
            request_id=request.request_id,
            token_ids=np.array(ids, np.int32),
            logprobs=np.full(len(ids), -0.5, np.float32),
            finish_reason=(
                FinishReason.STOP if ids[-1] == EOS else FinishReason.LENGTH
            ),
            policy_version=self.policy_version,
        )

    def load_weights(
        self, weights: Mapping[str, torch.Tensor], policy_version: int
    ) -> None:
        self.policy_version = policy_version

    def close(self) -> None:
        pass
