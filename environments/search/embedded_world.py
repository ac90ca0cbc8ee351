"""Questions about the invented encyclopedia, all that can be asked, in two splits.

One hop asks for a fact of a thing that the question names; two hops name a thing only
by a fact of another ("the town where Ada Holm was born"), so that it must be found
out first. Answers are known, and so is what to look for in which order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from environments.search.bm25 import Bm25Retriever
from environments.search.corpus import Corpus
from environments.search.encyclopedia import Encyclopedia, make_encyclopedia
from environments.search.questions import Question
from environments.search.relations import RELATIONS, Relation

HOP_SETS = ("one_hop", "two_hop")
_EVAL_QUESTIONS_PER_SET = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldQuestion:
    """A question and how it is to be worked out.

    Attributes:
        question: The question, its set one of ``HOP_SETS``.
        subject: The thing it names.
        relations: From the subject to the answer, one or two.
    """

    question: Question
    subject: str
    relations: tuple[Relation, ...]


@lru_cache(maxsize=4)
def world_questions(size: str, split: str) -> dict[str, WorldQuestion]:
    """Question texts to the questions of a split, both sets in turn while they last.

    The evaluation split is a fixed panel, 64 of each set; the rest is for training.

    Raises:
        ValueError: There is no world of that size.
    """
    encyclopedia = make_encyclopedia(size)
    chosen: list[WorldQuestion] = []
    for hops, set_name in enumerate(HOP_SETS, 1):
        everything = list(_questions(encyclopedia, hops, set_name))
        random.Random(hops).shuffle(everything)
        cut = _EVAL_QUESTIONS_PER_SET
        chosen += everything[:cut] if split == "eval" else everything[cut:]
    return {question.question.text: question for question in chosen}


@lru_cache(maxsize=2)
def world_retriever(size: str) -> Bm25Retriever:
    """BM25 over the encyclopedia.

    Raises:
        ValueError: There is no world of that size.
    """
    return Bm25Retriever.build(Corpus.of(make_encyclopedia(size).passages()))


def _questions(
    encyclopedia: Encyclopedia, hops: int, set_name: str
) -> Iterator[WorldQuestion]:
    number = 0
    for chain in _chains(hops):
        for subject in encyclopedia.names[chain[0].subject_kind]:
            described, value = subject, subject
            for relation in chain:
                asked = relation.question.format(subject=described)
                described = relation.phrase.format(subject=described)
                value = encyclopedia.facts[relation.name, value]
            question = Question(
                id=str(number), set_name=set_name, text=asked, golden_answers=(value,)
            )
            yield WorldQuestion(question=question, subject=subject, relations=chain)
            number += 1


def _chains(hops: int) -> list[tuple[Relation, ...]]:
    """The ways from a thing to a value in so many steps."""
    chains: list[tuple[Relation, ...]] = [(relation,) for relation in RELATIONS]
    for _ in range(hops - 1):
        chains = [
            (*chain, relation)
            for chain in chains
            for relation in RELATIONS
            if relation.subject_kind == chain[-1].value_kind
        ]
    return chains
