"""Question files of several layouts, and questions about the invented encyclopedia."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from environments.errors import DataFileError, MissingDataError
from environments.search.embedded_world import world_questions, world_retriever
from environments.search.encyclopedia import WORLD_SIZES, make_encyclopedia
from environments.search.questions import (
    Question,
    read_question_folder,
    read_questions,
    set_key,
    take_sets,
)
from environments.search.relations import RELATIONS
from tests.shared_data import shared_file


def _write(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _question(number: int, set_name: str = "nq") -> Question:
    return Question(
        id=str(number),
        set_name=set_name,
        text=f"question {number}?",
        golden_answers=("yes",),
    )


@pytest.mark.parametrize(
    "row",
    [
        {
            "id": 7,
            "data_source": "nq",
            "question": "who?",
            "golden_answers": ["a", "b"],
        },
        {
            "id": "7",
            "data_source": "nq",
            "question": "who?",
            "reward_model": {"ground_truth": {"target": ["a", "b"]}, "style": "rule"},
        },
        {"id": "7", "ds": "owner/NQ", "question": " who? ", "answers": ["a", "b"]},
        {
            "id": "7",
            "dataset": "nq_open",
            "question": "who?",
            "answer": "a",
            "answer_aliases": ["b"],
        },
        {
            "data_source": "nq",
            "extra_info": {"index": 7, "question": "who?"},
            "reward_model": {"ground_truth": {"target": ["a", "b"]}},
        },
    ],
)
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_published_rows_are_understood(
    tmp_path: Path, row: dict[str, Any], ending: str
) -> None:
    (question,) = read_questions(_write(tmp_path / f"test.{ending}", row))
    assert question == Question(
        id="7", set_name="nq", text="who?", golden_answers=("a", "b")
    )


@pytest.mark.parametrize(
    ("row", "missing"),
    [
        ({"data_source": "nq", "golden_answers": ["a"]}, "question"),
        ({"data_source": "nq", "question": " ", "answer": "a"}, "question"),
        ({"data_source": "nq", "question": "who?"}, "golden_answers"),
        ({"data_source": "nq", "question": "who?", "answers": []}, "golden_answers"),
        ({"question": "who?", "answer": "a"}, "data_source"),
    ],
)
def test_an_incomplete_row_is_refused(
    tmp_path: Path, row: dict[str, Any], missing: str
) -> None:
    with pytest.raises(DataFileError, match=missing):
        read_questions(_write(tmp_path / "test.jsonl", row))


def test_a_folder_for_each_set_names_the_sets(tmp_path: Path) -> None:
    row = {"id": "0", "question": "who?", "golden_answers": ["a"]}
    _write(tmp_path / "nq" / "train.jsonl", row)
    _write(tmp_path / "nq" / "test.jsonl", row)
    _write(tmp_path / "nq" / "dev.jsonl", row)
    _write(tmp_path / "hotpotqa" / "dev.jsonl", row)
    train = read_question_folder(tmp_path, "train")
    held_out = read_question_folder(tmp_path, "eval")
    assert [q.set_name for q in train] == ["nq"]
    # The test file where there is one, else the development file.
    assert [q.set_name for q in held_out] == ["hotpotqa", "nq"]


def test_a_folder_without_questions_says_what_to_put_there(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"train\.jsonl"):
        read_question_folder(tmp_path, "train")


def test_sets_come_in_turn_and_short_ones_end() -> None:
    questions = [_question(i, "nq") for i in range(3)] + [_question(9, "musique")]
    taken = take_sets([*questions, _question(0, "popqa")], ["MuSiQue", "nq"])
    assert [(q.set_name, q.id) for q in taken] == [
        ("musique", "9"),
        ("nq", "0"),
        ("nq", "1"),
        ("nq", "2"),
    ]


def test_a_set_without_questions_and_a_repeated_id_are_refused() -> None:
    with pytest.raises(MissingDataError, match="popqa"):
        take_sets([_question(0)], ["nq", "popqa"])
    with pytest.raises(DataFileError, match="the id '0'"):
        take_sets([_question(0), _question(0)], ["nq"])


def test_a_set_has_one_name() -> None:
    assert set_key("RUC-NLPIR/2Wiki") == "2wikimultihopqa"
    assert set_key("hotpot_qa") == "hotpotqa"
    assert set_key("musique_train") == "musique_train"


def test_the_shared_sets_are_read() -> None:
    questions = read_questions(shared_file("data/search/questions.jsonl"))
    counts = Counter(question.set_name for question in questions)
    assert counts == {
        "hotpotqa": 200,
        "musique": 200,
        "hotpotqa_train": 100,
        "musique_train": 100,
    }
    bamboogle = read_questions(shared_file("data/search/bamboogle_test.jsonl"))
    assert len(bamboogle) == 125
    first = bamboogle[0]
    assert (first.set_name, first.golden_answers) == ("bamboogle", ("james madison",))


@pytest.mark.parametrize("size", WORLD_SIZES)
def test_the_world_is_consistent(size: str) -> None:
    world = make_encyclopedia(size)
    assert tuple(len(names) for names in world.names.values()) == WORLD_SIZES[size]
    names = [name for names in world.names.values() for name in names]
    assert len(set(names)) == len(names)
    assert not [(a, b) for a in names for b in names if a != b and a in b]
    facts = world.facts
    oldest_town = max(int(facts["founded", town]) for town in world.names["town"])
    for person in world.names["person"]:
        born, died = int(facts["birth_year", person]), int(facts["death_year", person])
        assert oldest_town < born < died <= born + 90
        assert {facts["birthplace", person], facts["deathplace", person]} <= set(
            world.names["town"]
        )
    for work in world.names["work"]:
        author = facts["author", work]
        born, died = int(facts["birth_year", author]), int(facts["death_year", author])
        assert born + 20 <= int(facts["published", work]) <= died
        assert facts["setting", work] in world.names["town"]


def test_every_fact_is_stated_once_and_read_back() -> None:
    world = make_encyclopedia("full")
    text = "\n".join(passage.text for passage in world.passages())
    by_name = {relation.name: relation for relation in RELATIONS}
    for (name, subject), value in world.facts.items():
        assert by_name[name].read(subject, text) == value
        sentence = by_name[name].sentence.format(subject=subject, value=value)
        assert text.count(sentence) == 1


@pytest.mark.parametrize("size", WORLD_SIZES)
def test_questions_have_one_answer_and_splits_share_none(size: str) -> None:
    world = make_encyclopedia(size)
    train, held_out = (world_questions(size, split) for split in ("train", "eval"))
    assert not train.keys() & held_out.keys()
    counts = Counter(q.question.set_name for q in held_out.values())
    assert counts == {"one_hop": 64, "two_hop": 64}
    for question in [*train.values(), *held_out.values()]:
        value = question.subject
        for relation in question.relations:
            value = world.facts[relation.name, value]
        assert question.question.golden_answers == (value,)
        assert question.subject in question.question.text
        if len(question.relations) == 2:
            middle = world.facts[question.relations[0].name, question.subject]
            assert middle not in question.question.text


@pytest.mark.parametrize("size", WORLD_SIZES)
def test_a_name_as_query_finds_the_thing_first(size: str) -> None:
    retriever = world_retriever(size)
    for names in make_encyclopedia(size).names.values():
        hits = retriever.search(names, 1)
        assert [found[0].passage.title for found in hits] == list(names)
