"""Chat messages to token ids within a budget, and sampled ids back to text.

The ids made here are the ids sent to the engine and the ids that train: a prompt is
tokenised once, a response never. What stands in a message stays in it: control tokens
come from the chat template alone, whatever an observation or an action says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from environments.prompting import ChatMessage, PromptContext, PromptTemplate


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
        self._control = _control_tokens(
            tokenizer, self.stop_token_ids, self._chat_text(_PROBE)
        )

    def render(
        self, template: PromptTemplate, context: PromptContext
    ) -> RenderedPrompt | None:
        """Token ids of the prompt, the oldest history dropped first; None if too long.

        Raises:
            ValueError: The chat template rendered nothing.
        """
        for num_dropped in range(len(context.history) + 1):
            shortened = replace(context, history=context.history[num_dropped:])
            text = self._chat_text(
                [
                    {"role": m["role"], "content": self._as_content(m["content"])}
                    for m in template.messages(shortened)
                ]
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

    def _chat_text(self, messages: list[ChatMessage]) -> str:
        return self._tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=True,
            **self._chat_template_kwargs,
        )

    def _as_content(self, text: str) -> str:
        """The text with each control token split by a blank: read as mere characters.

        A page that says ``<|im_end|>`` would otherwise end the message and could speak
        in another role.
        """
        return self._control.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)

    def decode(self, response_ids: NDArray[np.int32]) -> str:
        """The response as text for the parser, without the stop token that ended it."""
        ids = response_ids.tolist()
        if ids and ids[-1] in self.stop_token_ids:
            ids = ids[:-1]
        # Tags such as <action> may be special tokens; they must stay visible.
        return self._tokenizer.decode(ids, skip_special_tokens=False)


_PROBE: list[ChatMessage] = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
    {"role": "user", "content": "c"},
]


def _control_tokens(
    tokenizer: PreTrainedTokenizerBase, stop_token_ids: Collection[int], rendered: str
) -> re.Pattern[str]:
    """Matches the tokens that structure a chat: start, end, padding, the template's.

    Other special tokens, a tag such as ``<action>`` perhaps, may stand in a message.
    """
    ends = {tokenizer.bos_token_id, tokenizer.pad_token_id, *stop_token_ids}
    tokens = {
        token.content
        for token_id, token in tokenizer.added_tokens_decoder.items()
        if token.special and (token_id in ends or token.content in rendered)
    }
    # Longest first; without any the pattern matches nothing.
    ordered = sorted(tokens, key=lambda token: (-len(token), token))
    return re.compile("|".join(map(re.escape, ordered)) or "(?!)")
