"""Sokoban: rules, rewards, rooms that can be solved, shortest solutions, prompts."""

from __future__ import annotations

import hashlib
import statistics
from collections import deque

import gymnasium
import numpy as np
import pytest

from environments.game_prompt import GamePrompt
from environments.prompting import HistoryEntry, PromptContext
from environments.sokoban.drawing import board_text, grid, picture
from environments.sokoban.env import SokobanEnv
from environments.sokoban.game import SokobanGame
from environments.sokoban.generator import RoomSize, generate_room
from environments.sokoban.prompt import SOKOBAN_WORDING
from environments.sokoban.room import DIRECTIONS, Placement, Room, move
from environments.sokoban.solver import SokobanExpert, solve

BOARD = """
# # # # # # #
# P X _ O _ #
# _ _ X _ O #
# _ _ _ _ _ #
# # # # # # #
"""


def read_board(board):
    rows = [line.split() for line in board.strip().splitlines()]
    cells = dict(enumerate(symbol for row in rows for symbol in row))
    room = Room(
        rows=len(rows),
        columns=len(rows[0]),
        floor=frozenset(n for n, s in cells.items() if s != "#"),
        targets=frozenset(n for n, s in cells.items() if s in "O√S"),
    )
    (player,) = (n for n, s in cells.items() if s in "PS")
    return room, Placement(player, frozenset(n for n, s in cells.items() if s in "X√"))


def play(board, *actions):
    game = SokobanGame(*read_board(board), "compact")
    return game, [round(game.play(action).reward, 6) for action in actions]


def test_a_free_box_is_pushed_and_the_player_follows():
    game, _ = play(BOARD, "right")
    assert game.observation().splitlines()[1] == "# _ P X O _ #"


@pytest.mark.parametrize(
    ("board", "direction"),
    [
        ("# # # #\n# P X #\n# _ O #\n# # # #", "right"),
        ("# # # # # #\n# P X X O #\n# O _ _ _ #\n# # # # # #", "right"),
        ("# # # # #\n# P X √ #\n# _ O _ #\n# # # # #", "right"),
        ("# # # #\n# P X #\n# _ O #\n# # # #", "up"),
    ],
)
def test_walls_and_second_boxes_block_and_the_step_still_costs(board, direction):
    before, _ = play(board)
    after, rewards = play(board, direction)
    assert after.observation() == before.observation()
    assert after.figures()["action_is_effective"] == 0.0
    assert rewards == [-0.1]


def test_rewards_are_the_official_ones():
    # The first box goes on its target (+1), one too far (-1), the second box follows.
    game, rewards = play(BOARD, "right", "right", "right", "still", "")
    assert rewards == [-0.1, 0.9, -1.1, -0.1, -0.1]
    one_box = "# # # # #\n# P X O #\n# _ _ _ #\n# # # # #"
    game, rewards = play(one_box, "right")
    assert rewards == [10.9] and game.won


def test_a_player_on_a_target_is_shown_and_leaves_it_as_it_was():
    board = "# # # # #\n# P O X #\n# # # # #"
    assert play(board, "right")[0].observation().splitlines()[1] == "# _ S X #"
    assert play(board, "right", "left")[0].observation() == play(board)[0].observation()


def test_grid_codes_are_the_official_ones():
    board = "# # # # #\n# _ O √ #\n# X S _ #\n# # # # #"
    room, placement = read_board(board)
    assert grid(room, placement)[1:3] == [[0, 1, 2, 3, 0], [0, 4, 6, 1, 0]]
    assert board_text(room, placement, "compact") == board
    tabbed = board_text(room, placement, "tabbed").split("\n")
    assert tabbed[1] == " # \t _ \t O \t √ \t # \t"


def plain_search(room, placement):
    """Length of a shortest solution by breadth-first search, or None."""
    distances = {placement: 0}
    queue = deque([placement])
    while queue:
        here = queue.popleft()
        if here.boxes == room.targets:
            return distances[here]
        for direction in DIRECTIONS:
            there = move(room, here, room.offset(direction))
            if there not in distances:
                distances[there] = distances[here] + 1
                queue.append(there)
    return None


@pytest.mark.parametrize("num_boxes", [1, 2])
def test_solutions_are_as_short_as_those_of_a_plain_search(num_boxes):
    for seed in range(60):
        room, placement = generate_room(RoomSize(num_boxes=num_boxes), seed)
        solution = solve(room, placement)
        assert len(solution) == plain_search(room, placement)
        rng = np.random.default_rng(seed)
        for _ in range(12):
            direction = DIRECTIONS[rng.integers(4)]
            placement = move(room, placement, room.offset(direction))
            solution = solve(room, placement)
            shortest = plain_search(room, placement)
            assert shortest == (None if solution is None else len(solution))


def test_rooms_are_about_as_hard_as_the_official_ones():
    # Official: 300 rooms, solutions of 1 to 10 moves, mean 3.9, median 4, 90 % <= 7.
    lengths = [len(solve(*generate_room(RoomSize(), seed))) for seed in range(300)]
    assert 3.5 < statistics.mean(lengths) < 4.5
    assert statistics.median(lengths) == 4
    assert min(lengths) >= 1 and max(lengths) <= 14
    assert sum(length <= 7 for length in lengths) / 300 > 0.85


@pytest.mark.parametrize(
    "size", [RoomSize(), RoomSize(rows=8, columns=7, num_boxes=3, search_depth=40)]
)
def test_rooms_keep_their_size_and_start_with_every_target_bare(size):
    for seed in range(40):
        room, placement = generate_room(size, seed)
        codes = np.asarray(grid(room, placement))
        assert codes.shape == (size.rows, size.columns)
        border = (*codes[0], *codes[-1], *codes[:, 0], *codes[:, -1])
        assert set(border) == {0}
        assert len(room.targets) == len(placement.boxes) == size.num_boxes
        assert room.targets.isdisjoint(placement.boxes)
        assert placement.player in room.floor - placement.boxes


