"""An expert for the invented encyclopedia: looks things up, reads, goes on, answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from environments.search.actions import SearchAction
from environments.search.corpus import Passage
from environments.search.embedded_world import WorldQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchExpertStep:
    """One action of the expert and why.

    Attributes:
        action: A search or an answer with its tags.
        thought: A few words, fit for a think block.
    """

    action: str
    thought: str


class SearchExpert:
    """Plays one episode, knowing the question and what was shown so far, no more.

    It understands the question's wording (which thing, which facts in which order) and
    reads each fact from the passages that the agent was shown.

    Args:
        question: The question of the episode.
        seen: Gives the passages shown so far.
    """

    def __init__(
        self, question: WorldQuestion, seen: Callable[[], Sequence[Passage]]
    ) -> None:
        self._question = question
        self._seen = seen

    def next_action(self) -> SearchExpertStep:
        """Search for the first thing that no shown passage tells of, else answer."""
        text = "\n".join(passage.text for passage in self._seen())
        subject = self._question.subject
        for relation in self._question.relations:
            value = relation.read(subject, text)
            if value is None:
                query = SearchAction(kind="search", text=subject)
                return SearchExpertStep(action=str(query), thought=f"find {subject}")
            subject = value
        answer = SearchAction(kind="answer", text=subject)
        return SearchExpertStep(action=str(answer), thought=f"it is {subject}")
