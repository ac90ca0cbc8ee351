"""Weights on their way from a learner to engines: names, checks, digests.

What enters: a model, or a dict of tensors named as in the Hugging Face checkpoint, a
tied head under one name only. What leaves: the same dict, or a model that holds it.
Invariant: a model takes over all of a set of weights or, on an error, none of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import nn

from rllib_gigpo.errors import WeightSyncError

_NUM_NAMES_SHOWN = 3


def checkpoint_weights(model: nn.Module) -> dict[str, torch.Tensor]:
    """A model's weights, sharing memory with it, each tensor under one name.

    Args:
        model: The Hugging Face model itself, so that names have no further prefix.

    Returns:
        Parameters and persistent buffers in the model's order; a tied head comes as
        the embedding it is tied to.
    """
    persistent = model.state_dict(keep_vars=True)
    seen: set[int] = set()
    weights: dict[str, torch.Tensor] = {}
    for name, tensor in persistent.items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            weights[name] = tensor.detach()
    return weights


def copy_to_cpu(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A snapshot in host memory that later optimizer steps do not change."""
    return {
        name: tensor.detach().to("cpu", copy=True).contiguous()
        for name, tensor in weights.items()
    }


@torch.no_grad()
def load_into_model(model: nn.Module, weights: Mapping[str, torch.Tensor]) -> None:
    """Copy a full set of weights into a model, in place.

    Args:
        model: As for :func:`checkpoint_weights`.
        weights: Every one of its tensors; other dtypes are cast.

    Raises:
        WeightSyncError: Names or shapes differ; the model is then unchanged.
    """
    targets = checkpoint_weights(model)
    check_coverage({name: tensor.shape for name, tensor in targets.items()}, weights)
    for name, target in targets.items():
        target.copy_(weights[name])


def check_coverage(
    expected: Mapping[str, torch.Size], weights: Mapping[str, torch.Tensor]
) -> None:
    """Check that names match one to one and shapes agree.

    Raises:
        WeightSyncError: With the first few names of each kind that do not.
    """
    problems = []
    if missing := [name for name in expected if name not in weights]:
        problems.append(f"{_listed(missing)} missing")
    if unknown := [name for name in weights if name not in expected]:
        problems.append(f"{_listed(unknown)} unknown to the model")
    for name, shape in expected.items():
        if name in weights and weights[name].shape != shape:
            sent = tuple(weights[name].shape)
            problems.append(f"{name!r} has shape {sent}, not {tuple(shape)}")
    if problems:
        raise WeightSyncError(
            f"weights do not fit the model: {'; '.join(problems[:4])}. Send every "
            "tensor of the Hugging Face model under its checkpoint name"
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_NUM_NAMES_SHOWN])
    more = len(names) - _NUM_NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def checksum(weights: Mapping[str, torch.Tensor]) -> str:
    """A digest of names, dtypes, shapes and bytes, equal on every machine.

    Args:
        weights: In any order; the digest is of the names in sorted order.

    Returns:
        Hexadecimal, 32 digits.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(weights):
        tensor = weights[name].detach().cpu().contiguous()
        digest.update(f"{name}|{tensor.dtype}|{tuple(tensor.shape)}|".encode())
        digest.update(memoryview(tensor.view(-1).view(torch.uint8).numpy()))
    return digest.hexdigest()
