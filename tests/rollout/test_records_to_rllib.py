"""Records to RLlib episodes and back, to step tables and to training rows."""

import pickle

import numpy as np
import pytest

from rllib_gigpo.credit import CreditConfig, assign_credit
from rllib_gigpo.inference.engine import FinishReason
from rllib_gigpo.rollout.episodes import from_rllib_episode, to_rllib_episode
from rllib_gigpo.rollout.records import (
    EpisodeFailure,
    EpisodeRecord,
    StepRecord,
    StopReason,
)
from rllib_gigpo.rollout.sampling_metrics import sampling_metrics
from rllib_gigpo.rollout.to_step_table import to_step_table
from rllib_gigpo.rollout.to_training_rows import to_training_rows


def step(
    index: int,
    *,
    reward: float = 0.0,
    is_valid: bool = True,
    finish_reason: FinishReason = FinishReason.STOP,
) -> StepRecord:
    return StepRecord(
        observation=f"o{index}",
        state_key=("key", index),
        prompt_ids=np.arange(3 + index, dtype=np.int32),
        response_ids=np.arange(2 + index, dtype=np.int32),
        sampled_logprobs=np.linspace(-1, -0.1, 2 + index, dtype=np.float32),
        finish_reason=finish_reason,
        policy_version=5,
        response_text="text",
        action=f"a{index}",
        is_valid=is_valid,
        is_admissible=is_valid,
        invalid_reason="" if is_valid else "no action tag",
        reward=reward,
        num_cached_tokens=index,
    )


def episode(
    name: str, steps: list[StepRecord], *, success: bool = False, kind: str = "k"
) -> EpisodeRecord:
    return EpisodeRecord(
        episode_id=f"0/0/{name}",
        group_id="0/0",
        task_id="task",
        task_kind=kind,
        steps=tuple(steps),
        final_observation="end",
        stop_reason=StopReason.TERMINATED if success else StopReason.TRUNCATED,
        success=success,
        figures={"score": float(success)},
    )


@pytest.mark.parametrize("num_steps", [0, 1, 4])
def test_the_way_through_rllib_changes_no_token(num_steps: int) -> None:
    record = episode("0", [step(i, reward=i) for i in range(num_steps)])
    sent = pickle.loads(pickle.dumps(to_rllib_episode(record)))
    back = from_rllib_episode(sent)
    for a, b in zip(record.steps, back.steps, strict=True):
        for name in StepRecord.__dataclass_fields__:
            mine, theirs = getattr(a, name), getattr(b, name)
            assert type(mine) is type(theirs), name
            assert np.array_equal(mine, theirs), name
            if isinstance(mine, np.ndarray):
                assert mine.dtype == theirs.dtype
    for name in set(EpisodeRecord.__dataclass_fields__) - {"steps"}:
        assert getattr(record, name) == getattr(back, name), name


def test_rllib_sees_an_ordinary_episode() -> None:
    rllib = to_rllib_episode(
        episode("0", [step(0), step(1, reward=10.0)], success=True)
    )
    assert rllib.get_return() == 10.0
    assert len(rllib) == rllib.env_steps() == rllib.agent_steps() == 2
    assert rllib.is_terminated and not rllib.is_truncated
    assert rllib.get_infos(0)["group_id"] == "0/0"


def test_rows_keep_order_and_length_stopped_ones_can_be_left_out() -> None:
    episodes = [
        episode("0", [step(0), step(1, finish_reason=FinishReason.LENGTH)]),
        episode("1", [step(2)]),
    ]
    advantage = np.array([1.0, 2.0, 3.0])
    rows = to_training_rows(episodes, advantage)
    assert rows.trajectory.tolist() == [0, 0, 1]
    assert rows.loss_weight.tolist() == [1, 1, 1]
    rows = to_training_rows(episodes, advantage, train_length_stopped=False)
    assert rows.loss_weight.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="2 advantages for 3 steps"):
        to_training_rows(episodes, advantage[:2])


def test_the_mean_over_kinds_counts_each_kind_alike() -> None:
    episodes = [episode(str(i), [step(0)], success=i > 0, kind="a") for i in range(4)]
    episodes.append(episode("4", [step(0)], success=False, kind="b"))
    metrics = sampling_metrics(episodes, [], seconds=1.0)
    assert metrics["success_rate"] == 3 / 5
    assert metrics["success_rate_by_kind"] == {"a": 3 / 4, "b": 0.0}
    assert metrics["success_rate_kind_mean"] == 3 / 8


def test_figures_are_pooled_over_episodes_and_steps() -> None:
    episodes = [
        episode("0", [step(0, reward=10.0)], success=True, kind="a"),
        episode("1", [step(i, is_valid=i > 0) for i in range(3)], kind="b"),
    ]
    failure = EpisodeFailure(
        episode_id="0/0/2", task_id="t", error_type="E", message="", traceback=""
    )
    metrics = sampling_metrics(episodes, [failure], seconds=2.0)
    assert metrics["episode_return_mean"] == 5.0  # Not 10/4: per episode.
    assert metrics["episode_len_mean"] == 2.0
    assert metrics["success_rate"] == 0.5
    assert metrics["success_rate_by_kind"] == {"a": 1.0, "b": 0.0}
    assert metrics["invalid_action_fraction"] == 0.25
    assert metrics["invalid_reasons"] == {"no_action_tag": 1}
    assert metrics["num_generated_tokens"] == 2 + 2 + 3 + 4
    assert metrics["num_generated_tokens_per_s"] == 11 / 2
    assert metrics["num_failed_episodes"] == 1
    assert metrics["figures"] == {"score": 0.5}


def test_a_penalty_on_rewards_is_in_both_advantages() -> None:
    """A win and a loss of two steps each, both through states 0 and 1.

    Rewards 0, 10 and 0, 0 become -1, 8 and 1, 0, with gamma 0.5: step returns 3, 8
    and 1, 0; episode returns 7 and 1.
    """
    won = episode("0", [step(0), step(1, reward=10.0)], success=True)
    lost = episode("1", [step(0), step(1)])
    table = to_step_table([won, lost], reward_penalty=np.array([1.0, 2.0, -1.0, 0.0]))
    assert table.reward.tolist() == [-1.0, 8.0, 1.0, 0.0]
    assert table.trajectory_success.tolist() == [True, False]
    credit = assign_credit(table, CreditConfig(normalize="none", gamma=0.5))
    assert credit.episode_advantage.tolist() == [3.0, 3.0, -3.0, -3.0]
    assert credit.step_advantage.tolist() == [1.0, 4.0, -1.0, -4.0]
