"""``Blackjack-v0``: one hand against a dealer, from an infinite deck."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np

from environments.cards.blackjack_strategy import (
    BUST,
    DEALER_STANDS_AT,
    hand_total,
    should_hit,
)
from environments.cards.replies import parse_official_json
from environments.experts import Advice
from environments.game_env import GameEnv, Outcome
from environments.game_prompt import GameWording
from environments.level_tasks import level_seed
from environments.styled_prompt import PromptSetting

ACTIONS = ("stand", "hit")
_SEED_OFFSET = 0x424A  # Keeps the games apart whose levels have equal seeds.
_TENS = "JQK"

BLACKJACK_WORDING = GameWording(
    name="blackjack",
    version=1,
    rules=(
        "You play one hand of blackjack against the dealer, of whose cards you see "
        "one. J, Q and K count 10; A counts 11, or 1 if 11 would take the hand over "
        "21. 'hit' gives you a card; with more than 21 you lose. After 'stand' the "
        f"dealer draws to {DEALER_STANDS_AT} or more, and the higher hand wins; a draw "
        "is no win."
    ),
    is_uniform=True,
    official_parser=partial(parse_official_json, keywords=ACTIONS),
    official_reply="json",
)


class BlackjackGame:
    """Reward 1 for a win, 0 for a loss, a bust and a draw.

    Args:
        seed: Decides the order of all cards.
    """

    instruction = "beat the dealer"

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._deck = np.random.default_rng([_SEED_OFFSET, seed])
        self.dealer = [self._draw(), self._draw()]
        self.player = [self._draw(), self._draw()]
        self.won = False
        self._has_stood = False

    def observation(self) -> str:
        """The dealer's open card and the player's cards."""
        return f"Dealer's card: {self.dealer[0]}. Player's cards: " + ", ".join(
            self.player
        )

    def admissible_actions(self) -> tuple[str, ...]:
        """Both actions, always."""
        return ACTIONS

    def state_key(self) -> Hashable:
        """The order of the cards to come and how many are out: nothing else is open."""
        return self._seed, tuple(self.player), self.dealer[0], self._has_stood

    def play(self, action: str) -> Outcome:
        """Take a card, or let the dealer play."""
        if action not in ACTIONS:
            remark = "Nothing happens: the actions are stand and hit."
            return Outcome(reward=0.0, is_rejected=True, remark=remark)
        if action == "hit":
            self.player.append(self._draw())
            return Outcome(reward=0.0, is_over=_total(self.player) > BUST)
        self._has_stood = True
        while _total(self.dealer) < DEALER_STANDS_AT:
            self.dealer.append(self._draw())
        dealer = _total(self.dealer)
        self.won = dealer > BUST or _total(self.player) > dealer
        return Outcome(reward=float(self.won), is_over=True)

    def figures(self) -> dict[str, float]:
        """The total of the player's hand."""
        return {"player_total": float(_total(self.player))}

    def _draw(self) -> str:
        rank = int(self._deck.integers(1, 14))
        if rank >= 10:
            return _TENS[self._deck.integers(len(_TENS))]
        return "A" if rank == 1 else str(rank)


class BlackjackExpert:
    """Maximises the chance to win, knowing only the cards that are open."""

    def __init__(self, game: BlackjackGame) -> None:
        self._game = game

    def next_action(self) -> Advice:
        """Hit or stand, with the hand's total as the reason."""
        values = _values(self._game.player)
        total, is_soft = hand_total(values)
        dealer = _values(self._game.dealer[:1])[0]
        action = "hit" if should_hit(total, is_soft, dealer) else "stand"
        kind = "soft" if is_soft else "hard"
        return Advice(
            action=action, thought=f"{kind} {total} against {self._game.dealer[0]}"
        )


class BlackjackEnv(GameEnv[BlackjackGame]):
    """Blackjack as text; all arguments as in :class:`GameEnv`.

    Raises:
        ValueError: A setting is out of range.
    """

    wording = BLACKJACK_WORDING

    def __init__(
        self,
        *,
        max_episode_steps: int = 15,
        num_train_tasks: int | None = None,
        num_eval_tasks: int | None = None,
        prompt: PromptSetting = None,
    ) -> None:
        super().__init__(
            max_episode_steps=max_episode_steps,
            num_train_tasks=num_train_tasks,
            num_eval_tasks=num_eval_tasks,
            prompt=prompt,
        )

    def expert(self) -> BlackjackExpert:
        """Plays the best strategy there is for this reward."""
        return BlackjackExpert(self.game)

    def _start_game(self, task_id: str) -> BlackjackGame:
        return BlackjackGame(level_seed(task_id))


def _values(cards: Sequence[str]) -> list[int]:
    return [1 if c == "A" else 10 if c in _TENS else int(c) for c in cards]


def _total(cards: Sequence[str]) -> int:
    return hand_total(_values(cards))[0]
