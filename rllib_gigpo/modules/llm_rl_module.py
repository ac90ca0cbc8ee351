"""A causal LM as an RLModule, saved as a Hugging Face folder.

What enters: packed rows. What leaves: exact logprobs and entropies of their response
tokens. Generation is the engines' business; weights reach them through
:meth:`LLMRLModule.export_weights` and not through RLlib's broadcasts.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow.fs
import torch
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.utils.annotations import override
from ray.rllib.utils.typing import StateDict

from rllib_gigpo.modules.llm_config import LLMConfig
from rllib_gigpo.modules.model_folder import load_model, load_tokenizer, save_model
from rllib_gigpo.modules.packed_attention import PACKED_SDPA
from rllib_gigpo.modules.packed_tokens import PackedTokens
from rllib_gigpo.modules.token_logprobs import token_logprobs
from rllib_gigpo.weight_sync.base import (
    checkpoint_weights,
    copy_to_cpu,
    load_into_model,
)

PACKED_TOKENS = "packed_tokens"
TEMPERATURE = "temperature"
LOGPROB = "logprob"
ENTROPY = "entropy"

_LEARNER_ATTENTION = {"sdpa": PACKED_SDPA, "flash_attention_2": "flash_attention_2"}

_SAVED_AS = {"weights": "see the Hugging Face files beside this one"}


class LLMRLModule(TorchRLModule):
    """A Hugging Face causal LM; ``model_config`` holds the fields of ``LLMConfig``.

    Attributes:
        llm_config: The settings.
        model: The Hugging Face model.
        tokenizer: Its tokenizer, with a chat template.
    """

    @override(RLModule)
    def setup(self) -> None:
        """Load model and tokenizer.

        Raises:
            ModelFolderError: There is no such model, or it is unfit.
        """
        self.llm_config = LLMConfig.from_dict(self.model_config)
        self.tokenizer = load_tokenizer(self.llm_config)
        # Master weights are float32 whatever the computation is in: a bfloat16 weight
        # would round an update of 1e-6 away.
        self.model = load_model(
            self.llm_config,
            dtype=torch.float32,
            attention=_LEARNER_ATTENTION[self.llm_config.attention],
        )

    @override(RLModule)
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Logprobs and entropies of the response tokens of one packed line.

        Args:
            batch: ``{"packed_tokens": PackedTokens, "temperature": float}``.
            **kwargs: RLlib's, ignored.

        Returns:
            ``{"logprob": float32 [N], "entropy": float32 [N]}`` in the line's order.
        """
        packed: PackedTokens = batch[PACKED_TOKENS]
        dtype = self.llm_config.torch_dtype
        with torch.autocast(
            packed.input_ids.device.type, dtype=dtype, enabled=dtype != torch.float32
        ):
            result = token_logprobs(self.model, packed, temperature=batch[TEMPERATURE])
        return {LOGPROB: result.logprob, ENTROPY: result.entropy}

    @override(RLModule)
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._forward_train(batch, **kwargs)

    def export_weights(self) -> dict[str, torch.Tensor]:
        """A snapshot for engines, in their dtype: checkpoint names, tied heads once."""
        dtype = self.llm_config.torch_dtype
        return copy_to_cpu(
            {
                name: tensor.to(dtype) if tensor.is_floating_point() else tensor
                for name, tensor in checkpoint_weights(self.model).items()
            }
        )

    @override(TorchRLModule)
    def get_state(
        self,
        components: str | Collection[str] | None = None,
        *,
        not_components: str | Collection[str] | None = None,
        inference_only: bool = False,
        **kwargs: Any,
    ) -> StateDict:
        """The master weights as CPU tensors.

        RLlib asks for ``inference_only`` states to broadcast them to runners; those are
        empty, since the engines get their weights another way.
        """
        if inference_only:
            return {}
        return copy_to_cpu(checkpoint_weights(self.model))

    @override(TorchRLModule)
    def set_state(self, state: StateDict) -> None:
        """Take over a full state; an empty one (see :meth:`get_state`) changes nothing.

        Raises:
            WeightSyncError: Names or shapes do not cover the model exactly.
        """
        if state and state != _SAVED_AS:
            load_into_model(self.model, state)

    @override(RLModule)
    def save_to_path(
        self,
        path: str | Path | None = None,
        *,
        state: StateDict | None = None,
        filesystem: pyarrow.fs.FileSystem | None = None,
        use_msgpack: bool = False,
    ) -> str:
        """Write a Hugging Face folder, with RLlib's two small files beside it."""
        # The base class writes metadata, and resolves path and file system.
        saved = super().save_to_path(
            path, state=_SAVED_AS, filesystem=filesystem, use_msgpack=use_msgpack
        )
        with tempfile.TemporaryDirectory() as local:
            save_model(self.model, self.tokenizer, Path(local), weights=state)
            pyarrow.fs.copy_files(
                local, saved, destination_filesystem=_file_system(path, filesystem)
            )
        return saved

    @override(RLModule)
    def restore_from_path(
        self,
        path: str | Path,
        *,
        component: str | None = None,
        filesystem: pyarrow.fs.FileSystem | None = None,
        **kwargs: Any,
    ) -> None:
        """Load the weights of a folder that :meth:`save_to_path` wrote.

        Raises:
            WeightSyncError: The folder holds another architecture.
        """
        source = str(path)
        resolved = _file_system(path, filesystem)
        if filesystem is None:
            _, source = pyarrow.fs.FileSystem.from_uri(source)
        with tempfile.TemporaryDirectory() as local:
            pyarrow.fs.copy_files(source, local, source_filesystem=resolved)
            saved = dataclasses.replace(self.llm_config, model_name_or_path=local)
            loaded = load_model(saved, dtype=torch.float32)
            load_into_model(self.model, checkpoint_weights(loaded))


def _file_system(
    path: str | Path | None, filesystem: pyarrow.fs.FileSystem | None
) -> pyarrow.fs.FileSystem:
    if filesystem is not None:
        return filesystem
    if path is None:
        return pyarrow.fs.LocalFileSystem()
    return pyarrow.fs.FileSystem.from_uri(str(Path(path)))[0]
