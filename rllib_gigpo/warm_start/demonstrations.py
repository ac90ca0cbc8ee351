"""Expert play as training rows, in the prompt and response format of training.

Only training tasks are played. Now and then a random action is played instead of the
expert's. As noise it is not imitated: the model sees the way back from a mistake. As
carelessness it is: the model knows what can be done, and is left room to improve.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from environments.errors import NoAdviceError
from environments.prompting import (
    ChatMessage,
    HistoryEntry,
    ParsedAction,
    PromptContext,
    PromptTemplate,
    written_reply,
)
from environments.tasks import Task
from environments.text_env import TextEnv
from rllib_gigpo.errors import ConfigError
from rllib_gigpo.rollout.prompts import PromptRenderer


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """One step of an expert: what it was shown and what it answered.

    Attributes:
        context: What the prompt shows.
        response: The whole response without the end token, e.g.
            ``"<think>find mug</think><action>go to desk 1</action>"``.
    """

    context: PromptContext
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DemonstrationRows:
    """R steps as token ids.

    Attributes:
        prompt_ids: R arrays, int32 [num_prompt_tokens].
        response_ids: R arrays, int32 [num_response_tokens], end token included.
    """

    prompt_ids: Sequence[NDArray[np.int32]]
    response_ids: Sequence[NDArray[np.int32]]

    def __len__(self) -> int:
        return len(self.prompt_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertPlay:
    """The demonstrations of some episodes, and how those went.

    Attributes:
        steps: In the order played.
        num_episodes: Episodes played.
        num_successes: Episodes solved, random actions and all.
    """

    steps: list[Demonstration]
    num_episodes: int
    num_successes: int


def play_expert(
    env: TextEnv,
    tasks: Sequence[Task],
    *,
    seed: int,
    noise: float,
    carelessness: float = 0.0,
) -> ExpertPlay:
    """Play each task once.

    Args:
        env: Where to play, with an expert; its template decides what is shown.
        tasks: Training tasks.
        seed: With ``noise`` and the tasks it decides everything.
        noise: Probability of a random action at each step that is not imitated, in
            [0, 1).
        carelessness: Probability of a random admissible action, imitated under the
            expert's thought, in [0, 1).

    Raises:
        ConfigError: The environment's template does not accept an expert's response,
            so that there is nothing to be learnt from it.
    """
    steps: list[Demonstration] = []
    num_successes = 0
    for number, task in enumerate(tasks):
        rng = np.random.default_rng([seed, number])
        episode = _Episode(env, task, rng, noise, carelessness)
        steps.extend(episode.play())
        num_successes += episode.is_success
    return ExpertPlay(steps=steps, num_episodes=len(tasks), num_successes=num_successes)


def conversations(
    steps: Sequence[Demonstration], template: PromptTemplate
) -> Iterator[list[ChatMessage]]:
    """Each step as a whole conversation, the response as the assistant's message."""
    for step in steps:
        answer: ChatMessage = {"role": "assistant", "content": step.response}
        yield [*template.messages(step.context), answer]


def encode(
    steps: Sequence[Demonstration],
    template: PromptTemplate,
    renderer: PromptRenderer,
    encode_response: Callable[[str], list[int]],
) -> DemonstrationRows:
    """Token rows, through the same renderer as in training.

    Args:
        steps: The demonstrations; those whose prompt is too long are left out.
        template: The environment's.
        renderer: Makes prompt ids.
        encode_response: Text to ids, with the end token.

    Raises:
        ConfigError: No prompt fits.
    """
    prompts = [renderer.render(template, step.context) for step in steps]
    fitting = [
        (prompt.ids, np.asarray(encode_response(step.response), np.int32))
        for prompt, step in zip(prompts, steps, strict=True)
        if prompt is not None
    ]
    if not fitting:
        raise ConfigError(
            f"none of {len(steps)} demonstrations has a prompt that fits; raise "
            "max_prompt_tokens or use the environment's compact prompt"
        )
    prompt_ids, response_ids = zip(*fitting, strict=True)
    return DemonstrationRows(prompt_ids=prompt_ids, response_ids=response_ids)


class _Episode:
    """One episode of an expert with an unsteady hand."""

    def __init__(
        self,
        env: TextEnv,
        task: Task,
        rng: np.random.Generator,
        noise: float,
        carelessness: float,
    ) -> None:
        self.is_success = False
        self._env = env
        self._task = task
        self._rng = rng
        self._noise = noise
        self._carelessness = carelessness
        # A dict and not a set: its order is that of the episode in every process.
        self._offered: dict[str, None] = {}

    def play(self) -> Iterator[Demonstration]:
        env = self._env
        seed = int(self._rng.integers(2**31))
        observation, info = env.reset(seed=seed, options={"task": self._task})
        expert = env.expert()
        history: deque[HistoryEntry] = deque(maxlen=env.prompt.history_window)
        is_over = info["success"]
        num_steps = 0
        while not is_over:
            context = PromptContext(
                instruction=info["instruction"],
                observation=observation,
                admissible_actions=info["admissible_actions"],
                history=tuple(history),
                num_steps_taken=num_steps,
            )
            try:
                advice = expert.next_action()
            except NoAdviceError:
                # A random action has spoiled the task; what came before is still good.
                return
            action = self._slip(info["admissible_actions"])
            if action is None:
                careless = self._careless_action(context, advice.thought)
                action = careless or advice.action
                yield self._demonstration(context, advice.thought, action)
            history.append(HistoryEntry(observation=observation, action=action))
            observation, _, terminated, truncated, info = env.step(action)
            is_over = terminated or truncated
            num_steps += 1
        self.is_success = info["success"]

    def _slip(self, admissible_actions: tuple[str, ...] | None) -> str | None:
        """A random action instead of the expert's, now and then.

        Half of them are admissible; the other half were offered at some time in the
        episode and may no longer be, so that refusals are among what is seen too.
        """
        if not admissible_actions:
            return None
        self._offered.update(dict.fromkeys(admissible_actions))
        if self._rng.random() >= self._noise:
            return None
        is_current = self._rng.random() < 0.5
        pool = admissible_actions if is_current else tuple(self._offered)
        return pool[int(self._rng.integers(len(pool)))]

    def _careless_action(self, context: PromptContext, thought: str) -> str | None:
        """A random action among those a reply may name, now and then."""
        if not self._carelessness or self._rng.random() >= self._carelessness:
            return None
        offered = context.admissible_actions or ()
        # A template may hide actions that the environment lists.
        pool = [a for a in offered if self._parse(context, thought, a).is_admissible]
        return pool[int(self._rng.integers(len(pool)))] if pool else None

    def _reply(self, thought: str, action: str) -> str:
        return written_reply(self._env.prompt, thought, action)

    def _parse(self, context: PromptContext, thought: str, action: str) -> ParsedAction:
        reply = self._reply(thought, action)
        return self._env.prompt.parse(reply, context.admissible_actions)

    def _demonstration(
        self, context: PromptContext, thought: str, action: str
    ) -> Demonstration:
        reply = self._reply(thought, action)
        parsed = self._parse(context, thought, action)
        if not (parsed.is_valid and parsed.is_admissible):
            raise ConfigError(
                f"the expert's response {reply!r} in task {self._task.id!r} is "
                f"refused by the environment's template ({parsed.reason}); a warm "
                "start needs a template that takes <think>…</think><action>…</action> "
                "or one with a `response` method of its own"
            )
        return Demonstration(context=context, response=reply)
