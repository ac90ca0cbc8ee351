"""What runs inside vLLM's workers: taking over new weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from safetensors.torch import load_file
from torch import nn


class WeightReloader:
    """Mixed into vLLM's worker class (``worker_extension_cls``).

    The caller has checked that the weights cover the model exactly: vLLM itself leaves
    the rest of a fused layer unfilled when only a part of it is sent.
    """

    def reload_from_tensors(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Take over weights in checkpoint format; in the engine's own process only."""
        self.reload_weights(
            weights_iterator=iter(weights.items()), is_checkpoint_format=True
        )
        repack_tied_layers(self.model_runner.get_model())

    def reload_from_file(self, path: str) -> None:
        """Take over weights from a safetensors file; across processes of a node."""
        self.reload_from_tensors(load_file(path))


@torch.no_grad()
def repack_tied_layers(model: nn.Module) -> None:
    """Let layers that share another one's weight follow it.

    On a CPU a tied output head multiplies by a packed copy of the embedding. vLLM's
    reload packs again only the layers that it loads by name, and the head is not one.
    """
    owners: dict[int, nn.Module] = {}
    for layer in model.modules():
        weight = getattr(layer, "weight", None)
        if not isinstance(weight, nn.Parameter):
            continue
        owner = owners.setdefault(id(weight), layer)
        if owner is not layer and hasattr(layer, "quant_method"):
            layer.quant_method.process_weights_after_loading(layer)
