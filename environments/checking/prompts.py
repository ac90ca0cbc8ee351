"""A prompt template: renders every moment, and reads any text without a crash."""

from __future__ import annotations

import random
from dataclasses import replace

from environments.checking.episodes import Episode
from environments.checking.requirement import require, shortened
from environments.errors import ContractError
from environments.parsing import is_listed
from environments.prompting import (
    HistoryEntry,
    ParsedAction,
    PromptContext,
    PromptTemplate,
)

_ROLES = ("system", "user", "assistant")
_NUM_TEXTS = 500
_MOST_REASONS = 40
_PIECES = (
    *("<think>", "</think>", "<action>", "</action>", "<THINK>", "</Action>", "<", ">"),
    *("<search>", "</search>", "<answer>", "</answer>", '{"action": "', '"}', "{", "["),
    *("", " ", "\n", "\x00", "桌子", "İ", "ß", "\ud800", "x" * 500, "1", "a word"),
)


def check_prompt(prompt: PromptTemplate, episodes: list[Episode]) -> None:
    """Check attributes, rendering and parsing of a template.

    Raises:
        ContractError: One of them is not as it should be.
    """
    require(
        isinstance(prompt.version, str) and bool(prompt.version),
        f"prompt.version is {prompt.version!r}",
        "name wording and parsing rules in a str",
    )
    window = prompt.history_window
    require(
        isinstance(window, int) and window >= 0,
        f"prompt.history_window is {window!r}",
        "give the number of past steps that a prompt may show",
    )
    for episode in episodes:
        for context in _contexts(episode, window):
            _check_messages(prompt, context)
    lists = {moment.info["admissible_actions"] for moment in episodes[0].moments}
    for actions in sorted(lists, key=repr)[:5]:
        _check_parser(prompt, actions)


def _contexts(episode: Episode, window: int) -> list[PromptContext]:
    """What a template is given along an episode, and with its history shortened."""
    contexts = []
    history: tuple[HistoryEntry, ...] = ()
    for number, moment in enumerate(episode.moments[:-1]):
        context = PromptContext(
            instruction=moment.info["instruction"],
            observation=moment.observation,
            admissible_actions=moment.info["admissible_actions"],
            history=history[max(0, len(history) - window) :],
            num_steps_taken=number,
        )
        contexts.append(context)
        if context.history:
            contexts.append(replace(context, history=()))
        history += (
            HistoryEntry(
                observation=moment.observation, action=episode.actions[number]
            ),
        )
    return contexts


def _check_messages(prompt: PromptTemplate, context: PromptContext) -> None:
    where = f"prompt.messages({shortened(context)})"
    try:
        messages = prompt.messages(context)
        again = prompt.messages(context)
    except Exception as error:
        raise ContractError(
            f"{where} raises {type(error).__name__} ({error}): render any context, "
            "with a history of any length up to history_window, empty included"
        ) from error
    require(
        isinstance(messages, list)
        and bool(messages)
        and all(
            isinstance(message, dict)
            and message.get("role") in _ROLES
            and isinstance(message.get("content"), str)
            for message in messages
        ),
        f"{where} is {shortened(messages)}",
        f"return a list of dicts with a role of {list(_ROLES)} and a content",
    )
    require(
        messages[-1]["role"] == "user" and bool(messages[-1]["content"].strip()),
        f"{where} ends with {shortened(messages[-1])}",
        "end with a user message that asks for the next action",
    )
    require(messages == again, f"{where} differs when called again", "keep it pure")


def _check_parser(prompt: PromptTemplate, actions: tuple[str, ...] | None) -> None:
    reasons = set()
    for text in _texts(actions):
        where = f"prompt.parse({shortened(text)}, {shortened(actions)})"
        try:
            parsed = prompt.parse(text, actions)
            again = prompt.parse(text, actions)
        except Exception as error:
            raise ContractError(
                f"{where} raises {type(error).__name__} ({error}): read any text, and "
                "return what is wrong with it as the reason"
            ) from error
        require(
            isinstance(parsed, ParsedAction) and isinstance(parsed.action, str),
            f"{where} is {shortened(parsed)}",
            "return a ParsedAction with the action as a str",
        )
        require(parsed == again, f"{where} differs when called again", "keep it pure")
        require(
            parsed.is_valid or not parsed.is_admissible,
            f"{where} is admissible without being valid",
            "set is_admissible to False whenever is_valid is",
        )
        require(
            parsed.is_admissible or bool(parsed.reason),
            f"{where} is rejected without a reason",
            "say why in a few words",
        )
        require(
            not parsed.is_admissible
            or actions is None
            or is_listed(parsed.action, actions),
            f"{where} calls {parsed.action!r} admissible, which was not listed",
            "compare it with the list",
        )
        reasons.add(parsed.reason)
    require(
        len(reasons) <= _MOST_REASONS,
        f"prompt.parse gives {len(reasons)} different reasons, such as "
        f"{shortened(sorted(reasons)[:3])}",
        "leave the text out of the reason, so that reasons can be counted",
    )


def _texts(actions: tuple[str, ...] | None) -> list[str]:
    """Outputs made of tags and debris, with admissible actions among them."""
    chance = random.Random(0)
    pieces = (*_PIECES, *(actions or ())[:5])
    return ["".join(chance.choices(pieces, k=n % 12)) for n in range(_NUM_TEXTS)]
