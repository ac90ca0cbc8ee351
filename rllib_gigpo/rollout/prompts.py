"""Chat messages to token ids within a budget, and sampled ids back to text.

The ids made here are the ids sent to the engine and the ids that train: a prompt is
tokenised once, a response never.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from environments.prompting import PromptContext, PromptTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPrompt:
    """A prompt that fits.

    Attributes:
        ids: int32 [num_prompt_tokens].
        num_dropped_history: Past steps left out so that it fits.
    """

    ids: NDArray[np.int32]
    num_dropped_history: int


class PromptRenderer:
    """Renders prompts with a model's own chat template.

    Args:
        tokenizer: With a chat template.
        max_prompt_tokens: Longest prompt.
        stop_token_ids: The ids that end a response.
        chat_template_kwargs: Passed to the template, e.g.
            ``{"enable_thinking": False}``.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        max_prompt_tokens: int,
        stop_token_ids: Iterable[int],
        chat_template_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._max_prompt_tokens = max_prompt_tokens
        self._chat_template_kwargs = chat_template_kwargs or {}
        self.stop_token_ids = tuple(sorted(set(stop_token_ids)))

    def render(
        self, template: PromptTemplate, context: PromptContext
    ) -> RenderedPrompt | None:
        """Token ids of the prompt, the oldest history dropped first; None if too long.

        Raises:
            ValueError: The chat template rendered nothing.
        """
        for num_dropped in range(len(context.history) + 1):
            shortened = replace(context, history=context.history[num_dropped:])
            text = self._tokenizer.apply_chat_template(
                template.messages(shortened),
                tokenize=False,
                add_generation_prompt=True,
                **self._chat_template_kwargs,
            )
            # The template writes its own special tokens; adding more would double them.
            ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            if not ids:
                raise ValueError("the chat template rendered an empty prompt")
            if len(ids) <= self._max_prompt_tokens:
                return RenderedPrompt(
                    ids=np.asarray(ids, np.int32), num_dropped_history=num_dropped
                )
        return None

    def decode(self, response_ids: NDArray[np.int32]) -> str:
        """The response as text for the parser, without the stop token that ended it."""
        ids = response_ids.tolist()
        if ids and ids[-1] in self.stop_token_ids:
            ids = ids[:-1]
        # Tags such as <action> may be special tokens; they must stay visible.
        return self._tokenizer.decode(ids, skip_special_tokens=False)