def test_the_evaluation_panel_is_the_same_for_ever():
    """A new digest here means that old evaluation figures no longer compare."""
    env = SokobanEnv()
    digest = hashlib.sha256()
    for task in env.tasks("eval"):
        digest.update(env.reset(options={"task": task})[0].encode())
    assert digest.hexdigest()[:16] == "b4556a400c375198"


def test_the_expert_gets_the_full_reward_of_every_evaluation_task():
    env = SokobanEnv()
    for task in env.tasks("eval"):
        env.reset(options={"task": task})
        shortest = plain_search(env.game.room, env.game.placement)
        expert, rewards, is_over = env.expert(), [], False
        while not is_over:
            _, reward, is_over, truncated, info = env.step(expert.next_action().action)
            assert not truncated
            rewards.append(reward)
        assert info["success"]
        assert sum(rewards) == pytest.approx(11.0 - 0.1 * shortest)


def test_the_expert_plays_on_after_a_slip_and_in_a_lost_room():
    game, _ = play(BOARD)
    expert = SokobanExpert(game)
    first = expert.next_action()
    assert first.thought.startswith("push ")
    game.play("down")
    while not game.won:
        assert game.play(expert.next_action().action).reward > -1
    lost, _ = play("# # # # #\n# X P _ #\n# _ O _ #\n# # # # #")
    advice = SokobanExpert(lost).next_action()
    assert advice.thought == "no way left"
    assert lost.play(advice.action).reward == -0.1
    assert lost.figures()["action_is_effective"] == 1.0


def test_the_state_key_is_the_board_alone():
    env = SokobanEnv(board_format="tabbed")
    _, first = env.reset(options={"task": "train/3"})
    waited = env.step("still")[4]
    silly = env.step("fly")[4]
    assert first["state_key"] == waited["state_key"] == silly["state_key"]
    keys = {
        move: env.reset(options={"task": "train/3"}) and env.step(move)[4]
        for move in DIRECTIONS
    }
    moved = [i for i in keys.values() if i["figures"]["action_is_effective"]]
    assert len({info["state_key"] for info in moved} | {first["state_key"]}) == (
        len(moved) + 1
    )


def test_the_picture_shows_every_symbol_differently():
    board = "# # # # #\n# _ O √ #\n# X S _ #\n# # # # #"
    image = picture(*read_board(board))
    assert image.shape == (64, 80, 3) and image.dtype == np.uint8
    codes = np.asarray(grid(*read_board(board)))
    tiles = {
        image[16 * r : 16 * r + 16, 16 * c : 16 * c + 16].tobytes(): codes[r, c]
        for r in range(4)
        for c in range(5)
    }
    assert sorted(tiles.values()) == [0, 1, 2, 3, 4, 6]
    env = gymnasium.make("Sokoban-v0", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (96, 96, 3)


@pytest.mark.parametrize(
    ("text", "action", "is_valid"),
    [
        ("<think>a</think><action>push the box UP then left</action>", "up", True),
        ("<think>a</think><action>left, then up</action>", "up", True),
        ("<think>a</think><action>still</action>", "still", True),
        ("<think>a</think><action>jump</action>", "still", False),
        ("up", "still", False),
        ("", "still", False),
    ],
)
def test_official_parsing_takes_the_first_direction_in_its_own_order(
    text, action, is_valid
):
    prompt = GamePrompt(wording=SOKOBAN_WORDING, parsing="official")
    parsed = prompt.parse(text, DIRECTIONS)
    assert (parsed.action, parsed.is_valid) == (action, is_valid)
    assert bool(parsed.reason) is not is_valid


# Danger: a change below is a change of the prompt. Raise the wording's version, since
# results of different prompts must not be compared.
def test_prompts_are_word_for_word_those_of_their_version():
    context = PromptContext(
        instruction="push every box onto a target",
        observation="# P #",
        admissible_actions=DIRECTIONS,
        history=(HistoryEntry(observation="# _ #", action="up"),),
        num_steps_taken=4,
    )
    full = GamePrompt(wording=SOKOBAN_WORDING)
    assert full.version == "sokoban-full-1/k2/strict-1/thought-required"
    assert full.messages(context)[0]["content"] == (
        "You play Sokoban on a grid. Walking into a box pushes it one cell on, if the "
        "cell behind it is free; boxes cannot be pulled, and two boxes cannot be "
        "pushed at once. A box in a corner is stuck for good.\n"
        "Symbols: # wall, _ floor, O target, X box, √ box on a target, P you, S you "
        "on a target.\n\n"
        "Your task: push every box onto a target\n\n"
        "Steps taken so far: 4. The last 1:\nObservation 4:\n# _ #\nAction 4: 'up'\n\n"
        "Step 5. What you see now:\n# P #\n\n"
        "Actions that are possible now: 'up', 'down', 'left', 'right'\n\n"
        "First think step by step about what to do, between <think> and </think>. "
        "Then give exactly one of these actions between <action> and </action>."
    )
    compact = GamePrompt(wording=SOKOBAN_WORDING, style="compact")
    assert compact.messages(context)[0]["content"] == ("past: # _ #\n> up\nsee: # P #")


@pytest.mark.parametrize(
    "settings",
    [
        {"rows": 4},
        {"columns": 21},
        {"num_boxes": 0},
        {"num_boxes": 5},
        {"search_depth": 0},
        {"board_format": "wide"},
        {"render_mode": "human"},
        {"max_episode_steps": 0},
    ],
)
def test_a_setting_that_cannot_work_is_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        SokobanEnv(**settings)
