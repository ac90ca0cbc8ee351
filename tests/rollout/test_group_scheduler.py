"""Episodes and groups: who waits for whom, and what a failure costs."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from environments.text_env import StepInfo, TextEnv
from rllib_gigpo.errors import EngineError, RolloutError
from rllib_gigpo.inference.engine import GenerationRequest
from rllib_gigpo.rollout.group_scheduler import (
    EnvPool,
    Rollout,
    check_groups_start_alike,
    play_groups,
)
from rllib_gigpo.rollout.prompts import PromptRenderer
from rllib_gigpo.rollout.records import GroupSpec, StopReason
from rllib_gigpo.rollout.settings import RolloutSettings
from tests import fakes


def spec(index: int, group_size: int = 2) -> GroupSpec:
    return GroupSpec(
        group_id=f"g/{index}",
        task_id=f"train/{index}",
        task_kind="",
        env_seed=index,
        sampling_seed=index,
        group_size=group_size,
        temperature=1.0,
    )


def play(
    specs: list[GroupSpec],
    *,
    env: Callable[[], TextEnv] = fakes.CorridorEnv,
    respond: Callable[[GenerationRequest], str] = lambda request: "right",
    places: int = 8,
    max_prompt_tokens: int = 64,
    max_response_tokens: int = 4,
    max_episode_steps: int | None = None,
    env_timeout_s: float = 0.3,
) -> tuple[Rollout, fakes.ScriptedEngine]:
    engine = fakes.ScriptedEngine(respond)
    settings = RolloutSettings(
        max_prompt_tokens=max_prompt_tokens,
        max_response_tokens=max_response_tokens,
        max_episode_steps=max_episode_steps,
        env_timeout_s=env_timeout_s,
    )
    rollout = asyncio.run(
        play_groups(
            specs,
            envs=EnvPool(env, places, env_timeout_s),
            engine=engine,
            renderer=PromptRenderer(
                fakes.corridor_tokenizer(), max_prompt_tokens, [fakes.EOS]
            ),
            settings=settings,
        )
    )
    return rollout, engine


def test_an_episode_records_exactly_the_tokens_sent_and_sampled() -> None:
    rollout, engine = play([spec(0, group_size=1)])
    (episode,) = rollout.episodes
    assert [step.action for step in episode.steps] == ["right"] * 3
    for step, request in zip(episode.steps, engine.requests, strict=True):
        assert step.prompt_ids is request.prompt_ids
        assert step.response_ids.tolist() == [fakes.WORDS.index("right"), fakes.EOS]
    assert episode.success
    assert episode.stop_reason is StopReason.TERMINATED
    assert episode.episode_return == 1.0
    assert [step.state_key for step in episode.steps] == [0, 1, 2]


def test_members_come_back_by_group_and_member_whatever_their_length() -> None:
    def respond(request: GenerationRequest) -> str:
        return "right" if request.episode.endswith("1") else "left"

    rollout, _ = play([spec(i, group_size=3) for i in range(3)], respond=respond)
    assert [e.episode_id for e in rollout.episodes] == [
        f"g/{g}/{m}" for g in range(3) for m in range(3)
    ]


def test_a_finished_episode_frees_its_place_at_once() -> None:
    def respond(request: GenerationRequest) -> str:
        return "left" if request.episode == "g/0/0" else "right"

    # Eight steps of the slow episode, three of each other: with two places the last
    # ones must have begun long before the slow one ends.
    _, engine = play(
        [spec(i, group_size=1) for i in range(3)], respond=respond, places=2
    )
    order = [request.episode for request in engine.requests]
    assert order.index("g/2/0") < max(
        i for i, episode in enumerate(order) if episode == "g/0/0"
    )
    assert engine.most_in_flight == 2


@pytest.mark.parametrize(
    ("env", "error_type"),
    [
        (fakes.RaisingEnv, "RuntimeError"),
        (fakes.HangingEnv, "EnvTimeoutError"),
        (fakes.NaNEnv, "ValueError"),
    ],
)
def test_a_bad_environment_costs_its_own_episodes_only(
    env: Callable[[], TextEnv], error_type: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    rollout, _ = play([spec(i) for i in (2, 3, 4)], env=env)
    assert [e.group_id for e in rollout.episodes] == ["g/2", "g/2", "g/4", "g/4"]
    assert [f.error_type for f in rollout.failures] == [error_type] * 2
    assert all(f.task_id == "train/3" for f in rollout.failures)
    assert all(f.traceback for f in rollout.failures)
    assert not any(f.is_engine_failure for f in rollout.failures)


@pytest.mark.parametrize("runs_inline", [True, False])
@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (TimeoutError("no answer from the server"), "TimeoutError"),
        (StopIteration("no more pages"), "RuntimeError"),
        (SystemExit(2), "RuntimeError"),
        (asyncio.CancelledError("gone"), "RuntimeError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_an_environment_raises_is_reported_as_what_it_is(
    error: BaseException,
    error_type: str,
    runs_inline: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Env(fakes.CorridorEnv):
        def step(self, action: str) -> tuple[str, float, bool, bool, StepInfo]:
            raise error

    Env.runs_inline = runs_inline
    caplog.set_level(logging.ERROR)
    rollout, _ = play([spec(0, group_size=1)], env=Env, env_timeout_s=5.0)
    (failure,) = rollout.failures
    assert failure.error_type == error_type
    assert str(error) in failure.message


def test_an_environment_that_failed_is_never_used_again() -> None:
    made: list[TextEnv] = []

    def make() -> TextEnv:
        made.append(fakes.RaisingEnv())
        return made[-1]

    play([spec(3, group_size=1), spec(4, group_size=1)], env=make, places=1)
    assert len(made) == 2


def test_an_engine_failure_is_told_from_an_environment_failure() -> None:
    def respond(request: GenerationRequest) -> str:
        raise EngineError("gone")

    rollout, _ = play([spec(0)], respond=respond)
    assert [f.is_engine_failure for f in rollout.failures] == [True, True]


def test_group_members_that_start_differently_are_found() -> None:
    check_groups_start_alike(play([spec(0), spec(1)])[0].episodes)
    rollout, _ = play([spec(0)], env=fakes.DriftingEnv)
    with pytest.raises(RolloutError, match="start in different states"):
        check_groups_start_alike(rollout.episodes)


def test_history_is_shortened_before_a_prompt_is_given_up() -> None:
    # "user : cell 0 of 4 assistant :" has 8 tokens, each past step 6 more.
    rollout, _ = play([spec(0, group_size=1)], max_prompt_tokens=15)
    assert [s.num_dropped_history for s in rollout.episodes[0].steps] == [0, 0, 1]
    assert max(len(s.prompt_ids) for s in rollout.episodes[0].steps) <= 15


def test_a_prompt_that_never_fits_ends_the_episode_and_not_the_run() -> None:
    rollout, engine = play([spec(0, group_size=1)], max_prompt_tokens=5)
    (episode,) = rollout.episodes
    assert episode.stop_reason is StopReason.CONTEXT
    assert episode.steps == () and engine.requests == []


def test_the_step_limit_truncates() -> None:
    rollout, _ = play([spec(0, group_size=1)], max_episode_steps=2)
    (episode,) = rollout.episodes
    assert len(episode.steps) == 2
    assert episode.stop_reason is StopReason.TRUNCATED


def test_invalid_text_plays_the_empty_action_and_is_named() -> None:
    rollout, _ = play([spec(0, group_size=1)], respond=lambda r: "left right")
    step = rollout.episodes[0].steps[0]
    assert (step.action, step.is_valid, step.invalid_reason) == (
        "",
        False,
        "not one word",
    )


def test_sampling_seeds_differ_by_member_and_step_and_repeat_by_spec() -> None:
    _, first = play([spec(0), spec(1)])
    _, second = play([spec(1), spec(0)])
    seeds = {r.request_id: r.sampling.seed for r in first.requests}
    assert len(set(seeds.values())) == len(seeds) == 12
    assert seeds == {r.request_id: r.sampling.seed for r in second.requests}
