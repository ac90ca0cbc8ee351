"""Questions with their golden answers, from the files that question sets come in.

Rows of several published layouts enter (Search-R1's Parquet files, FlashRAG's JSON
lines, plain rows); :class:`Question` leaves, checked, with the set's name in one
spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from environments.errors import DataFileError, MissingDataError
from environments.search.corpus import FILE_ENDINGS, read_rows

QUESTION_SETS = (
    "nq",
    "triviaqa",
    "popqa",
    "hotpotqa",
    "2wikimultihopqa",
    "musique",
    "bamboogle",
)
TRAIN_SETS = ("nq", "hotpotqa")
SPLIT_STEMS: dict[str, tuple[str, ...]] = {"train": ("train",), "eval": ("test", "dev")}
"""Which files of a folder hold a split: the first of these names that is there."""

_OTHER_NAMES = {
    "natural_questions": "nq",
    "nq_open": "nq",
    "nq_search": "nq",
    "trivia_qa": "triviaqa",
    "hotpot_qa": "hotpotqa",
    "2wiki": "2wikimultihopqa",
    "2wikimultihop": "2wikimultihopqa",
}
_SET_FIELDS = ("data_source", "ds", "dataset")
_ANSWER_FIELDS = ("golden_answers", "answers", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question.

    Attributes:
        id: Unique within its set and file.
        set_name: The question set; success is also reported by it.
        text: In words.
        golden_answers: At least one; any of them is right.
    """

    id: str
    set_name: str
    text: str
    golden_answers: tuple[str, ...]


def read_questions(path: Path, set_name: str | None = None) -> list[Question]:
    """The questions of a file.

    Args:
        path: JSON lines or Parquet; see
            :func:`environments.search.corpus.read_rows`.
        set_name: The set of rows that do not name theirs.

    Raises:
        MissingDataError: There is no such file.
        DataFileError: A row has no question, no answer or no set.
    """
    return [
        _question(row, f"{path}, row {number}", number, set_name)
        for number, row in enumerate(read_rows(path))
    ]


def read_question_folder(folder: Path, split: str) -> list[Question]:
    """The questions of a split in a folder, files sorted by name.

    Args:
        folder: Holds ``train.*`` and ``test.*`` (or ``dev.*``) for all sets together,
            or such files in a folder for each set, named after it.
        split: A key of ``SPLIT_STEMS``.

    Raises:
        MissingDataError: There is no file of the split.
        DataFileError: As in :func:`read_questions`.
    """
    folders = [folder]
    if folder.is_dir():
        folders += sorted(path for path in folder.iterdir() if path.is_dir())
    files = [file for place in folders if (file := _split_file(place, split))]
    if not files:
        names = " or ".join(f"{stem}.jsonl" for stem in SPLIT_STEMS[split])
        raise MissingDataError(
            f"no questions of split {split!r} in {folder}: put {names} (or .parquet) "
            "there or into a folder for each question set, or name the files by "
            f"{split}_questions"
        )
    return [
        question
        for file in files
        for question in read_questions(
            file, set_name=None if file.parent == folder else file.parent.name
        )
    ]


def take_sets(questions: Iterable[Question], names: Iterable[str]) -> list[Question]:
    """The questions of some sets, a set's question after another's in turn.

    So any first part of the list holds all sets alike, until the small ones end.

    Raises:
        MissingDataError: A set has no question.
        DataFileError: Two questions of a set have the same id.
    """
    by_set: dict[str, dict[str, Question]] = {set_key(name): {} for name in names}
    found = set()
    for question in questions:
        found.add(question.set_name)
        own = by_set.get(question.set_name)
        if own is None:
            continue
        if question.id in own:
            raise DataFileError(
                f"two questions of {question.set_name} have the id {question.id!r}"
            )
        own[question.id] = question
    missing = [name for name, own in by_set.items() if not own]
    if missing:
        raise MissingDataError(
            f"no question of {missing}; the files hold {sorted(found)}: add the "
            "missing ones, or leave them out of train_sets or eval_sets"
        )
    rows = zip_longest(*(own.values() for own in by_set.values()))
    return [question for question in chain.from_iterable(rows) if question]


def set_key(name: str) -> str:
    """A set's name as used here: lower case, no owner, one spelling."""
    bare = name.rpartition("/")[2].strip().lower().replace("-", "_")
    return _OTHER_NAMES.get(bare, bare)


def _split_file(folder: Path, split: str) -> Path | None:
    for stem in SPLIT_STEMS[split]:
        for ending in FILE_ENDINGS:
            if (path := folder / f"{stem}{ending}").is_file():
                return path
    return None


def _question(
    row: Mapping[str, Any], place: str, number: int, set_name: str | None
) -> Question:
    extra = _mapping(row, "extra_info")
    text = row.get("question") or extra.get("question")
    if not isinstance(text, str) or not text.strip():
        raise DataFileError(f"{place}: no `question` in {sorted(row)}")
    golden = _golden_answers(row)
    if not golden:
        raise DataFileError(
            f"{place}: no `golden_answers` (nor another field of answers) in "
            f"{sorted(row)}"
        )
    names = [row[field] for field in _SET_FIELDS if row.get(field)]
    name = str(names[0]) if names else set_name
    if name is None:
        raise DataFileError(
            f"{place}: no set is named; add `data_source`, or put the file into a "
            "folder of the set's name"
        )
    given = row.get("id", extra.get("index"))
    return Question(
        id=str(number if given is None else given),
        set_name=set_key(name),
        text=text.strip(),
        golden_answers=golden,
    )


def _golden_answers(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The answers of a row: a text, a list, or ``{"target": [...]}`` deep inside.

    MuSiQue's own files hold further right answers as ``answer_aliases``.
    """
    fields = [row.get(field) for field in _ANSWER_FIELDS]
    value = next((v for v in fields if v is not None), None)
    if value is None:
        value = _mapping(row, "reward_model").get("ground_truth")
    if isinstance(value, Mapping):
        value = value.get("target")
    if value is None:
        return ()
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(str(answer) for answer in (*values, *row.get("answer_aliases", ())))


def _mapping(row: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = row.get(field)
    return value if isinstance(value, Mapping) else {}
