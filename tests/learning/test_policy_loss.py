import math

import pytest
import torch

from rllib_gigpo.errors import ConfigError
from rllib_gigpo.learning.losses import LossConfig, total_loss
from rllib_gigpo.learning.losses.policy import policy_loss
from rllib_gigpo.learning.losses.policy_ratio import sequence_ratio
from tests.learning.loss_inputs import loss_inputs


def from_ratios(ratios, advantage, **others):
    logprob = torch.tensor([math.log(r) for r in ratios], requires_grad=True)
    return loss_inputs(logprob, [0.0] * len(ratios), advantage, **others)


# Clip 0.2 below and 0.3 above, dual clip 3:
#   r=1.5 A=+2: min(3.0, 1.3*2)  -> -2.6, clipped high     r=0.5 A=+2: -1.0
#   r=1.5 A=-2: max(3.0, 2.6)    ->  3.0                   r=0.5 A=-2:  0.8*2 = 1.6, low
#   r=5.0 A=-2: 10, bounded by 3*2 -> 6, dual clipped      r=1.0 A= 0:  0
def test_clipping_by_hand():
    inputs = from_ratios(
        [1.5, 0.5, 1.5, 0.5, 5.0, 1.0], [2.0, 2.0, -2.0, -2.0, -2.0, 0.0]
    )
    term = policy_loss(inputs, LossConfig(clip_low=0.2, clip_high=0.3, dual_clip=3.0))
    assert term.loss.tolist() == pytest.approx([-2.6, -1.0, 3.0, 1.6, 6.0, 0.0])
    assert term.is_clipped_high.tolist() == [True, False, False, False, False, False]
    assert term.is_clipped_low.tolist() == [False, False, False, True, False, False]
    assert term.is_dual_clipped.tolist() == [False, False, False, False, True, False]
    term.loss.sum().backward()
    # Clipped tokens have no gradient; the others have -A times the ratio.
    assert inputs.logprob.grad.tolist() == pytest.approx([0, -1.0, 3.0, 0, 0, 0])


def test_without_dual_clip_a_large_ratio_is_not_bounded():
    inputs = from_ratios([5.0], [-2.0])
    term = policy_loss(inputs, LossConfig(dual_clip=None))
    assert term.loss.tolist() == pytest.approx([10.0])
    assert not term.is_dual_clipped.any()


def test_equal_logprobs_give_ratio_one_and_the_policy_gradient():
    logprob = torch.tensor([-1.0, -0.3], requires_grad=True)
    inputs = loss_inputs(logprob, logprob.detach(), [0.7, -0.4])
    term = policy_loss(inputs, LossConfig())
    term.loss.sum().backward()
    assert torch.equal(term.ratio, torch.ones(2))
    assert logprob.grad.tolist() == pytest.approx([-0.7, 0.4])


# Row 0 has log ratios 3e-4 and 5e-4 (mean 4e-4), row 1 has 1e-4: ratios e^0.0004 and
# e^0.0001. With clip 3e-4 and A > 0 row 0 is clipped as a whole, row 1 is not.
def test_sequence_ratio_by_hand_with_its_own_clip_range():
    logprob = torch.tensor([3e-4, 5e-4, 1e-4], requires_grad=True)
    inputs = loss_inputs(logprob, [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], row=[0, 0, 1])
    config = LossConfig(policy_ratio="sequence", clip_low=3e-4, clip_high=3e-4)
    term = policy_loss(inputs, config)
    expected = [math.exp(4e-4), math.exp(4e-4), math.exp(1e-4)]
    assert term.ratio.tolist() == pytest.approx(expected, abs=1e-7)
    assert term.is_clipped_high.tolist() == [True, True, False]
    term.loss.sum().backward()
    assert logprob.grad.tolist() == pytest.approx([0.0, 0.0, -math.exp(1e-4)])


def test_sequence_ratio_gives_each_token_its_rows_ratio_as_score_weight():
    logprob = torch.tensor([0.1, -0.2, 0.4], requires_grad=True)
    inputs = loss_inputs(logprob, [0.0, 0.0, 0.0], [1.0] * 3, row=[0, 0, 1])
    (-sequence_ratio(inputs)).sum().backward()
    expected = [-math.exp(-0.05), -math.exp(-0.05), -math.exp(0.4)]
    assert logprob.grad.tolist() == pytest.approx(expected)


def test_the_importance_cap_bounds_a_known_mismatch_between_engine_and_learner():
    # The learner finds the first token e^2 times likelier than the engine did.
    inputs = from_ratios(
        [1.0, 1.0], [1.0, 1.0], sampled_logprob=torch.tensor([-2, 1.0])
    )
    plain = total_loss(inputs, LossConfig(kl_coeff=0.0))
    capped = total_loss(inputs, LossConfig(kl_coeff=0.0, importance_cap=2.0))
    assert plain.total.item() == pytest.approx(-2.0)
    assert capped.engine_ratio.tolist() == pytest.approx([math.e**2, math.exp(-1)])
    assert capped.total.item() == pytest.approx(-(2.0 + math.exp(-1)))


def test_a_positive_entropy_coefficient_raises_entropy():
    logits = torch.tensor([1.0, 0.0, -1.0], requires_grad=True)
    logprobs = torch.log_softmax(logits, 0)
    entropy = -(logprobs.exp() * logprobs).sum()
    inputs = loss_inputs(
        logprobs[:1], logprobs[:1].detach(), [0.0], entropy=entropy[None]
    )
    total_loss(inputs, LossConfig(kl_coeff=0.0, entropy_coeff=0.1)).total.backward()
    after = torch.log_softmax(logits.detach() - 0.1 * logits.grad, 0)
    assert -(after.exp() * after).sum() > entropy


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kl_estimator": "k1"}, "no gradient in expectation"),
        ({"kl_estimator": "k3-unbias"}, "did you mean 'k3-unbiased'"),
        ({"policy_ratio": "sequences"}, "did you mean 'sequence'"),
        ({"loss_aggregation": "sequence-sum-constant"}, "loss_constant=None"),
        ({"dual_clip": 0.5}, "dual_clip=0.5 must be above 1"),
        ({"importance_cap": 0.0}, "importance_cap"),
        ({"clip_low": 1.5}, "clip_low"),
        ({"clip_high": -0.1}, "clip_high"),
        ({"kl_coeff": -1.0}, "kl_coeff"),
    ],
)
def test_a_loss_that_cannot_work_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        LossConfig(**settings)
