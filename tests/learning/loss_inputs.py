"""LossInputs from a few lists."""

import torch

from rllib_gigpo.learning.losses import LossInputs


def loss_inputs(logprob, old, advantage, row=None, **others):
    logprob = torch.as_tensor(logprob)
    row = torch.arange(len(logprob)) if row is None else torch.tensor(row)
    old = torch.as_tensor(old, dtype=logprob.dtype)
    fields = {
        "logprob": logprob,
        "entropy": torch.zeros(len(logprob)),
        "old_logprob": old,
        "sampled_logprob": old,
        "reference_logprob": None,
        "advantage": torch.as_tensor(advantage, dtype=torch.float32),
        "row": row,
        "num_rows": int(row.max()) + 1,
        "token_weight": torch.ones(len(logprob)),
    }
    return LossInputs(**(fields | others))
