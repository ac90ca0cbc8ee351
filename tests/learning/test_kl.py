"""KL estimators against enumeration of a toy vocabulary."""

import pytest
import torch

from rllib_gigpo.learning.losses import KL_ESTIMATORS, kl_per_row
from rllib_gigpo.learning.losses.kl import kl_loss
from tests.learning.loss_inputs import loss_inputs

LOGITS = torch.tensor([0.3, -1.2, 0.8, 0.1, -0.4], dtype=torch.float64)
REFERENCE = torch.tensor([-0.5, 0.2, 0.6, -1.0, 0.9], dtype=torch.float64)
OLD = torch.tensor([0.1, -0.9, 0.4, 0.5, -0.2], dtype=torch.float64)


def log_policy(logits):
    return torch.log_softmax(logits, 0)


def exact_gradient(divergence):
    logits = LOGITS.clone().requires_grad_()
    divergence(log_policy(logits), log_policy(REFERENCE)).backward()
    return logits.grad


def reverse_kl(policy, reference):
    return (policy.exp() * (policy - reference)).sum()


def forward_kl(policy, reference):
    return (reference.exp() * (reference - policy)).sum()


def expected_loss_gradient(estimator, sampling_logits):
    """Gradient of the loss, averaged over all tokens that could have been sampled."""
    logits = LOGITS.clone().requires_grad_()
    logprob = log_policy(logits)
    sampling = log_policy(sampling_logits)
    if estimator == "k1":
        loss = logprob - log_policy(REFERENCE)
    else:
        inputs = loss_inputs(
            logprob, sampling, [0.0] * 5, reference_logprob=log_policy(REFERENCE)
        )
        loss = kl_loss(inputs, estimator)
    (sampling.exp() * loss).sum().backward()
    return logits.grad


def test_k1_as_a_loss_has_no_expected_gradient_and_is_refused():
    assert expected_loss_gradient("k1", LOGITS).abs().max() < 1e-12
    assert not KL_ESTIMATORS["k1"].is_loss


def test_k2_and_unbiased_k3_have_the_gradient_of_the_reverse_kl():
    exact = exact_gradient(reverse_kl)
    for estimator in ("k2", "k3-unbiased"):
        torch.testing.assert_close(expected_loss_gradient(estimator, LOGITS), exact)


def test_plain_k3_has_the_gradient_of_the_forward_kl():
    gradient = expected_loss_gradient("k3", LOGITS)
    torch.testing.assert_close(gradient, exact_gradient(forward_kl))
    assert (gradient - exact_gradient(reverse_kl)).abs().max() > 0.01


def test_unbiased_k3_stays_unbiased_when_the_policy_has_moved():
    exact = exact_gradient(reverse_kl)
    torch.testing.assert_close(expected_loss_gradient("k3-unbiased", OLD), exact)
    assert (expected_loss_gradient("k2", OLD) - exact).abs().max() > 0.01


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_k1_and_k3_have_the_kl_as_their_mean(estimator):
    policy, reference = log_policy(LOGITS), log_policy(REFERENCE)
    mean = (policy.exp() * KL_ESTIMATORS[estimator].value(policy - reference)).sum()
    torch.testing.assert_close(mean, reverse_kl(policy, reference))


@pytest.mark.parametrize("estimator", ["k2", "k3", "k3-unbiased"])
def test_the_gradient_survives_a_large_log_ratio(estimator):
    logprob = torch.tensor([-20.0], requires_grad=True)
    inputs = loss_inputs(logprob, [-20.0], [0.0], reference_logprob=torch.zeros(1))
    kl_loss(inputs, estimator).sum().backward()
    assert logprob.grad.abs().item() > 1.0


def test_kl_in_reward_is_the_rows_sum():
    per_row = kl_per_row(
        torch.tensor([-1.0, -2.0, -0.5]),
        torch.tensor([-1.5, -1.0, -2.5]),
        torch.tensor([0, 0, 1]),
        num_rows=2,
    )
    assert per_row.tolist() == pytest.approx([0.5 - 1.0, 2.0])


def expected_reward_gradient(estimator):
    """Policy gradient of minus the reward, averaged over all tokens to be sampled."""
    logits = LOGITS.clone().requires_grad_()
    logprob = log_policy(logits)
    kl = kl_per_row(
        logprob.detach(), log_policy(REFERENCE), torch.arange(5), 5, estimator
    )
    (logprob.exp().detach() * kl * logprob).sum().backward()
    return logits.grad


def test_in_the_reward_k1_alone_has_the_gradient_of_the_reverse_kl():
    exact = exact_gradient(reverse_kl)
    torch.testing.assert_close(expected_reward_gradient("k1"), exact)
    for estimator in ("k2", "k3"):
        assert (expected_reward_gradient(estimator) - exact).abs().max() > 0.01
