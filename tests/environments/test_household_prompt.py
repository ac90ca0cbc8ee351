"""What the household prompt shows, word for word, and that replies are read back."""

import pytest

from environments.alfworld.prompt import HouseholdPrompt, bare_observation
from environments.prompting import HistoryEntry, PromptContext

FIRST = (
    "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking "
    "quickly around you, you see a desk 1, a drawer 2, and a drawer 1.\n\n"
    "Your task is to: put a mug in desk."
)
AT_DESK = "You arrive at desk 1. On the desk 1, you see a mug 2, and a pen 1."
ACTIONS = ("go to drawer 1", "help", "inventory", "look", "take mug 2 from desk 1")

START = PromptContext(
    instruction="put a mug in desk.",
    observation=FIRST,
    admissible_actions=("go to desk 1", "help", "look"),
    history=(),
    num_steps_taken=0,
)
LATER = PromptContext(
    instruction="put a mug in desk.",
    observation=AT_DESK,
    admissible_actions=ACTIONS,
    history=(
        HistoryEntry(observation=FIRST, action="look"),
        HistoryEntry(observation="Nothing happens.", action="go to desk 1"),
    ),
    num_steps_taken=3,
)

# Danger: a change below is a change of the prompt. Raise its number in
# PROMPT_VERSIONS, since results of different prompts must not be compared.
SNAPSHOTS = {
    ("household-full-1", "start"): (
        "You are a robot in a house and act through short text commands.\n\n"
        "Your task: put a mug in desk.\n\n"
        "Step 1. What you see now: You are in the middle of a room. Looking quickly "
        "around you, you see a desk 1, a drawer 2, and a drawer 1.\n\n"
        "Commands that are possible now:\n'go to desk 1'\n'look'\n\n"
        "First think step by step about what to do, between <think> and </think>. "
        "Then give exactly one of these commands between <action> and </action>."
    ),
    ("household-full-1", "later"): (
        "You are a robot in a house and act through short text commands.\n\n"
        "Your task: put a mug in desk.\n\n"
        "Steps taken so far: 3. The last 2:\n"
        "[Observation 2: 'You are in the middle of a room. Looking quickly around you, "
        "you see a desk 1, a drawer 2, and a drawer 1.', Action 2: 'look']\n"
        "[Observation 3: 'Nothing happens.', Action 3: 'go to desk 1']\n\n"
        "Step 4. What you see now: You arrive at desk 1. On the desk 1, you see a mug "
        "2, and a pen 1.\n\n"
        "Commands that are possible now:\n'go to drawer 1'\n'inventory'\n'look'\n"
        "'take mug 2 from desk 1'\n\n"
        "First think step by step about what to do, between <think> and </think>. "
        "Then give exactly one of these commands between <action> and </action>."
    ),
    ("household-compact-1", "start"): (
        "task: put a mug in desk.\n"
        "see: you see desk 1, drawer 2, drawer 1.\n"
        "can: go to desk 1 | look"
    ),
    ("household-compact-1", "later"): (
        "task: put a mug in desk.\n"
        "past: you see desk 1, drawer 2, drawer 1. > look\n"
        "past: Nothing happens. > go to desk 1\n"
        "see: You arrive at desk 1. On the desk 1, you see mug 2, pen 1.\n"
        "can: go to drawer 1 | inventory | look | take mug 2 from desk 1"
    ),
}


@pytest.mark.parametrize("style", ["full", "compact"])
@pytest.mark.parametrize("when", ["start", "later"])
def test_prompt_is_word_for_word_that_of_its_version(style, when):
    prompt = HouseholdPrompt(style=style)
    context = {"start": START, "later": LATER}[when]
    assert prompt.messages(context) == [
        {
            "role": "user",
            "content": SNAPSHOTS[prompt.version.split("/")[0], when],
        }
    ]


@pytest.mark.parametrize("style", ["full", "compact"])
def test_everything_the_agent_may_know_is_in_the_prompt(style):
    (message,) = HouseholdPrompt(style=style).messages(LATER)
    for needed in (LATER.instruction, "mug 2", "pen 1", "Nothing happens.", "drawer 2"):
        assert needed in message["content"]
    for action in set(ACTIONS) - {"help"}:
        assert action in message["content"]
    assert "help" not in message["content"]
    assert "Welcome" not in message["content"]


@pytest.mark.parametrize("style", ["full", "compact"])
def test_rendering_is_pure(style):
    prompt = HouseholdPrompt(style=style)
    before = repr(LATER)
    first = prompt.messages(LATER)
    first[0]["content"] = "spoilt"
    assert prompt.messages(LATER) != first
    assert repr(LATER) == before


def test_a_world_without_a_list_of_actions_is_not_given_one():
    context = PromptContext(
        instruction="do it",
        observation="a room",
        admissible_actions=None,
        history=(),
        num_steps_taken=0,
    )
    (full,) = HouseholdPrompt(style="full").messages(context)
    (compact,) = HouseholdPrompt(style="compact").messages(context)
    assert "possible" not in full["content"] and "one command" in full["content"]
    assert "can:" not in compact["content"]


def test_a_shortened_history_keeps_its_step_numbers():
    context = PromptContext(
        instruction=LATER.instruction,
        observation=AT_DESK,
        admissible_actions=ACTIONS,
        history=LATER.history[1:],
        num_steps_taken=3,
    )
    (message,) = HouseholdPrompt().messages(context)
    assert "The last 1:\n[Observation 3: 'Nothing happens.'" in message["content"]


def test_without_history_the_number_of_steps_is_still_told():
    context = PromptContext(
        instruction=LATER.instruction,
        observation=AT_DESK,
        admissible_actions=ACTIONS,
        history=(),
        num_steps_taken=3,
    )
    (message,) = HouseholdPrompt(history_window=0).messages(context)
    assert "Steps taken so far: 3.\n\nStep 4." in message["content"]


def test_help_was_not_shown_and_so_is_not_admissible():
    parsed = HouseholdPrompt().parse(
        "<think>x</think><action>help</action>", ("help", "look")
    )
    assert parsed.is_valid and not parsed.is_admissible


@pytest.mark.parametrize("parsing", ["strict", "official"])
def test_a_demonstration_is_read_back(parsing):
    prompt = HouseholdPrompt(parsing=parsing)
    parsed = prompt.parse(prompt.response("find mug", "look"), ACTIONS)
    assert (parsed.action, parsed.is_admissible) == ("look", True)


def test_the_version_tells_apart_all_that_changes_prompt_or_parsing():
    variants = [
        HouseholdPrompt(),
        HouseholdPrompt(style="compact"),
        HouseholdPrompt(history_window=3),
        HouseholdPrompt(parsing="official"),
        HouseholdPrompt(thought="optional"),
    ]
    assert len({variant.version for variant in variants}) == len(variants)


@pytest.mark.parametrize(
    "settings",
    [
        {"style": "tiny"},
        {"history_window": -1},
        {"parsing": "lenient"},
        {"thought": "none"},
    ],
)
def test_wrong_settings_name_themselves(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=name):
        HouseholdPrompt(**settings)


def test_a_bare_observation_loses_banner_and_task_only():
    assert bare_observation(FIRST).endswith("and a drawer 1.")
    assert bare_observation(AT_DESK) == AT_DESK
