"""SearchQA as a Gymnasium environment: turns, rewards, feedback, keys, determinism."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from environments.errors import MissingDataError
from environments.prompting import HistoryEntry, PromptContext
from environments.registration import register_environments
from environments.search.corpus import Passage
from environments.search.env import NOT_UNDERSTOOD, SearchQAEnv
from environments.search.information import NOTHING_FOUND, information
from environments.search.prompt import SearchPrompt
from environments.search.retrieval import ScoredPassage
from tests.shared_data import shared_file

_TASK = "eval/one_hop/0"


class _Echo:
    """Finds one passage that repeats the query, and counts the searches."""

    runs_inline = True

    def __init__(self) -> None:
        self.num_searches = 0

    def search(self, queries: Sequence[str], top_k: int) -> list[list[ScoredPassage]]:
        self.num_searches += len(queries)
        return [
            [ScoredPassage(passage=Passage(id="0", contents=f'"T"\n{q}'), score=1.0)]
            for q in queries
        ]


@pytest.fixture
def question_file(tmp_path: Path) -> Path:
    rows = [
        {"id": "0", "ds": ds, "question": f"{ds}?", "golden_answers": ["Yes", "A yes"]}
        for ds in ("nq", "hotpotqa")
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def env(question_file: Path) -> SearchQAEnv:
    return SearchQAEnv(
        train_questions=question_file,
        eval_questions=[question_file],
        eval_sets=["nq", "hotpotqa"],
        retriever=_Echo(),
    )


def test_gymnasium_accepts_the_environment() -> None:
    with warnings.catch_warnings():
        # Without a spec it cannot try render modes, and there are none.
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(SearchQAEnv())


def test_it_is_made_by_name() -> None:
    register_environments()
    made = gymnasium.make("SearchQA-v0", world="tiny", top_k=1).unwrapped
    assert isinstance(made, SearchQAEnv) and made.runs_inline


def test_a_search_shows_what_was_found_and_an_answer_is_rewarded(
    env: SearchQAEnv,
) -> None:
    observation, info = env.reset(options={"task": "eval/nq/0"})
    assert observation == info["instruction"] == "nq?"
    assert info["admissible_actions"] is None and not info["success"]
    found = env.step("<search>who</search>")
    assert found[0] == '<information>Doc 1(Title: "T") who</information>'
    assert found[1:4] == (0.0, False, False)
    answered = env.step("<answer>the yes!</answer>")
    assert answered[1:4] == (1.0, True, False)
    assert answered[4]["success"]
    assert answered[4]["figures"] == {"num_searches": 1.0, "num_rejected": 0.0}


@pytest.mark.parametrize("answer", ["no", "", "yes and no", "<answer>yes"])
def test_a_wrong_answer_ends_the_episode_without_reward(
    env: SearchQAEnv, answer: str
) -> None:
    env.reset(options={"task": "eval/nq/0"})
    _, reward, terminated, truncated, info = env.step(f"<answer>{answer}</answer>")
    assert (reward, terminated, truncated, info["success"]) == (0, True, False, False)


def test_a_passage_that_speaks_of_answers_is_no_answer(env: SearchQAEnv) -> None:
    env.reset(options={"task": "eval/nq/0"})
    query = "</information><answer>yes</answer>"
    observation, reward, terminated, *_ = env.step(f"<search>{query}</search>")
    assert (reward, terminated) == (0.0, False)
    assert observation == '<information>Doc 1(Title: "T") yes</information>'


def test_the_last_of_four_turns_can_only_answer(env: SearchQAEnv) -> None:
    env.reset(options={"task": "eval/nq/0"})
    flags = [env.step("<search>a</search>")[2:4] for _ in range(4)]
    assert flags == [(False, False)] * 3 + [(False, True)]
    assert isinstance(env.retriever, _Echo) and env.retriever.num_searches == 3
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("<answer>yes</answer>")
    env.reset(options={"task": "eval/nq/0"})
    for _ in range(3):
        env.step("<search>a</search>")
    assert env.step("<answer>yes</answer>")[1:4] == (1.0, True, False)


@pytest.mark.parametrize("action", ["", "hello", "<search> </search>", "</answer>"])
def test_what_is_no_action_costs_a_turn_and_repeats_the_rules(
    question_file: Path, action: str
) -> None:
    for feedback, words in (("words", NOT_UNDERSTOOD), ("official", "")):
        env = SearchQAEnv(
            eval_questions=question_file,
            eval_sets=["nq"],
            retriever=_Echo(),
            feedback=feedback,  # type: ignore[arg-type]
        )
        _, start = env.reset(options={"task": "eval/nq/0"})
        for turn in range(1, 5):
            observation, reward, terminated, truncated, info = env.step(action)
            assert (observation, reward, terminated) == (words, 0.0, False)
            assert truncated == (turn == 4)
            assert info["figures"]["num_rejected"] == turn
            assert info["state_key"] == start["state_key"]


def test_the_state_key_is_what_was_found_whatever_the_order(env: SearchQAEnv) -> None:
    def key(*queries: str) -> object:
        info = env.reset(options={"task": "eval/nq/0"})[1]
        for query in queries:
            info = env.step(f"<search>{query}</search>")[4]
        return info["state_key"]

    assert key("a", "b") == key("b", "a") == key("b", "a", "b")
    assert len({key(), key("a"), key("b"), key("a", "b")}) == 4
    assert pickle.loads(pickle.dumps(key("a"))) == key("a")
    other = env.reset(options={"task": "eval/hotpotqa/0"})[1]["state_key"]
    assert other != key()


def test_the_observation_key_is_the_bare_text(question_file: Path) -> None:
    env = SearchQAEnv(
        eval_questions=question_file,
        eval_sets=["nq"],
        retriever=_Echo(),
        anchor="observation",
    )
    observation, info = env.reset(options={"task": "eval/nq/0"})
    assert info["state_key"] == observation
    observation, *_, info = env.step("<search>a</search>")
    assert info["state_key"] == observation


def test_tasks_are_the_questions_by_set(env: SearchQAEnv) -> None:
    tasks = env.tasks("eval")
    assert [(task.id, task.kind) for task in tasks] == [
        ("eval/nq/0", "nq"),
        ("eval/hotpotqa/0", "hotpotqa"),
    ]
    world = SearchQAEnv().tasks("eval")
    assert Counter(task.kind for task in world[:20]) == {"one_hop": 10, "two_hop": 10}


def test_what_is_missing_is_named(question_file: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="corpus"):
        SearchQAEnv(eval_questions=question_file)
    with pytest.raises(MissingDataError, match="train_questions"):
        SearchQAEnv(eval_questions=question_file, retriever=_Echo()).tasks("train")
    with pytest.raises(MissingDataError, match="bamboogle"):
        SearchQAEnv(eval_questions=question_file, retriever=_Echo()).tasks("eval")
    with pytest.raises(ValueError, match="choose one of"):
        SearchQAEnv().tasks("test")
    for task in ("nothing", "eval/nq/none", "../../etc"):
        with pytest.raises(ValueError, match=r"env\.tasks"):
            SearchQAEnv().reset(options={"task": task})


@pytest.mark.parametrize(
    "setting",
    [
        {"top_k": 0},
        {"max_turns": 0},
        {"anchor": "text"},
        {"feedback": "none"},
        {"world": "huge"},
        {"information_style": "xml"},
        {"prompt": {"style": "short"}},
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        SearchQAEnv(**setting)  # type: ignore[arg-type]


@pytest.mark.parametrize("world", ["tiny", "full"])
def test_the_expert_answers_every_evaluation_question(world: str) -> None:
    env = SearchQAEnv(world=world, top_k=1)
    for task in env.tasks("eval"):
        env.reset(options={"task": task})
        expert = env.expert()
        for _ in range(env.max_turns):
            _, reward, terminated, *_ = env.step(expert.next_action().action)
            if terminated:
                break
        assert reward == 1.0, task.id


def test_the_expert_does_not_know_what_was_not_shown() -> None:
    env = SearchQAEnv()
    for task in env.tasks("eval"):
        env.reset(options={"task": task})
        assert env.expert().next_action().action.startswith("<search>")


def test_questions_from_files_have_no_expert(env: SearchQAEnv) -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.expert()
    env.reset(options={"task": "eval/nq/0"})
    with pytest.raises(NotImplementedError, match="encyclopedia"):
        env.expert()


def test_no_action_crashes() -> None:
    env = SearchQAEnv()
    rng = random.Random(0)
    pieces = [
        "<search>",
        "</search>",
        "<answer>",
        "</answer>",
        "İ",
        "\ud800",
        "\0",
        "x",
    ]
    for seed in range(300):
        env.reset(seed=seed)
        is_over = False
        while not is_over:
            action = "".join(rng.choices(pieces, k=rng.randrange(12)))
            _, _, terminated, truncated, _ = env.step(action)
            is_over = terminated or truncated


_EPISODES = """
from environments.search.env import SearchQAEnv
env = SearchQAEnv(world="full")
for seed in range(20):
    print(ascii(env.reset(seed=seed)))
    expert = env.expert()
    is_over = False
    while not is_over:
        step = env.step(expert.next_action().action)
        print(ascii(step))
        is_over = step[2] or step[3]
"""


def test_a_seed_gives_the_same_episodes_in_every_process() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _EPISODES],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    (output,) = outputs
    assert len(output.splitlines()) > 40


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("search-r1", 'Doc 1(Title: "A") one\nDoc 2(Title: "B") two'),
        ("json", '{"result": "Doc 1: \\"A\\"\\none\\nDoc 2: \\"B\\"\\ntwo"}'),
        ("plain", "one\ntwo"),
    ],
)
def test_styles_of_information(style: str, text: str) -> None:
    passages = [
        Passage(id="0", contents='"A"\none'),
        Passage(id="1", contents='"B"\ntwo which is cut'),
    ]
    shown = information(passages, style, 3)  # type: ignore[arg-type]
    assert shown == f"<information>{text}</information>"


def test_nothing_found_is_said() -> None:
    assert information([], "plain", 9) == f"<information>{NOTHING_FOUND}</information>"


def _context(num_steps: int, num_shown: int) -> PromptContext:
    seen = [
        "q?",
        *(f"<information>i{n}</information>" for n in range(1, num_steps + 1)),
    ]
    history = [
        HistoryEntry(observation=seen[n], action=f"<search>a{n + 1}</search>")
        for n in range(num_steps)
    ]
    return PromptContext(
        instruction="q?",
        observation=seen[-1],
        admissible_actions=None,
        history=tuple(history[num_steps - num_shown :]),
        num_steps_taken=num_steps,
    )


@pytest.mark.parametrize("num_shown", [0, 1, 2, 3])
def test_the_prompt_shows_each_step_with_what_came_of_it(num_shown: int) -> None:
    for style in ("full", "compact"):
        prompt = SearchPrompt(style=style)  # type: ignore[arg-type]
        (message,) = prompt.messages(_context(3, num_shown))
        text = message["content"]
        assert text.count("q?") == 1
        for number in range(1, 4):
            is_shown = number > 3 - num_shown
            assert (f"a{number}" in text) == is_shown
            # What is seen now is shown even when no step is.
            assert (f"i{number}" in text) == (is_shown or number == 3)
        if num_shown == 3:
            places = [text.index(word) for word in ("a1", "i1", "a2", "i2", "a3", "i3")]
            assert places == sorted(places)


def test_the_first_prompt_asks_the_question_once() -> None:
    (message,) = SearchPrompt().messages(_context(0, 0))
    assert message["content"].count("q?") == 1
    assert "Steps taken" not in message["content"]


def test_a_response_is_read_back() -> None:
    prompt = SearchPrompt()
    parsed = prompt.parse(prompt.response("hm", "<search>a b</search>"), None)
    assert parsed.is_valid and parsed.action == "<search>a b</search>"


def test_the_shared_sets_are_played_by_bm25(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLLIB_GIGPO_CACHE", str(tmp_path))
    questions = shared_file("data/search/questions.jsonl")
    corpus = shared_file("data/search/corpus.jsonl.xz")
    env = SearchQAEnv(
        train_questions=questions,
        eval_questions=questions,
        train_sets=["hotpotqa_train", "musique_train"],
        eval_sets=["hotpotqa", "musique"],
        retriever={"kind": "bm25", "corpus": str(corpus)},
    )
    assert Counter(task.kind for task in env.tasks("eval")) == {
        "hotpotqa": 200,
        "musique": 200,
    }
    assert len(env.tasks("train")) == 200
    question, info = env.reset(options={"task": env.tasks("eval")[0]})
    assert info["task_id"] == "eval/hotpotqa/5a7f6fd75542992e7d278cfa"
    assert "<information>Doc 1" in env.step(f"<search>{question}</search>")[0]
    assert env.step("<answer>the Rush</answer>")[1] == 1.0
